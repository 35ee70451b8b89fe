//! The options of a loop, and the functions that hand a loop to the executor.

use std::{marker::PhantomData, panic::Location};

use super::{
    chain::{Chain, IntoChain, Source},
    feed::List,
    indexed::Cuts,
    kernel::{Fold, Kernel, SourceClaims},
    on::On,
    reproducible,
    source::Lent,
    state::State,
};
use crate::pool::{
    engine::{
        body::Stop,
        ending::Outcome,
        executor::Executor,
        handles::{CancelToken, Cancelled, Progress, Watch},
        loop_options::{LoopOptions, RunSearch, Wishes},
        order::Tree,
        search,
        work_list::WorkList,
    },
    policy::site::{LoopKind, Slice, Supply},
    tell::{
        report::RunReport,
        trace::Trace,
        units::{Blocks, Units},
    },
};

/// The pool that runs a chain, and the options of the loop. The type `E` determines whether the
/// loop can be cancelled.
#[derive(Debug)]
pub struct OnPool<'p, E = Uncancellable> {
    executor: &'p Executor,
    threads: usize,
    /// Items per block, if [`On::grain`] has set it.
    grain: Option<usize>,
    reproducible: bool,
    watch: Watch<'p>,
    wishes: Wishes<'p>,
    ending: PhantomData<E>,
}

/// Chooses the type that a loop returns: its result, or a `Result` if the loop can be cancelled.
/// Sealed.
///
/// ```
/// use rangesteal::{On, options::{Ending, OnPool}, source::Chain};
///
/// /// Of any chain, with whatever options.
/// fn twice<C: Chain + Sync, E: Ending>(on: On<C, OnPool<'_, E>>) -> E::Of<usize> {
///     on.flat_map(|_| [(), ()]).count()
/// }
///
/// let (pool, token) = (rangesteal::Pool::new()?, rangesteal::CancelToken::new());
/// assert_eq!(twice(pool.on(0..7)), 14);
/// assert_eq!(twice(pool.on(0..7).cancel(&token)), Ok(14));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
pub trait Ending: sealed::Sealed {
    /// The type that a loop with result `T` returns: `T`, or `Result<T, Cancelled>`.
    type Of<T>;

    /// Converts the result of a loop. `ended` is `None` if the loop was cancelled.
    #[doc(hidden)]
    fn end<T>(ended: Option<T>) -> Self::Of<T>;
}

/// The loop cannot be cancelled: it returns its result.
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

/// The options that a call passes on to its further loops.
#[derive(Clone, Copy)]
pub(super) struct PartOptions<'p> {
    executor: &'p Executor,
    threads: usize,
    at: &'static Location<'static>,
}

impl<'p> PartOptions<'p> {
    /// A loop over `chain` with these options.
    #[inline]
    pub(super) fn on<C: Chain>(self, chain: C) -> On<C, OnPool<'p>> {
        let Self { executor, threads, at } = self;
        let pool = OnPool {
            executor,
            threads,
            grain: None,
            reproducible: false,
            watch: Watch::default(),
            wishes: Wishes { at, report: None, trace: None },
            ending: PhantomData,
        };
        On { chain, pool }
    }
}

impl<'p, C: Chain> On<C, OnPool<'p>> {
    /// Begins a chain. The loop's place in the program text is the place of the caller.
    #[inline]
    #[track_caller]
    pub(crate) fn new(executor: &'p Executor, chain: C) -> Self {
        PartOptions { executor, threads: usize::MAX, at: Location::caller() }.on(chain)
    }
}

