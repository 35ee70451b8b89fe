//! The loops, each written once: over any source, with or without state.

use super::{
    bodies::{Claim, Claimed},
    collect::{Written, in_place},
    on::{Ending, On},
    source::Source,
    state::{State, Stateful},
};
use crate::pool::{
    call::{body::Stop, ending::Outcome},
    policy::site::LoopKind,
};

impl<S: Source, E: Ending, M: State> On<'_, S, E, M> {
    /// Calls `f` item by item; stops at the first `Err`.
    #[inline(always)]
    fn each<Z: Send>(
        self,
        kind: LoopKind,
        f: impl Fn(&mut M::Worker, S::Item) -> Result<(), Z> + Sync,
    ) -> Outcome<(), Z> {
        self.fold_and_reduce(kind, calling(f), |(), ()| ()).or(|| ())
    }

    /// Folds item by item; none if the loop was cancelled.
    #[inline(always)]
    fn folded<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(&mut M::Worker, A, S::Item) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> Option<A> {
        let init = &init;
        let step = move |state: &mut M::Worker, acc, item| Ok(fold(state, acc, item));
        self.fold_and_reduce(LoopKind::Through, folding(move || (*init)(), step), reduce).or(init).through()
    }

    /// Maps item by item and reduces; stops at the first `Err`.
    #[inline(always)]
    fn reduced<R: Send, Z: Send>(
        self,
        kind: LoopKind,
        map: impl Fn(&mut M::Worker, S::Item) -> Result<R, Z> + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Outcome<Option<R>, Z> {
        let reduce = &reduce;
        self.fold_and_reduce(kind, reducing(map, reduce), move |a, b| (*reduce)(a, b))
    }

    /// The same of a loop that nothing stops; none if it was cancelled.
    #[inline(always)]
    #[expect(clippy::option_option, reason = "not cancelled, and not empty")]
    pub(super) fn reduced_by<R: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> Option<Option<R>> {
        self.reduced(LoopKind::Growing, move |state, item| Ok(map(state, item)), reduce).through()
    }

    /// Maps item by item into a `Vec`.
    #[inline(always)]
    fn collected<R: Send>(self, map: impl Fn(&mut M::Worker, S::Item) -> R + Sync) -> Option<Vec<R>> {
        in_place(self.count(), |places| {
            let folded = self.fold(
                LoopKind::Through,
                move |mut claimed, written: Option<Written<'_, R>>| {
                    let mut written = written.unwrap_or(Written::none(places));
                    while let Some(items) = claimed.next() {
                        let state = claimed.state();
                        written = written.extend(items, |item| map(state, item));
                    }
                    Ok(Some(written))
                },
                Written::join,
            );
            folded.or(|| Written::none(places)).through().ok_or(())
        })
        .ok()
    }

    /// Calls `f` with every item. Each item is known to be worth waking a worker.
    #[inline(always)]
    pub(super) fn jobs(self, f: impl Fn(S::Item) + Sync) {
        let fold = move |mut claimed: Claimed<'_, '_, '_, '_, S, M>, _| {
            while let Some(items) = claimed.next() {
                for item in items.items() {
                    f(item);
                }
            }
            Ok(Some(()))
        };
        self.fold(LoopKind::Long, fold, |(), ()| ()).through();
    }

    /// Whether any item makes `stops` true.
    #[inline(always)]
    fn stops(self, stops: impl Fn(&mut M::Worker, S::Item) -> bool + Sync) -> Option<bool> {
        let search = move |mut claimed: Claimed<'_, '_, '_, '_, S, M>| {
            while let Some(items) = claimed.next() {
                let state = claimed.state();
                if let Some((at, found)) = find(items, |item| stops(state, item).then_some(())) {
                    return Err(Stop { at, place: 0, found });
                }
            }
            Ok(())
        };
        self.search(LoopKind::First, search).ended().map(|ended| ended.is_err())
    }

    /// The index of an item from which `pick` makes something, and what it makes: the first such
    /// item, or any.
    #[inline(always)]
    #[expect(clippy::option_option, reason = "not cancelled, and found")]
    fn found<K: Send>(
        self,
        kind: LoopKind,
        pick: impl Fn(&mut M::Worker, S::Item) -> Option<K> + Sync,
    ) -> Option<Option<(usize, K)>> {
        let search = move |mut claimed: Claimed<'_, '_, '_, '_, S, M>| {
            while let Some(items) = claimed.next() {
                let state = claimed.state();
                if let Some((at, found)) = find(items, |item| pick(state, item)) {
                    let place = if kind == LoopKind::First { at } else { 0 };
                    return Err(Stop { at, place, found: (at, found) });
                }
            }
            Ok(())
        };
        self.search(kind, search).ended().map(Result::err)
    }

    /// An item of which `test` is true: the first one, or any.
    #[inline(always)]
    fn found_item(
        self,
        kind: LoopKind,
        test: impl Fn(&mut M::Worker, S::Item) -> bool + Sync,
    ) -> E::Of<Option<S::Item>>
    where
        S::Item: Copy + Send,
    {
        let found = self.found(kind, move |state, item| test(state, item).then_some(item));
        E::end(found.map(|found| found.map(|(_, item)| item)))
    }
}

