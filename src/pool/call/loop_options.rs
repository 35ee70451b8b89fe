//! The options of a loop, as the executor needs them: how the loop runs, and which reports are
//! wanted.

use std::{panic::Location, time::Duration};

use super::{handles::Watch, work_list::WorkList};
use crate::{
    clock::Instant,
    pool::{
        policy::site::LoopKind,
        record::{
            journal::Times,
            program_report::ProgramReport,
            report::{RunReport, WaitReport},
            trace::{
                Trace,
                notes::{Before, Closeup, Notes},
                scene::{LoopSpan, ScenePlace, Stay},
                timeline::Timeline,
            },
            units::Units,
            why_alone::Alone,
        },
    },
};

/// How a loop runs.
pub(crate) struct LoopOptions<'a> {
    /// The most workers that may run the loop, including the calling thread.
    pub(crate) threads: usize,
    pub(crate) watch: Watch<'a>,
    pub(crate) wishes: Wishes<'a>,
    pub(crate) kind: LoopKind,
    /// The unit of an index: an item, or a block of items. Blocks are claimed one by one.
    pub(crate) units: Units,
    /// The list of made items, if the loop runs over a list that grows.
    pub(crate) list: Option<&'a dyn WorkList>,
    /// The number of the first block, if the blocks are the leaves of a tree.
    pub(crate) leaves: Option<usize>,
}

/// The loop's place in the program. Also, if the user wants them, the report and the trace that the
/// loop fills in.
#[derive(Debug)]
pub(crate) struct Wishes<'a> {
    pub(crate) at: &'static Location<'static>,
    pub(crate) report: Option<&'a mut RunReport>,
    pub(crate) trace: Option<&'a mut Trace>,
}

impl Wishes<'_> {
    /// Whether the user wants a report or a trace.
    #[inline(always)]
    fn are_any(&self) -> bool {
        self.report.is_some() || self.trace.is_some()
    }
}

/// Whether loops are logged.
pub(crate) fn is_logged() -> bool {
    log::log_enabled!(log::Level::Debug)
}

/// The account of a loop: its report and its timeline.
#[derive(Debug)]
pub(crate) struct Account {
    begin: Instant,
    report: RunReport,
    timeline: Option<Timeline>,
    /// The cost of help.
    help: Duration,
}

impl Account {
    /// Adds the number of workers that were idle when the loop was shared.
    pub(crate) fn helped(mut self: Box<Self>, idle: usize) -> Box<Self> {
        self.report.idle = idle;
        self
    }

    /// For a loop whose items wait: adds its waits. If the loop ran on the calling thread alone,
    /// also adds the reason.
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

    /// Whether the loop runs over existing items, without handles, report or trace.
    #[inline(always)]
    pub(crate) fn is_plain(&self) -> bool {
        self.list.is_none() && !self.watch.is_on() && !self.wishes.are_any()
    }

    /// The same options. If all options are the default ones, a function that is compiled once
    /// writes them to memory, instead of code in each loop.
    #[inline(always)]
    pub(crate) fn in_memory(self) -> Self {
        if self.is_plain() && self.leaves.is_none() && !self.units.are_blocks() {
            Self::plain(self.threads, self.wishes.at, self.kind)
        } else {
            self
        }
    }

    #[cold]
    #[inline(never)]
    fn plain(threads: usize, at: &'static Location<'static>, kind: LoopKind) -> Self {
        Self::new(threads, Watch::default(), Wishes { at, report: None, trace: None }, kind)
    }

    /// Whether the loop has to read the clock or a handle.
    pub(crate) fn is_watched(&self) -> bool {
        self.watch.is_on() || self.wants_account()
    }

    /// Whether an account of the loop is wanted.
    pub(crate) fn wants_account(&self) -> bool {
        self.wishes.are_any() || is_logged()
    }

    /// Empty notes of a round for a timeline; `None` if no trace is wanted. The round begins at
    /// `begin`, counted from the call.
    pub(crate) fn notes(&self, begin: Duration) -> Option<Box<Notes>> {
        self.wishes.trace.as_ref().map(|trace| Box::new(Notes::new(trace.tracer, begin)))
    }

    /// Empty notes for the timeline of a calling thread that runs alone from index `first` on;
    /// `None` if no trace is wanted.
    pub(crate) fn closeup(&self, first: usize, begin: Instant) -> Option<Closeup> {
        self.wishes.trace.as_ref().map(|trace| Closeup::new(trace.tracer, first, begin))
    }

    /// Enters the scene of the loop's items. The thread stays in the scene while the result lives.
    /// Returns `None` if neither this loop nor a loop around it is being traced.
    #[inline(always)]
    pub(crate) fn enter(&self) -> Option<Stay> {
        if self.wishes.trace.is_none() && !ScenePlace::is_near() {
            return None;
        }
        ScenePlace::of_call(self.wishes.trace.as_ref().map(|trace| trace.scene))
            .as_ref()
            .map(ScenePlace::enter)
    }

    /// Reports this loop to the traced loop around it, if there is a traced loop. Called for loops
    /// that were shared and for loops that found no idle worker.
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

    /// The account of a loop; `None` if it is not wanted. An account is always wanted if
    /// `everybody` is set. `before` is the work of the calling thread alone. `round` is the round
    /// that followed, or the reason why no round followed. `help` is the cost of help.
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
                let notes = times.notes.take();
                (Ok(&*times), notes)
            }
            Err(alone) => (Err(alone), None),
        };
        let report = RunReport::new(begin.elapsed(), (self.items(before), before.took), times);
        let timeline = self.wishes.trace.as_ref().map(|trace| {
            let mut timeline = trace.tracer.timeline(before, self.units, times.err(), notes);
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
    #[allow(clippy::boxed_local, reason = "moved as one word")]
    pub(crate) fn tell(&mut self, account: Box<Account>, program_report: Option<&ProgramReport>) {
        let Account { begin, mut report, timeline, help } = *account;
        report.end(begin.elapsed());
        report.log(self.wishes.at);
        if let Some(program_report) = program_report {
            program_report.enter(self.wishes.at, &report, help);
        }
        if let (Some(trace), Some(timeline)) = (&mut self.wishes.trace, timeline) {
            trace.add(Timeline { wall: report.wall, ..timeline }, begin);
        }
        if let Some(wanted) = &mut self.wishes.report {
            **wanted = report;
        }
    }
}
