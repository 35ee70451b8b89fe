//! How a round is run: what the policy decides before it begins.

use crate::{
    clock::Instant,
    pool::{
        place::{cpu_assignment::CpuAssignment, locality::Distance},
        policy::{prices::Estimate, split::Profile, victim::Stealing},
        protocol::{arena::Arena, barrier::PollTimes, threads::Threads},
        record::units::Units,
    },
};

/// How a round is run.
pub(crate) struct Plan<'a> {
    /// How many workers there may be. The items are dealt to the first of them.
    pub(crate) workers: usize,
    pub(crate) units: Units,
    /// The cost of an index last time, in nanoseconds; none if unknown.
    pub(crate) pace: Option<f32>,
    /// How the cost was distributed over the slice last time; none if unknown.
    pub(crate) profile: Option<&'a Profile>,
    pub(crate) stealing: Stealing,
    /// Whether partial results may grow.
    pub(crate) has_large_partials: bool,
    /// The cost of the heavy fence to a thief, in nanoseconds, where it is expensive.
    pub(crate) heavy: &'a Estimate,
    /// Where the workers are; none if that is not known.
    pub(crate) places: Option<WorkerPlaces<'a>>,
    /// How long threads poll before they sleep.
    pub(crate) polls: PollTimes,
}

impl Plan<'_> {
    /// The distance from a thief to a victim, both known by their seats in the loop.
    pub(crate) fn distance(&self, thief: usize, victim: usize) -> Distance {
        self.places.map_or(Distance::Beyond, |WorkerPlaces { seats, arena, .. }| {
            seats.distance(arena.thread_at(thief), arena.thread_at(victim))
        })
    }

    /// A worker of the loop checks its CPU when it looks at the clock. For the calling thread.
    pub(crate) fn look(&self, now: Instant) {
        if let Some(WorkerPlaces { threads, seats, .. }) = self.places {
            look(threads, seats, now);
        }
    }
}

/// Where the workers of a loop are.
#[derive(Clone, Copy)]
pub(crate) struct WorkerPlaces<'a> {
    pub(crate) threads: &'a Threads,
    pub(crate) seats: &'a CpuAssignment,
    /// Which thread has which seat in the loop.
    pub(crate) arena: &'a Arena,
}

/// The calling thread checks whether it has its CPU to itself. Callers from elsewhere do so one at
/// a time: two of them would send one helper to and fro.
pub(crate) fn look(threads: &Threads, seats: &CpuAssignment, now: Instant) {
    let here = threads.here();
    if here > 0 || threads.callers() <= 1 {
        seats.look(here, now);
    }
}
