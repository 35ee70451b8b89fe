//! [`On`]: a chain and the pool that runs the chain. Users write its methods from left to right.
//! This file contains the stages.

use super::{
    chain::{Chain, IntoChain, Source},
    in_turn::InTurn,
    indexed::{Chunks, Located, Rev, StepBy, Subrange, Windows, Zip},
    pieces::{Pieces, Shared},
    source::Indices,
    stages::{Cloned, Filter, FilterMap, FlatMap, Flatten, Inspect, Map, With},
    state::{Fresh, Given, Kept, PerBlock, PerWorker, Stateless},
};

/// A source, the stages behind it, and the pool that runs them. Made by
/// [`Pool::on`](crate::Pool::on). Options ([`grain`](Self::grain), [`report`](Self::report) and so
/// on) may stand anywhere between the stages. The last method is an end
/// ([`for_each`](Self::for_each), [`sum`](Self::sum) and so on), which runs the loop.
///
/// ```
/// # let pool = rangesteal::Pool::new()?;
/// let words = ["range", "on", "steal"];
/// let lengths: usize = pool.on(&words).map(|word| word.len()).filter(|len| *len > 2).sum();
/// assert_eq!(lengths, 10);
///
/// let mut report = rangesteal::RunReport::default();
/// let (x, mut y) = (vec![1.0_f64; 1000], vec![2.0; 1000]);
/// pool.on(&mut y).zip(&x).for_each(|(y, x)| *y += 3.0 * x);
/// let dot: f64 =
///     pool.on((&x, &y)).map(|(x, y)| x * y).reproducible().report(&mut report).sum();
/// assert_eq!((dot, report.items()), (5000.0, 1000));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// A method with the same name as a method of [`Iterator`] has the same meaning, and items keep
/// their order. The differences are:
///
/// * Closures are `Fn`, since all workers call them.
/// * [`zip`](Self::zip) panics if the lengths differ; [`zip_shortest`](Self::zip_shortest) does
///   not.
/// * [`fold`](Self::fold) has two more closures, since each worker folds a part.
/// * [`partition`](Self::partition) and [`unzip`](Self::unzip) make vectors only.
/// * No closure is called for an item that a later [`skip`](Self::skip), [`take`](Self::take) or
///   [`step_by`](Self::step_by) leaves out.
///
/// A chain without a pool, made by [`source`](crate::source()), has [`NoPool`] as its `P`. A
/// function can return such a chain, and [`Pool::on`](crate::Pool::on) takes it.
#[must_use = "stages and options run nothing: a loop is their last method"]
#[derive(Clone, Copy, Debug)]
pub struct On<C, P = NoPool> {
    pub(super) chain: C,
    pub(super) pool: P,
}

/// Stands for the pool in a chain that has no pool yet.
#[derive(Clone, Copy, Debug)]
pub struct NoPool;

/// What stands for the pool in a chain that can be a source. (One implementation of
/// [`IntoChain`](crate::source::IntoChain) is for chains with and without a pool. If there were
/// two, the compiler would list them both behind its message.)
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "a chain with a pool is no source of another loop: write `&v`, or `source(&v)` and stages, not `pool.on(&v)`",
    label = "no loop runs over this"
)]
pub trait WithoutPool {}

impl WithoutPool for NoPool {}

/// A chain without a pool. `items` is anything that [`Pool::on`](crate::Pool::on) takes. Stages can
/// follow; a function can return the chain, [`zip`](On::zip) can take it, and
/// [`Pool::on`](crate::Pool::on) can run it. The module [`source`](mod@crate::source) has the same
/// name: `use rangesteal::source` imports both.
///
/// ```
/// use rangesteal::{Pool, source, source::Source};
///
/// /// Each number, weighed by its place.
/// fn weighed(numbers: &[f64]) -> impl Source<Item = f64> + Sync {
///     source(numbers).enumerate().map(|(i, x)| i as f64 * x)
/// }
///
/// let (pool, numbers) = (Pool::new()?, [1.0, 2.0, 3.0]);
/// assert_eq!(pool.on(weighed(&numbers)).max_by(f64::total_cmp), Some(6.0));
/// let both: f64 = pool.on(&numbers).zip(weighed(&numbers)).map(|(x, weighed)| x * weighed).sum();
/// assert_eq!(both, 22.0);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[inline]
#[track_caller]
pub fn source<C: IntoChain>(items: C) -> On<C::Chain> {
    On { chain: items.into_chain(), pool: NoPool }
}

