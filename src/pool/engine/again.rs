//! Calls that run as an earlier call of the same loop ran. `policy/repeat.rs` says when and why.

use std::cell::Cell;

use super::{
    accumulator::{Accumulate, Lend},
    executor::{Executor, most_helpers},
    inputs::{draw, upcoming, with_rounds},
    loop_options::LoopOptions,
    plan::SharedPlan,
};
use crate::{
    clock::{Instant, Moment, time},
    pool::{
        policy::{
            launch::{QuickLaunch, QuickVerdict, asleep_launch, far_launch, is_drawn},
            plain::PlainParts,
            repeat::{FarCalls, PlanKey, Repeat, Repeats},
            rounds::Ran,
            site::{Loop, LoopKind},
        },
        team::{arena::Turn, here::Inside},
        tell::trace::scene::SceneSpot,
    },
    sync::Ordering,
};

/// How the calls of a thread run that repeat earlier ones.
struct Plans {
    /// Those that run alone, of which the first are timed.
    alone: Repeats<AloneAgain>,
    shared: Repeats<SharedPlan>,
}

/// How calls run alone.
struct AloneAgain {
    parts: PlainParts,
    /// Whether the loop's own verdict decides that. Then calls count until its next trial.
    is_own: bool,
}

thread_local!(static PLANS: Plans = const { Plans { alone: Repeats::new(), shared: Repeats::new() } });

/// What `of` makes of the plans of this thread; `None` at the end of the thread.
fn with_plans<T>(of: impl FnOnce(&Plans) -> T) -> Option<T> {
    PLANS.try_with(of).ok()
}

thread_local!(static FAR: Cell<Option<FarCalls>> = const { Cell::new(None) });

/// A shared call that repeats an earlier one.
pub(super) struct SharedAgain<'e> {
    plan: Box<Repeat<SharedPlan>>,
    begin: Instant,
    turn: Turn<'e>,
}

impl Executor {
    fn plan_key(&self, this: Loop, threads: usize) -> PlanKey {
        let most = most_helpers(this.slice.len, self.workers.min(threads));
        PlanKey { this, pool: self.threads.barrier.address(), most }
    }

    /// Whether calls of a loop may repeat earlier ones: they go through all items, and nobody wants
    /// to know how.
    pub(super) fn may_repeat(&self, options: &LoopOptions<'_>) -> bool {
        options.kind.goes_through() && self.is_unseen(options.is_bare()) && !SceneSpot::is_near()
    }

    /// The parts in which a call runs alone that repeats an earlier one; `None` if the policy has
    /// to decide.
    #[inline(never)] // shorter loops do without its frame
    pub(super) fn alone_again(&self, this: Loop, kind: LoopKind, threads: usize) -> Option<QuickLaunch> {
        if kind.is_long || Inside::is_here() || SceneSpot::is_near() {
            return None;
        }
        let (awake, expected) = (self.threads.barrier.awake() > 0, self.memory.expected(this));
        if !awake {
            let is_far = self.note_far_again(expected);
            let mut quick = if kind.may_stop { None } else { asleep_launch(this, expected, draw) };
            if quick.is_some() && !is_far {
                self.gaps.begin(Instant::now()); // a longer loop may pay for a helper that both have
            } else if quick.is_none() && is_far {
                quick = Some(far_launch(&self.memory, &self.prices, this, kind, upcoming())?);
                draw();
            }
            if quick.is_some() {
                with_rounds(|rounds| rounds.map(|rounds| rounds.forget_begin(this)));
                return quick;
            }
        }
        let plan = with_plans(|plans| plans.alone.take(self.plan_key(this, threads)))??;
        // A pool that explores shares the next call that finds a helper awake.
        let explores = if awake { self.prices.is_exploring() } else { is_drawn(upcoming(), expected) };
        if explores || plan.is_outdated(expected) {
            return None;
        }
        if !awake {
            draw();
        }
        let AloneAgain { parts, is_own } = plan.way;
        if plan.is_timed() {
            with_plans(|plans| plans.alone.put_back(plan));
            return Some(QuickLaunch { verdict: QuickVerdict::AloneAgain, parts });
        }
        with_rounds(|rounds| rounds.map(|rounds| rounds.forget_begin(this)));
        if !awake {
            self.gaps.begin(Instant::now());
        }
        if !is_own || self.memory.repeated_alone(this) {
            with_plans(|plans| plans.alone.put_back(plan));
        }
        Some(QuickLaunch { verdict: QuickVerdict::Plain, parts })
    }

