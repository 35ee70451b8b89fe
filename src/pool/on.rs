//! A source and the options of a loop over it.

use std::{cell::OnceCell, marker::PhantomData, ops::Range};

use super::{
    Pool,
    body::{End, Stop},
    executor::Rest,
    launch::Habit,
    options::{Options, Wishes},
    report::RunReport,
    reproducible::{self, Tree},
    site::Slice,
    source::{Chunks, IntoSource, Pieces, Source, Zip},
    state::{Fresh, Kept, PerWorker, State, Stateless},
    trace::Trace,
    units::{Blocks, Front, Units},
    verb::{InBlocks, InFront, InTree, Verb},
    watch::{CancelToken, Cancelled, Progress, Watch},
};

/// A source and the options of a loop over it; the loop itself is the last method. Made by [`Pool::on`].
///
/// Options compose, and their order does not matter, but for [`zip`](Self::zip), [`enumerate`](Self::enumerate) and
/// [`chunks`](Self::chunks), which make another source.
///
/// ```
/// use rangesteal::{Pool, Progress, RunReport};
///
/// let pool = Pool::new()?;
/// let (x, mut y) = (vec![1.0_f64; 1000], vec![2.0; 1000]);
/// pool.on(&mut y).zip(&x).for_each(|(y, x)| *y += 3.0 * x);
///
/// let mut report = RunReport::default();
/// let dot = pool
///     .on(&x)
///     .zip(&y)
///     .reproducible()
///     .report(&mut report)
///     .map_reduce(|(x, y)| x * y, |a, b| a + b);
/// assert_eq!(dot, Some(5000.0));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct On<'p, S, E = Always, M = Stateless> {
    pool: &'p Pool,
    source: S,
    state: M,
    threads: usize,
    /// Items a block, if asked for.
    grain: Option<usize>,
    reproducible: bool,
    watch: Watch<'p>,
    wishes: Wishes<'p>,
    ending: PhantomData<E>,
}

/// What a loop returns: its result, unless it can be cancelled. Sealed.
///
/// ```
/// use rangesteal::{On, options::Ending, source::Source};
///
/// /// Of any source, with whatever options.
/// fn count<S: Source, E: Ending>(on: On<'_, S, E>) -> E::Of<usize> {
///     on.fold_reduce(|| 0, |count, _| count + 1, |a, b| a + b)
/// }
///
/// let (pool, token) = (rangesteal::Pool::new()?, rangesteal::CancelToken::new());
/// assert_eq!(count(pool.on(0..7)), 7);
/// assert_eq!(count(pool.on(0..7).cancel(&token)), Ok(7));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
pub trait Ending: sealed::Sealed {
    /// Its result, or that or [`Cancelled`].
    type Of<T>;

    /// None: cancelled.
    #[doc(hidden)]
    fn end<T>(result: Option<T>) -> Self::Of<T>;
}

/// Nothing cancels the loop: it returns its result.
#[derive(Debug)]
pub enum Always {}

/// The loop can be cancelled: it returns a `Result`. See [`On::cancel`].
#[derive(Debug)]
pub enum Unless {}

impl Ending for Always {
    type Of<T> = T;

    fn end<T>(result: Option<T>) -> T {
        result.expect("only a token cancels a loop")
    }
}

impl Ending for Unless {
    type Of<T> = Result<T, Cancelled>;

    fn end<T>(result: Option<T>) -> Result<T, Cancelled> {
        result.ok_or(Cancelled)
    }
}

impl<'p, S: Source> On<'p, S> {
    #[inline(always)]
    pub(crate) fn new(pool: &'p Pool, source: S) -> Self {
        Self {
            pool,
            source,
            state: Stateless,
            threads: usize::MAX,
            grain: None,
            reproducible: false,
            watch: Watch::default(),
            wishes: Wishes::default(),
            ending: PhantomData,
        }
    }
}

