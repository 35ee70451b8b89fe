//! How a loop is to be run and what is to be reported, as the executor sees it.

use std::{mem, panic::Location, time::Duration};

use super::{handles::Watch, work_list::WorkList};
use crate::{
    clock::Instant,
    pool::{
        policy::site::LoopKind,
        record::{
            journal::Times,
            program_report::ProgramReport,
            report::{Alone, RunReport, WaitReport},
            trace::{
                Trace,
                notes::{Before, Closeup, Notes},
                scene::{LoopSpan, ScenePlace, Stay},
                timeline::Timeline,
            },
            units::Units,
        },
    },
};

/// How a loop is to be run.
pub(crate) struct LoopOptions<'a> {
    /// The most workers that may run the loop, including the calling thread.
    pub(crate) threads: usize,
    pub(crate) watch: Watch<'a>,
    pub(crate) wishes: Wishes<'a>,
    pub(crate) kind: LoopKind,
    /// What its indices stand for: items, or blocks of items. Blocks are claimed one by one.
    pub(crate) units: Units,
    /// What items make, if the loop runs over a list that grows.
    pub(crate) list: Option<&'a dyn WorkList>,
    /// The number of the first block, if the blocks are the leaves of a tree.
    pub(crate) leaves: Option<usize>,
}

/// Where the loop stands in the program, and where to write what it did, if anybody asks for it.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    pub(crate) at: &'static Location<'static>,
    pub(crate) report: Option<&'a mut RunReport>,
    pub(crate) trace: Option<&'a mut Trace>,
}

impl Wishes<'_> {
    /// Whether anybody asks for anything.
    #[inline(always)]
    fn are_any(&self) -> bool {
        self.report.is_some() || self.trace.is_some()
    }

    /// Of the loop that the calling function is called for.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn here() -> Self {
        Self { at: Location::caller(), report: None, trace: None }
    }
}

/// Whether the log has what loops do.
pub(crate) fn is_logged() -> bool {
    log::log_enabled!(log::Level::Debug)
}

/// What a loop did, if anybody wants to know.
#[derive(Debug)]
pub(crate) struct Account {
    begin: Instant,
    report: RunReport,
    timeline: Option<Timeline>,
    /// What help costs.
    help: Duration,
}

impl Account {
    /// The account of a loop that was shared when `idle` workers were idle.
    pub(crate) fn helped(mut self: Box<Self>, idle: usize) -> Box<Self> {
        self.report.idle = idle;
        self
    }

    /// Of a loop whose items wait, and why it ran on the calling thread alone, if it did.
    pub(crate) fn waited(mut self: Box<Self>, alone: Option<Alone>, waits: WaitReport) -> Box<Self> {
        self.report.alone = alone;
        self.report.waits = Some(waits);
        self.report.workers.truncate(if alone.is_some() { 1 } else { usize::MAX });
        if let Some(timeline) = &mut self.timeline {
            timeline.alone = alone;
        }
        self
    }
}

impl<'a> LoopOptions<'a> {
    #[inline(always)]
    pub(crate) fn new(threads: usize, watch: Watch<'a>, wishes: Wishes<'a>, kind: LoopKind) -> Self {
        Self { threads, watch, wishes, kind, units: Units::Items, list: None, leaves: None }
    }

    /// Whether it is a loop over what is there, and nobody follows it.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.list.is_none() && !self.watch.is_on() && !self.wishes.are_any()
    }

    /// Whether the loop has to look at the clock or at a handle.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_on() || self.wants_account()
    }

    /// Whether anybody wants to know what the loop does.
    pub(crate) fn wants_account(&self) -> bool {
        self.wishes.are_any() || is_logged()
    }

    /// Where a round that begins `begin` after the call notes what a timeline needs; none if no
    /// trace is wanted.
    pub(crate) fn notes(&self, begin: Duration) -> Option<Box<Notes>> {
        self.wishes.trace.is_some().then(|| Box::new(Notes { begin, ..Notes::default() }))
    }

    /// Where the calling thread, while it runs alone from index `first` on, notes what a timeline
    /// needs; none if no trace is wanted.
    pub(crate) fn closeup(&self, first: usize, begin: Instant) -> Option<Closeup> {
        self.wishes.trace.is_some().then(|| Closeup::new(first, begin))
    }

    /// The calling thread is where the items of the loop are, as long as the result lives; none if
    /// no trace is being taken there.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Option<Stay> {
        if self.wishes.trace.is_none() && !ScenePlace::is_near() {
            return None;
        }
        ScenePlace::of_call(self.wishes.trace.as_ref().map(|trace| trace.scene))
            .as_ref()
            .map(ScenePlace::enter)
    }

    /// Tells the loop around, if that is traced, of this one, which has been shared, or found
    /// nobody to share it with.
    #[inline(always)]
    pub(crate) fn tell_around(&self, before: &Before, times: Option<&Times>) {
        if ScenePlace::is_near() {
            self.tell_scene(before, times);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_scene(&self, before: &Before, times: Option<&Times>) {
        if let Some(place) = ScenePlace::here() {
            let parts = times.map_or(&[][..], |times| &times.parts);
            let items = times.map_or(0, Times::items).saturating_add(self.items(before));
            place.tell(&LoopSpan { at: self.wishes.at, begin: before.begin, items, parts });
        }
    }

    /// How many items the calling thread has folded alone.
    fn items(&self, before: &Before) -> usize {
        before.counted.unwrap_or_else(|| self.units.items(0..before.indices).len())
    }

    /// What a loop did, if anybody wants to know, or `everybody` does: what the calling thread did
    /// alone `before`, and then the round, or why there was none.
    #[cold]
    pub(crate) fn account(
        &self,
        before: &mut Before,
        round: Result<&mut Times, Alone>,
        everybody: bool,
        help: Duration,
    ) -> Option<Box<Account>> {
        if !everybody && !self.wants_account() {
            return None;
        }
        let begin = before.begin;
        let (times, notes) = match round {
            Ok(times) => {
                let notes = mem::take(&mut times.notes);
                (Ok(&*times), Ok(notes.map(|notes| *notes).unwrap_or_default()))
            }
            Err(alone) => (Err(alone), Err(alone)),
        };
        let report = RunReport::new(begin.elapsed(), (self.items(before), before.took), times);
        let timeline = self.wishes.trace.is_some().then(|| {
            let mut timeline = Timeline::new(before, self.units, notes);
            if let Some(place) = ScenePlace::here() {
                let parts = times.map_or(&[][..], |times| &times.parts);
                timeline.inner = place.inner(begin, timeline.dealt.len(), parts);
            }
            timeline
        });
        Some(Box::new(Account { begin, report, timeline, help }))
    }

    /// Logs `account` and writes it to the report, the trace and the program report, at the end of
    /// the call.
    #[cold]
    #[inline(never)]
    pub(crate) fn tell(&mut self, account: Box<Account>, ledger: Option<&ProgramReport>) {
        let Account { begin, mut report, timeline, help } = *account;
        report.end(begin.elapsed());
        report.log(self.wishes.at);
        if let Some(ledger) = ledger {
            ledger.enter(self.wishes.at, &report, help);
        }
        if let (Some(trace), Some(timeline)) = (&mut self.wishes.trace, timeline) {
            trace.add(Timeline { wall: report.wall, ..timeline }, begin);
        }
        if let Some(wanted) = &mut self.wishes.report {
            **wanted = report;
        }
    }
}
