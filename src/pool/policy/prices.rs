//! The prices of a pool, as measured: help from helpers that sleep, help from helpers that are
//! awake, and the fence of a theft.

use std::time::Duration;

use super::site::Supply;
use crate::{
    clock::time,
    sync::{AtomicU64, Ordering},
};

/// In nanoseconds: the assumed cost of help from a sleeping worker, until it is measured.
pub(crate) const ASLEEP_NS: f32 = 20_000.0;
/// In nanoseconds: the assumed cost of help from a worker that is awake, until it is measured.
/// Hardly any worker begins sooner, so sharing is not explored for less work than this.
pub(crate) const AWAKE_NS: f32 = 500.0;
/// In nanoseconds: the cost of a theft without its fence. Also the assumed cost of the fence, until
/// it is measured.
pub(crate) const THEFT_NS: f32 = 5_000.0;
/// In blocks: each worker of a search can claim about this many, also if items have become dear.
const LEAST_BLOCKS: usize = 8;
/// In nanoseconds: a claim of this length does no harm. An item that waits behind the claim waits
/// for less time than a theft takes.
pub(crate) const HARMLESS_NS: f32 = THEFT_NS / 2.0;
/// A time clearly exceeds another time if it is longer by this factor. A loop is shared if the work
/// per helper clearly exceeds the cost of help.
pub(crate) const CLEARLY: f32 = 1.3;
/// The caller runs an unknown loop alone for this part of the cost of help before it shares the
/// rest. A trial of running alone has a head start of this part of the time of a shared call.
pub(crate) const AT_FIRST: f32 = 0.25;
/// In nanoseconds of work: a loop of less than this is not timed, since two readings of the clock
/// would make it slower.
pub(crate) const TOO_SHORT_TO_TIME_NS: f32 = 4_000.0;

/// The factor by which a sample moves an estimate.
const SAMPLE_STEP: f32 = 1.0625;
/// The number of calls that measure the price of a helper that is awake, after a call that explores
/// has woken this helper. Only the last one counts, and only if it is cheaper. In the first one,
/// the caches of both threads are cold, and help that takes 3 µs seems to take 11 to 15 µs. (When
/// chance alone chose these calls, a helper that had lost its CPU for a few milliseconds stayed
/// dear for up to 300 ms. Meanwhile loops of 11 µs ran alone, and took 1.4 times as long as shared
/// ones.)
const EXPLORED: u64 = 2;
/// If the help of one sleeping worker costs more than this factor times its estimate, the estimate
/// doubles. (On a virtual machine whose idle CPUs halt, such help costs 100 to 300 µs. With small
/// steps alone, helpers slept again before their caller had returned, in hundreds of calls.)
const MUCH_DEARER: f32 = 4.0;
/// In nanoseconds: the largest value of an estimate. So no estimate makes a caller run much more
/// than a millisecond of work alone.
const MOST_NS: f32 = 1e6;
/// In nanoseconds: how long all workers of a search for any match stay at the front. After this
/// time each of them searches a part of its own: a match in the second half of 2^40 items is found
/// in some milliseconds, and without this number in minutes.
pub(crate) const AT_FRONT_NS: f32 = 2e6;

/// An estimate in nanoseconds: roughly the running median of its samples. Each sample moves it by
/// one step, so no outlier moves it far.
///
/// Relaxed: a lost update loses only a hint.
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

/// The least number of items per block of a search or a loop in order, in which each worker has
/// about `share` items. An item takes `pace` nanoseconds, if known. A block of a loop in order
/// takes about as long as a theft, since it costs about as much to pass the total of a block to
/// another worker. (A scan of 30,000 sums of `u64`, which takes 7 µs alone, took 1.12 times the
/// plain loop's time in blocks of 117 items.) A claim of a search takes about 0.1 µs, since all
/// workers claim from one cache line. (Two workers search 200 items of 110 ns in 13 µs, and took 18
/// to 25 µs when they claimed single items.)
pub(crate) fn smallest_block(supply: Supply, pace: Option<f32>, share: usize) -> usize {
    let items = |takes: f32| pace.map_or(1, |pace| (takes / pace) as usize).max(1);
    match supply {
        Supply::InOrder => items(THEFT_NS),
        _ => items(HARMLESS_NS).min(share / LEAST_BLOCKS + 1),
    }
}

