//! The stages that need no index of an item.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rangesteal::{
    options::Stateless,
    source,
    source::{Chain, Source},
};

use super::{IndexedStage, IntoParallelIterator, ParallelIterator, Stage, Staged};

/// Declares a stage with a closure, and the iterator that consists of a base and the stage.
macro_rules! stage {
    ($(#[$doc:meta])* $iter:ident, $name:ident) => {
        #[doc(hidden)]
        #[derive(Clone, Copy, Debug)]
        pub struct $name<F>(pub(crate) F);

        $(#[$doc])*
        pub type $iter<I, F> = Staged<I, $name<F>>;
    };
}

/// Implements a stage. The arguments are the type of its results, the number of results per item
/// (`one of each`, at most `one`, or `any`), and the chain.
macro_rules! behind {
    ([$($generic:tt)*] $stage:ty, $item:ty => $made:ty, one of each, ($self:ident, $chain:ident) $behind:expr) => {
        impl<$($generic)*> Stage<$item> for $stage {
            type Made = $made;
            const ONE_EACH: bool = true;

            fn behind<C: Chain<Item = $item, State = Stateless> + Sync>(
                $self,
                $chain: C,
            ) -> impl Chain<Item = $made, State = Stateless> + Sync {
                $behind
            }
        }

        impl<$($generic)*> IndexedStage<$item> for $stage {
            type Made = $made;

            fn behind<S: Source<Item = $item> + Sync>($self, $chain: S) -> impl Source<Item = $made> + Sync {
                $behind
            }
        }
    };
    ([$($generic:tt)*] $stage:ty, $item:ty => $made:ty, $most:ident, ($self:ident, $chain:ident) $behind:expr) => {
        impl<$($generic)*> Stage<$item> for $stage {
            type Made = $made;
            const ONE_AT_MOST: bool = behind!(@ $most);

            fn behind<C: Chain<Item = $item, State = Stateless> + Sync>(
                $self,
                $chain: C,
            ) -> impl Chain<Item = $made, State = Stateless> + Sync {
                $behind
            }
        }
    };
    (@ one) => {
        true
    };
    (@ any) => {
        false
    };
}

stage! {
    /// See [`ParallelIterator::map`].
    Map, MapBy
}
behind!([T, R: Send, F: Fn(T) -> R + Sync] MapBy<F>, T => R, one of each, (self, chain) source(chain).map(self.0));

stage! {
    /// See [`ParallelIterator::inspect`].
    Inspect, InspectBy
}
behind!([T: Send, F: Fn(&T) + Sync] InspectBy<F>, T => T, one of each, (self, chain) source(chain).inspect(self.0));

stage! {
    /// See [`ParallelIterator::update`].
    Update, UpdateBy
}
behind!([T: Send, F: Fn(&mut T) + Sync] UpdateBy<F>, T => T, one of each, (self, chain) {
    source(chain).map(move |mut item| {
        (self.0)(&mut item);
        item
    })
});

stage! {
    /// See [`ParallelIterator::filter`].
    Filter, FilterBy
}
behind!([T: Send, F: Fn(&T) -> bool + Sync] FilterBy<F>, T => T, one, (self, chain) source(chain).filter(self.0));

stage! {
    /// See [`ParallelIterator::filter_map`].
    FilterMap, FilterMapBy
}
behind!([T, R: Send, F: Fn(T) -> Option<R> + Sync] FilterMapBy<F>, T => R, one, (self, chain) {
    source(chain).filter_map(self.0)
});

stage! {
    /// See [`ParallelIterator::flat_map`].
    FlatMap, FlatMapBy
}
behind!([T, P: IntoParallelIterator, F: Fn(T) -> P + Sync] FlatMapBy<F>, T => P::Item, any, (self, chain) {
    source(chain).flat_map(move |item| (self.0)(item).into_par_iter().into_items())
});

stage! {
    /// See [`ParallelIterator::flat_map_iter`].
    FlatMapIter, FlatMapIterBy
}
behind!([T, P: IntoIterator<Item: Send>, F: Fn(T) -> P + Sync] FlatMapIterBy<F>, T => P::Item, any, (self, chain) {
    source(chain).flat_map(self.0)
});

/// The stage of [`Flatten`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Flat;

/// See [`ParallelIterator::flatten`].
pub type Flatten<I> = Staged<I, Flat>;
behind!([P: IntoParallelIterator] Flat, P => P::Item, any, (self, chain) {
    source(chain).flat_map(|item: P| item.into_par_iter().into_items())
});

/// The stage of [`FlattenIter`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct FlatIter;

/// See [`ParallelIterator::flatten_iter`].
pub type FlattenIter<I> = Staged<I, FlatIter>;
behind!([P: IntoIterator<Item: Send>] FlatIter, P => P::Item, any, (self, chain) source(chain).flatten());

/// The stage of [`Copied`] and [`Cloned`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Owned;

/// See [`ParallelIterator::copied`].
pub type Copied<I> = Staged<I, Owned>;
/// See [`ParallelIterator::cloned`].
pub type Cloned<I> = Staged<I, Owned>;
behind!(['a, T: Clone + Send + 'a] Owned, &'a T => T, one of each, (self, chain) source(chain).cloned());

/// The stage that passes all items on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Same;

/// See [`ParallelIterator::panic_fuse`].
pub type PanicFuse<I> = Staged<I, Same>;
/// See [`by_exponential_blocks`](super::IndexedParallelIterator::by_exponential_blocks).
pub type ExponentialBlocks<I> = Staged<I, Same>;
/// See [`by_uniform_blocks`](super::IndexedParallelIterator::by_uniform_blocks).
pub type UniformBlocks<I> = Staged<I, Same>;
behind!([T: Send] Same, T => T, one of each, (self, chain) chain);

/// The stage of [`SkipAny`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct SkipSome(pub(super) usize);

/// See [`ParallelIterator::skip_any`].
pub type SkipAny<I> = Staged<I, SkipSome>;
behind!([T: Send] SkipSome, T => T, one, (self, chain) {
    let left = AtomicUsize::new(self.0);
    source(chain).filter(move |_: &T| left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_err())
});

stage! {
    /// See [`ParallelIterator::skip_any_while`].
    SkipAnyWhile, SkipWhile
}
behind!([T: Send, F: Fn(&T) -> bool + Sync] SkipWhile<F>, T => T, one, (self, chain) {
    let is_over = AtomicBool::new(false);
    source(chain).filter(move |item: &T| {
        let is_kept = is_over.load(Relaxed) || !(self.0)(item);
        if is_kept {
            is_over.store(true, Relaxed);
        }
        is_kept
    })
});
