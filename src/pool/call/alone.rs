//! A loop on the calling thread alone. The calling thread also reads the clock and the loop's
//! handles.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{ops::Range, time::Duration};

use super::{
    accumulator::Accumulate, body::Stop, ending::Outcome, loop_options::LoopOptions, work_list::WorkList,
};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::launch,
        protocol::range::Claims,
        record::trace::notes::{Before, Closeup},
    },
};

/// A loop that the calling thread runs alone. When this value is dropped, all remaining indices
/// count as done.
pub(crate) struct Solo<'a> {
    begin: Instant,
    options: &'a LoopOptions<'a>,
    /// How many indices have been begun.
    begun: usize,
    /// How many indices the loop has.
    len: usize,
    /// The number of indices that were folded at the last reading of the clock, and the time from
    /// `begin` to this reading.
    timed: usize,
    took: Duration,
    closeup: Option<Box<Closeup>>,
}

impl Drop for Solo<'_> {
    fn drop(&mut self) {
        let LoopOptions { watch, units, .. } = self.options;
        watch.done(units.items(self.begun..self.len).len());
    }
}

impl<'a> Solo<'a> {
    /// A loop over the indices `left`. The loop begins now.
    pub(crate) fn new(options: &'a LoopOptions<'a>, left: Range<usize>) -> Self {
        let begin = Instant::now();
        let closeup = options.tick().map(|tick| Box::new(Closeup::new(tick, left.start, begin)));
        let (begun, len, timed, took) = (left.start, left.end, left.start, Duration::ZERO);
        Self { begin, options, begun, len, timed, took, closeup }
    }

    /// Whether all indices have been begun, and no made item is left.
    pub(crate) fn is_through(&self) -> bool {
        self.begun == self.len && self.options.list.is_none_or(|list| list.is_dry(0))
    }

    /// Whether the loop runs over a list that grows.
    pub(crate) fn has_work_list(&self) -> bool {
        self.options.list.is_some()
    }

    /// The number of timed indices, and the time that they took.
    pub(crate) fn timed(&self) -> (usize, Duration) {
        (self.timed, self.took)
    }

    /// Folds until the end or until `limit` is over. Returns the outcome if the loop has stopped or
    /// was cancelled; otherwise `None`.
    ///
    /// The first reading of the clock comes after a few indices, because indices may take longer
    /// than last time. The second reading comes after `expected` indices. If there is a limit, no
    /// worker can steal the indices between two readings. So with a limit, later readings are at
    /// most `expected` indices apart, or one claim apart if a claim is larger.
    pub(crate) fn fold_until(
        &mut self,
        acc: &mut dyn Accumulate,
        limit: Duration,
        expected: usize,
    ) -> Option<Outcome> {
        /// One claim: the largest number of indices between two readings of the clock if `expected`
        /// is smaller.
        const CLAIM: usize = 64;
        if let Some(list) = self.options.list {
            return self.fold_list(list, acc, limit);
        }
        let apart = if limit < Duration::MAX { expected.max(CLAIM) } else { usize::MAX };
        self.fold(acc, limit, expected, self.len, apart)
    }

    /// Folds until the end or until `limit` is over. The interval between two readings of the clock
    /// depends only on the measured time per index.
    pub(crate) fn fold_on(&mut self, acc: &mut dyn Accumulate, limit: Duration) -> Option<Outcome> {
        if let Some(list) = self.options.list {
            return self.fold_list(list, acc, limit);
        }
        let per_microsecond = (self.timed as f32 / nanos(self.took) * 1000.0) as usize;
        self.fold(acc, limit, per_microsecond.max(1), self.len, usize::MAX)
    }

    /// The indices that have not been begun.
    pub(crate) fn left(&self) -> Range<usize> {
        self.begun..self.len
    }

    /// About how many nanoseconds of work are left.
    pub(crate) fn work_left(&self) -> f32 {
        match (self.options.list, self.timed) {
            (Some(_), _) => f32::INFINITY, // the number of items is unknown
            (None, timed) => nanos(self.took) / timed.max(1) as f32 * self.left().len() as f32,
        }
    }

    /// Folds until the index `end` or until `limit` is over. The number of indices between two
    /// readings of the clock has no upper limit: more readings would make loops over cheap items
    /// seem slow.
    pub(crate) fn fold_before(
        &mut self,
        acc: &mut dyn Accumulate,
        end: usize,
        limit: Duration,
        expected: usize,
    ) -> Option<Outcome> {
        self.fold(acc, limit, expected, end.min(self.len), usize::MAX)
    }