/// How the helpers of a call are when it begins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum HelpersAre {
    Asleep,
    /// Awake, but calls of the loop have not been shared for long: the first ones take longer.
    Cold,
    /// Awake, and calls of the loop have been shared for long; or it is in an item of another one.
    Warm,
}

impl HelpersAre {
    pub(crate) fn awake(self) -> bool {
        self != Self::Asleep
    }
}

/// The prices of a pool, in nanoseconds.
#[derive(Debug)]
#[repr(C)] // the word of the quick verdict comes first
pub(crate) struct Prices {
    /// In nanoseconds of work: a loop of less than this is never worth sharing at the current cost
    /// of help. This word is computed from that cost. It is stored because the constants of the
    /// computation lie in other cache lines. The first value is the largest one,
    /// [`TOO_SHORT_TO_TIME_NS`]: with a smaller value, a slow first call with cold caches would
    /// force full decisions in the next calls.
    pub(super) short: Estimate,
    /// The cost of help from a worker that sleeps, and from a worker that is awake.
    help: [Estimate; 2],
    /// The cost to the caller of waking one helper.
    wake: Estimate,
    /// The cost of the heavy fence to a thief, where it is expensive.
    pub(crate) heavy: Estimate,
    /// The number of calls that will explore as soon as they find a helper awake. It becomes
    /// [`EXPLORED`] when a call that explores has woken a helper. Relaxed: this is a hint.
    exploring: AtomicU64,
}

impl Prices {
    pub(crate) fn new() -> Self {
        Self {
            short: Estimate::new(TOO_SHORT_TO_TIME_NS),
            help: [ASLEEP_NS, AWAKE_NS].map(Estimate::new),
            wake: Estimate::new(AWAKE_NS),
            heavy: Estimate::new(THEFT_NS),
            exploring: AtomicU64::new(0),
        }
    }

    /// The cost of help from a worker, `awake` or asleep.
    pub(crate) fn help(&self, awake: bool) -> f32 {
        self.help[usize::from(awake)].get()
    }

    /// The cost of help as a time.
    pub(crate) fn help_time(&self, awake: bool) -> Duration {
        time(self.help(awake))
    }

    /// How long a helper polls for the next loop before it sleeps: as long as it takes to wake the
    /// helper, but at least [`CLEARLY`] times the assumed cost of a wake-up. (Wake-ups can seem
    /// cheap: a helper that sleeps for only some microseconds wakes up sooner, because its CPU, or
    /// the host of a virtual machine, polls meanwhile.)
    pub(crate) fn worth_staying_awake(&self) -> Duration {
        time(self.help(false).max(CLEARLY * ASLEEP_NS))
    }

    /// How long the caller polls for the last worker before it sleeps: as long as it takes to wake
    /// the caller, so that polling costs at most as much as sleeping. `item` is the time of an item
    /// in nanoseconds, if known. If an item takes clearly longer than a wake-up, the caller polls
    /// for less time, because the end of the last item is probably far away.
    pub(crate) fn worth_polling(&self, item: Option<f32>) -> Duration {
        let wake = self.help(false);
        let is_near = item.map_or(1.0, |item| f32::min(CLEARLY * wake / item, 1.0));
        time(wake * is_near)
    }

    /// The number of helpers with which `work` nanoseconds of work end soonest.
    ///
    /// The caller wakes the helpers one after the other. So the last of `n` helpers is late by
    /// `n * wake`, and the average helper by half of that. The time of the loop is
    /// `work / n + n * wake / 2`. It is least where one more helper saves as much time as it costs.
    pub(crate) fn most_helpers(&self, work: f32) -> usize {
        (2.0 * work / self.wake.get()).sqrt() as usize
    }

