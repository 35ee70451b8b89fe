//! The pool: its public type, and the modules that it is made of.
//!
//! `docs/architecture.md` has the words, and `src/pool/README.md` follows a call. The code of a
//! call begins at `Executor::call` in `engine/call.rs`.

mod builder;
#[cfg(test)]
mod check;
mod engine;
mod error;
mod executor_cell;
mod global;
mod hosts;
mod place;
mod policy;
mod spawn;
mod supply;
mod team;
mod tell;
mod thread;
mod verbs;

// The names that the crate exports are listed in `lib.rs`.
pub use builder::PoolBuilder;
pub use engine::handles::*;
pub use error::BuildError;
pub use place::{cpu_assignment::*, placement::*, topology::Cpu};
pub use team::{fork::Process, job::LentCall, threads::Waiter};
pub use tell::{report::*, trace::Trace, trace::timeline::*, why_alone::Alone};
pub use thread::WorkerThread;
pub use verbs::{
    chain::*, collect::*, feed::*, grow::*, indexed::*, on::*, options::*, owned::*, part::*, permutation::*,
    pieces::*, portion::*, reproducible::*, source::*, stages::*, state::*, target::*, tiles::*, waiting::*,
};

use std::{borrow::Cow, cmp::Ordering, fmt, io};

use builder::log_building;
use engine::executor::Executor;
use executor_cell::ExecutorCell;
use place::affinity::Pinned;
use verbs::{comparator::By, partition, select, sort};

/// A team of threads that runs loops over slices.
///
/// All loops take `&self` and may borrow from the caller. A call returns when its loop is over:
/// after that no worker touches the items or the closures. Dropping the pool joins its threads.
///
/// # Which loop runs where
/// A loop that is too short to pay for waking a thread runs on the calling thread, as the plain
/// loop. Idle workers help a longer loop. Idle workers also help a loop that is called inside
/// another loop of the same pool, or while other threads run loops. If no worker is idle, the loop
/// runs on the calling thread; a worker that becomes idle later helps if enough items are left. A
/// pool shares at most sixteen loops at the same time.
///
/// A thread that waits for the end of its loop helps the loops inside its own loop and does no
/// other work. So a lock that is held around a loop can deadlock only where the plain loop or plain
/// threads can ([Locks and loops](crate::guide::locks) lists the deadlocks that remain).
///
/// A loop inside a loop takes 0.6 KiB of stack if it runs alone, and up to 3.5 KiB if it is shared
/// or finds no idle worker; in debug builds 4 and 10 KiB. Long chains and large partial results
/// take more. [`join`](Self::join) inside `join` takes 0.25 KiB, in debug builds 1 KiB. A `join`
/// that is offered to workers takes 1.1 KiB, in debug builds 4 KiB.
///
/// # What items start
/// A worker is pinned to one CPU, unless [`pinning`](PoolBuilder::pinning) is off. Programs and
/// threads that an item starts inherit this one CPU, except in [`unpinned`](Self::unpinned).
///
/// # Fork, exit and failures of the process
/// In a child made by `fork` every loop runs on the calling thread, unless its pool, its
/// [`CancelToken`] and its [`Progress`] were made in the child. A child that is forked by a closure
/// *inside* a loop must not return into that loop, because the other workers do not exist in the
/// child: the child must exec or exit. A closure may end the process ([`std::process::exit`]) on
/// any thread.
///
/// On Linux a seccomp filter may answer `membarrier(2)` with an error. A filter that kills the
/// process at an unknown call has to allow the calls that loops make: [the
/// list](crate::guide::machines#system-calls). With [`Pinning::Off`] they are two.
///
/// An allocation that fails ends the process on any thread, as everywhere in Rust
/// ([`handle_alloc_error`](std::alloc::handle_alloc_error)). A loop with more results than a `Vec`
/// can hold panics before its first item.
///
/// # Loops that are slower in parallel
/// A loop whose items all take one lock, or all write one cache line (a shared counter, say), is
/// slower on several threads than on one. The pool measures such a loop both shared and alone. If
/// the loop is faster alone, the pool runs it on the calling thread, except for a trial now and
/// then. A loop in which each worker has an accumulator of its own is faster than one thread: see
/// [`fold_reduce`](Self::fold_reduce).
///
/// # Panics
/// A panic in a closure ends the loop and comes out of the call with its original payload. The pool
/// stays usable. All items before the one that panicked are still processed, and a few items behind
/// it may also be processed. If several items panic, the panic of the first one comes out, as in
/// the plain loop, whatever the schedule. A `try_` loop treats an error like a panic: all items
/// before the first error are processed, and the first error is returned. A loop over an empty
/// slice calls only `init`.
///
/// # Order
/// Which worker runs which item, and when, is not defined. Partial results are combined in the
/// order of the slice, so `reduce` must be associative but need not be commutative. Addition of
/// floating-point numbers is not associative: the last digits of a sum can differ from run to run,
/// unless the loop is [`reproducible`](On::reproducible).
pub struct Pool {
    cell: ExecutorCell,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("executor", self.executor()).finish()
    }
}

