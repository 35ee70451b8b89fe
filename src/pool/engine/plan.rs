//! How a shared loop runs, as the policy has decided before it begins.

use std::ops::Range;

use crate::{
    clock::Instant,
    pool::{
        place::{cpu_assignment::CpuAssignment, topology::Distance},
        policy::{grain::Grain, prices::Estimate, split::Boundaries},
        team::{arena::Arena, barrier::PollTimes, threads::Threads},
        tell::units::Units,
    },
};

/// How a call is shared. The next calls may repeat it.
pub(crate) struct SharedPlan {
    /// The largest number of workers. At the start, only the first workers have items.
    pub(crate) workers: usize,
    /// The cost of an index in an earlier call, in nanoseconds; `None` if unknown.
    pub(crate) pace: Option<f32>,
    /// Where the ranges begin, and the distribution of the cost over the slice.
    pub(crate) boundaries: Boundaries,
    /// How long threads poll before they sleep.
    pub(crate) polls: PollTimes,
}

/// The plan of a shared call, and the options of its loop that workers read.
pub(crate) struct Plan<'a> {
    pub(crate) shared: &'a SharedPlan,
    pub(crate) units: Units,
    /// Whether partial results may be large.
    pub(crate) has_large_partials: bool,
    /// The cost of the heavy fence for a thief, in nanoseconds. Used only on systems where this
    /// fence is expensive.
    pub(crate) heavy: &'a Estimate,
    /// The threads of the loop; `None` if the loop has no arena.
    pub(crate) team: Option<LoopTeam<'a>>,
}

impl Plan<'_> {
    /// The grain of a run of `items` that begins at `begin`, if somebody has read the clock.
    /// `range` is the number of the range, if a worker got these items at the start.
    #[inline(always)] // into the fold of a run
    pub(crate) fn grain(&self, begin: Option<Instant>, items: Range<usize>, range: Option<usize>) -> Grain {
        let SharedPlan { pace, ref boundaries, .. } = *self.shared;
        Grain::new(begin, pace, boundaries.harmless_block(items, range), self.units.are_blocks())
    }

    /// The distance from a thief to a victim. `thief` and `victim` are seats of the loop's arena.
    pub(crate) fn distance(&self, thief: usize, victim: usize) -> Distance {
        self.team.map_or(Distance::Beyond, |LoopTeam { cpus, arena, .. }| {
            cpus.distance(arena.thread_at(thief), arena.thread_at(victim))
        })
    }

    /// Wakes helpers that are still to be woken, and checks whether the calling thread, which is a
    /// worker of the loop, has its CPU to itself. Workers call this function after they have read
    /// the clock.
    pub(crate) fn look_around(&self, now: Instant) {
        if let Some(LoopTeam { threads, cpus, arena }) = self.team {
            threads.ring_more(arena);
            check_cpu(threads, cpus, now);
        }
    }

    /// The caller rests: see [`Threads::rest`].
    pub(crate) fn rest(&self) -> bool {
        self.team.is_some_and(|LoopTeam { threads, arena, .. }| threads.rest(arena))
    }
}

/// The threads of a loop, and where they are.
#[derive(Clone, Copy)]
pub(crate) struct LoopTeam<'a> {
    pub(crate) threads: &'a Threads,
    pub(crate) cpus: &'a CpuAssignment,
    /// The arena of the loop: says which thread has which seat.
    pub(crate) arena: &'a Arena,
}

/// Checks whether the calling thread has its CPU to itself. A thread from outside the pool checks
/// only if it is the only such caller: two callers would move one helper to and fro.
pub(crate) fn check_cpu(threads: &Threads, cpus: &CpuAssignment, now: Instant) {
    let here = threads.here();
    if here > 0 || threads.barrier.callers() <= 1 {
        cpus.look(here, now);
    }
}
