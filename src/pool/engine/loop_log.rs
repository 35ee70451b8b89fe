//! The notes of a shared loop.

use std::{ops::Range, sync::PoisonError};

use crate::{
    clock::Instant,
    pool::{
        place::affinity::usage,
        tell::{
            journal::{Journal, Usage},
            times::Times,
            trace::scene::{SceneSpot, Stay},
            units::Units,
        },
    },
    sync::{Mutex, lock},
};

/// The log of a shared loop.
pub(crate) struct LoopLog {
    begin: Instant,
    measures_usage: bool,
    /// The loop's spot in a scene, if a trace is being taken there.
    spot: Option<SceneSpot>,
    /// Each worker writes its notes to a page of its own. `None` if the call repeats the plan of an
    /// earlier one, and notes nothing.
    times: Option<Box<Times>>,
    /// Written only for a timeline: the items that each worker gets at the start.
    dealt: Mutex<Vec<Range<usize>>>,
}

/// The notes of a worker in a shared loop, from its arrival until it leaves.
pub(crate) struct WorkerLog {
    pub(crate) journal: Option<Box<Journal>>,
    used_before: Option<Usage>,
    _stay: Option<Stay>,
}

impl LoopLog {
    /// A log for a loop that is shared from `begin` on. `times` selects the measurements; `None` if
    /// nothing is noted.
    pub(crate) fn new(begin: Instant, mut times: Option<Box<Times>>) -> Self {
        // Without a measurement the usage stays `None`.
        let measures_usage = times.as_mut().is_some_and(|times| times.usage.take().is_some());
        Self { begin, measures_usage, spot: SceneSpot::here(), times, dealt: Mutex::default() }
    }

    /// Worker `me` enters.
    #[inline(never)] // items run above the frames of the functions that call this
    pub(crate) fn enter(&self, me: usize, units: Units) -> WorkerLog {
        let used_before = if self.measures_usage { usage() } else { None };
        let journal = self
            .times
            .as_ref()
            .map(|times| Journal::new(times.pages.journal(me), me, units, self.begin, times.tick));
        let stay = self.spot.as_ref().map(SceneSpot::enter);
        WorkerLog { journal, used_before, _stay: stay }
    }

    /// The worker of `worker_log` leaves. `failed` is the number of thefts that the worker tried
    /// without success.
    #[inline(never)]
    pub(crate) fn leave(&self, worker_log: WorkerLog, failed: usize) {
        let WorkerLog { journal, used_before, _stay } = worker_log;
        if let (Some(times), Some(mut journal)) = (&self.times, journal) {
            let used = used_before.and_then(|before| Some(usage()?.since(before)));
            journal.failed(failed);
            times.pages.add(journal, used, self.spot.is_some());
        }
    }

    /// For a timeline: notes the items that each worker gets at the start.
    pub(crate) fn deal(&self, parts: impl FnOnce() -> Vec<Range<usize>>) {
        if self.times.as_ref().is_some_and(|times| times.tick.is_some()) {
            *lock(&self.dealt) = parts();
        }
    }

    /// The notes of all workers, if they have noted anything. Call this after all workers have
    /// left.
    pub(crate) fn into_times(self) -> Option<Box<Times>> {
        let Self { times, dealt, .. } = self;
        let mut times = times?;
        times.gather();
        times.dealt = dealt.into_inner().unwrap_or_else(PoisonError::into_inner);
        Some(times)
    }
}
