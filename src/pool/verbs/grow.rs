//! Loops over a list that grows: an item may add further items.

use std::convert::Infallible;

use super::{
    feed::{Feed, List, ListFolder},
    on::On,
    options::{Cancellable, Ending, OnPool, Uncancellable},
    owned::Owned,
    state::{self, Fresh, Given, Kept, Lends, PerWorker, State, Stateless},
};
use crate::pool::{
    engine::{body::Stop, handles::CancelToken},
    tell::report::RunReport,
};

/// A loop over a list to which its closure may add items, together with the loop's options. Made by
/// [`Pool::grow`](crate::Pool::grow). The last method call runs the loop.
///
/// The items with which the list begins are its *seeds*. The closure receives each item by value,
/// and a [`Feed`] to add further items. The loop ends when the list is empty.
///
/// ```
/// use rangesteal::Pool;
///
/// /// Places a queen in the next row of a board, wherever no other attacks it.
/// fn solutions(pool: &Pool, rows: u32) -> u64 {
///     let all = (1_u32 << rows) - 1;
///     pool.grow([(0, 0, 0)]).fold_unordered(
///         || 0,
///         |found, (columns, left, right), feed| {
///             let mut free = all & !(columns | left | right);
///             while free != 0 {
///                 let queen = free & free.wrapping_neg();
///                 free ^= queen;
///                 feed.push((columns | queen, (left | queen) << 1, (right | queen) >> 1));
///             }
///             found + u64::from(columns == all)
///         },
///         |a, b| a + b,
///     )
/// }
///
/// assert_eq!(solutions(&Pool::new()?, 8), 92);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// The options of [`On`] that exist here are `with`, `with_kept`, `cancel`, `report` and `threads`.
///
/// # Order
/// Every item is folded exactly once, by any worker, in no defined order. Therefore `reduce` must
/// be associative *and commutative*, which the loops of [`On`] do not require. A result that
/// depends on the order differs from run to run.
///
/// A worker that runs the loop alone folds the seeds first in, first out. The worker folds added
/// items last in, first out. The items of one [`extend`](Feed::extend) call are folded in the order
/// given. To have an item folded first, put it first among the seeds or in the argument of
/// `extend`, or push it last.
///
/// # Memory
/// In a search tree, each worker's list holds at most about depth × children items, as the stack of
/// a recursive program does. The list has no limit: if every item adds two others, the loop uses up
/// all memory.
///
/// # Scheduling
/// A worker folds the items that it has added itself, the newest first. A worker without items
/// steals the older half of another worker's items; in a search tree, older items are the roots of
/// larger subtrees. A worker that finds no items for some microseconds sleeps until another worker
/// wakes it. The calling thread runs a short loop alone, without waking a worker. The calling
/// thread also runs the loop alone while no other worker is idle.
///
/// If items are cheap, each worker keeps its newest 16 items from thieves while no other worker
/// lacks work. So if one item takes much longer than the items before it, up to 16 further items
/// wait until the long item is done. If a woken worker finds nothing to steal, for example because
/// each item adds only the next item, then for up to two milliseconds no worker is woken unless
/// many items can be stolen. A loop with one seed is shared only when this seed is done.
///
/// # Panics
/// A panic in a closure ends the loop, and the call panics with the original payload. If several
/// closures panic, the call panics with the payload of any one of them. After a panic, an error or
/// a cancellation, each item that has not been folded is dropped once. A panic in such a drop is
/// ignored.
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct Grow<'p, T: Send, E = Uncancellable, M = Stateless> {
    seeds: On<Owned<Vec<T>>, OnPool<'p, E>>,
    states: M,
}

impl<'p, T: Send> Grow<'p, T> {
    pub(crate) fn new(seeds: On<Owned<Vec<T>>, OnPool<'p>>) -> Self {
        Self { seeds, states: Stateless }
    }
}

