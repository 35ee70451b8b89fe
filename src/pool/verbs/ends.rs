//! The ends of a chain that fold: each end runs the loop and makes one value of all items.

use std::{
    cmp::Ordering,
    convert::Infallible,
    iter::{self, Product, Sum},
    ops::ControlFlow,
    sync::PoisonError,
};

use super::{
    chain::{Chain, Source, WorkerOf},
    kernel::{Fold, SourceClaims},
    on::On,
    options::{Ending, OnPool},
    state::{Given, State},
};
use crate::{
    pool::{
        engine::{body::Stop, ending::Outcome},
        policy::site::LoopKind,
    },
    sorted::sort,
    sync::{Mutex, lock},
};

/// Folds a worker's claims: calls `step` with each item, up to the first `Err`.
#[inline]
pub(super) fn folding<C: Chain, A, Z>(
    init: impl Fn() -> A + Sync,
    step: impl Fn(&mut WorkerOf<C>, A, C::Item) -> Result<A, Z> + Sync,
) -> impl Fold<C, A, Z> {
    move |claimed, acc| {
        let acc = match acc {
            Some(acc) => acc,
            None => init(),
        };
        // (LLVM does not inline a large `step` that is passed as `&step`.)
        claimed.fold(acc, |state, acc, item| step(state, acc, item)).map(Some)
    }
}

/// Folds a worker's claims: calls `f` with each item, up to the first `Err`. Does not use
/// `numbered`: with indices, loops that gather numbers from scattered addresses are slower.
#[inline]
fn calling<C: Chain, Z>(
    f: impl Fn(&mut WorkerOf<C>, C::Item) -> Result<(), Z> + Sync,
) -> impl Fold<C, (), Z> {
    move |mut claimed, _| {
        if const { C::Source::FINDS_FASTER } {
            return claimed.fold((), |state, (), item| f(state, item)).map(Some);
        }
        let chain = claimed.chain;
        while let Some(items) = claimed.next() {
            let (end, mut items) = (items.range().end, items.items());
            let state = claimed.state();
            let called =
                items.try_for_each(|item| chain.push(state, item, (), |state, (), item| f(state, item)));
            if let Err(found) = called {
                return Err(Stop::there(end - 1 - items.len(), found));
            }
        }
        Ok(Some(()))
    }
}

/// Folds a worker's claims: maps each item and reduces the results, up to the first `Err`.
///
/// The code of the loop calls `map` at a single place, even though the first item of a run is not
/// reduced with an earlier result. LLVM can vectorise the loop nevertheless. If the body is short,
/// LLVM peels off the first item. If the body is long, LLVM vectorises the loop only if `reduce`
/// has a neutral element, such as 0 for a sum; `max` has none. `fold` needs no neutral element,
/// since it begins with an accumulator.
#[inline]
pub(super) fn reducing<C: Chain, R, Z>(
    map: impl Fn(&mut WorkerOf<C>, C::Item) -> Result<R, Z> + Sync,
    reduce: &(impl Fn(R, R) -> R + Sync),
) -> impl Fold<C, R, Z> {
    move |claimed, acc| {
        claimed.fold(acc, |state, acc, item| {
            let mapped = map(state, item)?;
            Ok(Some(match acc {
                Some(acc) => (*reduce)(acc, mapped),
                None => mapped,
            }))
        })
    }
}

