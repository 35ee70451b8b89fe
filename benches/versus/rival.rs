//! The loops of an executor, and the trait of a loop.

use std::cmp::Ordering;

use rangesteal::Pool;

/// The cost of a loop's items, for rivals with a parameter for it.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    Trivial,
    Even,
    Uneven,
}

impl Cost {
    /// The least number of items per task.
    pub(crate) fn grain(self) -> usize {
        match self {
            Self::Trivial => 1024,
            Self::Even => 16,
            Self::Uneven => 1,
        }
    }
}

/// A chain of stages, as users write it.
#[derive(Clone, Copy)]
pub(crate) enum Chained {
    MapFilterSum,
    FilterCount,
    EnumerateMax,
    ZipSum,
}

/// The loops of an executor. `None` means that the executor has no such loop.
pub(crate) trait Rival {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64;

    fn fold<T: Sync, A: Send>(
        &mut self,
        _items: &[T],
        _init: impl Fn() -> A + Sync,
        _fold: impl Fn(A, &T) -> A + Sync,
        _reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        None
    }

    fn collect<T: Sync>(&mut self, _items: &[T], _map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        None
    }

    /// Copies the items for which `keep` holds.
    fn keep(&mut self, _items: &[u32], _keep: impl Fn(&u32) -> bool + Sync) -> Option<Vec<u32>> {
        None
    }

    /// Copies the items that pass the test into one vector, and the others into another one.
    fn part(&mut self, _items: &[u32], _test: impl Fn(&u32) -> bool + Sync) -> Option<(Vec<u32>, Vec<u32>)> {
        None
    }

    /// Collects both parts of the results, each into a vector of its own.
    fn both<A: Send, B: Send>(
        &mut self,
        _items: &[u32],
        _map: impl Fn(&u32) -> (A, B) + Sync,
    ) -> Option<(Vec<A>, Vec<B>)> {
        None
    }

    /// Collects any number of results per item.
    fn flat<I: IntoIterator<Item = u32>>(
        &mut self,
        _items: &[u32],
        _map: impl Fn(&u32) -> I + Sync,
    ) -> Option<Vec<u32>> {
        None
    }

    /// Makes a string of each item, by value.
    fn moved(
        &mut self,
        _items: Vec<String>,
        _map: impl Fn(String) -> String + Sync + Send,
    ) -> Option<Vec<String>> {
        None
    }

    /// A sum over indices instead of a slice.
    fn index_sum(&mut self, _len: usize, _map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        None
    }

    /// A reduction over indices, with results that are not a number.
    fn index_reduce<R: Send>(
        &mut self,
        _len: usize,
        _map: impl Fn(usize) -> R + Sync,
        _reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        None
    }

    /// The first wanted item.
    #[allow(clippy::option_option, reason = "no such loop; nothing found; found")]
    fn first<'t, T: Sync>(
        &mut self,
        _items: &'t [T],
        _wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        None
    }

    /// Whether any item is wanted.
    fn any<T: Sync>(&mut self, _items: &[T], _wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        None
    }

    /// Whether all items are wanted.
    fn all<T: Sync>(&mut self, _items: &[T], _wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        None
    }

    /// A stable sort.
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, _items: &mut Vec<T>) -> Option<()> {
        None
    }

    /// A stable sort.
    fn sort_by<T: Send + Sync>(
        &mut self,
        _items: &mut [T],
        _compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        None
    }

    /// An unstable sort.
    fn sort_unstable<T: Ord + Send + Sync + 'static>(&mut self, _items: &mut Vec<T>) -> Option<()> {
        None
    }

    /// Replaces each item by the total of all items up to it.
    fn scan<T: Clone + Send + Sync>(
        &mut self,
        _items: &mut [T],
        _op: impl Fn(&T, &T) -> T + Sync,
    ) -> Option<()> {
        None
    }

    /// A stable sort by the decimal digits of each number. Executors make the digits of each number
    /// once. The plain loop makes the digits once only if `cached` is true.
    fn sort_by_digits(&mut self, _items: &mut [u32], _cached: bool) -> Option<()> {
        None
    }

    /// One of the chains. Each executor has its own closures for the chain, as its users would
    /// write them. A row cannot pass such closures to all executors.
    fn chain(&mut self, _chain: Chained, _xs: &[u32], _ys: &[u32]) -> Option<u64> {
        None
    }

    /// A loop that the users of each executor write in their own way.
    fn written<W: Written>(&mut self, _work: &W, _data: &mut W::Data) -> Option<W::Output> {
        None
    }

    /// Runs two closures, one after the other unless the executor has a better way.
    fn join<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        (first(), second())
    }

    /// A loop that ends at an error.
    fn try_each(
        &mut self,
        _items: &[u64],
        _f: impl Fn(&u64) -> Result<(), u64> + Sync,
    ) -> Option<Result<(), u64>> {
        None
    }

    /// A sum that ends at an error.
    fn try_sum(
        &mut self,
        _items: &[u64],
        _map: impl Fn(&u64) -> Result<u64, u64> + Sync,
    ) -> Option<Result<u64, u64>> {
        None
    }
}

/// A loop over `data` that the users of each executor write in their own way.
pub(crate) trait Written: Sync {
    type Data: Send;
    type Output: PartialEq + Send;

    fn plain(&self, data: &mut Self::Data) -> Self::Output;

    fn ours(&self, pool: &Pool, data: &mut Self::Data) -> Self::Output;

    /// Runs on a thread of a rayon pool. `None` if rayon's users have no such loop.
    fn rayon(&self, _data: &mut Self::Data) -> Option<Self::Output> {
        None
    }
}

/// A loop that any executor can run. All entrants must return the same result. `None` means that
/// the executor has no such loop.
pub(crate) trait Loop {
    type Output: PartialEq;

    /// Runs before a call, unmeasured: restores the data that a call uses up, or runs other loops.
    fn prepare(&self, _rival: &mut impl Rival) {}

    fn run(&self, rival: &mut impl Rival) -> Option<Self::Output>;
}
