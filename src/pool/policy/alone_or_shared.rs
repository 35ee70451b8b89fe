//! Whether a loop is faster shared or alone, found by trying both ways.
//!
//! The time of a whole call shows if all items need one lock, or if a busy program has the CPU of a
//! helper. The price of help shows neither. So a loop is shared at first if the price of help is
//! low enough, and trials find the faster way. In a trial of running alone, one or two calls of a
//! shared loop begin on the caller alone, and the loop runs alone if the second one takes no longer
//! than a shared call. The second one follows unless the first one takes clearly longer. The first
//! one does not count: half of its data may have lain in the cache of a helper, or it may have had
//! less work than other calls. In a trial of sharing, up to three calls of a loop that runs alone
//! are shared. Trials back off exponentially: a trial that confirms the verdict multiplies the
//! interval until the next trial by [`LONGER`].
//!
//! In a loop that is faster shared, a trial costs less than [`AT_FIRST`] times the time of a shared
//! call, since the rest is shared once the caller falls behind. All trials together cost 1 % of the
//! first 100 calls. (In a list that grows, the second call of a trial may cost as much as a shared
//! call, if its first items are far cheaper than the others.) In a loop that is faster alone, a
//! trial costs three shared calls. The first of them does not count, since any first call is slow.
//! The mean of the other two is compared with the time of the loop alone. The trial ends after its
//! first call if that call takes clearly longer than the loop alone.
//!
//! A loop that is too short for helpers that sleep is judged only by calls that find a helper
//! awake. Other calls wake a helper for the next ones.

use std::time::Duration;

use super::prices::{AT_FIRST, CLEARLY, TOO_SHORT_TO_TIME_NS};
use crate::clock::{nanos, time};

/// The most parts into which a trial divides the work. After each part the caller checks whether it
/// is ahead of a shared call. Also the limit of a loop of few items: it has at most this many items
/// per worker.
pub(crate) const TRIAL_PARTS: u16 = 16;
/// The factor by which the interval between trials grows when a trial confirms the verdict. Also
/// the first interval after a change of the verdict, in calls.
pub(super) const LONGER: u16 = 4;
/// In calls: the longest interval between two trials, a power of two.
pub(super) const LONGEST_INTERVAL: u16 = 1 << (u16::BITS - 2);
/// A trial becomes due after a shared call that takes longer than this factor times the usual time,
/// plus the delay of sleeping helpers. (If the call was only interrupted, the mean changes little,
/// and the trial fails.)
const MUCH_LONGER: f32 = 2.0;
/// In calls: the longest interval until the next trial of a verdict that is in doubt. A verdict is
/// in doubt if shared calls take longer than the loop alone, or if rounds take longer than the
/// rounds of the last trial, which ran the opposite way. (A round of `PageRank` over 500 pages took
/// 11 µs, after 8 µs at first. Alone it had taken 10 µs in the last trial, and the next trial was
/// 16,000 calls away.)
pub(super) const DOUBTED: u16 = LONGER * LONGER;
/// In calls: a trial of sharing fails that has woken helpers so often without finding one awake.
const WAKES: u8 = 4;
/// The numbers of the first two calls that count.
const FIRST: u8 = WAKES + 1;
const SECOND: u8 = WAKES + 2;
/// A call has the weight `1 / MEAN_OF` in the mean. It counts as at most `MEAN_OF` times the mean.
pub(super) const MEAN_OF: f32 = 2.0;

/// The number of parts of a trial, if a shared call takes `shared`. A short loop has few parts:
/// otherwise readings of the clock would count, and a part that happens to have more work than
/// others would end the trial. (A loop of 6 µs was shared for ever, although a shared call took
/// 8 µs.)
pub(crate) fn parts_for(shared: Duration) -> u16 {
    (nanos(shared) / (2.0 * TOO_SHORT_TO_TIME_NS)).clamp(1.0, TRIAL_PARTS.into()) as u16
}

/// The time limit of a trial that has done `done` of the `parts` parts of the work. All parts are
/// equal. A shared call takes `shared` for all of the work.
pub(crate) fn time_for(done: u16, parts: u16, shared: Duration) -> Duration {
    shared.mul_f32(f32::max(f32::from(done) / f32::from(parts), AT_FIRST))
}

