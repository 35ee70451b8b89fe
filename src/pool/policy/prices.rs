//! What things cost: help from helpers that sleep and from helpers that are awake, and the fence of
//! a theft, as far as a pool has measured them.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// In nanoseconds: what is taken for the cost of help from a sleeping worker before it is measured.
pub(crate) const ASLEEP_NS: f32 = 20_000.0;
/// In nanoseconds: the same of a worker that is awake. Hardly any begins sooner, so below this much
/// work sharing is not explored.
pub(crate) const AWAKE_NS: f32 = 500.0;
/// In nanoseconds: the cost of a theft without its fence, and what is taken for the cost of the
/// fence before that is measured.
pub(crate) const THEFT_NS: f32 = 5_000.0;
/// The factor by which one of two times exceeds the other clearly. A loop is shared if there is
/// clearly more work per helper than help costs.
pub(crate) const CLEARLY: f32 = 1.3;
/// As a part of the cost of help: the caller runs an unknown loop alone for this long before it
/// shares the rest. As a part of what a shared call takes: a trial of running alone may be behind
/// for this long.
pub(crate) const AT_FIRST: f32 = 0.25;
/// In nanoseconds of work: below this, a loop is not timed, since the two readings of the clock
/// would show.
pub(crate) const TOO_SHORT_TO_TIME_NS: f32 = 4_000.0;

/// The factor by which a sample moves an estimate.
const SAMPLE_STEP: f32 = 1.0625;
/// In nanoseconds: no estimate is larger. What takes a millisecond is not run alone because of one.
const MOST_NS: f32 = 1e6;

/// An estimate in nanoseconds: roughly the running median of its samples. Each sample moves it by
/// one step, so that no outlier moves it far.
///
/// Relaxed: a lost update loses a hint.
#[derive(Debug)]
pub(crate) struct Estimate(AtomicU64);

impl Estimate {
    pub(crate) fn new(nanos: f32) -> Self {
        Self(AtomicU64::new(u64::from(nanos.to_bits())))
    }

    pub(crate) fn get(&self) -> f32 {
        f32::from_bits(self.0.load(Ordering::Relaxed) as u32)
    }

    pub(crate) fn see(&self, nanos: f32) {
        let now = self.get();
        let now = if nanos > now { now * SAMPLE_STEP } else { now / SAMPLE_STEP };
        self.set(now.clamp(1.0, MOST_NS));
    }

    pub(crate) fn set(&self, nanos: f32) {
        self.0.store(u64::from(nanos.to_bits()), Ordering::Relaxed);
    }
}

/// The prices of a pool, in nanoseconds.
#[derive(Debug)]
#[repr(C)] // what a glance looks at comes first
pub(crate) struct Prices {
    /// In nanoseconds of work: below this, a loop is never worth sharing at the current cost of
    /// help. It follows from that cost, and is kept because the constants to compute it lie in
    /// other cache lines. It is at most the time below which no loop is timed, and at first as
    /// much: a first call that finds nothing in the caches then does not make the next ones go a
    /// longer way.
    short: Estimate,
    /// The cost of help from a worker that sleeps, and from one that is awake.
    asleep: Estimate,
    awake: Estimate,
    /// What it costs the caller to wake one helper.
    wake: Estimate,
    /// The cost of the heavy fence to a thief, where it is expensive.
    pub(crate) heavy: Estimate,
}

impl Prices {
    pub(crate) fn new() -> Self {
        Self {
            short: Estimate::new(TOO_SHORT_TO_TIME_NS),
            asleep: Estimate::new(ASLEEP_NS),
            awake: Estimate::new(AWAKE_NS),
            wake: Estimate::new(AWAKE_NS),
            heavy: Estimate::new(THEFT_NS),
        }
    }

    /// The work below which no loop is worth sharing.
    #[inline(always)]
    pub(crate) fn short(&self) -> f32 {
        self.short.get()
    }

    /// The cost of help from a worker, which may be `awake`.
    pub(crate) fn help(&self, awake: bool) -> f32 {
        self.of(awake).get()
    }

    /// The same, as a time.
    pub(crate) fn help_time(&self, awake: bool) -> Duration {
        Duration::from_nanos(self.help(awake) as u64)
    }

    /// How long a helper polls for the next loop before it sleeps: as long as it takes to wake it.
    /// A helper that sleeps for some microseconds only is woken sooner, because its CPU, or the
    /// host of a virtual machine, polls meanwhile. So the time is never clearly below what is taken
    /// for the cost of a wake-up at first.
    pub(crate) fn worth_staying_awake(&self) -> Duration {
        self.help_time(false).max(Duration::from_nanos((CLEARLY * ASLEEP_NS) as u64))
    }

