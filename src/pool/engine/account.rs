//! The account of a loop: its report, and its timeline if it is being traced. A loop without a
//! report, a trace and a log has no account.

use std::{panic::Location, time::Duration};

use super::{executor::Executor, inputs::with_rounds, loop_options::LoopOptions};
use crate::{
    clock::{Instant, time},
    pool::{
        policy::site::Loop,
        tell::{
            program_report::ProgramReport,
            report::{RunReport, WaitReport},
            times::Times,
            trace::{
                notes::{Before, Tick},
                scene::{LoopSpan, SceneSpot, Stay},
                timeline::Timeline,
            },
            why_alone::Alone,
        },
    },
    sync::Ordering,
};

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
    pub(crate) fn with_idle(mut self: Box<Self>, idle: usize) -> Box<Self> {
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

impl LoopOptions<'_> {
    /// Notes the progress of a run of this loop; `None` if no trace is wanted.
    pub(crate) fn tick(&self) -> Option<Tick> {
        self.wishes.trace.as_ref().map(|trace| trace.tick)
    }

    /// Enters the scene of the loop's items. The thread stays in the scene while the result lives.
    /// Returns `None` if neither this loop nor a loop around it is being traced.
    #[inline(always)]
    pub(crate) fn enter_scene(&self) -> Option<Stay> {
        if self.wishes.trace.is_none() && !SceneSpot::is_near() {
            return None;
        }
        SceneSpot::of_call(self.wishes.trace.as_ref().map(|trace| trace.hear)).as_ref().map(SceneSpot::enter)
    }

    /// Reports this loop to the traced loop around it, if there is a traced loop. Called for loops
    /// that were shared and for loops that found no idle worker.
    #[inline(always)]
    pub(crate) fn tell_around(&self, before: &Before, times: Option<&Times>) {
        if SceneSpot::is_near() {
            self.tell_scene(before, times);
        }
    }

    #[cold]
    #[inline(never)]
    fn tell_scene(&self, before: &Before, times: Option<&Times>) {
        if let Some(spot) = SceneSpot::here() {
            let parts = times.map_or(&[][..], |times| &times.parts);
            let items = times.map_or(0, Times::items).saturating_add(self.items(before));
            spot.tell(&LoopSpan { at: self.wishes.at, begin: before.begin, items, parts });
        }
    }

    /// How many items the calling thread has folded alone.
    fn items(&self, before: &Before) -> usize {
        before.counted.unwrap_or_else(|| self.units.items(0..before.indices).len())
    }

    /// The account of a loop; `None` if it is not wanted. An account is always wanted if
    /// `everybody` is set. `before` is the work of the calling thread alone. `shared` has the times
    /// of the shared loop that followed, or the reason why none followed. `help` is the cost of
    /// help.
    #[cold]
    pub(crate) fn account(
        &self,
        before: &mut Before,
        shared: Result<&mut Times, Alone>,
        everybody: bool,
        help: Duration,
    ) -> Option<Box<Account>> {
        if !everybody && !self.wants_account() {
            return None;
        }
        let (begin, times) = (before.begin, shared.as_deref().map_err(|alone| *alone));
        let report = RunReport::new(begin.elapsed(), (self.items(before), before.took), times);
        let trace = self.wishes.trace.as_ref();
        let timeline = trace.map(|trace| (trace.timeline)(before, self.units, shared));
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

impl Executor {
    /// Whether this message has not been logged before.
    fn is_news(&self, bit: u64) -> bool {
        self.logged.load(Ordering::Relaxed) & bit == 0
            && self.logged.fetch_or(bit, Ordering::Relaxed) & bit == 0
    }

    /// Logs, once, that a shared call of this loop took far longer than a call on one thread.
    #[cold]
    pub(super) fn tell_of_faster(&self, at: &Location<'_>, took: Duration) {
        if self.is_news(1) {
            log::info!(
                "{at}: this loop takes {took:?} alone, and much longer shared: other programs have the CPUs of this \
                 pool, or its items wait for each other. It now runs alone, and is shared again after growing pauses"
            );
        }
    }

    /// Logs, once, that a loop runs alone because its program is faster so.
    #[cold]
    pub(super) fn tell_of_rounds(&self, at: &Location<'_>, this: Loop) {
        let times = with_rounds(|rounds| rounds?.of_alone_and_shared(this));
        if let Some([alone, shared]) = times.filter(|_| self.is_news(4)) {
            log::info!(
                "{at}: this loop runs alone, because its program is faster so: from the begin of a call to the begin \
                 of the next, {:?} instead of {:?}. It is shared again after growing pauses",
                time(alone),
                time(shared)
            );
        }
    }

    /// Logs, once, that a loop is not shared because another loop uses the pool.
    #[cold]
    pub(super) fn tell_of_busy(&self, at: &Location<'_>) {
        if self.is_news(2) {
            log::debug!(
                "{at}: this loop runs on the calling thread alone, because other loops have the pool. Later such loops are not \
                 logged; RANGESTEAL_REPORT=1 counts them"
            );
        }
    }
}