/// What folds claimed items one by one, up to the first `Err`.
#[inline(always)]
pub(super) fn folding<S: Source, M: State, A, Z>(
    init: impl Fn() -> A + Sync,
    fold: impl Fn(&mut M::Worker, A, S::Item) -> Result<A, Z> + Sync,
) -> impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync {
    move |mut claimed, acc| {
        let mut acc = match acc {
            Some(acc) => acc,
            None => init(),
        };
        while let Some(items) = claimed.next() {
            let state = claimed.state();
            for (at, item) in items.numbered() {
                acc = fold(state, acc, item).map_err(|found| Stop::there(at, found))?;
            }
        }
        Ok(Some(acc))
    }
}

/// What calls `f` with claimed items one by one, up to the first `Err`. (Numbered, they took 1.2
/// times as long where `f` gathers numbers from other places.)
#[inline(always)]
fn calling<S: Source, M: State, Z>(
    f: impl Fn(&mut M::Worker, S::Item) -> Result<(), Z> + Sync,
) -> impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<()>) -> Result<Option<()>, Stop<Z>> + Sync {
    move |mut claimed, _| {
        while let Some(items) = claimed.next() {
            let (end, mut items) = (items.range().end, items.items());
            let state = claimed.state();
            if let Err(found) = items.try_for_each(|item| f(state, item)) {
                return Err(Stop::there(end - 1 - items.len(), found));
            }
        }
        Ok(Some(()))
    }
}

/// What maps claimed items one by one and reduces the results, up to the first `Err`.
///
/// `map` stands at one place of the loop, although the first item of a run has nothing to be
/// reduced with. LLVM vectorises the loop nevertheless: a short one by peeling the first item off,
/// a long one if `reduce` has an element that changes nothing, such as 0 in a sum. (A `max` of 40
/// rounds of shift, xor and add takes 6 times as long as the vectorised loop. `fold_reduce` has a
/// first accumulator, and does not.)
#[inline(always)]
pub(super) fn reducing<S: Source, M: State, R, Z>(
    map: impl Fn(&mut M::Worker, S::Item) -> Result<R, Z> + Sync,
    reduce: &(impl Fn(R, R) -> R + Sync),
) -> impl Fn(Claimed<'_, '_, '_, '_, S, M>, Option<R>) -> Result<Option<R>, Stop<Z>> + Sync {
    move |mut claimed, mut acc| {
        while let Some(items) = claimed.next() {
            let state = claimed.state();
            for (at, item) in items.numbered() {
                let mapped = map(state, item).map_err(|found| Stop::there(at, found))?;
                acc = Some(match acc {
                    Some(acc) => (*reduce)(acc, mapped),
                    None => mapped,
                });
            }
        }
        Ok(acc)
    }
}

