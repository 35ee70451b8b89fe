//! Runs two closures at the same time. The calling thread runs the first closure, and an idle
//! worker runs the second one. If no worker comes before the first closure is done, the calling
//! thread runs both.
//!
//! A recursion joins again and again, and most of its joins are small. The estimated cost of a
//! second closure is the measured cost of the last one at the same level. If it is too small to
//! pay for a worker, and so are those of the next levels, the calling thread runs this join and all
//! joins inside it alone: each takes a nanosecond. If that lasts nevertheless, it changes its mind.
//!
//! All other second closures wait in the line of the calling thread (`team/line.rs`), which offers
//! them to idle workers, the oldest first. A worker that has taken one has a line of its own.

use std::{cell::Cell, panic::resume_unwind, sync::PoisonError};

use super::{ending::discard, executor::Executor, inputs::draw, visit::visit_once};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            launch::{self, Gap, JoinHelp, TIMED_ONE_IN},
            prices::{Estimate, TOO_SHORT_TO_TIME_NS},
            rhythm::{Explores, LoopSeen},
            site::{Loop, LoopKind, Site, Slice},
        },
        team::{
            barrier::{Offer, Reentry},
            line::{self, Terms},
        },
    },
    sync::{Mutex, lock},
};

/// Joins at this level and at deeper ones never wait in line.
const DEEPEST: u32 = 256;

/// All levels from this one on count as one: their second closures have one estimated cost.
const LEVELS: u32 = 16;

/// A join runs alone with all joins inside it only if the second closures at this many levels
/// inside it are known to be cheap, or are unknown.
const LEVELS_INSIDE: u32 = 2;

/// A recursion that runs alone first looks at the clock at this join inside it, then at twice this
/// number, four times this number, and so on.
const FIRST_LOOK: u32 = 4;

/// If a thread runs the second closures of its joins in line itself, it times one of this many.
const LEARNS_ONE_IN: u64 = 4;

thread_local!(static RECURSION: Recursion = const { Recursion::none() });

/// The recursion of a thread, or its part of one.
struct Recursion {
    /// The level of the joins that the thread calls; 0 outside of any join.
    level: Cell<u32>,
    /// Whether the thread runs the joins inside the present one alone.
    is_alone: Cell<bool>,
    /// How many joins have run alone inside that join.
    joins: Cell<u32>,
    /// The time of its first look at the clock.
    since: Cell<Option<Instant>>,
    /// Whether that has lasted: the next join waits in line whatever its cost is.
    has_lasted: Cell<bool>,
}

impl Recursion {
    const fn none() -> Self {
        Self {
            level: Cell::new(0),
            is_alone: Cell::new(false),
            joins: Cell::new(0),
            since: Cell::new(None),
            has_lasted: Cell::new(false),
        }
    }

    /// A join begins in a part that runs alone. Returns whether the part lasts: longer than `short`
    /// since the first look at the clock.
    #[inline(always)]
    fn lasts(&self, short: impl FnOnce() -> f32) -> bool {
        let joins = self.joins.get().wrapping_add(1);
        self.joins.set(joins);
        joins.is_power_of_two() && joins >= FIRST_LOOK && self.look(short())
    }

    #[cold]
    #[inline(never)]
    fn look(&self, short: f32) -> bool {
        let now = Instant::now();
        match self.since.get() {
            None => self.since.set(Some(now)),
            Some(since) => return nanos(now - since) > short,
        }
        false
    }
}

/// While this value lives, the joins that the thread calls have this level.
struct Level {
    before: (u32, bool),
}

impl Level {
    /// The thread runs the joins at this level alone, if `is_alone`, and all joins inside them.
    #[inline(always)]
    fn new(level: u32, is_alone: bool) -> Self {
        RECURSION.with(|recursion| {
            if is_alone {
                recursion.joins.set(0);
                recursion.since.set(None);
            }
            Self { before: (recursion.level.replace(level), recursion.is_alone.replace(is_alone)) }
        })
    }
}

impl Drop for Level {
    #[inline(always)]
    fn drop(&mut self) {
        RECURSION.with(|recursion| {
            recursion.level.set(self.before.0);
            recursion.is_alone.set(self.before.1);
        });
    }
}

/// A join whose second closure waits in line.
struct JoinCall {
    this: Loop,
    level: u32,
    /// The estimated cost of the second closure, in nanoseconds, if known.
    cost: Option<f32>,
    /// Whether it is offered, if it is outermost. Other joins are decided on later.
    is_worth_it: bool,
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

    /// Does what [`join`](Self::join) does, where no join around this one runs alone.
    #[inline(never)] // so that a join inside one that runs alone has a small frame
    fn join_here<A, B: Send>(
        &self,
        site: Site,
        first: impl FnOnce() -> A,
        second: impl FnOnce() -> B + Send,
    ) -> (A, B) {
        let level = RECURSION.with(|recursion| recursion.level.get());
        if let Some(call) = self.join_call(site, level) {
            return self.join_in_line(&call, first, second);
        }
        let _alone = Level::new(level + 1, true);
        let first = first();
        let begin = draw().is_one_in(TIMED_ONE_IN).then(Instant::now);
        let second = second();
        if let Some(begin) = begin {
            self.learn_join(join_at(site, level), begin);
        }
        (first, second)
    }

