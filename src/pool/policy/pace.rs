//! When a thread reads the clock next: after how many items.
//!
//! A reading of the clock costs some 20 ns, so a stretch between two readings lasts some
//! microseconds. The length of the next stretch depends on the time of the last one. `grain` has
//! the pace of a worker whose items can be stolen. The pace here is that of the calling thread
//! before it has invited anybody: all its items are its own, so a stretch is a single claim.

use std::time::Duration;

use super::alone_or_shared::Trial;
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

/// The pace of the calling thread alone.
#[derive(Debug)]
pub(crate) struct AlonePace {
    /// When the thread began, and how long it may work before the rest is shared.
    begun: Instant,
    limit: Duration,
    /// The items of the next stretch.
    items: usize,
    /// The items of the second stretch, unless the first one took long.
    expected: usize,
    /// The most items of a stretch.
    most: usize,
    /// The least time of a stretch.
    least: Duration,
    clock: Instant,
    /// A trial has a limit for each of its parts.
    trial: Option<Trial>,
}

impl AlonePace {
    /// The pace of a thread that `begun`, and goes on `now` until `limit` after its begin. The first
    /// reading of the clock comes after a few items, because items may take longer than last time.
    /// The second reading comes after `expected` items. A stretch lasts for a small part of the
    /// limit, but not longer than one whose items can be stolen.
    pub(crate) fn new(begun: Instant, now: Instant, limit: Duration, expected: usize) -> Self {
        let least = (limit / LOOKS).clamp(Duration::from_micros(1), STRETCH);
        let items = expected.min(SMALL_BLOCK);
        Self { begun, limit, items, expected, most: usize::MAX, least, clock: now, trial: None }
    }

    /// The same pace for items that are shared after the limit, if there is one. No stretch is
    /// longer than expected, or than a large block: meanwhile no worker could have its items.
    pub(crate) fn shareable(self) -> Self {
        let most = if self.limit < Duration::MAX { self.expected.max(LARGE_BLOCK) } else { self.most };
        Self { most, ..self }
    }

    /// The pace of a `trial` of running alone, which begins now, at `begun`. A stretch has no upper
    /// limit: more readings of the clock would make loops over cheap items seem slow.
    pub(crate) fn of_trial(begun: Instant, trial: Trial) -> Self {
        let part = Self::new(begun, begun, trial.limit(), trial.expected());
        Self { trial: Some(trial), ..part }
    }

    /// How long the thread may work, if that is limited.
    pub(crate) fn limit(&self) -> Option<Duration> {
        Some(self.limit).filter(|limit| *limit < Duration::MAX)
    }
}

impl Pace for AlonePace {
    fn stretch(&mut self, left: usize) -> Stretch {
        let of_part = self.trial.as_ref().map_or(left, |trial| trial.left_of_part(left));
        Stretch { size: self.items.min(of_part), claims: 1, full_fences: false, is_new: false }
    }

    fn end_stretch(&mut self, left: usize, now: Instant) {
        if let Some(trial) = self.trial.take_if(|trial| trial.left_of_part(left) == 0)
            && self.has_time(now)
            && let Some(next) = trial.next_part()
        {
            let part = Self::new(self.begun, now, next.limit(), next.expected());
            *self = Self { trial: Some(next), ..part };
            return;
        }
        let took = now - self.clock;
        self.clock = now;
        self.items = suited_to(self.least, self.items, took);
        if took < self.least {
            self.items = self.items.max(self.expected).min(self.most);
        }
    }

    fn has_time(&self, now: Instant) -> bool {
        now - self.begun < self.limit
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// How many of 1,000 items a thread has folded when a trial ends, and how often it has read the
    /// clock. A shared call takes 1 ms. Item `i` takes `cost(i)` microseconds.
    fn trial(ends: Option<Vec<usize>>, cost: impl Fn(usize) -> f64) -> (usize, usize) {
        let begun = Instant::now();
        let trial = Trial::new(Duration::from_millis(1), 1000, |_| ends.clone());
        let (mut pace, mut left, mut took, mut readings) = (AlonePace::of_trial(begun, trial), 1000, 0.0, 0);
        while left > 0 {
            let Stretch { size, .. } = pace.stretch(left);
            assert!((1..=left).contains(&size), "{size} of {left}");
            took += (1000 - left..1000 - left + size).map(&cost).sum::<f64>();
            (left, readings) = (left - size, readings + 1);
            let now = begun + Duration::from_secs_f64(took * 1e-6);
            pace.end_stretch(left, now);
            if !pace.has_time(now) {
                break;
            }
        }
        (1000 - left, readings)
    }

    #[test]
    fn a_trial_goes_on_while_it_is_ahead_of_a_shared_call() {
        let known = Some((1..=16).map(|part| part * 1000 / 16).collect::<Vec<_>>());
        for ends in [None, known.clone()] {
            assert_eq!(trial(ends.clone(), |_| 0.9).0, 1000, "ahead");
            let (done, _) = trial(ends.clone(), |_| 2.0);
            assert!((100..=200).contains(&done), "{done} at a quarter of the time");
            let (done, _) = trial(ends, |i| if i < 500 { 0.5 } else { 3.0 });
            assert!((500..=750).contains(&done), "{done}: the second half is longer");
        }
        let (_, readings) = trial(known, |_| 0.9);
        assert!(readings < 120, "{readings}");
        let uneven = [0, 0].into_iter().chain(1..=13).chain([1000]).collect();
        assert_eq!(trial(Some(uneven), |_| 0.9).0, 1000, "parts without items");
    }
}
