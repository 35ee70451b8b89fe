//! The pool that a whole program shares, and the steps that make it usable while it is being built.
//!
//! Only the thread that builds the pool waits until the pool is built. Until the pool is built,
//! `GLOBAL` holds an executor with one worker ([`begin`]), so loops run on the threads that call
//! them. If callers waited instead (as for a `OnceLock`), these programs would deadlock:
//!
//! * A logger or an allocator that uses the global pool: building the pool logs and allocates, on
//!   the building thread and on the threads that it starts. The call of the logger or allocator
//!   would wait for itself.
//! * A thread that waits for the pool while it holds a lock of the logger: building the pool needs
//!   that logger.
//! * A child that is forked while the pool is being built: the building thread does not exist in
//!   the child, so the wait would never end.

#![allow(unsafe_code)] // a static cell, which is filled later

use std::{
    io, mem,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::{
    Pool,
    builder::{PoolBuilder, log_building},
    engine::executor::Executor,
    error::BuildError,
    executor_cell::ExecutorCell,
    place::inherited_scheduling::InheritedScheduling,
    thread::WorkerThread,
};

// SAFETY: `begin` fills the cell before `Pool::global` or `build_global` hands out a reference:
// each of them has called `begin`, or has seen that another thread has set `BEGUN`, which `begin`
// sets after it has filled the cell.
static GLOBAL: Pool = Pool { cell: unsafe { ExecutorCell::empty() } };

/// Whether a thread builds the global pool, or has built it.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Fills `GLOBAL` with an executor of one worker, unless it is filled. Returns whether the caller
/// has to build the pool. Without this executor, loops that run while the pool is being built would
/// have to wait.
fn begin() -> bool {
    GLOBAL.cell.fill(Executor::of_one(Vec::new()));
    !BEGUN.swap(true, Ordering::AcqRel) // Release: partner of the load in `global`, for the filled cell
}

impl Pool {
    /// The pool of the whole program. The first use builds the pool with the defaults of
    /// [`PoolBuilder`], unless [`build_global`](PoolBuilder::build_global) has built it before.
    /// Libraries that take no `&Pool` use this pool, so that a program has no more threads than
    /// CPUs.
    ///
    /// As in any pool, a loop runs on the calling thread alone while no worker is idle. A long loop
    /// that keeps all workers busy slows down all other loops of the program: give it a pool of its
    /// own (see the [guide](crate::guide::beside#several-pools)).
    ///
    /// The threads of the pool get the CPUs and the priority that the main thread has outside of a
    /// [`scope`](PoolBuilder::scope), whichever thread uses the pool first. An unprivileged process
    /// cannot raise a priority; then a warning is logged. This function never fails. A wrong value
    /// of `RANGESTEAL_NUM_THREADS` or `RANGESTEAL_PINNING` has no effect but a warning. If the pool
    /// cannot be built, a warning is logged, the pool has one worker, and
    /// [`placement`](Self::placement) says why. In a child made by `fork`, loops run on the thread
    /// that calls them, if the parent has used the pool before. The threads are not joined at the
    /// end of the process.
    ///
    /// The first thread that uses the pool builds it, which takes as long as
    /// [`build`](PoolBuilder::build). Other threads do not wait: until the pool is built it has one
    /// worker. So [`num_threads`](Self::num_threads) changes once, and a
    /// [`PerWorker`](crate::PerWorker) that is made before the change has one state.
    ///
    /// A logger may use the pool, but must not recurse without end, since loops log at debug level.
    /// An allocator may use the pool, but must not recurse without end, since loops allocate. An
    /// allocator that uses the pool must not hold a lock that other threads need to allocate.
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let sum = Pool::global().map_reduce(&[1, 2, 3], |x| x * x, |a, b| a + b);
    /// assert_eq!(sum, Some(14));
    /// ```
    ///
    /// The caller chooses the lifetime of the result, so a function that takes an optional pool can
    /// use the global pool as its default:
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// fn total(numbers: &[f64], pool: Option<&Pool>) -> f64 {
    ///     pool.unwrap_or_else(Pool::global).on(numbers).sum()
    /// }
    ///
    /// assert_eq!(total(&[0.5, 0.25], None), 0.75);
    /// ```
    #[must_use]
    #[inline]
    pub fn global<'a>() -> &'a Self {
        Self::global_or(|| PoolBuilder::default().lenient(Vec::new()))
    }

    /// The global pool. Its first use builds it with these options, which need not be valid.
    #[doc(hidden)]
    #[inline]
    pub fn global_or<'a>(options: fn() -> PoolBuilder) -> &'a Self {
        if !BEGUN.load(Ordering::Acquire) {
            Self::first_use(options); // partner: the swap in `begin`
        }
        &GLOBAL
    }

    #[cold]
    fn first_use(options: fn() -> PoolBuilder) {
        if !begin() {
            return;
        }
        let executor =
            options().assemble(Some(InheritedScheduling::of_process()), None).unwrap_or_else(|error| {
                Executor::of_one(vec![format!("the global pool has one worker: {error}")])
            });
        GLOBAL.cell.replace(executor);
        // Logs on a thread of its own; if that thread cannot be started, the messages are lost. The
        // first use of the pool may be a call by a logger that holds a lock. Logging on this thread
        // would then take that lock twice.
        let thread = thread::Builder::new().name("rangesteal-log".into());
        let _may_fail = thread.spawn(|| log_building(GLOBAL.executor()));
    }
}

impl<S: FnMut(WorkerThread) -> io::Result<()>> PoolBuilder<S> {
    /// Builds the global pool with these options. Has to be called at most once, before the first
    /// use of [`Pool::global`]. Only programs should call this: a library that calls it takes the
    /// choice away from the program.
    ///
    /// ```standalone_crate
    /// use rangesteal::{BuildError, Pool};
    ///
    /// Pool::builder().num_threads(2).build_global()?;
    /// assert_eq!(Pool::global().num_threads(), 2);
    /// let again = Pool::builder().build_global();
    /// assert!(matches!(again, Err(BuildError::GlobalExists)));
    /// # Ok::<(), BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError::GlobalExists`] if the global pool was built or used before, or is being built.
    /// All errors of [`build`](Self::build); after one of these the global pool can still be built.
    pub fn build_global(self) -> Result<&'static Pool, BuildError> {
        /// Lets another call build the pool if this call fails or panics.
        struct Undo;
        impl Drop for Undo {
            fn drop(&mut self) {
                BEGUN.store(false, Ordering::Release); // partner: `begin`
            }
        }
        if !begin() {
            return Err(BuildError::GlobalExists);
        }
        let undo = Undo;
        let executor = self.assemble(Some(InheritedScheduling::of_process()), None)?;
        mem::forget(undo);
        GLOBAL.cell.replace(executor);
        log_building(GLOBAL.executor());
        Ok(&GLOBAL)
    }
}