/// Stages. A closure behind [`with`](On::with) receives a pair of the state and the item.
impl<C: Chain, P> On<C, P> {
    /// The chain with `stage` added, on the same pool.
    #[inline]
    pub(super) fn behind<B>(self, stage: impl FnOnce(C) -> B) -> On<B, P> {
        On { chain: stage(self.chain), pool: self.pool }
    }

    /// Calls `f` with each item and goes on with the results, as [`Iterator::map`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let squares: Vec<u64> = pool.on(1..4_u64).map(|i| i * i).collect();
    /// assert_eq!(squares, [1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// If the chain before `map` is a source, the result is a source, too: [`zip`](Self::zip),
    /// [`rev`](Self::rev) and so on may follow. A worker calls `f` once per item, when the worker
    /// needs the result. `f` is not called for items that a later stage leaves out, nor for owned
    /// items that no worker reaches.
    #[inline]
    pub fn map<R, F>(self, f: F) -> On<Map<C, F>, P>
    where
        F: for<'a> Fn(Given<'a, C::State, C::Item>) -> R + Sync,
    {
        self.behind(|chain| Map { chain, f })
    }

    /// Copies each item, as [`Iterator::copied`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (small, large) = pool.on(&[3, 8, 5, 6]).copied().partition(|x| *x < 6);
    /// assert_eq!((small, large), (vec![3, 5], vec![8, 6]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn copied<'t, T: Copy + 't>(self) -> On<Cloned<C>, P>
    where
        C: Chain<Item = &'t T>,
    {
        self.behind(|chain| Cloned { chain })
    }

    /// Clones each item, as [`Iterator::cloned`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let names = [String::from("Ann"), String::from("Bob")];
    /// let greetings: Vec<String> = pool.on(&names).cloned().map(|name| name + "!").collect();
    /// assert_eq!(greetings, ["Ann!", "Bob!"]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn cloned<'t, T: Clone + 't>(self) -> On<Cloned<C>, P>
    where
        C: Chain<Item = &'t T>,
    {
        self.behind(|chain| Cloned { chain })
    }

    /// Calls `f` with a reference to each item and passes the item on, as [`Iterator::inspect`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let all = std::sync::atomic::AtomicUsize::new(0);
    /// let seen = |_: &usize| _ = all.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    /// assert_eq!(pool.on(0..9).inspect(seen).filter(|i| i % 2 == 0).count(), 5);
    /// assert_eq!(all.into_inner(), 9);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn inspect<F>(self, f: F) -> On<Inspect<C, F>, P>
    where
        F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) + Sync,
    {
        self.behind(|chain| Inspect { chain, f })
    }

    /// Keeps the items for which `keep` returns true, as [`Iterator::filter`]. The items behind a
    /// filter have no index: [`zip`](Self::zip), [`enumerate`](Self::enumerate) and similar stages
    /// must stand before the filter.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let even: Vec<i32> = pool.on(&[3, 8, 5, 6]).copied().filter(|x| x % 2 == 0).collect();
    /// assert_eq!(even, [8, 6]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn filter<F>(self, keep: F) -> On<Filter<C, F>, P>
    where
        F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
    {
        self.behind(|chain| Filter { chain, f: keep })
    }

    /// Calls `f` with each item and goes on with the values of the results that are `Some`, as
    /// [`Iterator::filter_map`]. The items behind this stage have no index.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let halves = pool.on(0..7).filter_map(|i| (i % 2 == 0).then_some(i / 2));
    /// assert_eq!(halves.collect::<Vec<i32>>(), [0, 1, 2, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn filter_map<R, F>(self, f: F) -> On<FilterMap<C, F>, P>
    where
        F: for<'a> Fn(Given<'a, C::State, C::Item>) -> Option<R> + Sync,
    {
        self.behind(|chain| FilterMap { chain, f })
    }

    /// Calls `f` with each item and goes on with all items of the results, as
    /// [`Iterator::flat_map`]. All items of one result go to the same worker. The items behind this
    /// stage have no index.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let below: Vec<i32> = pool.on(0..4).flat_map(|i| 0..i).collect();
    /// assert_eq!(below, [0, 0, 1, 0, 1, 2]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn flat_map<I, F>(self, f: F) -> On<FlatMap<C, F>, P>
    where
        F: for<'a> Fn(Given<'a, C::State, C::Item>) -> I + Sync,
        I: IntoIterator,
    {
        self.behind(|chain| FlatMap { chain, f })
    }

    /// Goes on with all items of each item, as [`Iterator::flatten`]. The parts of one item all go
    /// to the same worker. The items behind this stage have no index.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let all: Vec<i32> = pool.on(vec![vec![1, 2], vec![], vec![3]]).flatten().collect();
    /// assert_eq!(all, [1, 2, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn flatten(self) -> On<Flatten<C>, P>
    where
        C::Item: IntoIterator,
    {
        self.behind(|chain| Flatten { chain })
    }
}

