//! The executors of this bench.

use std::{future::pending, hint::black_box, sync::Arc, thread};

use async_executor::Executor;
use nix::sched::CpuSet;
use rangesteal::Pool;
use tokio::runtime::Runtime;

use crate::{
    item::{Item, busy},
    load::Load,
    machine::{self, Freed},
    ours, rivals,
    timer::{self, AsyncIo, Own, Tokio},
    who::Who,
    work::links,
};

/// The rivals' executors, and the features of the machine.
pub(crate) struct Rivals {
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    pub(crate) tokio: Runtime,
    pub(crate) executor: Arc<Executor<'static>>,
    pub(crate) rayon: rayon::ThreadPool,
    control: Pool,
    one: Pool,
}

impl Rivals {
    /// Call this before any pool has pinned this thread.
    pub(crate) fn new(threads: usize) -> Self {
        timer::start();
        let executor = Arc::new(Executor::new());
        for _ in 1..threads {
            let executor = Arc::clone(&executor);
            thread::spawn(move || async_io::block_on(executor.run(pending::<()>())));
        }
        let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_time().build();
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let pool = |threads| Pool::builder().num_threads(threads).build().expect("a pool");
        Self {
            threads,
            mask: machine::mask(),
            tokio: tokio.expect("a runtime of tokio's"),
            executor,
            rayon: rayon.expect("a pool of rayon's"),
            control: pool(threads),
            one: pool(1),
        }
    }
}

/// The executors of all libraries.
pub(crate) struct Entrants<'p> {
    pool: &'p Pool,
    pub(crate) rivals: Rivals,
    pub(crate) rounds: usize,
    /// Whether rows have their full length.
    pub(crate) is_full: bool,
}

impl<'p> Entrants<'p> {
    pub(crate) fn new(pool: &'p Pool, rivals: Rivals, rounds: usize, is_full: bool) -> Self {
        Self { pool, rivals, rounds, is_full }
    }

    /// The columns of the table.
    pub(crate) fn columns() -> Vec<Who> {
        let ours = [Who::Rangesteal, Who::Control, Who::On];
        let others = [Who::Tokio, Who::AsyncExecutor, Who::Unordered, Who::Rayon, Who::Threads, Who::Plain];
        [&ours[..], &others[..]].concat()
    }

    pub(crate) fn pool(&self, who: Who) -> &Pool {
        match who {
            Who::Control => &self.rivals.control,
            Who::One => &self.rivals.one,
            _ => self.pool,
        }
    }

    /// A pool that has run no loop with waits.
    pub(crate) fn new_pool(&self) -> Pool {
        let _freed = Freed::to(&self.rivals.mask);
        let pool = Pool::builder().num_threads(self.rivals.threads).build().expect("a pool");
        pool.for_each(&[links(2_000_000); 8], |links| _ = black_box(busy(*links))); // starts its threads
        pool
    }

    /// The pool has pinned this thread. Rivals let the system place their threads, so the pin would
    /// be a handicap to them.
    pub(crate) fn freed_for(&self, who: Who) -> Option<Freed> {
        let is_ours = matches!(who.column(), Who::Rangesteal | Who::Control | Who::On);
        (!is_ours).then(|| Freed::to(&self.rivals.mask))
    }

    /// Runs a load. `pool` is a new pool of rangesteal, if the load needs one.
    pub(crate) fn run(&self, who: Who, load: &Load, pool: Option<&Pool>) -> u64 {
        let Load { items, limit, .. } = load;
        let (limit, rivals, pool) = (*limit, &self.rivals, pool.unwrap_or(self.pool(who)));
        match who {
            Who::Tokio => rivals::tokio(&rivals.tokio, items, limit, |item: Item| item.run(Tokio)),
            Who::AsyncExecutor => {
                rivals::async_executor(&rivals.executor, items, limit, |item: Item| item.run(AsyncIo))
            }
            Who::Unordered => rivals::unordered(items, limit, |item| item.run(Own)),
            Who::Rayon => rivals::rayon(&rivals.rayon, items, |item| item.block()),
            Who::Threads => rivals::threads(items, limit, |item| item.block()),
            Who::Plain => items.iter().map(|item| item.block()).fold(0, u64::wrapping_add),
            Who::WokenByTokio => ours::run_in(rivals.tokio.handle(), pool, items, limit),
            Who::WokenByAsyncIo => ours::run(pool, items, limit, AsyncIo),
            _ => ours::run(pool, items, limit, Own),
        }
    }
}