/// Building a pool.
impl<S: FnMut(WorkerThread) -> io::Result<()>> PoolBuilder<S> {
    /// Builds the pool. When this returns, the threads of the pool are pinned if
    /// [`pinning`](Self::pinning) says so, and have run the
    /// [`start_handler`](Self::start_handler) if there is one. Without a handler they may still be
    /// on their way: a thread takes some 30 µs to start. Loops do not wait for it; dropping the
    /// pool does. Building takes some 10 µs per thread, and 30 µs per thread if it waits for a
    /// handler. On Linux the first pool of a process also reads the CPU quota, which takes some
    /// 40 µs, and, if workers are pinned, the topology, which takes 40 µs per CPU. Later pools read
    /// both again only if the building thread may run on other CPUs than the thread that built the
    /// pool before.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().build()?;
    /// assert_eq!(pool.map_reduce(&[1, 2], |x| *x, |a, b| a + b), Some(3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`]. Before `build` returns an error, the threads that it has started end;
    /// threads that a [`spawn_handler`](Self::spawn_handler) started leave the pool.
    ///
    /// # Panics
    /// If the closure of [`thread_name`](Self::thread_name) or of
    /// [`spawn_handler`](Self::spawn_handler) panics.
    pub fn build(self) -> Result<Pool, BuildError> {
        let executor = self.assemble_here(None)?;
        log_building(&executor);
        Ok(Pool { cell: ExecutorCell::new(executor) })
    }

    /// Builds the pool, calls `work` with it, joins the threads of the pool, and returns the result
    /// of `work`.
    ///
    /// While `work` runs, the calling thread is pinned as worker 0. Afterwards it gets its old
    /// affinity mask back, also if `work` panics. What `work` starts inherits this one CPU, except
    /// pools and what it starts in [`Pool::unpinned`].
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let total = Pool::builder().scope(|pool| {
    ///     let squares = pool.map_collect(&[1, 2, 3], |x| x * x);
    ///     pool.map_reduce(&squares, |x| *x, |a, b| a + b)
    /// })?;
    /// assert_eq!(total, Some(14));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`]. If the pool cannot be built, `work` does not run.
    ///
    /// # Panics
    /// If `work` panics.
    pub fn scope<R>(self, work: impl FnOnce(&Pool) -> R) -> Result<R, BuildError> {
        let mut pinned = None;
        let executor = self
            .assemble_here(Some(&mut |cpu| Pinned::to(cpu).map(|this_thread| pinned = Some(this_thread))))?;
        log_building(&executor);
        Ok(work(&Pool { cell: ExecutorCell::new(executor) }))
    }
}

impl Pool {
    #[inline]
    fn executor(&self) -> &Executor {
        self.cell.get()
    }

    /// A pool on all CPUs that this thread may use, with the defaults of [`PoolBuilder`].
    /// [`PoolBuilder::build`] says how long building takes.
    ///
    /// ```
    /// let pool = rangesteal::Pool::new()?;
    /// assert!(pool.num_threads() >= 1);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`].
    pub fn new() -> Result<Self, BuildError> {
        Self::builder().build()
    }

    /// A builder, which sets the options of a new pool.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(2).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// The number of workers that can run a loop, including the calling thread. 1 or more.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(2).build()?;
    /// assert_eq!(pool.num_threads(), 2);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.executor().workers
    }

    /// On which CPU each worker is at the moment, and what keeps it there. The result has a table
    /// as its `Display`.
    ///
    /// ```
    /// use rangesteal::{PinState, Pool};
    ///
    /// let pool = Pool::builder().num_threads(2).build()?;
    /// let placement = pool.placement();
    /// println!("{placement}");
    /// if let [caller, helper] = &placement.seats[..] {
    ///     assert!(caller.pin != PinState::Pinned, "only a scope pins the caller");
    ///     println!("the helper runs on {:?}", helper.cpu);
    /// }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn placement(&self) -> Seating {
        self.executor().cpus.seating()
    }

