//! Pools of their own.

use std::{
    any::Any,
    error::Error,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use rangesteal::{BuildError, Pool, PoolBuilder};

use crate::{
    absent::{
        BroadcastContext, BroadcastIsNotThere, SpawnIsNotThere, SpawnedThreadsAreNotThere, ThreadBuilder,
    },
    join::join_in,
    pool::{self, Seat, Shared, current},
    scope::{Scope, ScopeFifo, in_order, in_scope},
};

/// A pool of threads: loops inside [`install`](Self::install) run on it.
///
/// ```
/// # use rangesteal_rayon as rayon;
/// use rayon::prelude::*;
///
/// let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build()?;
/// let sum: u32 = pool.install(|| (0..100_u32).into_par_iter().sum());
/// assert_eq!(sum, 4950);
/// # Ok::<(), rayon::ThreadPoolBuildError>(())
/// ```
#[derive(Debug)]
pub struct ThreadPool(Shared);

impl ThreadPool {
    /// Calls `op` on this thread; the loops in it run on this pool.
    pub fn install<OP: FnOnce() -> R + Send, R: Send>(&self, op: OP) -> R {
        let _seat = Seat::take(&self.0, 0);
        op()
    }

    /// The number of threads that work at a loop, the calling one included.
    #[must_use]
    pub fn current_num_threads(&self) -> usize {
        self.0.num_threads()
    }

    /// The number of this thread in the pool, if it works there.
    #[must_use]
    pub fn current_thread_index(&self) -> Option<usize> {
        pool::worker(Some(&self.0))
    }

    /// Whether this thread has tasks that wait, if it works in the pool: it never has.
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().map(|_| false)
    }

    /// Calls both closures, perhaps at the same time, and returns what they return.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        join_in(&self.0, oper_a, oper_b)
    }

    /// Calls `op` with a scope, and returns when all tasks of the scope are done.
    pub fn scope<'scope, OP: FnOnce(&Scope<'scope>) -> R + Send, R: Send>(&self, op: OP) -> R {
        in_scope(&self.0, op)
    }

    /// Calls `op` with a scope whose tasks begin in the order in which they are spawned.
    pub fn scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R + Send, R: Send>(&self, op: OP) -> R {
        in_order(&self.0, op)
    }

    /// Calls `op` with a scope, and returns when all tasks of the scope are done.
    pub fn in_place_scope<'scope, OP: FnOnce(&Scope<'scope>) -> R, R>(&self, op: OP) -> R {
        in_scope(&self.0, op)
    }

    /// Calls `op` with a scope whose tasks begin in the order in which they are spawned.
    pub fn in_place_scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R, R>(&self, op: OP) -> R {
        in_order(&self.0, op)
    }

    /// Nothing: there are no tasks to run in between.
    #[must_use]
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().map(|_| Yield::Idle)
    }

    /// Nothing: there are no tasks to run in between.
    #[must_use]
    pub fn yield_local(&self) -> Option<Yield> {
        self.yield_now()
    }

    /// Not there: the compiler refuses it.
    pub fn spawn<OP: FnOnce() + Send + 'static + SpawnIsNotThere>(&self, _op: OP) {}

    /// Not there: the compiler refuses it.
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static + SpawnIsNotThere>(&self, _op: OP) {}

    /// Not there: the compiler refuses it.
    #[must_use]
    pub fn broadcast<OP, R: Send>(&self, _op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync + BroadcastIsNotThere,
    {
        Vec::new()
    }

    /// Not there: the compiler refuses it.
    pub fn spawn_broadcast<OP>(&self, _op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static + BroadcastIsNotThere,
    {
    }
}

/// What a thread has done that gave way: it never has anything to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// It has run a task.
    Executed,
    /// There was no task.
    Idle,
}

/// Nothing: there are no tasks to run in between.
#[must_use]
pub fn yield_now() -> Option<Yield> {
    current_thread_index().map(|_| Yield::Idle)
}

/// Nothing: there are no tasks to run in between.
#[must_use]
pub fn yield_local() -> Option<Yield> {
    yield_now()
}

/// The number of threads that work at a loop which begins here.
#[must_use]
pub fn current_num_threads() -> usize {
    current().num_threads()
}

