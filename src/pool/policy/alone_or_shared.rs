//! Whether a loop is faster shared or alone, found out by trying both.
//!
//! No price of help tells that all items of a loop need one lock, or that a busy program sits on
//! the CPU of a helper. The time of the whole call does. So where the prices say that a loop is
//! worth sharing, it is shared; and now and then a call begins alone, to see whether it comes along
//! faster. The faster way is kept. Each time the other way has been tried in vain, it takes
//! [`LONGER`] times as many calls until it is tried again.
//!
//! A loop that is better shared pays for a trial with less than [`AT_FIRST`] of a call:
//! whoever is behind by then shares the rest. Over the first 100 calls that is 1 %. A loop that is
//! better alone pays with three shared calls: the first is as slow as any first call and does not
//! count, of the others the mean counts. One is enough if it takes clearly longer.

#![allow(clippy::cast_possible_truncation)] // fields of a word

use std::time::Duration;

use super::prices::{AT_FIRST, CLEARLY, TOO_SHORT_TO_TIME_NS};
use crate::clock::nanos;

/// Into how many parts a trial divides the work at most. After each of them the caller looks
/// whether it is ahead of a shared call. Also the most items a worker of a loop that counts as one
/// of few items.
pub(crate) const TRIAL_PARTS: u16 = 16;
/// The factor by which a belief lasts longer each time it is confirmed; and in calls, how long it
/// lasts after it has changed.
const LONGER: u16 = 4;
/// In calls: the longest time between two trials, a power of two.
const LONGEST_INTERVAL: u16 = 1 << (u16::BITS - 2);
/// As a factor of what shared calls usually take: one that takes longer, even if helpers have
/// slept, asks for a trial. (If it was only interrupted, that changes the mean little, and the
/// trial is lost.)
const MUCH_LONGER: f32 = 2.0;
/// How many calls a mean is taken over, and how much longer than the mean a call may take to count
/// in full.
const MEAN_OF: f32 = 2.0;

/// Into how many parts a trial divides the work of a call that takes so long `shared`: few if that
/// is short. Then looks at the clock would count, and a part that happens to have more work than
/// others would end the trial. (A loop of 6 µs was shared for ever, although that took 8 µs.)
#[allow(clippy::cast_sign_loss)] // a time
pub(crate) fn parts_for(shared: Duration) -> u16 {
    (nanos(shared) / (2.0 * TOO_SHORT_TO_TIME_NS)).clamp(1.0, TRIAL_PARTS.into()) as u16
}

/// The time limit of a trial for the first `done` of `parts` equal parts of the work. A `shared`
/// call takes that long for all of the work.
pub(crate) fn time_for(done: u16, parts: u16, shared: Duration) -> Duration {
    shared.mul_f32(f32::max(f32::from(done) / f32::from(parts), AT_FIRST))
}

/// Which way a loop runs, and when the other way is tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AloneOrShared {
    pub(crate) alone: bool,
    /// How many calls the present trial of sharing has had.
    tried: u8,
    /// In calls: how long the belief lasts until the other way is tried, and how much of it is
    /// left.
    lasts: u16,
    left: u16,
    /// How long a shared call usually takes, an index.
    pub(crate) usually: f32,
}

impl AloneOrShared {
    /// Of a loop that has been shared for the first time, and took so long. It is shared once more
    /// before the first trial, since a first call is slow: caches are cold, and nobody knows where
    /// the work lies.
    pub(crate) fn new(took: f32) -> Self {
        Self { alone: false, tried: 0, lasts: 1, left: 1, usually: took }
    }

    /// Whether the next call tries the other way.
    pub(crate) fn is_tried(self) -> bool {
        self.left == 0
    }

    /// Whether the loop has been found to be better alone when it took less: it would take `alone`
    /// now, an index.
    pub(crate) fn is_outdated(self, alone: f32) -> bool {
        self.alone && alone > self.usually
    }

    /// Whether shared calls take clearly longer than a loop that takes `alone`, even if helpers are
    /// late by `cold`, all of them an index.
    pub(crate) fn is_clearly_longer(self, alone: f32, cold: f32) -> bool {
        self.usually > CLEARLY * (alone + cold)
    }

    /// After a call that the caller has ended alone.
    pub(crate) fn after_alone(self) -> Self {
        Self { left: self.left.saturating_sub(u16::from(self.alone)), ..self }
    }

    /// After a trial that the caller has ended alone, which `took` so long, an index. (A loop that
    /// stops early ends a trial before it is clear which way is faster.)
    pub(crate) fn after_trial(self, took: f32) -> Self {
        if took <= self.usually { self.changed() } else { self.confirmed() }
    }

    /// After a shared call that `took` so long, an index. It would take `alone`, and no helper
    /// would be late by more than `cold`. If it was a trial of running alone, that was given up.
    pub(crate) fn after_shared(self, took: f32, alone: f32, cold: f32, was_trial: bool) -> Self {
        let Self { usually, .. } = self;
        if was_trial {
            return self.confirmed();
        }
        if !self.alone {
            let is_trial_due = took > MUCH_LONGER * usually + cold;
            let left = if is_trial_due { 0 } else { self.left.saturating_sub(1) };
            let mean = usually + (took.min(MEAN_OF * usually) - usually) / MEAN_OF;
            let usually = if self.lasts == 1 { took } else { mean };
            return Self { left, usually, ..self };
        }
        match self.tried + 1 {
            _ if self.is_outdated(alone) => Self::new(took),
            _ if self.left > 0 => self, // it began alone, and took longer than it does usually
            1 if (Self { usually: took, ..self }).is_clearly_longer(alone, cold) => self.confirmed(),
            1 => Self { tried: 1, ..self },
            2 => Self { tried: 2, usually: took, ..self },
            _ => {
                let tried = Self { usually: f32::midpoint(usually, took), ..self };
                if tried.usually < alone { tried.changed() } else { tried.confirmed() }
            }
        }
    }

