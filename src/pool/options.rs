//! How a loop is to be run and what is to be told of it, as the executor sees it.

use std::{mem, time::Duration};

use super::{
    launch::Habit,
    report::{Alone, RunReport},
    times::Times,
    trace::{Before, Closeup, Notes, Timeline, Trace},
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
    pub(crate) wishes: Wishes<'a>,
    pub(crate) habit: Habit,
    /// What its indices stand for: items, or blocks of them, which are then claimed one by one.
    pub(crate) units: Units<'a>,
}

/// Where the caller wants to be told what the loop did.
#[derive(Debug, Default)]
pub(crate) struct Wishes<'a> {
    pub(crate) report: Option<&'a mut RunReport>,
    pub(crate) trace: Option<&'a mut Trace>,
}

/// What a loop did, if anybody wants to know.
#[derive(Debug)]
pub(crate) struct Account {
    begin: Instant,
    report: RunReport,
    timeline: Option<Timeline>,
}

impl<'a> Options<'a> {
    #[inline(always)]
    pub(crate) fn new(threads: usize, watch: Watch<'a>, wishes: Wishes<'a>, habit: Habit) -> Self {
        Self { threads, watch, wishes, habit, units: Units::Items }
    }

    /// The same for a loop over blocks.
    #[inline(always)]
    pub(crate) fn in_blocks(self, blocks: Blocks) -> Self {
        Self { units: Units::Blocks(blocks), ..self }
    }

    /// Whether the clock, or a handle, has to be looked at.
    #[inline(always)]
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_on() || self.wants_account()
    }

    #[inline(always)]
    fn wants_account(&self) -> bool {
        self.wishes.report.is_some() || self.wishes.trace.is_some() || log::log_enabled!(log::Level::Debug)
    }

    /// What a timeline needs of a round, if one is wanted.
    pub(crate) fn notes(&self, begin: Duration) -> Option<Notes> {
        self.wishes.trace.is_some().then(|| Notes { begin, ..Notes::default() })
    }

    /// And of what the calling thread does alone, from some index on.
    pub(crate) fn closeup(&self, first: usize) -> Option<Closeup> {
        self.wishes.trace.is_some().then(|| Closeup::new(first, Instant::now()))
    }

    /// What a loop did, if anybody wants to know: some indices by the calling thread alone in some time, and then a round, or why there was none.
    #[cold]
    pub(crate) fn account(&self, before: &mut Before, round: Result<&mut Times, Alone>) -> Option<Account> {
        if !self.wants_account() {
            return None;
        }
        let (begin, units) = (before.begin, self.units);
        let (times, notes) = match round {
            Ok(times) => {
                let notes = mem::take(&mut times.notes);
                (Ok(&*times), Ok(notes.unwrap_or_default()))
            }
            Err(alone) => (Err(alone), Err(alone)),
        };
        let items = units.items(0..before.indices);
        let report = RunReport::new(begin.elapsed(), (items, before.took), times);
        let timeline = self.wishes.trace.is_some().then(|| Timeline::new(before, units, notes));
        Some(Account { begin, report, timeline })
    }

    /// Tells it, at the end of the call.
    #[cold]
    pub(crate) fn tell(self, account: Option<Account>) {
        let Some(Account { begin, mut report, timeline }) = account else { return };
        report.end(begin.elapsed());
        report.log();
        if let (Some(trace), Some(timeline)) = (self.wishes.trace, timeline) {
            trace.add(Timeline { wall: report.wall, ..timeline }, begin);
        }
        if let Some(wanted) = self.wishes.report {
            *wanted = report;
        }
    }
}
