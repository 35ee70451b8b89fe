//! Runs a loop by several executors in one process.

use std::{num::NonZero, time::Duration};

use nix::sched::CpuSet;
use orx_parallel::BasicPool;
use paralight::prelude::{CpuPinningPolicy, RangeStrategy, ThreadCount, ThreadPoolBuilder};
use rangesteal::{Pinning, Pool};

use crate::{
    foreign::Foreign,
    machine,
    ours::Telling,
    peers::Peer,
    plain::{Fastest, Plain},
    race::{Race, Turn},
    rival::Loop,
    rivals::{Chili, Halves},
    turn::Pace,
    who::{MANY, Who},
};

/// The executors.
pub(crate) struct Runner {
    pub(crate) rounds: usize,
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    rayon: rayon::ThreadPool,
    many_rayon: rayon::ThreadPool,
    paralight: paralight::prelude::ThreadPool,
    chili: Chili,
    orx: BasicPool,
    pub(crate) openmp: Option<Peer>,
    pub(crate) tbb: Option<Peer>,
    one: Pool,
    many: Pool,
    unpinned: Pool,
    spinning: Pool,
    control: Pool,
    /// The runner without rivals.
    alone: bool,
}

impl Runner {
    /// Call this before any pool has pinned this thread: a new thread inherits the mask of its
    /// parent.
    pub(crate) fn new(rounds: usize, threads: usize, alone: bool) -> Self {
        let rayon = |threads| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of rayon's")
        };
        let paralight = ThreadPoolBuilder {
            num_threads: ThreadCount::Count(NonZero::new(threads).expect("a thread")),
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        };
        Self {
            rounds,
            threads,
            mask: machine::mask(),
            rayon: rayon(threads),
            many_rayon: rayon(MANY),
            paralight: paralight.build(),
            chili: Chili::new(threads),
            orx: orx_parallel::Pool::basic(threads),
            openmp: (!alone).then(|| Peer::load("OpenMP", &["-DOPENMP", "-fopenmp"])).flatten(),
            tbb: (!alone).then(|| Peer::load("oneTBB", &["-ltbb"])).flatten(),
            one: Pool::builder().num_threads(1).build().expect("a pool"),
            many: Pool::builder().num_threads(MANY).build().expect("a pool"),
            unpinned: Pool::builder().num_threads(threads).pinning(Pinning::Off).build().expect("a pool"),
            spinning: spinning_pool(threads),
            control: Pool::builder().num_threads(threads).build().expect("a pool"),
            alone,
        }
    }

    /// The columns of the table.
    pub(crate) fn columns(&self) -> Vec<Who> {
        let mut columns = vec![Who::Rangesteal, Who::Control];
        if self.alone {
            return columns;
        }
        columns.extend([Who::Rayon, Who::Paralight, Who::Chili, Who::Orx]);
        #[cfg(fork_union)]
        columns.push(Who::ForkUnion);
        columns.extend(self.openmp.is_some().then_some(Who::OpenMp));
        columns.extend(self.tbb.is_some().then_some(Who::Tbb));
        columns
    }

    /// The plain loop and all columns.
    pub(crate) fn everybody(&self) -> Vec<Who> {
        [&[Who::Plain], &self.columns()[..]].concat()
    }

    /// The plain loop, rangesteal and rayon. rayon is the rival that has all loops.
    pub(crate) fn few(&self) -> Vec<Who> {
        let mut few = vec![Who::Plain, Who::Rangesteal, Who::Control];
        few.extend((!self.alone).then_some(Who::Rayon));
        few
    }

    pub(crate) fn rayon(&self) -> &rayon::ThreadPool {
        &self.rayon
    }

    pub(crate) fn control(&self) -> &Pool {
        &self.control
    }

    /// Runs `lap` with all entrants, and checks that they agree.
    pub(crate) fn race<L: Loop>(&mut self, pool: &Pool, entrants: &[Who], pace: Pace, lap: &L) -> Race {
        let mut agreed = None;
        let brief = self.rounds < 10;
        let pace = if brief { pace.brief() } else { pace };
        let (warm_up, rounds) = match (pace.long, brief) {
            (true, _) => (usize::from(!brief), self.rounds.div_ceil(10)),
            (false, true) => (1, self.rounds),
            (false, false) => (3, self.rounds),
        };
        Race::interleaved(entrants, warm_up + rounds, |round, who| {
            let (result, turn) = self.turn(pool, who, pace, lap)?;
            match &agreed {
                None => agreed = Some(result),
                Some(agreed) => assert!(result == *agreed, "{who:?} disagrees"),
            }
            (round >= warm_up).then_some(turn)
        })
    }

    /// Runs a turn that leaves no running threads behind. Threads of `fork_union` and OpenMP
    /// busy-wait between loops for milliseconds or for ever. So these threads start right before
    /// the turn, untimed, and end with the turn. Threads of other pools may look for work for a
    /// while. The next turn waits until they stop.
    fn turn<L: Loop>(&mut self, pool: &Pool, who: Who, pace: Pace, lap: &L) -> Option<(L::Output, Turn)> {
        // The pool has pinned this thread. For most rivals the pin would be a handicap, since the
        // threads that they start inherit the mask. For rangesteal, and for rivals whose calling
        // thread busy-waits, a calling thread with a CPU of its own is an advantage.
        let pinned = matches!(
            who,
            Who::Plain
                | Who::Fastest
                | Who::Rangesteal
                | Who::Control
                | Who::Reporting
                | Who::Tracing
                | Who::Spinning
                | Who::One
                | Who::Many
                | Who::ForkUnion
                | Who::OpenMp
        );
        let _freed = (!pinned).then(|| machine::Freed::to(&self.mask));
        let threads = self.threads;
        let turn = match who {
            Who::Plain => pace.turn(lap, Plain),
            Who::Fastest => pace.turn(lap, Fastest),
            Who::Rangesteal => pace.turn(lap, pool),
            Who::Control => pace.turn(lap, &self.control),
            Who::Rayon => pace.turn(lap, &self.rayon),
            Who::Paralight => pace.turn(lap, &mut self.paralight),
            Who::Chili => pace.turn(lap, &mut self.chili),
            Who::Orx => pace.turn(lap, &self.orx),
            #[cfg(fork_union)]
            Who::ForkUnion => pace.first_turn(lap, &machine::elsewhere(&self.mask, threads), || {
                fork_union::ThreadPool::try_spawn(threads).expect("a pool")
            }),
            #[cfg(not(fork_union))]
            Who::ForkUnion => None,
            Who::OpenMp => self.openmp.as_ref().and_then(|peer| {
                pace.first_turn(lap, &machine::elsewhere(&self.mask, threads), || Foreign { peer, threads })
            }),
            Who::Tbb => self.tbb.as_ref().and_then(|peer| pace.turn(lap, Foreign { peer, threads })),
            Who::Halves => pace.turn(lap, Halves(&self.rayon)),
            Who::Reporting => pace.turn(lap, Telling::Report(pool)),
            Who::Tracing => pace.turn(lap, Telling::Trace(pool)),
            Who::Spinning => pace.turn(lap, &self.spinning),
            Who::Unpinned => pace.turn(lap, &self.unpinned),
            Who::One => pace.turn(lap, &self.one),
            Who::Many => pace.turn(lap, &self.many),
            Who::ManyRayon => pace.turn(lap, &self.many_rayon),
            _ => None, // entrants of other benches
        };
        machine::settle();
        turn
    }
}

/// A pool whose helpers busy-wait for a while before they sleep.
pub(crate) fn spinning_pool(threads: usize) -> Pool {
    let patience = Duration::from_micros(50);
    Pool::builder().num_threads(threads).spin_before_park(patience).build().expect("a pool")
}
