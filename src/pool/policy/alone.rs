//! The pace of the calling thread before it has invited anybody: how long it works alone, and when
//! it reads the clock. All its items are its own, so a stretch is a single claim.

use std::time::Duration;

use super::{
    alone_or_shared::{parts_for, time_for},
    pace::{LARGE_BLOCK, Pace, SMALL_BLOCK, STRETCH, Stretch, suited_to},
    split::equal_parts,
};
use crate::clock::Instant;

/// The calling thread alone looks at its limit this often.
const LOOKS: u32 = 32;

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
    trial: Option<AloneTrial>,
}

impl AlonePace {
    /// The pace of a thread that began at `begun`, and goes on `now` until `limit` after its begin.
    /// The first reading of the clock comes after a few items, because items may take longer than
    /// last time. The second reading comes after `expected` items. A stretch lasts for a small part
    /// of the limit, but not longer than one whose items can be stolen.
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
    pub(crate) fn of_trial(begun: Instant, trial: AloneTrial) -> Self {
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
        let items = self.items.min(of_part);
        Stretch { size: items, items, full_fences: false, is_new: false }
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

/// A trial of running alone, in parts. It fails when a part takes longer than its limit.
#[derive(Debug)]
pub(crate) struct AloneTrial {
    /// The time of a shared call.
    shared: Duration,
    /// The indices at which the parts end. The last of these is the length of the loop.
    ends: Vec<usize>,
    /// Whether the parts are known to have equal work. Otherwise they have equal numbers of items,
    /// and may take very different times, so the clock is also read inside the parts.
    is_known: bool,
    /// The number of parts that have ended. The present part has items.
    done: usize,
}

impl AloneTrial {
    /// A trial of a loop over `len` indices, in which a shared call takes `shared`. `ends` gets a
    /// number of parts, and returns the indices at which these parts of equal work end, if known.
    pub(crate) fn new(shared: Duration, len: usize, ends: impl Fn(u16) -> Option<Vec<usize>>) -> Self {
        let parts = parts_for(shared);
        let known = ends(parts);
        let is_known = known.is_some();
        let ends = known.unwrap_or_else(|| {
            let mut ends = equal_parts(&(0..len), usize::from(parts).min(len));
            ends.push(len);
            ends
        });
        let done = ends.iter().position(|end| *end > 0).unwrap_or(0);
        Self { shared, ends, is_known, done }
    }

    /// The time limit of the present part, from the begin of the trial.
    pub(super) fn limit(&self) -> Duration {
        time_for(self.done as u16 + 1, self.ends.len() as u16, self.shared)
    }

    /// How many items of the present part are expected to take a stretch.
    pub(super) fn expected(&self) -> usize {
        let begin = self.done.checked_sub(1).map_or(0, |last| self.ends[last]);
        if self.is_known { self.ends[self.done].saturating_sub(begin).max(1) } else { 1 }
    }

    /// How many indices of the present part are left, if `left` indices of the loop are left.
    pub(super) fn left_of_part(&self, left: usize) -> usize {
        let behind = self.ends.last().map_or(0, |len| len - self.ends[self.done]);
        left.saturating_sub(behind)
    }

    /// The trial at the begin of its next part that has items; `None` after the last part.
    pub(super) fn next_part(self) -> Option<Self> {
        let begun = self.ends[self.done];
        let done = (self.done + 1..self.ends.len()).find(|&part| self.ends[part] > begun)?;
        Some(Self { done, ..self })
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// How many of 1,000 items a thread has folded when a trial ends, and how often it has read the
    /// clock. A shared call takes 1 ms. Item `i` takes `cost(i)` microseconds.
    fn trial(ends: Option<&[usize]>, cost: impl Fn(usize) -> f64) -> (usize, usize) {
        let begun = Instant::now();
        let trial = AloneTrial::new(Duration::from_millis(1), 1000, |_| ends.map(<[usize]>::to_vec));
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
        let known: Vec<_> = (1..=16).map(|part| part * 1000 / 16).collect();
        for ends in [None, Some(&known[..])] {
            assert_eq!(trial(ends, |_| 0.9).0, 1000, "ahead");
            let (done, _) = trial(ends, |_| 2.0);
            assert!((100..=200).contains(&done), "{done} at a quarter of the time");
            let (done, _) = trial(ends, |i| if i < 500 { 0.5 } else { 3.0 });
            assert!((500..=750).contains(&done), "{done}: the second half is longer");
        }
        let (_, readings) = trial(Some(&known), |_| 0.9);
        assert!(readings < 120, "{readings}");
        let uneven: Vec<_> = [0, 0].into_iter().chain(1..=13).chain([1000]).collect();
        assert_eq!(trial(Some(&uneven), |_| 0.9).0, 1000, "parts without items");
    }
}