    /// Folds a list that grows, until the list is empty or `limit` is over. The list itself reads
    /// the clock.
    fn fold_list(
        &mut self,
        list: &dyn WorkList,
        acc: &mut dyn Accumulate,
        limit: Duration,
    ) -> Option<Outcome> {
        /// The largest number of seeds between two readings of the clock and of the token.
        const SEEDS: usize = 64;
        let LoopOptions { watch, .. } = *self.options;
        list.until(Some(limit).filter(|limit| *limit < Duration::MAX));
        let mut seeds = 1;
        while !self.is_through() {
            if watch.is_cancelled() {
                return Some(Outcome::Cancelled);
            }
            let next = if list.is_dry(0) { seeds.min(self.len - self.begun) } else { 0 };
            let range = self.begun..self.begun + next;
            self.begun = range.end;
            match acc.take(&mut Claims::of(range)) {
                Ok(()) => self.timed = self.begun,
                Err(_) if watch.is_cancelled() => return Some(Outcome::Cancelled),
                Err(_) => {
                    self.took = self.begin.elapsed();
                    return Some(Outcome::Stopped(()));
                }
            }
            self.took = self.begin.elapsed();
            if self.took >= limit {
                break;
            }
            seeds = (2 * seeds).min(SEEDS);
        }
        watch.is_cancelled().then_some(Outcome::Cancelled)
    }

    fn fold(
        &mut self,
        acc: &mut dyn Accumulate,
        limit: Duration,
        expected: usize,
        end: usize,
        apart: usize,
    ) -> Option<Outcome> {
        /// The largest number of indices between two readings of the token.
        const FEW: usize = 8;
        /// The largest number of indices that count as done when they begin.
        const BEGUN: usize = 64;
        // The shortest time between two readings of the clock. This time is 1/32 of the limit, but
        // at most 10 µs, as in a round.
        let lasts = (limit / 32).clamp(Duration::from_micros(1), Duration::from_micros(10));
        let LoopOptions { watch, units, .. } = *self.options;
        let most = match (watch.cancel, watch.progress) {
            (Some(_), _) if !watch.keeps_result => FEW,
            (_, Some(_)) => BEGUN,
            (_, None) => usize::MAX, // a loop that keeps its result also ends itself
        };
        let mut stretch = expected.min(launch::CHECKED_AFTER);
        let mut elapsed = Duration::ZERO;
        while self.begun < end && elapsed < limit {
            let until = self.begun + stretch.min(end - self.begun);
            while self.begun < until {
                if let Some(over) = watch.over() {
                    return Some(over);
                }
                let range = self.begun..self.begun + most.min(until - self.begun);
                self.begun = range.end;
                watch.done(units.items(range.clone()).len());
                match acc.take(&mut Claims::of(range)) {
                    Ok(()) => self.timed = self.begun,
                    Err(_) if watch.is_cancelled() => return Some(Outcome::Cancelled),
                    Err(Stop { at, .. }) => {
                        (self.timed, self.took) = (at + 1, self.begin.elapsed());
                        return Some(Outcome::Stopped(()));
                    }
                }
            }
            let now = self.begin.elapsed();
            self.took = now;
            if let Some(closeup) = &mut self.closeup {
                closeup.tick(self.begun, self.begin + now);
            }
            let took = now.saturating_sub(elapsed);
            if took < lasts {
                stretch = stretch.saturating_mul(2).max(expected).min(apart);
            } else if took > 4 * lasts {
                stretch = (stretch / 4).max(1);
            }
            elapsed = now;
        }
        watch.over()
    }

    /// The time from `begin` to the last reading of the clock. The time of items that were folded
    /// before `begin` does not count.
    pub(crate) fn elapsed(&self) -> Duration {
        self.took
    }

    /// The calling thread's work until now.
    pub(crate) fn so_far(&mut self) -> Before {
        let Self { begin, begun, .. } = *self;
        let took = if begun == 0 { Duration::ZERO } else { begin.elapsed() };
        let mut closeup = self.closeup.take();
        if let Some(closeup) = &mut closeup {
            closeup.tick_last(begun, begin + took);
        }
        let counted = self.options.list.map(|list| list.folded(0));
        Before { begin, indices: begun, counted, took, closeup }
    }

    /// Leaves the rest of the indices to a shared loop. Returns the calling thread's work until
    /// now.
    pub(crate) fn hand_over(&mut self) -> Before {
        self.len = self.begun;
        self.so_far()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::pool::{
        call::{handles::Watch, loop_options::Wishes, order::Node},
        policy::site::LoopKind,
    };

    /// Each item takes 50 µs.
    struct Slow;

    impl Accumulate for Slow {
        fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), Stop> {
            let items = claims.next().unwrap_or(0..0);
            let (begin, long) =
                (Instant::now(), Duration::from_micros(50) * u32::try_from(items.len()).unwrap());
            while begin.elapsed() < long {}
            Ok(())
        }

        fn end(&mut self, _: Node) {}
        fn leave(&mut self) {}
        fn abandon(&mut self) {}
    }

    #[test]
    fn a_part_is_left_when_its_time_is_over() {
        for expected in [1, 1000] {
            let wishes = Wishes { at: Location::caller(), report: None, trace: None };
            let options = LoopOptions::new(2, Watch::default(), wishes, LoopKind::Through);
            let mut solo = Solo::new(&options, 0..1000);
            assert!(solo.fold_before(&mut Slow, 500, Duration::from_micros(500), expected).is_none());
            assert!((1..=20).contains(&solo.begun), "{} instead of 10", solo.begun);
            assert!(solo.fold_before(&mut Slow, solo.begun + 1, Duration::MAX, expected).is_none());
            assert!((2..=21).contains(&solo.begun), "one more");
        }
    }
}
