//! When a thread reads the clock next: after how many items.
//!
//! A reading of the clock costs some 20 ns, so a stretch between two readings lasts some
//! microseconds. The length of the next stretch depends on the time of the last one. `alone` has
//! the pace of the calling thread alone, and `grain` that of a worker whose items can be stolen.

use std::time::Duration;

use crate::clock::{Instant, nanos};

/// The least time of a stretch whose items can be stolen.
pub(crate) const STRETCH: Duration = Duration::from_micros(10);
/// In items: the sizes of a block.
pub(crate) const SMALL_BLOCK: usize = 8;
pub(crate) const LARGE_BLOCK: usize = SMALL_BLOCK * SMALL_BLOCK;
pub(crate) const HUGE_BLOCK: usize = SMALL_BLOCK * LARGE_BLOCK;

/// The claims of a worker until its next reading of the clock.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// Items per claim. The last claim may have fewer items.
    pub(crate) size: usize,
    pub(crate) items: usize,
    pub(crate) full_fences: bool,
    /// Whether the stretch begins a new partial result.
    pub(crate) is_new: bool,
}

/// Decides how long stretches are.
pub(crate) trait Pace {
    /// The next stretch, if `left` items are left, at least one.
    fn stretch(&mut self, left: usize) -> Stretch;

    /// The stretch has ended `now`, and `left` items are left.
    fn end_stretch(&mut self, left: usize, now: Instant);

    /// Whether there is time `now` for another stretch.
    fn has_time(&self, _now: Instant) -> bool {
        true
    }
}

/// The number of claims of the next stretch. The last stretch had `claims` claims and lasted for
/// `took`. A stretch shall last between `least` and twice `least`: the next one has twice as many
/// claims after a shorter stretch, and fewer after a longer one.
pub(crate) fn suited_to(least: Duration, claims: usize, took: Duration) -> usize {
    if took < least {
        claims.saturating_mul(2)
    } else if took > 2 * least {
        ((claims as f32 * (nanos(least) / nanos(took))) as usize).max(1)
    } else {
        claims
    }
}