/// The options of a loop.
impl<'p, C: Chain, E: Ending> On<C, OnPool<'p, E>> {
    /// Workers claim exactly `items` items at once, in blocks that begin at multiples of `items`.
    /// The last block is shorter if fewer items are left. A loop that runs on the calling thread
    /// alone claims no blocks.
    ///
    /// Without this option the pool measures the cost of an item and chooses the size of claims
    /// itself, which is usually better. Two cases need this option. If different workers would
    /// write to the same cache line, set `items` to the number of items in a cache line. If an item
    /// must never wait for a slow item of the same claim, set `items` to 1. `find`, `position`,
    /// `any` and `all` choose their own blocks and ignore this option.
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
    #[inline]
    #[track_caller]
    pub fn grain(mut self, items: usize) -> Self {
        assert!(items > 0, "grain: a block has at least one item");
        self.pool.grain = Some(items);
        self
    }
    /// Uses at most `workers` workers for this loop, including the calling thread.
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
    #[inline]
    #[track_caller]
    pub fn threads(mut self, workers: usize) -> Self {
        assert!(workers > 0, "threads: at least 1, since the calling thread is a worker");
        self.pool.threads = workers;
        self
    }
    /// Returns the same result, bit for bit, for every number of threads and every schedule, even
    /// if `reduce` is not associative. (The addition of floating-point numbers is not associative.)
    ///
    /// The items are folded in blocks. The results of the blocks are reduced in pairs, then in
    /// pairs of pairs and so on; a result without a partner waits for the next level. The size of a
    /// block depends only on the number `n` of items. A block has `n / 256` items, but at most 64,
    /// or `n / 2048` items if this is more. [`grain`](Self::grain) sets another size. So the result
    /// depends only on the items, their number and the grain. The result is the same on a pool of
    /// one thread. In general the reproducible result differs from the plain loop's result (a sum
    /// is more exact on average). Changing the order of reduction would be a breaking change of
    /// this crate: see `STABILITY.md`.
    ///
    /// Workers claim and steal whole blocks. `init` and `reduce` are called once per block: at most
    /// about 2100 times, or `n / grain` times if a grain is set. If the accumulator is large, set a
    /// large grain. If there are few items that each take long, set a grain of 1. The option
    /// matters for `reduce`, `fold`, `sum` and similar loops. All other loops except `find_any` are
    /// reproducible without the option. If closures need a state, use
    /// [`with_block`](Self::with_block), which makes a state for each block.
    ///
    /// ```
    /// use rangesteal::Pool;
    ///
    /// let sum = |threads| {
    ///     let pool = Pool::builder().num_threads(threads).build()?;
    ///     let sum: f64 = pool.on(1..100_000).map(|i| 1.0 / f64::from(i)).reproducible().sum();
    ///     Ok::<_, rangesteal::BuildError>(sum.to_bits())
    /// };
    /// assert_eq!(sum(1)?, sum(4)?);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the chain has a state for each worker ([`with`](Self::with),
    /// [`with_kept`](Self::with_kept)).
    #[inline]
    #[track_caller]
    pub fn reproducible(mut self) -> Self {
        self.pool.reproducible = true;
        self.check_state();
        self
    }
    /// Lets any thread cancel the loop: see [`CancelToken`]. The loop returns `Result<_,
    /// Cancelled>`. If the loop can fail, it returns `Result<Result<_, E>, Cancelled>`. If this
    /// option is set twice, only the second token has an effect.
    ///
    /// ```
    /// use rangesteal::{CancelToken, Cancelled, Pool};
    ///
    /// let pool = Pool::new()?;
    /// let token = CancelToken::new();
    /// assert_eq!(pool.on(&[1, 2]).cancel(&token).sum::<i32>(), Ok(3));
    /// token.cancel();
    /// assert_eq!(pool.on(&[1, 2]).cancel(&token).sum::<i32>(), Err(Cancelled));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn cancel(self, token: &'p CancelToken) -> On<C, OnPool<'p, Cancellable>> {
        let OnPool { executor, threads, grain, reproducible, mut watch, wishes, .. } = self.pool;
        watch.cancel = Some(token);
        let ending = PhantomData;
        On {
            chain: self.chain,
            pool: OnPool { executor, threads, grain, reproducible, watch, wishes, ending },
        }
    }
    /// Lets any thread read how many items are done: see [`Progress`]. The option costs the calling
    /// thread about 0.5 µs per loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let progress = rangesteal::Progress::new();
    /// pool.on(0..500).progress(&progress).for_each(|_| ());
    /// assert_eq!(progress.done(), 500);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn progress(mut self, handle: &'p Progress) -> Self {
        self.pool.watch.progress = Some(handle);
        self
    }
    /// Writes a report of the loop into `report`: see [`RunReport`]. If the loop panics, nothing is
    /// written. With this option each loop reads the clock a few more times.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut report = rangesteal::RunReport::default();
    /// pool.on(0..500).report(&mut report).for_each(|_| ());
    /// assert_eq!(report.items(), 500);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn report(mut self, report: &'p mut RunReport) -> Self {
        self.pool.wishes.report = Some(report);
        self
    }
    /// Records the work of each worker over time in `trace`, for a diagram: see [`Trace`]. If the
    /// loop panics, nothing is recorded. The option costs some readings of the clock, and memory
    /// for each run of each loop. A shared loop inside an item also takes a lock when the inner
    /// loop ends.
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
    #[inline]
    pub fn trace(mut self, trace: &'p mut Trace) -> Self {
        self.pool.wishes.trace = Some(trace);
        self
    }

    #[track_caller]
    fn check_state(&self) {
        assert!(
            !self.pool.reproducible || C::State::MAY_REPRODUCE,
            "reproducible: a state of a worker (`with`, `with_kept`) meets other items in each run; \
             `with_block` makes one for each block of items (the loop at {})",
            self.pool.wishes.at
        );
    }
}

