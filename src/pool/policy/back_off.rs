//! When it pays to look for work, in a loop over a list that grows.
//!
//! An item of such a list may stand for a whole tree, or for nothing more than itself, and nobody
//! can tell. So a worker learns it from what it has found: if that was done sooner than a theft
//! takes, it waits before it looks again, twice as long each time. A loop whose items make one
//! other each, or one and a trifle, is then left alone, and takes as long as the plain loop. For
//! the same reason it watches a victim for a moment, and leaves it what it takes itself meanwhile.

#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::time::Duration;

use super::prices::AWAKE_NS;
use crate::clock::nanos;

/// How long a thief watches a victim before it steals from it, and what a find must be worth: about
/// what a theft costs.
pub(crate) const MOMENT: Duration = Duration::from_nanos(AWAKE_NS as u64);
/// As a factor of the cost of help: the longest pause before a worker is called back. So calls in
/// vain take one per cent of the caller's time, at most.
const LONGEST_BACK_OFF: f32 = 100.0;

/// What a worker has found since it came.
#[derive(Debug, Default)]
pub(crate) struct Finds {
    /// How long it waits before it looks again: nothing, if the last find was worth a theft.
    pause: Duration,
    /// How long it has worked on all of them.
    worked: Duration,
}

impl Finds {
    /// What was found was done after a `stint` of work.
    pub(crate) fn see(&mut self, stint: Duration) {
        self.worked += stint;
        self.pause = if stint < MOMENT { MOMENT.max(2 * self.pause) } else { Duration::ZERO };
    }

    pub(crate) fn pause(&self) -> Duration {
        self.pause
    }

    pub(crate) fn worked(&self) -> Duration {
        self.worked
    }
}

/// When the next worker is called back, in nanoseconds after the last one has gone. `pause` was the
/// time before that one was called. It has `worked`, and help costs `help` nanoseconds.
pub(crate) fn pause_after(pause: f32, worked: Duration, help: f32) -> f32 {
    if nanos(worked) < help { (2.0 * pause).clamp(help, LONGEST_BACK_OFF * help) } else { 0.0 }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_finds_nothing_worth_a_theft_waits_twice_as_long_each_time() {
        let mut finds = Finds::default();
        assert!(finds.pause().is_zero());
        for pause in [500, 1000, 2000, 4000] {
            finds.see(Duration::from_nanos(30));
            assert_eq!(finds.pause(), Duration::from_nanos(pause));
        }
        finds.see(Duration::from_micros(20));
        assert!(finds.pause().is_zero());
        assert_eq!(finds.worked(), Duration::from_nanos(20_120));
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
