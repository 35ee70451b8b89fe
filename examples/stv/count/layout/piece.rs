//! A piece of the sorted ballots, as two trees. In the tree of the strict ballots, a rank is a
//! candidate. In the tree of the ballots with equal ranks, a rank is a group.

use super::{
    groups::{Group, MOST_EQUALS, Numbers},
    order::{Key, KeyForm},
    trie::{Builder, Size, Trie},
};
use stv_ballots::Preference;

#[derive(Debug)]
pub(super) struct Piece {
    pub(super) strict: Trie<u16>,
    pub(super) grouped: Trie<Group>,
}

impl Piece {
    /// Lays out these ballots, and returns the numbers of their groups. Returns `None` if they are
    /// too large for machine words.
    pub(super) fn of<'a>(keys: &[Key], form: &KeyForm<'a>) -> Option<(Self, Numbers<'a>)> {
        let (mut strict, mut grouped) = (Builder::new(), Builder::new());
        let (mut numbers, mut groups) = (Numbers::default(), Vec::new());
        for &key in keys.iter().rev() {
            let weight = form.weight(key);
            if !form.has_equal_ranks(key) {
                strict.add(form.candidates(key).map(strict_rank), weight);
                continue;
            }
            groups.clear();
            let mut preferences = form.ballot(key);
            while !preferences.is_empty() {
                let (rank, below) = preferences.first_rank();
                if rank.clone().count() > MOST_EQUALS {
                    return None;
                }
                groups.push(numbers.number(rank)?);
                preferences = below;
            }
            grouped.add(groups.iter().copied(), weight);
        }
        Some((Self { strict: strict.finish()?, grouped: grouped.finish()? }, numbers))
    }

    /// Gives every group its new number.
    pub(super) fn renumber(&mut self, new: &[Group]) {
        self.grouped.ranks_mut().iter_mut().for_each(|group| *group = new[group.number()]);
    }

    pub(super) fn weight(&self) -> u64 {
        self.strict.weight() + self.grouped.weight()
    }

    pub(super) fn size(&self) -> Size {
        self.strict.size() + self.grouped.size()
    }
}

fn strict_rank(preference: Preference) -> u16 {
    u16::try_from(preference.candidate()).unwrap_or(u16::MAX) // there are at most MOST_CANDIDATES
}
