//! One call that is more than the plain loop. The calling thread works alone, invites workers,
//! works together with them, and learns from the loop.

use std::{iter, ops::Range};

use super::{
    account::Account,
    accumulator::{Accumulate, Lend},
    again::SharedPlan,
    ask::Call,
    executor::Executor,
    inputs::{Inside, with_rounds},
    loop_options::LoopOptions,
    plan::{Plan, WorkerPlaces},
    round::Round,
    round_log::RoundLog,
    search::{RunSearch, Search},
    solo::Solo,
};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            alone::{AlonePace, AloneTrial},
            free_cpus::{CpuUse, Granted, Request},
            launch::{self, Launch, Why},
            learn::SharedCall,
            prices::block_in_order,
            repeat::deciding,
            rhythm::RoundSeen,
            site::{Loop, LoopKind, Supply},
            split::{Splits, parts},
        },
        supply::range::Claims,
        team::{
            arena::Turn,
            barrier::{Offer, PollTimes, Reentry},
        },
        tell::{
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
    pub(super) others: &'r dyn Lend,
}

/// How the calling thread's work alone has ended.
enum AfterAlone<'r> {
    /// The loop has ended. No worker was invited, for this reason.
    Ended(Alone),
    /// There is help for the indices that are left.
    Help(SharedBox<'r>),
}

/// The indices that are left for several workers, and their log. In a box, because the stack of an
/// item, and of the loops that it calls, is above the frame of [`Running::together`].
type SharedBox<'r> = Box<(SharedPart<'r>, RoundLog)>;

/// The part of a call that several workers fold.
struct SharedPart<'r> {
    /// The launch, which is another one if the call began alone because no worker was idle.
    call: Call,
    /// The work of the calling thread before this part.
    before: Before,
    begin: Instant,
    left: Range<usize>,
    help: Help<'r>,
    plan: Plan<'r>,
}

/// The help that a call has found.
struct Help<'r> {
    turn: Turn<'r>,
    /// The number of helpers that pays for this loop. If fewer workers are idle, workers that
    /// become idle later may help, too.
    helpers: usize,
    /// Whether at least `helpers` workers are idle now. If fewer workers are idle, the pool learns
    /// only the cost of items from this call, and nothing about sharing.
    is_full: bool,
    /// How many workers get items at the start: the caller and all helpers that are idle now.
    dealt: usize,
    /// Whether the whole slice is shared, from one end to the other.
    is_whole: bool,
    /// How many workers were idle.
    idle: usize,
}