impl<'p, C: Chain> On<C, OnPool<'p>> {
    /// Lets a token end the loop early. The result is that of the items that are done by then. If
    /// the loop has such a token already, the loop keeps that token. Returns the loop and its
    /// token. A loop that collects one result of each item panics if it ends early.
    #[doc(hidden)] // for rangesteal-rayon
    #[inline(always)]
    pub fn end_by(mut self, token: &'p CancelToken) -> (Self, &'p CancelToken) {
        self.pool.watch.keeps_result = true;
        let token = *self.pool.watch.cancel.get_or_insert(token);
        (self, token)
    }
}

/// Stages of a slice.
impl<'p, S: Lent<Element: Sync> + Sync, E: Ending> On<S, OnPool<'p, E>> {
    /// Runs over pieces of neighbouring items, as [`slice::chunk_by`]. A piece ends between two
    /// neighbours for which `same` returns false. If the slice is sorted, these pieces are the
    /// groups of equal keys.
    ///
    /// A separate loop finds the ends of the pieces before this method returns. The separate loop
    /// calls `same` once for each pair of neighbours, and allocates a vector with one index per
    /// piece.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut sales = [("b", 2), ("a", 7), ("b", 5)];
    /// pool.sort_by_key(&mut sales, |sale| sale.0);
    /// let totals: Vec<(&str, u32)> = pool
    ///     .on(&sales)
    ///     .chunk_by(|a, b| a.0 == b.0)
    ///     .map(|sales| (sales[0].0, sales.iter().map(|sale| sale.1).sum()))
    ///     .collect();
    /// assert_eq!(totals, [("a", 7), ("b", 7)]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `same` panics.
    #[inline]
    pub fn chunk_by(
        mut self,
        same: impl Fn(&S::Element, &S::Element) -> bool + Sync,
    ) -> On<Cuts<S, Vec<usize>>, OnPool<'p, E>> {
        let part_options = self.part_options();
        let items = self.chain.slice();
        let mut offsets = Vec::new();
        if !items.is_empty() {
            offsets.push(0);
            let inner = part_options.on((1..items.len()).into_chain());
            inner.filter(|i| !same(&items[i - 1], &items[*i])).collect_into(&mut offsets);
            offsets.push(items.len());
        }
        On { chain: Cuts::new(self.chain, offsets), pool: self.pool }
    }
}

