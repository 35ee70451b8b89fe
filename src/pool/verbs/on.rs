//! A source and the options of a loop over it.

use std::{marker::PhantomData, ops::Range, panic::Location};

use super::{
    attendant::{Errand, attend},
    bodies::{Claimed, Index, Numbered, Verb},
    feed::List,
    into_source::IntoSource,
    reproducible,
    source::{Chunks, Copied, Part, Pieces, Rev, Shared, Source, StepBy, Windows, Zip},
    state::{Fresh, Kept, PerBlock, PerWorker, State, Stateless},
};
use crate::pool::{
    call::{
        body::Stop,
        ending::Outcome,
        executor::Executor,
        growing::Growing,
        handles::{CancelToken, Cancelled, Progress, Watch},
        options::{Options, Wishes},
        order::Node,
    },
    policy::site::{LoopKind, Slice},
    record::{
        report::RunReport,
        trace::Trace,
        units::{Blocks, Units},
    },
};

/// A source and the options of a loop over it. The last method call is the loop itself. Made by
/// [`Pool::on`](crate::Pool::on).
///
/// Options compose, and their order does not matter, except for those that make another source:
/// [`zip`](Self::zip), [`enumerate`](Self::enumerate), [`chunks`](Self::chunks), `take`, `skip`,
/// `rev` and so on. So `rev().take(3)` is the end of a slice, and `take(3).rev()` its beginning.
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
pub struct On<'p, S, E = Uncancellable, M = Stateless> {
    executor: &'p Executor,
    source: S,
    state: M,
    threads: usize,
    /// Items per block, if asked for.
    grain: Option<usize>,
    reproducible: bool,
    watch: Watch<'p>,
    wishes: Wishes<'p>,
    ending: PhantomData<E>,
}

/// What a loop returns: its result, or a `Result` if it can be cancelled. Sealed.
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
    /// What a loop with result `T` returns: `T`, or `Result<T, Cancelled>`.
    type Of<T>;

    /// Makes what the loop returns of its result; none if it was cancelled.
    #[doc(hidden)]
    fn end<T>(ended: Option<T>) -> Self::Of<T>;
}

/// Nothing cancels the loop: it returns its result.
#[derive(Debug)]
pub enum Uncancellable {}

/// The loop can be cancelled: it returns a `Result`. See [`On::cancel`].
#[derive(Debug)]
pub enum Cancellable {}

impl Ending for Uncancellable {
    type Of<T> = T;

    fn end<T>(ended: Option<T>) -> T {
        ended.expect("only a token cancels a loop")
    }
}

impl Ending for Cancellable {
    type Of<T> = Result<T, Cancelled>;

    fn end<T>(ended: Option<T>) -> Result<T, Cancelled> {
        ended.ok_or(Cancelled)
    }
}

/// What the parts of one loop have in common.
#[derive(Clone, Copy)]
pub(super) struct Hands<'p> {
    executor: &'p Executor,
    threads: usize,
    at: &'static Location<'static>,
}

impl<'p> Hands<'p> {
    /// A further part, over `source`.
    pub(super) fn on<S: Source>(self, source: S) -> On<'p, S> {
        let Self { executor, threads, at } = self;
        let mut on = On::new(executor, source).threads(threads);
        on.wishes.at = at;
        on
    }
}

impl<'p, S: Source> On<'p, S> {
    /// For a loop that stands where the calling function is called.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(executor: &'p Executor, source: S) -> Self {
        Self {
            executor,
            source,
            state: Stateless,
            threads: usize::MAX,
            grain: None,
            reproducible: false,
            watch: Watch::default(),
            wishes: Wishes::here(),
            ending: PhantomData,
        }
    }
}

