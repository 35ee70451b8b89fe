//! The loops that the rows run.

use std::hint::black_box;

use num_bigint::BigUint;

use crate::{
    rivals::{Cost, Rival},
    turn::Loop,
    work::{links, work},
};

/// Adds up numbers.
pub(crate) struct Sum<'a>(pub(crate) &'a [u64]);

impl Loop for Sum<'_> {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        Some(rival.map_sum(black_box(self.0), Cost::Trivial, |x| *x))
    }
}

/// Works on items of given costs.
pub(crate) struct Items {
    links: Vec<u64>,
    cost: Cost,
}

impl Items {
    fn new(nanos: impl Iterator<Item = u64>, cost: Cost) -> Self {
        Self { links: nanos.map(links).collect(), cost }
    }

    pub(crate) fn even(len: usize, nanos: u64) -> Self {
        Self::new((0..len).map(|_| nanos), Cost::Even)
    }

    /// A loop of so long, of equal items of 10 ns or more.
    pub(crate) fn short(nanos: u64) -> Self {
        let len = (nanos / 10).min(1000);
        Self::even(len as usize, nanos / len)
    }

    /// Each item costs more than the one before; `nanos` together.
    pub(crate) fn growing(len: u64, nanos: u64) -> Self {
        Self::new((0..len).map(|i| 2 * nanos * i / (len * (len - 1))), Cost::Uneven)
    }

    pub(crate) fn falling(len: u64, nanos: u64) -> Self {
        let mut items = Self::growing(len, nanos);
        items.links.reverse();
        items
    }

    /// Items of no cost, but for `count` items of `nanos` from `first` on.
    pub(crate) fn heavy(len: usize, first: usize, count: usize, nanos: u64) -> Self {
        let run = first..first + count;
        Self::new((0..len).map(|i| if run.contains(&i) { nanos } else { 0 }), Cost::Uneven)
    }

    /// The first item costs `nanos`, and so do all others together.
    pub(crate) fn first(len: usize, nanos: u64) -> Self {
        let rest = nanos / (len as u64 - 1);
        Self::new((0..len).map(|i| if i == 0 { nanos } else { rest }), Cost::Uneven)
    }
}

impl Loop for Items {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        Some(rival.map_sum(&self.links, self.cost, |links| work(*links)))
    }
}

const CANDIDATES: usize = 20;

pub(crate) struct Ballot {
    weight: u32,
    ranking: Vec<usize>,
}

impl Ballot {
    /// Ballots of 1 to 16 ranks, the long ones last, as an export sorted by length has them.
    pub(crate) fn list() -> Vec<Self> {
        let ranking =
            |i: u32| (0..=i as usize / 250).map(|rank| (i as usize * 7 + rank * 3) % CANDIDATES).collect();
        (0..4000).map(|i| Self { weight: 1 + i % 7, ranking: ranking(i) }).collect()
    }
}

/// One round of an election count: each ballot spreads its weight over its candidates.
pub(crate) struct Count<'a>(pub(crate) &'a [Ballot]);

type Votes = Vec<BigUint>;

fn no_votes() -> Votes {
    vec![BigUint::ZERO; CANDIDATES]
}

/// Each candidate keeps four tenths of what reaches it.
fn spread(mut votes: Votes, ballot: &Ballot) -> Votes {
    let mut power = BigUint::from(10u32).pow(24) * ballot.weight;
    for &candidate in &ballot.ranking {
        let used = &power * 4u32 / 10u32;
        power -= &used;
        votes[candidate] += used;
    }
    votes
}

fn add(mut votes: Votes, more: Votes) -> Votes {
    votes.iter_mut().zip(more).for_each(|(votes, more)| *votes += more);
    votes
}

impl Loop for Count<'_> {
    type Output = Votes;

    fn run(&self, rival: &mut impl Rival) -> Option<Votes> {
        rival.fold(self.0, no_votes, spread, add)
    }
}

/// Results of `links` links each, in order.
pub(crate) struct Results<'a> {
    pub(crate) numbers: &'a [u64],
    pub(crate) links: u64,
}

impl Loop for Results<'_> {
    type Output = Vec<u64>;

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u64>> {
        let links = black_box(self.links);
        rival.collect(self.numbers, |x| x ^ work(links))
    }
}
