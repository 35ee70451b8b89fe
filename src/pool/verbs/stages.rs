//! The stages of a chain.

use std::{convert::Infallible, fmt, ops::Range};

use super::{
    chain::{Chain, Each, Source, SourceItem, WorkerOf, behind, itself, made_of},
    extend::extend_by,
    pieces::InVectors,
    state::{Given, State, Stateless},
};

/// Declares a stage with a closure.
macro_rules! stage {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[doc(hidden)]
        #[derive(Clone, Copy)]
        pub struct $name<C, F> {
            pub(super) chain: C,
            pub(super) f: F,
        }

        itself!([C, F] $name<C, F> where Self: Chain);

        impl<C: fmt::Debug, F> fmt::Debug for $name<C, F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("chain", &self.chain).finish_non_exhaustive()
            }
        }
    };
}

/// Implements the traits of a stage that makes one item of each item. If it stands behind a source,
/// it is a source.
macro_rules! one_of_each {
    ($stage:ident $($closure:ident)?) => {
        impl<C: Each $(, $closure)?> Each for $stage<C $(, $closure)?> where Self: Chain {}

        impl<S: Source $(, $closure)?> Source for $stage<S $(, $closure)?>
        where
            Self: Chain<State = Stateless>,
        {
            made_of!(chain);
        }

        impl<S $(, $closure)?> InVectors for $stage<S $(, $closure)?> where Self: Source {}
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

/// [`behind`] for stages that make one item of each. The stage also gets the items that the chain
/// before it [emits](Chain::emit).
macro_rules! makes_one {
    (|$self:ident, $state:ident, $item:ident| $made:expr) => {
        const MAKES_ONE: bool = C::MAKES_ONE;
        behind!(|$self, next, $state, acc, $item| {
            let made = $made;
            next($state, acc, made)
        });

        #[inline(always)]
        fn emit<Opened>(
            &$self,
            state: &mut WorkerOf<C>,
            item: SourceItem<C>,
            to: &mut Vec<Opened>,
            mut open: impl FnMut(&mut WorkerOf<C>, Self::Item) -> Opened,
        ) {
            $self.chain.emit(state, item, to, |$state, $item| {
                let made = $made;
                open($state, made)
            });
        }
    };
}

impl<C, F, R> Chain for Map<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> R + Sync,
{
    type Item = R;
    makes_one!(|self, state, item| (self.f)(C::State::give(state, item)));
}

one_of_each!(Map F);

impl<C, F> Chain for Inspect<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) + Sync,
{
    type Item = C::Item;
    makes_one!(|self, state, item| {
        (self.f)(C::State::give(state, &item));
        item
    });
}

one_of_each!(Inspect F);

/// Copies or clones of items. Made by [`On::copied`](crate::On::copied) and
/// [`On::cloned`](crate::On::cloned).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Cloned<C> {
    pub(super) chain: C,
}

itself!([C] Cloned<C> where Self: Chain);

impl<'t, T: Clone + 't, C: Chain<Item = &'t T>> Chain for Cloned<C> {
    type Item = T;
    const SIFTS: bool = C::SIFTS;
    makes_one!(|self, state, item| item.clone());

    #[inline(always)]
    fn sift(&self, state: &mut WorkerOf<C>, item: SourceItem<C>) -> (T, bool) {
        let (item, is_kept) = self.chain.sift(state, item);
        (item.clone(), is_kept)
    }
}

one_of_each!(Cloned);

impl<C, F> Chain for Filter<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, &'a C::Item>) -> bool + Sync,
{
    type Item = C::Item;
    const SIFTS: bool = C::SIFTS;
    behind!(|self, next, state, acc, item| {
        if (self.f)(C::State::give(state, &item)) { next(state, acc, item) } else { Ok(acc) }
    });

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
    behind!(|self, next, state, acc, item| match (self.f)(C::State::give(state, item)) {
        Some(made) => next(state, acc, made),
        None => Ok(acc),
    });
}

/// [`behind`] for stages that go on with all items of something. [`emit`](Chain::emit) appends all
/// items with one call of [`extend_by`].
macro_rules! flattens {
    (|$self:ident, $state:ident, $item:ident| $items:expr) => {
        behind!(|$self, next, $state, acc, $item| {
            $items.into_iter().try_fold(acc, |acc, item| next($state, acc, item))
        });

        #[inline(always)]
        fn emit<T>(
            &$self,
            state: &mut WorkerOf<C>,
            item: SourceItem<C>,
            to: &mut Vec<T>,
            mut open: impl FnMut(&mut WorkerOf<C>, Self::Item) -> T,
        ) {
            let Ok(()) = $self.chain.push(state, item, (), |$state, (), $item| {
                let items = $items.into_iter();
                extend_by(to, items, |item| open($state, item));
                Ok::<_, Infallible>(())
            });
        }
    };
}

impl<C, F, I> Chain for FlatMap<C, F>
where
    C: Chain,
    F: for<'a> Fn(Given<'a, C::State, C::Item>) -> I + Sync,
    I: IntoIterator,
{
    type Item = I::Item;
    flattens!(|self, state, item| (self.f)(C::State::give(state, item)));
}

/// The items of each item. Made by [`On::flatten`](crate::On::flatten).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Flatten<C> {
    pub(super) chain: C,
}

itself!([C] Flatten<C> where Self: Chain);

impl<C: Chain<Item: IntoIterator>> Chain for Flatten<C> {
    type Item = <C::Item as IntoIterator>::Item;
    flattens!(|self, state, items| items);
}

/// A chain whose closures receive a state. Made by [`On::with`](crate::On::with),
/// [`On::with_kept`](crate::On::with_kept) and [`On::with_block`](crate::On::with_block).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct With<C, M> {
    pub(super) chain: C,
    pub(super) states: M,
}

itself!([C, M] With<C, M> where Self: Chain);

impl<C: Chain<State = Stateless>, M: State> Chain for With<C, M> {
    type Item = C::Item;
    type Source = C::Source;
    type State = M;
    const MAKES_ONE: bool = C::MAKES_ONE;
    const SIFTS: bool = C::SIFTS;

    #[inline(always)]
    fn source(&self) -> &C::Source {
        self.chain.source()
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
        state: &mut M::Worker,
        item: SourceItem<C>,
        to: &mut Vec<T>,
        mut open: impl FnMut(&mut M::Worker, C::Item) -> T,
    ) {
        self.chain.emit(&mut (), item, to, |(), item| open(state, item));
    }

    #[inline(always)]
    fn sift(&self, _: &mut M::Worker, item: SourceItem<C>) -> (C::Item, bool) {
        self.chain.sift(&mut (), item)
    }
}

impl<C: Each + Chain<State = Stateless>, M: State> Each for With<C, M> {}
