//! The rivals: one adapter each, with the loops that it has.

use std::{
    hint::black_box,
    num::NonZero,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use orx_parallel::{BasicPool, Par, Parallelizable, Runner};
use paralight::iter::{
    ExactParallelSourceExt, IntoExactParallelRefMutSource, IntoExactParallelRefSource, ParallelIterator as _,
    ParallelIteratorExt, ZipableSource,
};
use rangesteal::{Pool, RunReport, Trace};
use rayon::iter::{IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::{errors::Fallible, peers::Peer, search::Search, sort::Sort};

/// What the items of a loop cost; for rivals that want to be told.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Cost {
    Trivial,
    Even,
    Uneven,
}

impl Cost {
    /// How few items are worth a task.
    fn grain(self) -> usize {
        match self {
            Self::Trivial => 1024,
            Self::Even => 16,
            Self::Uneven => 1,
        }
    }
}

/// How an executor runs a loop; `None` where it has no such loop.
pub(crate) trait Rival: Search + Sort + Fallible {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64;

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A>;

    fn collect<T: Sync>(&mut self, _items: &[T], _map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        None
    }

    /// Over indices instead of a slice.
    fn index_sum(&mut self, _len: usize, _map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        None
    }
}

/// The loop of the standard library.
#[derive(Clone, Copy)]
pub(crate) struct Plain;

impl Rival for Plain {
    fn map_sum<T: Sync>(&mut self, items: &[T], _: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        items.iter().map(map).fold(0, u64::wrapping_add)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        _: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        Some(items.iter().fold(init(), fold))
    }

    fn collect<T: Sync>(&mut self, items: &[T], map: impl Fn(&T) -> u64 + Sync) -> Option<Vec<u64>> {
        Some(items.iter().map(map).collect())
    }

    fn index_sum(&mut self, len: usize, map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        Some((0..len).map(map).fold(0, u64::wrapping_add))
    }
}

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

    fn index_sum(&mut self, len: usize, map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        self.on(0..len).map_reduce(map, u64::wrapping_add)
    }
}

/// rangesteal that tells what it does.
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
        let sum = on.map_reduce(map, u64::wrapping_add).unwrap_or(0);
        black_box((report, trace));
        sum
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        _: &[T],
        _: impl Fn() -> A + Sync,
        _: impl Fn(A, &T) -> A + Sync,
        _: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        None
    }
}

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

    fn index_sum(&mut self, len: usize, map: impl Fn(usize) -> u64 + Sync) -> Option<u64> {
        Some(self.install(|| (0..len).into_par_iter().map(&map).reduce(|| 0, u64::wrapping_add)))
    }
}

/// A static split in two on warm threads: what memory bandwidth allows.
pub(crate) struct Halves<'a>(pub(crate) &'a rayon::ThreadPool);

impl Rival for Halves<'_> {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let (front, back) = items.split_at(items.len() / 2);
        let half = |items| Plain.map_sum(items, cost, &map);
        let (front, back) = self.0.install(|| rayon::join(|| half(front), || half(back)));
        front.wrapping_add(back)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        _: &[T],
        _: impl Fn() -> A + Sync,
        _: impl Fn(A, &T) -> A + Sync,
        _: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        None
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
}

/// Splits in halves down to the grain; whether a half is handed over is chili's matter.
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
}

/// Accumulators for rivals that only sum numbers: a range takes one that is free and gives it back.
struct Accumulators<A>(Mutex<Vec<A>>);

impl<A> Accumulators<A> {
    fn add(&self, init: impl Fn() -> A, add: impl FnOnce(A) -> A) {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let acc = add(free.unwrap_or_else(init));
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(acc);
    }

    fn reduce(self, reduce: impl Fn(A, A) -> A) -> Option<A> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().reduce(reduce)
    }
}

/// OpenMP or oneTBB, for one turn.
pub(crate) struct Foreign<'a> {
    pub(crate) peer: &'a Peer,
    pub(crate) threads: usize,
}

impl Drop for Foreign<'_> {
    fn drop(&mut self) {
        self.peer.leave();
    }
}

impl Rival for Foreign<'_> {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        let body = |range| Plain.map_sum(&items[range], cost, &map);
        self.peer.sum(self.threads, items.len(), cost.grain(), cost != Cost::Uneven, &body)
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let accumulators = Accumulators(Mutex::new(Vec::new()));
        let body = |range: Range<usize>| {
            accumulators.add(&init, |acc| items[range].iter().fold(acc, &fold));
            0
        };
        self.peer.sum(self.threads, items.len(), Cost::Even.grain(), false, &body);
        accumulators.reduce(reduce)
    }
}

#[cfg(fork_union)]
impl Rival for fork_union::ThreadPool {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        // It reduces nothing: each thread adds to a number of its own.
        let sums: Vec<_> = (0..self.threads())
            .map(|_| crossbeam_utils::CachePadded::new(std::sync::atomic::AtomicU64::new(0)))
            .collect();
        let add = |thread: usize, sum| {
            sums[thread].fetch_add(sum, std::sync::atomic::Ordering::Relaxed);
        };
        if cost == Cost::Uneven {
            drop(self.for_n_dynamic(items.len(), |prong| {
                add(prong.thread_index, map(&items[prong.task_index]));
            }));
        } else {
            drop(self.for_slices(items.len(), |prong, count| {
                let range = prong.task_index..prong.task_index + count;
                add(prong.thread_index, Plain.map_sum(&items[range], cost, &map));
            }));
        }
        sums.into_iter().fold(0, |all, sum| all.wrapping_add(sum.into_inner().into_inner()))
    }

    fn fold<T: Sync, A: Send>(
        &mut self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let (accumulators, grain) = (Accumulators(Mutex::new(Vec::new())), Cost::Even.grain());
        drop(self.for_n_dynamic(items.len().div_ceil(grain), |prong| {
            let begin = prong.task_index * grain;
            let range = begin..items.len().min(begin + grain);
            accumulators.add(&init, |acc| items[range].iter().fold(acc, &fold));
        }));
        accumulators.reduce(reduce)
    }
}
