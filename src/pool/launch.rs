//! When to wake the workers: what each loop cost last time decides how it starts this time.
//!
//! Waking a thread costs the caller 0.2 to 7 µs, and the thread begins 10 to 40 µs later. A loop shorter than that is best run
//! by the caller alone, and a very short one without even looking at the clock. So the pool remembers, a few bytes per loop in
//! the program text, what an item cost, and measures what help costs, of helpers asleep and of helpers awake. All of it is a hint:
//! it decides who works, never what comes out.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::time::Duration;

use super::{
    estimate::{Estimate, nanos},
    site::{Loop, scatter},
};
use crate::{
    clock::Instant,
    sync::{AtomicU64, Ordering},
};

/// Work too short for a reading of the clock before and after: below, the readings would show.
const TOO_SHORT_TO_TIME_NS: f32 = 4_000.0;
/// How much more work than a worker's help costs there must be.
const CLEARLY: f32 = 1.3;
/// The same for loops of items cheaper than this, in nanoseconds, where it takes some more work: shared, they begin with small claims,
/// and the plain loop is vectorised from end to end. (200,000 items of 0.17 ns: 33 µs alone, 44 shared.)
const VERY_CHEAP_NS: f32 = 1.0;
const VERY_CLEARLY: f32 = 2.0;
/// One in so many loops that are too short to time is timed all the same, in case it has changed.
const TIMED_ONE_IN: u64 = 16;
/// One in so many loops that help seems too dear for is shared all the same, in case help has become cheaper: of loops that it would
/// have to become twice as cheap for, fewer.
const NEAR_ONE_IN: u64 = 64;
const FAR_ONE_IN: u64 = 512;
/// After so much work a search looks at the clock for the first time.
const FIRST_LOOK_NS: f32 = 2_000.0;
/// Hardly any helper, though awake, begins sooner.
const QUICKEST_AWAKE_NS: f32 = 500.0;
/// The caller tries a loop that nobody knows for this part of what help costs, before it shares the rest.
const TRIAL: f32 = 0.25;

/// What kind of loop it is.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Habit {
    /// As a rule it goes through all items, so it takes about as long as last time.
    #[default]
    Through,
    /// It may stop anywhere: how long it took last time does not mean much.
    Search,
    /// It is known to be long.
    Long,
}

/// How a loop starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Launch {
    /// As the plain loop, on the calling thread.
    Plain,
    /// On the calling thread, with an eye on the clock: what is left after `limit` is shared.
    Alone {
        limit: Duration,
        /// Items before the first reading of the clock, even the one from which time is counted.
        unlooked: usize,
        /// Items until the first look at the clock.
        stretch: usize,
    },
    /// On the calling thread and so many others at once.
    Shared { helpers: usize },
}

/// The upper half of the number of a loop; an empty word has none.
fn tag(number: u64) -> u64 {
    number >> 32 | 1
}

/// What the pool's loops cost, in nanoseconds an item, and what help costs.
///
/// Each word of the direct-mapped table holds a tag (upper half) and the bits of an `f32` (lower half). Relaxed throughout: a
/// word is complete in itself, nothing is published through it, and a lost update loses a hint.
#[derive(Debug)]
pub(crate) struct Costs {
    table: Box<[AtomicU64]>,
    /// Counts the draws.
    draws: AtomicU64,
    /// Work that pays for the help of a worker that sleeps, and of one that is awake.
    asleep: Estimate,
    awake: Estimate,
    /// How long helpers stay awake after a loop.
    patience: Duration,
    /// When this was made, and how many nanoseconds later the last loop began that an awake helper might have paid for.
    made: Instant,
    last: AtomicU64,
}

impl Costs {
    const SLOTS: usize = 1024;

    pub(crate) fn new(patience: Duration) -> Self {
        Self {
            table: (0..Self::SLOTS).map(|_| AtomicU64::new(0)).collect(),
            draws: AtomicU64::new(0),
            asleep: Estimate::new(20_000.0),
            awake: Estimate::new(500.0),
            patience,
            made: Instant::now(),
            last: AtomicU64::new(0),
        }
    }

    /// What the help of a worker costs.
    fn help(&self, awake: bool) -> &Estimate {
        if awake { &self.awake } else { &self.asleep }
    }

