//! All ballots of an election in one array of bytes. Millions of ballots must fit in memory beside
//! the data of the count.
//!
//! A ballot is a list of numbers: its weight with two flags, then a code for each candidate, best
//! first, then 0. Each byte holds seven bits of a number. So most ballots take one byte per
//! candidate, and two additional bytes.

use super::{CandidateIndex, EqualRanks};
use crate::integer::Integer;
use crate::reading::Each;
use std::sync::{Mutex, PoisonError};

/// The ballots, in the order of the file.
#[derive(Debug, Default)]
pub struct Ballots {
    records: Vec<Ballot>,
    bytes: Vec<u8>,
    /// The weights that do not fit beside the flags.
    large: Vec<Integer>,
    turnout: Turnout,
    /// The way in which a ballot with equal ranks counts.
    pub equal_ranks: EqualRanks,
}

/// Sums of weights.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Turnout {
    /// The weight of the ballots that count.
    pub total: Integer,
    /// The weight of the ballots with a shared rank.
    pub with_equal_ranks: Integer,
    /// The weight of the ballots that do not count, since nobody on them stands. With `total`, this
    /// is the weight of all ballots of the file.
    pub empty: Integer,
}

impl Turnout {
    /// The sums over two parts of a file.
    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            total: self.total.plus(&other.total),
            with_equal_ranks: self.with_equal_ranks.plus(&other.with_equal_ranks),
            empty: self.empty.plus(&other.empty),
        }
    }
}

/// A ballot, or several identical ballots written as one. The number is the place of the ballot in
/// the bytes.
#[derive(Debug, Clone, Copy)]
pub struct Ballot(usize);

/// The flag of a ballot with a shared rank, in the first number of the ballot.
const EQUAL_RANKS: u64 = 1;
/// The flag of a ballot whose weight is in `large`. The first number of such a ballot has the place
/// of the weight in `large`.
const LARGE: u64 = 2;
/// The number of flags.
const FLAGS: u32 = 2;

/// A candidate on a ballot, and whether the next candidate shares its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preference(u32);

/// Candidates of a ballot, best first.
#[derive(Debug, Clone)]
pub struct Preferences<'a>(&'a [u8]);

impl Preference {
    /// The largest number of candidates that fits beside the flag.
    pub(crate) const MAX_CANDIDATES: usize = (1 << 31) - 1;

    fn new(candidate: CandidateIndex, shares_rank_with_next: bool) -> Self {
        let candidate =
            u32::try_from(candidate).expect("an election has at most Preference::MAX_CANDIDATES candidates");
        Self(candidate << 1 | u32::from(shares_rank_with_next))
    }

    /// The ranked candidate.
    #[inline]
    pub fn candidate(self) -> CandidateIndex {
        (self.0 >> 1) as usize
    }

    /// Whether the next candidate of the ballot has the same rank.
    #[inline]
    pub fn shares_rank_with_next(self) -> bool {
        self.0 & 1 != 0
    }

    /// The preference of this code, or `None` for 0, which ends a ballot.
    #[inline]
    pub fn of_code(code: u64) -> Option<Self> {
        u32::try_from(code.checked_sub(1)?).ok().map(Self)
    }

    /// The code of this preference: a number above zero, lower for earlier candidates.
    #[inline]
    pub fn code(self) -> u32 {
        self.0 + 1
    }
}

impl Ballot {
    /// The place where the ballot begins, for `at`.
    #[inline]
    pub fn place(self) -> u64 {
        self.0 as u64
    }

    /// The ballot that begins at this place.
    #[inline]
    pub fn at(place: u64) -> Self {
        Self(usize::try_from(place).unwrap_or(usize::MAX))
    }
}

impl<'a> Preferences<'a> {
    /// Whether no candidate follows.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.0.first().is_none_or(|&byte| byte == 0)
    }

    /// The candidates of the first rank, and the candidates of the ranks below. A rank must exist.
    #[inline]
    pub fn first_rank(&self) -> (Self, Self) {
        let mut below = self.clone();
        while below.next().is_some_and(Preference::shares_rank_with_next) {}
        let (rank, _) = self.0.split_at(self.0.len() - below.0.len());
        (Self(rank), below)
    }

    /// Whether both lists have the same candidates in every rank. The order of equals does not
    /// matter.
    pub fn has_the_ranks_of(&self, other: &Self) -> bool {
        let (mut left, mut right) = (self.clone(), other.clone());
        while !left.is_empty() && !right.is_empty() {
            let [(rank, below), (other_rank, other_below)] = [left, right].map(|all| all.first_rank());
            // Ranks of equal length are the same if one contains the other, since a ballot names
            // each candidate once.
            let is_there =
                |one: Preference| other_rank.clone().any(|other| other.candidate() == one.candidate());
            if rank.clone().count() != other_rank.clone().count() || !rank.clone().all(is_there) {
                return false;
            }
            (left, right) = (below, other_below);
        }
        left.is_empty() && right.is_empty()
    }

    /// The bytes of a rank of [`Preferences::first_rank`]. Two ranks have the same bytes if and
    /// only if they are written alike.
    pub fn written(&self) -> &'a [u8] {
        self.0
    }
}