    /// Whether the next call that finds a helper awake explores.
    pub(crate) fn is_exploring(&self) -> bool {
        self.exploring.load(Ordering::Relaxed) > 0
    }

    /// Whether the call after one that explores with a helper that is `awake` or asleep explores,
    /// too.
    pub(super) fn explores_again(&self, awake: bool) -> bool {
        !awake || self.exploring.load(Ordering::Relaxed) > 1
    }

    /// A call has explored, with a helper that was `awake` or asleep. Returns whether the price
    /// that it has measured counts.
    pub(crate) fn explored(&self, awake: bool) -> bool {
        let counts = !awake || !self.explores_again(awake);
        let left = if awake { self.exploring.load(Ordering::Relaxed).saturating_sub(1) } else { EXPLORED };
        self.exploring.store(left, Ordering::Relaxed);
        counts
    }

    /// As [`learn`](Self::learn), if the helpers were awake, but their caches were cold. Such help
    /// counts half, and only if it is the first or cheaper than usual. (Trials and calls that
    /// explore begin with cold caches. Help of 1.3 µs in a loop that was always shared seemed to
    /// take 4 to 8 µs then, and loops of 4 and 5 µs ran alone, which took 0.7 of their time when
    /// shared.)
    pub(crate) fn learn_cold(&self, helpers: usize, delay: Option<f32>, wake: f32, length: f32) {
        let half = |time: f32| time / 2.0;
        let (delay, wake) = (delay.map(half), half(wake));
        let cost = wake / helpers as f32 + delay.unwrap_or(f32::INFINITY);
        if cost < self.help(true) || self.is_assumed() {
            self.learn(true, helpers, delay, wake, half(length));
        }
    }

    /// Whether the price of a helper that is awake has never been measured.
    fn is_assumed(&self) -> bool {
        self.help(true).to_bits() == AWAKE_NS.to_bits()
    }

