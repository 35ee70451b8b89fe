//! The loops that the rows run.

use std::{cell::RefCell, hint::black_box};

use num_bigint::BigUint;

use crate::{
    rival::{Cost, Loop, Rival},
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

    /// A loop of this length in ns, of equal items of 10 ns or more.
    pub(crate) fn short(nanos: u64) -> Self {
        let len = (nanos / 10).min(1000);
        Self::even(len as usize, nanos / len)
    }

    /// Items of growing cost, `nanos` in all.
    pub(crate) fn growing(len: u64, nanos: u64) -> Self {
        Self::new((0..len).map(|i| 2 * nanos * i / (len * (len - 1))), Cost::Uneven)
    }

    pub(crate) fn falling(len: u64, nanos: u64) -> Self {
        let mut items = Self::growing(len, nanos);
        items.links.reverse();
        items
    }

    /// The `count` items from index `first` on cost `nanos` each. All other items cost nothing.
    pub(crate) fn heavy(len: usize, first: usize, count: usize, nanos: u64) -> Self {
        let run = first..first + count;
        Self::new((0..len).map(|i| if run.contains(&i) { nanos } else { 0 }), Cost::Uneven)
    }

    /// Item `at` costs `nanos`. All other items together also cost `nanos`.
    pub(crate) fn one(len: usize, at: usize, nanos: u64) -> Self {
        let rest = nanos / (len as u64 - 1);
        Self::new((0..len).map(|i| if i == at { nanos } else { rest }), Cost::Uneven)
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
    /// Ballots of 1 to 16 ranks, the long ones last, as in an export sorted by length.
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

/// Each candidate keeps four tenths of the weight that reaches it.
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

/// For each wanted number, finds the first number for which `is` holds. Every search finds such a
/// number.
pub(crate) struct First<'a, F> {
    pub(crate) numbers: &'a [u32],
    pub(crate) wanted: &'a [u32],
    pub(crate) is: F,
}

impl<'a> First<'a, fn(u32, u32) -> bool> {
    pub(crate) fn equal(
        numbers: &'a [u32],
        wanted: &'a [u32],
    ) -> First<'a, impl Fn(u32, u32) -> bool + Sync> {
        First { numbers, wanted, is: |x, wanted| x == wanted }
    }

    /// Any number that is not less than the wanted one matches. So only a search from the front
    /// finds the wanted number. A test takes `links` links.
    pub(crate) fn as_large(
        numbers: &'a [u32],
        wanted: &'a [u32],
        links: u64,
    ) -> First<'a, impl Fn(u32, u32) -> bool + Sync> {
        let (links, end) = (black_box(links), work(links) >> 1);
        First {
            numbers,
            wanted,
            is: move |x, wanted| u64::from(x) + (work(links) >> 1) >= u64::from(wanted) + end,
        }
    }
}

impl<F: Fn(u32, u32) -> bool + Sync> Loop for First<'_, F> {
    type Output = u64;

    /// Returns a hash of the found numbers.
    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        let is = &self.is;
        self.wanted.iter().try_fold(0, |found: u64, &wanted| {
            let number = rival.first(black_box(self.numbers), move |x| is(*x, wanted))?;
            Some(found.wrapping_mul(31).wrapping_add(u64::from(*number.expect("all are found"))))
        })
    }
}

/// Whether each wanted number is among the numbers.
pub(crate) struct Any<'a> {
    pub(crate) numbers: &'a [u32],
    pub(crate) wanted: &'a [u32],
}

impl Loop for Any<'_> {
    type Output = bool;

    fn run(&self, rival: &mut impl Rival) -> Option<bool> {
        self.wanted.iter().try_fold(true, |found, &wanted| {
            Some(rival.any(black_box(self.numbers), move |x| *x == wanted)? && found)
        })
    }
}

/// Whether all numbers are below a limit.
pub(crate) struct AllBelow<'a>(pub(crate) &'a [u32], pub(crate) u32);

impl Loop for AllBelow<'_> {
    type Output = bool;

    fn run(&self, rival: &mut impl Rival) -> Option<bool> {
        let limit = self.1;
        rival.all(black_box(self.0), move |x| *x < limit)
    }
}

/// Sorts a fresh copy in each call.
pub(crate) struct Sorted<T> {
    items: Vec<T>,
    copy: RefCell<Vec<T>>,
}

impl<T> Sorted<T> {
    pub(crate) fn new(items: impl IntoIterator<Item = T>) -> Self {
        Self { items: items.into_iter().collect(), copy: RefCell::default() }
    }
}

impl<T: Ord + Clone + Send + Sync + 'static> Loop for Sorted<T> {
    type Output = Vec<T>;

    fn prepare(&self, _: &mut impl Rival) {
        self.copy.borrow_mut().clone_from(&self.items);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<T>> {
        let mut items = self.copy.take();
        rival.sort(&mut items)?;
        Some(items)
    }
}

/// Sorts by the upper bits of each number, a key with few values. The lower bits show the order of
/// items with equal keys.
pub(crate) struct ByKey(Sorted<u32>);

impl ByKey {
    const PLACE: u32 = 20;

    pub(crate) fn new(keys: impl Iterator<Item = u32>) -> Self {
        Self(Sorted::new((0..1 << Self::PLACE).zip(keys).map(|(place, key)| key << Self::PLACE | place)))
    }
}

impl Loop for ByKey {
    type Output = Vec<u32>;

    fn prepare(&self, rival: &mut impl Rival) {
        self.0.prepare(rival);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u32>> {
        let mut items = self.0.copy.take();
        let key = |x: &u32| x >> Self::PLACE;
        rival.sort_by(&mut items, |a, b| key(a).cmp(&key(b)))?;
        Some(items)
    }
}
