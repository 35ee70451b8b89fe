//! One call that is more than the plain loop. The calling thread works alone, invites workers,
//! works together with them, and learns from the loop.

use std::{iter, ops::Range};

use super::{
    account::Account,
    accumulator::{Accumulate, Lend},
    ask::{Call, begin_first, begin_next},
    executor::Executor,
    loop_options::LoopOptions,
    plan::{LoopTeam, Plan, SharedPlan},
    range_loop::RangeLoop,
    solo::Solo,
};
use crate::{
    clock::Instant,
    pool::{
        policy::{
            alone::{AlonePace, AloneTrial},
            free_cpus::{CpuUse, Granted, Request},
            launch::{self, Launch, Why},
            plain::PlainParts,
            rhythm::LoopSeen,
            site::Loop,
            split::{Splits, parts},
        },
        supply::range::Claims,
        team::{
            arena::{Arena, Turn},
            barrier::PollTimes,
            here::Inside,
        },
        tell::{
            times::Times,
            trace::{notes::Before, scene::SceneSpot},
            why_alone::Alone,
        },
    },
    sync::{Ordering, Patience, try_lock_soon},
};

/// A call while it runs.
pub(super) struct Running<'r> {
    pub(super) executor: &'r Executor,
    pub(super) call: Call,
    pub(super) options: &'r LoopOptions<'r>,
    /// The indices that the calling thread folds alone.
    pub(super) solo: Solo<'r>,
    pub(super) own: &'r mut dyn Accumulate,
    pub(super) partials: &'r dyn Lend,
}

/// How a loop goes on when the calling thread's work alone has ended.
enum AfterAlone<'r> {
    /// There is help for the indices that are left. In a box, because the stack of an item, and of
    /// the loops that it calls, is above the frame of [`Running::together`].
    Help(Box<SharedPart<'r>>),
    /// The loop has ended without help, for this reason.
    Ended(Alone),
}

/// The part of a call that several workers fold.
pub(super) struct SharedPart<'r> {
    /// The call. Its launch is another one if it began alone because no worker was idle.
    pub(super) call: Call,
    /// The work of the calling thread before this part.
    pub(super) before: Before,
    pub(super) left: Range<usize>,
    pub(super) turn: Turn<'r>,
    /// As many workers as pay for this loop. If fewer are idle, workers that become idle later may
    /// help, too.
    pub(super) plan: SharedPlan,
    /// How many workers get items at the start: the caller and all helpers that are idle now.
    pub(super) dealt: usize,
    /// Whether all workers that pay for this loop are idle now. Otherwise the pool learns only the
    /// cost of items from this call, and nothing about sharing.
    pub(super) is_full: bool,
    /// How many workers were idle.
    pub(super) idle: usize,
    pub(super) times: Box<Times>,
}

impl<'r> Running<'r> {
    /// Runs the loop. Returns its account, if an account is wanted.
    #[inline(never)] // so that the frame of its caller is small
    pub(super) fn run(mut self) -> Option<Box<Account>> {
        match self.alone() {
            AfterAlone::Help(shared) => self.together(shared),
            AfterAlone::Ended(why) => self.account_alone(why),
        }
    }