impl<'r> Running<'r> {
    /// Runs the loop. Returns its account, if an account is wanted.
    #[inline(never)] // so that the frame of its caller is small
    pub(super) fn run(mut self) -> Option<Box<Account>> {
        match self.alone() {
            AfterAlone::Ended(why) => self.account_alone(why),
            AfterAlone::Help(shared) => self.together(shared),
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
        if pace.is_some_and(|pace| self.solo.fold(self.own, pace)) || self.solo.is_through() {
            self.learn_alone(call.launch.why() == Some(Why::Faster));
            return AfterAlone::Ended(executor.why_alone(&call, options));
        }
        if call.launch.is_trial() {
            executor.memory.learn_alone(&executor.prices, call.this, true, f32::INFINITY);
        }
        match self.invite(call, false) {
            Some(shared) => AfterAlone::Help(shared),
            None => self.go_on_until_help(),
        }
    }

    /// How long the calling thread works alone, and when it reads the clock. `None` if the loop is
    /// shared from its first item on.
    #[inline(never)]
    fn pace_alone(&self) -> Option<AlonePace> {
        let Self { executor, call: Call { this, awake, launch, .. }, ref solo, .. } = *self;
        match launch {
            Launch::Plain | Launch::Shared { .. } | Launch::Explored => None,
            Launch::Alone { limit, stretch, .. } => Some(solo.pace(limit, stretch).shareable()),
            Launch::Trial { shared } if solo.has_work_list() => Some(solo.pace(shared, 1).shareable()),
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
            if self.solo.fold(self.own, self.solo.pace_as_before(between)) || self.solo.is_through() {
                self.learn_alone(false);
                return AfterAlone::Ended(Alone::Busy);
            }
            let awake = executor.threads.barrier.awake() > 0;
            if executor.idle() > 0
                && let Some(launch) = launch::of_rest(&executor.prices, self.solo.work_left(), awake)
                && let Some(shared) = self.invite(Call::unweighed(this, launch, awake), true)
            {
                return AfterAlone::Help(shared);
            }
        }
    }

    /// Learns from a loop that the calling thread has run alone. `is_judged` says whether that was
    /// meant to be faster than a shared call.
    #[inline(never)]
    fn learn_alone(&self, is_judged: bool) {
        let Self { executor, call: Call { this, launch, awake, .. }, options, ref solo, .. } = *self;
        if options.watch.is_cancelled() || !launch.is_learnt_from() {
            return;
        }
        let Executor { memory, prices, .. } = executor;
        let (timed, took) = solo.timed();
        memory.learn(this, options.kind, timed, nanos(took));
        // While helpers sleep or are on their way, the next call may find them awake.
        // A verdict of the loop's own counts the calls until its next trial.
        let is_decided = awake && matches!(launch.why(), Some(Why::Short | Why::Rounds));
        if is_decided && timed == this.slice.len {
            executor.repeat_alone(this, options, nanos(took));
        }
        if launch.why() == Some(Why::Rounds) {
            executor.tell_of_rounds(options.wishes.at, this);
        }
        if is_judged && memory.learn_alone(prices, this, launch.is_trial(), nanos(took)) {
            executor.tell_of_faster(options.wishes.at, took);
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
    fn invite(&mut self, call: Call, is_rest: bool) -> Option<SharedBox<'r>> {
        let Self { executor, options, ref mut solo, .. } = *self;
        let Call { this, awake, launch, .. } = call;
        let Executor { ref threads, .. } = *executor;
        let (idle, around) = (threads.barrier.idle(), threads.waiting_around());
        if idle + around == 0 {
            return None;
        }
        let turn = executor.take_turn(options)?;
        let (left, is_worker) = (solo.left(), threads.here() > 0);
        let most = executor.most(this, options).min(executor.workers - 1 - usize::from(is_worker) + around);
        let mut splits = try_lock_soon(&executor.learnt);
        let request = Request {
            helpers: launch.helpers().map_or(most, |helpers| helpers.min(most)),
            left: if options.list.is_some() { usize::MAX } else { left.len() },
            is_cpu_bound: splits.as_ref().and_then(|splits| splits.is_cpu_bound(this.site)),
            around,
            cpu_use: executor.cpu_use(idle, is_worker),
        };
        let Granted { helpers, dealt, is_full } = request.grant()?;
        // The cost of the parts is known only for rounds over a whole slice.
        let is_whole = left.start == 0;
        let known = splits.as_deref().filter(|_| is_whole);
        let boundaries = known.map(|splits| splits.boundaries(this, awake, dealt)).unwrap_or_default();
        let workers = helpers + 1;
        let memory = splits.as_deref_mut().and_then(Splits::take_times).unwrap_or_default();
        drop(splits);
        let mut times = memory.of(workers, executor.workers > executor.cpus_at_a_time());
        times.tick = options.tick();
        let before = solo.hand_over();
        executor.make_room();
        let plan = Plan {
            workers,
            units: options.units,
            pace: executor.pace(this, options.kind),
            boundaries,
            has_large_partials: options.kind.has_large_partials,
            heavy: &executor.prices.heavy,
            places: Some(WorkerPlaces { threads, cpus: &executor.cpus, arena: turn.arena }),
            polls: executor.polls(&call, workers),
        };
        let begin = before.begin + before.took;
        let is_full = is_full && !is_rest;
        let help = Help { turn, helpers, is_full, dealt, is_whole, idle: idle + around };
        let shared = SharedPart { call, before, begin, left, help, plan };
        Some(Box::new((shared, RoundLog::new(begin, Some(times)))))
    }

    /// Folds the indices that are left together with the workers that come, and learns from it.
    #[inline(never)] // so that a call that runs alone has a small stack frame
    fn together(self, shared: SharedBox<'r>) -> Option<Box<Account>> {
        let Self { executor, options, own, others, .. } = self;
        match options.search {
            Some(run) => executor.search(&shared, options, run, own, others),
            None => executor.round(&shared, options, own, others),
        }
        executor.end_shared(shared, others.stopped_at(), options)
    }
}

impl SharedPart<'_> {
    /// When the call began, if the next calls may run as it does: helpers were awake, all of them
    /// came that pay, and the whole slice was shared, by ranges.
    fn begun_alike(&self, options: &LoopOptions<'_>) -> Option<Instant> {
        let Self { call, help: Help { is_full, is_whole, .. }, .. } = self;
        let was_shared = call.awake && call.launch.helpers().is_some();
        call.weighed.filter(|_| was_shared && *is_full && *is_whole && !options.kind.is_from_the_front())
    }

    /// Begins `round` over the indices of this part.
    #[inline(never)]
    fn begin_round(&self, round: &Round<'_>, options: &LoopOptions<'_>) {
        let Self { left, help: Help { turn, dealt, .. }, plan, .. } = self;
        let bounds = plan.boundaries.bounds(left, *dealt);
        round.log.deal(|| {
            let parts = parts(left.clone(), &bounds).map(|part| options.units.items(part));
            parts.chain(iter::repeat(0..0)).take(plan.workers).collect()
        });
        round.begin(left.clone(), &bounds, turn.arena.number, options.watch);
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
        this: &Loop,
        (call, mut done): (Option<Call>, usize),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> Option<Box<Account>> {
        let _stay = options.enter();
        let len = this.slice.len;
        if done == 0 {
            done = call.map_or(len, |call| call.launch.unlooked().min(len));
            if (done > 0 || call.is_none()) && self.plain(this, done, options, own) {
                return None;
            }
        }
        let call = call.unwrap_or_else(|| self.weigh_again(*this));
        let solo = Solo::new(options, call.begin(done), done..len);
        Running { executor: self, call, options, solo, own, others }.run()
    }

    /// Folds the first `done` indices as the plain loop does. Returns whether the loop has ended.
    /// It has not if its items have made further items, which may be worth sharing.
    #[inline(never)] // other loops do without its frame
    fn plain(&self, this: &Loop, done: usize, options: &LoopOptions<'_>, own: &mut dyn Accumulate) -> bool {
        let len = this.slice.len;
        if done > 0 {
            let most = self.most(*this, options);
            if let (Some(list), 0) = (options.list, most) {
                list.until(None);
            }
            if own.take(&mut Claims::of(0..done)).is_err() {
                return true;
            }
            if most > 0 && options.list.is_some_and(|list| !list.is_dry(0)) {
                return false;
            }
        }
        done == len
    }

    /// The use of the CPUs of the pool, of which `idle` threads are idle. `is_worker` says whether
    /// the calling thread is a worker of the pool.
    fn cpu_use(&self, idle: usize, is_worker: bool) -> CpuUse {
        CpuUse {
            cpus: self.cpus_at_a_time(),
            threads: self.workers - 1,
            idle,
            callers: self.threads.barrier.callers(),
            waiting: self.threads.barrier.waiting(),
            is_counted: is_worker || Inside::is_here(),
        }
    }

    /// The expected cost of an index that is reached, in nanoseconds, if known.
    fn pace(&self, this: Loop, kind: LoopKind) -> Option<f32> {
        if kind.may_stop { self.memory.pace(this) } else { self.memory.recall(this) }
    }

    /// Learns from the times of a shared part, which has ended; at index `stop`, if it has stopped.
    /// Returns the loop's account, if an account is wanted.
    #[inline(never)]
    fn end_shared(
        &self,
        shared: SharedBox<'_>,
        stop: Option<usize>,
        options: &LoopOptions<'_>,
    ) -> Option<Box<Account>> {
        let (mut shared, log) = *shared;
        let mut times = log.into_times().unwrap_or_default();
        if options.kind.is_from_the_front() {
            // When a search is over, all its items count as done.
            options.watch.done(shared.left.len().saturating_sub(times.indices()));
        }
        let Call { this, awake, launch, .. } = shared.call;
        options.tell_around(&shared.before, Some(&times));
        let repeatable = if self.may_repeat(options) { shared.begun_alike(options) } else { None };
        let (now, before) = (Instant::now(), &shared.before);
        let took = nanos(now - before.begin);
        // The price of help is that of a repeated call. The loop's own time is, too, but only if
        // its calls do repeat plans: otherwise it would never take so little time.
        let saved = repeatable.and_then(|_| with_rounds(|rounds| Some(rounds?.deciding(this, took))));
        let seen = SharedCall {
            this,
            kind: options.kind,
            awake,
            launch,
            is_full: shared.help.is_full,
            grows: options.list.is_some(),
            alone: before.indices,
            took_alone: nanos(before.took),
            took: took - saved.unwrap_or(0.0),
            took_shared: nanos(now - shared.begin),
            stop,
            deciding: repeatable.map_or(0.0, |_| deciding(took)),
        };
        if !options.watch.is_cancelled() && launch.is_learnt_from() {
            seen.learn(&self.memory, &self.prices, &times);
        }
        let help = self.prices.help_time(awake);
        let account =
            options.account(&mut shared.before, Ok(&mut times), self.program_report.is_some(), help);
        let account = account.map(|account| account.helped(shared.help.idle));
        if let Some(mut splits) = try_lock_soon(&self.learnt) {
            if stop.is_none() && !options.watch.is_over() {
                let has_ranges = shared.help.is_whole && !options.kind.is_from_the_front();
                let boundaries = has_ranges.then_some(&shared.plan.boundaries);
                let cpus = shared.plan.workers.min(self.cpus_at_a_time());
                seen.learn_splits(&mut splits, boundaries, cpus, &mut times);
                if let Some(begun) = repeatable {
                    let Plan { workers, pace, polls, .. } = shared.plan;
                    self.repeat_shared((this, begun), options, || {
                        let boundaries = splits.boundaries(this, true, workers);
                        SharedPlan { workers, pace, boundaries, polls }
                    });
                }
            }
            splits.keep_times(times);
        }
        self.gaps.end(now);
        account
    }

    /// How long threads poll before they sleep. If there are more workers than CPUs, workers hardly
    /// poll: a polling worker would occupy the CPU of a working thread. If other threads call
    /// loops, no helper polls between loops.
    fn polls(&self, call: &Call, workers: usize) -> PollTimes {
        let is_crowded = self.is_crowded.swap(false, Ordering::Relaxed);
        if workers > self.helpers_at_a_time + 1 {
            return PollTimes { at_end: Patience::BRIEF, between: self.gaps.fixed() };
        }
        let at_end = Patience::of(self.prices.worth_polling(self.memory.pace(call.this)));
        let seen = RoundSeen {
            // A helper that was rung and is still on its way has not polled in vain.
            awake: call.awake || self.threads.barrier.is_waking(),
            is_gap_short: call.is_gap_short,
            is_crowded,
            explores: call.launch.explores(&self.prices, call.awake),
        };
        let between = self.gaps.next(seen, &self.prices);
        PollTimes { at_end: at_end.max(Patience::BRIEF), between }
    }

    /// Runs a search: all workers begin at the front of the slice.
    #[inline(never)]
    fn search(
        &self,
        (shared, log): &(SharedPart<'_>, RoundLog),
        options: &LoopOptions<'_>,
        run: RunSearch,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) {
        let SharedPart { ref call, ref left, ref help, plan: Plan { polls, .. }, .. } = *shared;
        let smallest = match options.kind.supply {
            Supply::InOrder => Some(block_in_order(self.memory.pace(call.this))),
            Supply::Any => None,
            _ => Some(1),
        };
        let search = Search { left: left.clone(), smallest, watch: options.watch, units: options.units, log };
        let offer = Offer { helpers: help.helpers, reentry: Reentry::Once, polls };
        run(search, (&self.threads, &help.turn), offer, own, others);
    }

    /// Runs a round: each worker claims from the front of its own range.
    #[inline(never)]
    fn round(
        &self,
        (shared, log): &(SharedPart<'_>, RoundLog),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) {
        let SharedPart { help: Help { turn, .. }, plan, .. } = shared;
        let round = Round { ranges: &turn.arena.ranges, plan, log, list: options.list };
        shared.begin_round(&round, options);
        round.run((&self.threads, turn), own, others);
        options.watch.end(round.ranges);
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::ptr;

    use super::*;
    use crate::pool::{
        PoolBuilder,
        policy::site::{Loop, Site, Slice},
    };

    #[test]
    fn helpers_poll_after_a_round_with_at_most_as_many_workers_as_cpus() {
        let executor = PoolBuilder::default().num_threads(4).assemble_here(None).unwrap();
        let cpus = executor.helpers_at_a_time + 1;
        let slice = Slice { address: 0x1000, len: 1000 };
        let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
        let (launch, weighed) = (Launch::Shared { helpers: 3 }, Some(Instant::now()));
        let call = Call { this, launch, awake: true, weighed, is_gap_short: true };
        let polls = |workers| !executor.polls(&call, workers).between.is_none();
        let may_poll = executor.cpus.plan.may_poll;
        assert_eq!([1, cpus, cpus + 1].map(polls), [may_poll, may_poll, false]);
    }
}