    /// If the last calls of this thread were far apart, compares this one with the last one.
    /// Returns whether it is far from that, too. `expected` is the time of this call in
    /// nanoseconds.
    fn note_far_again(&self, expected: f32) -> bool {
        let last = FAR.get().filter(|last| last.pool == self.threads.barrier.address());
        let Some(last) = last else { return false };
        let and_this = last.and_one(Moment::now(), expected, self.gaps.patience(&self.prices));
        FAR.set(and_this);
        if and_this.is_none() {
            self.gaps.begin(Instant::now()); // the last call, about
        }
        and_this.is_some()
    }

    /// A call was decided. `is_far` says whether it was far from the last one while all helpers
    /// slept. If so, the next ones are compared with it.
    pub(super) fn note_far(&self, this: Loop, is_far: bool) {
        let pool = self.threads.barrier.address();
        if is_far {
            FAR.set(Some(FarCalls::begin(pool, Moment::now(), self.memory.expected(this))));
        } else {
            FAR.set(FAR.get().filter(|last| last.pool != pool));
        }
    }

    /// A call was decided, and runs alone. The next calls run alone, too, in these parts, if rounds
    /// allow this. `is_own` says whether the loop's own verdict has decided the call.
    #[inline(never)]
    pub(super) fn repeat_alone(
        &self,
        this: Loop,
        options: &LoopOptions<'_>,
        parts: PlainParts,
        is_own: bool,
    ) {
        let is_settled = || with_rounds(|rounds| rounds.is_some_and(|rounds| rounds.may_repeat_alone(this)));
        if !options.units.are_blocks() && self.may_repeat(options) && is_settled() {
            let (key, takes) = (self.plan_key(this, options.threads), self.memory.expected(this));
            with_plans(|plans| plans.alone.begin(key, AloneAgain { parts, is_own }, takes));
        }
    }

    /// A call alone that has repeated an earlier one began at `begin`, and took `took` nanoseconds.
    /// The next call is decided if this one took clearly longer than expected, if rounds demand it,
    /// or if the loop's own verdict has decided and its next trial is due.
    pub(super) fn end_again(&self, this: Loop, kind: LoopKind, begin: Instant, took: f32) {
        let is_settled = begin_again(this, Ran::Alone, begin);
        let ends = |plan: &Repeat<AloneAgain>| {
            let (is_outdated, is_own) = (plan.is_outdated(took), plan.way.is_own);
            if is_outdated {
                self.memory.learn(this, kind, this.slice.len, took);
            }
            let is_trial_due = is_own && !self.memory.repeated_alone(this);
            !is_settled || is_outdated || is_trial_due
        };
        with_plans(|plans| plans.alone.end_if(this, ends));
    }

