//! Runs two closures at the same time. The calling thread runs the first closure, and an idle
//! worker runs the second one. If no worker comes before the first closure is done, the calling
//! thread runs both.
//!
//! A recursion joins again and again, and most of its joins are small. Only the joins of the first
//! levels are offered to workers: these levels make about [`TRIAL_PARTS`] parts for each worker.
//! The joins of some further levels are offered only if a thread is idle. The joins of these
//! further levels help when the parts are uneven. Deeper joins run both closures themselves, since
//! most of them take nanoseconds. But if they begin at intervals of microseconds, they are offered,
//! too: parts may be so uneven that one of them has most of the work. The estimated cost of a
//! second closure is the measured cost of the last second closure at the same level. If the
//! estimated cost is too small to pay for a wake-up, no worker is woken.
//!
//! If a whole recursion took less than 4 µs when it was last timed, it runs alone, and few of its
//! joins read the clock. If it lasts nevertheless, its further joins are as others.

use std::{cell::Cell, panic::resume_unwind, sync::PoisonError, thread};

use super::{ending::discard, executor::Executor, inputs::draw, visit::visit_once};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            alone_or_shared::TRIAL_PARTS,
            launch::{self, Gap, JoinHelp, TIMED_ONE_IN},
            prices::{Estimate, TOO_SHORT_TO_TIME_NS},
            rhythm::{Explores, LoopSeen},
            site::{Loop, LoopKind, Site, Slice},
        },
        team::{
            arena::Turn,
            barrier::{Offer, Reentry},
            job,
        },
    },
    sync::{Mutex, lock},
};

/// The most parts that a recursion makes for each worker. With 16, a tree whose children have sizes
/// 1 to 2 takes 0.58 of its one-thread time on two threads.
const MOST_PARTS: u16 = 8 * TRIAL_PARTS;

/// Joins at this level and at deeper ones are never offered.
const DEEPEST: u32 = 64;

/// In nanoseconds: deep joins may be offered if they begin at intervals of at least this on
/// average. (A tree whose children have sizes 1 to 7 takes 0.8 times as long as if no deep join is
/// offered, if a leaf takes 16 or 160 µs. It takes 1.1 to 1.7 times as long if a leaf takes 1.2 to
/// 2 µs and this number is 1,000.)
const LONG_NS: u32 = 3000;

/// In joins: how many deep joins are measured together.
const MEASURED: u32 = 32;

/// The level of all joins in a recursion that runs alone.
const ALONE: u32 = u32::MAX;

/// A recursion that runs alone first looks at the clock at this join inside it, then at twice this
/// number, four times this number, and so on.
const FIRST_LOOK: u32 = 2;

/// In nanoseconds: a recursion that runs alone lasts if it takes more than this after its first
/// look at the clock.
const LASTS_NS: f32 = 10e3;

/// In nanoseconds: a recursion that took less is tried alone now and then. Readings of the clock
/// may be most of its time.
const SEEMS_LONG_NS: f32 = 4.0 * TOO_SHORT_TO_TIME_NS;

/// Such a recursion is tried alone in one of this many calls.
const TRIED_ONE_IN: u64 = 64;

thread_local!(static LEVEL: Cell<u32> = const { Cell::new(0) });
thread_local!(static SHORT: ShortRecursion = const { ShortRecursion::new() });
thread_local!(static DEEP: DeepJoins = const { DeepJoins::new() });

/// The joins of a thread that are so deep in their recursion that most of them are short.
struct DeepJoins {
    count: Cell<u32>,
    /// When the last measurement began; `None` if the recursion has had no deep join yet.
    since: Cell<Option<Instant>>,
    /// Whether they begin at long intervals, by the last measurement.
    are_long: Cell<bool>,
}

impl DeepJoins {
    const fn new() -> Self {
        Self { count: Cell::new(0), since: Cell::new(None), are_long: Cell::new(false) }
    }

    /// A recursion begins on this thread, or a part of one. Until its deep joins are measured, they
    /// count as long if those of the other parts `are_long`.
    fn restart(&self, are_long: bool) {
        self.since.set(None);
        self.are_long.set(are_long);
        self.count.set(MEASURED - 1); // the first one begins the measurement
    }

    /// A deep join begins.
    #[inline]
    fn begin(&self) {
        let count = self.count.get().wrapping_add(1);
        self.count.set(count);
        if count.is_multiple_of(MEASURED) {
            self.measure();
        }
    }

    /// Whether a deep join that begins now is not offered. It begins here if it is not.
    #[inline]
    fn are_alone(&self) -> bool {
        let are_short = !self.are_long.get();
        if are_short {
            self.begin();
        }
        are_short
    }

