//! Sorts the ballots, so that ballots with equal beginnings are neighbours.

use crate::crew::Crew;
use std::{
    cmp::Ordering,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use stv_ballots::{Ballot, Ballots, Preference, Preferences};

/// The sort key of a ballot: two words. The first word has a flag for equal ranks, and as many
/// codes of the ballot as fit. If the codes of every ballot fit into the first word, the second
/// word is the weight of the ballot. Otherwise, the second word is the place of the ballot.
pub(super) type Key = (u64, u64);

/// The form of the keys. If a key has all codes of a ballot, the ballot itself is not read. Reading
/// sorted ballots would be slow, since they are scattered in memory.
pub(super) struct Writing<'a> {
    ballots: &'a Ballots,
    /// The number of bits of a code.
    bits: u32,
    /// The number of codes that fit.
    fit: u32,
    /// Whether the keys hold all data of all ballots.
    is_all: bool,
}

impl<'a> Writing<'a> {
    pub(super) fn has_equal_ranks(&self, key: Key) -> bool {
        key.0 >> (self.bits * self.fit) != 0
    }

    /// The weight of the ballot, or `None` if it is too large for a word.
    pub(super) fn weight(&self, key: Key) -> Option<u64> {
        if self.is_all {
            return Some(key.1);
        }
        u64::try_from(self.ballots.weight(Ballot::at(key.1)).word()?).ok()
    }

    pub(super) fn ballot(&self, key: Key) -> Preferences<'a> {
        self.ballots.preferences(Ballot::at(key.1))
    }

    /// The candidates of the ballot.
    pub(super) fn preferences(&self, key: Key) -> Written<'a> {
        if self.is_all {
            let (bits, codes) = (self.bits, key.0 << (u64::BITS - self.bits * self.fit));
            Written::InKey { bits, codes }
        } else {
            Written::InBallot(self.ballot(key))
        }
    }
}

/// The candidates of a ballot, best first.
pub(super) enum Written<'a> {
    /// The codes in the key. The highest bits are the next code, or 0 at the end.
    InKey {
        bits: u32,
        codes: u64,
    },
    InBallot(Preferences<'a>),
}

impl Iterator for Written<'_> {
    type Item = Preference;

    #[inline]
    fn next(&mut self) -> Option<Preference> {
        match self {
            Self::InKey { bits, codes } => {
                let code = *codes >> (u64::BITS - *bits);
                *codes <<= *bits;
                Preference::of_code(code)
            }
            Self::InBallot(preferences) => preferences.next(),
        }
    }
}

/// The keys of the ballots in order, and their form. Strict ballots come before ballots with equal
/// ranks. Returns `None` if a ballot weighs too much for a word.
pub(super) fn order<'a>(
    ballots: &'a Ballots,
    candidates: usize,
    crew: Crew<'_>,
) -> Option<(Vec<Key>, Writing<'a>)> {
    let bits = (2 * candidates as u64).ilog2() + 1;
    let fit = 63 / bits;
    let (some_are_longer, some_are_equal) = (AtomicBool::new(false), AtomicBool::new(false));
    let tell = |about: &AtomicBool, it_is: bool| {
        if it_is && !about.load(Relaxed) {
            about.store(true, Relaxed);
        }
    };
    let key = |codes: &mut Vec<u32>, &ballot: &Ballot| {
        let equal_ranks = ballots.has_equal_ranks(ballot);
        codes.clear();
        codes.extend(ballots.preferences(ballot).map(Preference::code));
        tell(&some_are_longer, codes.len() > fit as usize);
        tell(&some_are_equal, equal_ranks);
        let mut key = u64::from(equal_ranks);
        for at in 0..fit as usize {
            key = key << bits | codes.get(at).map_or(0, |&code| u64::from(code));
        }
        (key, ballot.place())
    };
    let mut keys = crew.map(ballots.records(), Vec::new, key);
    let (some_are_longer, some_are_equal) = (some_are_longer.into_inner(), some_are_equal.into_inner());
    // A group is identified by the bytes of its rank. Only the ballots have these bytes, not the
    // keys.
    let is_all = !(some_are_longer || some_are_equal);
    let mut writing = Writing { ballots, bits, fit, is_all: false };
    if is_all {
        let some_are_heavy = AtomicBool::new(false);
        crew.change(&mut keys, |key| {
            let weight = writing.weight(*key);
            tell(&some_are_heavy, weight.is_none());
            key.1 = weight.unwrap_or(0);
        });
        if some_are_heavy.into_inner() {
            return None;
        }
        writing.is_all = true;
    }
    if some_are_longer {
        crew.sort_by(&mut keys, |left, right| {
            let [left_one, right_one] = [left, right].map(|key| Ballot::at(key.1));
            left.0.cmp(&right.0).then_with(|| compare(ballots, left_one, right_one))
        });
    } else {
        crew.sort_by(&mut keys, |left, right| left.0.cmp(&right.0));
    }
    Some((keys, writing))
}

/// The results of `make` for pieces of `length` neighbours, the last piece first.
pub(super) fn pieces<R: Send>(
    mut keys: Vec<Key>,
    length: usize,
    crew: Crew<'_>,
    make: impl Fn(&[Key]) -> R + Sync,
) -> Vec<R> {
    let mut made = Vec::with_capacity(keys.len().div_ceil(length));
    while !keys.is_empty() {
        let pieces: Vec<_> = keys.rchunks(length).take(PIECES * crew.threads()).collect();
        let left = keys.len() - pieces.iter().map(|piece| piece.len()).sum::<usize>();
        made.extend(crew.map(&pieces, || (), |(), piece| make(piece)));
        keys.truncate(left);
        keys.shrink_to_fit();
    }
    made
}

/// The number of pieces per thread that are made together. Then the memory of their keys is freed,
/// to make room for the results.
const PIECES: usize = 8;

/// Compares two ballots with the same beginning in their keys.
fn compare(ballots: &Ballots, left: Ballot, right: Ballot) -> Ordering {
    let [left, right] = [left, right].map(|ballot| ballots.preferences(ballot).map(Preference::code));
    left.cmp(right)
}
