//! Thread pools other than the global pool.

use std::{any::Any, error::Error, fmt, io, sync::Mutex, thread};

use rangesteal::{BuildError, PoolBuilder, WorkerThread};

#[allow(deprecated, reason = "rayon-core has it")]
use crate::configuration::Configuration;
use crate::{
    join::join_in,
    pool::{self, Shared, current, inside},
    scope::{Scope, ScopeFifo, in_order, in_scope},
    spawn::{BroadcastContext, broadcast_on, spawn_broadcast_on, spawn_on},
    sync::lock,
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
///
/// Dropping the pool waits until its tasks have ended, except those that were given to
/// [`spawn`](Self::spawn) and its kin: these run on, and the threads end after them.
#[derive(Debug)]
pub struct ThreadPool(Shared);

impl Drop for ThreadPool {
    fn drop(&mut self) {
        pool::forget_current(&self.0);
    }
}

impl ThreadPool {
    /// Builds a pool.
    ///
    /// # Errors
    /// As [`ThreadPoolBuilder::build`].
    #[deprecated(note = "use `ThreadPoolBuilder::build`")]
    #[allow(deprecated, reason = "rayon-core has it")]
    pub fn new(configuration: Configuration) -> Result<Self, Box<dyn Error>> {
        configuration.build()
    }

    /// Calls `op`. Loops in `op` run on this pool. If the pool has a
    /// [`stack_size`](ThreadPoolBuilder::stack_size), a
    /// [`start_handler`](ThreadPoolBuilder::start_handler), an
    /// [`exit_handler`](ThreadPoolBuilder::exit_handler) or a
    /// [`spawn_handler`](ThreadPoolBuilder::spawn_handler), a thread of the pool calls `op`, as in
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

    /// Whether a task waits that this thread may run, if it works for the pool. Tasks of scopes do
    /// not count.
    #[must_use]
    pub fn current_thread_has_pending_tasks(&self) -> Option<bool> {
        self.current_thread_index().map(|_| has_tasks(&self.0))
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

    /// Runs a spawned task that waits, if there is one. Returns `None` if this thread does not work
    /// for this pool.
    #[allow(clippy::must_use_candidate, reason = "called for its effect, as in rayon")]
    pub fn yield_now(&self) -> Option<Yield> {
        self.current_thread_index().map(|_| yield_to(&self.0))
    }

    /// [`yield_now`](Self::yield_now): no task belongs to one thread.
    #[allow(clippy::must_use_candidate, reason = "called for its effect, as in rayon")]
    pub fn yield_local(&self) -> Option<Yield> {
        self.yield_now()
    }

    /// [`spawn`](crate::spawn()) on this pool.
    pub fn spawn<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        spawn_on(&self.0, op, false);
    }

    /// [`spawn_fifo`](crate::spawn_fifo) on this pool.
    pub fn spawn_fifo<OP: FnOnce() + Send + 'static>(&self, op: OP) {
        spawn_on(&self.0, op, true);
    }

    /// [`broadcast`](crate::broadcast) on this pool.
    pub fn broadcast<OP: Fn(BroadcastContext<'_>) -> R + Sync, R: Send>(&self, op: OP) -> Vec<R> {
        inside(&self.0, || broadcast_on(&self.0, &op))
    }

    /// [`spawn_broadcast`](crate::spawn_broadcast) on this pool.
    pub fn spawn_broadcast<OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static>(&self, op: OP) {
        spawn_broadcast_on(&self.0, op);
    }
}

fn yield_to(pool: &Shared) -> Yield {
    pool.local().give_to(pool);
    if pool.run_task() { Yield::Executed } else { Yield::Idle }
}

fn has_tasks(pool: &Shared) -> bool {
    pool.local().has_kept() || pool.has_tasks()
}

/// The result of a yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Yield {
    /// The thread has run a task.
    Executed,
    /// The thread has found no task.
    Idle,
}

/// Runs a spawned task that waits, if there is one. Returns `None` if this thread works for no
/// pool.
#[allow(clippy::must_use_candidate, reason = "called for its effect, as in rayon")]
pub fn yield_now() -> Option<Yield> {
    current_thread_index().map(|_| yield_to(&current()))
}

/// [`yield_now`]: no task belongs to one thread.
#[allow(clippy::must_use_candidate, reason = "called for its effect, as in rayon")]
pub fn yield_local() -> Option<Yield> {
    yield_now()
}