    /// Works alone until the loop ends, or until there is help for the rest.
    #[inline(never)] // the items of a shared loop do without its frame
    fn alone(&mut self) -> AfterAlone<'r> {
        let Self { executor, call, options, .. } = *self;
        if options.watch.is_cancelled() {
            return AfterAlone::Ended(Alone::Cancelled);
        }
        let pace = self.pace_alone();
        if pace.is_some_and(|pace| self.solo.work(self.own, pace)) || self.solo.is_through() {
            self.learn_alone(call.launch.why() == Some(Why::Faster));
            return AfterAlone::Ended(executor.why_alone(&call, options));
        }
        if call.launch.is_trial() && options.list.is_some() {
            executor.memory.learn_part_of_list(call.this, None);
        } else if call.launch.is_trial() {
            executor.memory.learn_alone(&executor.prices, call.this, true, f32::INFINITY);
        }
        self.invite(call, false).map_or_else(|| self.go_on_until_help(), AfterAlone::Help)
    }

    /// How long the calling thread works alone, and when it reads the clock. `None` if the loop is
    /// shared from its first item on.
    #[inline(never)]
    fn pace_alone(&self) -> Option<AlonePace> {
        let Self { executor, call: Call { this, awake, launch, .. }, options, ref solo, .. } = *self;
        match launch {
            Launch::Shared { .. } | Launch::Explored => None,
            Launch::Alone { limit, stretch, .. } => Some(solo.pace(limit, stretch).shareable()),
            Launch::Trial { shared } if options.list.is_some() => Some(solo.pace(shared, 1).shareable()),
            Launch::Trial { shared } => {
                let is_current = executor.threads.process.is_current();
                let learnt = if is_current { try_lock_soon(&executor.learnt) } else { None };
                let ends = |parts| learnt.as_ref()?.ends(this, awake, parts);
                Some(solo.pace_of(AloneTrial::new(shared, this.slice.len, ends)))
            }
        }
    }

    /// Continues alone because no worker is idle. As soon as a worker is idle and the remaining
    /// part is worth sharing, there is help.
    #[inline(never)]
    fn go_on_until_help(&mut self) -> AfterAlone<'r> {
        let Self { executor, call: Call { this, .. }, options, .. } = *self;
        executor.tell_of_busy(options.wishes.at);
        let between = executor.prices.help_time(false);
        loop {
            if self.solo.work(self.own, self.solo.pace_as_before(between)) || self.solo.is_through() {
                self.learn_alone(false);
                return AfterAlone::Ended(Alone::Busy);
            }
            let awake = executor.threads.barrier.awake() > 0;
            if executor.could_help() > 0
                && let Some(launch) = launch::of_rest(&executor.prices, self.solo.work_left(), awake)
                && let Some(shared) = self.invite(Call::unweighed(this, launch, awake), true)
            {
                return AfterAlone::Help(shared);
            }
        }
    }

    /// The account of a loop that has run alone, for the reason `why`. If the loop found no idle
    /// worker, reports it to the traced loop around it.
    #[inline(never)]
    fn account_alone(&mut self, why: Alone) -> Option<Box<Account>> {
        let Self { executor, call: Call { awake, .. }, options, ref mut solo, .. } = *self;
        let everybody = executor.program_report.is_some();
        let is_told_around = why == Alone::Busy && SceneSpot::is_near();
        if !is_told_around && !options.wants_account() && !everybody {
            return None;
        }
        let mut before = solo.so_far();
        if is_told_around {
            options.tell_around(&before, None);
        }
        options.account(&mut before, Err(why), everybody, executor.prices.help_time(awake))
    }

    /// Looks for idle workers for the indices that are left, and takes these indices from the
    /// calling thread. `None` if that continues alone. `is_rest` says that the call found no idle
    /// worker before.
    #[inline(never)]
    fn invite(&mut self, call: Call, is_rest: bool) -> Option<Box<SharedPart<'r>>> {
        let Self { executor, options, ref mut solo, .. } = *self;
        let Call { this, awake, launch, .. } = call;
        let Executor { ref threads, .. } = *executor;
        let (idle, around) = (threads.barrier.idle(), threads.waiting_around());
        if idle + around == 0 {
            return None;
        }
        let turn = executor.take_turn(options)?;
        let (left, is_worker) = (solo.remaining(), threads.here() > 0);
        let most =
            executor.most_helpers(this, options).min(executor.workers - 1 - usize::from(is_worker) + around);
        let mut splits = try_lock_soon(&executor.learnt);
        let request = Request {
            helpers: launch.helpers().map_or(most, |helpers| helpers.min(most)),
            left: if options.list.is_some() { usize::MAX } else { left.len() },
            is_cpu_bound: splits.as_ref().and_then(|splits| splits.is_cpu_bound(this.site)),
            around,
            cpu_use: executor.cpu_use(idle, is_worker),
        };
        let Granted { helpers, dealt, is_full } = request.grant()?;
        // The cost of the parts is known only for loops over a whole slice.
        let known = splits.as_deref().filter(|_| left.start == 0);
        let boundaries = known.map(|splits| splits.boundaries(this, awake, dealt)).unwrap_or_default();
        let workers = helpers + 1;
        let memory = splits.as_deref_mut().and_then(Splits::take_times).unwrap_or_default();
        drop(splits);
        let mut times = memory.of(workers, executor.workers > executor.cpus_at_a_time);
        times.tick = options.tick();
        let before = solo.hand_over();
        executor.make_room();
        let seen = LoopSeen {
            // A helper that was rung and is still on its way has not polled in vain.
            awake: awake || threads.barrier.is_waking(),
            is_gap_short: call.is_gap_short,
            is_crowded: executor.take_crowded(),
            explores: launch.explores(&executor.prices, awake),
        };
        let polls = executor.polls(workers, executor.memory.pace(this), Some(seen));
        let pace = solo.cost_at_least(executor.memory.item(this, options.kind));
        let plan = SharedPlan { workers, pace, boundaries, polls };
        let (is_full, idle) = (is_full && !is_rest, idle + around);
        if times.tick.is_some() {
            times.dealt = options.parts(&plan, &left, dealt);
        }
        Some(Box::new(SharedPart { call, before, left, turn, plan, dealt, is_full, idle, times }))
    }

    /// Folds the indices that are left together with the workers that come, and learns from it.
    #[inline(never)] // so that a call that runs alone has a small stack frame
    fn together(&mut self, shared: Box<SharedPart<'r>>) -> Option<Box<Account>> {
        let Self { executor, options, ref mut own, partials, .. } = *self;
        let SharedPart { ref plan, ref turn, ref left, dealt, ref times, .. } = *shared;
        if let Some(run) = options.search {
            run(&executor.threads, (plan, turn), left, options, times, *own, partials);
        } else {
            executor.share_ranges((plan, turn), (left, dealt), options, Some(times), *own, partials);
        }
        executor.end_shared(shared, partials.stopped_at(), options)
    }
}

