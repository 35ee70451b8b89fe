//! The executors.

use std::num::NonZero;

use nix::sched::CpuSet;
use rangesteal::Pool;

use crate::{
    machine::{self, Freed},
    who::Who,
};

/// Stacks of rayon's threads: where it steals, it goes deeper than the tree.
const STACK: usize = 256 << 20;

/// Those that are not ours, and what the machine has.
pub(crate) struct Rivals {
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    rayon: rayon::ThreadPool,
    chili: chili::ThreadPool,
    control: Pool,
}

impl Rivals {
    /// To be called before any pool has pinned this thread.
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

/// All of them.
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

    /// The pool has pinned this thread. To rivals, whose threads go where they like, that would be
    /// a handicap.
    pub(crate) fn freed_for(&self, who: Who) -> Option<Freed> {
        matches!(who, Who::Rayon | Who::Chili).then(|| Freed::to(&self.rivals.mask))
    }
}