/// Whether a task waits that this thread may run, if it works for a pool. Tasks of scopes do not
/// count.
#[must_use]
pub fn current_thread_has_pending_tasks() -> Option<bool> {
    current_thread_index().map(|_| has_tasks(&current()))
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

/// Builds a [`ThreadPool`], or the global pool, with options. `S` starts the threads.
pub struct ThreadPoolBuilder<S = DefaultSpawn> {
    threads: usize,
    stack: Option<usize>,
    name: Option<Box<dyn FnMut(usize) -> String>>,
    start: Option<Handler>,
    exit: Option<Handler>,
    panic: Option<PanicHandler>,
    uses_current_thread: bool,
    spawn: S,
}

/// A function that a thread calls with its number.
type Handler = Box<dyn Fn(usize) + Send + Sync>;
type PanicHandler = Box<dyn Fn(Box<dyn Any + Send>) + Send + Sync>;

/// The pool starts its threads itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct DefaultSpawn;

/// A function of the program starts the threads of the pool.
pub struct CustomSpawn<F>(F);

impl<F> fmt::Debug for CustomSpawn<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CustomSpawn").finish_non_exhaustive()
    }
}

/// How the threads of a pool are started.
#[doc(hidden)]
pub trait ThreadSpawn {
    /// Whether the program starts the threads.
    const IS_CUSTOM: bool;
    /// Builds a pool, whose threads have a name if `is_named`.
    fn build(self, options: PoolBuilder, is_named: bool) -> Result<rangesteal::Pool, BuildError>;
    /// Builds the global pool, likewise.
    fn build_global(self, options: PoolBuilder, is_named: bool, is_hosted: bool) -> Result<(), BuildError>;
}

impl ThreadSpawn for DefaultSpawn {
    const IS_CUSTOM: bool = false;

    fn build(self, options: PoolBuilder, _is_named: bool) -> Result<rangesteal::Pool, BuildError> {
        options.build()
    }

    fn build_global(self, options: PoolBuilder, _is_named: bool, is_hosted: bool) -> Result<(), BuildError> {
        pool::build_global(options, is_hosted)
    }
}

impl<F: FnMut(ThreadBuilder) -> io::Result<()>> ThreadSpawn for CustomSpawn<F> {
    const IS_CUSTOM: bool = true;

    fn build(mut self, options: PoolBuilder, is_named: bool) -> Result<rangesteal::Pool, BuildError> {
        options.spawn_handler(|worker| (self.0)(ThreadBuilder { worker, is_named })).build()
    }

    fn build_global(
        mut self,
        options: PoolBuilder,
        is_named: bool,
        is_hosted: bool,
    ) -> Result<(), BuildError> {
        let options = options.spawn_handler(|worker| (self.0)(ThreadBuilder { worker, is_named }));
        pool::build_global(options, is_hosted)
    }
}

/// The work of a thread of a pool. Given to the
/// [`spawn_handler`](ThreadPoolBuilder::spawn_handler), which has to [`run`](Self::run) it on a
/// thread of its own.
#[derive(Debug)]
pub struct ThreadBuilder {
    worker: WorkerThread,
    is_named: bool,
}

impl ThreadBuilder {
    /// The number of the thread in the pool, from 0. With
    /// [`use_current_thread`](ThreadPoolBuilder::use_current_thread) from 1.
    #[must_use]
    pub fn index(&self) -> usize {
        self.worker.index()
    }

    /// The name that [`thread_name`](ThreadPoolBuilder::thread_name) has given the thread.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.is_named.then(|| self.worker.name())
    }

    /// The [stack size](ThreadPoolBuilder::stack_size), if one was given.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        self.worker.stack_size()
    }

    /// Works for the pool. Returns when the pool is dropped.
    ///
    /// # Panics
    /// If the calling thread builds the pool.
    pub fn run(self) {
        self.worker.run();
    }
}

impl Default for ThreadPoolBuilder {
    fn default() -> Self {
        Self {
            threads: 0,
            stack: None,
            name: None,
            start: None,
            exit: None,
            panic: None,
            uses_current_thread: false,
            spawn: DefaultSpawn,
        }
    }
}