    /// How long the caller polls for the last worker before it sleeps: as long as it would take to
    /// wake the caller, so that polling costs at most as much as sleeping. An `item` takes so many
    /// nanoseconds, if known. If that is clearly longer than a wake-up, the time is shorter,
    /// because the end of the last item is probably far away.
    pub(crate) fn worth_polling(&self, item: Option<f32>) -> Duration {
        let wake = self.help(false);
        let is_near = item.map_or(1.0, |item| f32::min(CLEARLY * wake / item, 1.0));
        Duration::from_nanos((wake * is_near) as u64)
    }

    fn of(&self, awake: bool) -> &Estimate {
        if awake { &self.awake } else { &self.asleep }
    }

    /// How many helpers are to be woken for `work`, so that it is done soonest.
    ///
    /// The caller wakes one after the other, so the last of `n` comes `n * wake` late, and the mean
    /// one half of that. `work / n + n * wake / 2` is least where one more saves as much as it
    /// costs.
    pub(crate) fn most_helpers(&self, work: f32) -> f32 {
        (2.0 * work / self.wake.get()).sqrt()
    }

    /// Remembers the cost of help in a round of `round()` nanoseconds: `delay` nanoseconds until
    /// the first of `helpers` began, and behind the last item (none if there was nothing left to
    /// do), and `wake` nanoseconds of the caller's time.
    pub(crate) fn learn(
        &self,
        awake: bool,
        helpers: usize,
        delay: Option<f32>,
        wake: f32,
        round: impl Fn() -> f32,
    ) {
        let wake = wake / helpers as f32;
        self.wake.see(wake);
        let help = self.of(awake);
        // Two workers that begin at `wake` and at `delay` and end at the same time take half of
        // `work + wake + delay`. If the round was over before a helper began, it is only known that
        // the delay is longer than the round.
        let cost = wake + delay.unwrap_or_else(round);
        let before = help.get();
        if delay.is_none() && cost <= before {
            return;
        }
        if awake && cost < before / 2.0 {
            // It has been dear while something else had the CPUs. A helper that is awake may be
            // late by chance, but never early. So one that is early is believed soon.
            help.set((before * cost).sqrt());
        } else {
            help.see(cost);
        }
        self.short.set(f32::min(CLEARLY * help.get(), TOO_SHORT_TO_TIME_NS));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_goes_where_most_samples_are() {
        let estimate = Estimate::new(20e3);
        for sample in [5e3, 6e3, 1e9].iter().cycle().take(300) {
            estimate.see(*sample);
        }
        assert!((5e3..7e3).contains(&estimate.get()), "{}", estimate.get());
    }

    #[test]
    fn the_end_of_a_round_is_polled_for_as_long_as_waking_takes_unless_it_is_far_away() {
        let prices = Prices::new(); // 20 µs
        let polls = |item| prices.worth_polling(item).as_micros();
        assert_eq!([polls(None), polls(Some(1e3)), polls(Some(25e3))], [20; 3]);
        assert_eq!([polls(Some(52e3)), polls(Some(5.2e6))], [10, 0]);
    }
    #[test]
    fn helpers_stay_awake_for_the_price_of_a_wake_up_even_if_they_hardly_sleep() {
        let prices = Prices::new();
        let stay = || prices.worth_staying_awake().as_micros();
        assert_eq!(stay(), 26);
        (0..100).for_each(|_| prices.learn(false, 1, Some(3e3), 1e3, || 1e4));
        assert_eq!(stay(), 26);
        (0..100).for_each(|_| prices.learn(false, 1, Some(45e3), 5e3, || 1e5));
        assert!((45..55).contains(&stay()), "{}", stay());
    }

    #[test]
    fn a_helper_that_is_quick_again_is_soon_believed_and_one_that_was_late_is_not() {
        let prices = Prices::new();
        let see = |delay| prices.learn(true, 1, delay, 100.0, || 50e3);
        (0..100).for_each(|_| see(None));
        assert!(prices.help(true) > 40e3, "its CPU is taken");
        (0..3).for_each(|_| see(Some(600.0)));
        assert!(prices.help(true) < 2e3, "{}", prices.help(true));
        (0..3).for_each(|_| see(Some(40e3)));
        assert!(prices.help(true) < 2e3, "{}", prices.help(true));
    }
}
