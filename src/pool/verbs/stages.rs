//! The stages of a chain.

#![allow(unsafe_code)] // a stage requests items of its source when its own items are requested

use std::{convert::Infallible, fmt, ops::Range};

use super::{
    chain::{Chain, Each, Makes, Pieces, Source, SourceItem, WorkerOf, itself, noted_by},
    state::{Given, State, Stateless},
};

/// The part of [`Chain`] that stages share: source and state are those of the chain before the
/// stage.
macro_rules! behind {
    ($chain:ident) => {
        type Source = C::Source;
        type State = C::State;

        #[inline(always)]
        fn begin(&self) -> &C::Source {
            self.$chain.begin()
        }

        #[inline(always)]
        fn states(&self) -> &C::State {
            self.$chain.states()
        }
    };
}

/// Declares a stage with a closure.
macro_rules! stage {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        pub struct $name<C, F> {
            chain: C,
            f: F,
        }

        impl<C, F> $name<C, F> {
            pub(crate) fn new(chain: C, f: F) -> Self {
                Self { chain, f }
            }
        }

        impl<C: fmt::Debug, F> fmt::Debug for $name<C, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("chain", &self.chain).finish_non_exhaustive()
            }
        }
    };
}

stage! {
    /// The results of a closure, one for each item. Made by [`On::map`](crate::On::map).
    Map
}
stage! {
    /// The items. A closure first receives a reference to each item. Made by
    /// [`On::inspect`](crate::On::inspect).
    Inspect
}
stage! {
    /// The items for which a closure returns true. Made by [`On::filter`](crate::On::filter).
    Filter
}
stage! {
    /// The values of the results of a closure that are `Some`. Made by
    /// [`On::filter_map`](crate::On::filter_map).
    FilterMap
}
stage! {
    /// All items of the results of a closure. Made by [`On::flat_map`](crate::On::flat_map).
    FlatMap
}
stage! {
    /// Of each result of a closure that is `Ok`, all items; of each other result, the error. Made
    /// by [`On::try_flat_map`](crate::On::try_flat_map).
    TryFlatMap
}

itself!([C: Chain, F, R] Map<C, F> where F: for<'a> Fn(Given<'a, C::State, C::Item>) -> R + Sync);
itself!([C: Chain, F] Inspect<C, F> where F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) + Sync);
itself!([C: Chain, F] Filter<C, F> where F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync);
itself!([C: Chain, F, R] FilterMap<C, F> where F: for<'a> Fn(Given<'a, C::State, C::Item>) -> Option<R> + Sync);
itself!([C: Chain, F, I: IntoIterator] FlatMap<C, F> where F: for<'a> Fn(Given<'a, C::State, C::Item>) -> I + Sync);
itself!([C: Chain, F, I: IntoIterator, Er] TryFlatMap<C, F> where F: for<'a> Fn(Given<'a, C::State, C::Item>) -> Result<I, Er> + Sync);

impl<C, F, R> Chain for Map<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> R + Sync,
{
    type Item = R;
    const MAKES: Makes = if let Makes::One = C::MAKES { Makes::One } else { Makes::Any };
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, R) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| {
            let made = (self.f)(C::State::give(state, item));
            next(state, acc, made)
        })
    }
}

impl<C, F, R> Each for Map<C, F>
where
    C: Each,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> R + Sync,
{
}

impl<S: Source, F: Fn(S::Item) -> R + Sync, R> Source for Map<S, F> {
    fn count(&self) -> usize {
        self.chain.count()
    }

    fn address(&self) -> usize {
        self.chain.address()
    }

    noted_by!(chain, self, range => range);

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.chain.items(range) }.map(|item| (self.f)(item))
    }
}

/// A piece is a vector of the results of `f`.
impl<S: Source, F: Fn(S::Item) -> R + Sync, R> Pieces for Map<S, F> {
    type Piece = Vec<Self::Item>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Vec<Self::Item> {
        // SAFETY: as the caller promises.
        unsafe { self.items(range) }.collect()
    }
}