    /// A join begins on this thread. Returns whether it runs both closures itself, because a join
    /// around it runs alone with all joins inside it.
    #[inline]
    pub(crate) fn joins_alone(&self) -> bool {
        RECURSION.with(|recursion| {
            if !recursion.is_alone.get() {
                return self.workers == 1;
            }
            let lasts = recursion.lasts(|| self.prices.help(false));
            if lasts {
                recursion.is_alone.set(false);
                recursion.has_lasted.set(true);
            }
            !lasts
        })
    }

    /// The call of a join at `site`. `None` if the calling thread runs it alone, with all joins
    /// inside it.
    #[inline(never)]
    fn join_call(&self, site: Site, level: u32) -> Option<JoinCall> {
        let this = join_at(site, level);
        let cost = self.memory.over_this(this);
        let is_cheap = |cost| !launch::is_join_worth_it(&self.prices, Some(cost), JoinHelp::Awake, None);
        let is_cheap_inside = || {
            (1..=LEVELS_INSIDE)
                .filter_map(|more| self.memory.over_this(join_at(site, level + more)))
                .all(is_cheap)
        };
        let is_current = || self.threads.process.is_current();
        if level > 0 {
            let has_lasted = RECURSION.with(|recursion| recursion.has_lasted.take());
            let is_alone = level >= DEEPEST || !has_lasted && cost.is_some_and(is_cheap) && is_cheap_inside();
            let call = JoinCall { this, level, cost, is_worth_it: false, gap: None };
            return (!is_alone && is_current()).then_some(call);
        }
        let is_noted = cost.is_none_or(|cost| cost >= TOO_SHORT_TO_TIME_NS);
        let gap = is_noted.then(|| self.gaps.gap(Instant::now(), &self.prices));
        let help = self.join_help(cost, gap);
        let is_worth_it = launch::is_join_worth_it(&self.prices, cost, help, Some(draw()));
        let is_alone = !is_worth_it && is_cheap_inside();
        (!is_alone && is_current()).then_some(JoinCall { this, level, cost, is_worth_it, gap })
    }

    /// The thread that would run a second closure of `cost` nanoseconds that is offered now.
    fn join_help(&self, cost: Option<f32>, gap: Option<Gap>) -> JoinHelp {
        let barrier = &self.threads.barrier;
        // A helper that is woken now would be awake at the next outermost join.
        let stays_awake = || gap.is_some_and(|gap| gap.is_worth_waking(2.0 * cost.unwrap_or(0.0)));
        match barrier.idle() {
            0 if self.threads.waiting_around() == 0 => JoinHelp::Later,
            0 => JoinHelp::Awake,
            _ if barrier.awake() > 0 || stays_awake() => JoinHelp::Awake,
            _ => JoinHelp::Asleep,
        }
    }

