//! The loops that emit: for each item as many results as they like, in slice order.

use std::{array, convert::Infallible, iter, mem};

use super::{
    bodies::{Claim, Claimed},
    collect::{Written, extend_both, in_place, in_two_places},
    gather::{Gathered, extend_kept, extend_parted},
    on::{Ending, Hands, On},
    source::Source,
    state::{State, Stateful},
};
use crate::pool::{
    call::{body::Stop, ending::Outcome},
    policy::site::LoopKind,
};

/// In a box, so that with each block of items a pointer is moved, and not six words a vector.
type Boxed<R, const N: usize> = Box<[Gathered<R>; N]>;

/// Empty vectors.
#[allow(clippy::unnecessary_box_returns, reason = "a pointer is moved: see above")]
fn nothing<R, const N: usize>() -> Boxed<R, N> {
    Box::new(array::from_fn(|_| Gathered::default()))
}

/// What two neighbouring runs have filled.
#[inline(never)] // one of all loops that fill such vectors
#[allow(clippy::unnecessary_box_returns, clippy::boxed_local, reason = "a pointer is moved: see above")]
fn joined<R, const N: usize>(mut before: Boxed<R, N>, behind: Boxed<R, N>) -> Boxed<R, N> {
    iter::zip(&mut *before, *behind).for_each(|(before, behind)| before.append(behind));
    before
}

/// The vectors of a loop, whole: these hands move the pieces there. None if it was cancelled.
#[inline(never)] // likewise
fn whole<R: Send, const N: usize>(
    filled: Outcome<Option<Boxed<R, N>>, Infallible>,
    hands: Hands<'_>,
) -> Option<[Vec<R>; N]> {
    let mut filled = filled.or(nothing).through()?;
    let mut all = [const { Vec::new() }; N]; // not `map`, which has code for a panic amidst
    for (all, of) in iter::zip(&mut all, &mut *filled) {
        *all = mem::take(of).into_vec(hands);
    }
    Some(all)
}