    fn changed(self) -> Self {
        Self { alone: !self.alone, tried: 0, lasts: LONGER, left: LONGER, ..self }
    }

    fn confirmed(self) -> Self {
        let lasts = self.lasts.saturating_mul(LONGER).min(LONGEST_INTERVAL);
        Self { tried: 0, lasts, left: lasts, ..self }
    }

    /// As two words, each of which may be lost.
    pub(crate) fn to_words(self) -> [u32; 2] {
        let Self { alone, tried, lasts, left, usually } = self;
        let [high, low] = left.to_be_bytes();
        let way = [2 * tried + u8::from(alone), lasts.ilog2() as u8, high, low];
        [u32::from_be_bytes(way), usually.to_bits()]
    }

    pub(crate) fn from_words([way, usually]: [u32; 2]) -> Self {
        let [tried, lasts, high, low] = way.to_be_bytes();
        Self {
            alone: tried % 2 == 1,
            tried: tried / 2,
            lasts: 1_u16.wrapping_shl(lasts.into()),
            left: u16::from_be_bytes([high, low]),
            usually: f32::from_bits(usually),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A loop that takes 1 alone.
    struct Calls(Option<AloneOrShared>);

    impl Calls {
        /// How long the next call takes if a shared one takes `shared`.
        fn next(&mut self, shared: f32) -> f32 {
            let Some(belief) = self.0 else {
                self.0 = Some(AloneOrShared::new(shared)); // cold
                return shared;
            };
            let (took, after) = if belief.alone == belief.is_tried() || belief.is_outdated(1.0) {
                (shared, belief.after_shared(shared, 1.0, 0.0, false))
            } else if belief.alone || belief.usually > 1.0 {
                (1.0, if belief.alone { belief.after_alone() } else { belief.after_trial(1.0) })
            } else {
                let begun = AT_FIRST * belief.usually;
                (begun + (1.0 - begun) * shared, belief.after_shared(1.0, 1.0, 0.0, true))
            };
            self.0 = Some(after);
            took
        }

        fn take(&mut self, calls: usize, shared: f32) -> Vec<f32> {
            (0..calls).map(|_| self.next(shared)).collect()
        }
    }

    #[test]
    fn a_loop_that_is_better_shared_hardly_pays_for_trials() {
        for shared in [0.1, 0.5, 0.9] {
            let times = Calls(None).take(10_000, shared);
            for hundred in times.windows(100) {
                let total: f32 = hundred.iter().sum();
                assert!(total <= 1.02 * 100.0 * shared, "{total} for {}", 100.0 * shared);
            }
        }
    }

    #[test]
    fn a_loop_that_is_better_alone_is_shared_less_and_less() {
        for shared in [1.1, 1.6, 2.6, 25.0] {
            let mut bad = 0.0;
            for (calls, took) in (1_u16..2000).zip(Calls(None).take(2000, shared)) {
                bad += f32::from(u8::from(took >= 1.5));
                assert!(bad <= 3.0 + f32::from(calls).log2(), "{bad} of {calls} calls");
            }
        }
    }

    #[test]
    fn what_changes_is_noticed() {
        let mut calls = Calls(None);
        calls.take(500, 0.5);
        let bad = calls.take(500, 25.0).into_iter().filter(|took| *took > 1.0).count();
        assert!((1..=9).contains(&bad), "{bad} of 500");
        let good = calls.take(2000, 0.5).into_iter().filter(|took| *took < 0.6).count();
        assert!(good >= 1000, "{good} of 2000");
    }

    #[test]
    fn a_trial_is_lost_that_takes_longer_than_shared() {
        let belief = AloneOrShared::new(0.5);
        assert!(belief.after_trial(0.5).alone);
        assert!(!belief.after_trial(0.6).alone, "it has ended alone, but later");
    }

    #[test]
    fn a_trial_has_a_head_start_and_then_as_long_as_shared() {
        let times =
            [1, 4, 5, 8, TRIAL_PARTS].map(|done| time_for(done, TRIAL_PARTS, Duration::from_millis(16)));
        assert_eq!(times.map(|time| time.as_millis()), [4, 4, 5, 8, 16]);
    }

    #[test]
    fn an_interruption_costs_a_trial_and_no_more() {
        let mut calls = Calls(None);
        calls.take(100, 0.5);
        for _ in 0..9 {
            assert!((calls.next(10.0) - 10.0).abs() < 0.01);
            assert!((0.5..0.7).contains(&calls.next(0.5)), "a trial");
            assert!(calls.take(9, 0.5).into_iter().all(|took| (took - 0.5).abs() < 0.01));
        }
    }

    /// Beside a busy program, three calls in ten take three times as long.
    #[test]
    fn what_is_faster_by_the_mean_is_kept() {
        let mut calls = Calls(None);
        let times = (0..10_000_u32).map(|i| calls.next(if i * 7919 % 10 < 3 { 1.5 } else { 0.5 }));
        assert!(times.sum::<f32>() < 8_500.0);
    }

    #[test]
    fn a_belief_is_two_words() {
        for alone in [false, true] {
            for tried in 0..3 {
                for (lasts, left) in [(1, 0), (4, 4), (LONGEST_INTERVAL, LONGEST_INTERVAL)] {
                    let belief = AloneOrShared { alone, tried, lasts, left, usually: 17.5 };
                    assert_eq!(AloneOrShared::from_words(belief.to_words()), belief);
                }
            }
        }
    }
}
