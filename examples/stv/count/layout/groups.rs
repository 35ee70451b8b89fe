//! Numbers the ranks of ballots with equal ranks.

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

    /// The candidates of all ranks, as written.
    pub(super) fn members(&self) -> &[Preference] {
        &self.members
    }

    /// The places of the rank's candidates among those of all ranks.
    pub(super) fn range(&self, group: Group) -> Range<usize> {
        let start = group.number().checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[group.number()] as usize
    }
}
