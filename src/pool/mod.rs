//! The pool and its loops: all user generics are here.

mod builder;
mod call;
#[cfg(any(test, loom, shuttle, planted))]
mod check;
mod error;
mod executor_cell;
mod global;
mod place;
mod policy;
mod protocol;
mod record;
mod thread;
mod verbs;

pub use builder::PoolBuilder;
pub use call::handles::{CancelToken, Cancelled, Progress};
pub use error::BuildError;
pub use place::{
    cpu_assignment::{Seat, Seating},
    placement::{CountSource, PinState, Pinning, Placement},
    topology::Cpu,
};
pub use policy::victim::Stealing;
pub use record::{
    report::{RunReport, WaitReport, WorkerReport},
    trace::{
        Trace,
        timeline::{Helper, InnerLoop, Run, Slow, Theft, Timeline},
    },
    why_alone::Alone,
};
pub use thread::WorkerThread;
pub use verbs::{
    chain::{Chain, Each, IntoChain, Makes, Pieces, Shared, Source},
    collect::FromChain,
    feed::Feed,
    grow::Grow,
    indexed::{
        At, Chunks, Cuts, InStep, Located, Nested, Offsets, Rev, StepBy, Subrange, Windows, Zip,
        chunks_exact, pieces,
    },
    on::{NoPool, On, source},
    options::{Cancellable, Ending, OnPool, Uncancellable},
    owned::{Drained, Holder, Owned, drain},
    part::{OnPart, Part as PartOfResult, PartError, Place, block, share},
    source::{Exclusive, Indices, Integer, Integers, Lent},
    stages::{Cloned, Filter, FilterMap, FlatMap, Flatten, Inspect, Map, TryFlatMap, With},
    state::{Fresh, Given, Kept, Lends, PerBlock, PerWorker, State, Stateless},
    waiting::Waiting,
};

use std::{cmp::Ordering, fmt, io};

use builder::{Assembled, PoolOptions, Role, Spawn};
use call::executor::Executor;
use executor_cell::ExecutorCell;
use verbs::{comparator::By, sort};

/// A team of threads that runs loops over slices.
///
/// All loops take `&self`, return when the loop is done, and may borrow from the caller: no worker
/// touches the items or the closures after the call has returned. Dropping the pool joins its
/// threads.
///
/// # Which loop runs where
/// A loop that is too short to be worth waking a thread runs on the calling thread, as the plain
/// loop. A longer one is helped by workers that are idle, also if it is called inside another loop
/// of the same pool, or while loops of other threads run. If no worker is idle, the loop runs on
/// the calling thread, and is helped as soon as one is and the rest is worth it. Sixteen loops of a
/// pool can be shared at a time. A thread that waits for the end of its loop helps the loops inside
/// it, and does no other work meanwhile, so a lock that is held around a loop cannot deadlock by
/// that ([Locks and loops](crate::guide::locks)). A loop inside a loop takes 2 KiB of stack, 8 KiB
/// in debug builds.
///
/// # Ends and failures of the process
/// In a child made by `fork` every loop runs on the calling thread, unless its pool, its
/// [`CancelToken`] and its [`Progress`] were made in the child. A child forked by a closure
/// *inside* a loop must not return into that loop, whose other workers do not exist in the child:
/// let it exec or exit. A closure may end the process ([`std::process::exit`]) on any thread.
///
/// On Linux the pool uses the system call `membarrier(2)`: when it is built, and when a range is
/// stolen from a worker whose items are cheap. A seccomp filter that answers it with an error is
/// fine; one that kills the process at an unknown call has to allow it.
///
/// An allocation that fails ends the process, as everywhere in Rust, on any thread
/// ([`handle_alloc_error`](std::alloc::handle_alloc_error)). A loop with more results than a `Vec`
/// can hold panics before its first item.
///
/// # What no pool can help with
/// A loop whose items all need one lock, or write one cache line (a shared counter, say), is slower
/// on several threads than on one. The pool finds that out by trying, and runs the loop on the
/// calling thread, but for a call now and then. Fold into an accumulator instead, as
/// [`fold_reduce`](Self::fold_reduce) does: that is faster than one thread.
///
/// # Panics
/// A panic in a closure ends the loop, comes out of the call with its original payload, and leaves
/// the pool as usable as before. All items before the one that panicked are still processed, and
/// few of those behind it. So if several items panic, the panic of the first one comes out, as in
/// the plain loop, whatever the schedule. The same holds for errors of the `try_` loops. Loops over
/// an empty slice call only `init`.
///
/// # Order
/// Which worker runs which item, and when, is not defined. It is defined that partial results are
/// combined in the order of the slice, so `reduce` must be associative but need not be commutative.
/// With floating-point numbers, where addition is not associative, the last digits of a sum can
/// differ from run to run, unless the loop is [`reproducible`](On::reproducible).
pub struct Pool {
    hold: ExecutorCell,
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("executor", self.executor()).finish()
    }
}

