//! The pool and its loops: all user generics are here.

mod accumulator;
mod affinity;
mod barrier;
mod body;
mod builder;
mod collect;
mod error;
mod estimate;
mod executor;
mod fence;
mod fork;
mod grain;
mod job;
mod launch;
#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod litmus;
mod loops;
#[cfg(all(test, not(any(loom, shuttle, miri))))] // under Miri minutes each, and safe code on one thread
mod machines;
#[cfg(all(test, any(loom, shuttle)))]
mod models;
mod near;
mod on;
mod options;
mod placement;
mod planted;
mod quota;
mod range;
mod report;
mod reproducible;
mod round;
mod seats;
mod site;
mod sort;
mod source;
mod split;
mod state;
mod tenure;
mod times;
mod topology;
mod trace;
mod units;
mod verb;
mod watch;
mod worker;

pub use builder::PoolBuilder;
pub use error::BuildError;
pub use on::{Always, Ending, On, Unless};
pub use placement::{CountedBy, Hold, Pinning, Placement};
pub use range::Stealing;
pub use report::{Alone, RunReport, WorkerReport};
pub use seats::{Seat, Seating};
pub use source::{Chunks, Exclusive, IntoSource, Pieces, Source, Zip};
pub use state::{Fresh, Kept, PerWorker, State, Stateful, Stateless};
pub use topology::Cpu;
pub use trace::{Run, Slow, Theft, Timeline, Trace};
pub use watch::{CancelToken, Cancelled, Progress};

use std::cmp::Ordering;

use executor::Executor;
use worker::Crew;

/// A team of threads that runs loops over slices.
///
/// All loops take `&self`, return when the loop is done, and may borrow whatever the caller has: no worker touches the items
/// or the closures after the call has returned. Dropping the pool joins its threads.
///
/// # Which loop runs where
/// A loop that is too short to be worth waking a thread runs on the calling thread, as the plain loop. So does a loop that
/// finds its pool busy, because it is called inside another loop of the same pool or while another thread's loop is running:
/// nothing waits for a turn, nothing can deadlock. Build two pools to run two loops side by side. A loop inside a loop takes 2 KiB of
/// stack, 8 KiB in debug builds.
///
/// # Ends and failures of the process
/// In a child made by `fork` every loop runs on the calling thread, unless its pool, its [`CancelToken`] and its [`Progress`] were made
/// there; but a child forked by a closure *inside* a loop must not return into that loop, whose other workers it does not have: let
/// it exec or exit. A closure may end the process ([`std::process::exit`]), on whatever thread it is.
///
/// An allocation that fails ends the process, as everywhere in Rust and on whatever thread it is
/// ([`handle_alloc_error`](std::alloc::handle_alloc_error)); more results than a `Vec` can have are a panic, before any item.
///
/// # What no pool can help with
/// A loop whose items all need one lock, or write one cache line (a shared counter, say), is slower on several threads than on
/// one. The pool does not find that out: fold into an accumulator instead, as [`fold_reduce`](Self::fold_reduce) does, or call
/// the plain loop.
///
/// # Panics
/// A panic in a closure ends the loop, comes out of the call with its original payload, and leaves the pool as usable as before.
/// Items before the one that panicked are still worked on, of those behind it few; so of several panics it is that of the first item that comes
/// out, as in the plain loop, whatever the schedule. Errors of the `try_` loops likewise. Loops over an empty slice call only `init`.
///
/// # Order
/// Which worker runs which item, and when, is not defined. What is: partial results are combined in the order of the slice,
/// so `reduce` must be associative but need not be commutative. With floating-point numbers, where addition is not
/// associative, the last digits of a sum can differ from run to run, unless the loop is [`reproducible`](On::reproducible).
#[derive(Debug)]
pub struct Pool {
    executor: Executor,
    crew: Crew,
}

impl Drop for Pool {
    /// In the middle of a loop? Then a closure has called `process::exit`, which drops the thread-local variables of its thread, and
    /// the pool is one of them. The workers go on for as long as the process is there.
    fn drop(&mut self) {
        if self.executor.stays_if_busy() {
            self.crew.leave();
        }
    }
}