impl<C: Chain + Sync, E: Ending> On<C, OnPool<'_, E>> {
    /// Calls `f` with each item; stops at the first `Err`.
    #[inline]
    pub(super) fn each<Z: Send>(
        self,
        kind: LoopKind,
        f: impl Fn(&mut WorkerOf<C>, C::Item) -> Result<(), Z> + Sync,
    ) -> Outcome<(), Z> {
        self.fold_and_reduce(kind, calling(f), |(), ()| ()).or(|| ())
    }

    /// Folds the items; stops at the first `Err`.
    #[inline]
    pub(super) fn folded<A: Send, Z: Send>(
        self,
        kind: LoopKind,
        init: impl Fn() -> A + Sync,
        step: impl Fn(&mut WorkerOf<C>, A, C::Item) -> Result<A, Z> + Sync,
        merge: impl Fn(A, A) -> A + Sync,
    ) -> Outcome<A, Z> {
        let init = &init;
        self.fold_and_reduce(kind, folding(move || (*init)(), step), merge).or(init)
    }

    /// Maps the items and reduces the results; stops at the first `Err`.
    #[inline]
    fn reduced<R: Send, Z: Send>(
        self,
        kind: LoopKind,
        map: impl Fn(&mut WorkerOf<C>, C::Item) -> Result<R, Z> + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Outcome<Option<R>, Z> {
        let reduce = &reduce;
        if const { C::MAKES_ONE } {
            return self.fold_and_reduce(kind, reducing(map, reduce), move |a, b| (*reduce)(a, b));
        }
        // If the chain leaves out all items of a block, the result of the block is `None`.
        let both = move |a: Option<R>, b| match (a, b) {
            (Some(a), Some(b)) => Some((*reduce)(a, b)),
            (a, b) => a.or(b),
        };
        let step = move |state: &mut WorkerOf<C>, acc, item| Ok(both(acc, Some(map(state, item)?)));
        self.folded(kind, || None, step, both)
    }

    /// Reduces to the item with the best key. `is_second_better` compares the keys of two items, in
    /// the order of the items.
    #[inline]
    fn best_by_key<K: Send>(
        self,
        key: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> K + Sync,
        is_second_better: impl Fn(&K, &K) -> bool + Sync,
    ) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        let best = self.reduced(
            LoopKind::LARGE_PARTIALS,
            move |state, item| Ok((key(C::State::give(state, &item)), item)),
            move |a: (K, C::Item), b: (K, C::Item)| if is_second_better(&a.0, &b.0) { b } else { a },
        );
        E::end(best.through().map(|best| best.map(|(_, item)| item)))
    }

    /// Calls `f` once with every item, as [`Iterator::for_each`]. The order of the calls is not
    /// defined.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut squares = [1, 2, 3];
    /// pool.on(&mut squares).for_each(|x| *x *= *x);
    /// assert_eq!(squares, [1, 4, 9]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics.
    #[inline]
    pub fn for_each(self, f: impl for<'a> Fn(Given<'a, C::State, C::Item>) + Sync) -> E::Of<()> {
        let each = self.each(LoopKind::THROUGH, move |state, item| {
            f(C::State::give(state, item));
            Ok(())
        });
        E::end(each.through())
    }

    /// Calls `f` with every item until `f` returns an `Err`, as [`Iterator::try_for_each`]. If `f`
    /// fails for several items, returns the error of the first of these in the order of the items.
    ///
    /// `f` is called for all items before the failing item. `f` may also have been called for items
    /// behind the failing item, if other workers had begun these items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let good = |i: usize| if i % 300 == 299 { Err(i) } else { Ok(()) };
    /// assert_eq!(pool.on(0..1000).try_for_each(good), Err(299));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first item, in the order of the items, for which `f` returns an `Err`.
    ///
    /// # Panics
    /// If a closure of the chain panics for an item before the first error.
    #[inline]
    pub fn try_for_each<Z: Send>(
        self,
        f: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> Result<(), Z> + Sync,
    ) -> E::Of<Result<(), Z>> {
        E::end(self.each(LoopKind::MAY_STOP, move |state, item| f(C::State::give(state, item))).ended())
    }

    /// Folds the items into accumulators, and merges the accumulators in the order of the items.
    /// There is one accumulator for each run of neighbouring items that a worker takes. If `init`
    /// is neutral to `merge` and `merge` is associative, the result is the result of
    /// [`Iterator::fold`]. `step` is called once per item, `init` once per run.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (sum, count) = pool.on(0..100).fold(
    ///     || (0, 0),
    ///     |(sum, count), i| (sum + i, count + 1),
    ///     |a, b| (a.0 + b.0, a.1 + b.1),
    /// );
    /// assert_eq!((sum, count), (4950, 100));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `init`, `step`, `merge` or a closure of the chain panics.
    #[inline]
    pub fn fold<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        step: impl for<'a> Fn(A, Given<'a, C::State, C::Item>) -> A + Sync,
        merge: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        let step = move |state: &mut WorkerOf<C>, acc, item| Ok(step(acc, C::State::give(state, item)));
        E::end(self.folded(LoopKind::THROUGH, init, step, merge).through())
    }

    /// Folds the items as [`fold`](Self::fold) does, until `step` returns an `Err`. If `step` fails
    /// for several items, returns the error of the first of these in the order of the items. Behind
    /// [`enumerate`](Self::enumerate), `step` can put the item's index into the error.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let total = |prices: &[&str]| {
    ///     pool.on(prices).enumerate().try_fold(
    ///         || 0,
    ///         |sum, (index, price)| Ok(sum + price.parse::<u32>().map_err(|_| index)?),
    ///         |a, b| a + b,
    ///     )
    /// };
    /// assert_eq!(total(&["7", "3"]), Ok(10));
    /// assert_eq!(total(&["7", "x", "3", "y"]), Err(1));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first item, in the order of the items, for which `step` returns an `Err`.
    ///
    /// # Panics
    /// If `init`, `step`, `merge` or a closure of the chain panics for an item before the first
    /// error.
    #[inline]
    pub fn try_fold<A: Send, Z: Send>(
        self,
        init: impl Fn() -> A + Sync,
        step: impl for<'a> Fn(A, Given<'a, C::State, C::Item>) -> Result<A, Z> + Sync,
        merge: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<Result<A, Z>> {
        let step = move |state: &mut WorkerOf<C>, acc, item| step(acc, C::State::give(state, item));
        E::end(self.folded(LoopKind::MAY_STOP, init, step, merge).ended())
    }

    /// Folds runs of neighbouring items, and returns the accumulators of the runs, in the order of
    /// the items. There is one run for each part of the slice that a worker takes. The accumulator
    /// of a run is a local variable of the loop, and is stored once for a stretch of items.
    #[doc(hidden)] // for rangesteal-rayon
    #[inline]
    pub fn fold_runs<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        step: impl for<'a> Fn(A, Given<'a, C::State, C::Item>) -> A + Sync,
    ) -> E::Of<Vec<A>> {
        let fold = move |claimed: SourceClaims<'_, '_, '_, C>, runs: Option<Vec<A>>| {
            let mut runs = runs.unwrap_or_default();
            let acc = match runs.pop() {
                Some(acc) => acc,
                None => init(),
            };
            let step = |state: &mut WorkerOf<C>, acc, item| Ok(step(acc, C::State::give(state, item)));
            runs.push(claimed.fold::<A, Infallible>(acc, step)?);
            Ok(Some(runs))
        };
        let append = |mut before: Vec<A>, mut behind: Vec<A>| {
            before.append(&mut behind);
            before
        };
        let runs = self.fold_and_reduce::<_, Infallible>(LoopKind::THROUGH, fold, append);
        E::end(runs.or(Vec::new).through())
    }

    /// Reduces the items in their order, as [`Iterator::reduce`]. `reduce` must be associative, but
    /// need not be commutative. Returns `None` if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["one", "loop", "on", "all"];
    /// let sentence = pool.on(&words).map(|word| word.to_string()).reduce(|a, b| a + " " + &b);
    /// assert_eq!(sentence.as_deref(), Some("one loop on all"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `reduce` or a closure of the chain panics.
    #[inline]
    pub fn reduce(self, reduce: impl Fn(C::Item, C::Item) -> C::Item + Sync) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        E::end(self.reduced(LoopKind::LARGE_PARTIALS, |_, item| Ok(item), reduce).through())
    }

    /// Reduces the values of the `Ok` items in their order. If an item is an `Err`, returns the
    /// first such item instead. `reduce` must be associative. Returns `Ok(None)` if there are no
    /// items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let number = |s: &&'static str| s.parse::<i32>().map_err(|_| *s);
    /// assert_eq!(pool.on(&["1", "7", "3"]).map(number).try_reduce(i32::max), Ok(Some(7)));
    /// assert_eq!(pool.on(&["1", "x", "y"]).map(number).try_reduce(i32::max), Err("x"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// The error of the first item, in the order of the items, that is an `Err`.
    ///
    /// # Panics
    /// If `reduce` or a closure of the chain panics for an item before the first error.
    #[inline]
    pub fn try_reduce<R: Send, Z: Send>(
        self,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Result<Option<R>, Z>>
    where
        C: Chain<Item = Result<R, Z>>,
    {
        E::end(self.reduced(LoopKind::MAY_STOP, |_, item| item, reduce).ended())
    }

    /// Adds up the items, as [`Iterator::sum`]. Without items the sum is 0, or the value that the
    /// result type defines.
    ///
    /// The order of the additions differs from call to call, so the rounding of a floating-point
    /// sum may differ, unless the loop is [`reproducible`](Self::reproducible).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&["a", "bcd"]).map(|word| word.len()).sum::<usize>(), 4);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics, or if the sum overflows and overflow checks are on.
    #[inline]
    pub fn sum<S: Send + Sum<C::Item> + Sum<S>>(self) -> E::Of<S> {
        let add = |a, b| [a, b].into_iter().sum();
        let step = move |_: &mut WorkerOf<C>, sum, item| Ok(add(sum, [item].into_iter().sum()));
        let nothing = || iter::empty::<C::Item>().sum();
        E::end(self.folded(LoopKind::THROUGH, nothing, step, add).through())
    }

    /// Multiplies the items, as [`Iterator::product`]. Without items the product is 1, or the value
    /// that the result type defines.
    ///
    /// The order of the multiplications differs from call to call, so the rounding of a
    /// floating-point product may differ, unless the loop is [`reproducible`](Self::reproducible).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(1..=20_u64).product::<u64>(), 2_432_902_008_176_640_000);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics, or if the product overflows and overflow checks are on.
    #[inline]
    pub fn product<S: Send + Product<C::Item> + Product<S>>(self) -> E::Of<S> {
        let times = |a, b| [a, b].into_iter().product();
        let step = move |_: &mut WorkerOf<C>, product, item| Ok(times(product, [item].into_iter().product()));
        let nothing = || iter::empty::<C::Item>().product();
        E::end(self.folded(LoopKind::THROUGH, nothing, step, times).through())
    }

    /// Counts the items, as [`Iterator::count`]. All closures of the chain are called.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..100).filter(|i| i % 7 == 0).count(), 15);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics.
    #[inline]
    pub fn count(self) -> E::Of<usize> {
        self.fold(|| 0, |count, _| count + 1, |a, b| a + b)
    }

    /// The smallest item, as [`Iterator::min`]. Of several equal items, returns the first. Returns
    /// `None` if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&[7, 3, 5]).min(), Some(&3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison or a closure of the chain panics.
    #[inline]
    pub fn min(self) -> E::Of<Option<C::Item>>
    where
        C::Item: Ord + Send,
    {
        self.min_by(C::Item::cmp)
    }

    /// The largest item, as [`Iterator::max`]. Of several equal items, returns the last. Returns
    /// `None` if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(&["a", "bcd"]).map(|word| word.len()).max(), Some(3));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison or a closure of the chain panics.
    #[inline]
    pub fn max(self) -> E::Of<Option<C::Item>>
    where
        C::Item: Ord + Send,
    {
        self.max_by(C::Item::cmp)
    }

    /// The smallest item by `compare`, as [`Iterator::min_by`]. Of several equal items, returns the
    /// first. Returns `None` if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let smallest = pool.on(&[2.5_f64, -1.0, 7.0]).min_by(|a, b| a.total_cmp(b));
    /// assert_eq!(smallest, Some(&-1.0));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `compare` or a closure of the chain panics.
    #[inline]
    pub fn min_by(self, compare: impl Fn(&C::Item, &C::Item) -> Ordering + Sync) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        self.reduce(move |a, b| if compare(&a, &b).is_gt() { b } else { a })
    }

    /// The largest item by `compare`, as [`Iterator::max_by`]. Of several equal items, returns the
    /// last. Returns `None` if there are no items.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let roots = pool.on(&[9.0_f64, 2.0, 16.0]).map(|x| x.sqrt());
    /// assert_eq!(roots.max_by(f64::total_cmp), Some(4.0));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `compare` or a closure of the chain panics.
    #[inline]
    pub fn max_by(self, compare: impl Fn(&C::Item, &C::Item) -> Ordering + Sync) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        self.reduce(move |a, b| if compare(&a, &b).is_gt() { a } else { b })
    }

    /// The item with the smallest key, as [`Iterator::min_by_key`]. Of several items with equal
    /// keys, returns the first. Returns `None` if there are no items. `key` is called once per
    /// item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let nearest = pool.on(&[12, 95, 103]).min_by_key(|x| i32::abs(**x - 100));
    /// assert_eq!(nearest, Some(&103));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key`, a comparison of keys or a closure of the chain panics.
    #[inline]
    pub fn min_by_key<K: Ord + Send>(
        self,
        key: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> K + Sync,
    ) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        self.best_by_key(key, move |a, b| a > b)
    }

    /// The item with the largest key, as [`Iterator::max_by_key`]. Of several items with equal
    /// keys, returns the last. Returns `None` if there are no items. `key` is called once per item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["parallel", "loop", "stealing"];
    /// assert_eq!(pool.on(&words).max_by_key(|word| word.len()), Some(&"stealing"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `key`, a comparison of keys or a closure of the chain panics.
    #[inline]
    pub fn max_by_key<K: Ord + Send>(
        self,
        key: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> K + Sync,
    ) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        self.best_by_key(key, move |a, b| a <= b)
    }
}