impl<S: Source, E: Ending, M: State> On<'_, S, E, M> {
    /// Runs a loop whose runs fill `N` vectors each, and makes one of those of all runs. `fill` is
    /// given vectors to append to, and indices of the source.
    #[inline(always)]
    fn gathered<R: Send, const N: usize>(
        self,
        fill: impl Fn([&mut Vec<R>; N], Claim<'_, S>, &mut M::Worker) + Sync,
    ) -> Option<[Vec<R>; N]> {
        let hands = self.hands();
        let fold = move |mut claimed: Claimed<'_, '_, '_, '_, S, M>, acc: Option<Boxed<R, N>>| {
            let mut acc = match acc {
                Some(acc) => acc,
                None => nothing(),
            };
            while let Some(items) = claimed.next() {
                let len = items.len();
                fill(acc.each_mut().map(|of| of.last(len)), items, claimed.state());
            }
            Ok::<_, Stop<Infallible>>(Some(acc))
        };
        whole(self.fold(LoopKind::Through, fold, joined), hands)
    }

    /// Lets `emit` append what it makes of each item.
    #[inline(always)]
    fn emitted<R: Send>(self, emit: impl Fn(&mut Vec<R>, &mut M::Worker, S::Item) + Sync) -> Option<Vec<R>> {
        let gathered = self.gathered(move |[made], items, state| {
            items.items().for_each(|item| emit(made, state, item));
        });
        gathered.map(|[made]| made)
    }

    /// The items that `keep` keeps.
    #[inline(always)]
    fn kept<T: Send>(self, keep: impl Fn(&mut M::Worker, &T) -> bool + Sync) -> E::Of<Vec<T>>
    where
        S: Source<Item = T>,
    {
        let gathered = self.gathered(move |[kept], items, state| {
            extend_kept(kept, items.items(), |item| keep(state, item));
        });
        E::end(gathered.map(|[kept]| kept))
    }

    /// The items that `test` is true of, and the others.
    #[inline(always)]
    fn parted<T: Send>(self, test: impl Fn(&mut M::Worker, &T) -> bool + Sync) -> E::Of<(Vec<T>, Vec<T>)>
    where
        S: Source<Item = T>,
    {
        let gathered = self.gathered(move |sides, items, state| {
            extend_parted(sides, items.items(), |item| test(state, item));
        });
        E::end(gathered.map(|[yes, no]| (yes, no)))
    }

    /// Maps item by item into a `Vec`; stops at the first `Err`.
    #[inline(always)]
    fn try_collected<R: Send, Z: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> Result<R, Z> + Sync,
    ) -> E::Of<Result<Vec<R>, Z>> {
        let collected = in_place(self.count(), |places| {
            let folded = self.fold(
                LoopKind::MayStop,
                move |mut claimed, written: Option<Written<'_, R>>| {
                    let mut written = written.unwrap_or(Written::none(places));
                    while let Some(items) = claimed.next() {
                        let state = claimed.state();
                        written = written.try_extend(items, |item| map(state, item))?;
                    }
                    Ok(Some(written))
                },
                Written::join,
            );
            match folded.or(|| Written::none(places)).ended() {
                Some(Ok(written)) => Ok(written),
                Some(Err(found)) => Err(Some(found)),
                None => Err(None),
            }
        });
        E::end(match collected {
            Ok(results) => Some(Ok(results)),
            Err(found) => found.map(Err),
        })
    }

    /// Maps item by item into two `Vec`s.
    #[inline(always)]
    fn unzipped<A: Send, B: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> (A, B) + Sync,
    ) -> E::Of<(Vec<A>, Vec<B>)> {
        E::end(in_two_places(self.count(), |firsts, seconds| {
            let folded = self.fold(
                LoopKind::Through,
                move |mut claimed, both| {
                    let mut both = both.unwrap_or((Written::none(firsts), Written::none(seconds)));
                    while let Some(items) = claimed.next() {
                        let state = claimed.state();
                        both = extend_both(both, items, |item| map(state, item));
                    }
                    Ok(Some(both))
                },
                |(a, b), (c, d)| (a.join(c), b.join(d)),
            );
            folded.or(|| (Written::none(firsts), Written::none(seconds))).through()
        }))
    }
}

