//! The rivals written in Rust: one adapter each, with the loops that the rival has.

use std::{cmp::Ordering, num::NonZero, ops::Range};

use orx_parallel::{BasicPool, Par, Parallelizable, Runner};
use paralight::iter::{
    ExactParallelSourceExt, IntoExactParallelRefMutSource, IntoExactParallelRefSource, ParallelIterator as _,
    ParallelIteratorExt, ZipableSource,
};
use rayon::{
    iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator},
    slice::{ParallelSlice, ParallelSliceMut},
};

use crate::{
    plain::Plain,
    rival::{Chained, Cost, Rival, Written},
};

impl Rival for &rayon::ThreadPool {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        self.install(|| IntoParallelRefIterator::par_iter(items).map(&map).reduce(|| 0, u64::wrapping_add))
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        Some(
            self.install(|| {
                IntoParallelRefIterator::par_iter(items).fold(&init, &fold).reduce(&init, &reduce)
            }),
        )
    }

    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).map(&map).collect()))
    }

    fn keep(&mut self, items: &[u32], keep: impl Fn(&u32) -> bool + Sync) -> Option<Vec<u32>> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).copied().filter(&keep).collect()))
    }

    fn part(&mut self, items: &[u32], test: impl Fn(&u32) -> bool + Sync) -> Option<(Vec<u32>, Vec<u32>)> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).copied().partition(&test)))
    }

    fn both<A: Send, B: Send>(
        &mut self,
        items: &[u32],
        map: impl Fn(&u32) -> (A, B) + Sync,
    ) -> Option<(Vec<A>, Vec<B>)> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).map(&map).unzip()))
    }

    fn flat<I: IntoIterator<Item = u32>>(
        &mut self,
        items: &[u32],
        map: impl Fn(&u32) -> I + Sync,
    ) -> Option<Vec<u32>> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).flat_map_iter(&map).collect()))
    }

    fn chain(&mut self, chain: Chained, xs: &[u32], ys: &[u32]) -> Option<u64> {
        Some(self.install(|| {
            match chain {
                Chained::MapFilterSum => IntoParallelRefIterator::par_iter(xs)
                    .map(|x| x >> 3)
                    .filter(|x| x % 2 == 0)
                    .sum::<u32>()
                    .into(),
                Chained::FilterCount => {
                    IntoParallelRefIterator::par_iter(xs).filter(|x| **x % 7 == 0).count() as u64
                }
                Chained::EnumerateMax => {
                    let largest = IntoParallelRefIterator::par_iter(xs)
                        .enumerate()
                        .map(|(i, x)| (i, x ^ 0x55))
                        .max_by_key(|(_, x)| *x);
                    largest.map_or(0, |(i, x)| u64::from(x) << 32 | i as u64)
                }
                Chained::ZipSum => {
                    IntoParallelRefIterator::par_iter(xs).zip(ys).map(|(x, y)| u64::from(x ^ y)).sum()
                }
            }
        }))
    }

    fn index_reduce<R: Send>(
        &mut self,
        len: usize,
        map: impl Fn(usize) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R> {
        self.install(|| (0..len).into_par_iter().map(&map).reduce_with(&reduce))
    }

    fn moved(
        &mut self,
        items: Vec<String>,
        map: impl Fn(String) -> String + Sync + Send,
    ) -> Option<Vec<String>> {
        Some(self.install(|| items.into_par_iter().map(map).collect()))
    }

    fn index_sum(&mut self, len: usize, map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        Some(self.install(|| (0..len).into_par_iter().map(&map).reduce(|| 0, u64::wrapping_add)))
    }

    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).find_first(|item| wanted(item))))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).any(&wanted)))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).all(&wanted)))
    }

    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        self.install(|| items.par_sort());
        Some(())
    }

    fn sort_by<T: Send + Sync>(
        &mut self,
        items: &mut [T],
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> Option<()> {
        self.install(|| items.par_sort_by(&compare));
        Some(())
    }

    fn written<W: Written>(&mut self, work: &W, data: &mut W::Data) -> Option<W::Output> {
        self.install(|| work.rayon(data))
    }

    /// As written by hand: two loops over chunks. Each thread has four chunks.
    fn scan<T: Clone + Send + Sync>(
        &mut self,
        items: &mut [T],
        op: impl Fn(&T, &T) -> T + Sync,
    ) -> Option<()> {
        let size = items.len().div_ceil(4 * self.current_num_threads()).max(1);
        let total = |items: &[T]| {
            let (first, others) = items.split_first().expect("an item");
            others.iter().fold(first.clone(), |total, item| op(&total, item))
        };
        self.install(|| {
            let totals: Vec<T> = items.par_chunks(size).map(total).collect();
            let mut before = vec![None];
            for total in &totals[..totals.len().saturating_sub(1)] {
                let last = before.last().and_then(Option::as_ref);
                before.push(Some(last.map_or_else(|| total.clone(), |last| op(last, total))));
            }
            items.par_chunks_mut(size).zip(before).for_each(|(items, before)| {
                if let Some(before) = before {
                    items[0] = op(&before, &items[0]);
                }
                for index in 1..items.len() {
                    items[index] = op(&items[index - 1], &items[index]);
                }
            });
        });
        Some(())
    }

    fn sort_unstable<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        self.install(|| items.par_sort_unstable());
        Some(())
    }

    fn sort_by_digits(&mut self, items: &mut [u32], _: bool) -> Option<()> {
        self.install(|| items.par_sort_by_cached_key(u32::to_string));
        Some(())
    }

    fn join<A: Send, B: Send>(
        &self,
        first: impl FnOnce() -> A + Send,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        rayon::ThreadPool::join(self, first, second)
    }

    fn try_each(
        &mut self,
        items: &[u64],
        f: impl Fn(&u64) -> Result<(), u64> + Sync,
    ) -> Option<Result<(), u64>> {
        Some(self.install(|| IntoParallelRefIterator::par_iter(items).try_for_each(&f)))
    }

    fn try_sum(
        &mut self,
        items: &[u64],
        map: impl Fn(&u64) -> Result<u64, u64> + Sync,
    ) -> Option<Result<u64, u64>> {
        let sum = || {
            IntoParallelRefIterator::par_iter(items).map(&map).try_reduce(|| 0, |a, b| Ok(a.wrapping_add(b)))
        };
        Some(self.install(sum))
    }
}

