//! The shared part of a call. Before the call, this module decides how many workers help, at which
//! index each range begins, and how long threads poll. Afterwards this module learns from the times
//! of the call.

use std::{borrow::Cow, iter, ops::Range, sync::Arc};

use super::{
    accumulator::{Accumulate, Lend},
    alone::Solo,
    ending::Outcome,
    executor::{Call, EndAndAccount, Executor, FoundHelp},
    inputs::Inside,
    loop_options::LoopOptions,
    plan::{Plan, WorkerPlaces},
    round::Round,
    round_log::RoundLog,
    search::{Parts, Search},
};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            free_cpus::{CpuUse, Granted, most_woken},
            launch::{self, Launch, up_to},
            prices::block_in_order,
            site::LoopKind,
            split::{Known, Splits, equal_parts, parts},
            victim::Stealing,
        },
        protocol::{
            barrier::{Offer, PollTimes, Reentry},
            shared_cursor::SharedCursor,
        },
        record::{
            journal::{Tally, Times},
            trace::notes::Before,
        },
    },
    sync::{Ordering, Patience, try_lock_soon},
};

/// The shared part of a call, and its log. In a box, because the stack of an item, and of the loops
/// that it calls, is above the frame of [`Executor::share`].
pub(super) type SharedBox<'a> = Box<(SharedPart<'a>, RoundLog)>;

/// The shared part of a call.
pub(super) struct SharedPart<'a> {
    call: Call,
    /// The work of the calling thread before this part.
    before: Before,
    begin: Instant,
    left: Range<usize>,
    help: FoundHelp<'a>,
    plan: Plan<'a>,
}

impl SharedPart<'_> {
    /// Begins `round` over the indices of this part.
    #[inline(never)]
    fn begin_round(&self, round: &Round<'_>, options: &LoopOptions<'_>) {
        let Self { left, help: FoundHelp { turn, dealt, new_bounds, .. }, plan, .. } = self;
        let learnt = plan.known.as_ref().and_then(|known| known.bounds(*dealt));
        let bounds: Cow<'_, [usize]> = match new_bounds.as_deref().or(learnt) {
            Some(bounds) => Cow::Borrowed(bounds),
            None => equal_parts(left, *dealt).into(),
        };
        round.log.deal(|| {
            let parts = parts(left.clone(), &bounds).map(|part| options.units.items(part));
            parts.chain(iter::repeat(0..0)).take(plan.workers).collect()
        });
        round.begin(left.clone(), &bounds, turn.number, options.watch);
    }
}

impl Executor {
    /// Looks for idle workers for the indices in `left`. `None` if the calling thread continues
    /// alone.
    fn find_help(
        &self,
        call: &Call,
        options: &LoopOptions<'_>,
        left: Range<usize>,
    ) -> Option<(FoundHelp<'_>, Option<Arc<Known>>, Box<Times>)> {
        let Call { this, awake, launch, .. } = *call;
        let around = self.threads.waiting_around();
        let idle = self.threads.idle() + around;
        if idle == 0 {
            return None;
        }
        let turn = self.take_turn(options)?;
        let here = self.threads.here();
        let others = self.workers - 1 - usize::from(here > 0) + around;
        let most = self.most(this, options).min(others);
        let asked = if let Launch::Shared { helpers } = launch { helpers.min(most) } else { most };
        let mut splits = try_lock_soon(&self.learnt);
        let is_cpu_bound = splits.as_ref().and_then(|splits| splits.is_cpu_bound(this.site));
        let asked = asked.min(most_woken(is_cpu_bound, self.helpers_at_a_time));
        let asked = if options.list.is_some() { asked } else { asked.min(left.len() - 1) };
        let has_cpus = is_cpu_bound == Some(true) || self.workers <= self.helpers_at_a_time + 1;
        let free = if has_cpus { self.free_cpus(here > 0) } else { usize::MAX };
        let Granted { helpers, dealt, is_full } = Granted::new(asked, idle, free)?;
        // The cost of the parts is known only for rounds over a whole slice.
        let is_whole = left.start == 0 && self.stealing != Stealing::Off;
        let from = splits.as_deref().filter(|_| is_whole);
        let known = from.and_then(|splits| splits.known(this, awake)).map(Arc::clone);
        let others = from.zip(known.as_deref()).filter(|(_, known)| known.bounds(dealt).is_none());
        let new_bounds = others.map(|(splits, known)| splits.equal_work(awake, &known.profile, dealt));
        let measures_usage = self.workers > self.helpers_at_a_time + 1;
        let times = splits.as_deref_mut().and_then(Splits::take_times).unwrap_or_default();
        let times = times.of(helpers + 1, measures_usage);
        let help = FoundHelp { turn, helpers, is_full, dealt, is_whole, idle, new_bounds };
        Some((help, known, times))
    }