    /// How a loop should start where up to `helpers` workers can help. They may be `awake`.
    pub(crate) fn launch(&self, this: Loop, helpers: usize, awake: bool, habit: Habit) -> Launch {
        if habit == Habit::Long {
            return Launch::Shared { helpers };
        }
        let Some(cost) = self.recall(this) else {
            let limit = Duration::from_nanos((TRIAL * self.help(awake).get()) as u64);
            return Launch::Alone { limit, unlooked: 0, stretch: 1 };
        };
        let expected = cost * this.slice.len as f32;
        let help = self.help(awake).get();
        let clearly = if habit == Habit::Through { Self::clearly(cost, awake) } else { CLEARLY };
        let worth_sharing = clearly * help;
        if expected >= worth_sharing {
            return Launch::Shared { helpers: ((expected / worth_sharing) as usize).min(helpers) };
        }
        if habit == Habit::Search {
            let pace = self.pace(this).unwrap_or(cost);
            let limit = Duration::from_nanos(worth_sharing as u64);
            let stretch = ((FIRST_LOOK_NS / pace) as usize).max(1);
            // Only over a slice that is known: the items of another may be of another kind.
            let is_known = self.at(this.number()).is_some() && !self.draws_one_in(TIMED_ONE_IN);
            return Launch::Alone { limit, unlooked: if is_known { stretch } else { 0 }, stretch };
        }
        let soon = || {
            expected >= QUICKEST_AWAKE_NS && self.will_be_awake(expected) && self.pays(cost, expected, true)
        };
        if self.pays(cost, expected, awake) || !awake && soon() {
            return Launch::Shared { helpers: 1 };
        }
        if expected < TOO_SHORT_TO_TIME_NS && !self.draws_one_in(TIMED_ONE_IN) {
            return Launch::Plain;
        }
        let limit = f32::max(worth_sharing, TOO_SHORT_TO_TIME_NS);
        Launch::Alone {
            limit: Duration::from_nanos(limit as u64),
            unlooked: 0,
            stretch: ((limit / 4.0 / cost) as usize).max(1),
        }
    }

    /// How much more work than help costs there must be in a loop of items of that cost.
    fn clearly(cost: f32, awake: bool) -> f32 {
        if cost < VERY_CHEAP_NS && !awake { VERY_CLEARLY } else { CLEARLY }
    }

    /// Whether that much work pays for the help of a worker: clearly; or not, but it is time to look whether help has become
    /// cheaper.
    fn pays(&self, cost: f32, expected: f32, awake: bool) -> bool {
        let help = self.help(awake).get();
        let odds = if 2.0 * expected < help { FAR_ONE_IN } else { NEAR_ONE_IN };
        let imaginable = if awake { QUICKEST_AWAKE_NS } else { TOO_SHORT_TO_TIME_NS };
        expected >= Self::clearly(cost, awake) * help || expected >= imaginable && self.draws_one_in(odds)
    }

    /// Whether a helper who is woken now would, as things go, still be awake when the next such loop begins.
    #[inline]
    fn will_be_awake(&self, expected: f32) -> bool {
        if self.patience.is_zero() {
            return false;
        }
        let now = self.made.elapsed();
        let last = self.last.swap(now.as_nanos() as u64, Ordering::Relaxed);
        let between = now.saturating_sub(Duration::from_nanos(last));
        nanos(between) - expected < nanos(self.patience)
    }

    /// True one time in `odds`.
    fn draws_one_in(&self, odds: u64) -> bool {
        let count = self.draws.load(Ordering::Relaxed).wrapping_add(1);
        self.draws.store(count, Ordering::Relaxed);
        // Drawn, not counted out: where short loops alternate, a fixed beat would always meet the same one.
        scatter(count).is_multiple_of(odds)
    }

    /// Nanoseconds an item, if the loop is known: over this slice, or else over any.
    pub(crate) fn recall(&self, this: Loop) -> Option<f32> {
        self.at(this.number()).or_else(|| self.at(this.site.number()))
    }

    /// Nanoseconds an item of those that were looked at, if that is known.
    pub(crate) fn pace(&self, this: Loop) -> Option<f32> {
        self.at(this.site.number())
    }

    fn at(&self, number: u64) -> Option<f32> {
        let word = self.table[number as usize % Self::SLOTS].load(Ordering::Relaxed);
        (word >> 32 == tag(number)).then(|| f32::from_bits(word as u32))
    }