impl<C, F> Chain for Inspect<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) + Sync,
{
    type Item = C::Item;
    const MAKES: Makes = if let Makes::One = C::MAKES { Makes::One } else { Makes::Any };
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, C::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| {
            (self.f)(C::State::give(state, &item));
            next(state, acc, item)
        })
    }
}

impl<C, F> Each for Inspect<C, F>
where
    C: Each,
    F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) + Sync,
{
}

impl<S: Source, F: for<'a> Fn(&'a S::Item) + Sync> Source for Inspect<S, F> {
    fn count(&self) -> usize {
        self.chain.count()
    }

    fn address(&self) -> usize {
        self.chain.address()
    }

    noted_by!(chain, self, range => range);

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.chain.items(range) }.inspect(|item| (self.f)(item))
    }
}

/// A piece is a vector.
impl<S: Source, F: for<'a> Fn(&'a S::Item) + Sync> Pieces for Inspect<S, F> {
    type Piece = Vec<Self::Item>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Vec<Self::Item> {
        // SAFETY: as the caller promises.
        unsafe { self.items(range) }.collect()
    }
}

/// Copies or clones of items. Made by [`On::copied`](crate::On::copied) and
/// [`On::cloned`](crate::On::cloned).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Cloned<C> {
    chain: C,
}

impl<C> Cloned<C> {
    pub(crate) fn new(chain: C) -> Self {
        Self { chain }
    }
}

itself!(['t, T: Clone + 't, C: Chain<Item = &'t T>] Cloned<C>);

impl<'t, T: Clone + 't, C: Chain<Item = &'t T>> Chain for Cloned<C> {
    type Item = T;
    const MAKES: Makes = C::MAKES;
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, T) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| next(state, acc, item.clone()))
    }

    #[inline(always)]
    fn sift(&self, state: &mut WorkerOf<C>, item: SourceItem<C>) -> (T, bool) {
        let (item, is_kept) = self.chain.sift(state, item);
        (item.clone(), is_kept)
    }
}

impl<'t, T: Clone + 't, C: Each<Item = &'t T>> Each for Cloned<C> {}

impl<'t, T: Clone + 't, S: Source<Item = &'t T>> Source for Cloned<S> {
    fn count(&self) -> usize {
        self.chain.count()
    }

    fn address(&self) -> usize {
        self.chain.address()
    }

    noted_by!(chain, self, range => range);

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.chain.items(range) }.map(T::clone)
    }
}

/// A piece is a vector.
impl<'t, T: Clone + 't, S: Source<Item = &'t T>> Pieces for Cloned<S> {
    type Piece = Vec<Self::Item>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Vec<Self::Item> {
        // SAFETY: as the caller promises.
        unsafe { self.items(range) }.collect()
    }
}

impl<C, F> Chain for Filter<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
{
    type Item = C::Item;
    const MAKES: Makes = if let Makes::Any = C::MAKES { Makes::Any } else { Makes::Sifted };
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, C::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| {
            if (self.f)(C::State::give(state, &item)) { next(state, acc, item) } else { Ok(acc) }
        })
    }

    #[inline(always)]
    fn sift(&self, state: &mut WorkerOf<C>, item: SourceItem<C>) -> (C::Item, bool) {
        let (item, is_kept) = self.chain.sift(state, item);
        let is_kept = is_kept && (self.f)(C::State::give(state, &item));
        (item, is_kept)
    }
}

impl<C, F, R> Chain for FilterMap<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> Option<R> + Sync,
{
    type Item = R;
    const MAKES: Makes = Makes::Any;
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, R) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| match (self.f)(C::State::give(state, item)) {
            Some(made) => next(state, acc, made),
            None => Ok(acc),
        })
    }
}

/// Folds `items`.
#[inline(always)]
fn push_all<T, W, A, Z>(
    items: impl IntoIterator<Item = T>,
    state: &mut W,
    acc: A,
    next: &mut impl FnMut(&mut W, A, T) -> Result<A, Z>,
) -> Result<A, Z> {
    items.into_iter().try_fold(acc, |acc, item| next(state, acc, item))
}