/// Options.
impl<'p, S: Source, E: Ending, M: State> On<'p, S, E, M> {
    /// Another source, the same options.
    #[inline(always)]
    fn over<Z>(self, other: impl FnOnce(S) -> Z) -> On<'p, Z, E, M> {
        let Self { pool, source, state, threads, grain, reproducible, watch, wishes, ending } = self;
        let source = other(source);
        On { pool, source, state, threads, grain, reproducible, watch, wishes, ending }
    }

    /// Runs over this source and another in step: the closures are given pairs.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let dot = pool.on(&[1, 2, 3]).zip(&[4, 5, 6]).map_reduce(|(a, b)| a * b, |a, b| a + b);
    /// assert_eq!(dot, Some(32));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the two have different lengths.
    #[inline(always)]
    pub fn zip<B: IntoSource>(self, other: B) -> On<'p, Zip<S, B::Source>, E, M> {
        self.over(|source| Zip::new(source, other.into_source()))
    }

    /// Runs over pairs of an index and an item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut squares = [0; 4];
    /// pool.on(&mut squares).enumerate().for_each(|(i, square)| *square = i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn enumerate(self) -> On<'p, Zip<Range<usize>, S>, E, M> {
        self.over(|source| Zip::new(0..source.count(), source))
    }

    /// Runs over pieces of `size` items each; the last may be shorter. A piece is then what is called an item elsewhere here: what is
    /// claimed, counted and reported.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut matrix = [1, 2, 3, 4, 5, 6];
    /// pool.on(&mut matrix).chunks(3).for_each(|row| row.reverse());
    /// assert_eq!(matrix, [3, 2, 1, 6, 5, 4]);
    /// assert_eq!(pool.on(0..7).chunks(3).map_collect(|indices| indices), [0..3, 3..6, 6..7]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    #[inline(always)]
    pub fn chunks(self, size: usize) -> On<'p, Chunks<S>, E, M>
    where
        S: Pieces,
    {
        self.over(|source| Chunks::new(source, size))
    }

    /// Workers claim `items` at once, neither more nor fewer: blocks that begin at multiples of that. (The last is shorter, if there are not as
    /// many left. A loop that runs on the calling thread alone claims nothing.)
    ///
    /// Without this the pool chooses, as a rule better, since it measures what items cost. It is of use where workers that write
    /// neighbouring items disturb each other (so many items as fill a cache line), or where no item may ever be trapped in the claim of a
    /// heavy one (1). A search for the first has blocks of its own, whatever is asked for.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut flags = vec![false; 1000];
    /// pool.on(&mut flags).grain(64).for_each(|flag| *flag = true);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `items` is 0.
    #[inline(always)]
    pub fn grain(mut self, items: usize) -> Self {
        assert!(items > 0, "grain: a block has at least one item");
        self.grain = Some(items);
        self
    }

    /// Uses at most that many workers, the calling thread included.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let caller = std::thread::current().id();
    /// pool.on(0..1000).threads(1).for_each(|_| assert_eq!(std::thread::current().id(), caller));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `workers` is 0.
    #[inline(always)]
    pub fn threads(mut self, workers: usize) -> Self {
        assert!(workers > 0, "threads: the calling thread is a worker, too");
        self.threads = workers;
        self
    }

    /// The same result for every number of threads and every schedule, bit for bit, also where `reduce` is not associative, as
    /// the addition of floating-point numbers.
    ///
    /// The slice is folded in blocks, and their results are reduced by pairs, pairs of pairs and so on; one that is left over
    /// waits for the next pairs. Where blocks begin depends on the
    /// length `n` alone: they have `n / 256` items each, but at most 64, or `n / 2048` if that is more; or as many as
    /// [`grain`](Self::grain) says. So the result depends on the items, their number and the grain. It is in general not that of the plain loop
    /// (for sums it is, on average, more exact); it is the same on a pool of one thread. Another order would be a breaking change
    /// of this crate: `STABILITY.md` says more.
    ///
    /// Blocks are claimed and stolen whole, and `init` and `reduce` are called once a block: at most some 2100 times, or `n / grain`. A large
    /// accumulator wants large blocks; few items that take long each want a grain of 1. Of use to `map_reduce`, `fold_reduce` and
    /// `try_map_reduce`; the results of all other loops are reproducible without it, but for those of `find_any`.
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let sum = |threads| {
    ///     let pool = Pool::builder().num_threads(threads).build()?;
    ///     let sum = pool.on(1..100_000).reproducible().map_reduce(|i| 1.0 / i as f64, |a, b| a + b);
    ///     Ok::<_, rangesteal::BuildError>(sum.unwrap_or(0.0).to_bits())
    /// };
    /// assert_eq!(sum(1)?, sum(4)?);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn reproducible(mut self) -> Self {
        self.reproducible = true;
        self
    }

    /// Lets any thread end the loop, which then returns `Result<_, Cancelled>`: see [`CancelToken`]. A loop that can fail returns
    /// `Result<Result<_, E>, Cancelled>`. If asked for twice, the last token counts.
    ///
    /// ```
    /// use rangesteal::{CancelToken, Cancelled, Pool};
    ///
    /// let pool = Pool::new()?;
    /// let token = CancelToken::new();
    /// assert_eq!(pool.on(&[1, 2]).cancel(&token).map_collect(|x| x + 1), Ok(vec![2, 3]));
    /// token.cancel();
    /// assert_eq!(pool.on(&[1, 2]).cancel(&token).map_collect(|x| x + 1), Err(Cancelled));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn cancel(self, token: &'p CancelToken) -> On<'p, S, Unless, M> {
        let Self { pool, source, state, threads, grain, reproducible, watch, wishes, .. } = self;
        let watch = Watch { cancel: Some(token), ..watch };
        On { pool, source, state, threads, grain, reproducible, watch, wishes, ending: PhantomData }
    }

    /// Lets any thread ask how many items are done: see [`Progress`]. Costs the calling thread about half a microsecond a loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let progress = rangesteal::Progress::new();
    /// pool.on(0..500).progress(&progress).for_each(|_| ());
    /// assert_eq!(progress.done(), 500);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn progress(mut self, handle: &'p Progress) -> Self {
        self.watch.progress = Some(handle);
        self
    }

    /// Gives each worker a state of its own, made by `make(worker)` before its first item and dropped after its last: the closures
    /// of the loop are given it as `&mut`, before the item. Workers are numbered from 0, the calling thread.
    ///
    /// Exactly one for each worker that folds any item, in each call (and a new one after a panic, to finish the items before it). It stays on
    /// its thread, so it need not be `Send`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["b a", "d c e", "f"];
    /// let sorted = pool.on(&words).with(|_worker| Vec::new()).map_collect(|scratch, words| {
    ///     scratch.clear();
    ///     scratch.extend(words.split(' '));
    ///     scratch.sort_unstable();
    ///     scratch.join(" ")
    /// });
    /// assert_eq!(sorted, ["a b", "c d e", "f"]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn with<W, F: Fn(usize) -> W + Sync>(self, make: F) -> On<'p, S, E, Fresh<F>> {
        self.state(Fresh(make))
    }

    /// The same with states that are kept from loop to loop: see [`PerWorker`]. The loop has at most as many workers as there are states.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut buffers = pool.per_worker(|_| Vec::new());
    /// for _round in 0..3 {
    ///     let sum = pool.on(0..10).with_kept(&mut buffers).map_reduce(
    ///         |buffer, i| {
    ///             buffer.clear(); // its memory stays
    ///             buffer.extend(0..i);
    ///             buffer.len()
    ///         },
    ///         |a, b| a + b,
    ///     );
    ///     assert_eq!(sum, Some(45));
    /// }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn with_kept<W: Send>(self, states: &'p mut PerWorker<W>) -> On<'p, S, E, Kept<'p, W>> {
        self.state(Kept(states))
    }

    /// Tells what the loop did: see [`RunReport`]. Not written if the loop panics. Costs some readings of the clock.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut report = rangesteal::RunReport::default();
    /// pool.on(0..500).report(&mut report).for_each(|_| ());
    /// assert_eq!(report.items(), 500);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn report(mut self, report: &'p mut RunReport) -> Self {
        self.wishes.report = Some(report);
        self
    }

    /// Records what the loop does when, to be drawn: see [`Trace`]. Not written if the loop panics. Costs some readings of the clock, and
    /// memory for each run of each loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut trace = rangesteal::Trace::new();
    /// for _round in 0..3 {
    ///     pool.on(0..500).trace(&mut trace).for_each(|_| ());
    /// }
    /// assert_eq!(trace.timelines().len(), 3);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn trace(mut self, trace: &'p mut Trace) -> Self {
        self.wishes.trace = Some(trace);
        self
    }

    #[inline(always)]
    fn state<N: State>(self, state: N) -> On<'p, S, E, N> {
        let Self { pool, source, threads, grain, reproducible, watch, wishes, ending, .. } = self;
        On { pool, source, state, threads, grain, reproducible, watch, wishes, ending }
    }

    /// How many items there are.
    pub(super) fn count(&self) -> usize {
        self.source.count()
    }

    /// Folds the items: what `block` folds, and where it stops, are indices of the source. None if there are none.
    #[inline(always)]
    pub(super) fn fold<A: Send, Z: Send>(
        self,
        habit: Habit,
        block: impl Fn(&S, &mut M::Worker, Option<A>, Range<usize>) -> Result<A, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A,
    ) -> Result<Option<A>, End<Z>> {
        let Self { pool, source, ref state, grain, .. } = self;
        let Pool { executor, crew } = pool;
        let (slice, verb) = (slice(&source), Verb::new(source, state, block));
        let options = Options::new(self.threads.min(state.most()), self.watch, self.wishes, habit);
        match grain {
            None => executor.fold(crew, slice, options, &verb, &reduce),
            Some(size) => {
                let blocks = Blocks { size, len: slice.len };
                let body = InBlocks { verb, blocks };
                executor.fold(crew, in_blocks(slice, blocks), options.in_blocks(blocks), &body, &reduce)
            }
        }
    }

    /// The same in blocks whose results are reduced in the same order always, if this is asked for.
    #[inline(always)]
    pub(super) fn fold_and_reduce<A: Send, Z: Send>(
        self,
        block: impl Fn(&S, &mut M::Worker, Option<A>, Range<usize>) -> Result<A, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Result<Option<A>, End<Z>> {
        if !self.reproducible {
            return self.fold(Habit::Through, block, reduce);
        }
        let Self { pool, source, ref state, grain, .. } = self;
        let Pool { executor, crew } = pool;
        let (slice, verb) = (slice(&source), Verb::new(source, state, block));
        let options = Options::new(self.threads.min(state.most()), self.watch, self.wishes, Habit::Through);
        let blocks = Blocks { size: grain.unwrap_or(reproducible::block(slice.len)), len: slice.len };
        let body = InTree { leaves: InBlocks { verb, blocks }, reduce: &reduce };
        let join = |left: Tree<A>, right| left.join(right, &reduce);
        let tree = executor.fold(crew, in_blocks(slice, blocks), options.in_blocks(blocks), &body, &join)?;
        Ok(tree.and_then(|tree| tree.into_result(&reduce)))
    }

    /// Folds the items from the front, all workers together, until `block` stops somewhere: of several, at the first.
    #[inline(always)]
    pub(super) fn search<Z: Send>(
        self,
        block: impl Fn(&S, &mut M::Worker, Option<()>, Range<usize>) -> Result<(), Stop<Z>> + Sync,
    ) -> Result<(), End<Z>> {
        let Self { pool, source, ref state, .. } = self;
        let Pool { executor, crew } = pool;
        let (slice, verb) = (slice(&source), Verb::new(source, state, block));
        let options = Options::new(self.threads.min(state.most()), self.watch, self.wishes, Habit::Search);
        let (watch, searching) = (self.watch, OnceCell::new());
        let rest = |items, workers| {
            let body =
                searching.get_or_init(|| InFront { verb: &verb, front: Front::new(items, workers), watch });
            Rest { body, range: 0..workers, units: Units::Searchers(&body.front) }
        };
        executor.fold_in_order(crew, slice, options, &verb, rest, &|(), ()| ())?;
        Ok(())
    }
}

/// How the pool knows a source.
#[inline(always)]
fn slice(source: &impl Source) -> Slice {
    Slice { address: source.address(), len: source.count() }
}

/// And the same in blocks.
#[inline(always)]
fn in_blocks(slice: Slice, blocks: Blocks) -> Slice {
    Slice { len: blocks.count(), ..slice }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Always {}
    impl Sealed for super::Unless {}
}