/// The index of the first of claimed items from which `pick` makes something, and what it makes.
///
/// It looks at eight items at a time, a constant: the compiler unrolls their loop, and asks once
/// for all eight whether they are there. In a loop over a slice of unknown length it asks before
/// each item, also if eight items are taken where that many are left. (8M `u32` on one thread: 3.1
/// instructions per item instead of 6.5; the plain loop has 5.)
#[inline(always)]
fn find<S: Source, K>(
    mut items: Claim<'_, S>,
    mut pick: impl FnMut(S::Item) -> Option<K>,
) -> Option<(usize, K)> {
    const AT_ONCE: usize = 8;
    while items.len() >= AT_ONCE {
        let (end, mut eight) = (items.range().start + AT_ONCE, items.take(AT_ONCE).items());
        while let Some(item) = eight.next() {
            if let Some(found) = pick(item) {
                return Some((end - 1 - eight.len(), found));
            }
        }
    }
    let (end, mut rest) = (items.range().end, items.items());
    while let Some(item) = rest.next() {
        if let Some(found) = pick(item) {
            return Some((end - 1 - rest.len(), found));
        }
    }
    None
}

/// Loops.
impl<S: Source, E: Ending> On<'_, S, E> {
    /// Calls `f` with every item: see [`Pool::for_each`](crate::Pool::for_each).
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
    /// If `f` does.
    #[inline(always)]
    pub fn for_each(self, f: impl Fn(S::Item) + Sync) -> E::Of<()> {
        let each = self.each(LoopKind::Through, move |(), item| {
            f(item);
            Ok(())
        });
        E::end(each.through())
    }

    /// Maps every item and reduces the results in order: see
    /// [`Pool::map_reduce`](crate::Pool::map_reduce).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = pool.on(&["a", "bcd"]).zip(0..2);
    /// let longest = words.map_reduce(|(word, i)| (word.len(), i), |a, b| a.max(b));
    /// assert_eq!(longest, Some((3, 1)));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or `reduce` does.
    #[inline(always)]
    pub fn map_reduce<R: Send>(
        self,
        map: impl Fn(S::Item) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Option<R>> {
        E::end(self.reduced_by(move |(), item| map(item), reduce))
    }

    /// Folds the items into accumulators and reduces these in order: see
    /// [`Pool::fold_reduce`](crate::Pool::fold_reduce).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (sum, count) = pool.on(0..100).fold_reduce(
    ///     || (0, 0),
    ///     |(sum, count), i| (sum + i, count + 1),
    ///     |a, b| (a.0 + b.0, a.1 + b.1),
    /// );
    /// assert_eq!((sum, count), (4950, 100));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `init`, `fold` or `reduce` does.
    #[inline(always)]
    pub fn fold_reduce<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(A, S::Item) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        E::end(self.folded(init, move |(), acc, item| fold(acc, item), reduce))
    }

    /// Maps every item into a `Vec`, in order: see [`Pool::map_collect`](crate::Pool::map_collect).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..10).chunks(4).map_collect(|chunk| chunk.len()), [4, 4, 2]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does; the results made until then are dropped.
    #[inline(always)]
    pub fn map_collect<R: Send>(self, map: impl Fn(S::Item) -> R + Sync) -> E::Of<Vec<R>> {
        E::end(self.collected(move |(), item| map(item)))
    }

    /// Assigns the result for every item to its place in `out`: see
    /// [`Pool::map_into`](crate::Pool::map_into).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut out = [0; 3];
    /// pool.on(7..10).map_into(&mut out, |i| 2 * i);
    /// assert_eq!(out, [14, 16, 18]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does, or if `out` is not as long as the source. Results that were already written
    /// stay in `out`.
    #[inline(always)]
    pub fn map_into<R: Send>(self, out: &mut [R], map: impl Fn(S::Item) -> R + Sync) -> E::Of<()> {
        self.zip(out).for_each(move |(item, place)| *place = map(item))
    }

    /// Maps every item and reduces the results in order, or returns the `Err` with the lowest
    /// index: see [`Pool::try_map_reduce`](crate::Pool::try_map_reduce).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let number = |s: &&'static str| s.parse::<i32>().map_err(|_| *s);
    /// let sum = pool.on(&["1", "x", "y"]).try_map_reduce(number, |a, b| a + b);
    /// assert_eq!(sum, Err("x"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// What `map` returned for the first item for which it returned an error.
    ///
    /// # Panics
    /// If `map` or `reduce` does, for an item before the first error.
    #[inline(always)]
    pub fn try_map_reduce<R: Send, Z: Send>(
        self,
        map: impl Fn(S::Item) -> Result<R, Z> + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Result<Option<R>, Z>> {
        E::end(self.reduced(LoopKind::MayStop, move |(), item| map(item), reduce).ended())
    }

    /// Calls `f` with every item until one returns `Err`; returns the `Err` with the lowest index:
    /// see [`Pool::try_for_each`](crate::Pool::try_for_each).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let good = |i: usize| if i % 300 == 299 { Err(i) } else { Ok(()) };
    /// let checked = pool.on(0..1000).try_for_each(good);
    /// assert_eq!(checked, Err(299));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// What `f` returned for the first item for which it returned an error.
    ///
    /// # Panics
    /// If `f` does, for an item before the first error.
    #[inline(always)]
    pub fn try_for_each<Z: Send>(self, f: impl Fn(S::Item) -> Result<(), Z> + Sync) -> E::Of<Result<(), Z>> {
        E::end(self.each(LoopKind::MayStop, move |(), item| f(item)).ended())
    }

    /// Whether `test` is true of any item: see [`Pool::any`](crate::Pool::any).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[3, 1, 2]).zip(0..3).any(|(x, i)| *x == i));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if another item can end the loop, the loop may return that result
    /// instead.
    #[inline(always)]
    pub fn any(self, test: impl Fn(S::Item) -> bool + Sync) -> E::Of<bool> {
        E::end(self.stops(move |(), item| test(item)))
    }

    /// Whether `test` is true of all items: see [`Pool::all`](crate::Pool::all).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(&[1, 2, 4]).chunks(2).all(|pair| pair.is_sorted()));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if another item can end the loop, the loop may return that result
    /// instead.
    #[inline(always)]
    pub fn all(self, test: impl Fn(S::Item) -> bool + Sync) -> E::Of<bool> {
        E::end(self.stops(move |(), item| !test(item)).map(|stops| !stops))
    }

    /// Any item of which `test` is true: see [`Pool::find_any`](crate::Pool::find_any).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let multiple = pool.on(1..1000).find_any(|i| i % 70 == 0);
    /// assert!(multiple.is_some_and(|i| i % 70 == 0));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; but if another item can end the loop, the loop may return that result
    /// instead.
    #[inline(always)]
    pub fn find_any(self, test: impl Fn(S::Item) -> bool + Sync) -> E::Of<Option<S::Item>>
    where
        S::Item: Copy + Send,
    {
        self.found_item(LoopKind::MayStop, move |(), item| test(item))
    }

    /// The first item of which `test` is true: see [`Pool::find_first`](crate::Pool::find_first).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(1..1000).find_first(|i| i % 70 == 0), Some(70));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does, for an item before the first match.
    #[inline(always)]
    pub fn find_first(self, test: impl Fn(S::Item) -> bool + Sync) -> E::Of<Option<S::Item>>
    where
        S::Item: Copy + Send,
    {
        self.found_item(LoopKind::First, move |(), item| test(item))
    }

    /// The index of the first item of which `test` is true: see
    /// [`Pool::position_first`](crate::Pool::position_first).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(1..1000).position_first(|i| i % 70 == 0), Some(69));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does, for an item before the first match.
    #[inline(always)]
    pub fn position_first(self, test: impl Fn(S::Item) -> bool + Sync) -> E::Of<Option<usize>> {
        let found = self.found(LoopKind::First, move |(), item| test(item).then_some(()));
        E::end(found.map(|found| found.map(|(index, ())| index)))
    }
}