impl LoopOptions<'_> {
    /// For a timeline: the items that each worker gets at the start, if the first `dealt` workers
    /// share the indices that are `left`.
    #[cold]
    fn parts(&self, plan: &SharedPlan, left: &Range<usize>, dealt: usize) -> Vec<Range<usize>> {
        if self.kind.is_from_the_front() {
            return vec![0..0; plan.workers]; // no worker owns a range
        }
        let bounds = plan.boundaries.bounds(left, dealt);
        let parts = parts(left.clone(), &bounds).map(|part| self.units.items(part));
        parts.chain(iter::repeat(0..0)).take(plan.workers).collect()
    }
}

impl SharedPart<'_> {
    /// When the call began, if the next calls may run as it does: helpers were awake, all of them
    /// came that pay, and the whole slice was shared, by ranges.
    pub(super) fn begun_alike(&self, options: &LoopOptions<'_>) -> Option<Instant> {
        let Self { call, is_full, .. } = self;
        let was_shared = call.awake && call.launch.helpers().is_some();
        call.weighed.filter(|_| was_shared && *is_full && self.has_ranges(options))
    }

    /// Whether the whole slice is shared, by ranges.
    pub(super) fn has_ranges(&self, options: &LoopOptions<'_>) -> bool {
        self.left.start == 0 && !options.kind.is_from_the_front()
    }
}

