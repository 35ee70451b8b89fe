//! A loop on the calling thread alone. The calling thread also reads the clock and the loop's
//! handles.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{ops::Range, time::Duration};

use super::{
    accumulator::Accumulate,
    ending::StopAt,
    loop_options::LoopOptions,
    visit::{Hand, fold_run},
};
use crate::{
    clock::{Instant, nanos},
    pool::{
        policy::{
            alone::{AlonePace, AloneTrial},
            grain::unread,
            pace::Stretch,
        },
        supply::range::Claims,
        tell::trace::notes::{Before, Closeup},
    },
};

/// A loop that the calling thread runs alone. When this value is dropped, all remaining indices
/// count as done.
pub(crate) struct Solo<'a> {
    options: &'a LoopOptions<'a>,
    begin: Instant,
    /// How many indices have been begun, and where the indices of the thread end.
    begun: usize,
    end: usize,
    /// The number of indices that were folded at the last reading of the clock, and the time from
    /// `begin` to this reading. The time of the items before `from`, which were folded before
    /// `begin`, does not count.
    from: usize,
    timed: usize,
    took: Duration,
    /// The time of an index between the last two readings, in nanoseconds; NaN if there is none.
    each: f32,
    closeup: Option<Box<Closeup>>,
}

impl Drop for Solo<'_> {
    fn drop(&mut self) {
        let LoopOptions { watch, units, .. } = self.options;
        watch.done(units.items(self.remaining()).len());
    }
}

impl<'a> Solo<'a> {
    /// A loop over the indices `left`, which begins at `begin`.
    pub(crate) fn new(options: &'a LoopOptions<'a>, begin: Instant, left: Range<usize>) -> Self {
        let closeup = options.tick().map(|tick| Box::new(Closeup::new(tick, left.start, begin)));
        let Range { start: from, end } = left;
        Self {
            options,
            begin,
            begun: from,
            end,
            from,
            timed: from,
            took: Duration::ZERO,
            each: f32::NAN,
            closeup,
        }
    }

    /// Whether all indices have been begun, and no made item is left.
    pub(crate) fn is_through(&self) -> bool {
        self.remaining().is_empty() && !self.has_made_items()
    }

    /// Whether the loop's items have made items that nobody has folded.
    fn has_made_items(&self) -> bool {
        self.options.list.is_some_and(|list| !list.is_dry(0))
    }

    /// The time of an index in nanoseconds: the longer one of the `known` time and of the time that
    /// this thread has measured, if it has.
    pub(crate) fn cost_at_least(&self, known: Option<f32>) -> Option<f32> {
        let timed = self.timed - self.from;
        let seen = nanos(self.took) / timed.max(1) as f32;
        known.map(|known| if timed > 0 { known.max(seen) } else { known })
    }

    /// The number of timed indices, and the time that they took.
    pub(crate) fn timed(&self) -> (usize, Duration) {
        (self.timed, self.took)
    }

    /// The indices that have not been begun.
    pub(crate) fn remaining(&self) -> Range<usize> {
        self.begun..self.end
    }

    /// About how many nanoseconds of work are left.
    pub(crate) fn work_left(&self) -> f32 {
        match (self.options.list, self.timed) {
            (Some(_), _) => f32::INFINITY, // the number of items is unknown
            (None, timed) => nanos(self.took) / timed.max(1) as f32 * self.remaining().len() as f32,
        }
    }

    /// Folds until the end, or until `pace` has no more time. Returns whether the loop has ended
    /// before its last item, by a stop or by its token.
    pub(crate) fn work(&mut self, acc: &mut dyn Accumulate, mut pace: AlonePace) -> bool {
        let LoopOptions { watch, list, .. } = *self.options;
        if let Some(list) = list {
            list.until(pace.limit());
        }
        let folded = fold_run(self, &mut pace, acc);
        if let Err(StopAt { at, .. }) = folded {
            self.timed = if list.is_some() { self.timed } else { at + 1 };
            self.took = self.begin.elapsed();
        }
        folded.is_err() || watch.is_raised()
    }

    /// The pace until `limit` is over. The second reading of the clock comes after `expected`
    /// indices.
    pub(crate) fn pace(&self, limit: Duration, expected: usize) -> AlonePace {
        AlonePace::new(self.begin, self.begin + self.took, limit, expected)
    }

    /// The pace until `more` time is over. The interval between two readings of the clock depends
    /// only on the measured time per index.
    pub(crate) fn pace_as_before(&self, more: Duration) -> AlonePace {
        let per_microsecond = (self.timed as f32 / nanos(self.took) * 1000.0) as usize;
        self.pace(self.took.saturating_add(more), per_microsecond.max(1))
    }

    /// The pace of a trial.
    pub(crate) fn pace_of(&self, trial: AloneTrial) -> AlonePace {
        AlonePace::of_trial(self.begin, trial)
    }