/// Options.
impl<'p, S: Source, E: Ending, M: State> On<'p, S, E, M> {
    /// Replaces the source and keeps the options.
    #[inline(always)]
    fn over<Z>(self, other: impl FnOnce(S) -> Z) -> On<'p, Z, E, M> {
        let Self { executor, source, state, threads, grain, reproducible, watch, wishes, ending } = self;
        let source = other(source);
        On { executor, source, state, threads, grain, reproducible, watch, wishes, ending }
    }

    /// Runs over this source and another one in step: the closures are given pairs.
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

    /// Runs over pieces of `size` items each; the last may be shorter. Everything that is said of
    /// items elsewhere then holds for pieces: they are claimed, counted and reported.
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

    /// Runs over pieces of exactly `size` items each. Items that are left over at the end are left
    /// out; [`source::chunks_exact`](crate::source::chunks_exact) gives them, too.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sums = pool.on(&[1, 2, 3, 4, 5]).chunks_exact(2).map_collect(|pair| pair[0] + pair[1]);
    /// assert_eq!(sums, [3, 7]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    #[inline(always)]
    pub fn chunks_exact(self, size: usize) -> On<'p, Chunks<S>, E, M>
    where
        S: Pieces,
    {
        self.over(|source| Chunks::exact(source, size))
    }

    /// Runs over the first `count` items, or all if there are fewer.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[5, 6, 7]).take(2).sum_of(|x| *x), 11);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn take(self, count: usize) -> On<'p, Part<S>, E, M> {
        self.over(|source| Part::new(source, 0..count))
    }

    /// Runs over all items but the first `count`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let v = [1, 4, 9, 16];
    /// let rises = pool.on(&v).skip(1).zip(&v[..3]).map_collect(|(next, x)| next - x);
    /// assert_eq!(rises, [3, 5, 7]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn skip(self, count: usize) -> On<'p, Part<S>, E, M> {
        self.over(|source| Part::new(source, count..usize::MAX))
    }

    /// Runs over the first item and every `step`th behind it. Of items by value, the others are
    /// dropped by the worker that passes them by; a panic of such a drop ends the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..10).step_by(4).map_collect(|i| i), [0, 4, 8]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `step` is 0.
    #[inline(always)]
    pub fn step_by(self, step: usize) -> On<'p, StepBy<S>, E, M> {
        self.over(|source| StepBy::new(source, step))
    }

    /// Runs over the items in reverse order: the last one comes first.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[1, 2, 3]).rev().map_collect(|x| 10 * x), [30, 20, 10]);
    /// let from_the_end = pool.on(&[7, 8, 7, 6]).rev().position_first(|x| *x == 7);
    /// assert_eq!(from_the_end, Some(1));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn rev(self) -> On<'p, Rev<S>, E, M> {
        self.over(Rev::new)
    }

    /// Runs over all windows of `size` neighbouring items, as [`slice::windows`]: none if there are
    /// fewer items. For shared slices and ranges only, since windows overlap.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let rises = pool.on(&[1, 3, 6, 10]).windows(2).map_collect(|pair| pair[1] - pair[0]);
    /// assert_eq!(rises, [2, 3, 4]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// A slice whose items are to be changed has no windows:
    ///
    /// ```compile_fail,E0277
    /// # let pool = rangesteal::Pool::new()?;
    /// pool.on(&mut [1, 3, 6, 10]).windows(2).for_each(|pair| pair[0] = 0);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    #[inline(always)]
    pub fn windows(self, size: usize) -> On<'p, Windows<S>, E, M>
    where
        S: Shared,
    {
        self.over(|source| Windows::new(source, size))
    }

    /// Runs over copies of the items instead of references to them.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (small, large) = pool.on(&[3, 8, 5, 6]).copied().partition(|x| *x < 6);
    /// assert_eq!((small, large), (vec![3, 5], vec![8, 6]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn copied<'a, T: Copy + 'a>(self) -> On<'p, Copied<S>, E, M>
    where
        S: Source<Item = &'a T>,
    {
        self.over(Copied::new)
    }

    /// Workers claim exactly `items` at once, in blocks that begin at multiples of `items`. (The
    /// last block is shorter if fewer items are left. A loop that runs on the calling thread alone
    /// claims nothing.)
    ///
    /// Without this the pool chooses the size of claims, usually better, since it measures what
    /// items cost. Use it if workers that write neighbouring items disturb each other (ask for as
    /// many items as fill a cache line), or if no item may ever be trapped behind a heavy one in
    /// the same claim (ask for 1). `find_first`, `position_first`, `any` and `all` have blocks of
    /// their own, whatever is asked for.
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

    /// Uses at most `workers` workers, including the calling thread.
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

    /// Gives the same result for every number of threads and every schedule, bit for bit, even if
    /// `reduce` is not associative, such as the addition of floating-point numbers.
    ///
    /// The slice is folded in blocks, and their results are reduced by pairs, pairs of pairs and so
    /// on; a result that is left over waits for the next pairs. The size of blocks depends on the
    /// length `n` alone: `n / 256` items each, but at most 64, or `n / 2048` if that is more; or as
    /// many as [`grain`](Self::grain) says. So the result depends on the items, their number and
    /// the grain. In general it is not the result of the plain loop (a sum is, on average, more
    /// exact), but it is the same on a pool of one thread. Another order would be a breaking change
    /// of this crate: see `STABILITY.md`.
    ///
    /// Blocks are claimed and stolen whole, and `init` and `reduce` are called once per block: at
    /// most some 2100 times, or `n / grain`. If the accumulator is large, ask for large blocks; if
    /// there are few items that take long each, ask for a grain of 1. This option matters to
    /// `map_reduce`, `fold_reduce` and `try_map_reduce`; the results of all other loops except
    /// `find_any` are reproducible without it. Closures that need a state are given one for each
    /// block: see [`with_block`](Self::with_block).
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let sum = |threads| {
    ///     let pool = Pool::builder().num_threads(threads).build()?;
    ///     let loops = pool.on(1..100_000).reproducible();
    ///     let sum = loops.map_reduce(|i| 1.0 / i as f64, |a, b| a + b);
    ///     Ok::<_, rangesteal::BuildError>(sum.unwrap_or(0.0).to_bits())
    /// };
    /// assert_eq!(sum(1)?, sum(4)?);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If each worker has a state ([`with`](Self::with), [`with_kept`](Self::with_kept)).
    #[inline(always)]
    #[track_caller]
    pub fn reproducible(mut self) -> Self {
        self.reproducible = true;
        self.check_state();
        self
    }

    /// Lets any thread end the loop, which then returns `Result<_, Cancelled>`: see
    /// [`CancelToken`]. A loop that can fail returns `Result<Result<_, E>, Cancelled>`. If this is
    /// called twice, the last token counts.
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
    pub fn cancel(self, token: &'p CancelToken) -> On<'p, S, Cancellable, M> {
        let Self { executor, source, state, threads, grain, reproducible, watch, wishes, .. } = self;
        let watch = Watch { cancel: Some(token), ..watch };
        On { executor, source, state, threads, grain, reproducible, watch, wishes, ending: PhantomData }
    }

    /// Lets any thread ask how many items are done: see [`Progress`]. Costs the calling thread
    /// about half a microsecond per loop.
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

    /// Gives each worker a state of its own, made by `make(worker)` before its first item and
    /// dropped after its last. The closures of the loop take it as `&mut`, before the item. Workers
    /// are numbered from 0, the calling thread.
    ///
    /// Each call makes exactly one state for each worker that folds any item (and a new one after a
    /// panic, to finish the items before it). A state stays on its thread, so it need not be
    /// `Send`.
    ///
    /// Which worker is given which items differs from run to run. So a state must not change the
    /// results: scratch memory does not, a random number generator does. Random numbers need
    /// [`with_block`](Self::with_block).
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
    ///
    /// # Panics
    /// If the loop is [`reproducible`](Self::reproducible).
    #[inline(always)]
    #[track_caller]
    pub fn with<W, F: Fn(usize) -> W + Sync>(self, make: F) -> On<'p, S, E, Fresh<F>> {
        self.state(Fresh(make))
    }

    /// Gives each worker a state that is kept from loop to loop: see [`PerWorker`]. The loop has at
    /// most as many workers as there are states.
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
    ///
    /// # Panics
    /// If the loop is [`reproducible`](Self::reproducible).
    #[inline(always)]
    #[track_caller]
    pub fn with_kept<W: Send>(self, states: &'p mut PerWorker<W>) -> On<'p, S, E, Kept<'p, W>> {
        self.state(Kept(states))
    }

    /// Gives each block of items a state of its own, made by `make(block)` before the first item of
    /// the block and dropped after its last. The closures of the loop take it as `&mut`, before the
    /// item. The loop is [`reproducible`](Self::reproducible): the size of blocks depends on the
    /// number of items alone, or is what [`grain`](Self::grain) says. Blocks are numbered from 0 in
    /// the order of the items. So the same items meet the same states on any number of threads:
    /// random numbers need this.
    ///
    /// `make` is called at most once for each block: some 2100 times at most, or `n / grain` times.
    /// A state stays on its thread, so it need not be `Send`.
    ///
    /// ```
    /// /// A linear congruential generator (Knuth, The Art of Computer Programming, volume 2).
    /// struct Rng(u64);
    ///
    /// impl Rng {
    ///     /// A number below 1.
    ///     fn next(&mut self) -> f64 {
    ///         self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    ///         (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    ///     }
    /// }
    ///
    /// let mean = |threads| {
    ///     let pool = rangesteal::Pool::builder().num_threads(threads).build()?;
    ///     let draws = pool.on(0..10_000).with_block(|block| Rng(2026 + block as u64));
    ///     let sum = draws.map_reduce(|rng, _| rng.next(), |a, b| a + b);
    ///     Ok::<_, rangesteal::BuildError>(sum.unwrap_or(0.0) / 10_000.0)
    /// };
    /// assert_eq!(mean(1)?.to_bits(), mean(4)?.to_bits());
    /// # assert!((mean(1)? - 0.5).abs() < 0.1);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn with_block<W, F: Fn(usize) -> W + Sync>(mut self, make: F) -> On<'p, S, E, PerBlock<F>> {
        self.reproducible = true;
        self.state(PerBlock(make))
    }

    /// Writes what the loop did into `report`: see [`RunReport`]. It is not written if the loop
    /// panics. Costs some readings of the clock.
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

    /// Records in `trace` what the loop does when, to be drawn: see [`Trace`]. It is not written if
    /// the loop panics. Costs some readings of the clock, and memory for each run of each loop.
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
    #[track_caller]
    pub(super) fn state<N: State>(self, state: N) -> On<'p, S, E, N> {
        let Self { executor, source, threads, grain, reproducible, watch, wishes, ending, .. } = self;
        let on = On { executor, source, state, threads, grain, reproducible, watch, wishes, ending };
        on.check_state();
        on
    }

    /// Panics if the result is to be reproducible, and the states are those of workers.
    #[inline(always)]
    #[track_caller]
    fn check_state(&self) {
        assert!(
            !self.reproducible || M::MAY_REPRODUCE,
            "reproducible: the state of a worker (`with`, `with_kept`) meets other items in each run; \
             `with_block` makes one for each block of items"
        );
    }

    /// Who works, how many of them at most, and where the loop stands.
    #[inline(always)]
    pub(super) fn hands(&self) -> Hands<'p> {
        Hands { executor: self.executor, threads: self.threads, at: self.wishes.at }
    }

    /// Whether the result is to be the same for every schedule.
    pub(super) fn is_reproducible(&self) -> bool {
        self.reproducible
    }

    /// How many items there are.
    pub(super) fn count(&self) -> usize {
        self.source.count()
    }

    /// Folds the items and reduces the results; where `fold` stops is an index of the source.
    #[inline(always)]
    pub(super) fn fold<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        fold: impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let blocks = if M::BY_BLOCK { Some(self.block_of(self.count())) } else { self.grain };
        let blocks = blocks.map(|size| Blocks { size, len: self.count() });
        self.run(Shape { kind, blocks, leaves: None, list: None }, fold, reduce)
    }

    /// The same, in an order that is always the same if the loop is to be reproducible.
    #[inline(always)]
    pub(super) fn fold_and_reduce<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        fold: impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let is_blockwise = self.reproducible || M::BY_BLOCK;
        let blocks = if is_blockwise { Some(self.block_of(self.count())) } else { self.grain };
        let blocks = blocks.map(|size| Blocks { size, len: self.count() });
        let leaves = self.reproducible.then_some(0);
        self.run(Shape { kind, blocks, leaves, list: None }, fold, reduce)
    }

    /// Folds the items and all that they make, which is in `list`, in no defined order.
    #[inline(always)]
    pub(super) fn fold_list<A: Send, Z: Send>(
        self,
        list: &dyn Growing,
        fold: impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let shape = Shape { kind: LoopKind::Through, blocks: None, leaves: None, list: Some(list) };
        self.run(shape, fold, reduce)
    }

    /// Items per block of a loop whose result is to be reproducible, over so many items.
    pub(super) fn block_of(&self, len: usize) -> usize {
        self.grain.unwrap_or(reproducible::block(len))
    }

    /// Runs the loop.
    #[inline(always)]
    fn run<A: Send, Z: Send>(
        self,
        shape: Shape<'_>,
        fold: impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let Self { executor, source, state, threads, watch, wishes, .. } = self;
        let states = &state; // alone: the rest need not be in memory
        let (slice, options) = shape.of(&source, threads.min(states.most()), watch, wishes);
        let (states_of, makes) = (shape.states_of(0), PhantomData);
        executor.call(slice, options, &Verb { source, states, fold, reduce, states_of, makes })
    }

    /// Runs a loop whose `blocks` are leaves, of which the first has the number `first_block`. The
    /// nodes of their tree, reduced as far as one worker has folded them.
    #[inline(always)]
    pub(super) fn fold_to_nodes<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        blocks: Blocks,
        first_block: usize,
        fold: impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Vec<(Node, A)>, Z> {
        let Self { executor, source, state, threads, watch, wishes, .. } = self;
        let states = &state;
        let shape = Shape { kind, blocks: Some(blocks), leaves: Some(first_block), list: None };
        let (slice, options) = shape.of(&source, threads.min(states.most()), watch, wishes);
        let (states_of, makes) = (shape.states_of(first_block), PhantomData);
        let body = Verb { source, states, fold, reduce, states_of, makes };
        executor.call_for_nodes(slice, options, &body)
    }

    /// An empty list for what the items make.
    #[inline(always)] // it is large: made where it stays
    pub(super) fn list<T>(&self) -> List<'p, T> {
        List::new(self.executor, self.watch)
    }

    /// Where the states of the workers come from, and the loop without it.
    pub(super) fn take_state(self) -> (On<'p, S, E>, M) {
        let Self { executor, source, state: states, threads, grain, reproducible, watch, wishes, ending } =
            self;
        let state = Stateless;
        (On { executor, source, state, threads, grain, reproducible, watch, wishes, ending }, states)
    }

    /// Attends the items, of which at most `limit` may be under way at a time. None if there are no
    /// items.
    #[inline(always)]
    pub(super) fn attend<F: Future + Send, A: Send, Z: Send>(
        self,
        limit: usize,
        make: impl Fn(&mut Option<A>, S::Item) -> F + Sync,
        done: impl Fn(Option<A>, Index, F::Output) -> Result<A, Z> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let Self { executor, source, ref state, .. } = self;
        let threads = self.threads.min(state.most());
        let options = Options::new(threads, self.watch, self.wishes, LoopKind::Through);
        attend(Errand { executor, options, source, state, limit }, make, done, reduce)
    }

    /// Searches the items. If `kind` asks for the first match, all workers go from the front
    /// together, and the search stops at the first place where `search` stops.
    #[inline(always)]
    pub(super) fn search<Z: Send>(
        self,
        kind: LoopKind,
        search: impl Fn(Claimed<'_, '_, '_, '_, S, M>) -> Result<(), Stop<Z>> + Sync,
    ) -> Outcome<Option<()>, Z> {
        let is_first = kind == LoopKind::First;
        let kind = if is_first && M::BY_BLOCK { LoopKind::MayStop } else { kind };
        let blocks = match M::BY_BLOCK {
            // The blocks of the states: a round, which stops at the first place, too.
            true => Some(self.block_of(self.count())),
            false if is_first => None, // it has blocks of its own
            false => self.grain,
        };
        let blocks = blocks.map(|size| Blocks { size, len: self.count() });
        let shape = Shape { kind, blocks, leaves: None, list: None };
        self.run(shape, move |claimed, _| search(claimed).map(Some), |(), ()| ())
    }
}

