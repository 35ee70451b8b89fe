//! rangesteal, and rangesteal with a report or a trace.

use std::{cmp::Ordering, hint::black_box};

use rangesteal::{Pool, RunReport, Trace};

use crate::rival::{Chained, Cost, Rival, Written};

impl Rival for &Pool {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        self.map_reduce(items, map, u64::wrapping_add).unwrap_or(0)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        Some(self.fold_reduce(items, init, fold, reduce))
    }

    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        Some(self.map_collect(items, map))
    }

    fn keep(&mut self, items: &[u32], keep: impl Fn(&u32) -> bool + Sync) -> Option<Vec<u32>> {
        Some(self.on(items).copied().filter(keep).collect())
    }

    fn part(&mut self, items: &[u32], test: impl Fn(&u32) -> bool + Sync) -> Option<(Vec<u32>, Vec<u32>)> {
        Some(self.on(items).copied().partition(test))
    }

    fn both<A: Send, B: Send>(
        &mut self,
        items: &[u32],
        map: impl Fn(&u32) -> (A, B) + Sync,
    ) -> Option<(Vec<A>, Vec<B>)> {
        Some(self.on(items).map(map).unzip())
    }

    fn flat<I: IntoIterator<Item = u32>>(
        &mut self,
        items: &[u32],
        map: impl Fn(&u32) -> I + Sync,
    ) -> Option<Vec<u32>> {
        Some(self.on(items).flat_map(map).collect())
    }

    fn moved(
        &mut self,
        items: Vec<String>,
        map: impl Fn(String) -> String + Sync + Send,
    ) -> Option<Vec<String>> {
        Some(self.on(items).map(map).collect())
    }

    fn index_sum(&mut self, len: usize, map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        self.on(0..len).map(map).reduce(u64::wrapping_add)
    }

    fn index_reduce<R: Send>(
        &mut self,
        len: usize,
        map: impl Fn(usize) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        self.on(0..len).map(map).reduce(reduce)
    }

    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        Some(self.on(items).find(|item| wanted(item)))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(self.on(items).any(wanted))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(self.on(items).all(wanted))
    }

    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        Pool::sort(self, items);
        Some(())
    }

    fn sort_by<T: Send + Sync>(
        &mut self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        Pool::sort_by(self, items, compare);
        Some(())
    }

    fn written<W: Written>(&mut self, work: &W, data: &mut W::Data) -> Option<W::Output> {
        Some(work.ours(self, data))
    }

    fn scan<T: Clone + Send + Sync>(
        &mut self,
        items: &mut [T],
        op: impl Fn(&T, &T) -> T + Sync,
    ) -> Option<()> {
        self.on(items).inclusive_scan(op);
        Some(())
    }

    fn sort_unstable<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        Pool::sort_unstable(self, items);
        Some(())
    }

    fn sort_by_digits(&mut self, items: &mut [u32], _: bool) -> Option<()> {
        self.sort_by_cached_key(items, u32::to_string);
        Some(())
    }

    fn join<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        Pool::join(self, first, second)
    }

    fn chain(&mut self, chain: Chained, xs: &[u32], ys: &[u32]) -> Option<u64> {
        Some(match chain {
            Chained::MapFilterSum => self.on(xs).map(|x| x >> 3).filter(|x| x % 2 == 0).sum::<u32>().into(),
            Chained::FilterCount => self.on(xs).filter(|x| **x % 7 == 0).count() as u64,
            Chained::EnumerateMax => {
                let largest = self.on(xs).enumerate().map(|(i, x)| (i, x ^ 0x55)).max_by_key(|(_, x)| *x);
                largest.map_or(0, |(i, x)| u64::from(x) << 32 | i as u64)
            }
            Chained::ZipSum => self.on(xs).zip(ys).map(|(x, y)| u64::from(x ^ y)).sum(),
        })
    }

    fn try_each(
        &mut self,
        items: &[u64],
        f: impl Fn(&u64) -> Result<(), u64> + Sync,
    ) -> Option<Result<(), u64>> {
        Some(self.on(items).try_for_each(f))
    }

    fn try_sum(
        &mut self,
        items: &[u64],
        map: impl Fn(&u64) -> Result<u64, u64> + Sync,
    ) -> Option<Result<u64, u64>> {
        Some(self.on(items).map(map).try_reduce(u64::wrapping_add).map(Option::unwrap_or_default))
    }
}

/// rangesteal with a report or a trace.
pub(crate) enum Telling<'p> {
    Report(&'p Pool),
    Trace(&'p Pool),
}

impl Rival for Telling<'_> {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let (mut report, mut trace) = (RunReport::default(), Trace::new());
        let on = match self {
            Self::Report(pool) => pool.on(items).report(&mut report),
            Self::Trace(pool) => pool.on(items).trace(&mut trace),
        };
        let sum = on.map(map).reduce(u64::wrapping_add).unwrap_or(0);
        black_box((report, trace));
        sum
    }
}