/// Options.
impl<'p, T: Send, E: Ending, M: State> Grow<'p, T, E, M> {
    /// Gives each worker a state of its own, made by `make(worker)` before the worker's first item.
    /// The closures of the loop then receive `(&mut state, item)` instead of the item. The state
    /// stays on its thread, so it need not be `Send`.
    ///
    /// A worker that leaves the loop for lack of work drops its state. If the worker returns to the
    /// loop, it makes a new state. If states are expensive, use [`with_kept`](Self::with_kept).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let letters = pool.grow(["ab-cd-e"]).with(|_worker| String::new()).fold_unordered(
    ///     || 0,
    ///     |letters, (scratch, text), feed| {
    ///         let Some((first, rest)) = text.split_once('-') else { return letters + text.len() };
    ///         feed.push(rest);
    ///         scratch.clear();
    ///         scratch.push_str(first);
    ///         letters + scratch.len()
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(letters, 5);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn with<W, F: Fn(usize) -> W + Sync>(self, make: F) -> Grow<'p, T, E, Fresh<F>> {
        Grow { seeds: self.seeds, states: Fresh(make) }
    }

    /// Gives each worker a state that is kept between loops: see [`PerWorker`]. The loop has at
    /// most as many workers as there are states.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut folded = pool.per_worker(|_worker| 0);
    /// pool.grow(0..10).with_kept(&mut folded).for_each(|(folded, _item), _feed| *folded += 1);
    /// assert_eq!(folded.into_vec().iter().sum::<u32>(), 10);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn with_kept<W: Send>(self, states: &'p mut PerWorker<W>) -> Grow<'p, T, E, Kept<'p, W>> {
        Grow { seeds: self.seeds, states: Kept(states) }
    }

    /// Lets any thread end the loop through a [`CancelToken`]. The loop then returns `Result<_,
    /// Cancelled>`, or `Result<Result<_, Z>, Cancelled>` if its closure can fail. After a
    /// cancellation each worker finishes its current item, and begins no further item.
    ///
    /// ```
    /// use rangesteal::{CancelToken, Cancelled, Pool};
    ///
    /// let (pool, token) = (Pool::new()?, CancelToken::new());
    /// let ended = pool.grow([0_u64]).cancel(&token).for_each(|n, feed| {
    ///     if n == 1_000_000 {
    ///         token.cancel();
    ///     }
    ///     feed.push(n + 1); // without end
    /// });
    /// assert_eq!(ended, Err(Cancelled));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn cancel(self, token: &'p CancelToken) -> Grow<'p, T, Cancellable, M> {
        Grow { seeds: self.seeds.cancel(token), states: self.states }
    }

    /// Writes statistics of the loop into `report`: see [`RunReport`]. The report counts all items,
    /// both seeds and added items. In this report, a run is the work of one worker between two
    /// thefts. If the loop ended early, the report counts only the items that were folded. If the
    /// loop panics, `report` is left unchanged.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut report = rangesteal::RunReport::default();
    /// pool.grow([9_u32]).report(&mut report).for_each(|n, feed| feed.extend(n.checked_sub(1)));
    /// assert_eq!(report.items(), 10);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn report(mut self, report: &'p mut RunReport) -> Self {
        self.seeds = self.seeds.report(report);
        self
    }

    /// Uses at most `workers` workers, including the calling thread.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let caller = std::thread::current().id();
    /// let all = pool.grow(0..1000).threads(1);
    /// all.for_each(|_item, _feed| assert_eq!(std::thread::current().id(), caller));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `workers` is 0.
    pub fn threads(mut self, workers: usize) -> Self {
        self.seeds = self.seeds.threads(workers);
        self
    }

    /// Folds the items and reduces the results. Returns `None` if the loop was cancelled.
    #[inline(always)]
    fn folded<A: Send, Z: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl for<'a> Fn(A, Given<'a, M, T>, &Feed<'_, T>) -> Result<A, Z> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<Result<A, Z>> {
        let Self { seeds, states } = self;
        let list = seeds.list();
        let make = &init;
        let on = seeds.with_states(GrowStates { list: &list, states: &states });
        let folded = on.fold_list(
            &list,
            move |mut claimed, acc| {
                let mut acc = acc.unwrap_or_else(make);
                let mut is_first = true;
                loop {
                    let seeds = match claimed.next() {
                        Some(seeds) => seeds,
                        None if is_first => claimed.nothing(), // fold the worker's own deque
                        None => return Ok(Some(acc)),
                    };
                    is_first = false;
                    let (folder, held) = claimed.state();
                    let (at, state) = (seeds.range().start, M::get(held));
                    let step = |acc, item, feed: &Feed<'_, T>| fold(acc, M::give(state, item), feed);
                    let folded = folder.fold(seeds.items(), acc, step);
                    acc = folded.map_err(|found| Stop { at, needed_end: 0, found })?;
                }
            },
            reduce,
        );
        folded.or(&init).ended()
    }
}

