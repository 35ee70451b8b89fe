//! Searches as ends of a chain. The loop stops as soon as the result is known.

use std::cmp::Ordering;

use super::{
    chain::{Chain, Each, IntoChain, Source, WorkerOf},
    kernel::Claim,
    on::On,
    options::{Ending, OnPool},
    state::{Given, State},
};
use crate::pool::{
    engine::body::Stop,
    policy::site::{LoopKind, Supply},
};

/// The first claimed item for which `pick` returns `Some`: its index and the picked value.
///
/// Each step takes eight items. This number is a constant, so the compiler unrolls the loop over
/// the eight items, and checks once that all eight exist. In a loop over a claim of unknown length,
/// the compiler checks before each item, which doubles the instructions of a search in `u32`.
#[inline(always)]
fn find<S: Source, K>(
    mut items: Claim<'_, S>,
    mut pick: impl FnMut(S::Item) -> Option<K>,
) -> Option<(usize, K)> {
    const AT_ONCE: usize = 8;
    let mut find_in = |items: Claim<'_, S>| {
        let (end, mut items) = (items.range().end, items.items());
        while let Some(item) = items.next() {
            if let Some(found) = pick(item) {
                return Some((end - 1 - items.len(), found));
            }
        }
        None
    };
    while items.len() >= AT_ONCE {
        let found = find_in(items.take(AT_ONCE));
        if found.is_some() {
            return found;
        }
    }
    find_in(items)
}

