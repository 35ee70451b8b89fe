//! When to wake the workers: what each loop cost last time decides how it starts this time.
//!
//! Waking a thread costs the caller 0.2 to 2 µs, and the thread begins 10 to 40 µs later. A loop shorter than that is best run
//! by the caller alone, and a very short one without even looking at the clock. So the pool remembers, a few bytes per loop in
//! the program text, what an item cost. All of it is a hint: it decides who works, never what comes out.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::time::Duration;

use crate::sync::{AtomicU64, Ordering};

/// Work that pays for waking a thread: about its start delay.
const WORTH_SHARING_NS: f32 = 30_000.0;
/// Work too short for two readings of the clock.
const TOO_SHORT_TO_TIME_NS: f32 = 2_000.0;
/// One in so many loops that are too short to time is timed all the same, in case it has changed.
const TIMED_ONE_IN: u64 = 16;
/// 2^64 divided by the golden ratio: multiples of it are spread evenly (Knuth, The Art of Computer Programming 3, section 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
/// How long the caller tries a loop that nobody knows before it shares the rest.
const TRIAL: Duration = Duration::from_micros(1);

/// How a loop starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Launch {
    /// As the plain loop, on the calling thread.
    Plain,
    /// On the calling thread, with an eye on the clock: what is left after `limit` is shared.
    Alone {
        limit: Duration,
        /// Items until the first look at the clock.
        stretch: usize,
    },
    /// On all workers at once.
    Shared,
}

/// What the pool's loops cost, in nanoseconds an item. A direct-mapped table of single words.
///
/// Each word holds a tag (upper half) and the bits of an `f32` (lower half). Relaxed throughout: a word is complete in itself,
/// nothing is published through it, and a lost update loses a hint.
#[derive(Debug)]
pub(crate) struct Costs {
    table: Box<[AtomicU64]>,
    /// Counts the loops too short to time.
    untimed: AtomicU64,
}

/// Scatters the bits of `key`: Fibonacci hashing twice, the upper half folded in between.
fn mix(key: u64) -> u64 {
    let product = key.wrapping_mul(GOLDEN);
    (product ^ product >> 32).wrapping_mul(GOLDEN) >> 32
}

/// The name of a loop: the address of its monomorphised code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site {
    slot: usize,
    tag: u64,
}

impl Site {
    pub(crate) fn new(code: *const ()) -> Self {
        // Fibonacci hashing: the upper bits are the well mixed ones.
        let hash = (code.addr() as u64).wrapping_mul(GOLDEN);
        Self {
            slot: (hash >> (64 - Costs::BITS)) as usize,
            tag: (hash >> 16) & 0xFFFF_FFFF | 1, // an empty word has tag 0
        }
    }
}

impl Costs {
    const BITS: u32 = 6;

    pub(crate) fn new() -> Self {
        Self { table: (0..1 << Self::BITS).map(|_| AtomicU64::new(0)).collect(), untimed: AtomicU64::new(0) }
    }

    /// How the loop `site` over `len` items should start.
    pub(crate) fn launch(&self, site: Site, len: usize) -> Launch {
        let Some(cost) = self.recall(site) else {
            return Launch::Alone { limit: TRIAL, stretch: 1 };
        };
        let expected = cost * len as f32;
        if expected >= WORTH_SHARING_NS {
            return Launch::Shared;
        }
        if expected < TOO_SHORT_TO_TIME_NS {
            let count = self.untimed.load(Ordering::Relaxed).wrapping_add(1);
            self.untimed.store(count, Ordering::Relaxed);
            // Drawn, not counted out: where short loops alternate, a fixed beat would always meet the same one.
            if !mix(count).is_multiple_of(TIMED_ONE_IN) {
                return Launch::Plain;
            }
        }
        Launch::Alone {
            limit: Duration::from_nanos(WORTH_SHARING_NS as u64),
            stretch: ((TOO_SHORT_TO_TIME_NS / cost) as usize).max(1),
        }
    }

    /// Nanoseconds an item, if the loop is known.
    fn recall(&self, site: Site) -> Option<f32> {
        let word = self.table[site.slot].load(Ordering::Relaxed);
        (word >> 32 == site.tag).then(|| f32::from_bits(word as u32))
    }

    /// Remembers that `items` items took `work` of one thread. A jump is believed by and by, since the loop may have been
    /// interrupted; but from the next call on the loop is timed.
    pub(crate) fn learn(&self, site: Site, items: usize, work: Duration) {
        let mut cost = work.as_secs_f32() * 1e9 / items as f32;
        if let Some(before) = self.recall(site) {
            cost = cost.min(f32::max(before * 4.0, TOO_SHORT_TO_TIME_NS / items as f32));
        }
        let word = site.tag << 32 | u64::from(cost.to_bits());
        self.table[site.slot].store(word, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn site() -> Site {
        Site::new(site as *const ())
    }

    #[test]
    fn loops_are_launched_by_what_they_cost() {
        let costs = Costs::new();
        assert_eq!(costs.launch(site(), 1000), Launch::Alone { limit: TRIAL, stretch: 1 }, "unknown");
        costs.learn(site(), 1000, Duration::from_micros(100));
        assert_eq!(costs.launch(site(), 1000), Launch::Shared);
        assert_eq!(costs.launch(site(), 300), Launch::Shared, "30 µs");
        assert!(matches!(costs.launch(site(), 299), Launch::Alone { stretch: 20, .. }));
        for stride in 1..=16 {
            // Every loop of a round has its turn, however many short loops a round has.
            let timed =
                (0..1600).filter(|i| costs.launch(site(), 10) != Launch::Plain && i % stride == 0).count();
            let expected = 100 / stride;
            assert!(
                (expected / 2..=2 * expected + 2).contains(&timed),
                "{timed} of {} are timed",
                1600 / stride
            );
        }
        let other = Site::new(loops_are_launched_by_what_they_cost as *const ());
        assert_eq!(costs.launch(other, 1000), Launch::Alone { limit: TRIAL, stretch: 1 });
    }

    #[test]
    fn one_interruption_does_not_make_a_loop_long() {
        let costs = Costs::new();
        costs.learn(site(), 2, Duration::from_nanos(20));
        costs.learn(site(), 2, Duration::from_millis(4));
        assert_ne!(costs.launch(site(), 2), Launch::Shared);
        for _ in 0..9 {
            costs.learn(site(), 2, Duration::from_millis(4));
        }
        assert_eq!(costs.launch(site(), 2), Launch::Shared, "but ten in a row do");
    }

    #[test]
    fn a_loop_that_has_jumped_is_watched() {
        let costs = Costs::new();
        for before in [Duration::ZERO, Duration::from_nanos(20)] {
            costs.learn(site(), 2, before);
            costs.learn(site(), 2, Duration::from_millis(4));
            let watched = |_| matches!(costs.launch(site(), 2), Launch::Alone { .. });
            assert!((0..100).all(watched), "{before:?}");
        }
    }
}
