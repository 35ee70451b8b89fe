//! The executors of this bench.

use std::num::NonZero;

use nix::sched::CpuSet;
use rangesteal::Pool;

use crate::{
    machine::{self, Freed},
    who::Who,
};

/// The stack size of rayon's threads. A thread that steals recurses deeper than the height of the
/// tree.
const STACK: usize = 256 << 20;

/// The rivals' executors, and the features of the machine.
pub(crate) struct Rivals {
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    rayon: rayon::ThreadPool,
    chili: chili::ThreadPool,
    control: Pool,
}

impl Rivals {
    /// Call this before any pool has pinned this thread.
    pub(crate) fn new(threads: usize) -> Self {
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).stack_size(STACK);
        let chili = chili::Config { thread_count: NonZero::new(threads), ..chili::Config::default() };
        Self {
            threads,
            mask: machine::mask(),
            rayon: rayon.build().expect("a pool of rayon's"),
            chili: chili::ThreadPool::with_config(chili),
            control: Pool::builder().num_threads(threads).build().expect("a pool"),
        }
    }
}

/// The executors of all libraries.
pub(crate) struct Entrants<'p> {
    pool: &'p Pool,
    pub(crate) rivals: Rivals,
    pub(crate) rounds: usize,
}

impl<'p> Entrants<'p> {
    pub(crate) fn new(pool: &'p Pool, rivals: Rivals, rounds: usize) -> Self {
        Self { pool, rivals, rounds }
    }

    /// The columns of the table.
    pub(crate) fn columns() -> Vec<Who> {
        vec![Who::Rangesteal, Who::Control, Who::Rayon, Who::Chili, Who::On]
    }

    pub(crate) fn pool(&self, who: Who) -> &Pool {
        if who == Who::Control { &self.rivals.control } else { self.pool }
    }

    pub(crate) fn rayon(&self) -> &rayon::ThreadPool {
        &self.rivals.rayon
    }

    pub(crate) fn chili(&self) -> &chili::ThreadPool {
        &self.rivals.chili
    }

    /// The pool has pinned this thread. Rivals let the system place their threads, so the pin would
    /// be a handicap to them.
    pub(crate) fn freed_for(&self, who: Who) -> Option<Freed> {
        matches!(who, Who::Rayon | Who::Chili).then(|| Freed::to(&self.rivals.mask))
    }
}