/// Loops.
impl<T: Send, E: Ending, M: State> Grow<'_, T, E, M> {
    /// Folds every item into an accumulator, in no defined order, and reduces the accumulators.
    ///
    /// `init` is called at least once, and once more each time a worker joins the loop or steals
    /// seeds. The closures must satisfy three conditions:
    /// - `init` is neutral: `reduce(init(), a)` is `a`.
    /// - `reduce` is associative and commutative.
    /// - Folding an item into `a` and then reducing with `b` gives the same as folding the item
    ///   into `b` and then reducing with `a`.
    ///
    /// An item costs one or two nanoseconds more than in a serial loop that uses a `Vec` as a
    /// stack.
    ///
    /// To collect results in no defined order, fold them into a `Vec`, and append one `Vec` to the
    /// other in `reduce`. An error that must not end the loop belongs in the accumulator, too.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// // How many ways are there to climb n steps, one or two at a time?
    /// let ways = pool.grow([20_u32]).fold_unordered(
    ///     || 0,
    ///     |ways, steps, feed| {
    ///         if steps < 2 {
    ///             return ways + 1;
    ///         }
    ///         feed.extend([steps - 1, steps - 2]);
    ///         ways
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(ways, 10_946);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `init`, `fold` or `reduce` panics.
    #[inline(always)]
    pub fn fold_unordered<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl for<'a> Fn(A, Given<'a, M, T>, &Feed<'_, T>) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let folded = self.folded(init, |acc, item, feed| Ok::<_, Infallible>(fold(acc, item, feed)), reduce);
        E::end(folded.map(|Ok(folded)| folded))
    }

    /// [`fold_unordered`](Self::fold_unordered) for a `fold` that can fail: an error ends the loop.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = |texts: [&'static str; 3]| {
    ///     let add = |sum: u32, text: &str| text.parse().map(|n: u32| sum + n);
    ///     pool.grow(texts).try_fold_unordered(|| 0, |sum, text, _| add(sum, text), |a, b| a + b)
    /// };
    /// assert_eq!(sum(["1", "2", "3"]), Ok(6));
    /// assert!(sum(["1", "two", "3"]).is_err());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of an item for which `fold` returns an `Err`. If several items fail, any one of
    /// their errors.
    ///
    /// # Panics
    /// If `init`, `fold` or `reduce` panics.
    #[inline(always)]
    pub fn try_fold_unordered<A: Send, Z: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl for<'a> Fn(A, Given<'a, M, T>, &Feed<'_, T>) -> Result<A, Z> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<Result<A, Z>> {
        E::end(self.folded(init, fold, reduce))
    }

    /// Calls `f` with every item once, in no defined order.
    ///
    /// ```
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    ///
    /// # let pool = rangesteal::Pool::new()?;
    /// // Which nodes of a graph can be reached from node 0?
    /// let edges = [vec![1, 2], vec![3], vec![0, 3], vec![], vec![1]];
    /// let seen: Vec<_> = (0..5).map(|node| AtomicBool::new(node == 0)).collect();
    /// pool.grow([0]).for_each(|node: usize, feed| {
    ///     let is_new = |other: &usize| !seen[*other].swap(true, Relaxed);
    ///     feed.extend(edges[node].iter().copied().filter(is_new));
    /// });
    /// let seen: Vec<_> = seen.into_iter().map(AtomicBool::into_inner).collect();
    /// assert_eq!(seen, [true, true, true, true, false]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` panics.
    #[inline(always)]
    pub fn for_each(self, f: impl for<'a> Fn(Given<'a, M, T>, &Feed<'_, T>) + Sync) -> E::Of<()> {
        self.fold_unordered(|| (), |(), item, feed| f(item, feed), |(), ()| ())
    }

    /// [`for_each`](Self::for_each) for an `f` that can fail: an error ends the loop.
    ///
    /// To search, return the solution as an error. To find the best of several solutions, return
    /// `Ok` each time, and keep the best solution in an atomic number or under a lock.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// // Three numbers below 50 whose squares add up to 2026.
    /// let found = pool.grow([vec![]]).try_for_each(|numbers: Vec<u32>, feed| {
    ///     let sum: u32 = numbers.iter().map(|n| n * n).sum();
    ///     match numbers.len() {
    ///         3 if sum == 2026 => return Err(numbers),
    ///         3 => {}
    ///         _ => feed.extend((0..50).map(|n| [&numbers[..], &[n]].concat())),
    ///     }
    ///     Ok(())
    /// });
    /// let found: Option<Vec<u32>> = found.err();
    /// assert_eq!(found.map(|numbers| numbers.iter().map(|n| n * n).sum()), Some(2026));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of an item for which `f` returns an `Err`. If several items fail, any one of their
    /// errors.
    ///
    /// # Panics
    /// If `f` panics.
    #[inline(always)]
    pub fn try_for_each<Z: Send>(
        self,
        f: impl for<'a> Fn(Given<'a, M, T>, &Feed<'_, T>) -> Result<(), Z> + Sync,
    ) -> E::Of<Result<(), Z>> {
        self.try_fold_unordered(|| (), |(), item, feed| f(item, feed), |(), ()| ())
    }
}

/// Makes the state of each worker: its position in the list, and the user's state.
pub(super) struct GrowStates<'f, T, M> {
    list: &'f List<'f, T>,
    states: &'f M,
}

impl<'f, T: Send, M: State> State for GrowStates<'f, T, M> {
    type Worker = (ListFolder<'f, T>, M::Held<'f>);
    type With<I> = dyn for<'a> Lends<'a, Out = (&'a mut Self::Worker, I)>;
    type Held<'s>
        = Self::Worker
    where
        Self: 's;

    fn hold(&self, me: usize) -> Self::Worker {
        (ListFolder::new(self.list, me), self.states.hold(me))
    }

    fn get(held: &mut Self::Worker) -> &mut Self::Worker {
        held
    }

    fn give<I>(state: &mut Self::Worker, item: I) -> (&mut Self::Worker, I) {
        (state, item)
    }

    fn most(&self) -> usize {
        self.states.most()
    }
}

impl<T, M> state::sealed::Sealed for GrowStates<'_, T, M> {}
