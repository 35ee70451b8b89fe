//! A call of a loop whose items wait. The caller begins alone. Helpers join if the remaining
//! computation is large enough to pay for them.

use std::{
    sync::{Arc, PoisonError},
    time::Duration,
};

use crossbeam_utils::CachePadded;

use super::{
    async_loop::{AsyncLoop, AsyncReport, LendPollItems, PollItems},
    executor::Executor,
    loop_options::LoopOptions,
    plan::{LoopTeam, Plan, SharedPlan},
};
use crate::{
    clock::Instant,
    pool::{
        policy::{site::Loop, split::Boundaries},
        supply::{Fence, first_indices::FirstIndices, range::Ranges, wake_queues::WakeQueues},
        team::{
            barrier::{Offer, PollTimes, Reentry},
            job,
        },
        tell::{times::Times, trace::notes::Before, why_alone::Alone},
    },
    sync::{Mutex, Patience, try_lock_soon},
};

impl Executor {
    /// Runs `this` loop, whose items wait in the slots of `queues`.
    pub(crate) fn call_async(
        &self,
        this: Loop,
        options: &mut LoopOptions<'_>,
        queues: &Arc<WakeQueues>,
        own: &mut dyn PollItems,
        others: LendPollItems<'_>,
    ) {
        let (begin, len, watch) = (Instant::now(), this.slice.len, options.watch);
        let _stay = options.enter_scene();
        let (mut before, everybody) = (Before::nothing(begin), self.program_report.is_some());
        if watch.is_cancelled() {
            let why = Err(Alone::Cancelled);
            if let Some(account) = options.account(&mut before, why, everybody, Duration::ZERO) {
                options.tell(account, self.program_report);
            }
            return;
        }
        let most = self.most_helpers(this, options).min(self.cpus_at_a_time - 1).min(queues.limit - 1);
        let turn = (most > 0).then(|| self.take_turn(options)).flatten();
        let helpers = if turn.is_some() { most } else { 0 };
        let is_busy = helpers < most;
        if is_busy {
            self.tell_of_busy(options.wishes.at);
        }
        let learnt = || self.threads.process.is_current().then(|| try_lock_soon(&self.learnt)).flatten();
        let first_indices = learnt().map(|learnt| learnt.waited(this, queues.limit)).unwrap_or_default();
        let arena = turn.as_ref().map(|turn| turn.arena);
        let ranges = match arena {
            Some(arena) => Arc::clone(&arena.ranges),
            None => Arc::new(Ranges::new(1, Fence::Symmetric)),
        };
        let times = Box::<Times>::default().of(helpers + 1, false);
        let awake = self.threads.barrier.awake() > 0;
        let plan = SharedPlan {
            workers: helpers + 1,
            pace: self.memory.recall(this),
            boundaries: Boundaries::default(),
            polls: PollTimes { at_end: Patience::BRIEF, between: self.gaps.fixed() },
        };
        let async_loop = CachePadded::new(AsyncLoop {
            queues,
            ranges: &ranges,
            plan: Plan {
                shared: &plan,
                units: options.units,
                has_large_partials: false,
                heavy: &self.prices.heavy,
                team: arena.map(|arena| LoopTeam { threads: &self.threads, cpus: &self.cpus, arena }),
            },
            first_indices: FirstIndices::new(first_indices),
            times,
            help: self.prices.help(awake),
            token: watch.cancel.filter(|_| !watch.is_current()),
            reports: Mutex::default(),
        });
        if turn.is_some() {
            self.make_room();
        }
        // From here on, nothing unwinds: user code runs only inside the workers, and the workers
        // catch panics.
        ranges.partition(0..len, &[]); // to the caller
        watch.begin_waiting(&ranges, queues, options.units, 0..len);
        let mut caller = async_loop.worker(0, own);
        let has_idle = || helpers > 0 && self.could_help() > 0;
        let is_through = caller.work_until(|caller| has_idle() && caller.wants_help());
        let mut idle = 0;
        if !is_through && let Some(turn) = &turn {
            idle = self.threads.barrier.idle();
            let helpers = self.prices.most_helpers(caller.work_left()).clamp(1, helpers);
            let work = |me| others(me, &mut |poller| async_loop.worker(me, poller).work());
            let offer = Offer { helpers, reentry: Reentry::Once, polls: plan.polls };
            job::share(&self.threads.barrier, turn, offer, &work, || caller.work());
        } else {
            caller.leave();
        }
        watch.end_waiting(&ranges, queues, len);
        let AsyncLoop { mut times, reports, .. } = CachePadded::into_inner(async_loop);
        times.gather(begin);
        let AsyncReport { mut report, waited } = reports.into_inner().unwrap_or_else(PoisonError::into_inner);
        report.most_in_flight = queues.under_way().1;
        let is_cancelled = watch.is_cancelled();
        if queues.stop() == usize::MAX && !is_cancelled {
            self.memory.learn(this, options.kind, times.indices(), times.work());
            if let Some(mut learnt) = learnt() {
                learnt.learn_waited(this, waited, queues.limit);
            }
        }
        drop(turn);
        let alone = is_through.then(|| match helpers {
            _ if is_cancelled && times.indices() == 0 => Alone::Cancelled,
            _ if is_busy => Alone::Busy,
            0 => Alone::OneWorker,
            _ if report.waited > 0 => Alone::Waited,
            _ => Alone::Short,
        });
        if !is_through || alone == Some(Alone::Busy) {
            options.tell_around(&before, Some(&times));
        }
        let help = self.prices.help_time(awake);
        if let Some(account) = options.account(&mut before, Ok(&mut times), everybody, help) {
            options.tell(account.with_idle(idle).waited(alone, report), self.program_report);
        }
    }
}
