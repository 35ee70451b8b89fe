//! The notes of a worker in a shared loop, from its arrival until it leaves.

use crate::{
    pool::{
        place::affinity::usage,
        tell::{
            journal::{Journal, Usage},
            times::Times,
            trace::scene::{SceneSpot, Stay},
            units::Units,
        },
    },
    sync::MutexGuard,
};

/// The notes of a worker in a shared loop, from its arrival until it leaves.
pub(crate) struct WorkerLog<'l> {
    pub(crate) journal: Option<MutexGuard<'l, Journal>>,
    used_before: Option<Usage>,
    stay: Option<Stay>,
}

impl<'l> WorkerLog<'l> {
    /// Worker `me` enters a loop with these `times`; `None` if the call repeats the plan of an
    /// earlier one, and notes nothing.
    #[inline(never)] // items run above the frames of the functions that call this
    pub(crate) fn enter(times: Option<&'l Times>, me: usize, units: Units) -> Self {
        let Some(times) = times else { return Self { journal: None, used_before: None, stay: None } };
        let used_before = if times.measures_usage { usage() } else { None };
        let journal = Some(times.journal(me, units));
        Self { journal, used_before, stay: times.spot.as_ref().map(SceneSpot::enter) }
    }

    /// The worker leaves. `failed` is the number of thefts that it tried without success.
    #[inline(never)]
    pub(crate) fn leave(self, failed: usize) {
        if let Some(mut journal) = self.journal {
            let used = self.used_before.and_then(|before| Some(usage()?.since(before)));
            journal.leave(failed, used, self.stay.is_some());
        }
    }
}
