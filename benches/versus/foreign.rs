//! An adapter for each rival written in C++, with the loops that the rival has.

use std::{
    any::Any,
    ops::Range,
    sync::{Mutex, PoisonError},
};

use crate::{
    peers::Peer,
    plain::Plain,
    rival::{Cost, Rival},
};

/// Accumulators for rivals that only sum numbers. A range takes a free accumulator and puts it
/// back.
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

    /// Sorts only `u32`, in ascending order.
    fn sort<T: Ord + Send + Sync + 'static>(&mut self, items: &mut Vec<T>) -> Option<()> {
        self.peer.sort(self.threads, (items as &mut dyn Any).downcast_mut::<Vec<u32>>()?);
        Some(())
    }
}

#[cfg(fork_union)]
impl Rival for fork_union::ThreadPool {
    fn map_sum<T: Sync>(&mut self, items: &[T], cost: Cost, map: impl Fn(&T) -> u64 + Sync) -> u64 {
        // The library cannot reduce values, so each thread adds to a number of its own.
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