/// Building.
impl<S: FnMut(WorkerThread) -> io::Result<()>> PoolBuilder<S> {
    /// Builds the pool. When this returns, its threads are started, and pinned if asked for. It
    /// takes some 30 µs per thread; on Linux also some 40 µs to look for a quota and, if workers
    /// are pinned, 40 µs per CPU to read the topology.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().build()?;
    /// assert_eq!(pool.map_reduce(&[1, 2], |x| *x, |a, b| a + b), Some(3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// [`BuildError`]; threads that were already started have ended when it is returned, or have
    /// left the pool if a [`spawn_handler`](Self::spawn_handler) has started them.
    ///
    /// # Panics
    /// If [`thread_name`](Self::thread_name) or a `spawn_handler` does.
    pub fn build(self) -> Result<Pool, BuildError> {
        let (options, spawn) = self.parts();
        Pool::build(options, spawn)
    }

    /// Builds the pool, runs `work` with it, and joins its threads.
    ///
    /// The calling thread is pinned as worker 0 while `work` runs, and gets its old affinity mask
    /// back afterwards, also if `work` panics. While `work` runs, this thread may run on that one
    /// CPU only: build another pool before, not inside.
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
    /// [`BuildError`]; then `work` has not run.
    ///
    /// # Panics
    /// If `work` does.
    pub fn scope<R>(self, work: impl FnOnce(&Pool) -> R) -> Result<R, BuildError> {
        let (options, spawn) = self.parts();
        let Assembled { executor, pinned: _pinned, said } = options.assemble(Role::Scope, spawn)?;
        said.log();
        Ok(work(&Pool { hold: ExecutorCell::new(executor) }))
    }
}

impl Pool {
    fn build(options: PoolOptions, spawn: Option<Spawn<'_>>) -> Result<Self, BuildError> {
        let Assembled { executor, said, .. } = options.assemble(Role::Own, spawn)?;
        said.log();
        Ok(Self { hold: ExecutorCell::new(executor) })
    }

    #[inline(always)]
    fn executor(&self) -> &Executor {
        self.hold.get()
    }

    /// A pool on all CPUs that this thread may use, with the defaults of [`PoolBuilder`].
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

    /// Options for a new pool.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(2).build()?;
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn builder() -> PoolBuilder {
        PoolBuilder::default()
    }