impl ThreadPoolBuilder {
    /// Begins with default options: one thread per CPU that this process may use.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Builds a pool whose threads live in a scope, calls `with_pool` with it, drops the pool, and
    /// waits for the threads. Each thread calls `wrapper`, which has to call
    /// [`run`](ThreadBuilder::run), and may set up values that the thread borrows. The thread that
    /// runs spawned tasks if no other is idle is not among them.
    ///
    /// ```
    /// # use rangesteal_rayon as rayon;
    /// use rayon::prelude::*;
    ///
    /// let sum = rayon::ThreadPoolBuilder::new().build_scoped(
    ///     |thread| thread.run(),
    ///     |pool| pool.install(|| (0..100_u32).into_par_iter().sum::<u32>()),
    /// )?;
    /// assert_eq!(sum, 4950);
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    ///
    /// # Errors
    /// If the threads cannot be started.
    pub fn build_scoped<W, F, R>(self, wrapper: W, with_pool: F) -> Result<R, ThreadPoolBuildError>
    where
        W: Fn(ThreadBuilder) + Sync,
        F: FnOnce(&ThreadPool) -> R,
    {
        thread::scope(|scope| {
            let wrapper = &wrapper;
            let start = |thread: ThreadBuilder| {
                let named = thread.name().map(str::to_owned);
                let mut builder = named.into_iter().fold(thread::Builder::new(), thread::Builder::name);
                if let Some(bytes) = thread.stack_size() {
                    builder = builder.stack_size(bytes);
                }
                builder.spawn_scoped(scope, move || wrapper(thread)).map(drop)
            };
            self.spawn_handler(start).build().map(|pool| with_pool(&pool))
        })
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Builds a pool, and starts its threads.
    ///
    /// # Errors
    /// If the threads cannot be started. With [`use_current_thread`](Self::use_current_thread): if
    /// the calling thread already works for a pool.
    pub fn build(self) -> Result<ThreadPool, ThreadPoolBuildError> {
        let is_hosted = self.is_hosted();
        self.check_current_thread()?;
        let uses_current_thread = self.uses_current_thread;
        let (options, spawn, is_named) = self.options();
        let pool = spawn.build(options, is_named).map_err(Refused::Pool)?;
        let pool = Shared::own(pool, is_hosted);
        if uses_current_thread {
            pool::set_current(&pool);
        }
        Ok(ThreadPool(pool))
    }

    /// Builds the global pool, and starts its threads.
    ///
    /// # Errors
    /// If the threads cannot be started, or the global pool exists already. With
    /// [`use_current_thread`](Self::use_current_thread): if the calling thread already works for a
    /// pool.
    pub fn build_global(self) -> Result<(), ThreadPoolBuildError> {
        let is_hosted = self.is_hosted();
        self.check_current_thread()?;
        let uses_current_thread = self.uses_current_thread;
        let (options, spawn, is_named) = self.options();
        spawn.build_global(options, is_named, is_hosted).map_err(Refused::Pool)?;
        if uses_current_thread {
            pool::set_current(&current());
        }
        Ok(())
    }

    fn check_current_thread(&self) -> Result<(), Refused> {
        if self.uses_current_thread && current_thread_index().is_some() {
            return Err(Refused::CurrentThread);
        }
        Ok(())
    }
}

impl<S: ThreadSpawn> ThreadPoolBuilder<S> {
    /// Whether the program has prepared the threads of the pool. Then calls from outside run on
    /// one of these threads, with the number 0, which starts with the pool.
    fn is_hosted(&self) -> bool {
        let prepares = self.stack.is_some() || self.start.is_some() || self.exit.is_some() || S::IS_CUSTOM;
        prepares && !self.uses_current_thread && cfg!(feature = "threads")
    }

    fn options(self) -> (PoolBuilder, S, bool) {
        let is_hosted = self.is_hosted();
        let Self { threads, stack, name, start, exit, panic, spawn, .. } = self;
        let is_named = name.is_some();
        let mut options = pool::options(Some(threads).filter(|threads| *threads > 0));
        if is_hosted {
            options = options.hosted();
        }
        if let Some(bytes) = stack {
            options = options.stack_size(bytes);
        }
        if let Some(name) = name {
            let name = Mutex::new(name);
            options = options.thread_name(move |worker| {
                let mut name = lock(&name);
                (*name)(worker)
            });
        }
        if let Some(start) = start {
            options = options.start_handler(start);
        }
        if let Some(exit) = exit {
            options = options.exit_handler(exit);
        }
        if let Some(panic) = panic {
            options = options.panic_handler(panic);
        }
        (options, spawn, is_named)
    }
}

impl<S> ThreadPoolBuilder<S> {
    /// Sets the number of threads, including the calling thread. 0 means one thread per CPU.
    #[must_use]
    pub fn num_threads(self, num_threads: usize) -> Self {
        Self { threads: num_threads, ..self }
    }

    /// Sets the names of the threads that the pool starts. `closure` is also called with 0, for the
    /// thread of [`install`](ThreadPool::install) if the pool has one, and for the thread of tasks
    /// that find no idle thread.
    #[must_use]
    pub fn thread_name<F: FnMut(usize) -> String + 'static>(self, closure: F) -> Self {
        Self { name: Some(Box::new(closure)), ..self }
    }

