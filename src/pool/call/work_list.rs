//! A worker of a round over a list that grows, after all seeds are claimed. It takes made items,
//! its own and those of other workers, until nobody has an item left.
//!
//! A worker that finds nothing polls for some microseconds and then leaves the round. It is called
//! back when there is work, so it may come and leave several times. The caller cannot leave: it
//! rests until all others have left.

use std::time::Duration;

use super::{accumulator::Accumulate, body::Stop, plan::Plan, round_log::WorkerLog};
use crate::{
    clock::Instant,
    pool::{
        policy::{
            back_off::{self, Finds},
            victim::{Asks, Stealing},
        },
        protocol::{
            range::{Claims, Ranges},
            searching::Searching,
        },
    },
    sync::Patience,
};

/// A list that grows, whatever its items are. Folding an empty range of seeds runs the worker's own
/// deque until it is empty.
pub(crate) trait WorkList: Sync {
    fn searching(&self) -> &Searching;

    /// From now on `workers` workers share the list, in this arena.
    fn share(&self, workers: usize, arena: usize);

    /// Limits the time of the calling thread, which runs the list alone: the thread returns at its
    /// first reading of the clock after `limit`. `None`: it returns when nothing is left.
    fn until(&self, limit: Option<Duration>);

    /// Whether worker `me` has no item.
    fn is_dry(&self, me: usize) -> bool;

    /// About how many items thieves can take from `worker`.
    fn shown(&self, worker: usize) -> usize;

    /// Worker `me`, which has no item, steals from `victim`. Returns the number of stolen items.
    fn try_steal(&self, me: usize, victim: usize) -> usize;

    /// Announces that a worker leaves, which has `worked` for this time; `false` if there is work
    /// to take.
    fn try_leave(&self, worked: Duration) -> bool;

    /// How many items worker `me` has folded since the last such question.
    fn folded(&self, me: usize) -> usize;
}

/// A worker that has found no seeds.
pub(crate) struct GrowWorker<'a> {
    list: &'a dyn WorkList,
    me: usize,
    plan: &'a Plan<'a>,
    /// The counter of thefts is here.
    ranges: &'a Ranges,
    finds: Finds,
    /// The number of requests for a victim.
    asked: u64,
}

impl<'a> GrowWorker<'a> {
    pub(crate) fn new(list: &'a dyn WorkList, me: usize, plan: &'a Plan<'a>, ranges: &'a Ranges) -> Self {
        Self { list, me, plan, ranges, finds: Finds::default(), asked: 0 }
    }

    /// Takes made items until no worker has any. `rest` lets the caller rest. It returns `true`
    /// when the caller is called back, and `false` when all others have left.
    pub(crate) fn run(
        mut self,
        acc: &mut dyn Accumulate,
        worker_log: &mut WorkerLog,
        rest: &dyn Fn() -> bool,
    ) -> Result<(), Stop> {
        let Self { list, me, .. } = self;
        let mut victim = None; // at first, it takes its own items
        loop {
            let (begin, has_items) = (Instant::now(), !list.is_dry(me));
            let mut taken = Ok(());
            while taken.is_ok() && !list.is_dry(me) && !list.searching().is_closed() {
                taken = acc.take(&mut Claims::of(0..0));
            }
            if has_items {
                let end = Instant::now();
                self.finds.see(end - begin);
                worker_log.journal.ran_made_items(victim, begin, end);
            }
            taken?;
            list.searching().end();
            victim = self.find(rest);
            if victim.is_none() {
                return Ok(());
            }
        }
    }

    /// Steals something. Returns the victim; `None` if the worker leaves. After a theft the worker
    /// counts as busy.
    fn find(&mut self, rest: &dyn Fn() -> bool) -> Option<usize> {
        let Self { list, me, plan, .. } = *self;
        while plan.stealing != Stealing::Off && !list.searching().is_closed() {
            let pause = Patience::of(self.finds.pause());
            let is_soon = pause <= Patience::BRIEF;
            if is_soon {
                pause.poll(|| list.searching().is_over());
                let found = self.search();
                if found.is_some() {
                    return found;
                }
            }
            // The pause may be so long that the worker leaves although there is work.
            if !list.try_leave(self.finds.worked()) && is_soon {
                let _or_another_was_called = list.searching().come();
            } else if me > 0 || !rest() {
                return None;
            } else {
                self.finds = Finds::default();
            }
        }
        None
    }

    /// Searches for a victim for a moment. Meanwhile all others show their items.
    fn search(&mut self) -> Option<usize> {
        let searching = self.list.searching();
        searching.look();
        let mut found = self.steal();
        if found.is_none() {
            Patience::BRIEF.poll(|| {
                found = self.steal();
                found.is_some() || searching.is_over()
            });
        }
        searching.look_away();
        found
    }

    /// One attempt at a theft.
    fn steal(&mut self) -> Option<usize> {
        let Self { list, me, plan, .. } = *self;
        self.asked += 1;
        let others = (me + 1..plan.workers).chain(0..me).map(|worker| (worker, list.shown(worker)));
        let distance = |worker| plan.distance(me, worker);
        let asks = Asks { workers: plan.workers, thief: me, nth: self.asked };
        let victim = plan.stealing.victim(&mut others.filter(|&(_, shown)| shown > 0), distance, asks)?;
        // Items that the victim takes itself in a moment would only move from worker to worker.
        let mut is_there = true;
        Patience::of(back_off::MOMENT).poll(|| {
            is_there = list.shown(victim) > 0;
            !is_there
        });
        if !is_there {
            return None;
        }
        list.searching().begin();
        if list.try_steal(me, victim) > 0 {
            self.ranges.count_theft();
            return Some(victim);
        }
        list.searching().end();
        None
    }
}