    /// Runs both closures. The second one waits in line. A result may be large, so the closure that
    /// makes it stores it at once, and few frames hold it.
    #[inline(always)] // one frame less
    fn join_in_line<A, B: Send>(
        &self,
        call: &JoinCall,
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
        self.join_in(call, &run_second, &mut || {
            let Some(first) = first.take() else { return false };
            panic = visit_once(|| of_first = Some(first()));
            panic.is_none()
        });
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

    /// The second closure began to run at `begin`, and is done.
    fn learn_join(&self, this: Loop, begin: Instant) {
        self.memory.learn_slice(this, LoopKind::THROUGH, 1, nanos(begin.elapsed()));
    }

    /// Runs `first` while `second` waits in line. Afterwards runs `second` if no worker has taken
    /// `second` and `first` has not panicked. `first` returns whether it has not panicked. `second`
    /// returns `false` if another thread has taken it. Neither closure unwinds.
    #[inline(never)]
    fn join_in(&self, call: &JoinCall, second: &(dyn Fn() -> bool + Sync), first: &mut dyn FnMut() -> bool) {
        let JoinCall { this, level, cost, is_worth_it, .. } = *call;
        if is_worth_it {
            self.make_room();
        }
        // The outermost join measures what help costs. At other levels a helper may be late because
        // it works in another join.
        let awake = is_worth_it && self.threads.barrier.awake() > 0;
        let offered = (is_worth_it && self.could_help() > 0).then(Instant::now);
        let since = || offered.map_or(0.0, |offered| nanos(offered.elapsed()));
        let late = Estimate::new(f32::INFINITY); // until a helper has run the second closure
        let work = |seat: usize| {
            let is_timed = seat > 0 || is_worth_it || cost.is_none() || draw().is_one_in(LEARNS_ONE_IN);
            let (_level, begin) = (Level::new(level + 1, false), is_timed.then(Instant::now));
            if second()
                && let Some(begin) = begin
            {
                self.learn_join(this, begin);
                if let Some(offered) = offered
                    && seat > 0
                {
                    late.set(nanos(begin - offered));
                }
            }
        };
        let (mut wake, mut alone) = (0.0, 0.0);
        let goes_on = Cell::new(false);
        let run_first = || {
            wake = since();
            let _level = Level::new(level + 1, false);
            goes_on.set(first());
        };
        let run_second = || {
            alone = since();
            if goes_on.get() {
                work(0);
            }
        };
        line::wait_in_line(&self.threads.barrier, &work, &|| self.terms(call), run_first, run_second);
        if offered.is_some() {
            let late = Some(late.get()).filter(|late| late.is_finite());
            self.prices.learn(awake, 1, late, wake, alone);
        }
        if is_worth_it {
            self.gaps.end(Instant::now());
        }
    }

    /// Whether a second closure that waits in line is offered now.
    #[inline(never)]
    fn terms(&self, &JoinCall { cost, is_worth_it, gap, .. }: &JoinCall) -> Terms<'_> {
        if !is_worth_it {
            let is_worth = |help| launch::is_join_worth_it(&self.prices, cost, help, None);
            if !is_worth(JoinHelp::Awake) {
                return Terms::Never;
            }
            if !is_worth(self.join_help(cost, None)) {
                return Terms::NotNow;
            }
        }
        let barrier = &self.threads.barrier;
        let Some(turn) = barrier.arenas.take() else { return Terms::NotNow };
        let may_poll = self.workers <= self.cpus_at_a_time;
        let seen = gap.filter(|_| may_poll).map(|gap| LoopSeen {
            awake: barrier.awake() > 0,
            is_gap_short: gap.is_short(0.0),
            is_crowded: self.take_crowded(),
            explores: Explores::No,
        });
        let polls = self.polls(self.workers, None, seen);
        Terms::Offered(turn, Offer { helpers: 1, reentry: Reentry::Once, polls })
    }
}

/// A join at this level of a recursion. It counts as a loop over one item.
fn join_at(site: Site, level: u32) -> Loop {
    Loop { site, slice: Slice { address: level.min(LEVELS) as usize, len: 1 } }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // Miri's clock says nothing about prices
mod tests {
    use std::{
        hint,
        sync::atomic::{AtomicBool, Ordering::Relaxed},
        thread,
        time::Duration,
    };

    use super::*;
    use crate::Pool;

    /// How many of 1,000 joins at this level another thread has taken part in. Each takes `long`.
    fn helped(level: u32, is_alone: bool, long: Duration) -> usize {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let work = || {
            let begin = Instant::now();
            while begin.elapsed() < long {}
            thread::current().id()
        };
        let _level = Level::new(level, is_alone);
        let helped = |_: &i32| pool.join(work, work).1 != thread::current().id();
        (0..1000).filter(helped).count()
    }

    #[test]
    fn deep_joins_are_offered_if_they_take_long() {
        let long = Duration::from_micros(50);
        assert!(helped(20, false, long) > 0);
        assert_eq!(helped(DEEPEST, false, long), 0);
        let short = helped(20, false, Duration::ZERO);
        assert!(short < 100, "{short}: those whose cost is unknown, or after the thread has lost its CPU");
    }

    #[test]
    fn a_part_that_runs_alone_and_lasts_is_shared() {
        assert!(helped(1, true, Duration::from_micros(50)) > 0);
        assert_eq!(helped(1, true, Duration::ZERO), 0);
    }

    /// A pool of two threads in which second closures have these costs, by level.
    fn with_costs(costs: &[(u32, f32)]) -> (Pool, Site) {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let site = Site::new(std::ptr::without_provenance(0x1230));
        let learn = |at, cost| pool.executor().memory.learn_slice(at, LoopKind::THROUGH, 1, cost);
        for (level, cost) in costs {
            learn(join_at(site, *level), *cost);
        }
        (pool, site)
    }

    #[test]
    fn only_outermost_joins_are_offered_although_they_are_short() {
        let (pool, site) = with_costs(&[(0, 1e3), (1, 1e3), (7, 1e3)]);
        let offered = |level| {
            let call = || pool.executor().join_call(site, level);
            (0..10_000).filter(|_| call().is_some_and(|call| call.is_worth_it)).count()
        };
        assert!((10..100).contains(&offered(0)), "one in 256");
        assert_eq!([offered(1), offered(7)], [0, 0]);
    }

    #[test]
    fn a_short_join_with_long_ones_inside_waits_in_line() {
        let (pool, site) = with_costs(&[(0, 10.0), (1, 10.0), (2, 1e6), (3, 10.0), (4, 10.0)]);
        let waits = |level| pool.executor().join_call(site, level).is_some();
        assert_eq!([0, 1, 2, 3, 4].map(waits), [true, true, true, false, false]);
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