    /// How many ranges workers have stolen since the pool was built. The difference before and
    /// after a loop shows how well the loop was balanced.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let before = pool.thefts();
    /// pool.for_each(&[1, 2, 3], |_| ());
    /// println!("{} thefts", pool.thefts() - before);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn thefts(&self) -> u64 {
        self.executor().threads.thefts()
    }

    /// A loop over a slice, a vector, a range of integers or another source, with stages and
    /// options. [`On`] has the stages, the options and the ends; [`Chain`] says what `chain` may
    /// be. Nothing runs before the end is called.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = pool.on(0..1000).threads(2).sum::<i32>();
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a range has more than `usize::MAX` integers, or if the sources of a tuple have different
    /// lengths.
    #[inline]
    #[track_caller]
    pub fn on<C: IntoChain<Chain: Sync>>(&self, chain: C) -> On<C::Chain, OnPool<'_>> {
        On::new(self.executor(), chain.into_chain())
    }

    /// A loop over a slice whose items are changed. As [`on(slice)`](Self::on), except that a
    /// variable `slice: &mut [T]` is borrowed for this loop and not moved.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// fn halve_twice(pool: &rangesteal::Pool, numbers: &mut [f64]) {
    ///     pool.on_mut(numbers).for_each(|x| *x /= 2.0);
    ///     pool.on_mut(numbers).for_each(|x| *x /= 2.0);
    /// }
    ///
    /// let mut numbers = [8.0, 4.0];
    /// halve_twice(&pool, &mut numbers);
    /// assert_eq!(numbers, [2.0, 1.0]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn on_mut<'a, T: Send>(&self, items: &'a mut [T]) -> On<Exclusive<'a, T>, OnPool<'_>> {
        self.on(items)
    }

    /// A loop over a list that grows while the loop runs: closures are given items by value and may
    /// add further items. For searches in trees and graphs, branch and bound, divide and conquer,
    /// and farms with feedback. The call collects the seeds into a vector first. See [`Grow`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// // The nodes of a binary tree of depth 10.
    /// let nodes = pool.grow([10_u32]).fold_unordered(
    ///     || 0,
    ///     |nodes, depth, feed| {
    ///         if depth > 0 {
    ///             feed.extend([depth - 1, depth - 1]);
    ///         }
    ///         nodes + 1
    ///     },
    ///     |a, b| a + b, // commutative: there is no order
    /// );
    /// assert_eq!(nodes, 2047);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn grow<T: Send>(&self, seeds: impl IntoIterator<Item = T>) -> Grow<'_, T> {
        Grow::new(self.on(seeds.into_iter().collect::<Vec<T>>()))
    }

    /// Runs two closures, at the same time if a worker is idle, and returns both results. For
    /// divide and conquer that combines the results of both parts.
    ///
    /// The calling thread runs `first`; then it runs `second`, unless a worker has taken `second`.
    /// A `join` that is not offered to workers costs a few nanoseconds. `join` inside `join` offers
    /// only the first levels of the recursion, so that each offer is large: five levels on two
    /// threads, and three more if a thread is idle. Deeper joins are offered to an idle thread if
    /// they begin at intervals of microseconds. `second` is offered only if it took long enough in
    /// its last calls. If a whole recursion took less than 4 µs when it was last timed, which one
    /// call in 16 is, its joins offer nothing, unless four of them show that it takes more than
    /// 10 µs now. A thread that waits for `second` helps the joins
    /// and loops inside `second`. An offered join counts as one of the sixteen loops that a pool
    /// can share at the same time.
    ///
    /// End a recursion over numbers with a plain loop over some hundred of them. Use
    /// [`grow`](Self::grow) if no result of a part is needed, and a loop ([`on`](Self::on)) if the
    /// number of parts is known.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// fn sum(pool: &rangesteal::Pool, numbers: &[u64]) -> u64 {
    ///     if numbers.len() <= 1000 {
    ///         return numbers.iter().sum();
    ///     }
    ///     let (front, back) = numbers.split_at(numbers.len() / 2);
    ///     let (front, back) = pool.join(|| sum(pool, front), || sum(pool, back));
    ///     front + back
    /// }
    ///
    /// let numbers: Vec<u64> = (0..100_000).collect();
    /// assert_eq!(sum(&pool, &numbers), 4_999_950_000);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure panics. If both panic, the panic of `first` comes out. If `first` panics before
    /// a worker has taken `second`, `second` is dropped and does not run.
    #[inline]
    pub fn join<A, B>(&self, first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B)
    where
        B: Send,
    {
        self.executor().join(first, second)
    }

    /// Whether a [`join`](Self::join) that begins now on this thread is to run both closures
    /// itself, because it is too deep in its recursion to be offered, or its recursion runs alone.
    /// Then the caller runs them. Counts the join: to be called once for each.
    #[doc(hidden)]
    #[inline]
    pub fn joins_alone(&self) -> bool {
        self.executor().joins_alone()
    }

    /// Calls `work` on a thread with the options of the pool's threads, while the calling thread
    /// waits, and returns its result. These options are
    /// [`stack_size`](PoolBuilder::stack_size), [`thread_name`](PoolBuilder::thread_name),
    /// [`start_handler`](PoolBuilder::start_handler) and
    /// [`exit_handler`](PoolBuilder::exit_handler), with the number 0: the calling thread of a loop
    /// is worker 0. `work` may borrow, and its loops use the pool's workers as usual.
    ///
    /// The first call starts this thread, which takes some 0.1 ms, and the pool keeps it. A later
    /// call takes 4 to 12 µs longer than `work`, since two threads are woken. If several calls run
    /// at the same time, each of them has a thread of its own, so a call never waits for another
    /// call. If the calling thread is a worker of this pool, or runs such a closure, it calls
    /// `work` itself.
    ///
    /// The thread may run on the CPUs of the thread that built the pool, and is not pinned. In the
    /// global pool it has the priority of the process. All else that threads inherit, such as the
    /// signal mask, is that of the first caller. A pool with a
    /// [`spawn_handler`](PoolBuilder::spawn_handler) also starts this thread by itself. In a child
    /// made by `fork` each call starts a thread, which ends with the call.
    ///
    /// ```
    /// fn depth(nodes: &[usize], at: usize) -> usize {
    ///     if at == nodes.len() { 0 } else { 1 + depth(nodes, nodes[at]) }
    /// }
    ///
    /// let chain: Vec<usize> = (1..=100_000).collect();
    /// let pool = rangesteal::Pool::builder().stack_size(256 << 20).build()?;
    /// assert_eq!(pool.enter(|| depth(&chain, 0)), 100_000);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `work` panics: with its payload. If the system cannot start the thread, or the start
    /// handler panics.
    pub fn enter<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        let executor = self.executor();
        if executor.threads.here() > 0 || executor.hosts.are_here() {
            return work();
        }
        executor.hosts.call(work)
    }

    /// Calls `work` on the calling thread, with the CPUs that the thread had before this pool
    /// pinned it, and returns its result. Then the thread is pinned again, also if `work` panics.
    ///
    /// A worker is pinned to one CPU, and all that an item starts inherits this mask: programs
    /// ([`Command`](std::process::Command)), threads, and teams of threads in other libraries.
    /// [`available_parallelism`](std::thread::available_parallelism) returns 1 there. Start such
    /// things in `unpinned`. Pools that an item builds need no `unpinned`.
    ///
    /// Two system calls, some 2 µs. If no pool has pinned the thread, the call does nothing else:
    /// on threads outside of the pool, with [`Pinning::Off`], and on systems other than Linux.
    ///
    /// ```
    /// use std::thread::available_parallelism;
    ///
    /// let pool = rangesteal::Pool::new()?;
    /// let cpus = available_parallelism().ok();
    /// pool.on(0..8).for_each(|_| {
    ///     let seen = pool.unpinned(|| available_parallelism().ok());
    ///     assert_eq!(seen, cpus);
    /// });
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `work` panics.
    pub fn unpinned<R>(&self, work: impl FnOnce() -> R) -> R {
        let executor = self.executor();
        let _unpinned = executor.cpus.unpin(executor.threads.here());
        work()
    }

    /// A state for each worker, which is kept from loop to loop: see [`PerWorker`]. The call makes
    /// all states, with `make(worker)` for the workers from 0 to [`num_threads`](Self::num_threads)
    /// `- 1`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let states = pool.per_worker(|worker| worker);
    /// assert_eq!(states.into_vec(), (0..pool.num_threads()).collect::<Vec<_>>());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn per_worker<W>(&self, make: impl FnMut(usize) -> W) -> PerWorker<W> {
        per_worker(self.num_threads(), make)
    }

    /// Maps every item and reduces the results in slice order; `None` if there are no items.
    ///
    /// `reduce` must be associative. The call runs `map` once per item, and `reduce` one time less.
    /// The grouping of the reductions differs from call to call, so the rounding of floating-point
    /// numbers may differ: see [`reproducible`](On::reproducible).
    ///
    /// Partial results may grow, for example vectors that are appended. So a worker whose items
    /// become slower begins a new partial result, and at the end neighbouring partial results are
    /// reduced in pairs. On one thread the result so far is reduced with each next item, as in the
    /// plain loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["range", "steal", "ing"];
    /// let joined = pool.map_reduce(&words, |w| w.to_string(), |a, b| a + &b);
    /// assert_eq!(joined.as_deref(), Some("rangestealing"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or `reduce` panics.
    #[inline]
    #[track_caller]
    pub fn map_reduce<'a, T, R>(
        &self,
        items: &'a [T],
        map: impl Fn(&'a T) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R>
    where
        T: Sync,
        R: Send,
    {
        self.on(items).map(map).reduce(reduce)
    }

    /// Folds the items into accumulators, one for each run of neighbouring items, and reduces the
    /// accumulators in slice order.
    ///
    /// `init` is called once per run, and at least once. There are at most 1 + workers + thefts
    /// runs. The value of `init` must be neutral: `reduce(init(), a)` is `a`. `reduce` must be
    /// associative and agree with `fold`: `fold(reduce(a, b), item)` is `reduce(a, fold(b, item))`.
    /// The accumulator is moved with every item, as by [`Iterator::fold`]: make a large one a
    /// vector or a box.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let digits = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5];
    /// let histogram = pool.fold_reduce(
    ///     &digits,
    ///     || vec![0; 10],
    ///     |mut counts, &digit| {
    ///         counts[digit] += 1;
    ///         counts
    ///     },
    ///     |mut a, b| {
    ///         a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
    ///         a
    ///     },
    /// );
    /// assert_eq!(histogram, [0, 2, 1, 2, 1, 3, 1, 0, 0, 1]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `init`, `fold` or `reduce` panics.
    #[inline]
    #[track_caller]
    pub fn fold_reduce<'a, T, A>(
        &self,
        items: &'a [T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &'a T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> A
    where
        T: Sync,
        A: Send,
    {
        self.on(items).fold(init, fold, reduce)
    }

    /// Calls `f` once with every item. The order of the calls is not defined. A closure that can
    /// fail belongs in [`try_for_each`](On::try_for_each).
    ///
    /// ```
    /// use std::sync::atomic::{AtomicU32, Ordering};
    ///
    /// # let pool = rangesteal::Pool::new()?;
    /// let even = AtomicU32::new(0);
    /// pool.for_each(&[1, 2, 3, 4], |x| {
    ///     if x % 2 == 0 {
    ///         even.fetch_add(1, Ordering::Relaxed);
    ///     }
    /// });
    /// assert_eq!(even.into_inner(), 2);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    #[inline]
    #[track_caller]
    pub fn for_each<T: Sync>(&self, items: &[T], f: impl Fn(&T) + Sync) {
        self.on(items).for_each(f);
    }

    /// Calls `f` once with every item, which `f` may change. The order of the calls is not defined.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut numbers = vec![1, 2, 3];
    /// pool.for_each_mut(&mut numbers, |x| *x += 1);
    /// assert_eq!(numbers, [2, 3, 4]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    #[inline]
    #[track_caller]
    pub fn for_each_mut<T: Send>(&self, items: &mut [T], f: impl Fn(&mut T) + Sync) {
        self.on(items).for_each(f);
    }

    /// Maps every item and returns the results in a `Vec`, in slice order. Each result is written
    /// once, at its final place.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.map_collect(&[1, 2, 3], |x| x * x), [1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` panics. The results that were already made are dropped.
    #[inline]
    #[track_caller]
    pub fn map_collect<'a, T, R>(&self, items: &'a [T], map: impl Fn(&'a T) -> R + Sync) -> Vec<R>
    where
        T: Sync,
        R: Send,
    {
        self.on(items).map(map).collect()
    }

    /// Checks that `indices` are distinct and less than `len`. [`On::at`] then runs over the items
    /// of a slice at these indices, in any number of loops. The permutation borrows a slice or
    /// array, or owns a `Vec<usize>`.
    ///
    /// The check is one parallel loop, in O(`indices.len()` + `len`) time. The check uses `len`
    /// bytes of memory while it runs. Without such memory, the check fails as
    /// [`Vec::with_capacity`] does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut board = ['-'; 5];
    /// let corners = pool.permutation(&[0, 4], board.len())?;
    /// pool.on(&mut board).at(&corners).for_each(|field| *field = '#');
    /// assert_eq!(board, ['#', '-', '-', '-', '#']);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If two indices are equal, or if an index is not less than `len`. The error has the first
    /// position at which an index is too large or occurs for the second time.
    #[track_caller]
    pub fn permutation<'i>(
        &self,
        indices: impl Into<Cow<'i, [usize]>>,
        len: usize,
    ) -> Result<Permutation<'i>, PermutationError> {
        Permutation::new(self.executor(), indices.into(), len)
    }

    /// Sorts the slice. The sort is stable: equal items keep their order.
    ///
    /// O(*n* log *n*) comparisons, in parallel if the slice is long enough. O(*n*) if the slice is
    /// in order or strictly descending. O(*n* + *k* log *k* + *k* log *n*) if all but *k* items are
    /// in order and *k* is small: at most a sixteenth of *n* with two workers, less with more. The
    /// sort allocates memory for *n* items. The call uses [`slice::sort`] for short slices and for
    /// slices of zero-sized items. If no worker is idle, the call also uses [`slice::sort`] for
    /// slices that are not nearly in order. Items need not be `Sync`: only one thread reads an item
    /// at any time.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut words = ["steal", "range", "ing"];
    /// pool.sort(&mut words);
    /// assert_eq!(words, ["ing", "range", "steal"]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison panics. If `Ord` is not a total order, the call may panic, or leave the
    /// items in an unspecified order. After a panic the slice still holds all its items, in some
    /// order.
    #[track_caller]
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) {
        sort::sort(self.executor(), items, &By::new(<[T]>::sort, T::lt));
    }

    /// Sorts the slice by `compare`. The sort is stable: equal items keep their order. Complexity
    /// and memory are those of [`sort`](Self::sort): O(*n* log *n*) comparisons, fewer if the slice
    /// is nearly in order, and memory for *n* items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut shares = [0.25, 0.5, 0.125];
    /// pool.sort_by(&mut shares, |a: &f64, b| b.total_cmp(a));
    /// assert_eq!(shares, [0.5, 0.25, 0.125]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `compare` panics. If `compare` is not a total order, the call may panic, or leave the
    /// items in an unspecified order. After a panic the slice still holds all its items, in some
    /// order.
    #[track_caller]
    pub fn sort_by<T: Send>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let order = By::new::<T>(|items| items.sort_by(&compare), |a, b| compare(a, b).is_lt());
        sort::sort(self.executor(), items, &order);
    }

    /// Sorts the slice by a key. The sort is stable: items with equal keys keep their order.
    /// Complexity and memory are those of [`sort`](Self::sort): O(*n* log *n*) comparisons, fewer
    /// if the slice is nearly in order, and memory for *n* items.
    ///
    /// Each comparison calls `key` twice. If `key` is slow, use
    /// [`sort_by_cached_key`](Self::sort_by_cached_key), which calls it once per item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut ballots = [("Ann", 3), ("Bob", 5), ("Cid", 3)];
    /// pool.sort_by_key(&mut ballots, |&(_, votes)| votes);
    /// assert_eq!(ballots, [("Ann", 3), ("Cid", 3), ("Bob", 5)]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key` or a comparison of keys panics. If the order of keys is not total, the call may
    /// panic, or leave the items in an unspecified order. After a panic the slice still holds all
    /// its items, in some order.
    #[track_caller]
    pub fn sort_by_key<T: Send, K: Ord>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        let order = By::new::<T>(|items| items.sort_by_key(&key), |a, b| key(a).lt(&key(b)));
        sort::sort(self.executor(), items, &order);
    }

    /// Sorts the slice by a key that is computed once per item, for keys that take long to compute.
    /// The sort is stable: items with equal keys keep their order.
    ///
    /// O(*n* log *n*) comparisons of keys, fewer if the keys are nearly in order, as in
    /// [`sort`](Self::sort). The sort allocates memory for *n* keys, *n* indices and *n* items. The
    /// call sorts pairs of a key and an index, and then moves each item twice. So if items are
    /// large, this sort can be faster than [`sort_by_key`](Self::sort_by_key) even for cheap keys.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut numbers = [20, 3, 100];
    /// pool.sort_by_cached_key(&mut numbers, |number| number.to_string());
    /// assert_eq!(numbers, [100, 20, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key` or a comparison of keys panics. If the order of keys is not total, the call may
    /// panic, or leave the items in an unspecified order. After a panic no item has been moved,
    /// unless the drop of a key panicked.
    #[track_caller]
    pub fn sort_by_cached_key<T: Send, K: Ord + Send>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        sort::sort_by_cached_key(self.executor(), items, key);
    }

    /// Sorts the slice. The sort is not stable: equal items may change places. This sort is faster
    /// than [`sort`](Self::sort) if items are large or many of them are equal.
    ///
    /// O(*n* log *n*) comparisons, in parallel if the slice is long enough; fewer if the slice is
    /// nearly in order, as in [`sort`](Self::sort). Pools of up to four workers sort in place.
    /// Larger pools allocate memory for *n* items. For a slice that is nearly in order, the sort
    /// allocates memory for the items that are out of order. The call uses [`slice::sort_unstable`]
    /// for short slices and for slices of zero-sized items. If no worker is idle, the call also
    /// uses [`slice::sort_unstable`] for slices that are not nearly in order. Items need not be
    /// `Sync`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut numbers = [3, 1, 2];
    /// pool.sort_unstable(&mut numbers);
    /// assert_eq!(numbers, [1, 2, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison panics. If `Ord` is not a total order, the call may panic, or leave the
    /// items in an unspecified order. After a panic the slice still holds all its items, in some
    /// order.
    #[track_caller]
    pub fn sort_unstable<T: Ord + Send>(&self, items: &mut [T]) {
        sort::sort_unstable(self.executor(), items, &By::new(<[T]>::sort_unstable, T::lt));
    }

    /// Sorts the slice by `compare`. The sort is not stable: equal items may change places.
    /// Complexity and memory are those of [`sort_unstable`](Self::sort_unstable): O(*n* log *n*)
    /// comparisons, and memory for *n* items only in pools of more than four workers.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut shares = [0.25, 0.5, 0.125];
    /// pool.sort_unstable_by(&mut shares, f64::total_cmp);
    /// assert_eq!(shares, [0.125, 0.25, 0.5]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `compare` panics. If `compare` is not a total order, the call may panic, or leave the
    /// items in an unspecified order. After a panic the slice still holds all its items, in some
    /// order.
    #[track_caller]
    pub fn sort_unstable_by<T: Send>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let order = By::new::<T>(|items| items.sort_unstable_by(&compare), |a, b| compare(a, b).is_lt());
        sort::sort_unstable(self.executor(), items, &order);
    }

    /// Sorts the slice by a key. The sort is not stable: items with equal keys may change places.
    /// Complexity and memory are those of [`sort_unstable`](Self::sort_unstable): O(*n* log *n*)
    /// comparisons, and memory for *n* items only in pools of more than four workers. Each
    /// comparison calls `key` twice.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut words = ["range", "of", "steal"];
    /// pool.sort_unstable_by_key(&mut words, |word| word.len());
    /// assert_eq!(words[0], "of");
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key` or a comparison of keys panics. If the order of keys is not total, the call may
    /// panic, or leave the items in an unspecified order. After a panic the slice still holds all
    /// its items, in some order.
    #[track_caller]
    pub fn sort_unstable_by_key<T: Send, K: Ord>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        let order = By::new::<T>(|items| items.sort_unstable_by_key(&key), |a, b| key(a).lt(&key(b)));
        sort::sort_unstable(self.executor(), items, &order);
    }

    /// For `rangesteal-rayon`: sorts by `is_less`; pieces by `sort`, one of std's stable sorts.
    #[doc(hidden)]
    #[track_caller]
    pub fn sort_pieces_with<T: Send>(
        &self,
        items: &mut [T],
        sort: impl Fn(&mut [T]) + Sync,
        is_less: impl Fn(&T, &T) -> bool + Sync,
    ) {
        sort::sort(self.executor(), items, &By::new(sort, is_less));
    }

    /// As `sort_pieces_with`, with one of std's unstable sorts.
    #[doc(hidden)]
    #[track_caller]
    pub fn sort_unstable_pieces_with<T: Send>(
        &self,
        items: &mut [T],
        sort: impl Fn(&mut [T]) + Sync,
        is_less: impl Fn(&T, &T) -> bool + Sync,
    ) {
        sort::sort_unstable(self.executor(), items, &By::new(sort, is_less));
    }

    /// Merges two sorted runs: the items before index `middle`, and the items from there on. The
    /// merge is stable: equal items keep their order. So `v.extend(more)` and `merge` add a sorted
    /// batch to a sorted vector.
    ///
    /// O(*n*) comparisons, in parallel if the slice is long enough. The call allocates memory for
    /// *n* items. For short slices, and if no worker is idle, the call uses [`slice::sort`], which
    /// finds the two runs. Items need not be `Sync`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut times = vec![1, 4, 9, 16];
    /// let middle = times.len();
    /// times.extend([2, 4, 8]);
    /// pool.merge(&mut times, middle);
    /// assert_eq!(times, [1, 2, 4, 4, 8, 9, 16]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `middle` is greater than the number of items, or if a comparison panics. If a run is not
    /// sorted, or `Ord` is not a total order, the call may panic, or leave the items in an
    /// unspecified order. After a panic the slice still holds all its items, in some order.
    #[track_caller]
    pub fn merge<T: Ord + Send>(&self, items: &mut [T], middle: usize) {
        sort::merge(self.executor(), items, middle, &By::new(<[T]>::sort, T::lt));
    }

    /// Merges two runs that are sorted by `compare`, as [`merge`](Self::merge). [`Ordering`] by a
    /// key is `|a, b| key(a).cmp(&key(b))`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut shares = [0.5, 0.25, 0.75, 0.125];
    /// pool.merge_by(&mut shares, 2, |a: &f64, b| b.total_cmp(a));
    /// assert_eq!(shares, [0.75, 0.5, 0.25, 0.125]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `middle` is greater than the number of items, or if `compare` panics. If a run is not
    /// sorted, or `compare` is not a total order, the call may panic, or leave the items in an
    /// unspecified order. After a panic the slice still holds all its items, in some order.
    #[track_caller]
    pub fn merge_by<T: Send>(
        &self,
        items: &mut [T],
        middle: usize,
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) {
        let order = By::new::<T>(|items| items.sort_by(&compare), |a, b| compare(a, b).is_lt());
        sort::merge(self.executor(), items, middle, &order);
    }

    /// Moves the items that pass `test` to the front of the slice, and returns their number. Items
    /// of both sides may change their order. [`On::partition`] keeps the order, and copies.
    ///
    /// Calls `test` once with each item, in parallel if that takes long enough. O(*n*) time;
    /// memory for 16 pairs of slices per worker. Items need not be `Sync`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut numbers = [7, 2, 5, 4];
    /// let even = pool.partition_in_place(&mut numbers, |x| x % 2 == 0);
    /// let (even, odd) = numbers.split_at_mut(even);
    /// assert!(even.iter().all(|x| x % 2 == 0) && odd.iter().all(|x| x % 2 == 1));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` panics. After a panic the slice still holds all its items, in some order.
    #[track_caller]
    pub fn partition_in_place<T: Send>(&self, items: &mut [T], test: impl Fn(&T) -> bool + Sync) -> usize {
        partition::partition_in_place(self.executor(), items, test)
    }

    /// Moves the item that a sort would put at `index` to this place. Returns the items before this
    /// place, the item, and the items behind this place, as [`slice::select_nth_unstable`]. The
    /// items before this place are not greater than the item, and the items behind it are not less.
    ///
    /// O(*n*) comparisons on average, in parallel if the slice is long enough: about 1.6 *n* for
    /// the median, and *n* for the least item. The call uses [`slice::select_nth_unstable`] for
    /// short slices, and if no worker is idle.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut times = [31, 12, 45, 27, 18];
    /// let (_, median, slower) = pool.select_nth_unstable(&mut times, 2);
    /// assert_eq!((*median, slower.len()), (27, 2));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is not less than the number of items, or if a comparison panics. If `Ord` is not
    /// a total order, the call may panic, select another item, or take quadratic time. After a
    /// panic the slice still holds all its items, in some order.
    #[track_caller]
    pub fn select_nth_unstable<'a, T: Ord + Send + Sync>(
        &self,
        items: &'a mut [T],
        index: usize,
    ) -> (&'a mut [T], &'a mut T, &'a mut [T]) {
        select::select(self.executor(), items, index, &T::lt, &|items, index| {
            items.select_nth_unstable(index);
        })
    }

    /// Selects an item as [`select_nth_unstable`](Self::select_nth_unstable), by the order
    /// `compare`. As [`slice::select_nth_unstable_by`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut shares = [0.25, 0.5, 0.125];
    /// let downwards = |a: &f64, b: &f64| b.total_cmp(a);
    /// let (_, largest, _) = pool.select_nth_unstable_by(&mut shares, 0, downwards);
    /// assert_eq!(*largest, 0.5);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is not less than the number of items, or if `compare` panics. If `compare` is not
    /// a total order, the call may panic, select another item, or take quadratic time. After a
    /// panic the slice still holds all its items, in some order.
    #[track_caller]
    pub fn select_nth_unstable_by<'a, T: Send + Sync>(
        &self,
        items: &'a mut [T],
        index: usize,
        compare: impl Fn(&T, &T) -> Ordering + Sync,
    ) -> (&'a mut [T], &'a mut T, &'a mut [T]) {
        let is_less = |a: &T, b: &T| compare(a, b).is_lt();
        select::select(self.executor(), items, index, &is_less, &|items, index| {
            items.select_nth_unstable_by(index, &compare);
        })
    }

    /// Selects an item as [`select_nth_unstable`](Self::select_nth_unstable), by the order of a
    /// key. As [`slice::select_nth_unstable_by_key`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut words = ["steal", "on", "range", "of"];
    /// let (short, _, _) = pool.select_nth_unstable_by_key(&mut words, 2, |word| word.len());
    /// assert!(short.contains(&"on") && short.contains(&"of"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `index` is not less than the number of items, or if `key` or a comparison of keys panics.
    /// If the order of keys is not total, the call may panic, or select another item. After a panic
    /// the slice still holds all its items, in some order.
    #[track_caller]
    pub fn select_nth_unstable_by_key<'a, T: Send + Sync, K: Ord>(
        &self,
        items: &'a mut [T],
        index: usize,
        key: impl Fn(&T) -> K + Sync,
    ) -> (&'a mut [T], &'a mut T, &'a mut [T]) {
        self.select_nth_unstable_by(items, index, |a, b| key(a).cmp(&key(b)))
    }
}
