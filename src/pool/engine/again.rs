//! Calls that run as an earlier call of the same loop ran. `policy/repeat.rs` says when and why.

use std::cell::Cell;

use super::{
    accumulator::{Accumulate, Lend},
    executor::{Executor, most},
    inputs::{Inside, draw, upcoming, with_rounds},
    loop_options::LoopOptions,
    plan::SharedPlan,
    round_log::RoundLog,
};
use crate::{
    clock::{Instant, time},
    pool::{
        policy::{
            launch::{EXPLORED_ONE_IN, QuickLaunch, QuickVerdict},
            repeat::{FarCall, PlanKey, REPEATED, Repeat, Repeats},
            rounds::Ran,
            site::Loop,
        },
        team::arena::Turn,
        tell::trace::scene::SceneSpot,
    },
    sync::Ordering,
};

/// How the calls of a thread run that repeat earlier ones.
struct Plans {
    /// Those that run alone: in which parts, and whether they are timed.
    alone: Repeats<QuickLaunch>,
    shared: Repeats<SharedPlan>,
    /// The last call that was not timed.
    far: Cell<Option<FarCall>>,
}

thread_local!(static PLANS: Plans =
    const { Plans { alone: Repeats::new(), shared: Repeats::new(), far: Cell::new(None) } });

/// A shared call that repeats an earlier one.
pub(super) struct SharedAgain<'e> {
    plan: Box<Repeat<SharedPlan>>,
    begin: Instant,
    turn: Turn<'e>,
}

impl Executor {
    fn plan_key(&self, this: Loop, threads: usize) -> PlanKey {
        let most = most(this.slice.len, self.workers.min(threads));
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
    pub(super) fn alone_again(&self, this: Loop, threads: usize) -> Option<QuickLaunch> {
        if Inside::is_here() || SceneSpot::is_near() {
            return None;
        }
        let again = |plans: &Plans| {
            let plan = plans.alone.take(self.plan_key(this, threads))?;
            let (parts, awake) = (plan.way, self.threads.barrier.awake() > 0);
            if !awake && is_drawn() {
                return None;
            }
            if parts.verdict == QuickVerdict::Again {
                // A pool that explores shares the next call that finds a helper awake.
                (!awake || !self.prices.is_exploring()).then(|| plans.alone.put_back(plan))?;
            } else {
                (!awake && self.is_far(plans, plan.takes)).then(|| plans.alone.keep(plan))?;
            }
            Some(parts)
        };
        PLANS.try_with(again).ok()?
    }

    /// Whether a call is far from the last one that was not timed. Such calls take `takes`
    /// nanoseconds.
    fn is_far(&self, plans: &Plans, takes: f32) -> bool {
        let last = plans.far.replace(Some(FarCall::now()));
        let is_far = last.is_none_or(|last| last.is_far(self.gaps.patience(&self.prices), takes));
        if !is_far {
            self.gaps.begin(Instant::now()); // the last call, about
        }
        is_far
    }

    /// A call was decided, and runs alone. The next calls run alone, too, in these parts, if rounds
    /// allow this. `is_own` says whether the loop's own verdict has decided the call.
    #[inline(never)]
    pub(super) fn repeat_alone(
        &self,
        this: Loop,
        options: &LoopOptions<'_>,
        parts: QuickLaunch,
        is_own: bool,
    ) {
        if options.units.are_blocks() || !self.may_repeat(options) {
            return;
        }
        let is_timed = parts.verdict == QuickVerdict::Again;
        let is_settled = with_rounds(|rounds| {
            rounds.is_some_and(|rounds| {
                if !is_timed {
                    rounds.forget_begin(this);
                }
                !is_timed || rounds.may_repeat_alone(this)
            })
        });
        if !is_settled {
            return;
        }
        // A verdict of the loop's own counts the calls until its next trial.
        let calls = if is_timed && is_own { self.memory.repeat_alone(this, REPEATED) } else { REPEATED };
        let takes = self.memory.expected(this);
        let _gone = PLANS.try_with(|plans| {
            plans.far.set(Some(FarCall::now()));
            plans.alone.begin(self.plan_key(this, options.threads), (parts, takes), calls);
        });
    }

    /// How a call is shared that repeats an earlier one; `None` if the policy has to decide. A call
    /// repeats an earlier one only if the helpers are awake, and no other thread calls loops.
    #[inline(never)]
    pub(super) fn plan_to_repeat(&self, this: Loop, options: &LoopOptions<'_>) -> Option<SharedAgain<'_>> {
        let plan = PLANS.try_with(|plans| plans.shared.take(self.plan_key(this, options.threads))).ok()??;
        let barrier = &self.threads.barrier;
        if barrier.callers() > 0
            || self.is_crowded.load(Ordering::Relaxed)
            || barrier.awake() + 1 < plan.way.workers
            || !self.may_repeat(options)
        {
            return None;
        }
        let (begin, turn) = (Instant::now(), self.take_turn(options)?);
        begins_again(this, Ran::Shared, begin).then_some(SharedAgain { plan, begin, turn })
    }

    /// Shares a loop as an earlier call was shared.
    #[inline(never)]
    pub(super) fn share_again(
        &self,
        SharedAgain { plan, begin, turn }: SharedAgain<'_>,
        this: Loop,
        options: &LoopOptions<'_>,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) {
        let (items, log) = (0..this.slice.len, RoundLog::new(begin, None));
        self.round((&plan.way, &turn), (&items, plan.way.workers), options, &log, own, others);
        // About: reading the clock would take 40 ns, and the time until the next call begins shows
        // whether calls take longer than expected.
        self.gaps.end(begin + time(plan.takes));
        let _gone = PLANS.try_with(|plans| plans.shared.put_back(plan));
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
            let _gone = PLANS.try_with(|plans| plans.shared.begin(key, (plan(), takes), REPEATED));
        }
    }
}

/// Whether chance chooses a call for a decision, while all helpers sleep. The decision gets the
/// same number, so calls explore as often as if all of them were decided.
fn is_drawn() -> bool {
    let is_drawn = upcoming().is_one_in(EXPLORED_ONE_IN);
    if !is_drawn {
        draw();
    }
    is_drawn
}

/// A call begins that is to run as an earlier one `ran`. Returns whether rounds allow this. Nothing
/// is known of the rounds of a loop in an item of a shared loop.
fn begins_again(this: Loop, ran: Ran, begin: Instant) -> bool {
    with_rounds(|rounds| rounds.is_some_and(|rounds| rounds.begin_again(this, ran, begin)))
}

/// A call alone that has repeated an earlier one began at `begin`, and took `took` nanoseconds. The
/// next call is decided if this one took clearly longer than expected, or if rounds demand it.
pub(super) fn end_again(this: Loop, begin: Instant, took: f32) {
    let is_settled = begins_again(this, Ran::Alone, begin);
    let _gone =
        PLANS.try_with(|plans| plans.alone.end_if(this, |plan| !is_settled || plan.is_outdated(took)));
}

/// A call of this loop alone has begun to take much longer than expected: the next one is decided.
pub(super) fn end_alone(this: Loop) {
    let _gone = PLANS.try_with(|plans| plans.alone.end_if(this, |_| true));
}

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{panic::Location, ptr, thread, time::Duration};

