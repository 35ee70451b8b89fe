//! A worker of a round over a list that grows, when no seeds are left to claim: it goes on with
//! what items have made, its own and that of others, until nobody has anything.
//!
//! A worker that finds nothing polls for some microseconds and then leaves the round. It is called
//! back when there is something, so it may come and leave several times. The caller cannot leave:
//! it rests, until all others have left.

use std::time::Duration;

use super::{accumulator::Accumulate, body::Stop, round::Plan, round_log::WorkerLog};
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

/// A list that grows, whatever its items are. To fold no items of the round is to go on with what
/// the worker has of the list.
pub(crate) trait WorkList: Sync {
    fn hunger(&self) -> &Searching;

    /// The list belongs to `workers` workers from now on, in this arena.
    fn share(&self, workers: usize, arena: usize);

    /// The calling thread, alone, goes on until its first look at the clock so long after it has
    /// begun; `None`: until it has nothing left.
    fn until(&self, limit: Option<Duration>);

    /// Whether worker `me` has nothing.
    fn is_dry(&self, me: usize) -> bool;

    /// How many items thieves can take from a worker, at a glance.
    fn shown(&self, worker: usize) -> usize;

    /// Worker `me`, which has nothing, steals from `victim`; how many items.
    fn try_steal(&self, me: usize, victim: usize) -> usize;

    /// A worker is about to go, after it has `worked` for this time. Returns whether it may: there
    /// is nothing to take.
    fn go(&self, worked: Duration) -> bool;

    /// How many items worker `me` has folded since it was asked last.
    fn folded(&self, me: usize) -> usize;
}

/// A worker that has found no seeds.
pub(crate) struct GrowWorker<'a> {
    list: &'a dyn WorkList,
    me: usize,
    plan: &'a Plan<'a>,
    /// Where thefts are counted.
    ranges: &'a Ranges,
    finds: Finds,
    /// How often it has asked for a victim.
    asked: u64,
}

impl<'a> GrowWorker<'a> {
    pub(crate) fn new(list: &'a dyn WorkList, me: usize, plan: &'a Plan<'a>, ranges: &'a Ranges) -> Self {
        Self { list, me, plan, ranges, finds: Finds::default(), asked: 0 }
    }

    /// Goes on with what items have made, until nothing is to be found. `rest` lets the caller rest
    /// until it is called back (true), or all others have left.
    pub(crate) fn run(
        mut self,
        acc: &mut dyn Accumulate,
        visit: &mut WorkerLog,
        rest: &dyn Fn() -> bool,
    ) -> Result<(), Stop> {
        let Self { list, me, .. } = self;
        let mut victim = None; // at first, it goes on with its own
        loop {
            let (begin, has_some) = (Instant::now(), !list.is_dry(me));
            let mut taken = Ok(());
            while taken.is_ok() && !list.is_dry(me) && !list.hunger().is_closed() {
                taken = acc.take(&mut Claims::of(0..0));
            }
            if has_some {
                let end = Instant::now();
                self.finds.see(end - begin);
                visit.journal.grazed(victim, begin, end);
            }
            taken?;
            list.hunger().end();
            victim = self.find(rest);
            if victim.is_none() {
                return Ok(());
            }
        }
    }

    /// Steals something; returns from whom. None: the worker leaves. If something was stolen, the
    /// worker counts as busy.
    fn find(&mut self, rest: &dyn Fn() -> bool) -> Option<usize> {
        let Self { list, me, plan, .. } = *self;
        while plan.stealing != Stealing::Off && !list.hunger().is_closed() {
            let pause = Patience::of(self.finds.pause());
            let is_soon = pause <= Patience::BRIEF;
            if is_soon {
                pause.poll(|| list.hunger().is_over());
                let found = self.look();
                if found.is_some() {
                    return found;
                }
            }
            // Its pause may be so long that it goes although there is something.
            if !list.go(self.finds.worked()) && is_soon {
                let _or_another_was_called = list.hunger().come();
            } else if me > 0 || !rest() {
                return None;
            } else {
                self.finds = Finds::default();
            }
        }
        None
    }

    /// Looks for something for a moment; all others show what they have meanwhile.
    fn look(&mut self) -> Option<usize> {
        let hunger = self.list.hunger();
        hunger.look();
        let mut found = self.steal();
        if found.is_none() {
            Patience::BRIEF.poll(|| {
                found = self.steal();
                found.is_some() || hunger.is_over()
            });
        }
        hunger.look_away();
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
        // What the victim takes itself in a moment would only move from worker to worker.
        let mut is_there = true;
        Patience::of(back_off::MOMENT).poll(|| {
            is_there = list.shown(victim) > 0;
            !is_there
        });
        if !is_there {
            return None;
        }
        list.hunger().begin();
        if list.try_steal(me, victim) > 0 {
            self.ranges.count_theft();
            return Some(victim);
        }
        list.hunger().end();
        None
    }
}