    /// The number of workers that run a loop, the calling thread included.
    ///
    /// ```
    /// let pool = rangesteal::Pool::builder().num_threads(2).build()?;
    /// assert_eq!(pool.num_threads(), 2);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn num_threads(&self) -> usize {
        self.executor().workers()
    }

    /// Which worker sits on which CPU at the moment, and why.
    ///
    /// ```
    /// use rangesteal::{PinState, Pool};
    ///
    /// let pool = Pool::builder().num_threads(2).build()?;
    /// let placement = pool.placement();
    /// println!("{placement}");
    /// if let [caller, helper] = &placement.seats[..] {
    ///     assert!(caller.pin != PinState::Pinned, "the caller is pinned in a scope alone");
    ///     println!("the helper runs on {:?}", helper.cpu);
    /// }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn placement(&self) -> Seating {
        self.executor().cpus().seating()
    }

    /// How many ranges have been stolen since the pool was built. Read it before and after a loop
    /// to see how well the loop was balanced.
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
        self.executor().thefts()
    }

    /// A loop over any source, with stages and options: see [`On`] and
    /// [`Chain`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = pool.on(0..1000).threads(2).sum::<i32>();
    /// assert_eq!(sum, 499_500);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn on<C: IntoChain<Chain: Sync>>(&self, chain: C) -> On<C::Chain, OnPool<'_>> {
        On::new(self.executor(), chain.into_chain())
    }

    /// As [`on`](Self::on), of a slice whose items are changed: it is borrowed for this loop, where
    /// `on(slice)` would move a `slice: &mut [T]` away.
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
    #[inline(always)]
    #[track_caller]
    pub fn on_mut<'a, T: Send>(&self, items: &'a mut [T]) -> On<Exclusive<'a, T>, OnPool<'_>> {
        self.on(items)
    }

    /// A loop over a list that grows while it runs: closures are given items by value, and add
    /// others. For searches in trees and graphs, branch and bound, divide and conquer, farms with
    /// feedback. The seeds are collected first. See [`Grow`].
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
    #[inline(always)]
    #[track_caller]
    pub fn grow<T: Send>(&self, seeds: impl IntoIterator<Item = T>) -> Grow<'_, T> {
        Grow::new(self.on(seeds.into_iter().collect::<Vec<T>>()))
    }

    /// Runs two closures, at the same time if a worker is idle, and returns what they return. For
    /// divide and conquer whose work goes on with the results of both parts.
    ///
    /// The calling thread runs `first`, and then `second` if no worker has taken that. Only the
    /// first levels of a recursion are offered to workers (`join` inside `join`: five on two
    /// threads, and three more if a thread is idle), so that what is offered is large; and only
    /// where `second` took long enough the last times. A thread that waits for its second closure
    /// helps the joins and the loops inside it. A join that is offered counts as one of the sixteen
    /// loops of a pool that can be shared at a time, until it is over. A join that is not offered
    /// costs a few nanoseconds. End a recursion over numbers with a plain loop over some hundred of
    /// them all the same. Parts without results that go on are better items of a list that grows
    /// ([`grow`](Self::grow)), and a known number of parts items of a loop.
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
    /// If a closure does. If both do, the panic of `first` comes out. If `first` panics before a
    /// worker has taken `second`, that is dropped.
    #[inline]
    pub fn join<A, B>(&self, first: impl FnOnce() -> A, second: impl FnOnce() -> B + Send) -> (A, B)
    where
        B: Send,
    {
        self.executor().join(first, second)
    }

    /// A state for each worker, made by `make(worker)` and kept from loop to loop: see
    /// [`PerWorker`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let states = pool.per_worker(|worker| worker);
    /// assert_eq!(states.into_vec(), (0..pool.num_threads()).collect::<Vec<_>>());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn per_worker<W>(&self, make: impl FnMut(usize) -> W) -> PerWorker<W> {
        PerWorker::new(self.num_threads(), make)
    }

    /// Maps every item and reduces the results in slice order; `None` if there are no items.
    ///
    /// `reduce` must be associative. Calls `map` once per item, and `reduce` once less than that.
    ///
    /// Partial results may grow, as vectors do that are merged: a worker for whom items become
    /// dearer begins a new one, and in the end neighbours are reduced in pairs. With one thread, as
    /// in the plain loop, the result so far is reduced with every item.
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
    /// If `map` or `reduce` does.
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

    /// Folds the items into accumulators, one per run of neighbouring items, and reduces these in
    /// slice order.
    ///
    /// `init` is called once per run, and at least once; there are at most 1 + workers + thefts
    /// runs. So its value must be neutral: `reduce(init(), a)` is `a`. `reduce` must be associative
    /// and agree with `fold`: `fold(reduce(a, b), item)` is `reduce(a, fold(b, item))`.
    /// Accumulators are moved with every item, as by [`Iterator::fold`]: make large ones vectors or
    /// boxes.
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
    /// If `init`, `fold` or `reduce` does.
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

    /// Calls `f` with every item.
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
    /// If `f` does.
    #[inline]
    #[track_caller]
    pub fn for_each<T: Sync>(&self, items: &[T], f: impl Fn(&T) + Sync) {
        self.on(items).for_each(f);
    }

    /// Calls `f` with every item, to change it.
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
    /// If `f` does.
    #[inline]
    #[track_caller]
    pub fn for_each_mut<T: Send>(&self, items: &mut [T], f: impl Fn(&mut T) + Sync) {
        self.on(items).for_each(f);
    }

    /// Maps every item into a `Vec`, in slice order. Each result is written once, at its final
    /// place.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.map_collect(&[1, 2, 3], |x| x * x), [1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does; the results made until then are dropped.
    #[inline]
    #[track_caller]
    pub fn map_collect<'a, T, R>(&self, items: &'a [T], map: impl Fn(&'a T) -> R + Sync) -> Vec<R>
    where
        T: Sync,
        R: Send,
    {
        self.on(items).map(map).collect()
    }

    /// Assigns the result for every item to its place in `out`. The former values are dropped, and
    /// nothing is allocated.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut squares = [0; 3];
    /// pool.map_into(&[1, 2, 3], &mut squares, |x| x * x);
    /// assert_eq!(squares, [1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does, or if `out` is not as long as `items`. Results that were already written stay
    /// in `out`.
    #[inline]
    #[track_caller]
    pub fn map_into<'a, T, R>(&self, items: &'a [T], out: &mut [R], map: impl Fn(&'a T) -> R + Sync)
    where
        T: Sync,
        R: Send,
    {
        self.on(items).zip(out).for_each(|(item, place)| *place = map(item));
    }

    /// Whether `test` is true of any item. Ends soon after the first such item is found. It
    /// searches as [`find`](Self::find) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.any(&[1, 2, 3], |x| *x == 2));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if another item can end the loop, the loop may return that result
    /// instead.
    #[inline]
    #[track_caller]
    pub fn any<T: Sync>(&self, items: &[T], test: impl Fn(&T) -> bool + Sync) -> bool {
        self.on(items).any(test)
    }

    /// Whether `test` is true of all items. Ends soon after the first item is found for which it is
    /// false. It searches as [`find`](Self::find) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.all(&[1, 2, 3], |x| *x < 4));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if another item can end the loop, the loop may return that result
    /// instead.
    #[inline]
    #[track_caller]
    pub fn all<T: Sync>(&self, items: &[T], test: impl Fn(&T) -> bool + Sync) -> bool {
        self.on(items).all(test)
    }

    /// Any item of which `test` is true. If there are several, it need not be the same one every
    /// time.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.find_any(&[1, 2, 3], |x| *x > 2), Some(&3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if another item can end the loop, the loop may return that result
    /// instead.
    #[inline]
    #[track_caller]
    pub fn find_any<'a, T: Sync>(&self, items: &'a [T], test: impl Fn(&T) -> bool + Sync) -> Option<&'a T> {
        self.on(items).find_any(|item| test(item))
    }

    /// The first item of which `test` is true.
    ///
    /// All workers go through the slice together from the front, so that few items behind the first
    /// match are tested in vain: hardly more than an eighth of the number that must be tested.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.find(&[1, 2, 3], |x| *x > 1), Some(&2));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does, for an item before the first match.
    #[inline]
    #[track_caller]
    pub fn find<'a, T: Sync>(&self, items: &'a [T], test: impl Fn(&T) -> bool + Sync) -> Option<&'a T> {
        self.on(items).find(|item| test(item))
    }

    /// The index of the first item of which `test` is true. It searches as
    /// [`find`](Self::find) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.position(&[1, 2, 3], |x| *x > 1), Some(1));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does, for an item before the first match.
    #[inline]
    #[track_caller]
    pub fn position<T: Sync>(&self, items: &[T], test: impl Fn(&T) -> bool + Sync) -> Option<usize> {
        self.on(items).position(test)
    }

    /// Sorts the slice, keeping the order of equal items.
    ///
    /// O(*n* log *n*) comparisons, in parallel if the slice is long enough; O(*n*) if it is in
    /// order or strictly descending, and O(*n* + *k* log *k* + *k* log *n*) if all but *k* items,
    /// are in order, and these are few: one in sixteen at most with two workers, less with more.
    /// Takes memory for as many items again. Short slices, zero-sized items, and what is not nearly
    /// in order while no worker is idle are sorted by [`slice::sort`]. Items need not be `Sync`:
    /// only one thread at a time looks at an item.
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
    /// If a comparison does. May panic if `Ord` is not a total order; otherwise the order is then
    /// unspecified. In both cases the slice still holds all its items afterwards, in some order.
    #[track_caller]
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) {
        sort::sort(self.executor(), items, &By::new(<[T]>::sort, T::lt));
    }

    /// Sorts the slice by `compare`, keeping the order of equal items, as [`sort`](Self::sort)
    /// does.
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
    /// If `compare` does. May panic if it is not a total order; otherwise the order is then
    /// unspecified. In both cases the slice still holds all its items afterwards, in some order.
    #[track_caller]
    pub fn sort_by<T: Send>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let serial = |items: &mut [T]| items.sort_by(&compare);
        sort::sort(self.executor(), items, &By::new(serial, |a: &T, b: &T| compare(a, b).is_lt()));
    }

    /// Sorts the slice by a key, keeping the order of items with equal keys, as
    /// [`sort`](Self::sort) does.
    ///
    /// `key` is called twice per comparison.
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
    /// If `key` or a comparison of keys does. May panic if the order of keys is not total;
    /// otherwise the order is then unspecified. In both cases the slice still holds all its items
    /// afterwards, in some order.
    #[track_caller]
    pub fn sort_by_key<T: Send, K: Ord>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        let serial = |items: &mut [T]| items.sort_by_key(&key);
        sort::sort(self.executor(), items, &By::new(serial, |a: &T, b: &T| key(a).lt(&key(b))));
    }

    /// Sorts the slice by a key that is computed once for each item, keeping the order of items
    /// with equal keys: for keys that take long to compute.
    ///
    /// Takes memory for a key and an index for each item, and for as many items again; otherwise
    /// as [`sort`](Self::sort). If items are large and the key is cheap,
    /// [`sort_by_key`](Self::sort_by_key) may still be slower than this, since here keys and
    /// indices are sorted, and each item is moved twice.
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
    /// If `key` or a comparison of keys does. May panic if the order of keys is not total;
    /// otherwise the order is then unspecified. After a panic no item has been moved, unless it was
    /// the drop of a key that panicked.
    #[track_caller]
    pub fn sort_by_cached_key<T: Send, K: Ord + Send>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        sort::sort_by_cached_key(self.executor(), items, key);
    }

    /// Sorts the slice; equal items may change places. Faster than [`sort`](Self::sort) where items
    /// are large or many of them are equal.
    ///
    /// O(*n* log *n*) comparisons, in parallel if the slice is long enough; fewer if it is nearly
    /// in order, as in [`sort`](Self::sort); for the few that are not, it takes memory. Otherwise
    /// pools of four workers or fewer sort in place, and others take memory for as many items
    /// again. Short slices, zero-sized items, and what is not nearly in order while no worker is
    /// idle are sorted by [`slice::sort_unstable`]. Items need not be `Sync`.
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
    /// If a comparison does. May panic if `Ord` is not a total order; otherwise the order is then
    /// unspecified. In both cases the slice still holds all its items afterwards, in some order.
    #[track_caller]
    pub fn sort_unstable<T: Ord + Send>(&self, items: &mut [T]) {
        sort::sort_unstable(self.executor(), items, &By::new(<[T]>::sort_unstable, T::lt));
    }

    /// Sorts the slice by `compare`; equal items may change places. As
    /// [`sort_unstable`](Self::sort_unstable).
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
    /// If `compare` does. May panic if it is not a total order; otherwise the order is then
    /// unspecified. In both cases the slice still holds all its items afterwards, in some order.
    #[track_caller]
    pub fn sort_unstable_by<T: Send>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        let serial = |items: &mut [T]| items.sort_unstable_by(&compare);
        sort::sort_unstable(self.executor(), items, &By::new(serial, |a: &T, b: &T| compare(a, b).is_lt()));
    }

    /// Sorts the slice by a key; items with equal keys may change places. As
    /// [`sort_unstable`](Self::sort_unstable); `key` is called twice per comparison.
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
    /// If `key` or a comparison of keys does. May panic if the order of keys is not total;
    /// otherwise the order is then unspecified. In both cases the slice still holds all its items
    /// afterwards, in some order.
    #[track_caller]
    pub fn sort_unstable_by_key<T: Send, K: Ord>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        let serial = |items: &mut [T]| items.sort_unstable_by_key(&key);
        sort::sort_unstable(self.executor(), items, &By::new(serial, |a: &T, b: &T| key(a).lt(&key(b))));
    }
}