    /// How a call is shared that repeats an earlier one; `None` if the policy has to decide. A call
    /// repeats an earlier one only if the helpers are awake, and no other thread calls loops.
    #[inline(never)]
    pub(super) fn plan_to_repeat(&self, this: Loop, options: &LoopOptions<'_>) -> Option<SharedAgain<'_>> {
        let plan = with_plans(|plans| plans.shared.take(self.plan_key(this, options.threads)))??;
        let barrier = &self.threads.barrier;
        if barrier.callers() > 0
            || self.is_crowded.load(Ordering::Relaxed)
            || barrier.awake() + 1 < plan.way.workers
            || !self.may_repeat(options)
        {
            return None;
        }
        let (begin, turn) = (Instant::now(), self.take_turn(options)?);
        begin_again(this, Ran::Shared, begin).then_some(SharedAgain { plan, begin, turn })
    }

    /// Shares a loop as an earlier call was shared.
    #[inline(never)]
    pub(super) fn share_again(
        &self,
        SharedAgain { plan, begin, turn }: SharedAgain<'_>,
        this: Loop,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        partials: &dyn Lend,
    ) {
        let items = 0..this.slice.len;
        self.share_ranges((&plan.way, &turn), (&items, plan.way.workers), options, None, own, partials);
        // About: reading the clock would take 40 ns, and the time until the next call begins shows
        // whether calls take longer than expected.
        self.gaps.end(begin + time(plan.takes));
        with_plans(|plans| plans.shared.put_back(plan));
    }

    /// The call that began at `begun` was shared. The next calls are shared in the same way, if
    /// rounds allow this.
    pub(super) fn repeat_shared(
        &self,
        (this, begun): (Loop, Instant),
        options: &LoopOptions<'_>,
        plan: impl FnOnce() -> SharedPlan,
    ) {
        if let Some(takes) = with_rounds(|rounds| rounds?.takes_shared(this, begun)) {
            let key = self.plan_key(this, options.threads);
            with_plans(|plans| plans.shared.begin(key, plan(), takes));
        }
    }
}

/// A call begins that is to run as an earlier one `ran`. Returns whether rounds allow this. Nothing
/// is known of the rounds of a loop in an item of a shared loop.
fn begin_again(this: Loop, ran: Ran, begin: Instant) -> bool {
    with_rounds(|rounds| rounds.is_some_and(|rounds| rounds.begin_again(this, ran, begin)))
}

/// A call of this loop alone has begun to take much longer than expected: the next one is decided.
pub(super) fn end_alone(this: Loop) {
    with_plans(|plans| plans.alone.end_if(this, |_| true));
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{iter, panic::Location, ptr, thread, time::Duration};

    use super::*;
    use crate::pool::{
        PoolBuilder,
        engine::{
            ending::{Panic, StopAt},
            handles::Watch,
            loop_options::Wishes,
        },
        policy::{
            alone_or_shared::AloneOrShared,
            launch::QuickVerdict,
            rounds::RoundBegin,
            site::{Site, Slice},
            split::Boundaries,
        },
        supply::range::Claims,
        team::barrier::PollTimes,
        tell::{
            report::RunReport,
            units::{Blocks, Units},
        },
    };

    /// The items of a loop that do nothing.
    struct Nothing;

    impl Accumulate for Nothing {
        fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), StopAt> {
            while claims.next().is_some() {}
            Ok(())
        }

        fn end(&mut self, _: usize) {}
        fn leave(&mut self) {}
        fn abandon(&mut self, _: StopAt, _: Panic) {}
    }

    impl Lend for Nothing {
        fn lend(&self, _: usize, work: &mut dyn FnMut(&mut dyn Accumulate)) {
            work(&mut Self);
        }

        fn stopped_at(&self) -> Option<usize> {
            None
        }
    }

    fn this() -> Loop {
        let slice = Slice { address: 0x1000, len: 1000 };
        Loop { site: Site::new(ptr::without_provenance(0x1230)), slice }
    }

