//! Real threads with their ranges, and whole calls on them: partition, publish, work, steal,
//! retract, wait.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use super::{local::Local, *};
use crate::{
    pool::{
        engine::{
            accumulator::{Accumulator, Partials, WorkerFolder, result_of},
            body::{Body, Stop},
            handles::Watch,
            plan::{Plan, SharedPlan},
            range_loop::RangeLoop,
        },
        policy::{prices::Estimate, split::Boundaries},
        supply::range,
        team::{barrier::PollTimes, oneshot, threads::Threads},
        tell::{times::Times, units::Units},
    },
    sync::{Patience, ThreadBuilder},
};

/// The closure of the caller, with the values that it borrows.
struct Borrowing<'a> {
    local: &'a Local,
    claims: &'a Claims,
    /// The items that panic, in ascending order.
    panics: &'a [usize],
}

/// The payload of a panic: the item that panicked.
struct Thrown(usize);

impl Body for Borrowing<'_> {
    type State<'s>
        = ()
    where
        Self: 's;
    type Acc = usize;
    type Found = ();

    fn state(&self, _me: usize) {}

    fn fold(
        &self,
        (): &mut (),
        acc: Option<usize>,
        claims: &mut range::Claims<'_>,
    ) -> Result<Option<usize>, Stop<()>> {
        let mut folded = acc.unwrap_or(0);
        while let Some(items) = claims.next() {
            assert_eq!(self.local.read(), 1, "the frame is gone");
            for item in items {
                self.claims.claim(item..item + 1);
                if self.panics.contains(&item) {
                    resume_unwind(Box::new(Thrown(item))); // no message
                }
                folded += 1;
            }
        }
        Ok(Some(folded))
    }

    fn reduce(&self, before: usize, behind: usize) -> usize {
        before + behind
    }
}

/// Threads with their ranges.
pub(super) struct Team {
    threads: Threads,
}

impl Team {
    pub(super) fn new(workers: usize) -> Self {
        let mut threads = Threads::new(workers - 1, Fence::Symmetric, Patience::default());
        for worker in 1..workers {
            threads.barrier.arrive(worker - 1); // so that loom explores this as one step
            let (worker_handle, (sender, receiver)) = (threads.new_worker(), oneshot::channel());
            let body = move || {
                sender.send(());
                worker_handle.work(|| true, || false);
            };
            threads.start(ThreadBuilder::new(), Box::new(body)).unwrap();
            receiver.receive().expect("it has come");
        }
        Self { threads }
    }

    #[cfg(shuttle)]
    pub(super) fn thefts(&self) -> u64 {
        self.threads.thefts()
    }

    /// A call for several items, partitioned at `bounds`. If several items panic, the call returns
    /// the panic of the first such item, and all items before this item are claimed, unless the
    /// call is cancelled.
    pub(super) fn call(&self, items: usize, bounds: &[usize], panics: &[usize], watch: Watch<'_>) {
        let (local, claims) = (Local::new(1), Claims::new(items));
        let body = Borrowing { local: &local, claims: &claims, panics };
        let heavy = Estimate::new(5e3);
        let workers = bounds.len() + 1;
        let boundaries = Boundaries { changed: Some(bounds.to_vec()), known: None };
        let shared = SharedPlan { workers, pace: None, boundaries, polls: PollTimes::default() };
        let plan = Plan {
            shared: &shared,
            units: Units::Items,
            has_large_partials: cfg!(shuttle), // loom needs the same value in every execution
            heavy: &heavy,
            team: None,
        };
        let times = Box::<Times>::default().of(self.threads.size() + 1, false);
        let turn = self.threads.barrier.arenas.take().expect("an arena is free");
        let ranges = &turn.arena.ranges;
        let (range_loop, mut made) = (
            RangeLoop { ranges, plan: &plan, times: Some(&times), list: None },
            Partials::new(&body, &Units::Items),
        );
        let mut folder = WorkerFolder::new(&body, 0, None);
        let mut own = Accumulator::new(&mut folder, None, &made);
        range_loop.begin((&(0..items), workers), turn.arena.number, watch);
        range_loop.run((&self.threads, &turn), &mut own, &made);
        watch.end(ranges);
        let last = own.finish();
        drop(own);
        local.write(0); // the frame is gone
        let ended = catch_unwind(AssertUnwindSafe(|| result_of(&mut made, watch.is_cancelled(), last)));
        let (folded, thrown) = match ended.map_err(|panic| panic.downcast::<Thrown>()) {
            Ok(outcome) => (outcome.ended().and_then(Result::ok).flatten(), None),
            Err(Ok(thrown)) => (None, Some(thrown.0)),
            Err(Err(panic)) => resume_unwind(panic),
        };
        if !watch.is_cancelled() {
            assert_eq!(thrown, panics.first().copied(), "another panic came out");
            claims.assert_all_before(thrown.map_or(items, |first| first + 1));
            assert!(thrown.is_some() || folded == Some(items), "a result is lost");
        }
    }
}
