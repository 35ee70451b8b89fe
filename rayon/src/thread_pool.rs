//! Thread pools other than the global pool.

use std::{
    any::Any,
    error::Error,
    fmt,
    sync::{Mutex, PoisonError},
};

use rangesteal::{BuildError, PoolBuilder};

use crate::{
    absent::{
        BroadcastContext, BroadcastIsNotThere, SpawnIsNotThere, SpawnedThreadsAreNotThere, ThreadBuilder,
    },
    join::join_in,
    pool::{self, Shared, current, inside},
    scope::{Scope, ScopeFifo, in_order, in_scope},
};

/// A pool of threads. Loops inside [`install`](Self::install) run on this pool.
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
    /// Calls `op`. Loops in `op` run on this pool. If a [stack
    /// size](ThreadPoolBuilder::stack_size) was given, a thread of the pool calls `op`, as in
    /// rayon; otherwise this thread does.
    pub fn install<OP: FnOnce() -> R + Send, R: Send>(&self, op: OP) -> R {
        inside(&self.0, op)
    }

    /// The number of threads that work at a loop, including the calling thread.
    #[must_use]
    pub fn current_num_threads(&self) -> usize {
        self.0.num_threads()
    }

    /// The number of this thread in the pool, if it works for the pool.
    #[must_use]
    pub fn current_thread_index(&self) -> Option<usize> {
        pool::worker(Some(&self.0))
    }

    /// `Some(false)` if this thread works for the pool, because a thread never has pending tasks.
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().map(|_| false)
    }

    /// [`join`](crate::join()) on this pool.
    pub fn join<A, B, RA, RB>(&self, oper_a: A, oper_b: B) -> (RA, RB)
    where
        A: FnOnce() -> RA + Send,
        B: FnOnce() -> RB + Send,
        RA: Send,
        RB: Send,
    {
        inside(&self.0, || join_in(&self.0, oper_a, oper_b))
    }

    /// Calls `op` with a scope, and returns when all tasks of the scope are done.
    pub fn scope<'scope, OP: FnOnce(&Scope<'scope>) -> R + Send, R: Send>(&self, op: OP) -> R {
        inside(&self.0, || in_scope(&self.0, op))
    }

    /// Calls `op` with a scope whose tasks begin in the order in which they are spawned.
    pub fn scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R + Send, R: Send>(&self, op: OP) -> R {
        inside(&self.0, || in_order(&self.0, op))
    }

    /// Calls `op` with a scope, and returns when all tasks of the scope are done.
    pub fn in_place_scope<'scope, OP: FnOnce(&Scope<'scope>) -> R, R>(&self, op: OP) -> R {
        in_scope(&self.0, op)
    }

    /// Calls `op` with a scope whose tasks begin in the order in which they are spawned.
    pub fn in_place_scope_fifo<'scope, OP: FnOnce(&ScopeFifo<'scope>) -> R, R>(&self, op: OP) -> R {
        in_order(&self.0, op)
    }

    /// Does nothing, because a thread never has pending tasks. Returns `None` if this thread does
    /// not work for this pool.
    #[must_use]
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().map(|_| Yield::Idle)
    }

    /// Does nothing, because a thread never has pending tasks. Returns `None` if this thread does
    /// not work for this pool.
    #[must_use]
    pub fn yield_local(&self) -> Option<Yield> {
        self.yield_now()
    }

    /// Not in this crate: a call is a compile error.
    pub fn spawn<OP: FnOnce() + Send + 'static + SpawnIsNotThere>(&self, _op: OP) {}

    /// Not in this crate: a call is a compile error.
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static + SpawnIsNotThere>(&self, _op: OP) {}

    /// Not in this crate: a call is a compile error.
    #[must_use]
    pub fn broadcast<OP, R: Send>(&self, _op: OP) -> Vec<R>
    where
        OP: Fn(BroadcastContext<'_>) -> R + Sync + BroadcastIsNotThere,
    {
        Vec::new()
    }

    /// Not in this crate: a call is a compile error.
    pub fn spawn_broadcast<OP>(&self, _op: OP)
    where
        OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static + BroadcastIsNotThere,
    {
    }
}

/// The result of a yield. This crate always returns [`Idle`](Self::Idle).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// The thread has run a task.
    Executed,
    /// The thread has found no task.
    Idle,
}