    /// Remembers that a loop took `work` nanoseconds of one thread, and that it has looked at so many `indices` of its slice. A jump
    /// is believed by and by, since the loop may have been interrupted; but from the next call on the loop is timed.
    pub(crate) fn learn(&self, this: Loop, habit: Habit, indices: usize, work: f32) {
        if indices == 0 {
            return;
        }
        // Of a search over this slice: what a call takes, wherever it stops. Else, what an index takes: a loop that was stopped by an
        // error may go through next time.
        let call = if habit == Habit::Search { this.slice.len } else { indices };
        for (number, items) in [(this.number(), call), (this.site.number(), indices)] {
            let items = items as f32;
            let before = self.at(number).unwrap_or(f32::INFINITY);
            let cost = (work / items).min(f32::max(before * 4.0, TOO_SHORT_TO_TIME_NS / items));
            let word = tag(number) << 32 | u64::from(cost.to_bits());
            self.table[number as usize % Self::SLOTS].store(word, Ordering::Relaxed);
        }
    }

    /// Remembers what help has cost: `delay` nanoseconds until the first helper had begun (none, if there was nothing left to do),
    /// and `wake` of the caller's time, in a round of `round()`.
    pub(crate) fn learn_help(&self, awake: bool, delay: Option<f32>, wake: f32, round: impl Fn() -> f32) {
        let help = self.help(awake);
        // Two workers that begin at `wake` and at `delay` and end at the same time take half of `work + wake + delay`. If the
        // round was over first, it is known only that the delay is longer.
        let cost = wake + delay.unwrap_or_else(round);
        if delay.is_some() || cost > help.get() {
            help.see(cost);
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod tests {
    use super::{
        super::site::{Site, Slice},
        *,
    };

    /// Not of a function, to which Miri gives an address each time.
    fn over(len: usize) -> Loop {
        static SITE: u8 = 0;
        Loop { site: Site::new((&raw const SITE).cast()), slice: Slice { address: 0x1000, len } }
    }

    /// Where help costs 20 µs.
    fn launch(costs: &Costs, len: usize) -> Launch {
        costs.launch(over(len), 7, false, Habit::Through)
    }

    fn is_shared(launch: Launch) -> bool {
        matches!(launch, Launch::Shared { .. })
    }

    #[test]
    fn loops_are_launched_by_what_they_cost() {
        let costs = Costs::new(Duration::ZERO);
        assert_eq!(
            launch(&costs, 1000),
            Launch::Alone { limit: Duration::from_micros(5), unlooked: 0, stretch: 1 },
            "unknown"
        );
        costs.learn(over(1000), Habit::Through, 1000, 100e3);
        assert_eq!(launch(&costs, 1000), Launch::Shared { helpers: 3 });
        assert_eq!(launch(&costs, 9000), Launch::Shared { helpers: 7 });
        assert_eq!(launch(&costs, 270), Launch::Shared { helpers: 1 }, "27 µs");
        let shared = (0..640).filter(|_| is_shared(launch(&costs, 250))).count();
        assert!((1..=20).contains(&shared), "25 µs: {shared} of 640 are shared all the same");
        assert!((0..9).any(|_| matches!(launch(&costs, 250), Launch::Alone { stretch: 65, .. })));
        for stride in 1..=16 {
            // Every loop of a round has its turn, however many short loops a round has.
            let timed =
                (0..16_000).filter(|i| launch(&costs, 10) != Launch::Plain && i % stride == 0).count();
            let expected = 1000 / stride;
            assert!(
                (expected / 2..=2 * expected + 2).contains(&timed),
                "{timed} of {} are timed",
                16_000 / stride
            );
        }
        let other = Loop { site: Site::new(launch as *const ()), ..over(1000) };
        assert_eq!(
            costs.launch(other, 7, false, Habit::Through),
            launch(&Costs::new(Duration::ZERO), 1000),
            "another loop"
        );
    }

    #[test]
    fn the_same_loop_over_another_slice_is_another_loop() {
        let costs = Costs::new(Duration::ZERO);
        let (long, short) = (over(1000), Loop { slice: Slice { address: 0x9000, len: 1000 }, ..over(1000) });
        for _ in 0..100 {
            costs.learn(long, Habit::Through, long.slice.len, 1e6);
            costs.learn(short, Habit::Through, short.slice.len, 100.0);
        }
        assert!(is_shared(costs.launch(long, 7, false, Habit::Through)));
        assert!((0..9).any(|_| costs.launch(short, 7, false, Habit::Through) == Launch::Plain));
        let third = Loop { slice: Slice { address: 0x5000, len: 1000 }, ..over(1000) };
        assert!(
            (0..9).any(|_| costs.launch(third, 7, false, Habit::Through) == Launch::Plain),
            "as the last one"
        );
    }

    #[test]
    fn many_loops_are_known_at_a_time() {
        let costs = Costs::new(Duration::ZERO);
        (1..100).for_each(|len| costs.learn(over(len), Habit::Through, len, len as f32));
        let known = (1..100).filter(|&len| costs.at(over(len).number()).is_some()).count();
        assert!(known > 80, "{known}");
    }

    #[test]
    fn a_loop_that_was_stopped_early_may_go_through_next_time() {
        let costs = Costs::new(Duration::ZERO);
        (0..9).for_each(|_| costs.learn(over(1000), Habit::Through, 1, 5e3));
        assert!(is_shared(launch(&costs, 1000)));
        // A search is expected to stop early again.
        let costs = Costs::new(Duration::ZERO);
        (0..9).for_each(|_| costs.learn(over(1000), Habit::Search, 1, 5e3));
        assert!(!is_shared(costs.launch(over(1000), 7, false, Habit::Search)));
    }

    #[test]
    fn help_is_asked_for_where_it_has_been_quick() {
        let costs = Costs::new(Duration::ZERO);
        costs.learn(over(1000), Habit::Through, 1000, 10e3);
        assert!(is_shared(costs.launch(over(1000), 7, true, Habit::Through)), "awake");
        for _ in 0..100 {
            costs.learn_help(true, None, 100.0, || 50e3);
            costs.learn_help(false, Some(3e3), 1e3, || 10e3);
            costs.learn_help(false, None, 1e3, || 1e3);
        }
        assert!(
            (0..9).any(|_| !is_shared(costs.launch(over(1000), 7, true, Habit::Through))),
            "nobody ever comes in time"
        );
        assert!(is_shared(launch(&costs, 1000)), "wakes up in 3 µs");
    }

    #[test]
    fn help_that_was_dear_once_is_asked_for_again() {
        for (awake, work, quick) in [(false, 50e3, 20e3), (true, 2e3, 300.0)] {
            let costs = Costs::new(Duration::ZERO);
            (0..1000).for_each(|_| costs.learn_help(awake, None, 0.0, || 1e9));
            let shared = |costs: &Costs| is_shared(costs.launch(over(1000), 7, awake, Habit::Through));
            let mut calls = 0;
            for _ in 0..200 {
                costs.learn(over(1000), Habit::Through, 1000, work);
                calls += (0..100_000).position(|_| shared(&costs)).unwrap();
                costs.learn_help(awake, Some(quick), 0.0, || work);
            }
            assert!((0..100).all(|_| shared(&costs)), "awake: {awake}");
            assert!(calls < 100_000, "awake: {awake}, after {calls} calls");
        }
    }

    #[test]
    fn helpers_are_woken_where_they_will_stay_awake() {
        for (patience, wakes) in [(Duration::ZERO, false), (Duration::from_secs(100), true)] {
            let costs = Costs::new(patience);
            costs.learn(over(1000), Habit::Through, 1000, 4.9e3);
            let woken = (0..10).filter(|_| is_shared(launch(&costs, 1000))).count();
            assert_eq!(woken > 0, wakes, "{patience:?}");
        }
    }

    #[test]
    fn one_interruption_does_not_make_a_loop_long() {
        let costs = Costs::new(Duration::ZERO);
        costs.learn(over(2), Habit::Through, 2, 20.0);
        costs.learn(over(2), Habit::Through, 2, 4e6);
        assert!((0..9).any(|_| !is_shared(launch(&costs, 2))));
        for _ in 0..9 {
            costs.learn(over(2), Habit::Through, 2, 4e6);
        }
        assert!(is_shared(launch(&costs, 2)), "but ten in a row do");
    }

    #[test]
    fn a_loop_that_has_jumped_is_watched() {
        let costs = Costs::new(Duration::ZERO);
        for before in [0.0, 20.0] {
            costs.learn(over(2), Habit::Through, 2, before);
            costs.learn(over(2), Habit::Through, 2, 4e6);
            assert!((0..100).all(|_| launch(&costs, 2) != Launch::Plain), "{before:?}");
        }
    }
}
