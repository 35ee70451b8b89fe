//! When a thread reads the clock next: after how many items.
//!
//! A reading of the clock costs some 20 ns, so a stretch between two readings lasts some
//! microseconds. The length of the next stretch depends on the time of the last one. `grain` has
//! the pace of a worker whose items can be stolen. The pace here is that of the calling thread
//! before it has invited anybody: all its items are its own, so a stretch is a single claim.

use std::time::Duration;

use crate::clock::{Instant, nanos};

/// The least time of a stretch whose items can be stolen.
pub(crate) const STRETCH: Duration = Duration::from_micros(10);
/// The calling thread alone looks at its limit this often.
const LOOKS: u32 = 32;
/// In items: the sizes of a block.
pub(crate) const SMALL_BLOCK: usize = 8;
pub(crate) const LARGE_BLOCK: usize = SMALL_BLOCK * SMALL_BLOCK;
pub(crate) const HUGE_BLOCK: usize = SMALL_BLOCK * LARGE_BLOCK;

/// The claims of a worker until its next reading of the clock.
#[derive(Debug)]
pub(crate) struct Stretch {
    /// Items per claim.
    pub(crate) size: usize,
    pub(crate) claims: usize,
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

/// The pace of the calling thread alone.
#[derive(Debug)]
pub(crate) struct AlonePace {
    /// The items of the next stretch.
    items: usize,
    /// The items of the second stretch, unless the first one took long.
    expected: usize,
    /// The most items of a stretch.
    most: usize,
    /// The least time of a stretch.
    least: Duration,
    clock: Instant,
}

impl AlonePace {
    /// The pace of a part that begins `now` and lasts for at most `limit`. The first reading of the
    /// clock comes after a few items, because items may take longer than last time. The second
    /// reading comes after `expected` items. A stretch lasts for a small part of the limit, but not
    /// longer than one whose items can be stolen.
    pub(crate) fn new(now: Instant, limit: Duration, expected: usize) -> Self {
        let least = (limit / LOOKS).clamp(Duration::from_micros(1), STRETCH);
        let items = expected.min(SMALL_BLOCK);
        Self { items, expected, most: usize::MAX, least, clock: now }
    }

    /// The same pace for items that may be shared later. No stretch is longer than expected, or
    /// than a large block: meanwhile no worker could have its items.
    pub(crate) fn shareable(self) -> Self {
        Self { most: self.expected.max(LARGE_BLOCK), ..self }
    }
}

impl Pace for AlonePace {
    fn stretch(&mut self, left: usize) -> Stretch {
        Stretch { size: self.items.min(left), claims: 1, full_fences: false, is_new: false }
    }

    fn end_stretch(&mut self, _left: usize, now: Instant) {
        let took = now - self.clock;
        self.clock = now;
        self.items = suited_to(self.least, self.items, took);
        if took < self.least {
            self.items = self.items.max(self.expected).min(self.most);
        }
    }
}
