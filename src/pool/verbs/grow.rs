//! Loops over a list that grows: items make items.

use std::convert::Infallible;

use super::{
    feed::{Feed, Feeder, List},
    kernel::Claimed,
    on::On,
    options::{Cancellable, Ending, OnPool, Uncancellable},
    owned::Owned,
    stages::With,
    state::{self, Fresh, Given, Kept, Lends, PerWorker, State, Stateless},
};
use crate::pool::{
    call::{body::Stop, handles::CancelToken},
    record::report::RunReport,
};

/// A list that grows while a loop runs over it, and the options of that loop. The last method call
/// is the loop itself. Made by [`Pool::grow`](crate::Pool::grow).
///
/// The items with which the list begins are its *seeds*. A closure is given an item by value, and a
/// [`Feed`], by which it adds others. The loop ends when nothing is left.
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
/// Of the options of [`On`] there are `with`, `with_kept`, `cancel`, `report` and `threads`.
///
/// # Order
/// There is none: every item is folded exactly once, by any worker. So `reduce` must be associative
/// *and commutative*, other than in the loops of [`On`], and a result that depends on the order is
/// another one each time. On one worker, seeds come first in, first out. Items that they make come
/// last in, first out, but the items of one [`extend`](Feed::extend) come in their own order. So
/// the item to be folded first comes first in the seeds and in `extend`, and last in `push`.
///
/// In a tree the list has at most about depth times children items, as a recursive program has on
/// its stack. Nothing limits it: a loop whose items always make two others takes all memory.
///
/// # Who does what
/// A worker goes on with what it has made itself, the newest first. One that has nothing takes the
/// older half of what another has; in a tree the older items are the larger subtrees. A short loop
/// ends on the calling thread, without waking anybody. So does one while no worker is idle. A
/// worker that finds nothing for some microseconds sleeps until it is called.
///
/// Of cheap items each worker keeps its newest 16 to itself as long as nobody lacks work. So if an
/// item takes much longer than those before it, up to 16 others wait until it is done. Nobody is
/// called for a few items within two milliseconds after calls in vain, such as in a chain. If there
/// is one seed, nobody helps before it is done.
///
/// # Panics
/// A panic in a closure ends the loop and comes out of the call, with its original payload; if
/// several panic, any of these. What has not been folded is dropped, each item once, as it is after
/// an error and if the loop is cancelled. (A panic of such a drop is lost.)
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
    /// Gives each worker a state of its own, made by `make(worker)` before its first item. The
    /// closures of the loop are given `(&mut state, item)` instead of the item. It stays on its
    /// thread, so it need not be `Send`.
    ///
    /// A worker that has found nothing for a while drops its state, and makes another if there is
    /// something later. If that is expensive, keep the states: [`with_kept`](Self::with_kept).
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

    /// Gives each worker a state that is kept from loop to loop: see [`PerWorker`]. The loop has at
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

    /// Lets any thread end the loop, which then returns `Result<_, Cancelled>`: see
    /// [`CancelToken`]. Each worker ends the item that it is in, and begins no other. A loop that
    /// can fail returns `Result<Result<_, Z>, Cancelled>`.
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

    /// Writes what the loop did into `report`: see [`RunReport`]. It is not written if the loop
    /// panics. Items are counted whether they were seeds or not; a run is what a worker does
    /// between two thefts. If the loop has stopped, it tells of the items until then.
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

    /// Folds the items and reduces the results. None if it was cancelled.
    #[inline(always)]
    fn folded<A: Send, Z: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(&mut M::Worker, A, T, &Feed<'_, T>) -> Result<A, Z> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<Result<A, Z>> {
        let Self { seeds, states } = self;
        let list = seeds.list();
        let make = &init;
        let folding = move |mut claimed: Claimed<'_, '_, '_, GrowChain<'_, T, M>>, acc| {
            let mut acc = match acc {
                Some(acc) => acc,
                None => (*make)(),
            };
            let mut is_first = true;
            loop {
                let seeds = match claimed.next() {
                    Some(seeds) => seeds,
                    None if is_first => claimed.nothing(), // it goes on with what the worker has of the list
                    None => return Ok(Some(acc)),
                };
                is_first = false;
                let GrowState { feeder, held } = claimed.state();
                let (at, state) = (seeds.range().start, M::get(held));
                match feeder.fold(seeds.items(), acc, |acc, item, feed| fold(state, acc, item, feed)) {
                    Ok(folded) => acc = folded,
                    Err(found) => return Err(Stop { at, place: 0, found }),
                }
            }
        };
        let hands = GrowStates { list: &list, states: &states };
        seeds.with_states(hands).fold_list(&list, folding, reduce).or(&init).ended()
    }
}