impl Executor {
    /// Carries out a call, of which the first `done` indices are already folded. Returns the loop's
    /// account, if an account is wanted. This function does not depend on the types of the loop.
    /// This function unwinds only if user code panics on the calling thread before the loop is
    /// shared.
    #[inline(never)]
    pub(super) fn carry_out(
        &self,
        mut call: Call,
        mut done: usize,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        partials: &dyn Lend,
    ) -> Option<Box<Account>> {
        let _stay = options.enter_scene();
        let len = call.this.slice.len;
        if call.launch.is_plain() {
            done = self.plain(call.this, options, own)?;
            call = self.weigh_again(call.this, options.kind);
        }
        let solo = Solo::new(options, call.begin(), done..len);
        Running { executor: self, call, options, solo, own, partials }.run()
    }

    /// Runs the plain loop through the accumulator: a loop over blocks or over a list that grows,
    /// or one that only the full question has found short. (`call_plain` runs the others.) Returns
    /// how many indices are folded; `None` if the loop has ended. It has not if it takes longer
    /// than expected, or if its items have made further items, which may be worth sharing.
    #[inline(never)] // other loops do without its frame
    fn plain(&self, this: Loop, options: &LoopOptions<'_>, own: &mut dyn Accumulate) -> Option<usize> {
        let (len, most) = (this.slice.len, self.most_helpers(this, options));
        if let (Some(list), 0) = (options.list, most) {
            list.until(None);
        }
        let mut parts = match options.list {
            None if most > 0 && options.kind.may_stop => {
                PlainParts::until_stop(len, self.memory.pace(this).unwrap_or(0.0))
            }
            None if most > 0 => PlainParts::of(len, self.memory.expected(this)),
            _ => PlainParts::whole(len),
        };
        begin_first(&mut parts);
        let mut done = 0;
        while done < len {
            own.take(&mut Claims::of(done..parts.end())).ok()?;
            done = parts.end();
            if done < len && !begin_next(&mut parts) {
                break;
            }
        }
        let has_made_items = || most > 0 && options.list.is_some_and(|list| !list.is_dry(0));
        (done < len || has_made_items()).then_some(done)
    }

    /// The use of the CPUs of the pool, of which `idle` threads are idle. `is_worker` says whether
    /// the calling thread is a worker of the pool.
    fn cpu_use(&self, idle: usize, is_worker: bool) -> CpuUse {
        CpuUse {
            cpus: self.cpus_at_a_time,
            threads: self.workers - 1,
            idle,
            callers: self.threads.barrier.callers(),
            waiting: self.threads.barrier.waiting(),
            is_counted: is_worker || Inside::is_here(),
        }
    }

    /// Whether other threads have called loops since the last call of this function.
    pub(super) fn take_crowded(&self) -> bool {
        self.is_crowded.swap(false, Ordering::Relaxed)
    }

    /// How long threads poll before they sleep. If there are more workers than CPUs, workers hardly
    /// poll: a polling worker would occupy the CPU of a working thread. `item` is the time of an
    /// item in nanoseconds, if known. `seen` is `None` for a join inside another one: the next join
    /// of the recursion comes soon.
    pub(super) fn polls(&self, workers: usize, item: Option<f32>, seen: Option<LoopSeen>) -> PollTimes {
        if workers > self.cpus_at_a_time {
            return PollTimes { at_end: Patience::BRIEF, between: self.gaps.fixed() };
        }
        let at_end = Patience::of(self.prices.worth_polling(item)).max(Patience::BRIEF);
        let between = match seen {
            Some(seen) => self.gaps.next(seen, &self.prices),
            None => Patience::of(self.prices.worth_staying_awake()),
        };
        PollTimes { at_end, between }
    }

