//! Numbers the shared ranks. With `--equalize`, also computes the share of each candidate of a
//! rank, once per distribution.

use super::{ONE, kept::Kept};
use crate::{arithmetic::Fixed9, spread};
use std::{collections::HashMap, ops::Range};
use stv_ballots::{Preference, Preferences};

/// Every rank of the ballots, as written. The written order of equals decides how their shares are
/// rounded.
#[derive(Debug, Default)]
pub(super) struct Groups {
    members: Vec<Preference>,
    ends: Vec<u32>,
}

/// The number of a rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(u32);

impl Group {
    pub(super) fn number(self) -> usize {
        self.0 as usize
    }
}

/// The ranks of some ballots, numbered in the order of their first occurrence. Ranks that are
/// written alike have the same number.
#[derive(Default)]
pub(super) struct Numbers<'a> {
    numbers: HashMap<&'a [u8], u32>,
    ranks: Vec<Preferences<'a>>,
}

/// The most equals of a rank that counts as all orders. The polynomials of more equals may not fit
/// in a word.
pub(super) const MOST_EQUALS: usize = 32;

impl<'a> Numbers<'a> {
    /// The number of a rank. `None` if there are too many ranks.
    pub(super) fn number(&mut self, rank: Preferences<'a>) -> Option<Group> {
        let next = u32::try_from(self.ranks.len()).ok()?;
        Some(Group(*self.numbers.entry(rank.written()).or_insert_with(|| {
            self.ranks.push(rank);
            next
        })))
    }

    /// The number of candidates in a rank.
    pub(super) fn equals(&self, group: Group) -> usize {
        self.ranks[group.number()].clone().count()
    }
}

/// For each group of some ballots, its number among the groups of all ballots.
pub(super) struct Names(Vec<Group>);

impl Names {
    pub(super) fn of(&self, group: Group) -> Group {
        self.0[group.0 as usize]
    }
}

impl Groups {
    /// Numbers the ranks of all parts anew.
    pub(super) fn of(parts: &[Numbers<'_>]) -> Option<(Self, Vec<Names>)> {
        let mut all = Numbers::default();
        let names = parts.iter().map(|part| {
            let names = part.ranks.iter().map(|rank| all.number(rank.clone()));
            names.collect::<Option<_>>().map(Names)
        });
        let names = names.collect::<Option<_>>()?;
        let mut groups = Self::default();
        for rank in all.ranks {
            groups.members.extend(rank);
            groups.ends.push(u32::try_from(groups.members.len()).ok()?);
        }
        Some((groups, names))
    }

    /// The number of ranks.
    pub(super) fn number(&self) -> usize {
        self.ends.len()
    }

    /// The number of candidates in all ranks together.
    pub(super) fn members(&self) -> usize {
        self.members.len()
    }

    pub(super) fn candidates(&self, group: Group) -> impl Iterator<Item = usize> {
        self.members[self.range(group.number())].iter().map(|member| member.candidate())
    }

    pub(super) fn range(&self, group: usize) -> Range<usize> {
        let start = group.checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[group] as usize
    }
}

/// The shares that a worker has computed in this distribution, for the ranks that the worker has
/// met.
#[derive(Debug, Default)]
pub(super) struct Shares {
    /// The share of each member of each group, in billionths of the power that comes to the rank.
    kept: Vec<u32>,
    passed_on: Vec<u32>,
    /// For each group, the number of the distribution for which its shares were computed.
    when: Vec<u64>,
    /// Scratch memory.
    polynomials: Vec<Fixed9>,
}

impl Shares {
    pub(super) fn make_room(&mut self, groups: &Groups) {
        self.kept.resize(groups.members.len(), 0);
        self.passed_on.resize(groups.ends.len(), 0);
        self.when.resize(groups.ends.len(), 0);
    }

    /// The candidates of a rank with their shares, and the share that the rank passes on.
    #[inline]
    pub(super) fn of<'a>(
        &'a mut self,
        group: Group,
        groups: &'a Groups,
        kept: &Kept,
    ) -> (impl Iterator<Item = (usize, u32)> + 'a, u32) {
        let group = group.0 as usize;
        let range = groups.range(group);
        if self.when[group] != kept.distribution() {
            self.work_out(group, groups, kept);
        }
        let members = groups.members[range.clone()].iter().map(|member| member.candidate());
        (members.zip(self.kept[range].iter().copied()), self.passed_on[group])
    }

    #[cold]
    fn work_out(&mut self, group: usize, groups: &Groups, kept: &Kept) {
        let range = groups.range(group);
        let members = &groups.members[range.clone()];
        let shares = &mut self.kept[range];
        shares.fill(0);
        let passed_on = spread::shares(members, kept.factors(), &mut self.polynomials, |place, share| {
            shares[place] = share.billionths().unwrap_or(ONE);
            Ok(())
        });
        let passed_on = passed_on.ok().and_then(Fixed9::billionths);
        self.passed_on[group] = passed_on.expect("so few equals have shares between zero and one");
        self.when[group] = kept.distribution();
    }
}
