//! A piece of the sorted ballots, as trees. In the tree of the strict ballots, a rank is a
//! candidate. In a tree of ballots with equal ranks, a rank is a set of candidates. If there are
//! too many candidates for sets, or if equals count as all orders, a rank is a numbered group.

use super::{
    MOST_IN_SETS, MOST_IN_SMALL_SETS,
    groups::{Group, Groups, MOST_EQUALS, Numbers},
    order::{Key, Writing, sets},
    trie::{Builder, Size, Trie},
};
use stv_ballots::Preference;

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) strict: Trie<u16>,
    pub(super) small_sets: Trie<u32>,
    pub(super) sets: Trie<u64>,
    pub(super) grouped: Trie<Group>,
    /// The cost of all ranks of the piece.
    pub(super) cost: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Tree {
    Strict,
    SmallSets,
    Sets,
    Grouped,
}

impl Piece {
    /// Lays out these ballots, and returns the numbers of their groups. Returns `None` if they are
    /// too large for machine words.
    pub(super) fn of<'a>(
        keys: &[Key],
        writing: &Writing<'a>,
        candidates: usize,
        equalize: bool,
    ) -> Option<(Self, Numbers<'a>)> {
        let (mut strict, mut small_sets) = (Builder::new(), Builder::new());
        let (mut sets_of_many, mut grouped) = (Builder::new(), Builder::new());
        let (mut numbers, mut numbered) = (Numbers::default(), Vec::new());
        for &key in keys.iter().rev() {
            let weight = writing.weight(key)?;
            let ranked = writing.preferences(key);
            if !writing.has_equal_ranks(key) {
                strict.add(ranked.map(strict_rank), weight);
            } else if equalize || candidates > MOST_IN_SETS {
                numbered.clear();
                let mut preferences = writing.ballot(key);
                while !preferences.is_empty() {
                    let (rank, below) = preferences.first_rank();
                    if equalize && rank.clone().count() > MOST_EQUALS {
                        return None;
                    }
                    numbered.push(numbers.number(rank)?);
                    preferences = below;
                }
                grouped.add(numbered.iter().copied(), weight);
            } else if candidates <= MOST_IN_SMALL_SETS {
                #[allow(clippy::cast_possible_truncation)] // sets of so few candidates fit
                small_sets.add(sets(ranked).map(|set| set as u32), weight);
            } else {
                sets_of_many.add(sets(ranked), weight);
            }
        }
        let (strict, small_sets) = (strict.finish()?, small_sets.finish()?);
        let (sets, grouped) = (sets_of_many.finish()?, grouped.finish()?);
        let cost = strict.cost(|_| 1) + small_sets.cost(u32::count_ones) + sets.cost(u64::count_ones);
        let cost = cost + grouped.cost(|group| parts(numbers.equals(group), equalize));
        Some((Self { strict, small_sets, sets, grouped, cost }, numbers))
    }

    /// Cuts the trees into chunks of this cost.
    pub(super) fn split(&mut self, cost: u64, groups: &Groups, equalize: bool) {
        self.strict.split(cost, |_| 1);
        self.small_sets.split(cost, u32::count_ones);
        self.sets.split(cost, u64::count_ones);
        self.grouped.split(cost, |group| parts(groups.range(group.number()).len(), equalize));
    }

    pub(super) fn weight(&self) -> u64 {
        self.strict.weight() + self.small_sets.weight() + self.sets.weight() + self.grouped.weight()
    }

    pub(super) fn size(&self) -> Size {
        self.strict.size() + self.small_sets.size() + self.sets.size() + self.grouped.size()
    }
}

/// The largest number of parts into which these equals can split a ballot.
fn parts(equals: usize, equalize: bool) -> u32 {
    if equalize { 1 } else { u32::try_from(equals).unwrap_or(u32::MAX) }
}

fn strict_rank(preference: Preference) -> u16 {
    u16::try_from(preference.candidate()).unwrap_or(u16::MAX) // there are at most MOST_CANDIDATES
}