/// States of workers or of blocks. The items behind one of these stages have no index.
impl<C: Chain<State = Stateless>, P> On<C, P> {
    /// Gives each worker a state of its own. `make(worker)` makes the state before the worker's
    /// first item, and the worker drops the state after its last item. Workers are numbered from 0;
    /// worker 0 is the calling thread. Behind this stage, closures receive the pair `(&mut state,
    /// item)` instead of the item.
    ///
    /// Each loop makes one state for each worker that receives any item. After a panic the worker
    /// makes a new state, to finish the items before the item that panicked. A state stays on its
    /// thread, so its type need not be `Send`.
    ///
    /// The assignment of items to workers differs from run to run, so a state must not influence
    /// the results. Scratch memory is fine, but a random number generator is not. For random
    /// numbers use [`with_block`](Self::with_block).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["b a", "d c e", "f"];
    /// let sorted = pool.on(&words).with(|_worker| Vec::new()).map(|(scratch, words)| {
    ///     scratch.clear();
    ///     scratch.extend(words.split(' '));
    ///     scratch.sort_unstable();
    ///     scratch.join(" ")
    /// });
    /// assert_eq!(sorted.collect::<Vec<_>>(), ["a b", "c d e", "f"]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the loop is [`reproducible`](Self::reproducible), or if `make` panics. A panic of `make`
    /// ends the loop like a panic of any closure.
    #[inline]
    pub fn with<W, F: Fn(usize) -> W + Sync>(self, make: F) -> On<With<C, Fresh<F>>, P> {
        self.with_states(Fresh(make))
    }

    #[inline]
    pub(super) fn with_states<M>(self, states: M) -> On<With<C, M>, P> {
        self.behind(|chain| With { chain, states })
    }

    /// Gives each worker a state that is kept from loop to loop: see [`PerWorker`]. Closures
    /// receive `(&mut state, item)`, as behind [`with`](Self::with). The number of states limits
    /// the number of workers of the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut buffers = pool.per_worker(|_| Vec::new());
    /// for _round in 0..3 {
    ///     let lengths = pool.on(0..10).with_kept(&mut buffers).map(|(buffer, i)| {
    ///         buffer.clear(); // its memory stays
    ///         buffer.extend(0..i);
    ///         buffer.len()
    ///     });
    ///     assert_eq!(lengths.sum::<usize>(), 45);
    /// }
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the loop is [`reproducible`](Self::reproducible).
    #[inline]
    pub fn with_kept<W: Send>(self, states: &mut PerWorker<W>) -> On<With<C, Kept<'_, W>>, P> {
        self.with_states(Kept(states))
    }

    /// Gives each block of neighbouring items a state of its own. `make(block)` makes the state
    /// before the first item of the block. The state is dropped after the last item of the block.
    /// Blocks are numbered from 0 in the order of the items. Closures receive `(&mut state, item)`,
    /// as behind [`with`](Self::with).
    ///
    /// The loop is [`reproducible`](Self::reproducible): the size of blocks depends only on the
    /// number of items, or is set by [`grain`](Self::grain). So each item meets the same state on
    /// any number of threads, as random numbers require.
    ///
    /// `make` is called at most once for each block: at most about 2100 times, or `n / grain` times
    /// if a grain is set. A state stays on its thread, so its type need not be `Send`.
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
    ///     let sum: f64 = draws.map(|(rng, _)| rng.next()).sum();
    ///     Ok::<_, rangesteal::BuildError>(sum / 10_000.0)
    /// };
    /// assert_eq!(mean(1)?.to_bits(), mean(4)?.to_bits());
    /// # assert!((mean(1)? - 0.5).abs() < 0.1);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn with_block<W, F: Fn(usize) -> W + Sync>(self, make: F) -> On<With<C, PerBlock<F>>, P> {
        self.with_states(PerBlock(make))
    }
}