/// The number of this thread in its pool, if it works in one.
#[must_use]
pub fn current_thread_index() -> Option<usize> {
    pool::worker(None)
}

/// The most threads that a pool can have.
#[must_use]
pub fn max_num_threads() -> usize {
    if cfg!(feature = "threads") { 1 << 16 } else { 1 }
}

/// Options of a pool that is to be built.
#[derive(Default)]
pub struct ThreadPoolBuilder {
    threads: usize,
    stack: Option<usize>,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    start: Option<Handler>,
    exit: Option<Handler>,
}

/// What a thread calls with its number.
type Handler = Box<dyn Fn(usize) + Send + Sync>;

impl ThreadPoolBuilder {
    /// A pool of as many threads as there are CPUs for this process.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn options(self) -> PoolBuilder {
        let Self { threads, stack, name, start, exit } = self;
        let threads = if !cfg!(feature = "threads") {
            Some(1)
        } else if threads == 0 {
            pool::wanted()
        } else {
            Some(threads)
        };
        let mut options = Pool::builder();
        if let Some(threads) = threads {
            options = options.num_threads(threads);
        }
        if let Some(bytes) = stack {
            options = options.stack_size(bytes);
        }
        if let Some(name) = name {
            let name = Mutex::new(name);
            options = options.thread_name(move |worker| {
                let mut name = name.lock().unwrap_or_else(PoisonError::into_inner);
                (*name)(worker)
            });
        }
        if let Some(start) = start {
            options = options.start_handler(start);
        }
        if let Some(exit) = exit {
            options = options.exit_handler(exit);
        }
        options
    }

    /// Starts the threads.
    ///
    /// # Errors
    /// If they cannot be started.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let pool = self.options().build().map_err(ThreadPoolBuildError)?;
        Ok(ThreadPool(Shared::Own(Arc::new(pool))))
    }

    /// Starts the threads of the global pool.
    ///
    /// # Errors
    /// If they cannot be started, or the global pool has been built.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        pool::build_global(self.options()).map_err(ThreadPoolBuildError)
    }

    /// So many threads, the calling one included; 0 for as many as there are CPUs.
    #[must_use]
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { threads: num_threads, ..self }
    }

    /// The names of the threads that the pool starts.
    #[must_use]
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        Self { name: Some(Box::new(closure)), ..self }
    }

    /// In bytes: the stack of each thread that the pool starts.
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self { stack: Some(stack_size), ..self }
    }

    /// Nothing: the calling thread always works.
    #[must_use]
    pub fn use_current_thread(self) -> Self {
        self
    }

    /// Nothing: there is no `spawn` whose panics it would be called for.
    #[must_use]
    pub fn panic_handler<H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static>(self, _handler: H) -> Self {
        self
    }

    /// Nothing: there is no `spawn` whose tasks it would order.
    #[deprecated(note = "use `scope_fifo`")]
    #[must_use]
    pub fn breadth_first(self) -> Self {
        self
    }

    /// Each thread that the pool starts calls it with its number, from 1 on, before it works. If it
    /// panics, the pool is not built.
    #[must_use]
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { start: Some(Box::new(handler)), ..self }
    }

    /// Each thread that the pool starts calls it with its number, from 1 on, after its last work.
    #[must_use]
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { exit: Some(Box::new(handler)), ..self }
    }

    /// Not there: the compiler refuses it.
    #[must_use]
    pub fn spawn_handler<F>(self, _spawn: F) -> Self
    where
        F: FnMut(ThreadBuilder) -> std::io::Result<()> + SpawnedThreadsAreNotThere,
    {
        self
    }

    /// Not there: the compiler refuses it.
    ///
    /// # Errors
    /// None, since nothing calls it.
    pub fn build_scoped<W, F, R>(self, _wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync + SpawnedThreadsAreNotThere,
        F: FnOnce(&ThreadPool) -> R,
    {
        self.build().map(|pool| with_pool(&pool))
    }
}

impl fmt::Debug for ThreadPoolBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder").field("num_threads", &self.threads).finish_non_exhaustive()
    }
}

/// Why a pool was not built.
#[derive(Debug)]
pub struct ThreadPoolBuildError(BuildError);

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for ThreadPoolBuildError {
    #[track_caller]
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