impl Iterator for Preferences<'_> {
    type Item = Preference;

    #[inline]
    fn next(&mut self) -> Option<Preference> {
        let mut rest = self.0;
        let code = number(&mut rest)?;
        let preference = Preference::of_code(code)?;
        self.0 = rest;
        Some(preference)
    }
}

impl Ballots {
    /// Creates an empty list.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a ballot: its candidates in written order, each with the number of its rank. A ballot
    /// without candidates does not count.
    pub fn push(&mut self, weight: Integer, ranked: &[(CandidateIndex, usize)]) {
        if ranked.is_empty() {
            self.turnout.empty = self.turnout.empty.plus(&weight);
            return;
        }
        let has_equal_ranks = ranked.windows(2).any(|pair| pair[0].1 == pair[1].1);
        self.turnout.total = self.turnout.total.plus(&weight);
        if has_equal_ranks {
            self.turnout.with_equal_ranks = self.turnout.with_equal_ranks.plus(&weight);
        }
        self.records.push(Ballot(self.bytes.len()));
        let small = weight.word().and_then(|word| u64::try_from(word).ok());
        let mut first = if let Some(small) = small.filter(|small| small.leading_zeros() >= FLAGS) {
            small << FLAGS
        } else {
            self.large.push(weight);
            (self.large.len() as u64 - 1) << FLAGS | LARGE
        };
        first |= if has_equal_ranks { EQUAL_RANKS } else { 0 };
        push(&mut self.bytes, first);
        for (place, &(candidate, rank)) in ranked.iter().enumerate() {
            let shares = ranked.get(place + 1).is_some_and(|next| next.1 == rank);
            push(&mut self.bytes, Preference::new(candidate, shares).code().into());
        }
        self.bytes.push(0);
    }

    /// Joins the parts in order. Returns `None` if a weight does not fit beside its flags.
    pub(crate) fn joined(parts: Vec<Self>, each: Each<'_>) -> Option<Self> {
        if parts.iter().any(|part| !part.large.is_empty()) {
            return None;
        }
        let mut all = Self::new();
        all.turnout = parts.iter().fold(Turnout::default(), |sums, part| sums.plus(&part.turnout));
        all.records = vec![Ballot(0); parts.iter().map(|part| part.records.len()).sum()];
        all.bytes = vec![0; parts.iter().map(|part| part.bytes.len()).sum()];
        let (mut records, mut bytes, mut start) = (&mut all.records[..], &mut all.bytes[..], 0);
        let mut jobs = Vec::with_capacity(parts.len());
        for part in parts {
            let (its_records, its_bytes);
            (its_records, records) = records.split_at_mut(part.records.len());
            (its_bytes, bytes) = bytes.split_at_mut(part.bytes.len());
            let length = part.bytes.len();
            jobs.push(Mutex::new((its_records, its_bytes, start, part)));
            start += length;
        }
        each(jobs.len(), &|number| {
            let mut job = jobs[number].lock().unwrap_or_else(PoisonError::into_inner);
            let (records, bytes, start, part) = &mut *job;
            for (to, from) in records.iter_mut().zip(&part.records) {
                *to = Ballot(*start + from.0);
            }
            bytes.copy_from_slice(&part.bytes);
            (part.records, part.bytes) = (Vec::new(), Vec::new());
        });
        drop(jobs);
        Some(all)
    }

    /// All ballots, in the order of the file. A distribution loops over them.
    #[inline]
    pub fn all(&self) -> &[Ballot] {
        &self.records
    }

    /// Every ballot with its weight, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (Integer, Preferences<'_>)> {
        self.records.iter().map(|&ballot| (self.weight(ballot), self.preferences(ballot)))
    }

    /// The number of identical ballots that this one stands for.
    #[inline]
    pub fn weight(&self, ballot: Ballot) -> Integer {
        let (first, _) = self.read(ballot);
        let weight = first >> FLAGS;
        if first & LARGE == 0 { Integer::from(weight) } else { self.large[weight as usize].clone() }
    }

    /// Whether the ballot has a rank of several candidates.
    #[inline]
    pub fn has_equal_ranks(&self, ballot: Ballot) -> bool {
        self.read(ballot).0 & EQUAL_RANKS != 0
    }

    /// The preferences of one of these ballots, best first.
    #[inline]
    pub fn preferences(&self, ballot: Ballot) -> Preferences<'_> {
        self.read(ballot).1
    }

    #[inline]
    fn read(&self, ballot: Ballot) -> (u64, Preferences<'_>) {
        let mut rest = &self.bytes[ballot.0..];
        let first = number(&mut rest).expect("every ballot begins with a number");
        (first, Preferences(rest))
    }

    /// The weight of the ballots that count.
    pub fn total(&self) -> &Integer {
        &self.turnout.total
    }

    /// The sums of weights.
    pub fn turnout(&self) -> &Turnout {
        &self.turnout
    }

    /// Takes the empty ballots of another election for those of this one, which was read from a
    /// file without empty ballots.
    #[cfg(test)]
    pub(crate) fn take_empty_of(&mut self, other: &Self) {
        self.turnout.empty.clone_from(&other.turnout.empty);
    }
}