    /// The calling thread's work until now.
    pub(crate) fn so_far(&mut self) -> Before {
        let (begin, indices) = (self.begin, self.begun);
        let took = if indices == 0 { Duration::ZERO } else { begin.elapsed() };
        let mut closeup = self.closeup.take();
        if let Some(closeup) = &mut closeup {
            closeup.tick_last(indices, begin + took);
        }
        let counted = self.options.list.map(|list| list.folded(0));
        Before { begin, indices, counted, took, closeup }
    }

    /// Leaves the rest of the indices to a shared loop. Returns the calling thread's work until
    /// now.
    pub(crate) fn hand_over(&mut self) -> Before {
        self.end = self.begun;
        self.so_far()
    }
}

impl Hand for Solo<'_> {
    /// At least 1 while items are left that were made by items.
    fn left(&self) -> usize {
        (self.end - self.begun).max(usize::from(self.has_made_items()))
    }

    /// Reads the token from time to time. In a list that grows, folds either made items or the next
    /// seeds.
    fn fold(&mut self, Stretch { size, .. }: Stretch, acc: &mut dyn Accumulate) -> Result<(), StopAt> {
        /// The largest number of indices that count as done when they begin.
        const BEGUN: usize = 64;
        let LoopOptions { watch, units, list, .. } = *self.options;
        let is_read = watch.cancel.is_some() && !watch.keeps_result; // otherwise it ends itself
        let most = if is_read { unread(self.each) } else { usize::MAX };
        let most = if watch.progress.is_some() { most.min(BEGUN) } else { most };
        let until = if self.has_made_items() { self.begun } else { self.end.min(self.begun + size) };
        while !watch.is_raised() {
            let range = self.begun..until.min(self.begun.saturating_add(most));
            self.begun = range.end;
            watch.done(units.items(range.clone()).len());
            acc.take(&mut Claims::of(range))?;
            if self.begun == until || list.is_some() {
                break;
            }
        }
        Ok(())
    }

    fn is_noted(&self) -> bool {
        true
    }

    fn end_stretch(&mut self, now: Instant) -> bool {
        let took = now - self.begin;
        self.each = nanos(took.saturating_sub(self.took)) / (self.begun - self.timed) as f32;
        (self.timed, self.took) = (self.begun, took);
        if let Some(closeup) = &mut self.closeup {
            closeup.tick(self.begun, now);
        }
        !self.options.watch.is_raised()
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::panic::Location;

    use super::*;
    use crate::pool::{
        engine::{
            ending::Panic,
            handles::{CancelToken, Watch},
            loop_options::Wishes,
        },
        policy::site::LoopKind,
    };

    /// Each item takes 50 µs.
    struct Slow;

    impl Accumulate for Slow {
        fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), StopAt> {
            let items = claims.next().unwrap_or(0..0);
            let (begin, long) =
                (Instant::now(), Duration::from_micros(50) * u32::try_from(items.len()).unwrap());
            while begin.elapsed() < long {}
            Ok(())
        }

        fn end(&mut self, _: usize) {}
        fn leave(&mut self) {}
        fn abandon(&mut self, _: StopAt, _: Panic) {}
    }

    /// Notes the lengths of the claims.
    struct Claimed(Vec<usize>);

    impl Accumulate for Claimed {
        fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), StopAt> {
            self.0.extend(claims.next().map(|range| range.len()));
            Ok(())
        }

        fn end(&mut self, _: usize) {}
        fn leave(&mut self) {}
        fn abandon(&mut self, _: StopAt, _: Panic) {}
    }

    #[test]
    fn a_token_is_read_after_a_few_items_or_more_if_they_are_cheap() {
        let token = CancelToken::new();
        let watch = Watch { cancel: Some(&token), ..Watch::default() };
        let wishes = Wishes { at: Location::caller(), report: None, trace: None };
        let options = LoopOptions::new(1, watch, wishes, LoopKind::THROUGH);
        let mut solo = Solo::new(&options, Instant::now(), 0..5000);
        for (each, folded) in [(f32::NAN, 8), (10.0, 64), (0.9, 512), (20.0, 8)] {
            let (stretch, mut claimed) = (1000, Claimed(Vec::new()));
            solo.each = each;
            let stretch = Stretch { size: stretch, items: stretch, full_fences: false, is_new: false };
            solo.fold(stretch, &mut claimed).unwrap();
            assert_eq!(claimed.0[0], folded, "items of {each} ns");
            assert_eq!(claimed.0.iter().sum::<usize>(), 1000);
        }
    }

    #[test]
    fn a_part_is_left_when_its_time_is_over() {
        for expected in [1, 1000] {
            let wishes = Wishes { at: Location::caller(), report: None, trace: None };
            let options = LoopOptions::new(2, Watch::default(), wishes, LoopKind::THROUGH);
            let mut solo = Solo::new(&options, Instant::now(), 0..1000);
            let limit = Duration::from_micros(500);
            assert!(!solo.work(&mut Slow, solo.pace(limit, expected)));
            assert!((1..=20).contains(&solo.begun), "{} instead of 10", solo.begun);
        }
    }
}