    use super::*;
    use crate::pool::{
        PoolBuilder,
        engine::{
            ending::{Panic, StopAt},
            handles::Watch,
            loop_options::Wishes,
            order::Node,
        },
        policy::{
            rounds::RoundBegin,
            site::{LoopKind, Site, Slice},
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

        fn end(&mut self, _: Node) {}
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
        let again = || executor.alone_again(this(), 2);
        executor.memory.learn(this(), LoopKind::THROUGH, 1000, 5e3);
        let parts = QuickLaunch::timed_in_parts(1000, 5e3);
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
            end_again(this(), Instant::now(), took);
            assert_eq!(again().is_some(), goes_on, "after a call of {took} ns");
            end_alone(this());
        }
        assert!(!is_repeated(&options(LoopKind::MAY_STOP, None)));
        assert!(!is_repeated(&options(through, Some(&mut RunReport::default()))));
        let blocks = Units::Blocks { blocks: Blocks { size: 8, len: 8000 }, leaves: None };
        assert!(!is_repeated(&LoopOptions { units: blocks, ..options(through, None) }));
        executor.repeat_alone(this(), &options(through, None), parts, false);
        assert!(executor.alone_again(this(), 1).is_none(), "another number of threads");
        assert!(self::executor().alone_again(this(), 2).is_none(), "another pool");
        let item = Inside::new();
        assert!(again().is_none(), "in an item of a shared loop");
        drop(item);
    }

    #[test]
    fn calls_far_apart_are_repeated_until_one_comes_nearer_or_is_drawn() {
        let executor = PoolBuilder::default().num_threads(2).spin_before_park(Duration::ZERO);
        let executor = executor.assemble_here(None).unwrap();
        while executor.threads.barrier.awake() > 0 {
            thread::yield_now();
        }
        executor.memory.learn(this(), LoopKind::THROUGH, 1000, 5e3);
        let far = QuickLaunch::in_parts(1000, 5e3);
        executor.repeat_alone(this(), &options(LoopKind::THROUGH, None), far, false);
        let calls = (0..10_000).take_while(|_| executor.alone_again(this(), 2).is_some()).count();
        assert!(calls < 2_000, "one in 256 is decided");
        executor.repeat_alone(this(), &options(LoopKind::THROUGH, None), far, false);
        let is_far = |last: FarCall| last.is_far(executor.gaps.patience(&executor.prices), 5e3);
        assert!(PLANS.with(|plans| plans.far.get().is_some_and(is_far)), "helpers do not poll");
    }

    /// Calls the loop until its rounds are settled, and plans to share it with nobody.
    fn plan(executor: &Executor) {
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
