//! The threads of a count: this thread alone, or the threads of a pool. The pool reads the ballots,
//! lays them out, and counts them.

use crate::error::CountError;
use rangesteal::{Pinning, Pool};
use std::{cmp::Ordering, num::NonZeroUsize};

stv_ballots::named! {
    /// The threads that distribute the ballots.
    Parallel {
        /// One thread, a plain loop
        No = "no",
        /// The threads of this crate's pool
        Pool = "pool",
    }
}

/// The user's choice of threads.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    pub parallel: Parallel,
    /// The number of threads of the pool. `None` stands for `RANGESTEAL_NUM_THREADS`, or without
    /// this variable for all threads of the machine.
    pub number: Option<NonZeroUsize>,
    /// Whether each thread of the pool, the caller included, stays on its own CPU. `None` stands
    /// for the default of the pool.
    pub pinning: Option<Pinning>,
}

impl Threads {
    /// Runs `work` with these threads. Until `work` returns, the calling thread is a worker of the
    /// pool, and is pinned like the other workers.
    pub fn together<R>(self, work: impl FnOnce(Crew<'_>) -> R) -> Result<R, CountError> {
        if self.parallel == Parallel::No {
            return Ok(work(Crew::ALONE));
        }
        let mut builder = Pool::builder();
        if let Some(pinning) = self.pinning {
            builder = builder.pinning(pinning);
        }
        if let Some(number) = self.number {
            builder = builder.num_threads(number.get());
        }
        let worked = builder.scope(|pool| {
            log::debug!("{}", pool.placement());
            work(Crew::of(pool))
        });
        worked.map_err(|error| CountError::Threads(error.to_string()))
    }
}

/// The threads of a count. The ballots and the votes do not depend on their number.
#[derive(Debug, Clone, Copy)]
pub struct Crew<'a>(Option<&'a Pool>);

impl<'a> Crew<'a> {
    /// The calling thread alone.
    pub const ALONE: Crew<'static> = Crew(None);

    /// The threads of a pool.
    pub(crate) fn of(pool: &'a Pool) -> Self {
        Self(Some(pool))
    }

    /// The pool, if the crew is the threads of a pool.
    pub(crate) fn pool(self) -> Option<&'a Pool> {
        self.0
    }

    /// The number of thefts since the pool began. `None` without a pool.
    pub(crate) fn thefts(self) -> Option<u64> {
        self.0.map(Pool::thefts)
    }

    /// The number of threads.
    pub fn threads(self) -> usize {
        self.0.map_or(1, Pool::num_threads)
    }

    /// Calls `work` with each number below `number`.
    pub fn each(self, number: usize, work: &(dyn Fn(usize) + Sync)) {
        match self.0 {
            Some(pool) => pool.on(0..number).for_each(work),
            None => (0..number).for_each(work),
        }
    }

    /// The results of `map` for all items, in order. `make` gives each thread its own state.
    pub(crate) fn map<T: Sync, W, R: Send>(
        self,
        items: &[T],
        make: impl Fn() -> W + Sync,
        map: impl Fn(&mut W, &T) -> R + Sync,
    ) -> Vec<R> {
        if let Some(pool) = self.0 {
            return pool.on(items).with(|_| make()).map(|(own, item)| map(own, item)).collect();
        }
        let mut own = make();
        items.iter().map(|item| map(&mut own, item)).collect()
    }

    /// Calls `change` with each item.
    pub(crate) fn change<T: Send>(self, items: &mut [T], change: impl Fn(&mut T) + Sync) {
        match self.0 {
            Some(pool) => pool.for_each_mut(items, change),
            None => items.iter_mut().for_each(change),
        }
    }

    /// Sorts the items. Equal items may come in any order.
    pub(crate) fn sort_by<T: Send>(self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        match self.0 {
            Some(pool) => pool.sort_unstable_by(items, compare),
            None => items.sort_unstable_by(compare),
        }
    }
}
