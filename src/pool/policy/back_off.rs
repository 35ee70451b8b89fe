//! When a worker looks for work again, in a loop over a list that grows.
//!
//! An item of such a list may produce a whole tree of items or none, which is unknown in advance.
//! So a worker learns from the items that it has found. If these items took less time than a theft,
//! the worker waits before it looks again. Each such wait is twice as long as the last one. So a
//! loop whose items make hardly more than one item each is left to one worker, and takes as long as
//! the plain loop. For the same reason a thief watches a victim for a [`MOMENT`], and leaves the
//! victim the items that the victim takes itself during that time.

use std::time::Duration;

use super::prices::AWAKE_NS;
use crate::clock::nanos;

/// About the cost of a theft. A thief watches a victim for this long before the theft. A find of
/// less work than this was not worth its theft.
pub(crate) const MOMENT: Duration = Duration::from_nanos(AWAKE_NS as u64);
/// The longest pause before a worker is called back is this factor times the cost of help. So calls
/// in vain take at most 1 % of the caller's time.
const LONGEST_BACK_OFF: f32 = 100.0;

/// The finds of a worker since it joined the loop. A find is all work of the worker from one theft
/// to the next.
#[derive(Debug, Default)]
pub(crate) struct Finds {
    /// The pause before the worker looks for the next find: zero if the last find was worth a
    /// theft.
    pub(crate) pause: Duration,
    /// The total work of all finds.
    pub(crate) worked: Duration,
}

impl Finds {
    /// Adds a find of `stint` of work.
    pub(crate) fn see(&mut self, stint: Duration) {
        self.worked += stint;
        self.pause = if stint < MOMENT { MOMENT.max(2 * self.pause) } else { Duration::ZERO };
    }
}

/// The pause in nanoseconds from the moment when a worker leaves until the next worker is called
/// back. The worker that leaves was called after a pause of `pause` nanoseconds, and its work took
/// `worked`. Help costs `help` nanoseconds.
pub(crate) fn pause_after(pause: f32, worked: Duration, help: f32) -> f32 {
    if nanos(worked) < help { (2.0 * pause).clamp(help, LONGEST_BACK_OFF * help) } else { 0.0 }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_finds_nothing_worth_a_theft_waits_twice_as_long_each_time() {
        let mut finds = Finds::default();
        assert!(finds.pause.is_zero());
        for pause in [500, 1000, 2000, 4000] {
            finds.see(Duration::from_nanos(30));
            assert_eq!(finds.pause, Duration::from_nanos(pause));
        }
        finds.see(Duration::from_micros(20));
        assert!(finds.pause.is_zero());
        assert_eq!(finds.worked, Duration::from_nanos(20_120));
    }

    #[test]
    fn calls_in_vain_become_rare_and_a_good_one_is_followed_by_the_next() {
        let (vain, good) = (Duration::from_micros(1), Duration::from_micros(100));
        let mut pause = 0.0;
        for expected in [20e3, 40e3, 80e3] {
            pause = pause_after(pause, vain, 20e3);
            assert!((pause - expected).abs() < 1.0, "{pause}");
        }
        assert!((pause_after(1.9e6, vain, 20e3) - 2e6).abs() < 1.0);
        assert!(pause_after(pause, good, 20e3) <= 0.0);
    }
}