/// A loop as the executor sees it.
#[derive(Clone, Copy)]
struct Shape<'a> {
    kind: LoopKind,
    /// If indices stand for blocks of items.
    blocks: Option<Blocks>,
    /// If the blocks are the leaves of a tree: the number of the first one.
    leaves: Option<usize>,
    list: Option<&'a dyn Growing>,
}

impl<'a> Shape<'a> {
    /// The key under which the pool remembers a loop over `source`, and its options.
    #[inline(always)]
    fn of(
        self,
        source: &impl Source,
        threads: usize,
        watch: Watch<'a>,
        wishes: Wishes<'a>,
    ) -> (Slice, Options<'a>) {
        let Self { kind, blocks, leaves, list } = self;
        let len = blocks.map_or_else(|| source.count(), Blocks::count);
        let units = blocks.map_or(Units::Items, Units::Blocks);
        let slice = Slice { address: source.address(), len };
        (slice, Options { threads, watch, wishes, kind, units, list, leaves })
    }

    /// How the blocks are numbered, the first of which has the number `first`.
    #[inline(always)]
    fn states_of(self, first: usize) -> Numbered {
        Numbered { first, size: self.blocks.map_or(1, |blocks| blocks.size) }
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Uncancellable {}
    impl Sealed for super::Cancellable {}
}
