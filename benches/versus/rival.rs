//! What an executor can do, and what a loop is.

use std::cmp::Ordering;

/// What the items of a loop cost; for rivals that want to be told.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    Trivial,
    Even,
    Uneven,
}

impl Cost {
    /// How few items are worth a task.
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

/// How an executor runs a loop; `None` where it has no such loop.
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

    /// Copies what is to be kept.
    fn keep(&mut self, _items: &[u32], _keep: impl Fn(&u32) -> bool + Sync) -> Option<Vec<u32>> {
        None
    }

    /// Copies those that pass the test, and the others.
    fn part(&mut self, _items: &[u32], _test: impl Fn(&u32) -> bool + Sync) -> Option<(Vec<u32>, Vec<u32>)> {
        None
    }

    /// Collects any number of results of each.
    fn flat<I: IntoIterator<Item = u32>>(
        &mut self,
        _items: &[u32],
        _map: impl Fn(&u32) -> I + Sync,
    ) -> Option<Vec<u32>> {
        None
    }

    /// Makes a string of each, by value.
    fn moved(
        &mut self,
        _items: Vec<String>,
        _map: impl Fn(String) -> String + Sync + Send,
    ) -> Option<Vec<String>> {
        None
    }

    /// Over indices instead of a slice.
    fn index_sum(&mut self, _len: usize, _map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        None
    }

    /// Over indices, with results that are not a number.
    fn index_reduce<R: Send>(
        &mut self,
        _len: usize,
        _map: impl Fn(usize) -> R + Sync,
        _reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        None
    }

    /// The first of the items wanted.
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

    /// Whether all items are.
    fn all<T: Sync>(&mut self, _items: &[T], _wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        None
    }

    /// Stable.
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, _items: &mut Vec<T>) -> Option<()> {
        None
    }

    /// Stable.
    fn sort_by<T: Send + Sync>(
        &mut self,
        _items: &mut [T],
        _compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        None
    }

    /// Equal items may change places.
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

    /// Stable, by the decimal digits of each number, which are made once for each, but by the plain
    /// loop only if they are `cached`.
    fn sort_by_digits(&mut self, _items: &mut [u32], _cached: bool) -> Option<()> {
        None
    }

    /// One of the chains. Its closures stand here and not in the row, so that each executor has
    /// them where its users would write them.
    fn chain(&mut self, _chain: Chained, _xs: &[u32], _ys: &[u32]) -> Option<u64> {
        None
    }

    /// Ends at an error.
    /// Two closures, one after the other unless the executor can do better.
    fn join<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        (first(), second())
    }

    fn try_each(
        &mut self,
        _items: &[u64],
        _f: impl Fn(&u64) -> Result<(), u64> + Sync,
    ) -> Option<Result<(), u64>> {
        None
    }

    /// Ends at an error.
    fn try_sum(
        &mut self,
        _items: &[u64],
        _map: impl Fn(&u64) -> Result<u64, u64> + Sync,
    ) -> Option<Result<u64, u64>> {
        None
    }
}

/// A loop, for any executor. Its result is what all must agree on; `None` from those who have no
/// such loop.
pub(crate) trait Loop {
    type Output: PartialEq;

    /// What comes before a call and is not part of what is measured: makes anew what a call uses
    /// up, or runs other loops.
    fn prepare(&self, _rival: &mut impl Rival) {}

    fn run(&self, rival: &mut impl Rival) -> Option<Self::Output>;
}