/// The loops that emit.
impl<S: Source, E: Ending> On<'_, S, E> {
    /// Maps every item, and collects the results that are `Some`, in order: see
    /// [`Pool::filter_map_collect`](crate::Pool::filter_map_collect).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let halves = pool.on(0..7).filter_map_collect(|i| (i % 2 == 0).then_some(i / 2));
    /// assert_eq!(halves, [0, 1, 2, 3]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does; the results made until then are dropped.
    #[inline(always)]
    pub fn filter_map_collect<R: Send>(self, map: impl Fn(S::Item) -> Option<R> + Sync) -> E::Of<Vec<R>> {
        E::end(self.emitted(move |made, (), item| push_some(made, map(item))))
    }

    /// Makes something to iterate over of every item, and collects all that comes out of it, in
    /// order: see [`Pool::flat_map_collect`](crate::Pool::flat_map_collect).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// assert_eq!(pool.on(0..4).flat_map_collect(|i| 0..i), [0, 0, 1, 0, 1, 2]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does, or what it returns; the results made until then are dropped.
    #[inline(always)]
    pub fn flat_map_collect<I>(self, map: impl Fn(S::Item) -> I + Sync) -> E::Of<Vec<I::Item>>
    where
        I: IntoIterator<Item: Send>,
    {
        E::end(self.emitted(move |made, (), item| made.extend(map(item))))
    }

    /// Collects the items of which `keep` is true, in order: see
    /// [`Pool::filter_collect`](crate::Pool::filter_collect), which copies them. If items need not
    /// be dropped, it takes as long whatever `keep` returns.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (texts, mut counts) = (["a", "b", "c"], [0, 5, 7]);
    /// let large = pool.on(&texts).zip(&mut counts).filter_collect(|(_, count)| **count > 3);
    /// assert_eq!(large, [(&"b", &mut 5), (&"c", &mut 7)]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `keep` does; what was collected until then is dropped.
    #[inline(always)]
    pub fn filter_collect<T: Send>(self, keep: impl Fn(&T) -> bool + Sync) -> E::Of<Vec<T>>
    where
        S: Source<Item = T>,
    {
        self.kept(move |(), item| keep(item))
    }

    /// Collects the items of which `test` is true, and the others, both in order. If items need not
    /// be dropped, it takes as long whatever `test` returns.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (even, odd) = pool.on(0..7).partition(|i| i % 2 == 0);
    /// assert_eq!((even, odd), (vec![0, 2, 4, 6], vec![1, 3, 5]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` does; what was collected until then is dropped.
    #[inline(always)]
    pub fn partition<T: Send>(self, test: impl Fn(&T) -> bool + Sync) -> E::Of<(Vec<T>, Vec<T>)>
    where
        S: Source<Item = T>,
    {
        self.parted(move |(), item| test(item))
    }

    /// Maps every item into a `Vec`, in order, or returns the `Err` with the lowest index: see
    /// [`Pool::try_map_collect`](crate::Pool::try_map_collect).
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let roots = |limit: usize| pool.on(0..limit).try_map_collect(|i| u8::try_from(i * i));
    /// assert_eq!(roots(4), Ok(vec![0, 1, 4, 9]));
    /// assert!(roots(17).is_err());
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// What `map` returned for the first item for which it returned an error. The results made
    /// until then are dropped.
    ///
    /// # Panics
    /// If `map` does, for an item before the first error.
    #[inline(always)]
    pub fn try_map_collect<R: Send, Z: Send>(
        self,
        map: impl Fn(S::Item) -> Result<R, Z> + Sync,
    ) -> E::Of<Result<Vec<R>, Z>> {
        self.try_collected(move |(), item| map(item))
    }

    /// Maps every item into two `Vec`s, in order. Each result is written once, at its final place.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (squares, cubes) = pool.on(0..4).unzip_collect(|i| (i * i, i * i * i));
    /// assert_eq!((squares, cubes), (vec![0, 1, 4, 9], vec![0, 1, 8, 27]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` does; the results made until then are dropped.
    #[inline(always)]
    pub fn unzip_collect<A: Send, B: Send>(
        self,
        map: impl Fn(S::Item) -> (A, B) + Sync,
    ) -> E::Of<(Vec<A>, Vec<B>)> {
        self.unzipped(move |(), item| map(item))
    }
}