/// The loops with a state for each worker ([`with`](On::with), [`with_kept`](On::with_kept)) or for
/// each block ([`with_block`](On::with_block)). The state is the first argument of their closures.
impl<S: Source, E: Ending, M: Stateful> On<'_, S, E, M> {
    /// Calls `f` with every item, as [`Pool::for_each`](crate::Pool::for_each) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut histograms = pool.per_worker(|_worker| [0; 10]);
    /// pool.on(0..100).with_kept(&mut histograms).for_each(|histogram, i| histogram[i % 10] += 1);
    /// let sevens: u32 = histograms.iter_mut().map(|histogram| histogram[7]).sum();
    /// assert_eq!(sevens, 10);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `f` or the maker of the state does.
    #[inline(always)]
    pub fn for_each(self, f: impl Fn(&mut M::Worker, S::Item) + Sync) -> E::Of<()> {
        let each = self.each(LoopKind::Through, move |state, item| {
            f(state, item);
            Ok(())
        });
        E::end(each.through())
    }

    /// Maps every item and reduces the results in order, as
    /// [`Pool::map_reduce`](crate::Pool::map_reduce) does; `reduce` must be associative.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let longest = pool.on(&[7_u32, 1024, 99]).with(|_| String::new()).map_reduce(
    ///     |text, number| {
    ///         use std::fmt::Write;
    ///         text.clear();
    ///         write!(text, "{number}").expect("a string takes everything");
    ///         text.len()
    ///     },
    ///     usize::max,
    /// );
    /// assert_eq!(longest, Some(4));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map`, `reduce` or the maker of the state does.
    #[inline(always)]
    pub fn map_reduce<R: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> R + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Option<R>> {
        E::end(self.reduced_by(map, reduce))
    }

    /// Folds the items into accumulators and reduces these in order, as
    /// [`Pool::fold_reduce`](crate::Pool::fold_reduce) does: `init` must be neutral, `reduce`
    /// associative.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let distinct = pool.on(&["abba", "cab"]).with(|_| Vec::new()).fold_reduce(
    ///     || 0,
    ///     |letters, sum, word| {
    ///         letters.clear();
    ///         letters.extend(word.bytes());
    ///         letters.sort_unstable();
    ///         letters.dedup();
    ///         sum + letters.len()
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(distinct, 5);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `init`, `fold`, `reduce` or the maker of the state does.
    #[inline(always)]
    pub fn fold_reduce<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        fold: impl Fn(&mut M::Worker, A, S::Item) -> A + Sync,
        reduce: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<A> {
        E::end(self.folded(init, fold, reduce))
    }

    /// Maps every item into a `Vec`, in order, as [`Pool::map_collect`](crate::Pool::map_collect)
    /// does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let numbered = pool.on(0..3).with(|worker| worker);
    /// let workers = numbered.map_collect(|worker, i| (i, *worker < 1000));
    /// assert_eq!(workers, [(0, true), (1, true), (2, true)]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or the maker of the state does; the results made until then are dropped.
    #[inline(always)]
    pub fn map_collect<R: Send>(self, map: impl Fn(&mut M::Worker, S::Item) -> R + Sync) -> E::Of<Vec<R>> {
        E::end(self.collected(map))
    }

    /// Assigns the result for every item to its place in `out`, as
    /// [`Pool::map_into`](crate::Pool::map_into) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut medians = [0; 2];
    /// pool.on(&[[3, 1, 2], [9, 7, 8]]).with(|_| [0; 3]).map_into(&mut medians, |sorted, numbers| {
    ///     *sorted = *numbers;
    ///     sorted.sort_unstable();
    ///     sorted[1]
    /// });
    /// assert_eq!(medians, [2, 8]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or the maker of the state does, or if `out` is not as long as the source.
    #[inline(always)]
    pub fn map_into<R: Send>(
        self,
        out: &mut [R],
        map: impl Fn(&mut M::Worker, S::Item) -> R + Sync,
    ) -> E::Of<()> {
        self.zip(out).for_each(move |state, (item, place)| *place = map(state, item))
    }

    /// Maps every item and reduces the results in order, or returns the `Err` with the lowest
    /// index, as [`Pool::try_map_reduce`](crate::Pool::try_map_reduce) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let sum = pool.on(0..10).with(|_| 0).try_map_reduce(
    ///     |last, i| {
    ///         *last = i;
    ///         if i < 10 { Ok(i) } else { Err(i) }
    ///     },
    ///     |a, b| a + b,
    /// );
    /// assert_eq!(sum, Ok(Some(45)));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    ///
    /// # Errors
    /// What `map` returned for the first item for which it returned an error.
    #[inline(always)]
    pub fn try_map_reduce<R: Send, Z: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> Result<R, Z> + Sync,
        reduce: impl Fn(R, R) -> R + Sync,
    ) -> E::Of<Result<Option<R>, Z>> {
        E::end(self.reduced(LoopKind::MayStop, map, reduce).ended())
    }

    /// Calls `f` with every item until one returns `Err`; returns the `Err` with the lowest index,
    /// as [`Pool::try_for_each`](crate::Pool::try_for_each) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = ["level", "noon", "range", "radar"];
    /// let first = pool.on(&words).with(|_| String::new()).try_for_each(|reversed, word| {
    ///     reversed.clear();
    ///     reversed.extend(word.chars().rev());
    ///     if reversed == word { Ok(()) } else { Err(*word) }
    /// });
    /// assert_eq!(first, Err("range"));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    ///
    /// # Errors
    /// What `f` returned for the first item for which it returned an error.
    #[inline(always)]
    pub fn try_for_each<Z: Send>(
        self,
        f: impl Fn(&mut M::Worker, S::Item) -> Result<(), Z> + Sync,
    ) -> E::Of<Result<(), Z>> {
        E::end(self.each(LoopKind::MayStop, f).ended())
    }

    /// Whether `test` is true of any item, as [`Pool::any`](crate::Pool::any) tells.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = pool.on(&["range", "level"]).with(|_| String::new());
    /// let has_palindrome = words.any(|reversed, word| {
    ///     reversed.clear();
    ///     reversed.extend(word.chars().rev());
    ///     reversed == word
    /// });
    /// assert!(has_palindrome);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn any(self, test: impl Fn(&mut M::Worker, S::Item) -> bool + Sync) -> E::Of<bool> {
        E::end(self.stops(test))
    }

    /// Whether `test` is true of all items, as [`Pool::all`](crate::Pool::all) tells.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert!(pool.on(0..100).with(|_| 100).all(|limit, i| i < *limit));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn all(self, test: impl Fn(&mut M::Worker, S::Item) -> bool + Sync) -> E::Of<bool> {
        E::end(self.stops(move |state, item| !test(state, item)).map(|stops| !stops))
    }

    /// Any item of which `test` is true, as [`Pool::find_any`](crate::Pool::find_any) finds it.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..100).with(|_| 42).find_any(|sought, i| i == *sought), Some(42));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn find_any(self, test: impl Fn(&mut M::Worker, S::Item) -> bool + Sync) -> E::Of<Option<S::Item>>
    where
        S::Item: Copy + Send,
    {
        self.found_item(LoopKind::MayStop, test)
    }

    /// The first item of which `test` is true, as [`Pool::find_first`](crate::Pool::find_first)
    /// finds it.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(1..100).with(|_| 7).find_first(|divisor, i| i % *divisor == 0), Some(7));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn find_first(self, test: impl Fn(&mut M::Worker, S::Item) -> bool + Sync) -> E::Of<Option<S::Item>>
    where
        S::Item: Copy + Send,
    {
        self.found_item(LoopKind::First, test)
    }

    /// The index of the first item of which `test` is true, as
    /// [`Pool::position_first`](crate::Pool::position_first) finds it.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let first = pool.on(1..100).with(|_| 7).position_first(|divisor, i| i % *divisor == 0);
    /// assert_eq!(first, Some(6));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    #[inline(always)]
    pub fn position_first(
        self,
        test: impl Fn(&mut M::Worker, S::Item) -> bool + Sync,
    ) -> E::Of<Option<usize>> {
        let found = self.found(LoopKind::First, move |state, item| test(state, item).then_some(()));
        E::end(found.map(|found| found.map(|(index, ())| index)))
    }
}