    /// Sets the stack size, in bytes, of each thread that the pool starts. With a stack size,
    /// loops, [`install`](ThreadPool::install), `join` and `scope` that are called from outside of
    /// the pool run on a thread of the pool, with the number 0, as in rayon. Such a call takes some
    /// 10 µs more. Loops inside of `install` do not. With
    /// [`use_current_thread`](Self::use_current_thread) they run on the calling thread.
    #[must_use]
    pub fn stack_size(self, stack_size: usize) -> Self {
        Self { stack: Some(stack_size), ..self }
    }

    /// Makes the calling thread number 0 of the pool that it builds: its loops, tasks and scopes
    /// outside of [`install`](ThreadPool::install) run on this pool, until the thread drops the
    /// pool. The calling thread of a loop always works at the loop, with and without this.
    #[must_use]
    pub fn use_current_thread(self) -> Self {
        Self { uses_current_thread: true, ..self }
    }

    /// Sets a function that is given the payload of each panic of a spawned task, and of the
    /// handlers of threads. Without it, or if it panics, such a panic aborts the process. The
    /// panics of loops, `join`, scopes and [`broadcast`](crate::broadcast) come out of their calls.
    #[must_use]
    pub fn panic_handler<H: Fn(Box<dyn Any + Send>) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { panic: Some(Box::new(handler)), ..self }
    }

    /// Has no effect: spawned tasks begin in the order in which they are spawned.
    #[deprecated(note = "use `scope_fifo`")]
    #[must_use]
    pub fn breadth_first(self) -> Self {
        self
    }

    /// Sets a function that each thread of the pool calls with its number before its first work.
    /// [`build`](Self::build) does not wait for it. The thread of tasks that find no idle thread
    /// calls it, too, with the number 0. Calls from outside run on a thread of the pool, as with a
    /// [`stack_size`](Self::stack_size).
    #[must_use]
    pub fn start_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { start: Some(Box::new(handler)), ..self }
    }

    /// Sets a function that each thread of the pool calls with its number, as the
    /// [`start_handler`](Self::start_handler), after its last work. Dropping the pool does not wait
    /// for it.
    #[must_use]
    pub fn exit_handler<H: Fn(usize) + Send + Sync + 'static>(self, handler: H) -> Self {
        Self { exit: Some(Box::new(handler)), ..self }
    }

    /// Sets a function that starts the threads of the pool. It is called once for each thread, with
    /// the numbers from 0 on. It has to run each [`ThreadBuilder`] on a thread of its own. Calls
    /// from outside run on the thread with the number 0, as with a
    /// [`stack_size`](Self::stack_size).
    ///
    /// ```
    /// # use rangesteal_rayon as rayon;
    /// let start = |thread: rayon::ThreadBuilder| {
    ///     std::thread::spawn(|| thread.run());
    ///     Ok(())
    /// };
    /// let pool = rayon::ThreadPoolBuilder::new().num_threads(3).spawn_handler(start).build()?;
    /// let numbers: Vec<_> = (0..pool.current_num_threads()).collect();
    /// assert_eq!(pool.broadcast(|context| context.index()), numbers); // [0, 1, 2]
    /// # Ok::<(), rayon::ThreadPoolBuildError>(())
    /// ```
    #[must_use]
    pub fn spawn_handler<F>(self, spawn: F) -> ThreadPoolBuilder<CustomSpawn<F>>
    where
        F: FnMut(ThreadBuilder) -> io::Result<()>,
    {
        let Self { threads, stack, name, start, exit, panic, uses_current_thread, .. } = self;
        let spawn = CustomSpawn(spawn);
        ThreadPoolBuilder { threads, stack, name, start, exit, panic, uses_current_thread, spawn }
    }
}

impl<S> fmt::Debug for ThreadPoolBuilder<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ThreadPoolBuilder").field("num_threads", &self.threads).finish_non_exhaustive()
    }
}

/// Why a pool was not built.
#[derive(Debug)]
pub struct ThreadPoolBuildError(Refused);

#[derive(Debug)]
enum Refused {
    Pool(BuildError),
    CurrentThread,
}

impl From<Refused> for ThreadPoolBuildError {
    fn from(refused: Refused) -> Self {
        Self(refused)
    }
}

impl fmt::Display for ThreadPoolBuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // Programs compare this message with rayon's.
            Refused::Pool(BuildError::GlobalExists) => {
                f.write_str("The global thread pool has already been initialized.")
            }
            Refused::Pool(error) => error.fmt(f),
            Refused::CurrentThread => f.write_str(
                "use_current_thread: the calling thread already works for a pool: call `build` outside of \
                 `install`, and on another thread than that of the pool before",
            ),
        }
    }
}

impl Error for ThreadPoolBuildError {
    #[track_caller]
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match &self.0 {
            Refused::Pool(error) => error.source(),
            Refused::CurrentThread => None,
        }
    }
}