    /// Learns the cost of help from a loop of `length` nanoseconds. `delay` is the time until the
    /// first of `helpers` helpers began, plus the time after the last item, in nanoseconds. It is
    /// `None` if the loop was over before a helper began. `wake` is the time that the caller took
    /// to wake the helpers, in nanoseconds.
    pub(crate) fn learn(&self, awake: bool, helpers: usize, delay: Option<f32>, wake: f32, length: f32) {
        let wake = wake / helpers as f32;
        self.wake.see(wake);
        let help = &self.help[usize::from(awake)];
        // Two workers begin at `wake` and at `delay`. If they end at the same time, they end at
        // half of `work + wake + delay`. If the loop was over before a helper began, the delay is
        // only known to be longer than the loop.
        let cost = wake + delay.unwrap_or(length);
        let before = help.get();
        if delay.is_none() && cost <= before {
            return;
        }
        if awake && delay.is_some() && self.is_assumed() {
            // The first sample. It may be that of a call that was interrupted.
            help.set(cost.clamp(AWAKE_NS, MUCH_DEARER * AWAKE_NS));
            help.see(cost);
        } else if awake && cost < before / 2.0 {
            // Help was dear while another program had the CPUs. A helper that is awake may be late
            // by chance, but never early. So an early helper moves the estimate far.
            help.set((before * cost).sqrt());
        } else if !awake && helpers == 1 && cost > MUCH_DEARER * before {
            help.set((2.0 * before).min(MOST_NS));
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
    fn blocks_of_a_search_are_harmless_and_not_few() {
        let block = |supply, pace, share| smallest_block(supply, pace, share);
        assert_eq!(block(Supply::First, None, 1000), 1);
        assert_eq!(block(Supply::Any, Some(25.0), 1000), 100, "2.5 µs");
        assert_eq!(block(Supply::Any, Some(25.0), 80), 11, "8 blocks");
        assert_eq!(block(Supply::First, Some(1e6), 1000), 1);
        assert_eq!(block(Supply::InOrder, Some(25.0), 80), 200, "5 µs");
    }

    #[test]
    fn an_estimate_goes_where_most_samples_are() {
        let estimate = Estimate::new(20e3);
        for sample in [5e3, 6e3, 1e9].iter().cycle().take(300) {
            estimate.see(*sample);
        }
        assert!((5e3..7e3).contains(&estimate.get()), "{}", estimate.get());
    }

    #[test]
    fn the_end_of_a_loop_is_polled_for_as_long_as_waking_takes_unless_it_is_far_away() {
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
        (0..100).for_each(|_| prices.learn(false, 1, Some(3e3), 1e3, 1e4));
        assert_eq!(stay(), 26);
        (0..100).for_each(|_| prices.learn(false, 1, Some(45e3), 5e3, 1e5));
        assert!((45..55).contains(&stay()), "{}", stay());
    }

    #[test]
    fn help_that_is_much_dearer_is_soon_believed() {
        let prices = Prices::new(); // 20 µs
        let calls = (1..100).find(|_| {
            prices.learn(false, 1, Some(200e3), 1e3, 250e3);
            prices.help(false) >= 60e3
        });
        assert_eq!(calls, Some(2));
        (0..100).for_each(|_| prices.learn(false, 1, Some(1e9), 1e3, 1e9));
        assert!(prices.help(false) <= MOST_NS, "{}", prices.help(false));
        // If several helpers were asked for, the first one may have had another loop to do.
        let prices = Prices::new();
        prices.learn(false, 2, Some(200e3), 1e3, 250e3);
        assert!(prices.help(false) < 22e3, "{}", prices.help(false));
    }

    #[test]
    fn help_with_cold_caches_counts_half_and_only_if_it_is_cheaper() {
        let price = |learn: fn(&Prices)| {
            let prices = Prices::new();
            (0..100).for_each(|_| learn(&prices));
            prices.help(true)
        };
        let warm = price(|prices| prices.learn(true, 1, Some(1e3), 150.0, 8e3));
        let cold = price(|prices| {
            prices.learn_cold(1, Some(2e3), 300.0, 16e3);
            prices.learn(true, 1, Some(1e3), 150.0, 8e3);
        });
        assert!((1_070.0..1_230.0).contains(&warm) && (cold - warm).abs() < 80.0, "{warm} and {cold}");
        let dear = price(|prices| prices.learn_cold(1, Some(16e3), 300.0, 32e3));
        assert!(dear <= SAMPLE_STEP * MUCH_DEARER * AWAKE_NS, "only the first one counts: {dear}");
        let prices = Prices::new();
        (0..100).for_each(|_| prices.learn(true, 1, Some(8e3), 300.0, 16e3));
        (0..100).for_each(|_| prices.learn_cold(1, Some(4e3), 600.0, 16e3));
        assert!((2_150.0..2_450.0).contains(&prices.help(true)), "{}", prices.help(true));
    }

    #[test]
    fn the_first_helper_that_is_awake_says_what_help_costs() {
        let first = |delay| {
            let prices = Prices::new();
            prices.learn(true, 1, delay, 300.0, 8e3);
            prices.help(true)
        };
        assert!((1_600.0..1_950.0).contains(&first(Some(1.5e3))), "{}", first(Some(1.5e3)));
        assert!(first(Some(1e6)) < 2.2e3, "it was interrupted: {}", first(Some(1e6)));
        assert!(first(None) < 600.0, "no helper came: {}", first(None));
        assert!(first(Some(0.0)) > 450.0, "hardly any worker begins sooner: {}", first(Some(0.0)));
    }

    #[test]
    fn a_helper_that_is_quick_again_is_soon_cheap_and_one_that_was_late_is_not_soon_dear() {
        let prices = Prices::new();
        let see = |delay| prices.learn(true, 1, delay, 100.0, 50e3);
        (0..100).for_each(|_| see(None));
        assert!(prices.help(true) > 40e3, "its CPU is taken");
        (0..3).for_each(|_| see(Some(600.0)));
        assert!(prices.help(true) < 2e3, "{}", prices.help(true));
        (0..3).for_each(|_| see(Some(40e3)));
        assert!(prices.help(true) < 2e3, "{}", prices.help(true));
    }
}
