//! The notes of a shared loop. When a worker leaves a round or a search, it hands over its notes.

use std::{ops::Range, sync::PoisonError};

use super::ending::{Earliest, FirstStop, discard};
use crate::{
    clock::Instant,
    pool::{
        place::affinity::usage,
        tell::{
            journal::{Journal, Times, Usage},
            trace::{
                notes::Tick,
                scene::{SceneSpot, Stay},
            },
            units::Units,
        },
    },
    sync::{Mutex, lock},
};

/// The log of a shared loop. Each worker hands over its notes here when the worker leaves.
pub(crate) struct RoundLog {
    begin: Instant,
    measures_usage: bool,
    /// Notes the progress of runs, if a timeline is wanted.
    tick: Option<Tick>,
    /// The loop's spot in a scene, if a trace is being taken there.
    spot: Option<SceneSpot>,
    handed_over: Mutex<(Box<Times>, FirstStop)>,
}

/// The notes of a worker in a shared loop, from its arrival until it leaves.
pub(crate) struct WorkerLog {
    pub(crate) journal: Box<Journal>,
    pub(crate) stop: FirstStop,
    used_before: Option<Usage>,
    _stay: Option<Stay>,
}

impl RoundLog {
    /// A log for a loop that is shared from `begin` on. `times` selects the measurements.
    pub(crate) fn new(begin: Instant, mut times: Box<Times>) -> Self {
        // Without a measurement the usage stays `None`.
        let measures_usage = times.usage.take().is_some();
        let (tick, spot) = (times.tick, SceneSpot::here());
        Self { begin, measures_usage, tick, spot, handed_over: Mutex::new((times, Earliest::NONE)) }
    }

    /// Worker `me` enters.
    #[inline(never)] // items run above the frames of the functions that call this
    pub(crate) fn enter(&self, me: usize, units: Units) -> WorkerLog {
        let used_before = if self.measures_usage { usage() } else { None };
        let memory = lock(&self.handed_over).0.journal(me);
        let journal = Journal::new(memory, me, units, self.begin, self.tick);
        let stay = self.spot.as_ref().map(SceneSpot::enter);
        WorkerLog { journal, stop: Earliest::NONE, used_before, _stay: stay }
    }

    /// The worker of `worker_log` leaves. `failed` is the number of thefts that the worker tried
    /// without success.
    #[inline(never)]
    pub(crate) fn leave(&self, worker_log: WorkerLog, failed: usize) {
        let WorkerLog { journal, stop, used_before, _stay } = worker_log;
        let used = used_before.and_then(|before| Some(usage()?.since(before)));
        let mut handed_over = lock(&self.handed_over);
        let (times, first) = &mut *handed_over;
        if self.spot.is_some() {
            times.add_part(&journal);
        }
        times.add(journal, failed, used);
        let surplus = first.merge(stop);
        drop(handed_over);
        discard(surplus);
    }

    /// For a timeline: notes the items that each worker gets at the start.
    pub(crate) fn deal(&self, parts: impl FnOnce() -> Vec<Range<usize>>) {
        if self.tick.is_some() {
            lock(&self.handed_over).0.dealt = parts();
        }
    }

    /// How many indices the workers that have left have folded.
    pub(crate) fn indices(&self) -> usize {
        lock(&self.handed_over).0.indices()
    }

    /// The notes that all workers have handed over. Call this after all workers have left.
    pub(crate) fn into_inner(self) -> (Box<Times>, FirstStop) {
        self.handed_over.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}