    /// The plan for the workers of a shared loop in `arena`.
    #[inline(never)] // items run above the frame of `share_ranges`
    fn plan_of_workers<'a>(
        &'a self,
        plan: &'a SharedPlan,
        arena: &'a Arena,
        options: &LoopOptions<'_>,
    ) -> Plan<'a> {
        Plan {
            shared: plan,
            units: options.units,
            has_large_partials: options.kind.has_large_partials,
            heavy: &self.prices.heavy,
            team: Some(LoopTeam { threads: &self.threads, cpus: &self.cpus, arena }),
        }
    }

    /// Runs a loop over ranges: each worker claims from the front of its own range. `items` are the
    /// items, and the number of workers that have items at the start.
    #[inline(never)]
    pub(super) fn share_ranges(
        &self,
        (plan, turn): (&SharedPlan, &Turn<'_>),
        items: (&Range<usize>, usize),
        options: &LoopOptions<'_>,
        times: Option<&Times>,
        own: &mut dyn Accumulate,
        partials: &dyn Lend,
    ) {
        let plan = self.plan_of_workers(plan, turn.arena, options);
        let range_loop = RangeLoop { ranges: &turn.arena.ranges, plan: &plan, times, list: options.list };
        range_loop.begin(items, turn.arena.number, options.watch);
        range_loop.run((&self.threads, turn), own, partials);
        options.watch.end(range_loop.ranges);
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{panic::Location, ptr, time::Duration};

    use super::*;
    use crate::pool::{
        PoolBuilder,
        engine::{handles::Watch, loop_options::Wishes},
        policy::{
            rhythm::Explores,
            site::{Loop, LoopKind, Site, Slice},
            split::Boundaries,
        },
    };

    #[test]
    fn helpers_poll_after_a_loop_with_at_most_as_many_workers_as_cpus() {
        let executor = PoolBuilder::default().num_threads(4).assemble_here(None).unwrap();
        let cpus = executor.cpus_at_a_time;
        let seen = LoopSeen { awake: true, is_gap_short: true, is_crowded: false, explores: Explores::No };
        let polls = |workers| !executor.polls(workers, None, Some(seen)).between.is_none();
        let may_poll = executor.cpus.plan.may_poll;
        assert_eq!([1, cpus, cpus + 1].map(polls), [may_poll, may_poll, false]);
    }

    #[test]
    fn only_a_call_that_ranges_of_the_whole_slice_shared_with_all_helpers_awake_began_alike() {
        let executor = PoolBuilder::default().num_threads(2).assemble_here(None).unwrap();
        let begin = Instant::now();
        let begun = |kind: LoopKind, changes: fn(&mut SharedPart<'_>)| {
            let wishes = Wishes { at: Location::caller(), report: None, trace: None };
            let options = LoopOptions::new(2, Watch::default(), wishes, kind);
            let slice = Slice { address: 0x1000, len: 1000 };
            let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
            let launch = Launch::Shared { helpers: 1 };
            let (boundaries, polls) = (Boundaries::default(), PollTimes::default());
            let mut shared = SharedPart {
                call: Call { this, launch, awake: true, weighed: Some(begin), is_gap_short: true },
                before: Before::nothing(begin),
                left: 0..1000,
                turn: executor.take_turn(&options).unwrap(),
                plan: SharedPlan { workers: 2, pace: None, boundaries, polls },
                dealt: 2,
                is_full: true,
                idle: 1,
                times: Box::default(),
            };
            changes(&mut shared);
            shared.begun_alike(&options)
        };
        assert_eq!(begun(LoopKind::THROUGH, |_| ()), Some(begin));
        assert_eq!(begun(LoopKind::THROUGH, |shared| shared.call.launch = Launch::Explored), Some(begin));
        let others: [fn(&mut SharedPart<'_>); 5] = [
            |shared| shared.call.awake = false,
            |shared| shared.call.launch = Launch::Trial { shared: Duration::ZERO },
            |shared| shared.call.weighed = None,
            |shared| shared.is_full = false,
            |shared| shared.left.start = 1,
        ];
        assert_eq!(others.map(|changes| begun(LoopKind::THROUGH, changes)), [None; 5]);
        assert_eq!(begun(LoopKind::IN_ORDER, |_| ()), None);
    }
}