/// The loops that emit, of workers that have a state, which is the first argument of their
/// closures.
impl<S: Source, E: Ending, M: Stateful> On<'_, S, E, M> {
    /// Maps every item, and collects the results that are `Some`, in order, as
    /// [`Pool::filter_map_collect`](crate::Pool::filter_map_collect) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let words = pool.on(&["noon", "range", "radar"]).with(|_| String::new());
    /// let lengths = words.filter_map_collect(|reversed, word| {
    ///     reversed.clear();
    ///     reversed.extend(word.chars().rev());
    ///     (reversed == word).then_some(word.len())
    /// });
    /// assert_eq!(lengths, [4, 5]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or the maker of the state does; the results made until then are dropped.
    #[inline(always)]
    pub fn filter_map_collect<R: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> Option<R> + Sync,
    ) -> E::Of<Vec<R>> {
        E::end(self.emitted(move |made, state, item| push_some(made, map(state, item))))
    }

    /// Makes something to iterate over of every item, and collects all that comes out of it, in
    /// order, as [`Pool::flat_map_collect`](crate::Pool::flat_map_collect) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let letters = pool.on(&["ca", "b"]).with(|_| Vec::new()).flat_map_collect(|sorted, word| {
    ///     sorted.clear();
    ///     sorted.extend(word.bytes());
    ///     sorted.sort_unstable();
    ///     sorted.clone()
    /// });
    /// assert_eq!(letters, b"acb");
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or the maker of the state does, or what `map` returns; the results made until then
    /// are dropped.
    #[inline(always)]
    pub fn flat_map_collect<I>(self, map: impl Fn(&mut M::Worker, S::Item) -> I + Sync) -> E::Of<Vec<I::Item>>
    where
        I: IntoIterator<Item: Send>,
    {
        E::end(self.emitted(move |made, state, item| made.extend(map(state, item))))
    }

    /// Collects the items of which `keep` is true, in order.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let tested = pool.on(0..9).with(|_| 0).filter_collect(|tested, i| {
    ///     *tested += 1;
    ///     i % 4 == 0
    /// });
    /// assert_eq!(tested, [0, 4, 8]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `keep` or the maker of the state does; what was collected until then is dropped.
    #[inline(always)]
    pub fn filter_collect<T: Send>(self, keep: impl Fn(&mut M::Worker, &T) -> bool + Sync) -> E::Of<Vec<T>>
    where
        S: Source<Item = T>,
    {
        self.kept(keep)
    }

    /// Collects the items of which `test` is true, and the others, both in order.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let (low, high) = pool.on(0..5).with(|_| 2).partition(|limit, i| i < limit);
    /// assert_eq!((low, high), (vec![0, 1], vec![2, 3, 4]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `test` or the maker of the state does; what was collected until then is dropped.
    #[inline(always)]
    pub fn partition<T: Send>(
        self,
        test: impl Fn(&mut M::Worker, &T) -> bool + Sync,
    ) -> E::Of<(Vec<T>, Vec<T>)>
    where
        S: Source<Item = T>,
    {
        self.parted(test)
    }

    /// Maps every item into a `Vec`, in order, or returns the `Err` with the lowest index, as
    /// [`Pool::try_map_collect`](crate::Pool::try_map_collect) does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let parse = |text: &mut String, digits: &[char; 2]| {
    ///     text.clear();
    ///     text.extend(digits);
    ///     text.parse::<u8>()
    /// };
    /// let pairs = pool.on(&[['1', '2'], ['3', '4']]).with(|_| String::new());
    /// let numbers = pairs.try_map_collect(parse);
    /// assert_eq!(numbers, Ok(vec![12, 34]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Errors
    /// What `map` returned for the first item for which it returned an error. The results made
    /// until then are dropped.
    ///
    /// # Panics
    /// If `map` or the maker of the state does, for an item before the first error.
    #[inline(always)]
    pub fn try_map_collect<R: Send, Z: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> Result<R, Z> + Sync,
    ) -> E::Of<Result<Vec<R>, Z>> {
        self.try_collected(map)
    }

    /// Maps every item into two `Vec`s, in order. Each result is written once, at its final place.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let with_ten = pool.on(1..4).with(|_| 10);
    /// let (sums, products) = with_ten.unzip_collect(|ten, i| (i + *ten, i * *ten));
    /// assert_eq!((sums, products), (vec![11, 12, 13], vec![10, 20, 30]));
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If `map` or the maker of the state does; the results made until then are dropped.
    #[inline(always)]
    pub fn unzip_collect<A: Send, B: Send>(
        self,
        map: impl Fn(&mut M::Worker, S::Item) -> (A, B) + Sync,
    ) -> E::Of<(Vec<A>, Vec<B>)> {
        self.unzipped(map)
    }
}

/// Appends a result, if there is one.
#[inline(always)]
fn push_some<R>(made: &mut Vec<R>, result: Option<R>) {
    if let Some(result) = result {
        made.push(result);
    }
}