/// How the loop runs.
impl<'p, C: Chain + Sync, E: Ending> On<C, OnPool<'p, E>> {
    /// The options that this call passes on to its further loops.
    #[inline]
    pub(super) fn part_options(&self) -> PartOptions<'p> {
        let OnPool { executor, threads, ref wishes, .. } = self.pool;
        PartOptions { executor, threads, at: wishes.at }
    }

    pub(super) fn is_reproducible(&self) -> bool {
        self.pool.reproducible || C::State::BY_BLOCK
    }

    /// Items per block, if the loop is cut into blocks.
    pub(super) fn block(&self) -> Option<usize> {
        self.block_if(self.is_reproducible())
    }

    /// If `needs_blocks`, the number of items per block of a reproducible loop. Otherwise the grain
    /// that the user has set, if any.
    fn block_if(&self, needs_blocks: bool) -> Option<usize> {
        if needs_blocks { Some(self.block_of(self.source_count())) } else { self.pool.grain }
    }

    /// The number of items of the source.
    pub(super) fn source_count(&self) -> usize {
        self.chain.source().count()
    }

    /// Runs `fold` over the claims of each worker, and reduces the partial results in slice order.
    /// The loop's result must not depend on where its items are divided between workers.
    #[inline]
    pub(super) fn fold_claims<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        fold: impl Fold<C, A, Z>,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let size = self.block_if(C::State::BY_BLOCK);
        self.run(kind, size, None, fold, reduce)
    }

    /// As [`fold_claims`](Self::fold_claims), for a loop whose result depends on where its items
    /// are divided between workers. If the loop is reproducible, workers fold it block by block.
    #[inline]
    pub(super) fn fold_and_reduce<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        fold: impl Fold<C, A, Z>,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let (size, first_leaf) = (self.block(), self.is_reproducible().then_some(0));
        self.run(kind, size, first_leaf, fold, reduce)
    }

    /// Folds the items, and all items that closures add to `list`, in no defined order.
    #[inline]
    pub(super) fn fold_list<A: Send, Z: Send>(
        self,
        list: &dyn WorkList,
        fold: impl Fold<C, A, Z>,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        let LoopCall { executor, slice, options, body } =
            self.loop_call(LoopKind::THROUGH, None, None, fold, reduce);
        executor.call(slice, LoopOptions { list: Some(list), ..options }, &body)
    }

    /// Items per block of a reproducible loop over `len` items.
    pub(super) fn block_of(&self, len: usize) -> usize {
        self.pool.grain.unwrap_or(reproducible::block(len))
    }

    /// Runs the loop.
    #[inline]
    fn run<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        size: Option<usize>,
        first_leaf: Option<usize>,
        fold: impl Fold<C, A, Z>,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Option<A>, Z> {
        self.check_state(); // a loop over a list needs no code for it
        let LoopCall { executor, slice, options, body } =
            self.loop_call(kind, size, first_leaf, fold, reduce);
        executor.call(slice, options, &body)
    }

    /// Runs a loop whose blocks of `size` items are the leaves of a tree. The first block has the
    /// number `first`. Returns the tree.
    #[inline]
    pub(super) fn fold_to_tree<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        size: usize,
        first: usize,
        fold: impl Fold<C, A, Z>,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<Tree<A>, Z> {
        self.check_state();
        let LoopCall { executor, slice, options, body } =
            self.loop_call(kind, Some(size), Some(first), fold, reduce);
        executor.call_for_tree(slice, options, &body)
    }

    /// The loop as the executor sees it. `size` is set if each index stands for a block of this
    /// many items. `first_leaf` is the number of the first block, if the blocks are the leaves of a
    /// tree.
    #[inline]
    fn loop_call<A, Z, F, R>(
        self,
        kind: LoopKind,
        size: Option<usize>,
        first_leaf: Option<usize>,
        fold: F,
        reduce: R,
    ) -> LoopCall<'p, Kernel<C, F, R, A, Z>> {
        let Self { chain, pool: OnPool { executor, threads, watch, wishes, .. } } = self;
        let threads = threads.min(chain.states().most());
        let kind = LoopKind { may_stop: kind.may_stop || watch.keeps_result && !kind.is_long, ..kind };
        let source = chain.source();
        let blocks = size.map(|size| Blocks { size, len: source.count() });
        let len = blocks.map_or_else(|| source.count(), Blocks::count);
        let slice = Slice { address: source.address(), len };
        let units = blocks.map_or(Units::Items, |blocks| Units::Blocks { blocks, first_leaf });
        let search = kind.is_from_the_front().then_some(search::run as RunSearch);
        let options = LoopOptions { threads, watch, wishes, kind, units, list: None, search };
        let kernel = Kernel { chain, fold, reduce, units, makes: PhantomData };
        LoopCall { executor, slice, options, body: kernel }
    }

    /// An empty list for the items that closures add.
    #[inline] // since the list is large and should be made at its final place
    pub(super) fn list<T>(&self) -> List<'p, T> {
        List::new(self.pool.executor, self.pool.watch)
    }

    /// A loop whose items wait. Its chain takes the place of the kernel.
    #[inline]
    pub(super) fn into_async(self) -> LoopCall<'p, C> {
        let Self { chain, pool: OnPool { executor, threads, watch, wishes, .. } } = self;
        let threads = threads.min(chain.states().most());
        let slice = Slice { address: chain.source().address(), len: chain.source().count() };
        let options = LoopOptions::new(threads, watch, wishes, LoopKind::THROUGH);
        LoopCall { executor, slice, options, body: chain }
    }

    /// Visits the claimed items, without a partial result: searches, and the passes of scans. If
    /// the items come from [`Supply::First`] or [`Supply::Any`], all workers begin at the front
    /// together. With [`Supply::First`] the first stop in the order of the items is the outcome.
    #[inline]
    pub(super) fn visit_claims<Z: Send>(
        self,
        kind: LoopKind,
        visit: impl Fn(SourceClaims<'_, '_, '_, C>) -> Result<(), Stop<Z>> + Sync,
    ) -> Outcome<Option<()>, Z> {
        let by_block = C::State::BY_BLOCK;
        let (supply, size) = match kind.supply {
            // If each block has a state, a loop over ranges that may stop returns the first match,
            // too.
            Supply::First | Supply::Any if by_block => (Supply::Ranges, self.block_if(true)),
            Supply::First | Supply::Any => (kind.supply, None), // a search chooses its own blocks
            Supply::InOrder => (kind.supply, self.block()),
            Supply::Ranges => (kind.supply, self.block_if(by_block)),
        };
        self.run(
            LoopKind { supply, ..kind },
            size,
            None,
            move |claimed, _| visit(claimed).map(Some),
            |(), ()| (),
        )
    }
}

/// A loop as the executor sees it.
pub(super) struct LoopCall<'p, K> {
    pub(super) executor: &'p Executor,
    /// The key under which the pool remembers the loop.
    pub(super) slice: Slice,
    pub(super) options: LoopOptions<'p>,
    /// The loop's body: a kernel, or the chain of a loop whose items wait.
    pub(super) body: K,
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Uncancellable {}
    impl Sealed for super::Cancellable {}
}
