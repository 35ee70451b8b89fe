//! The rules that decide ties.

use crate::random::SplitMix64;
use std::{cmp::Ordering, fmt, str::FromStr};
use stv_ballots::{CandidateIndex, Tied};

/// The user's choice of how to decide ties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tie {
    /// The order of the file, or of the ballot paper.
    Order,
    /// The candidate with fewer votes in an earlier round. If no round distinguishes the
    /// candidates, the order decides.
    Backwards,
    /// An order drawn from this seed, in place of the file's.
    Random(u64),
}

impl FromStr for Tie {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match (text, text.strip_prefix("random:")) {
            ("order", _) => Ok(Self::Order),
            ("backwards", _) => Ok(Self::Backwards),
            (_, Some(seed)) if !seed.starts_with('+') => seed
                .parse()
                .map(Self::Random)
                .map_err(|_| "SEED is a whole number from 0 to 18446744073709551615"),
            _ => Err("it is order, backwards or random:SEED"),
        }
    }
}

impl fmt::Display for Tie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Order => f.write_str("order"),
            Self::Backwards => f.write_str("backwards"),
            Self::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

/// The place of every candidate in an order drawn from this seed. README.md specifies the draw, so
/// that other programs can repeat it.
pub fn drawn(seed: u64, candidates: usize) -> Vec<usize> {
    let mut order: Vec<CandidateIndex> = (0..candidates).collect();
    SplitMix64::new(seed).choose(&mut order, candidates);
    let mut places = vec![0; candidates];
    order.into_iter().enumerate().for_each(|(place, candidate)| places[candidate] = place);
    places
}

/// All candidates in the order of their votes in the last round. Candidates with equal votes are in
/// the order of the previous round, and so on back to the beginning.
#[derive(Debug)]
pub(crate) struct Backwards {
    /// The candidate with fewer votes comes first.
    order: Vec<CandidateIndex>,
    /// For each place: the last round in which the candidates at this place and the previous place
    /// had different votes, if any.
    apart: Vec<Option<usize>>,
}

impl Backwards {
    pub(crate) fn new(candidates: usize) -> Self {
        Self { order: (0..candidates).collect(), apart: vec![None; candidates] }
    }

    /// Adds a finished round with its votes.
    pub(crate) fn add<A: PartialOrd>(&mut self, round: usize, votes: &[A]) {
        let of = |place: usize| &votes[self.order[place]];
        let mut places: Vec<usize> = (0..self.order.len()).collect();
        // A stable sort: candidates with the same votes stay in the order of earlier rounds.
        places.sort_by(|&left, &right| of(left).partial_cmp(of(right)).unwrap_or(Ordering::Equal));
        let apart = |place: usize| match (place.checked_sub(1).map(|before| places[before]), places[place]) {
            (None, _) => None,
            (Some(before), this) if of(before) != of(this) => Some(round),
            (Some(before), this) => self.last_apart(before, this),
        };
        self.apart = (0..places.len()).map(apart).collect();
        self.order = places.into_iter().map(|place| self.order[place]).collect();
    }

    /// The last round in which the candidates at two places had different votes. `first` is the
    /// lower place.
    fn last_apart(&self, first: usize, other: usize) -> Option<usize> {
        self.apart[first + 1..=other].iter().copied().max().flatten()
    }

    /// Finds the last round in which the tied candidates have different votes, and selects the
    /// candidates with the fewest votes in that round. Repeats this with the selected candidates
    /// and earlier rounds. Returns the candidates that no round distinguishes. Also returns the
    /// last round in which any tied candidates differ.
    pub(crate) fn fewest(&self, tied: &Tied) -> (Tied, Option<usize>) {
        let mut places = (0..self.order.len()).filter(|&place| tied.contains(self.order[place]));
        let Some(first) = places.next() else { return (tied.clone(), None) };
        let mut fewest = vec![self.order[first]];
        let mut last = first;
        for place in places {
            if let Some(round) = self.last_apart(last, place) {
                return (fewest.into_iter().collect(), Some(round));
            }
            fewest.push(self.order[place]);
            last = place;
        }
        (fewest.into_iter().collect(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::{collection::vec, prelude::*};

    #[test]
    fn what_the_option_takes() {
        for tie in [Tie::Order, Tie::Backwards, Tie::Random(0), Tie::Random(u64::MAX)] {
            assert_eq!(tie.to_string().parse(), Ok(tie));
        }
        for wrong in
            ["", "Order", "random", "random:", "random:-1", "random:+1", "random:1.5", "random: 1", "lot"]
        {
            assert!(wrong.parse::<Tie>().is_err(), "{wrong}");
        }
        assert!("random:18446744073709551616".parse::<Tie>().unwrap_err().contains("18446744073709551615"));
    }

    /// README.md promises these orders to users who draw them with another program.
    #[test]
    fn a_seed_stands_for_its_order() {
        assert!(include_str!("../README.md").contains("order(20261123, 8) is [6, 7, 4, 3, 5, 2, 1, 8]"));
        let order = |seed, candidates| {
            let places = drawn(seed, candidates);
            let mut order: Vec<_> = (0..candidates).collect();
            order.sort_by_key(|&candidate| places[candidate]);
            order.into_iter().map(|candidate| candidate + 1).collect::<Vec<_>>()
        };
        assert_eq!(order(20_261_123, 8), [6, 7, 4, 3, 5, 2, 1, 8]);
        assert_eq!(order(0, 5), [5, 3, 2, 1, 4]);
    }

    #[test]
    fn every_order_can_be_drawn() {
        let mut seen = std::collections::HashMap::new();
        (0..6_000).for_each(|seed| *seen.entry(drawn(seed, 3)).or_insert(0) += 1);
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|times| (850..1150).contains(times)), "{seen:?}");
    }

    #[test]
    fn the_last_round_that_differs_decides() {
        let mut rounds = Backwards::new(4);
        rounds.add(0, &[5, 5, 4, 9]);
        rounds.add(1, &[6, 6, 6, 9]);
        rounds.add(2, &[7, 7, 7, 7]);
        let fewest = |tied: &[usize]| {
            let (fewest, round) = rounds.fewest(&tied.iter().copied().collect());
            (fewest.iter().collect::<Vec<_>>(), round)
        };
        assert_eq!(
            fewest(&[0, 1, 2, 3]),
            (vec![2], Some(0)),
            "not the last one, and of those before the third"
        );
        assert_eq!(fewest(&[0, 1, 3]), (vec![0, 1], Some(1)), "an order must decide");
        assert_eq!(fewest(&[0, 1]), (vec![0, 1], None));
        assert_eq!(fewest(&[1, 3]), (vec![1], Some(1)));
    }

    proptest! {
        /// Going back through the rounds one by one gives the same result.
        #[test]
        fn backwards_is_round_by_round(
            votes in vec(vec(0..3_u8, 7), 0..6),
            tied in prop::collection::btree_set(0..7_usize, 1..7),
        ) {
            let mut rounds = Backwards::new(7);
            votes.iter().enumerate().for_each(|(round, votes)| rounds.add(round, votes));
            let mut left: Vec<usize> = tied.iter().copied().collect();
            let mut last = None;
            for (round, votes) in votes.iter().enumerate().rev() {
                let fewest = left.iter().map(|&candidate| votes[candidate]).min().unwrap();
                let before = left.len();
                left.retain(|&candidate| votes[candidate] == fewest);
                if left.len() < before {
                    last = Some(round);
                }
            }
            let (found, round) = rounds.fewest(&tied.into_iter().collect());
            prop_assert_eq!((found.iter().collect::<Vec<_>>(), round), (left, last));
        }
    }
}