    #[cold]
    #[inline(never)]
    fn measure(&self) {
        let now = Instant::now();
        if let Some(since) = self.since.replace(Some(now)) {
            self.are_long.set((now - since).as_nanos() >= (MEASURED * LONG_NS).into());
        }
    }
}

/// A recursion of a thread that runs alone, since the last one was short.
struct ShortRecursion {
    /// How many joins have begun inside it.
    joins: Cell<u32>,
    /// The time of its first look at the clock.
    since: Cell<Option<Instant>>,
}

impl ShortRecursion {
    const fn new() -> Self {
        Self { joins: Cell::new(0), since: Cell::new(None) }
    }

    /// A recursion begins that is expected to be short.
    fn restart(&self) {
        self.joins.set(0);
        self.since.set(None);
    }

    /// A join begins inside. Returns whether the recursion lasts.
    #[inline]
    fn lasts(&self) -> bool {
        let joins = self.joins.get().wrapping_add(1);
        self.joins.set(joins);
        joins.is_power_of_two() && joins >= FIRST_LOOK && self.look()
    }

    #[cold]
    #[inline(never)]
    fn look(&self) -> bool {
        let now = Instant::now();
        match self.since.get() {
            None => self.since.set(Some(now)),
            Some(since) => return nanos(now - since) > LASTS_NS,
        }
        false
    }
}

/// While this value lives, all joins that the thread calls have the level of this value.
struct Level {
    before: u32,
}

impl Level {
    fn new(level: u32) -> Self {
        Self { before: LEVEL.replace(level) }
    }
}

impl Drop for Level {
    fn drop(&mut self) {
        LEVEL.set(self.before);
    }
}

/// A whole recursion, when it begins.
struct Whole<'a> {
    is_alone: bool,
    /// `None` if it is not timed.
    timed: Option<Timed<'a>>,
}

/// The time of a recursion, from `begin` to the drop of this value, unless it panics.
struct Timed<'a> {
    executor: &'a Executor,
    site: Site,
    begin: Instant,
}

impl Drop for Timed<'_> {
    #[inline(never)]
    fn drop(&mut self) {
        if !thread::panicking() {
            self.executor.learn_join(join_loop(self.site, ALONE), self.begin);
        }
    }
}

/// A join that is offered.
#[derive(Clone, Copy)]
struct JoinCall {
    this: Loop,
    level: u32,
    /// The time since the last outermost join, if this one is outermost and not too short.
    gap: Option<Gap>,
}

