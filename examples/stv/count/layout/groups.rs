//! The ranks of ballots with equal ranks, by number. A *group* is a rank as it is written in the
//! ballots: its candidates in their order, one or several. All ranks that are written alike are one
//! group.

use std::{collections::HashMap, ops::Range};
use stv_ballots::{Preference, Preferences};

/// All groups. The written order of equals decides how their shares are rounded.
#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The candidates of all groups, group after group.
    members: Vec<Preference>,
    /// For each group, the end of its candidates.
    ends: Vec<u32>,
}

/// The number of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(u32);

impl Group {
    pub(super) fn number(self) -> usize {
        self.0 as usize
    }
}

/// The groups of some ballots, numbered in the order of their first occurrence.
#[derive(Default)]
pub(super) struct Numbers<'a> {
    numbers: HashMap<&'a [u8], u32>,
    ranks: Vec<Preferences<'a>>,
}

/// The most equals of a rank that counts as all orders. The polynomials of more equals may not fit
/// in a word.
pub(super) const MOST_EQUALS: usize = 32;

impl<'a> Numbers<'a> {
    /// The number of a rank's group. `None` if there are too many groups.
    pub(super) fn number(&mut self, rank: Preferences<'a>) -> Option<Group> {
        let next = u32::try_from(self.ranks.len()).ok()?;
        Some(Group(*self.numbers.entry(rank.written()).or_insert_with(|| {
            self.ranks.push(rank);
            next
        })))
    }
}

impl Groups {
    /// The groups of all pieces of the ballots, and for each piece the new number of each of its
    /// groups. Returns `None` if there are too many groups.
    pub(super) fn of(pieces: &[Numbers<'_>]) -> Option<(Self, Vec<Vec<Group>>)> {
        let mut all = Numbers::default();
        let renumbered = pieces.iter().map(|piece| {
            let ranks = piece.ranks.iter().map(|rank| all.number(rank.clone()));
            ranks.collect::<Option<Vec<_>>>()
        });
        let renumbered = renumbered.collect::<Option<_>>()?;
        let mut groups = Self::default();
        for rank in all.ranks {
            groups.members.extend(rank);
            groups.ends.push(u32::try_from(groups.members.len()).ok()?);
        }
        Some((groups, renumbered))
    }

    /// The number of groups.
    pub(super) fn number(&self) -> usize {
        self.ends.len()
    }

    /// The candidates of all groups, group after group.
    pub(super) fn members(&self) -> &[Preference] {
        &self.members
    }

    /// The places of a group's candidates among those of all groups.
    pub(super) fn range(&self, group: Group) -> Range<usize> {
        let start = group.number().checked_sub(1).map_or(0, |before| self.ends[before]);
        start as usize..self.ends[group.number()] as usize
    }
}