/// Stages that need a source, in which each item has an index.
impl<S: Source, P> On<S, P> {
    /// Runs over this source and another source in step: each item is a pair.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[1, 2, 3]).zip(&[4, 5, 6]).map(|(a, b)| a * b).sum::<i32>(), 32);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the two sources have different lengths. [`zip_shortest`](Self::zip_shortest) allows that.
    #[inline]
    #[track_caller]
    pub fn zip<B: IntoChain<Chain: Source + Sync>>(self, other: B) -> On<Zip<S, B::Chain>, P> {
        On { chain: Zip::new("zip", self.chain, other.into_chain()), pool: self.pool }
    }

    /// Runs over this source and another source in step, up to the end of the shorter one, as
    /// [`Iterator::zip`]: each item is a pair.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[1, 2, 3]).zip_shortest(&[4, 5]).map(|(a, b)| a * b).sum::<i32>(), 14);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    #[track_caller]
    pub fn zip_shortest<B: IntoChain<Chain: Source + Sync>>(
        self,
        other: B,
    ) -> On<Zip<Subrange<S>, Subrange<B::Chain>>, P> {
        let other = other.into_chain();
        let both = 0..self.chain.count().min(other.count());
        self.behind(|source| Zip(Subrange::new(source, both.clone()), Subrange::new(other, both)))
    }

    /// Runs over the items of this source and of another source in turn, then over the items that
    /// are left of the longer source. If `ends_early`, ends as soon as a source has no item for its
    /// turn.
    #[doc(hidden)] // for rangesteal-rayon
    #[inline(always)]
    #[track_caller]
    pub fn in_turn<B>(self, other: B, ends_early: bool) -> On<InTurn<S, B::Chain>, P>
    where
        B: IntoChain<Chain: Source<Item = S::Item> + Sync>,
    {
        On { chain: InTurn::new(self.chain, other.into_chain(), ends_early), pool: self.pool }
    }