impl<C: Chain + Sync, E: Ending> On<C, OnPool<'_, E>> {
    /// Finds a source item for which `pick` returns `Some`: its index in the source and the picked
    /// value. Finds the first such item if `kind` is `First`, otherwise any such item. Returns
    /// `None` if the loop was cancelled, `Some(None)` if there is no such item.
    #[inline(always)]
    #[expect(clippy::option_option, reason = "not cancelled, and found")]
    fn found<K: Send>(
        self,
        kind: LoopKind,
        pick: impl Fn(&mut WorkerOf<C>, C::Item) -> Option<K> + Sync,
    ) -> Option<Option<(usize, K)>> {
        let is_first = kind.supply == Supply::First;
        let searched = self.visit_claims(kind, move |mut claimed| {
            let chain = claimed.chain;
            while let Some(items) = claimed.next() {
                let state = claimed.state();
                let found = find(items, |item| {
                    let step = |state: &mut WorkerOf<C>, (), item| pick(state, item).map_or(Ok(()), Err);
                    chain.push(state, item, (), step).err()
                });
                if let Some((at, found)) = found {
                    let needed_end = if is_first { at } else { 0 };
                    return Err(Stop { at, needed_end, found: (at, found) });
                }
            }
            Ok(())
        });
        searched.ended().map(Result::err)
    }

    /// Whether `test` returns true for any item, as [`Iterator::any`]. The loop stops at the first
    /// such item that a worker meets.
    ///
    /// All workers search from the front for some milliseconds, then each worker searches a part of
    /// its own.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[3, 1, 2]).enumerate().any(|(i, x)| *x == i));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. If another item ends the loop first, the call may return
    /// the result of this item and not panic.
    #[inline(always)]
    pub fn any(self, test: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> bool + Sync) -> E::Of<bool> {
        let found =
            self.found(LoopKind::ANY, move |state, item| test(C::State::give(state, item)).then_some(()));
        E::end(found.map(|found| found.is_some()))
    }

    /// Whether `test` returns true for all items, as [`Iterator::all`]. The loop stops at the first
    /// failure that a worker meets.
    ///
    /// Workers divide the items as in [`any`](Self::any).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[1, 2, 4]).chunks(2).all(|pair| pair.is_sorted()));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. If another item ends the loop first, the call may return
    /// the result of this item and not panic.
    #[inline(always)]
    pub fn all(self, test: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> bool + Sync) -> E::Of<bool> {
        let found =
            self.found(LoopKind::ANY, move |state, item| (!test(C::State::give(state, item))).then_some(()));
        E::end(found.map(|found| found.is_none()))
    }

    /// The first item for which `test` returns true, as [`Iterator::find`]. `None` if there is no
    /// such item.
    ///
    /// Workers claim items in ascending order, so few items behind the match are tested.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(1..1000).find(|i| i % 70 == 0), Some(70));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics for an item before the first match.
    #[inline(always)]
    pub fn find(
        self,
        test: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
    ) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        self.found_item(LoopKind::FIRST, test)
    }

    /// Any item for which `test` returns true. The choice may differ from call to call. `None` if
    /// there is no such item.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let multiple = pool.on(1..1000).find_any(|i| i % 70 == 0);
    /// assert!(multiple.is_some_and(|i| i % 70 == 0));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. If another item ends the loop first, the call may return
    /// the result of this item and not panic.
    #[inline(always)]
    pub fn find_any(
        self,
        test: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
    ) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        self.found_item(LoopKind::MAY_STOP, test)
    }

    #[inline(always)]
    fn found_item(
        self,
        kind: LoopKind,
        test: impl for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
    ) -> E::Of<Option<C::Item>>
    where
        C::Item: Send,
    {
        let found = self.found(kind, move |state, item| test(C::State::give(state, &item)).then_some(item));
        E::end(found.map(|found| found.map(|(_, item)| item)))
    }

    /// The first `Some` that `f` returns, in the order of the items, as [`Iterator::find_map`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let number = pool.on(&["a", "12", "b", "7"]).find_map(|word| word.parse::<u32>().ok());
    /// assert_eq!(number, Some(12));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics for an item before the first match.
    #[inline(always)]
    pub fn find_map<K: Send>(
        self,
        f: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> Option<K> + Sync,
    ) -> E::Of<Option<K>> {
        let found = self.found(LoopKind::FIRST, move |state, item| f(C::State::give(state, item)));
        E::end(found.map(|found| found.map(|(_, made)| made)))
    }

    /// The index of the first item for which `test` returns true if `kind` is `First`, otherwise of
    /// any such item.
    #[inline(always)]
    fn position_of(
        self,
        kind: LoopKind,
        test: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> bool + Sync,
    ) -> E::Of<Option<usize>> {
        let found = self.found(kind, move |state, item| test(C::State::give(state, item)).then_some(()));
        E::end(found.map(|found| found.map(|(index, ())| index)))
    }

    /// The index of the first item for which `test` returns true, as [`Iterator::position`].
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(1..1000).position(|i| i % 70 == 0), Some(69));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics for an item before the first match.
    #[inline(always)]
    pub fn position(
        self,
        test: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> bool + Sync,
    ) -> E::Of<Option<usize>>
    where
        C: Each,
    {
        self.position_of(LoopKind::FIRST, test)
    }

    /// The index of any item for which `test` returns true. The choice may differ from call to
    /// call.
    ///
    /// All workers search from the front for some milliseconds, then each worker searches a part of
    /// its own.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let place = pool.on(1..1000).position_any(|i| i % 70 == 0);
    /// assert!(place.is_some_and(|place| (place + 1) % 70 == 0));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the chain panics. If another item ends the loop first, the call may return
    /// the result of this item and not panic.
    #[inline(always)]
    pub fn position_any(
        self,
        test: impl for<'a> Fn(Given<'a, C::State, C::Item>) -> bool + Sync,
    ) -> E::Of<Option<usize>>
    where
        C: Each,
    {
        self.position_of(LoopKind::ANY, test)
    }

    /// Whether each item is less than or equal to the next item, as [`Iterator::is_sorted`]. The
    /// loop stops when a worker meets a descent. Items that cannot be compared, such as `NaN`,
    /// count as a descent.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[1, 2, 2, 9]).is_sorted());
    /// assert!(!pool.on(&[1, 2, 2, 9]).map(|x| x % 9).is_sorted());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison or a closure of the chain panics.
    #[inline(always)]
    pub fn is_sorted(self) -> E::Of<bool>
    where
        C::Item: PartialOrd + Send,
    {
        /// Items that are compared without a branch per item, so that LLVM vectorises the loop over
        /// numbers: 300,000 `u64` take 50 µs on one thread, and 163 µs with a branch and a run for
        /// each item. After a descent up to 15 more items are made.
        const AT_ONCE: usize = 16;
        /// So many items at the front of a claim are compared one by one: a descent is often among
        /// the first items, and items may be dear. (Not measured.)
        const CAREFULLY: usize = 64;
        let sorted = self.fold_claims(
            LoopKind::MAY_STOP,
            |mut claimed, mut run| {
                let chain = claimed.chain;
                let stop = |at| move |()| Stop { at, needed_end: 0, found: () };
                let one_by_one = |state: &mut WorkerOf<C>, mut last, items: Claim<'_, C::Source>| {
                    for (at, item) in items.numbered() {
                        let step = |_: &mut _, last, item| if last <= item { Ok(item) } else { Err(()) };
                        last = chain.push(state, item, last, step).map_err(stop(at))?;
                    }
                    Ok(last)
                };
                while let Some(mut items) = claimed.next() {
                    let state = claimed.state();
                    while items.len() > 0 && !matches!(run, Some(Some(OrderRun { first: Some(_), .. }))) {
                        let (at, item) = (items.range().start, items.take(1).item());
                        let step = |_: &mut _, run, item| OrderRun::go_on(run, item);
                        run = chain.push(state, item, run, step).map_err(stop(at))?;
                    }
                    // The first item of the run stays, so loops over the other items carry only the
                    // last one.
                    let Some(Some(OrderRun { first, mut last })) = run else { continue };
                    last = one_by_one(state, last, items.take(items.len().min(CAREFULLY)))?;
                    while items.len() >= AT_ONCE {
                        let (at, mut is_sorted) = (items.range().start, true);
                        for item in items.take(AT_ONCE).items() {
                            let step = |_: &mut _, (is_sorted, last), item| {
                                let ascends = last <= item;
                                Ok((is_sorted & ascends, item))
                            };
                            (is_sorted, last) =
                                chain.push(state, item, (is_sorted, last), step).map_err(stop(at))?;
                        }
                        if !is_sorted {
                            return Err(stop(at)(()));
                        }
                    }
                    run = Some(Some(OrderRun { first, last: one_by_one(state, last, items)? }));
                }
                Ok(run)
            },
            |a, b| OrderRun::join(a?, b?), // `None` if there is a descent
        );
        E::end(sorted.ended().map(|run| !matches!(run, Err(()) | Ok(Some(None)))))
    }
}

