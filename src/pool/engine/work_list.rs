//! A worker of a loop over a list that grows, when no seed is left for this worker. The worker
//! takes items that were made during the loop: its own items and items of other workers. The worker
//! leaves when the loop is over, or when it has found no item for a while.
//!
//! A worker that finds no item polls for some microseconds and then leaves the loop. When there is
//! work again, the worker is called back. So a worker may come and leave several times. The caller
//! cannot leave before all other workers have left. The caller rests until all other workers have
//! left.

use std::time::Duration;

use super::{accumulator::Accumulate, ending::StopAt, plan::Plan, thief::Thief, worker_log::WorkerLog};
use crate::{
    clock::Instant,
    pool::{
        policy::back_off::{self, Finds},
        supply::{
            range::{Claims, Ranges, StealPolicy},
            worker_counts::WorkerCounts,
        },
    },
    sync::Patience,
};

/// A list that grows, for any type of items. When a worker folds an empty range of seeds, it folds
/// the items of its own deque until the deque is empty.
pub(crate) trait WorkList: Sync {
    fn worker_counts(&self) -> &WorkerCounts;

    /// From now on, `workers` workers of this arena share the list.
    fn share(&self, workers: usize, arena: usize);

    /// Limits the time of the calling thread, which runs the list alone. The thread returns at its
    /// first reading of the clock after `limit`. If `limit` is `None`, the thread returns when no
    /// item is left.
    fn until(&self, limit: Option<Duration>);

    /// Whether worker `me` has no item.
    fn is_dry(&self, me: usize) -> bool;

    /// The approximate number of items that thieves can take from `worker`.
    fn shown(&self, worker: usize) -> usize;

    /// Worker `me` has no item and steals from `victim`. Returns the number of stolen items.
    fn try_steal(&self, me: usize, victim: usize) -> usize;

    /// Announces that a worker leaves. `worked` is the time that it has worked. Returns `false` if
    /// there is work to take.
    fn try_leave(&self, worked: Duration) -> bool;

    /// How many items worker `me` has folded since the last call of this function.
    fn folded(&self, me: usize) -> usize;

    /// Runs [`GrowWorker::run`] for a worker of this list. Only lists refer to that function, so a
    /// program without lists that grow does not contain it.
    fn run_worker(
        &self,
        worker: GrowWorker<'_>,
        acc: &mut dyn Accumulate,
        worker_log: &mut WorkerLog<'_>,
    ) -> Result<(), StopAt>;
}

/// A worker for which no seed is left.
pub(crate) struct GrowWorker<'a> {
    list: &'a dyn WorkList,
    me: usize,
    plan: &'a Plan<'a>,
    /// The ranges of the seeds. These ranges have the counter of thefts.
    ranges: &'a Ranges,
    finds: Finds,
    thief: Thief<'a>,
}

impl<'a> GrowWorker<'a> {
    pub(crate) fn new(list: &'a dyn WorkList, me: usize, plan: &'a Plan<'a>, ranges: &'a Ranges) -> Self {
        Self { list, me, plan, ranges, finds: Finds::default(), thief: Thief::new(me, plan) }
    }

    /// Takes items that were made during the loop, until the loop is over or until the worker has
    /// found no item for a while. The caller rests until it is called back, or until all other
    /// workers have left.
    pub(crate) fn run(
        mut self,
        acc: &mut dyn Accumulate,
        worker_log: &mut WorkerLog<'_>,
    ) -> Result<(), StopAt> {
        let Self { list, me, .. } = self;
        let mut victim = None; // the worker first takes its own items
        loop {
            let (begin, has_items) = (Instant::now(), !list.is_dry(me));
            let mut taken = Ok(());
            while taken.is_ok() && !list.is_dry(me) && !list.worker_counts().is_closed() {
                // The empty claim makes the kernel call the fold of the list. The fold of the list
                // takes items that were made during the loop.
                taken = acc.take(&mut Claims::of(0..0));
            }
            if has_items {
                let end = Instant::now();
                self.finds.see(end - begin);
                if let Some(journal) = &mut worker_log.journal {
                    journal.ran_made_items(victim, begin, end);
                }
            }
            taken?;
            list.worker_counts().end_work();
            victim = self.find();
            if victim.is_none() {
                return Ok(());
            }
        }
    }

    /// Steals items and returns the victim. Returns `None` if the worker must leave. After a theft
    /// the worker counts as busy.
    fn find(&mut self) -> Option<usize> {
        let Self { list, me, plan, .. } = *self;
        while !list.worker_counts().is_closed() {
            let pause = Patience::of(self.finds.pause);
            let is_soon = pause <= Patience::BRIEF;
            if is_soon {
                pause.poll(|| list.worker_counts().is_over());
                let found = self.search();
                if found.is_some() {
                    return found;
                }
            }
            // If the policy demands a long pause, the worker leaves even if there is work.
            if !list.try_leave(self.finds.worked) && is_soon {
                let _or_another_was_called = list.worker_counts().come_back();
            } else if me > 0 || !plan.rest() {
                return None;
            } else {
                self.finds = Finds::default();
            }
        }
        None
    }

    /// Searches for a victim for a moment. During this search all other workers show their items.
    fn search(&mut self) -> Option<usize> {
        let counts = self.list.worker_counts();
        counts.begin_search();
        let mut found = self.steal();
        if found.is_none() {
            Patience::BRIEF.poll(|| {
                found = self.steal();
                found.is_some() || counts.is_over()
            });
        }
        counts.end_search();
        found
    }

    /// One attempt at a theft.
    fn steal(&mut self) -> Option<usize> {
        let Self { list, me, plan, .. } = *self;
        let others = (me + 1..plan.shared.workers).chain(0..me).map(|worker| (worker, list.shown(worker)));
        let victim = self.thief.victim(&mut others.filter(|&(_, shown)| shown > 0))?;
        // The victim may be about to take these items itself, so the thief waits for a moment.
        // If the items are gone by then, `try_steal` finds nothing.
        Patience::of(back_off::MOMENT).poll(|| list.shown(victim) == 0);
        list.worker_counts().begin_work();
        if list.try_steal(me, victim) > 0 {
            self.ranges.count_theft();
            return Some(victim);
        }
        list.worker_counts().end_work();
        None
    }
}