impl Pool {
    /// A pool on all CPUs this thread may use, as [`PoolBuilder`]'s defaults have it.
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
        self.executor.workers()
    }

    /// Which worker sits on which CPU at the moment, and why.
    ///
    /// ```
    /// use rangesteal::{Hold, Pool};
    ///
    /// let pool = Pool::builder().num_threads(2).build()?;
    /// let placement = pool.placement();
    /// println!("{placement}");
    /// if let [caller, helper] = &placement.seats[..] {
    ///     assert!(caller.hold != Hold::Pinned, "outside of a scope the calling thread is left alone");
    ///     println!("the helper runs on {:?}", helper.cpu);
    /// }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[must_use]
    pub fn placement(&self) -> Seating {
        self.executor.seats().seating()
    }

    /// How many ranges have been stolen since the pool was built. To be read between two loops, to see how a loop balanced.
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
        self.executor.thefts()
    }

    /// A loop with options, or over something else than a slice: see [`On`] and [`Source`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = pool.on(0..1000).threads(2).map_reduce(|i| i, |a, b| a + b);
    /// assert_eq!(sum, Some(499_500));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn on<S: IntoSource>(&self, source: S) -> On<'_, S::Source> {
        On::new(self, source.into_source())
    }

    /// A state for each worker, made by `make(worker)`, to be kept from loop to loop: see [`PerWorker`].
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
    /// `reduce` must be associative. Calls `map` once an item and `reduce` once less.
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
    pub fn map_reduce<T, R>(
        &self,
        items: &[T],
        map: impl Fn(&T) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<R>
    where
        T: Sync,
        R: Send,
    {
        self.on(items).map_reduce(map, reduce)
    }

    /// Folds the items into accumulators, one a run of neighbouring items, and reduces these in slice order.
    ///
    /// `init` is called once a run (at least once; runs are at most as many as workers and thefts, and one), so its value must be neutral:
    /// `reduce(init(), a)` is `a`. `reduce` must be associative and agree with `fold`:
    /// `fold(reduce(a, b), item)` is `reduce(a, fold(b, item))`. Accumulators are moved with every item, as by [`Iterator::fold`]: let
    /// large ones be vectors or boxes.
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
    pub fn fold_reduce<T, A>(
        &self,
        items: &[T],
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, &T) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> A
    where
        T: Sync,
        A: Send,
    {
        self.on(items).fold_reduce(init, fold, reduce)
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
    pub fn for_each_mut<T: Send>(&self, items: &mut [T], f: impl Fn(&mut T) + Sync) {
        self.on(items).for_each(f);
    }

    /// Maps every item into a `Vec`, in slice order. Each result is written once, where it belongs.
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
    pub fn map_collect<T, R>(&self, items: &[T], map: impl Fn(&T) -> R + Sync) -> Vec<R>
    where
        T: Sync,
        R: Send,
    {
        self.on(items).map_collect(map)
    }

    /// Assigns the result for every item to its place in `out`, whose former values are dropped. Allocates nothing.
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
    /// If `map` does, and if `out` is not as long as `items`. The places written until then stay written.
    #[inline]
    pub fn map_into<T, R>(&self, items: &[T], out: &mut [R], map: impl Fn(&T) -> R + Sync)
    where
        T: Sync,
        R: Send,
    {
        self.on(items).map_into(out, map);
    }

    /// Maps every item and reduces the results in slice order, or returns the `Err` with the lowest index, whatever the schedule.
    ///
    /// Items before that one are all mapped, of those behind it few.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = |words: &[&str]| pool.try_map_reduce(words, |word| word.parse::<i32>().map_err(|_| word.len()), |a, b| a + b);
    /// assert_eq!(sum(&["1", "2"]), Ok(Some(3)));
    /// assert_eq!(sum(&["1", "one", "three"]), Err(3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// What `map` returned for the first item for which it returned an error.
    ///
    /// # Panics
    /// If `map` or `reduce` does, for an item before that.
    #[inline]
    pub fn try_map_reduce<T, R, E>(
        &self,
        items: &[T],
        map: impl Fn(&T) -> Result<R, E> + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Result<Option<R>, E>
    where
        T: Sync,
        R: Send,
        E: Send,
    {
        self.on(items).try_map_reduce(map, reduce)
    }

    /// Calls `f` with every item until one returns `Err`; returns that with the lowest index, whatever the schedule.
    ///
    /// Items before that one are all given to `f`, of those behind it few.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let checked = pool.try_for_each(&[2, 4, 5, 7], |x| if x % 2 == 0 { Ok(()) } else { Err(*x) });
    /// assert_eq!(checked, Err(5));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returned for the first item for which it returned an error.
    ///
    /// # Panics
    /// If `f` does, for an item before that.
    #[inline]
    pub fn try_for_each<T: Sync, E: Send>(
        &self,
        items: &[T],
        f: impl Fn(&T) -> Result<(), E> + Sync,
    ) -> Result<(), E> {
        self.on(items).try_for_each(f)
    }

    /// Whether `test` is true of any item. Ends soon after the first that is found.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.any(&[1, 2, 3], |x| *x == 2));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if the loop can end elsewhere, it may do so instead.
    #[inline]
    pub fn any<T: Sync>(&self, items: &[T], test: impl Fn(&T) -> bool + Sync) -> bool {
        self.on(items).any(test)
    }

    /// Whether `test` is true of all items. Ends soon after the first of which it is not.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.all(&[1, 2, 3], |x| *x < 4));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if the loop can end elsewhere, it may do so instead.
    #[inline]
    pub fn all<T: Sync>(&self, items: &[T], test: impl Fn(&T) -> bool + Sync) -> bool {
        self.on(items).all(test)
    }

    /// Any item of which `test` is true: if there are several, not the same every time.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.find_any(&[1, 2, 3], |x| *x > 2), Some(&3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if the loop can end elsewhere, it may do so instead.
    #[inline]
    pub fn find_any<'a, T: Sync>(&self, items: &'a [T], test: impl Fn(&T) -> bool + Sync) -> Option<&'a T> {
        self.on(items).find_any(test)
    }

    /// The first item of which `test` is true.
    ///
    /// All workers together go through the slice from the front, so that hardly more than an eighth of the items that had to be
    /// looked at are looked at in vain.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.find_first(&[1, 2, 3], |x| *x > 1), Some(&2));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does, for an item before that.
    #[inline]
    pub fn find_first<'a, T: Sync>(&self, items: &'a [T], test: impl Fn(&T) -> bool + Sync) -> Option<&'a T> {
        self.on(items).find_first(test)
    }

    /// The index of the first item of which `test` is true: as [`find_first`](Self::find_first).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.position_first(&[1, 2, 3], |x| *x > 1), Some(1));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does, for an item before that.
    #[inline]
    pub fn position_first<T: Sync>(&self, items: &[T], test: impl Fn(&T) -> bool + Sync) -> Option<usize> {
        self.on(items).position_first(test)
    }

    /// Sorts the slice, keeping the order of equal items.
    ///
    /// O(*n* log *n*) comparisons, in parallel, where the slice is long enough; O(*n*) where it is in order or strictly
    /// descending. Takes memory for as many items again. Short slices are sorted by [`slice::sort`], and so are items without
    /// a size. Items need not be `Sync`: only one thread at a time looks at an item.
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
    /// If a comparison does. May panic if `Ord` is not a total order; otherwise the order is then unspecified. In both cases the
    /// slice holds all its items afterwards, in some order.
    pub fn sort<T: Ord + Send>(&self, items: &mut [T]) {
        sort::sort(self, items, <[T]>::sort, T::lt);
    }

    /// Sorts the slice by an order, keeping the order of equal items; as [`sort`](Self::sort) does.
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
    /// If `compare` does. May panic if it is not a total order; otherwise the order is then unspecified. In both cases the
    /// slice holds all its items afterwards, in some order.
    pub fn sort_by<T: Send>(&self, items: &mut [T], compare: impl Fn(&T, &T) -> Ordering + Sync) {
        sort::sort(self, items, |items| items.sort_by(&compare), |a, b| compare(a, b).is_lt());
    }

    /// Sorts the slice by a key, keeping the order of items with equal keys; as [`sort`](Self::sort) does.
    ///
    /// `key` is called twice a comparison.
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
    /// If `key` or a comparison of keys does. May panic if the order of keys is not total; otherwise the order is then
    /// unspecified. In both cases the slice holds all its items afterwards, in some order.
    pub fn sort_by_key<T: Send, K: Ord>(&self, items: &mut [T], key: impl Fn(&T) -> K + Sync) {
        sort::sort(self, items, |items| items.sort_by_key(&key), |a, b| key(a).lt(&key(b)));
    }
}