/// The seeds, and the hands of the workers.
type GrowChain<'f, T, M> = With<Owned<Vec<T>>, GrowStates<'f, T, M>>;

/// Loops.
impl<T: Send, E: Ending, M: State> Grow<'_, T, E, M> {
    /// Folds every item into an accumulator, in no defined order, and reduces the accumulators.
    ///
    /// `init` is called at least once, and again for each worker that comes, or comes back, or
    /// steals seeds; so its value must be neutral: `reduce(init(), a)` is `a`. `reduce` must be
    /// associative and commutative, and to fold an item into `a`, and then to reduce that with `b`,
    /// must be the same as to fold it into `b`. An item costs one or two nanoseconds more than in a
    /// plain loop over a `Vec` that is used as a stack.
    ///
    /// To collect results, fold them into a `Vec`, and append one to the other; they are in no
    /// order. An error that is not to end the loop belongs into the accumulator, too.
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
    /// If `init`, `fold` or `reduce` does.
    #[inline(always)]
    pub fn fold_unordered<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl for<'a> Fn(A, Given<'a, M, T>, &Feed<'_, T>) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let step = |state: &mut M::Worker, acc, item, feed: &Feed<'_, T>| {
            never_fails(fold(acc, M::give(state, item), feed))
        };
        E::end(self.folded(init, step, reduce).map(unwrap))
    }

    /// The same for a `fold` that can fail: an error ends the loop. Of several errors any comes
    /// out.
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
    /// # Panics
    /// If `init`, `fold` or `reduce` does.
    #[inline(always)]
    pub fn try_fold_unordered<A: Send, Z: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl for<'a> Fn(A, Given<'a, M, T>, &Feed<'_, T>) -> Result<A, Z> + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<Result<A, Z>> {
        let step =
            |state: &mut M::Worker, acc, item, feed: &Feed<'_, T>| fold(acc, M::give(state, item), feed);
        E::end(self.folded(init, step, reduce))
    }

    /// Calls `f` with every item, in no defined order.
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
    /// If `f` does.
    #[inline(always)]
    pub fn for_each(self, f: impl for<'a> Fn(Given<'a, M, T>, &Feed<'_, T>) + Sync) -> E::Of<()> {
        self.fold_unordered(|| (), |(), item, feed| f(item, feed), |(), ()| ())
    }

    /// The same for an `f` that can fail: an error ends the loop. So a search returns what it has
    /// found as an error. Of several solutions it is chance which one comes out; for the best, go
    /// on, and keep it in an atomic number or under a lock.
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
    /// # Panics
    /// If `f` does.
    #[inline(always)]
    pub fn try_for_each<Z: Send>(
        self,
        f: impl for<'a> Fn(Given<'a, M, T>, &Feed<'_, T>) -> Result<(), Z> + Sync,
    ) -> E::Of<Result<(), Z>> {
        self.try_fold_unordered(|| (), |(), item, feed| f(item, feed), |(), ()| ())
    }
}

#[inline(always)]
#[expect(clippy::unnecessary_wraps, reason = "as loops that can fail")]
fn never_fails<A>(folded: A) -> Result<A, Infallible> {
    Ok(folded)
}

fn unwrap<A>(folded: Result<A, Infallible>) -> A {
    let Ok(folded) = folded;
    folded
}

/// What a worker has in hand: its way through the list, and its state.
pub(super) struct GrowState<'f, T, M: State + 'f> {
    feeder: Feeder<'f, T>,
    held: M::Held<'f>,
}

/// Gives each worker what it has in hand.
pub(super) struct GrowStates<'f, T, M> {
    list: &'f List<'f, T>,
    states: &'f M,
}

impl<'f, T: Send, M: State> State for GrowStates<'f, T, M> {
    type Worker = GrowState<'f, T, M>;
    type With<I> = dyn for<'a> Lends<'a, Out = (&'a mut GrowState<'f, T, M>, I)>;
    type Held<'s>
        = GrowState<'f, T, M>
    where
        Self: 's;

    fn hold(&self, me: usize) -> GrowState<'f, T, M> {
        GrowState { feeder: Feeder::new(self.list, me), held: self.states.hold(me) }
    }

    fn get<'h>(held: &'h mut GrowState<'f, T, M>) -> &'h mut GrowState<'f, T, M> {
        held
    }

    fn give<'a, I>(hand: &'a mut GrowState<'f, T, M>, item: I) -> (&'a mut GrowState<'f, T, M>, I) {
        (hand, item)
    }

    fn most(&self) -> usize {
        self.states.most()
    }
}

impl<T, M> state::sealed::Sealed for GrowStates<'_, T, M> {}