/// Does nothing, because a thread never has pending tasks. Returns `None` if this thread works for
/// no pool.
#[must_use]
pub fn yield_now() -> Option<Yield> {
    current_thread_index().map(|_| Yield::Idle)
}

/// Does nothing, because a thread never has pending tasks. Returns `None` if this thread works for
/// no pool.
#[must_use]
pub fn yield_local() -> Option<Yield> {
    yield_now()
}

/// The number of threads, including this thread, that work at a loop of this thread.
#[must_use]
pub fn current_num_threads() -> usize {
    current().num_threads()
}

/// The number of this thread in its pool, if the thread works for a pool.
#[must_use]
pub fn current_thread_index() -> Option<usize> {
    pool::worker(None)
}

/// The largest number of threads of a pool.
#[must_use]
pub fn max_num_threads() -> usize {
    if cfg!(feature = "threads") { 1 << 16 } else { 1 }
}

/// Builds a [`ThreadPool`], or the global pool, with options.
#[derive(Default)]
pub struct ThreadPoolBuilder {
    threads: usize,
    stack: Option<usize>,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    start: Option<Handler>,
    exit: Option<Handler>,
}

/// A function that a thread calls with its number.
type Handler = Box<dyn Fn(usize) + Send + Sync>;

impl ThreadPoolBuilder {
    /// Begins with default options: one thread per CPU that this process may use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn options(self) -> PoolBuilder {
        let Self { threads, stack, name, start, exit } = self;
        let threads = if cfg!(feature = "threads") { threads } else { 1 };
        let mut options = pool::options(Some(threads).filter(|threads| *threads > 0));
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

    /// Builds a pool, and starts its threads.
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let has_stack = self.stack.is_some() && cfg!(feature = "threads");
        let pool = self.options().build().map_err(ThreadPoolBuildError)?;
        Ok(ThreadPool(Shared::own(pool, has_stack)))
    }

    /// Builds the global pool, and starts its threads.
    ///
    /// # Errors
    /// If the threads cannot be started, or the global pool exists already.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let has_stack = self.stack.is_some();
        pool::build_global(self.options(), has_stack).map_err(ThreadPoolBuildError)
    }

    /// Sets the number of threads, including the calling thread. 0 means one thread per CPU.
    #[must_use]
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { threads: num_threads, ..self }
    }

    /// Sets the names of the threads that the pool starts. `closure` is also called with 0, for the
    /// thread of [`install`](ThreadPool::install) in a pool with a stack size.
    #[must_use]
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        Self { name: Some(Box::new(closure)), ..self }
    }

    /// Sets the stack size, in bytes, of each thread that the pool starts. With a stack size,
    /// loops, [`install`](ThreadPool::install), `join` and `scope` that are called from outside of
    /// the pool run on a thread of the pool, with the number 0, as in rayon. Such a call takes some
    /// 10 µs more. Loops inside of `install` do not.
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self { stack: Some(stack_size), ..self }
    }

    /// Has no effect: the calling thread always works.
    #[must_use]
    pub fn use_current_thread(self) -> Self {
        self
    }

    /// Has no effect: this crate has no `spawn` whose panics the handler would receive.
    #[must_use]
    pub fn panic_handler<H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static>(self, _handler: H) -> Self {
        self
    }

    /// Has no effect: this crate has no `spawn` whose tasks this option would order.
    #[deprecated(note = "use `scope_fifo`")]
    #[must_use]
    pub fn breadth_first(self) -> Self {
        self
    }

    /// Sets a function that each thread of the pool calls with its number, from 1 on, before its
    /// first work; with a stack size, also with 0 on the thread of
    /// [`install`](ThreadPool::install). If the function panics, the pool is not built.
    #[must_use]
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { start: Some(Box::new(handler)), ..self }
    }

    /// Sets a function that each thread of the pool calls with its number, as the
    /// [`start_handler`](Self::start_handler), after its last work.
    #[must_use]
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { exit: Some(Box::new(handler)), ..self }
    }

    /// Not in this crate: a call is a compile error.
    #[must_use]
    pub fn spawn_handler<F>(self, _spawn: F) -> Self
    where
        F: FnMut(ThreadBuilder) -> std::io::Result<()> + SpawnedThreadsAreNotThere,
    {
        self
    }

    /// Not in this crate: a call is a compile error.
    ///
    /// # Errors
    /// Never returns an error: a call is a compile error.
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