/// The verdict on a loop, and when the opposite is tried next. All times are nanoseconds per index.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct AloneOrShared {
    /// The verdict: whether the loop runs alone.
    pub(crate) alone: bool,
    /// The calls of the present trial so far. In a trial of sharing: up to [`WAKES`] that have
    /// woken a helper, then those that count.
    tried: u8,
    /// In calls: the interval between two trials, and the part of this interval that is left until
    /// the next trial.
    lasts: u16,
    left: u16,
    /// The usual time of a shared call.
    pub(crate) usually: f32,
}

impl AloneOrShared {
    /// The verdict on a loop that has been shared for the first time, in `took`. The second call is
    /// shared, too, and the first trial comes after it. The time of a first call says little:
    /// caches are cold, and the distribution of the work is unknown.
    pub(crate) fn new(took: f32) -> Self {
        Self { alone: false, tried: 0, lasts: 1, left: 1, usually: took }
    }

    /// Whether the next call is a trial.
    pub(crate) fn is_trial_due(self) -> bool {
        self.left == 0
    }

    /// Whether the verdict is "alone" but was reached when items were cheaper, so that it has to be
    /// tested again. `alone` is the present time of the loop alone.
    pub(crate) fn is_outdated(self, alone: f32) -> bool {
        self.alone && alone > self.usually
    }

    /// The verdict after a call that the caller has ended alone.
    pub(crate) fn after_alone(self) -> Self {
        Self { left: self.left.saturating_sub(u16::from(self.alone)), ..self }
    }

    /// The verdict after a call of a trial of running alone that the caller has ended alone, in
    /// `took`. If the caller has fallen behind, `took` is infinite. (A loop that stops early may
    /// end before the caller notices that it has fallen behind.) If several calls of the loop try
    /// at the same time, those count that end first.
    ///
    /// The second call counts. (Where cheap and dear calls of one loop alternated, the dear ones of
    /// four times the work, the first one was a cheap one. It took less time alone than the mean of
    /// the shared calls, so the loop ran alone, and took 1.6 times as long as shared.)
    pub(crate) fn after_trial(self, took: f32) -> Self {
        if self.alone || !self.is_trial_due() {
            self
        } else if self.tried == 0 && took <= CLEARLY * self.usually {
            Self { tried: 1, ..self }
        } else if took <= self.usually {
            self.changed()
        } else {
            self.confirmed()
        }
    }

    /// The verdict when the caller has fallen behind in a trial of running alone, in a list that
    /// grows: at once, and again when the list is through. At the rate of the caller's items, the
    /// list would have taken `alone` on one thread; `None` if the list is not through. The first
    /// call of the trial is short: it only shows whether a second one may pay.
    pub(crate) fn after_part_of_list(self, alone: Option<f32>) -> Self {
        match alone {
            _ if self.tried > 0 => self.after_trial(f32::INFINITY),
            Some(alone) => self.after_trial(alone),
            None => self,
        }
    }

    /// The time that the next call of a trial of running alone may take, in a loop of `len`
    /// indices. In the first call of the trial of a short loop, data comes home from the cache of a
    /// helper. (A loop of 4 µs took 6.6 µs in such a call, and 5.4 µs shared, so it was never found
    /// to be faster alone.) How much of the work has been done is not known if the list `grows`,
    /// so the first call of such a trial is short.
    pub(crate) fn trial_time(self, len: f32, grows: bool) -> Duration {
        let usually = time(self.usually * len);
        match self.tried {
            0 if parts_for(usually) == 1 => usually.mul_f32(CLEARLY),
            0 if grows => usually / TRIAL_PARTS.into(),
            _ => usually,
        }
    }