    /// Runs over pairs of the index of an item, from 0 on, and the item, as
    /// [`Iterator::enumerate`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut squares = [0; 4];
    /// pool.on(&mut squares).enumerate().for_each(|(i, square)| *square = i * i);
    /// assert_eq!(squares, [0, 1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn enumerate(self) -> On<Zip<Indices, S>, P> {
        self.behind(|source| Zip(Indices(source.count()), source))
    }

    /// Runs over the first `count` items, or over all items if there are fewer, as
    /// [`Iterator::take`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[5, 6, 7]).take(2).sum::<i32>(), 11);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn take(self, count: usize) -> On<Subrange<S>, P> {
        self.behind(|source| Subrange::new(source, 0..count))
    }

    /// Runs over all items except the first `count` items, as [`Iterator::skip`]. Runs over no
    /// items if there are fewer than `count`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let v = [1, 4, 9, 16];
    /// let rises = pool.on(&v).skip(1).zip(&v[..3]).map(|(next, x)| next - x);
    /// assert_eq!(rises.collect::<Vec<_>>(), [3, 5, 7]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn skip(self, count: usize) -> On<Subrange<S>, P> {
        self.behind(|source| Subrange::new(source, count..usize::MAX))
    }

    /// Runs over the first item and every `step`th item after the first, as [`Iterator::step_by`].
    /// If the items are owned, a worker drops the items that it leaves out. A panic of such a drop
    /// ends the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..10).step_by(4).collect::<Vec<_>>(), [0, 4, 8]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `step` is 0.
    #[inline]
    #[track_caller]
    pub fn step_by(self, step: usize) -> On<StepBy<S>, P> {
        On { chain: StepBy::new(self.chain, step), pool: self.pool }
    }

    /// Runs over the items in reverse order, as [`Iterator::rev`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[1, 2, 3]).rev().collect::<Vec<_>>(), [&3, &2, &1]);
    /// let from_the_end = pool.on(&[7, 8, 7, 6]).rev().position(|x| *x == 7);
    /// assert_eq!(from_the_end, Some(1));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn rev(self) -> On<Rev<S>, P> {
        self.behind(Rev)
    }

    /// Runs over pieces of `size` neighbouring items; the last piece may be shorter. Behind this
    /// stage each piece is an item: workers claim pieces, and reports count pieces. The pieces of
    /// an inclusive range are inclusive. An empty one, as [`pieces`](crate::source::pieces) can
    /// make, is `1..=0`.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut matrix = [1, 2, 3, 4, 5, 6];
    /// pool.on(&mut matrix).chunks(3).for_each(|row| row.reverse());
    /// assert_eq!(matrix, [3, 2, 1, 6, 5, 4]);
    /// assert_eq!(pool.on(0..7).chunks(3).collect::<Vec<_>>(), [0..3, 3..6, 6..7]);
    /// assert_eq!(pool.on(250_u8..=255).chunks(4).collect::<Vec<_>>(), [250..=253, 254..=255]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    #[inline]
    #[track_caller]
    pub fn chunks(self, size: usize) -> On<Chunks<S>, P>
    where
        S: Pieces,
    {
        On { chain: Chunks::new(self.chain, size), pool: self.pool }
    }

    /// Runs over pieces of exactly `size` neighbouring items. Items that remain at the end are left
    /// out; [`source::chunks_exact`](crate::source::chunks_exact) returns them, too.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sums = pool.on(&[1, 2, 3, 4, 5]).chunks_exact(2).map(|pair| pair[0] + pair[1]);
    /// assert_eq!(sums.collect::<Vec<_>>(), [3, 7]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// The compiler does not know that `size` is a constant. For pieces of a few numbers
    /// [`slice::as_chunks`] is faster, whose pieces are arrays:
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (pairs, rest) = [1, 2, 3, 4, 5].as_chunks::<2>();
    /// assert_eq!(pool.on(pairs).map(|[a, b]| a + b).collect::<Vec<_>>(), [3, 7]);
    /// assert_eq!(rest, [5]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    #[inline]
    #[track_caller]
    pub fn chunks_exact(self, size: usize) -> On<Chunks<S, true>, P>
    where
        S: Pieces,
    {
        On { chain: Chunks::new(self.chain, size), pool: self.pool }
    }

    /// Runs over all windows of `size` neighbouring items, as [`slice::windows`]. There is no
    /// window if there are fewer than `size` items. Only shared slices and ranges have windows,
    /// since windows overlap.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let rises = pool.on(&[1, 3, 6, 10]).windows(2).map(|pair| pair[1] - pair[0]);
    /// assert_eq!(rises.collect::<Vec<_>>(), [2, 3, 4]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// An exclusive slice has no windows:
    ///
    /// ```compile_fail,E0277
    /// # let pool = rangesteal::Pool::new()?;
    /// pool.on(&mut [1, 3, 6, 10]).windows(2).for_each(|pair| pair[0] = 0);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `size` is 0.
    #[inline]
    #[track_caller]
    pub fn windows(self, size: usize) -> On<Windows<S>, P>
    where
        S: Shared,
    {
        On { chain: Windows::new(self.chain, size), pool: self.pool }
    }

    /// Adds the index of the item to each error: an item `Err(error)` becomes `Err(At { index,
    /// error })`.
    ///
    /// The items are those before this stage. Behind [`chunks`](Self::chunks) they are blocks, so
    /// the index counts blocks; behind [`skip`](Self::skip) it counts from the first item left.
    ///
    /// ```
    /// use rangesteal::{Pool, source::At};
    ///
    /// let (pool, words) = (Pool::new()?, ["7", "3", "x", "y"]);
    /// let numbers = pool.on(&words).map(|word| word.parse::<u32>()).located();
    /// let all: Result<Vec<u32>, At<_>> = numbers.collect();
    /// assert_eq!(all.map_err(|at| words[at.index]), Err("x"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline]
    pub fn located<T, Er>(self) -> On<Located<S>, P>
    where
        S: Source<Item = Result<T, Er>>,
    {
        self.behind(Located)
    }
}