    /// Looks for idle workers for the indices that `solo` has left, and takes these indices from
    /// `solo`. `is_rest` says that the call found no idle worker before.
    #[inline(never)]
    pub(super) fn begin_to_share(
        &self,
        call: Call,
        is_rest: bool,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
    ) -> Option<SharedBox<'_>> {
        let (mut help, known, mut times) = self.find_help(&call, options, solo.left())?;
        if is_rest {
            help.is_full = false;
        }
        let before = solo.hand_over();
        let (begin, left) = (before.begin + before.took, before.indices..call.this.slice.len);
        self.make_room();
        let (this, workers) = (call.this, help.helpers + 1);
        let arena = help.turn.arena;
        let plan = Plan {
            workers,
            units: options.units,
            pace: if options.kind.may_stop() { self.memory.pace(this) } else { self.memory.recall(this) },
            known,
            stealing: self.stealing,
            has_large_partials: options.kind == LoopKind::LargePartials,
            heavy: &self.prices.heavy,
            places: Some(WorkerPlaces { threads: &self.threads, cpus: &self.cpus, arena }),
            polls: self.polls(&call, workers),
        };
        times.tick = options.tick();
        let log = RoundLog::new(begin, times);
        Some(Box::new((SharedPart { call, before, begin, left, help, plan }, log)))
    }

    /// About how many threads would help if the calling thread called a loop now. These threads are
    /// the workers that are in no loop, and the callers that wait for the end of the loop around
    /// this call.
    #[inline(always)]
    pub(super) fn idle(&self) -> usize {
        self.threads.idle() + self.threads.waiting_around()
    }

    /// How many CPUs of the pool are left for helpers of the calling thread. `is_worker` says
    /// whether the calling thread is a worker of the pool.
    fn free_cpus(&self, is_worker: bool) -> usize {
        let cpu_use = CpuUse {
            cpus: self.helpers_at_a_time + 1,
            threads: self.workers - 1,
            idle: self.threads.idle(),
            callers: self.threads.callers(),
            waiting: self.threads.waiting(),
            is_counted: is_worker || Inside::is_here(),
        };
        cpu_use.free_cpus()
    }

    /// Shares the part of the loop that `solo` has left, and learns from its times. If no worker is
    /// idle, the calling thread first continues alone. If the loop ends without help, returns an
    /// `Err` with how the loop has ended.
    #[inline(never)] // so that a call that runs alone has a small stack frame
    pub(super) fn share(
        &self,
        call: &Call,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> Result<EndAndAccount, Outcome> {
        if call.launch.is_trial() {
            self.memory.learn_alone(&self.prices, call.this, true, f32::INFINITY);
        }
        let shared = match self.begin_to_share(*call, false, solo, options) {
            Some(shared) => shared,
            None => self.go_on_until_help(call, solo, options, own)?,
        };
        if options.kind.is_from_the_front() {
            self.search(&shared, options, own, others);
        } else {
            self.round(&shared, options, own, others);
        }
        Ok(self.end_shared(shared, options))
    }

    /// Continues alone because no worker is idle. As soon as a worker is idle and the remaining
    /// part is worth sharing, returns the help that was found. If the loop ends without help,
    /// returns an `Err` with how the loop has ended.
    #[inline(never)]
    pub(super) fn go_on_until_help(
        &self,
        call: &Call,
        solo: &mut Solo<'_>,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
    ) -> Result<SharedBox<'_>, Outcome> {
        self.tell_of_busy(options.wishes.at);
        let (this, between) = (call.this, self.prices.help_time(false));
        loop {
            let limit = solo.elapsed().saturating_add(between);
            let ended = solo.fold_on(own, limit);
            if ended.is_some() || solo.is_through() {
                let (timed, took) = solo.timed();
                if call.launch.is_learnt_from() {
                    self.memory.learn(this, options.kind, timed, nanos(took));
                }
                return Err(ended.unwrap_or(Outcome::Through(())));
            }
            let awake = self.threads.awake() > 0;
            if self.idle() > 0
                && let Some(launch) = launch::of_rest(&self.prices, solo.work_left(), awake)
            {
                let call = Call { this, launch, awake, gap: None };
                if let Some(shared) = self.begin_to_share(call, true, solo, options) {
                    return Ok(shared);
                }
            }
        }
    }

    /// Learns from the times of a shared part, which has ended.
    #[inline(never)]
    fn end_shared(&self, shared: SharedBox<'_>, options: &LoopOptions<'_>) -> EndAndAccount {
        let (mut shared, log) = *shared;
        let (mut times, stop) = log.into_inner();
        let Call { this, awake, launch, .. } = shared.call;
        let (workers, idle) = (shared.help.helpers + 1, shared.help.idle);
        options.tell_around(&shared.before, Some(&times));
        let is_over = options.watch.is_over();
        let is_cancelled = is_over && !options.watch.keeps_result;
        if !is_cancelled && launch.is_learnt_from() {
            self.learn(&shared, options, &times, stop.place());
        }
        let help = self.prices.help_time(awake);
        let account =
            options.account(&mut shared.before, Ok(&mut times), self.program_report.is_some(), help);
        let account = account.map(|account| account.helped(idle));
        if let Some(mut splits) = try_lock_soon(&self.learnt) {
            let FoundHelp { is_full, is_whole, ref new_bounds, .. } = shared.help;
            let is_of_use = stop.is_none() && !is_over && is_full;
            if is_of_use {
                splits.learn_cpu_bound(this, workers.min(self.helpers_at_a_time + 1), &times);
            }
            let same = shared.plan.known.is_some() && new_bounds.is_none();
            let balanced = same && times.runs() == workers && times.are_balanced();
            if is_of_use && is_whole && !balanced && !options.kind.is_from_the_front() {
                splits.learn(this, awake, &mut times);
            }
            splits.keep_times(times);
        }
        self.gaps.end();
        (stop.into_ended(is_cancelled), account)
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
        let expected = self.memory.expected(call.this);
        let short = call.gap.is_some_and(|gap| gap.is_short(expected));
        let between = self.gaps.next(call.awake, short, is_crowded, &self.prices);
        PollTimes { at_end: at_end.max(Patience::BRIEF), between }
    }

    /// Runs a search: all workers begin at the front of the slice.
    #[inline(never)]
    fn search(
        &self,
        (shared, log): &(SharedPart<'_>, RoundLog),
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) {
        let SharedPart { ref call, ref left, ref help, plan: Plan { polls, .. }, .. } = *shared;
        log.deal(|| vec![0..0; help.helpers + 1]); // no worker owns a range
        let searchers = help.helpers + 1;
        let in_order = |smallest| Parts::one(SharedCursor::new(left.clone(), searchers, smallest));
        let parts = match options.kind {
            LoopKind::InOrder => in_order(block_in_order(self.memory.pace(call.this))),
            LoopKind::Any => Parts::of_any(left.clone(), searchers),
            _ => in_order(1),
        };
        let search = Search { parts, watch: options.watch, units: options.units, log };
        let offer = Offer { helpers: help.helpers, reentry: Reentry::Once, polls };
        search.run((&self.threads, &help.turn), offer, own, others);
        // When a search is over, all its items count as done.
        options.watch.done(left.len().saturating_sub(log.indices()));
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
        let SharedPart { help: FoundHelp { turn, .. }, plan, .. } = shared;
        let round = Round { ranges: &turn.arena.ranges, plan, log, list: options.list };
        shared.begin_round(&round, options);
        round.run((&self.threads, turn), own, others);
        options.watch.end(round.ranges);
    }

    /// Learns the cost of items and the cost of help.
    fn learn(&self, shared: &SharedPart<'_>, options: &LoopOptions<'_>, times: &Times, stop: Option<usize>) {
        let SharedPart { call: Call { this, awake, launch, .. }, ref before, begin, ref help, .. } = *shared;
        let (kind, took) = (options.kind, nanos(before.begin.elapsed()));
        // If the caller itself has reached the stop, the plain loop would have taken only the
        // caller's time. In this case the helpers' time does not count. (In a loop over two items,
        // a helper worked for 12 µs after its wake-up.)
        let front = &times.tallies[0];
        let came = stop.is_some_and(|place| before.indices + front.indices >= place);
        let whole = (times.indices(), times.work());
        let (indices, work) = if came { (front.indices, front.working) } else { whole };
        let (indices, work) = up_to(stop, before.indices + indices, nanos(before.took) + work);
        if help.is_full && !launch.is_trial() {
            self.memory.learn_shared(&self.prices, this, kind, took, indices, work);
        } else {
            self.memory.learn(this, kind, indices, work);
        }
        // In a list that grows, a helper may have come in time and found nothing.
        if !help.is_full || options.list.is_some() {
            return;
        }
        let starts = |tallies: &[Tally]| tallies.iter().map(|tally| tally.span.start).reduce(f32::min);
        let (own, helpers) = times.tallies.split_at(1);
        if let (Some(own), Some(first)) = (starts(own), starts(helpers))
            && own.is_finite()
        {
            // The time from the last item to the end of the loop counts twice, because two workers
            // both wait during this time.
            let round = nanos(begin.elapsed());
            let behind = round - times.length();
            let late = first.is_finite().then_some(first + 2.0 * behind);
            self.prices.learn(awake, helpers.len(), late, own, round);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{ptr, time::Duration};

    use super::*;
    use crate::pool::{
        PoolBuilder,
        builder::Role,
        policy::{
            launch::Gap,
            site::{Loop, Site, Slice},
        },
    };

    #[test]
    fn helpers_poll_after_a_round_with_at_most_as_many_workers_as_cpus() {
        let executor = PoolBuilder::default().num_threads(4).assemble(Role::Own).unwrap().0;
        let cpus = executor.helpers_at_a_time + 1;
        let slice = Slice { address: 0x1000, len: 1000 };
        let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
        let gap =
            Some(Gap { since_begin: Duration::ZERO, since_end: None, patience: Duration::from_secs(1) });
        let call = Call { this, launch: Launch::Shared { helpers: 3 }, awake: true, gap };
        let polls = |workers| !executor.polls(&call, workers).between.is_none();
        let may_poll = executor.cpus.plan.may_poll;
        assert_eq!([1, cpus, cpus + 1].map(polls), [may_poll, may_poll, false]);
    }
}