    fn options(kind: LoopKind, report: Option<&mut RunReport>) -> LoopOptions<'_> {
        LoopOptions::new(2, Watch::default(), Wishes { at: Location::caller(), report, trace: None }, kind)
    }

    fn executor() -> Executor {
        PoolBuilder::default().num_threads(2).assemble_here(None).unwrap()
    }

    #[test]
    fn a_short_call_that_nobody_watches_is_repeated_alone() {
        let executor = executor();
        let again = || executor.alone_again(this(), LoopKind::THROUGH, 2);
        executor.memory.learn(this(), LoopKind::THROUGH, 1000, 5e3);
        let parts = PlainParts::timed(1000, 5e3);
        let is_repeated = |options: &LoopOptions<'_>| {
            executor.repeat_alone(this(), options, parts, false);
            let is_repeated = again().is_some();
            end_alone(this());
            is_repeated
        };
        let through = LoopKind::THROUGH;
        assert!(again().is_none());
        assert!(is_repeated(&options(through, None)));
        assert!(again().is_none(), "ended");
        for (took, goes_on) in [(6e3, true), (8e3, false)] {
            executor.repeat_alone(this(), &options(through, None), parts, false);
            executor.end_again(this(), through, Instant::now(), took);
            assert_eq!(again().is_some(), goes_on, "after a call of {took} ns");
            end_alone(this());
            executor.memory.learn(this(), through, 1000, 5e3);
        }
        assert!(!is_repeated(&options(LoopKind::MAY_STOP, None)));
        assert!(!is_repeated(&options(through, Some(&mut RunReport::default()))));
        let blocks = Units::Blocks { blocks: Blocks { size: 8, len: 8000 }, first_leaf: None };
        assert!(!is_repeated(&LoopOptions { units: blocks, ..options(through, None) }));
        executor.repeat_alone(this(), &options(through, None), parts, false);
        assert!(executor.alone_again(this(), LoopKind::THROUGH, 1).is_none(), "another number of threads");
        assert!(self::executor().alone_again(this(), LoopKind::THROUGH, 2).is_none(), "another pool");
        let item = Inside::new();
        assert!(again().is_none(), "in an item of a shared loop");
        drop(item);
    }

    /// Such calls and a longer loop may pay for a helper that both have.
    #[test]
    fn a_call_that_is_too_short_to_wake_a_helper_for_counts_in_the_gap_between_calls() {
        const PAUSE: Duration = Duration::from_millis(20);
        let executor = executor();
        executor.memory.learn(this(), LoopKind::THROUGH, 1000, 3e3);
        let since_begin = || executor.gaps.gap(Instant::now(), &executor.prices).since_begin;
        since_begin();
        thread::sleep(PAUSE);
        let quick = executor.alone_again(this(), LoopKind::THROUGH, 2);
        assert!(quick.is_some_and(|quick| quick.verdict != QuickVerdict::AloneAgain));
        assert!(since_begin() < PAUSE);
    }

    /// A loop whose verdict is to run alone counts the calls that are not decided.
    #[test]
    fn a_call_is_repeated_until_a_trial_of_its_verdict_is_due() {
        let (executor, through) = (executor(), LoopKind::THROUGH);
        let Executor { memory, prices, .. } = &executor;
        memory.learn(this(), through, 1000, 5e3);
        for took in [9e3, 9e3] {
            memory.learn_shared(prices, this(), through, (took, true), 1000, 5e3);
        }
        (0..2).for_each(|_| _ = memory.learn_alone(prices, this(), true, 5e3));
        assert!(memory.verdict(this()).is_some_and(|verdict| verdict.alone && !verdict.is_trial_due()));
        executor.repeat_alone(this(), &options(through, None), PlainParts::timed(1000, 5e3), true);
        let repeated = (0..15).take_while(|_| {
            let repeats = executor.alone_again(this(), through, 2).is_some();
            executor.end_again(this(), through, Instant::now(), 5e3);
            repeats
        });
        assert_eq!(repeated.count(), 4, "the first interval");
        assert!(memory.verdict(this()).is_some_and(AloneOrShared::is_trial_due));
    }

    #[test]
    fn a_call_alone_that_repeats_a_plan_is_timed_at_the_begin_of_the_plan() {
        let (executor, through) = (executor(), LoopKind::THROUGH);
        executor.memory.learn(this(), through, 1000, 5e3);
        executor.repeat_alone(this(), &options(through, None), PlainParts::timed(1000, 5e3), false);
        let verdicts = iter::from_fn(|| Some(executor.alone_again(this(), through, 2)?.verdict));
        let verdicts: Vec<_> = verdicts.take(100).collect();
        let timed = verdicts.iter().filter(|verdict| **verdict == QuickVerdict::AloneAgain).count();
        assert_eq!((verdicts.len(), timed), (15, 3));
        assert!(verdicts[3..].iter().all(|verdict| *verdict == QuickVerdict::Plain));
    }

    #[test]
    fn a_plan_ends_when_other_calls_show_that_the_loop_takes_longer() {
        let (executor, through) = (executor(), LoopKind::THROUGH);
        executor.memory.learn(this(), through, 1000, 5e3);
        executor.repeat_alone(this(), &options(through, None), PlainParts::timed(1000, 5e3), false);
        executor.memory.learn(this(), through, 1000, 10e3);
        assert!(executor.alone_again(this(), through, 2).is_none());
    }

    /// An executor whose helper sleeps. Helpers poll for `patience`.
    fn asleep(patience: Duration) -> Executor {
        let pool = PoolBuilder::default().num_threads(2).spin_before_park(patience);
        let executor = pool.assemble_here(None).unwrap();
        let barrier = &executor.threads.barrier;
        while barrier.awake() > 0 || barrier.is_waking() {
            thread::yield_now();
        }
        executor.memory.learn(this(), LoopKind::THROUGH, 1000, 5e3);
        executor
    }

    #[test]
    fn calls_far_apart_are_repeated_and_some_are_timed_or_decided() {
        let (executor, through) = (asleep(Duration::ZERO), LoopKind::THROUGH);
        executor.note_far(this(), true);
        let again = || executor.alone_again(this(), through, 2).map(|quick| quick.verdict);
        let mut calls = [0; 3];
        for _ in 0..10_000 {
            match again() {
                Some(QuickVerdict::Plain) => calls[0] += 1,
                Some(QuickVerdict::Timed) => calls[1] += 1,
                _ => {
                    calls[2] += 1;
                    draw(); // the decision
                }
            }
        }
        let [plain, timed, decided] = calls;
        assert!(plain > 9_000 && (500..700).contains(&timed) && (20..60).contains(&decided), "{calls:?}");
        executor.memory.learn(this(), through, 1000, 10e3);
        let or_next = || {
            draw(); // chance has chosen the last call
            again()
        };
        assert!(again().or_else(or_next).is_some());
        while executor.memory.expected(this()) < executor.prices.help(false) {
            executor.memory.learn(this(), through, 1000, 90e3);
        }
        assert_eq!(again(), None, "it might not end before help");
        executor.note_far(this(), false);
        executor.memory.learn(this(), through, 1000, 5e3);
        assert_eq!(again(), None, "the last call was near");
    }

    /// The rounds of a loop that is decided are measured although calls are far apart, so its
    /// trials end.
    #[test]
    fn only_calls_that_are_not_decided_forget_the_begin_of_their_round() {
        let executor = asleep(Duration::ZERO);
        let begun = plan(&executor);
        let is_measured = || with_rounds(|rounds| rounds?.takes_shared(this(), begun)).is_some();
        executor.note_far(this(), true);
        assert!(is_measured());
        while executor.alone_again(this(), LoopKind::THROUGH, 2).is_none() {
            draw();
        }
        assert!(!is_measured());
    }

    /// A call that was far, and took much longer than expected, is followed by a decision, which
    /// learns. A call of another pool changes nothing.
    #[test]
    fn a_far_call_that_takes_longer_ends_the_far_calls_of_its_own_pool() {
        let (executor, through) = (asleep(Duration::ZERO), LoopKind::THROUGH);
        executor.note_far(this(), true);
        self::executor().weigh_again(this(), through);
        assert!((0..100).any(|_| executor.alone_again(this(), through, 2).is_some()));
        executor.weigh_again(this(), through);
        assert!((0..100).all(|_| executor.alone_again(this(), through, 2).is_none()));
    }

    #[test]
    fn a_pool_knows_nothing_of_the_far_calls_of_another() {
        let (executor, other) = (asleep(Duration::ZERO), asleep(Duration::ZERO));
        executor.note_far(this(), true);
        assert!((0..9).all(|_| other.alone_again(this(), LoopKind::THROUGH, 2).is_none()));
        other.note_far(this(), false);
        assert!(FAR.get().is_some_and(|last| last.pool == executor.threads.barrier.address()));
    }

    /// While all helpers sleep, one call in 256 that could repeat a plan is decided.
    #[test]
    fn chance_chooses_calls_for_a_decision_although_they_have_a_plan() {
        let (executor, through) = (asleep(Duration::ZERO), LoopKind::THROUGH);
        let parts = PlainParts::timed(1000, 5e3);
        let is_decided = |_: &i32| {
            executor.repeat_alone(this(), &options(through, None), parts, false);
            let is_decided = executor.alone_again(this(), through, 2).is_none();
            if is_decided {
                draw(); // the decision
            }
            is_decided
        };
        let decided = (0..10_240).filter(is_decided).count();
        assert!((30..=50).contains(&decided), "{decided} of 10,240 calls");
    }

    #[test]
    fn a_call_that_comes_nearer_is_decided_as_one_that_is_near() {
        let (executor, through) = (asleep(Duration::from_millis(50)), LoopKind::THROUGH);
        executor.gaps.begin(Instant::now());
        executor.note_far(this(), true);
        thread::sleep(Duration::from_millis(100));
        // The first call is far, and the next one is near. If chance chooses a call, it is decided.
        while FAR.get().is_some() {
            if executor.alone_again(this(), through, 2).is_none() {
                draw();
            }
        }
        let gap = executor.gaps.gap(Instant::now(), &executor.prices);
        assert!(gap.since_begin < Duration::from_millis(50), "{gap:?}");
    }

    /// Calls the loop until its rounds are settled, and plans to share it with nobody. Returns when
    /// the last call began.
    fn plan(executor: &Executor) -> Instant {
        let (begin, options) = (Instant::now(), options(LoopKind::THROUGH, None));
        let mut now = begin;
        for call in 1..=6 {
            now = begin + Duration::from_micros(12) * call;
            let (own, shared) = (Ran::Shared, Ran::Shared);
            let call = RoundBegin { now, own, shared, took_alone: 18e3, took_shared: 10e3 };
            with_rounds(|rounds| rounds.map(|rounds| rounds.begin(this(), call)));
        }
        let (boundaries, polls) = (Boundaries::default(), PollTimes::default());
        let shared = || SharedPlan { workers: 1, pace: None, boundaries, polls };
        executor.repeat_shared((this(), now), &options, shared);
        now
    }

    #[test]
    fn a_shared_call_is_repeated_if_nobody_watches_and_no_other_thread_calls() {
        let executor = executor();
        let is_repeated = |options: &LoopOptions<'_>| {
            plan(&executor);
            with_rounds(|rounds| rounds.map(|rounds| rounds.forget_begin(this())));
            executor.plan_to_repeat(this(), options).is_some()
        };
        let through = LoopKind::THROUGH;
        assert!(is_repeated(&options(through, None)));
        assert!(executor.plan_to_repeat(this(), &options(through, None)).is_none(), "nobody has put it back");
        assert!(!is_repeated(&options(through, Some(&mut RunReport::default()))));
        executor.is_crowded.store(true, Ordering::Relaxed);
        assert!(!is_repeated(&options(through, None)));
    }

    #[test]
    fn a_repeated_shared_call_ends_when_it_is_expected_to_end() {
        let executor = executor();
        plan(&executor);
        with_rounds(|rounds| rounds.map(|rounds| rounds.forget_begin(this())));
        let options = options(LoopKind::THROUGH, None);
        let again = executor.plan_to_repeat(this(), &options).expect("a plan");
        let (begin, takes) = (again.begin, time(again.plan.takes));
        assert!(takes > Duration::ZERO);
        executor.share_again(again, this(), &options, &mut Nothing, &Nothing);
        let later = Duration::from_micros(1);
        assert_eq!(executor.gaps.gap(begin + takes + later, &executor.prices).since_end, Some(later));
    }
}
