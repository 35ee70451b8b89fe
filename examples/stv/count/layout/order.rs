//! Sorts the ballots, so that ballots with equal beginnings are neighbours.

use crate::crew::Crew;
use std::{
    cmp::Ordering,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};
use stv_ballots::{Ballot, Ballots, Preference, Preferences};

/// The sort key of a ballot: two words, in one of two forms. All keys of an election have the same
/// form.
///
/// | word | whole: every ballot is strict, and its codes fit | short: all other elections |
/// |---|---|---|
/// | first | all codes of the ballot | a bit that is set for equal ranks, then as many codes as fit |
/// | second | the weight of the ballot | the place of the ballot |
///
/// A whole key has all data of its ballot, so the ballot is not read again. Reading the ballots in
/// sorted order would be slow, since they are scattered in memory. A ballot with equal ranks has a
/// short key, since only the ballot has the bytes that identify a group.
///
/// Ballots with the same ranks may come in any order. They end at the same node of a tree. If a
/// piece ends between them, their order decides which weights the trees of the two pieces have. The
/// sum over both pieces is the same.
pub(super) type Key = (u64, u64);

/// The form of the keys.
pub(super) struct KeyForm<'a> {
    ballots: &'a Ballots,
    /// The number of bits of a code.
    bits: u32,
    /// The number of codes that fit.
    fit: u32,
    is_whole: bool,
}

impl<'a> KeyForm<'a> {
    pub(super) fn has_equal_ranks(&self, key: Key) -> bool {
        key.0 >> (self.bits * self.fit) != 0
    }

    pub(super) fn weight(&self, key: Key) -> u64 {
        if self.is_whole { key.1 } else { weight(self.ballots, Ballot::at(key.1)) }
    }

    /// The ranks of the ballot of a short key.
    pub(super) fn ballot(&self, key: Key) -> Preferences<'a> {
        self.ballots.preferences(Ballot::at(key.1))
    }

    /// The candidates of a strict ballot, best first.
    pub(super) fn candidates(&self, key: Key) -> Candidates<'a> {
        if self.is_whole {
            let (bits, codes) = (self.bits, key.0 << (u64::BITS - self.bits * self.fit));
            Candidates::OfKey { bits, codes }
        } else {
            Candidates::OfBallot(self.ballot(key))
        }
    }
}

/// The candidates of a strict ballot, best first.
pub(super) enum Candidates<'a> {
    /// The codes in the key. The highest bits are the next code, or 0 at the end.
    OfKey {
        bits: u32,
        codes: u64,
    },
    OfBallot(Preferences<'a>),
}

impl Iterator for Candidates<'_> {
    type Item = Preference;

    #[inline]
    fn next(&mut self) -> Option<Preference> {
        match self {
            Self::OfKey { bits, codes } => {
                let code = *codes >> (u64::BITS - *bits);
                *codes <<= *bits;
                Preference::of_code(code)
            }
            Self::OfBallot(preferences) => preferences.next(),
        }
    }
}

/// The keys of the ballots in order, and their form. Strict ballots come before ballots with equal
/// ranks.
pub(super) fn order<'a>(ballots: &'a Ballots, candidates: usize, crew: Crew<'_>) -> (Vec<Key>, KeyForm<'a>) {
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
    let mut keys = crew.map(ballots.all(), Vec::new, key);
    let (some_are_longer, some_are_equal) = (some_are_longer.into_inner(), some_are_equal.into_inner());
    let is_whole = !(some_are_longer || some_are_equal);
    if is_whole {
        crew.change(&mut keys, |key| key.1 = weight(ballots, Ballot::at(key.1)));
    }
    if some_are_longer {
        crew.sort_by(&mut keys, |left, right| {
            let [left_one, right_one] = [left, right].map(|key| Ballot::at(key.1));
            left.0.cmp(&right.0).then_with(|| compare(ballots, left_one, right_one))
        });
    } else {
        crew.sort_by(&mut keys, |left, right| left.0.cmp(&right.0));
    }
    (keys, KeyForm { ballots, bits, fit, is_whole })
}

/// The weight of a ballot. The total of a layout fits in a word, so every weight does.
fn weight(ballots: &Ballots, ballot: Ballot) -> u64 {
    let weight = ballots.weight(ballot).word().and_then(|weight| u64::try_from(weight).ok());
    weight.expect("a ballot weighs no more than all ballots")
}

/// Compares two ballots whose first words are equal.
fn compare(ballots: &Ballots, left: Ballot, right: Ballot) -> Ordering {
    let [left, right] = [left, right].map(|ballot| ballots.preferences(ballot).map(Preference::code));
    left.cmp(right)
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
