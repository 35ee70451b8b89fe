//! A piece of the sorted ballots, as two trees. In the tree of the strict ballots, a rank is a
//! candidate. In the tree of the ballots with equal ranks, a rank is a numbered group.

use super::{
    groups::{Group, Groups, MOST_EQUALS, Numbers},
    order::{Key, KeyForm},
    trie::{Builder, Size, Trie},
};
use stv_ballots::Preference;

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) strict: Trie<u16>,
    pub(super) grouped: Trie<Group>,
    /// The cost of all ranks of the piece.
    pub(super) cost: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Tree {
    Strict,
    Grouped,
}

impl Piece {
    /// Lays out these ballots, and returns the numbers of their groups. Returns `None` if they are
    /// too large for machine words.
    pub(super) fn of<'a>(keys: &[Key], form: &KeyForm<'a>, equalize: bool) -> Option<(Self, Numbers<'a>)> {
        let (mut strict, mut grouped) = (Builder::new(), Builder::new());
        let (mut numbers, mut numbered) = (Numbers::default(), Vec::new());
        for &key in keys.iter().rev() {
            let weight = form.weight(key);
            if !form.has_equal_ranks(key) {
                strict.add(form.candidates(key).map(strict_rank), weight);
                continue;
            }
            numbered.clear();
            let mut preferences = form.ballot(key);
            while !preferences.is_empty() {
                let (rank, below) = preferences.first_rank();
                if equalize && rank.clone().count() > MOST_EQUALS {
                    return None;
                }
                numbered.push(numbers.number(rank)?);
                preferences = below;
            }
            grouped.add(numbered.iter().copied(), weight);
        }
        let (strict, grouped) = (strict.finish()?, grouped.finish()?);
        let cost = strict.cost(|_| 1) + grouped.cost(|group| parts(numbers.equals(group), equalize));
        Some((Self { strict, grouped, cost }, numbers))
    }

    /// Cuts the trees into chunks of this cost.
    pub(super) fn split(&mut self, cost: u64, groups: &Groups, equalize: bool) {
        self.strict.split(cost, |_| 1);
        self.grouped.split(cost, |group| parts(groups.range(group).len(), equalize));
    }

    pub(super) fn weight(&self) -> u64 {
        self.strict.weight() + self.grouped.weight()
    }

    pub(super) fn size(&self) -> Size {
        self.strict.size() + self.grouped.size()
    }
}

/// The largest number of parts into which these equals can split a ballot.
fn parts(equals: usize, equalize: bool) -> u32 {
    if equalize { 1 } else { u32::try_from(equals).unwrap_or(u32::MAX) }
}

fn strict_rank(preference: Preference) -> u16 {
    u16::try_from(preference.candidate()).unwrap_or(u16::MAX) // there are at most MOST_CANDIDATES
}
