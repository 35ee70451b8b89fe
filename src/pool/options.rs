//! How a loop is to be run, as the executor sees it.

use std::time::Duration;

use super::{
    launch::Habit,
    report::{Alone, RunReport},
    times::Times,
    units::{Blocks, Units},
    watch::Watch,
};
use crate::clock::Instant;

/// How a loop is to be run.
#[derive(Debug)]
pub(crate) struct Options<'a> {
    /// Workers, at most.
    pub(crate) threads: usize,
    pub(crate) watch: Watch<'a>,
    pub(crate) report: Option<&'a mut RunReport>,
    pub(crate) habit: Habit,
    /// What its indices stand for: items, or blocks of them, which are then claimed one by one.
    pub(crate) units: Units<'a>,
}

impl<'a> Options<'a> {
    #[inline(always)]
    pub(crate) fn new(
        threads: usize,
        watch: Watch<'a>,
        report: Option<&'a mut RunReport>,
        habit: Habit,
    ) -> Self {
        Self { threads, watch, report, habit, units: Units::Items }
    }

    /// The same for a loop over blocks.
    #[inline(always)]
    pub(crate) fn in_blocks(self, blocks: Blocks) -> Self {
        Self { units: Units::Blocks(blocks), ..self }
    }

    /// Whether the clock, or a handle, has to be looked at.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_on() || self.wants_report()
    }

    #[inline(always)]
    fn wants_report(&self) -> bool {
        self.report.is_some() || log::log_enabled!(log::Level::Debug)
    }

    /// What a loop did that was called at `begin`, if anybody wants to know: so many indices by the calling thread alone in some time,
    /// and then a round, or why there was none.
    #[cold]
    pub(crate) fn report(
        &self,
        begin: Instant,
        (done, alone): (usize, Duration),
        round: Result<&Times, Alone>,
    ) -> Option<RunReport> {
        let of = || RunReport::new(begin.elapsed(), (self.units.items(0..done), alone), round);
        self.wants_report().then(of)
    }

    /// Tells it, at the end of the call.
    #[cold]
    pub(crate) fn tell(self, begin: Instant, report: Option<RunReport>) {
        if let Some(mut report) = report {
            report.end(begin.elapsed());
            report.log();
            if let Some(wanted) = self.report {
                *wanted = report;
            }
        }
    }
}
