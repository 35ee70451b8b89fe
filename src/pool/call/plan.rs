//! How a round is run: what the policy decides before it begins.

use crate::{
    clock::Instant,
    pool::{
        place::{home::Distance, seats::Seats},
        policy::{estimate::Estimate, split::Profile, victim::Stealing},
        protocol::{arena::Arena, barrier::Polls, crew::Crew},
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
    pub(crate) is_growing: bool,
    /// The cost of the heavy fence to a thief, in nanoseconds, where it is expensive.
    pub(crate) heavy: &'a Estimate,
    /// Where the workers are; none if that is not known.
    pub(crate) places: Option<Places<'a>>,
    /// How long threads poll before they sleep.
    pub(crate) polls: Polls,
}

impl Plan<'_> {
    /// The distance from a thief to a victim, both known by their seats in the loop.
    pub(crate) fn distance(&self, thief: usize, victim: usize) -> Distance {
        self.places.map_or(Distance::Beyond, |Places { seats, arena, .. }| {
            seats.distance(arena.thread_at(thief), arena.thread_at(victim))
        })
    }

    /// A worker of the loop checks its CPU when it looks at the clock. For the calling thread.
    pub(crate) fn look(&self, now: Instant) {
        if let Some(Places { crew, seats, .. }) = self.places {
            look(crew, seats, now);
        }
    }
}

/// Where the workers of a loop are.
#[derive(Clone, Copy)]
pub(crate) struct Places<'a> {
    pub(crate) crew: &'a Crew,
    pub(crate) seats: &'a Seats,
    /// Which thread has which seat in the loop.
    pub(crate) arena: &'a Arena,
}

/// The calling thread checks whether it has its CPU to itself. Callers from elsewhere do so one at
/// a time: two of them would send one helper to and fro.
pub(crate) fn look(crew: &Crew, seats: &Seats, now: Instant) {
    let here = crew.here();
    if here > 0 || crew.callers() <= 1 {
        seats.look(here, now);
    }
}