impl Executor {
    /// Runs both closures, and returns their results. If a closure panics, its panic is passed on.
    /// If both closures panic, only the panic of `first` is passed on.
    pub(crate) fn join<A, B: Send>(
        &self,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        fn both<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
            (first(), second())
        }
        let both: fn(_, _) -> (A, B) = both;
        if self.joins_alone() {
            return both(first, second);
        }
        self.join_here(Site::new(both as *const ()), first, second)
    }

    /// Does what [`join`](Self::join) does, if the join is neither too deep nor inside a recursion
    /// that runs alone.
    #[inline(never)] // so that other joins have a small frame
    fn join_here<A, B: Send>(
        &self,
        site: Site,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        let level = LEVEL.get();
        let mut _timed = None;
        if level == 0 {
            let Whole { is_alone, timed } = self.whole_recursion(site);
            _timed = timed;
            if is_alone {
                return Self::join_whole(first, second);
            }
            DEEP.with(|deep| deep.restart(false));
        } else if level >= self.levels(MOST_PARTS) {
            DEEP.with(DeepJoins::begin);
        }
        let _deeper = Level::new(level + 1);
        let this = join_loop(site, level);
        if let Some((turn, call)) = self.turn_to_join(this, level) {
            return self.join_offered(turn, call, first, second);
        }
        let first = first();
        let begin = launch::is_join_timed(level, self.levels(TRIAL_PARTS), draw()).then(Instant::now);
        let second = second();
        if let Some(begin) = begin {
            self.learn_join(this, begin);
        }
        (first, second)
    }

    /// Runs a whole recursion alone.
    #[inline(never)] // so that a join inside another one has a small frame
    fn join_whole<A, B>(first: impl FnOnce() -> A, second: impl FnOnce() -> B) -> (A, B) {
        SHORT.with(ShortRecursion::restart);
        let _alone = Level::new(ALONE);
        (first(), second())
    }

    /// The recursion that begins now at `site`.
    #[inline(never)] // as above
    fn whole_recursion(&self, site: Site) -> Whole<'_> {
        let took = self.memory.over_this(join_loop(site, ALONE));
        let is_shorter = |than: f32| took.is_some_and(|took| took < than);
        let draw = draw();
        let is_tried = is_shorter(SEEMS_LONG_NS) && draw.is_one_in(TRIED_ONE_IN);
        let is_timed = is_tried || took.is_none() || draw.is_one_in(TIMED_ONE_IN);
        let is_alone = is_tried || is_shorter(TOO_SHORT_TO_TIME_NS);
        let timed = || Timed { executor: self, site, begin: Instant::now() };
        Whole { is_alone, timed: is_timed.then(timed) }
    }

    /// A join begins on this thread. Returns whether it is too deep in its recursion to be offered,
    /// or the recursion runs alone. Then so do the joins inside it, which have the same level,
    /// unless they take long.
    #[inline]
    pub(crate) fn joins_alone(&self) -> bool {
        let level = LEVEL.get();
        if level == ALONE && self.workers > 1 && SHORT.with(ShortRecursion::lasts) {
            LEVEL.set(1);
            return false;
        }
        level >= self.levels(MOST_PARTS)
            && (level >= DEEPEST || self.workers == 1 || DEEP.with(DeepJoins::are_alone))
    }

    /// Runs both closures, and offers the second one to a worker. A result may be large, so the
    /// closure that makes it stores it at once, and few frames hold it.
    #[inline(never)] // so that a join that is not offered has a small frame
    fn join_offered<A, B: Send>(
        &self,
        turn: Turn<'_>,
        call: JoinCall,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        let (mut first, mut of_first, mut panic) = (Some(first), None, None);
        // The second closure, its result, and the payload of its panic. The thread that takes the
        // closure stores the result.
        let (second, of_second, second_panic) =
            (Mutex::new(Some(second)), Mutex::new(None), Mutex::new(None));
        let run_second = || {
            let Some(second) = lock(&second).take() else { return false };
            let panic = visit_once(|| {
                let made = Some(second());
                *lock(&of_second) = made;
            });
            *lock(&second_panic) = panic;
            true
        };
        self.join_in(&turn, call, &run_second, &mut || {
            let Some(first) = first.take() else { return false };
            panic = visit_once(|| of_first = Some(first()));
            panic.is_none()
        });
        drop(turn);
        let second_panic = lock(&second_panic).take();
        if let Some(panic) = panic {
            discard((lock(&second).take(), second_panic));
            discard(lock(&of_second).take());
            resume_unwind(panic);
        }
        if let Some(panic) = second_panic {
            discard(of_first);
            resume_unwind(panic);
        }
        match (of_first, of_second.into_inner().unwrap_or_else(PoisonError::into_inner)) {
            (Some(first), Some(second)) => (first, second),
            _ => unreachable!("the caller has run what no worker has taken"),
        }
    }

    /// The number of levels of a recursion that makes `parts` equal parts for each worker.
    fn levels(&self, parts: u16) -> u32 {
        if self.workers == 1 { 0 } else { (usize::from(parts) * self.workers).ilog2() }
    }

    /// The right to offer a second closure, if the offer pays. Notes when an outermost join begins
    /// that is not too short.
    #[inline(never)]
    fn turn_to_join(&self, this: Loop, level: u32) -> Option<(Turn<'_>, JoinCall)> {
        if level >= self.levels(TRIAL_PARTS) && self.could_help() == 0 {
            return None;
        }
        let (barrier, cost) = (&self.threads.barrier, self.memory.over_this(this));
        let is_noted = level == 0 && cost.is_none_or(|cost| cost >= TOO_SHORT_TO_TIME_NS);
        let gap = is_noted.then(|| self.gaps.gap(Instant::now(), &self.prices));
        // A helper that is woken now would be awake at the next outermost join.
        let stays_awake = || gap.is_some_and(|gap| gap.is_worth_waking(2.0 * cost.unwrap_or(0.0)));
        let help = match barrier.idle() {
            0 if self.threads.waiting_around() == 0 => JoinHelp::Later,
            0 => JoinHelp::Awake,
            _ if barrier.awake() > 0 || stays_awake() => JoinHelp::Awake,
            _ => JoinHelp::Asleep,
        };
        // (If each join of a recursion explored, a recursion of a hundred short joins would wake a
        // helper in most of its calls.)
        let explores = (level == 0).then(draw);
        let is_worth_it = launch::is_join_worth_it(&self.prices, cost, help, explores);
        if !is_worth_it || !self.threads.process.is_current() {
            return None;
        }
        Some((barrier.arenas.take()?, JoinCall { this, level, gap }))
    }

    /// The second closure began to run at `begin`, and is done.
    fn learn_join(&self, this: Loop, begin: Instant) {
        self.memory.learn(this, LoopKind::THROUGH, 1, nanos(begin.elapsed()));
    }

    /// Offers `second` to a worker, and runs `first` meanwhile. Afterwards runs `second` if no
    /// worker has taken `second` and `first` has not panicked. `first` returns whether it has not
    /// panicked. `second` returns `false` if another thread has taken it. Neither closure unwinds.
    #[inline(never)]
    fn join_in(
        &self,
        turn: &Turn<'_>,
        JoinCall { this, level, gap }: JoinCall,
        second: &(dyn Fn() -> bool + Sync),
        first: &mut dyn FnMut() -> bool,
    ) {
        self.make_room();
        // The outermost join measures what help costs. At other levels a helper may be late because
        // it works in another join.
        let awake = self.threads.barrier.awake() > 0;
        let offered = (level == 0 && self.could_help() > 0).then(Instant::now);
        let since = || offered.map_or(0.0, |offered| nanos(offered.elapsed()));
        let are_long = DEEP.with(|deep| deep.are_long.get());
        let late = Estimate::new(f32::INFINITY); // until a helper has run the second closure
        let work = |seat: usize| {
            let (_level, begin) = (Level::new(level + 1), Instant::now());
            if seat > 0 {
                DEEP.with(|deep| deep.restart(are_long));
            }
            if second() {
                self.learn_join(this, begin);
                if let Some(offered) = offered
                    && seat > 0
                {
                    late.set(nanos(begin - offered));
                }
            }
        };
        let may_poll = self.workers <= self.cpus_at_a_time;
        let seen = gap.filter(|_| may_poll).map(|gap| LoopSeen {
            awake: self.threads.barrier.awake() > 0,
            is_gap_short: gap.is_short(0.0),
            is_crowded: self.take_crowded(),
            explores: Explores::No,
        });
        let offer = Offer { helpers: 1, reentry: Reentry::Once, polls: self.polls(self.workers, None, seen) };
        let (mut wake, mut alone) = (0.0, 0.0);
        job::share(&self.threads.barrier, turn, offer, &work, || {
            wake = since();
            let goes_on = first();
            alone = since();
            if goes_on {
                work(0);
            }
        });
        if offered.is_some() {
            let late = Some(late.get()).filter(|late| late.is_finite());
            self.prices.learn(awake, 1, late, wake, alone);
        }
        if level == 0 {
            self.gaps.end(Instant::now());
        }
    }
}