/// Comparisons with another source.
impl<S: Source + Sync, E: Ending> On<S, OnPool<'_, E>> {
    /// Whether this source and `other` have the same number of items, and equal items in the same
    /// order, as [`Iterator::eq`]. The loop stops at the first difference that a worker meets.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[1, 4, 9]).copied().eq(rangesteal::source(1..4).map(|i| i * i)));
    /// assert!(!pool.on(&[1, 4, 9]).eq(&[1, 4]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison or a closure of the chain panics.
    #[inline(always)]
    #[track_caller]
    pub fn eq<B>(self, other: B) -> E::Of<bool>
    where
        B: IntoChain<Chain: Source + Sync>,
        S::Item: PartialEq<<B::Chain as Chain>::Item>,
    {
        let other = other.into_chain();
        let are_as_many = self.source_count() == other.count();
        let compared = self.zip_shortest(other).take(if are_as_many { usize::MAX } else { 0 });
        let found = compared.found(LoopKind::ANY, |(), (a, b)| (a != b).then_some(()));
        E::end(found.map(|found| are_as_many && found.is_none()))
    }

    /// Compares this source with `other` in lexicographic order, as [`Iterator::cmp`]. The first
    /// pair of different items decides. If all pairs are equal, the lengths decide.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[1, 4, 9]).cmp(&[1, 5]).is_lt());
    /// assert!(pool.on(&[1, 4, 9]).cmp(&[1, 4]).is_gt());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If a comparison or a closure of the chain panics.
    #[inline(always)]
    #[track_caller]
    pub fn cmp<B>(self, other: B) -> E::Of<Ordering>
    where
        B: IntoChain<Chain: Source<Item = S::Item> + Sync>,
        S::Item: Ord,
    {
        let other = other.into_chain();
        let lengths = self.source_count().cmp(&other.count());
        let found = self
            .zip_shortest(other)
            .found(LoopKind::FIRST, |(), (a, b)| Some(a.cmp(&b)).filter(|order| order.is_ne()));
        E::end(found.map(|found| found.map_or(lengths, |(_, order)| order)))
    }
}

/// The first and the last item of a run of neighbouring items in order.
struct OrderRun<T> {
    /// `None` if the run is a single item. Then `last` holds this item.
    first: Option<T>,
    last: T,
}

impl<T: PartialOrd> OrderRun<T> {
    /// Appends `item` to the run before it, if there is one. `Err` if there is a descent.
    #[inline(always)]
    #[expect(clippy::option_option, reason = "no run yet, and a descent")]
    fn go_on(run: Option<Option<Self>>, item: T) -> Result<Option<Option<Self>>, ()> {
        let next = Self { first: None, last: item };
        let joined = match run {
            Some(Some(run)) => run.join(next),
            Some(None) => None,
            None => Some(next),
        };
        joined.map(|run| Some(Some(run))).ok_or(())
    }

    /// Joins two neighbouring runs. `None` if `next` begins with a descent.
    #[inline(always)]
    fn join(self, next: Self) -> Option<Self> {
        let is_sorted = self.last <= *next.first.as_ref().unwrap_or(&next.last);
        is_sorted.then(|| Self { first: self.first.or(Some(self.last)), last: next.last })
    }
}