impl<C, F, I> Chain for FlatMap<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> I + Sync,
    I: IntoIterator,
{
    type Item = I::Item;
    const MAKES: Makes = Makes::Any;
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, I::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| {
            let items = (self.f)(C::State::give(state, item));
            push_all(items, state, acc, &mut next)
        })
    }

    /// Extends the vector by all items with one call, since `extend` is fast for ranges and slices.
    #[inline(always)]
    fn emit<T>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        to: &mut Vec<T>,
        mut open: impl FnMut(I::Item) -> T,
    ) {
        let Ok(()) = self.chain.push(state, item, (), |state, (), item| {
            to.extend((self.f)(C::State::give(state, item)).into_iter().map(&mut open));
            Ok::<_, Infallible>(())
        });
    }
}

impl<C, F, I, Er> Chain for TryFlatMap<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> Result<I, Er> + Sync,
    I: IntoIterator,
{
    type Item = Result<I::Item, Er>;
    const MAKES: Makes = Makes::Any;
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, Self::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, item| match (self.f)(C::State::give(state, item)) {
            Ok(items) => push_all(items.into_iter().map(Ok), state, acc, &mut next),
            Err(error) => next(state, acc, Err(error)),
        })
    }
}

/// The items of each item. Made by [`On::flatten`](crate::On::flatten).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Flatten<C> {
    chain: C,
}

impl<C> Flatten<C> {
    pub(crate) fn new(chain: C) -> Self {
        Self { chain }
    }
}

itself!([C: Chain<Item: IntoIterator>] Flatten<C>);

impl<C: Chain<Item: IntoIterator>> Chain for Flatten<C> {
    type Item = <C::Item as IntoIterator>::Item;
    const MAKES: Makes = Makes::Any;
    behind!(chain);

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut WorkerOf<C>, A, Self::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, |state, acc, items| push_all(items, state, acc, &mut next))
    }

    #[inline(always)]
    fn emit<T>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        to: &mut Vec<T>,
        mut open: impl FnMut(Self::Item) -> T,
    ) {
        let Ok(()) = self.chain.push(state, item, (), |_, (), items| {
            to.extend(items.into_iter().map(&mut open));
            Ok::<_, Infallible>(())
        });
    }
}

/// A chain whose closures receive a state. Made by [`On::with`](crate::On::with),
/// [`On::with_kept`](crate::On::with_kept) and [`On::with_block`](crate::On::with_block).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct With<C, M> {
    chain: C,
    states: M,
}

impl<C, M> With<C, M> {
    pub(crate) fn new(chain: C, states: M) -> Self {
        Self { chain, states }
    }
}

itself!([C: Chain<State = Stateless>, M: State] With<C, M>);

impl<C: Chain<State = Stateless>, M: State> Chain for With<C, M> {
    type Item = C::Item;
    type Source = C::Source;
    type State = M;
    const MAKES: Makes = C::MAKES;

    #[inline(always)]
    fn begin(&self) -> &C::Source {
        self.chain.begin()
    }

    #[inline(always)]
    fn states(&self) -> &M {
        &self.states
    }

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut M::Worker,
        item: SourceItem<C>,
        acc: A,
        mut next: impl FnMut(&mut M::Worker, A, C::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(&mut (), item, acc, |(), acc, item| next(state, acc, item))
    }

    #[inline(always)]
    fn emit<T>(
        &self,
        _: &mut M::Worker,
        item: SourceItem<C>,
        to: &mut Vec<T>,
        open: impl FnMut(C::Item) -> T,
    ) {
        self.chain.emit(&mut (), item, to, open);
    }

    #[inline(always)]
    fn sift(&self, _: &mut M::Worker, item: SourceItem<C>) -> (C::Item, bool) {
        self.chain.sift(&mut (), item)
    }
}

impl<C: Each + Chain<State = Stateless>, M: State> Each for With<C, M> {}