/// A static split in two on warm threads: the limit that memory bandwidth sets.
pub(crate) struct Halves<'a>(pub(crate) &'a rayon::ThreadPool);

impl Rival for Halves<'_> {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let (front, back) = items.split_at(items.len() / 2);
        let half = |items| Plain.map_sum(items, cost, &map);
        let (front, back) = self.0.install(|| rayon::join(|| half(front), || half(back)));
        front.wrapping_add(back)
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        let (front, back) = items.split_at(items.len() / 2);
        let (front, back) =
            self.0.install(|| rayon::join(|| front.iter().all(&wanted), || back.iter().all(&wanted)));
        Some(front && back)
    }

    fn chain(&mut self, chain: Chained, xs: &[u32], ys: &[u32]) -> Option<u64> {
        let middle = xs.len() / 2;
        let ((xs, more_xs), (ys, more_ys)) = (xs.split_at(middle), ys.split_at(middle));
        let halves = || rayon::join(|| Plain.chain(chain, xs, ys), || Plain.chain(chain, more_xs, more_ys));
        let (front, back) = self.0.install(halves);
        let (front, back) = (front?, back?);
        Some(match chain {
            Chained::MapFilterSum => u64::from((front as u32).wrapping_add(back as u32)),
            Chained::FilterCount | Chained::ZipSum => front + back,
            Chained::EnumerateMax => front.max(back + middle as u64), // the index is in the lower bits
        })
    }
}

impl Rival for &mut paralight::prelude::ThreadPool {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let items = IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self);
        items.map(map).reduce(|| 0, u64::wrapping_add)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let items = IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self);
        Some(items.pipeline(init, fold, |acc| acc, reduce))
    }

    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        let mut results = vec![0; items.len()];
        let pairs = (results.par_iter_mut(), IntoExactParallelRefSource::par_iter(items)).zip_eq();
        pairs.with_thread_pool(&mut **self).for_each(|(result, item)| *result = map(item));
        Some(results)
    }

    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        let items = IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self);
        Some(items.find_first(|item| wanted(item)))
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self).any(wanted))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(IntoExactParallelRefSource::par_iter(items).with_thread_pool(&mut **self).all(wanted))
    }
}

/// Splits in halves down to the grain. chili decides whether another thread gets a half.
pub(crate) struct Chili(chili::ThreadPool);

impl Chili {
    pub(crate) fn new(threads: usize) -> Self {
        let config = chili::Config { thread_count: NonZero::new(threads), ..chili::Config::default() };
        Self(chili::ThreadPool::with_config(config))
    }

    fn halve<A: Send>(
        scope: &mut chili::Scope<'_>,
        range: Range<usize>,
        grain: usize,
        body: &(impl Fn(Range<usize>) -> A + Sync),
        reduce: &(impl Fn(A, A) -> A + Sync),
    ) -> A {
        if range.len() <= grain {
            return body(range);
        }
        let middle = range.start.midpoint(range.end);
        let (front, back) = scope.join(
            |scope| Self::halve(scope, range.start..middle, grain, body, reduce),
            |scope| Self::halve(scope, middle..range.end, grain, body, reduce),
        );
        reduce(front, back)
    }
}

impl Rival for &mut Chili {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let body = |range| Plain.map_sum(&items[range], cost, &map);
        Chili::halve(&mut self.0.scope(), 0..items.len(), cost.grain(), &body, &u64::wrapping_add)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let body = |range: Range<usize>| items[range].iter().fold(init(), &fold);
        Some(Chili::halve(&mut self.0.scope(), 0..items.len(), Cost::Even.grain(), &body, &reduce))
    }
}

// The sort of this library is left out, because it is experimental and not stable.
impl Rival for &BasicPool {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let items = items.par().runner(Runner::adaptive_with_pool(*self));
        items.map(&map).reduce(u64::wrapping_add).unwrap_or(0)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let items = items.par().runner(Runner::adaptive_with_pool(*self));
        let parts = items.fold(
            || None,
            |acc: &mut Option<A>, item| *acc = Some(fold(acc.take().unwrap_or_else(&init), item)),
        );
        parts.into_iter().flatten().reduce(reduce)
    }

    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        let items = items.par().runner(Runner::adaptive_with_pool(*self));
        Some(items.map(&map).collect())
    }

    fn first<'t, T: Sync>(
        &mut self,
        items: &'t [T],
        wanted: impl Fn(&T) -> bool + Sync,
    ) -> Option<Option<&'t T>> {
        let items = items.par().runner(Runner::adaptive_with_pool(*self));
        Some(items.find(|item| wanted(item))) // the default is the first one
    }

    fn any<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.par().runner(Runner::adaptive_with_pool(*self)).any(|item| wanted(item)))
    }

    fn all<T: Sync>(&mut self, items: &[T], wanted: impl Fn(&T) -> bool + Sync) -> Option<bool> {
        Some(items.par().runner(Runner::adaptive_with_pool(*self)).all(|item| wanted(item)))
    }
}