/// A join at this level of a recursion counts as a loop over one item. The whole recursion counts
/// as one at level [`ALONE`].
fn join_loop(site: Site, level: u32) -> Loop {
    Loop { site, slice: Slice { address: level as usize, len: 1 } }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // Miri's clock says nothing about prices
mod tests {
    use std::{
        hint,
        panic::{AssertUnwindSafe, catch_unwind},
        ptr,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        time::Duration,
    };

    use super::*;
    use crate::Pool;

    /// How many of 1,000 joins at this level another thread has taken part in. Each takes `long`.
    fn helped(level: u32, long: Duration) -> usize {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let work = || {
            let begin = Instant::now();
            while begin.elapsed() < long {}
            thread::current().id()
        };
        DEEP.with(|deep| deep.restart(false));
        DEEP.with(|deep| deep.are_long.set(false));
        let _level = Level::new(level);
        let helped = |_: &i32| pool.join(work, work).1 != thread::current().id();
        (0..1000).filter(helped).count()
    }

    #[test]
    fn deep_joins_are_offered_if_they_take_long() {
        let long = Duration::from_micros(50);
        assert!(helped(20, long) > 0);
        assert_eq!(helped(DEEPEST, long), 0);
        let windows = helped(20, Duration::ZERO).div_ceil(MEASURED as usize);
        assert!(windows < 5, "the thread may lose its CPU in a few of {}", 1000 / MEASURED);
    }

    #[test]
    fn deep_joins_that_have_become_short_are_not_offered_any_more() {
        let deep = DeepJoins::new();
        deep.restart(false);
        for (long, are_long) in [(Duration::from_micros(5), true), (Duration::ZERO, false)] {
            // The thread may lose its CPU in a measurement.
            let reached = (0..100 * MEASURED).any(|_| {
                deep.begin();
                let begin = Instant::now();
                while begin.elapsed() < long {}
                deep.are_long.get() == are_long
            });
            assert!(reached, "{long:?}");
        }
        deep.are_long.set(true);
        deep.restart(false);
        assert!(deep.are_alone(), "another recursion");
    }

    /// The level of the joins inside an outermost join.
    fn level_inside(pool: &Pool) -> u32 {
        pool.join(|| LEVEL.get(), || ()).0
    }

    /// The thread may lose its CPU in a call that is timed.
    #[test]
    fn a_recursion_that_was_short_runs_alone() {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        assert_eq!(level_inside(&pool), 1, "nothing is known of it");
        assert!((0..1000).any(|_| level_inside(&pool) == ALONE));
        assert_eq!(LEVEL.get(), 0);
    }

    #[test]
    fn a_recursion_that_runs_alone_and_lasts_does_not_go_on_so() {
        let [pool, pool_of_one] = [2, 1].map(|threads| Pool::builder().num_threads(threads).build().unwrap());
        let after_in = |pool: &Pool, joins: u32, long: Duration| {
            let _alone = Level::new(ALONE);
            SHORT.with(ShortRecursion::restart);
            for _ in 0..joins {
                pool.join(|| (), || ());
                let begin = Instant::now();
                while begin.elapsed() < long {}
            }
            LEVEL.get()
        };
        let after = |joins, long| after_in(&pool, joins, long);
        let long = Duration::from_micros(20);
        assert_eq!(after_in(&pool_of_one, 2 * FIRST_LOOK, long), ALONE, "it could not be shared");
        assert_eq!(after(2 * FIRST_LOOK - 1, long), ALONE, "it has looked once");
        assert_eq!(after(2 * FIRST_LOOK, long), 1);
        assert!((0..100).any(|_| after(2 * FIRST_LOOK, Duration::ZERO) == ALONE), "it may lose its CPU");
    }

    #[test]
    fn a_recursion_that_panics_teaches_no_time() {
        let (pool, site) =
            (Pool::builder().num_threads(2).build().unwrap(), Site::new(ptr::without_provenance(0x1230)));
        let executor = pool.executor();
        let is_known_after = |end: fn()| {
            let timed = Timed { executor, site, begin: Instant::now() };
            let call = move || {
                let _timed = timed;
                end();
            };
            _ = catch_unwind(AssertUnwindSafe(call));
            executor.memory.over_this(join_loop(site, ALONE)).is_some()
        };
        assert!(!is_known_after(|| resume_unwind(Box::new("a panic"))));
        assert!(is_known_after(|| ()));
    }

    /// Readings of the clock made it seem to take 10 µs.
    #[test]
    fn a_recursion_that_seems_long_is_tried_alone() {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let calls = |took: f32| {
            let (executor, site) = (pool.executor(), Site::new(ptr::without_provenance(0x1230)));
            let whole = join_loop(site, ALONE);
            (0..40).for_each(|_| executor.memory.learn(whole, LoopKind::THROUGH, 1, took));
            (0..10_000)
                .filter(|_| {
                    let Whole { is_alone, timed } = executor.whole_recursion(site);
                    std::mem::forget(timed);
                    is_alone
                })
                .count()
        };
        let [short, seems_long, long] = [1e3, 1e4, 1e5].map(calls);
        assert_eq!((short, long), (10_000, 0));
        assert!((100..200).contains(&seems_long), "one in 64: {seems_long}");
    }

    #[test]
    fn only_outermost_joins_are_offered_although_they_are_short() {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let offered = |level| {
            let executor = pool.executor();
            let slice = Slice { address: level as usize, len: 1 };
            let this = Loop { site: Site::new(ptr::without_provenance(0x1230)), slice };
            executor.memory.learn(this, LoopKind::THROUGH, 1, 1e3);
            (0..10_000).filter(|_| executor.turn_to_join(this, level).is_some()).count()
        };
        assert!((10..100).contains(&offered(0)), "one in 256");
        assert_eq!([offered(1), offered(7)], [0, 0]);
    }

    /// A program may call no loop after other programs have left the CPUs.
    #[test]
    fn joins_find_out_that_help_has_become_cheaper() {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let help = || [false, true].map(|awake| pool.executor().prices.help_time(awake));
        for awake in [false, true] {
            (0..200).for_each(|_| pool.executor().prices.learn(awake, 1, None, 1e7, 1e7));
        }
        let (dear, begin) = (help(), Instant::now());
        while help() == dear {
            assert!(begin.elapsed() < Duration::from_secs(20), "help still costs {dear:?}");
            let has_begun = AtomicBool::new(false);
            let waits = || {
                let since = Instant::now();
                while !has_begun.load(Relaxed) && since.elapsed() < Duration::from_millis(1) {
                    hint::spin_loop();
                }
            };
            pool.join(waits, || {
                has_begun.store(true, Relaxed);
                let since = Instant::now();
                while since.elapsed() < Duration::from_micros(100) {}
            });
        }
    }
}