/// The accumulator of a run that begins at item `first`. When this value is dropped, the
/// accumulator goes to the list of all runs.
struct RunUntil<'t, A> {
    first: usize,
    acc: Option<A>,
    to: &'t Mutex<Vec<(usize, A)>>,
}

impl<A> Drop for RunUntil<'_, A> {
    fn drop(&mut self) {
        lock(self.to).extend(self.acc.take().map(|acc| (self.first, acc)));
    }
}

impl<C: Chain + Sync> On<C, OnPool<'_>> {
    /// As [`fold_runs`](Self::fold_runs), until `step` breaks. Returns each accumulator with the
    /// index of the first item of its run, and the index of the first item, in the order of the
    /// items, at which `step` broke. All items before that item have been folded. The run of that
    /// item ends there. Runs that begin behind that item are those of other workers.
    #[doc(hidden)] // for rangesteal-rayon
    #[inline]
    pub fn fold_runs_until<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        step: impl for<'a> Fn(A, Given<'a, C::State, C::Item>) -> ControlFlow<A, A> + Sync,
    ) -> (Vec<(usize, A)>, Option<usize>) {
        let runs = Mutex::new(Vec::new());
        let to = &runs;
        let fold = move |mut claimed: SourceClaims<'_, '_, '_, C>, mut run: Option<_>| {
            let chain = claimed.chain;
            while let Some(items) = claimed.next() {
                let first = items.range().start;
                let run = run.get_or_insert_with(|| RunUntil { first, acc: None, to });
                let mut acc = run.acc.take().unwrap_or_else(&init);
                let state = claimed.state();
                for (at, item) in items.numbered() {
                    let folded = chain.push(state, item, acc, |state, acc, item| {
                        match step(acc, C::State::give(state, item)) {
                            ControlFlow::Continue(acc) => Ok(acc),
                            ControlFlow::Break(acc) => Err(acc),
                        }
                    });
                    acc = folded.map_err(|acc| {
                        run.acc = Some(acc);
                        Stop::there(at, at)
                    })?;
                }
                run.acc = Some(acc);
            }
            Ok(run)
        };
        let ended = self.fold_claims(LoopKind::MAY_STOP, fold, |before, _| before).ended();
        let stopped = ended.and_then(Result::err); // and the last run is dropped
        let mut runs = runs.into_inner().unwrap_or_else(PoisonError::into_inner);
        sort(&mut runs, &|(a, _), (b, _)| a < b);
        (runs, stopped)
    }

    /// Calls `f` once with every item. Use this method if each item takes long enough to be worth
    /// waking a worker.
    #[inline]
    pub(super) fn jobs(self, f: impl Fn(C::Item) + Sync) {
        let each = self.each(LoopKind::LONG, move |_, item| {
            f(item);
            Ok(())
        });
        each.through();
    }
}
