//! The pool that a whole program shares, and what lets it be used while it is built.
//!
//! Nobody waits for it but the thread that builds it, for the threads that it starts. Until it is
//! built, it has one worker, so its loops run on the threads that call them. Otherwise it could
//! deadlock: a logger or an allocator that uses it is called in the middle of building it, on the
//! thread that builds it and on those that it starts; a thread that waits for it may hold a lock
//! which that logger needs; and in a child that was forked meanwhile nobody would ever build it.

#![allow(unsafe_code)] // a static hold, which is filled later

use std::{
    io, mem,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use super::{
    Pool,
    builder::{Assembled, PoolBuilder, PoolOptions, Role, Spawn},
    call::executor::Executor,
    error::BuildError,
    executor_cell::ExecutorCell,
    thread::WorkerThread,
};

// SAFETY: whoever hands it out has filled it: `begin`, or one who found that somebody has begun.
static GLOBAL: Pool = Pool { hold: unsafe { ExecutorCell::empty() } };

/// Whether somebody builds the global pool, or has built it.
static BEGUN: AtomicBool = AtomicBool::new(false);

/// Whether the caller is the one to build it. Afterwards it is there, with one worker at least.
fn begin() -> bool {
    GLOBAL.hold.fill(Executor::of_one(Vec::new()));
    !BEGUN.swap(true, Ordering::AcqRel) // Release: partner of the load in `global`, for what was filled
}

impl Pool {
    /// The pool of the whole program, built at its first use with the defaults of [`PoolBuilder`],
    /// or before that by [`build_global`](PoolBuilder::build_global). Libraries that take no
    /// `&Pool` use it, so that there are not more threads than CPUs.
    ///
    /// As in any pool, a loop runs on the calling thread while another loop is shared: a long loop
    /// makes all others of the program run alone. Give it a pool of its own; see the
    /// [guide](crate::guide::beside#several-pools).
    ///
    /// Its threads get the CPUs and the priority of the process (of its main thread, outside of a
    /// [`scope`](PoolBuilder::scope)), whichever thread comes first; an unprivileged process cannot
    /// raise a priority, and then a warning is logged. This never fails: if the pool cannot be
    /// built, a warning is logged and it has one worker; [`placement`](Self::placement) says why.
    /// In a child made by `fork` its loops run on the thread that calls them, if the parent has
    /// used it before. Its threads are not joined at the end of the process.
    ///
    /// The thread that comes first builds it, which takes as long as [`build`](PoolBuilder::build):
    /// it waits until the threads of the pool are there. Nobody else waits: until then the pool has
    /// one worker. So the [number of threads](Self::num_threads) changes once, and a
    /// [`PerWorker`](crate::PerWorker) that is made before has one state. A logger may use the
    /// pool, as long as it does not log for ever since loops log at level debug; so may an
    /// allocator, as long as it does not allocate for ever since loops allocate, and holds no lock
    /// meanwhile that other threads need to allocate.
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let sum = Pool::global().map_reduce(&[1, 2, 3], |x| x * x, |a, b| a + b);
    /// assert_eq!(sum, Some(14));
    /// ```
    ///
    /// The lifetime is any, so that it fits where a pool may be given:
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
        if !BEGUN.load(Ordering::Acquire) {
            Self::first_use(); // partner: the swap in `begin`
        }
        &GLOBAL
    }

    #[cold]
    fn first_use() {
        if begin() {
            match PoolOptions::default().assemble(Role::Global, None) {
                Ok(Assembled { executor, said, .. }) => {
                    GLOBAL.hold.replace(executor);
                    aside(|| said.log());
                }
                Err(error) => {
                    let doubt = format!("the global pool has one worker: {error}");
                    GLOBAL.hold.replace(Executor::of_one(vec![doubt.clone()]));
                    aside(move || log::warn!("{doubt}"));
                }
            }
        }
    }
}

/// Logs on a thread of its own, if there is one to be had, since the thread that comes first may be
/// in the middle of logging, and hold a lock that its logger needs.
fn aside(log: impl FnOnce() + Send + 'static) {
    let _nobody_tells = thread::Builder::new().name("rangesteal-log".into()).spawn(log);
}

impl<S: FnMut(WorkerThread) -> io::Result<()>> PoolBuilder<S> {
    /// Builds the global pool with these options, instead of the defaults: once, before its first
    /// use. For programs; a library would take this from the program.
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
    /// [`BuildError::GlobalExists`] if it was built or used before, or is being built. Any other
    /// error as in [`build`](Self::build); then the pool can still be built.
    pub fn build_global(self) -> Result<&'static Pool, BuildError> {
        let (options, spawn) = self.parts();
        build(options, spawn)
    }
}

fn build(options: PoolOptions, spawn: Option<Spawn<'_>>) -> Result<&'static Pool, BuildError> {
    /// Lets others build it, if this does not.
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
    let Assembled { executor, said, .. } = options.assemble(Role::Global, spawn)?;
    mem::forget(undo);
    GLOBAL.hold.replace(executor);
    said.log();
    Ok(&GLOBAL)
}