    /// The verdict after a shared call that took `took`. Alone the loop would take `alone`. Helpers
    /// that sleep are late by at most `cold`. `awake` says whether a helper was awake.
    pub(crate) fn after_shared(self, took: f32, alone: f32, cold: f32, awake: bool) -> Self {
        let Self { usually, .. } = self;
        let counts = awake || alone >= CLEARLY * cold;
        if !self.alone {
            if !counts {
                return self;
            }
            let is_due = took > MUCH_LONGER * usually + cold;
            let left = if is_due { 0 } else { self.left.saturating_sub(1) };
            let mean = usually + (took.min(MEAN_OF * usually) - usually) / MEAN_OF;
            let usually = if self.lasts == 1 { took } else { mean };
            let left = if usually > alone { left.min(DOUBTED) } else { left };
            return Self { left, usually, ..self };
        }
        if self.is_outdated(alone) {
            return Self::new(took);
        }
        if self.left > 0 {
            return self; // it began alone, and took longer than it does usually
        }
        let tried = self.tried.max(if counts { WAKES } else { 0 }) + 1;
        match tried {
            _ if !counts && tried >= WAKES => self.confirmed(),
            ..=WAKES => Self { tried, ..self },
            FIRST if took > CLEARLY * (alone + cold) => self.confirmed(),
            FIRST => Self { tried, ..self },
            SECOND => Self { tried, usually: took, ..self },
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

    pub(crate) fn to_word(self) -> u64 {
        let [high, low] = self.left.to_be_bytes();
        let way = [2 * self.tried + u8::from(self.alone), self.lasts.ilog2() as u8, high, low];
        u64::from(u32::from_be_bytes(way)) << u32::BITS | u64::from(self.usually.to_bits())
    }

    pub(crate) fn from_word(word: u64) -> Self {
        let [tried, lasts, high, low, usually @ ..] = word.to_be_bytes();
        Self {
            alone: tried % 2 == 1,
            tried: tried / 2,
            lasts: 1_u16.wrapping_shl(lasts.into()),
            left: u16::from_be_bytes([high, low]),
            usually: f32::from_be_bytes(usually),
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// The time of a trial in which the caller has fallen behind.
    const BEHIND: f32 = f32::INFINITY;

    /// The calls of a loop that takes one unit of time alone.
    struct Calls(Option<AloneOrShared>);

    impl Calls {
        /// The time of the next call, if a shared call takes `shared`.
        fn next(&mut self, shared: f32) -> f32 {
            let Some(verdict) = self.0 else {
                self.0 = Some(AloneOrShared::new(shared)); // cold
                return shared;
            };
            let (took, after) = if verdict.alone == verdict.is_trial_due() || verdict.is_outdated(1.0) {
                (shared, verdict.after_shared(shared, 1.0, 0.0, true))
            } else if verdict.alone || verdict.usually > 1.0 {
                (1.0, if verdict.alone { verdict.after_alone() } else { verdict.after_trial(1.0) })
            } else {
                let begun = AT_FIRST * verdict.usually;
                (begun + (1.0 - begun) * shared, verdict.after_trial(BEHIND))
            };
            self.0 = Some(after);
            took
        }

        fn take(&mut self, calls: usize, shared: f32) -> Vec<f32> {
            (0..calls).map(|_| self.next(shared)).collect()
        }
    }

    /// Another program takes the CPU of a helper, and a shared call takes less than twice its usual
    /// time.
    #[test]
    fn shared_calls_that_take_longer_than_the_loop_alone_are_soon_doubted() {
        let mut calls = Calls(None);
        calls.take(10_000, 0.8);
        let later: f32 = calls.take(100, 1.3).iter().sum();
        assert!(later < 115.0, "{later} for 100 calls");
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
        let verdict = AloneOrShared { left: 0, ..AloneOrShared::new(0.5) };
        for first in [0.1, 0.5, 0.6] {
            let again = verdict.after_trial(first);
            assert!(!again.alone && again.is_trial_due(), "its work or its data may be those of no other");
            assert!(again.after_trial(0.5).alone);
            assert!(!again.after_trial(0.6).is_trial_due());
        }
        assert!(!verdict.after_trial(0.7).is_trial_due(), "it has ended alone, but much later");
    }

    /// Cheap and dear calls alternate, and each of them takes half of its time if it is shared. The
    /// time of the loop alone is that of its last call.
    #[test]
    fn a_call_that_has_less_work_than_others_decides_nothing() {
        for (cheap, dear) in [(0, 2.0), (1, 2.0), (0, 4.0), (1, 4.0), (0, 8.0), (1, 8.0)] {
            let (mut verdict, mut known, mut total, mut work) = (AloneOrShared::new(0.5), 1.0, 0.0, 0.0);
            for call in 0..1000 {
                let cost = if call % 2 == cheap { 1.0 } else { dear };
                let from = |alone: f32| alone + (cost - alone) / 2.0;
                let AloneOrShared { alone, usually, .. } = verdict;
                let (took, after) = if alone == verdict.is_trial_due() || verdict.is_outdated(known) {
                    (from(0.0), verdict.after_shared(from(0.0), known, 0.0, true))
                } else if alone && cost > f32::max(2.0 * known, usually) {
                    let took = from(f32::max(2.0 * known, usually));
                    (took, verdict.after_shared(took, known, 0.0, true))
                } else if alone {
                    (cost, verdict.after_alone())
                } else if cost <= usually {
                    (cost, verdict.after_trial(cost))
                } else {
                    (from(AT_FIRST * usually), verdict.after_trial(BEHIND))
                };
                known = if alone && took < cost { known } else { cost };
                (verdict, total, work) = (after, total + took, work + cost);
            }
            assert!(total < 0.6 * work, "{} with a dear call of {dear}", total / work);
        }
    }

    /// The first call of the trial of a list ends early, and counts by its rate. The second one may
    /// take as long as a shared call.
    #[test]
    fn a_list_is_tried_alone_for_long_only_if_its_first_items_were_fast() {
        let due = AloneOrShared { left: 0, ..AloneOrShared::new(100e3) };
        let times = |verdict: AloneOrShared| [true, false].map(|grows| verdict.trial_time(1.0, grows));
        let [short, long] = [100e3 / f32::from(TRIAL_PARTS), 100e3].map(time);
        assert_eq!(times(due), [short, long]);
        assert_eq!(due.after_part_of_list(None), due, "its rate is not known yet");
        assert!(!due.after_part_of_list(Some(200e3)).is_trial_due(), "alone it would take longer");
        let again = due.after_part_of_list(Some(50e3));
        assert!(again.is_trial_due() && !again.alone);
        assert_eq!(times(again), [long; 2]);
        let failed = again.after_part_of_list(None);
        assert!(!failed.alone && !failed.is_trial_due(), "it was not through when shared calls are");
        assert_eq!(failed.after_part_of_list(Some(50e3)), failed);
        assert!(again.after_trial(60e3).alone);
    }

    #[test]
    fn of_simultaneous_trials_the_first_counts() {
        let due = AloneOrShared { left: 0, ..AloneOrShared::new(0.5) };
        let failed = due.after_trial(BEHIND);
        assert!(!failed.is_trial_due() && failed.lasts == LONGER);
        assert_eq!(
            [failed.after_trial(BEHIND), failed.after_trial(0.1), failed.after_trial(0.9)],
            [failed; 3]
        );
        let won = due.after_trial(0.1).after_trial(0.1);
        assert!(won.alone);
        assert_eq!([won.after_trial(0.1), won.after_trial(BEHIND)], [won; 2]);
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

    /// A call alone takes 1, a helper that sleeps is late by 1, and a shared call takes 0.6 if a
    /// helper is awake. Helpers come after some calls of a trial, or never.
    #[test]
    fn a_short_loop_is_judged_by_the_calls_that_find_a_helper_awake() {
        for (wakes, is_shared) in [(0, true), (1, true), (WAKES - 1, true), (WAKES, false)] {
            let mut verdict = AloneOrShared { left: 0, ..AloneOrShared::new(5.0).changed() };
            for _ in 0..wakes {
                verdict = verdict.after_shared(4.0, 1.0, 1.0, false);
            }
            assert_eq!(verdict.is_trial_due(), is_shared, "{wakes}");
            if is_shared {
                (0..3).for_each(|_| verdict = verdict.after_shared(0.6, 1.0, 1.0, true));
            }
            assert_eq!(verdict.alone, !is_shared, "{verdict:?}");
        }
        let shared = AloneOrShared { lasts: LONGER, ..AloneOrShared::new(0.6) };
        assert_eq!(shared.after_shared(4.0, 1.0, 1.0, false), shared);
        assert!(shared.after_shared(4.0, 2.0, 1.0, false).usually > 0.6, "a long loop");
    }

    #[test]
    fn a_verdict_is_a_word() {
        for alone in [false, true] {
            for tried in 0..=SECOND {
                for (lasts, left) in [(1, 0), (4, 4), (LONGEST_INTERVAL, LONGEST_INTERVAL)] {
                    let verdict = AloneOrShared { alone, tried, lasts, left, usually: 17.5 };
                    assert_eq!(AloneOrShared::from_word(verdict.to_word()), verdict);
                }
            }
        }
    }
}