/// Writes a number, lowest bits first. The highest bit of a byte is set if more bytes follow.
#[inline]
fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        #[allow(clippy::cast_possible_truncation)] // its lowest bits
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    #[allow(clippy::cast_possible_truncation)] // below 0x80
    bytes.push(number as u8);
}

/// Takes the first number, if there is one.
#[inline]
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let (&first, mut rest) = bytes.split_first()?;
    let mut number = u64::from(first & 0x7f);
    let (mut last, mut shift) = (first, 7);
    while last >= 0x80 {
        (last, rest) = rest.split_first().map(|(&last, rest)| (last, rest))?;
        number |= u64::from(last & 0x7f) << shift;
        shift += 7;
    }
    *bytes = rest;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    fn read(ballots: &Ballots, ballot: Ballot) -> Vec<(CandidateIndex, bool)> {
        let preferences = ballots.preferences(ballot);
        preferences.map(|preference| (preference.candidate(), preference.shares_rank_with_next())).collect()
    }

    #[test]
    fn ballots_keep_ranks_weights_and_order() {
        let mut ballots = Ballots::new();
        ballots.push(Integer::Word(2), &[(3, 0), (1, 1), (0, 1), (2, 4)]);
        ballots.push(Integer::Word(9), &[]);
        ballots.push(Integer::Word(5), &[(2, 0), (1, 1)]);
        let &[equal, strict] = ballots.all() else { panic!("the empty ballot does not count") };
        assert_eq!(read(&ballots, equal), [(3, false), (1, true), (0, false), (2, false)]);
        assert_eq!(read(&ballots, strict), [(2, false), (1, false)]);
        assert!(ballots.has_equal_ranks(equal) && !ballots.has_equal_ranks(strict));
        assert_eq!(ballots.total(), &Integer::Word(7));
    }

    #[test]
    fn the_first_rank_ends_where_the_next_begins() {
        let mut ballots = Ballots::new();
        ballots.push(Integer::Word(1), &[(300, 0), (1, 0), (70, 2)]);
        let all = ballots.preferences(ballots.all()[0]);
        let candidates =
            |preferences: Preferences<'_>| preferences.map(Preference::candidate).collect::<Vec<_>>();
        let (rank, below) = all.first_rank();
        assert_eq!((candidates(rank), candidates(below.clone())), (vec![300, 1], vec![70]));
        let (rank, below) = below.first_rank();
        assert_eq!((candidates(rank), below.is_empty()), (vec![70], true));
    }

    #[test]
    fn equals_have_no_order() {
        let mut ballots = Ballots::new();
        let written: [&[(CandidateIndex, usize)]; 5] = [
            &[(0, 0), (1, 0), (2, 1)],
            &[(1, 0), (0, 0), (2, 1)],
            &[(0, 0), (1, 1), (2, 2)],
            &[(0, 0), (1, 0), (2, 0)],
            &[(0, 0), (1, 0)],
        ];
        for ranked in written {
            ballots.push(Integer::Word(1), ranked);
        }
        let preferences = |place: usize| ballots.preferences(ballots.all()[place]);
        let like_first: Vec<_> =
            (0..5).map(|place| preferences(0).has_the_ranks_of(&preferences(place))).collect();
        assert_eq!(like_first, [true, true, false, false, false]);
        assert!(!preferences(4).has_the_ranks_of(&preferences(0)));
    }

    proptest! {
        #[test]
        fn any_ballots_are_read_as_they_were_written(
            written in vec(
                (prop_oneof![Just(1_u64), any::<u64>().prop_map(|weight| weight >> 2), any::<u64>()],
                vec((prop_oneof![0..70_usize, 0..Preference::MAX_CANDIDATES], any::<bool>()), 1..9)),
                0..20,
            ),
        ) {
            let mut ballots = Ballots::new();
            for (weight, ranked) in &written {
                let mut rank = 0;
                let ranked: Vec<_> = ranked.iter().map(|&(candidate, shares)| {
                    let this = (candidate, rank);
                    rank += usize::from(!shares);
                    this
                }).collect();
                ballots.push(Integer::from(*weight), &ranked);
            }
            prop_assert_eq!(ballots.all().len(), written.len());
            for (&ballot, (weight, mut ranked)) in ballots.all().iter().zip(written) {
                if let Some(last) = ranked.last_mut() {
                    last.1 = false;
                }
                let equal = ranked.iter().any(|preference| preference.1);
                prop_assert_eq!(ballots.weight(ballot), Integer::from(weight));
                prop_assert_eq!(ballots.has_equal_ranks(ballot), equal);
                prop_assert_eq!(read(&ballots, ballot), ranked);
            }
        }
    }

    #[test]
    fn a_usual_ballot_takes_a_byte_a_candidate() {
        let mut ballots = Ballots::new();
        let ranked: Vec<_> = (0..60).map(|candidate| (candidate, candidate)).collect();
        ballots.push(Integer::Word(31), &ranked);
        assert_eq!((ballots.bytes.len(), size_of::<Ballot>()), (62, 8));
    }
}
