//! The ends. Each end runs a loop and reduces all items to one value.

use std::{
    iter::{Product, Sum},
    marker::PhantomData,
    sync::atomic::{AtomicUsize, Ordering},
};

use rangesteal::{
    options::Stateless,
    source,
    source::{Chain, Source},
};

use super::{End, IndexedEnd};
use crate::pool::{Seat, current, on};

/// Declares an end: its fields, its result for a chain of items `T`, and the loop.
macro_rules! end {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $of:ident),* } [$($generic:tt)*] $item:ty => $out:ty, |$self:ident, $chain:ident, $pool:ident| $run:expr) => {
        $(#[$doc])*
        pub(crate) struct $name<$($of),*> {
            $(pub(crate) $field: $of,)*
        }

        impl<$($generic)*> End<$item> for $name<$($of),*> {
            type Out = $out;

            #[track_caller]
            fn chain<C: Chain<Item = $item, State = Stateless> + Sync>($self, $chain: C) -> $out {
                let $pool = current();
                $run
            }
        }
    };
}

end! {
    /// Calls a closure with each item.
    Each { f: F } [T, F: Fn(T) + Sync] T => (),
    |self, chain, pool| on!(pool, chain).for_each(|(_, item)| (self.f)(item))
}
end! {
    /// Calls a closure with each item until the closure returns an error.
    TryEach { f: F } [T, Z: Send, F: Fn(T) -> Result<(), Z> + Sync] T => Result<(), Z>,
    |self, chain, pool| on!(pool, chain).try_for_each(|(_, item)| (self.f)(item))
}
end! {
    /// Collects all items.
    ToVec {} [T: Send] T => Vec<T>,
    |self, chain, pool| on!(pool, chain).collect()
}
end! {
    /// Collects the `Ok` values of all items, or returns the first error.
    ToResult {} [T: Send, Z: Send] Result<T, Z> => Result<Vec<T>, Z>,
    |self, chain, pool| on!(pool, chain).collect()
}
end! {
    /// Collects the `Some` values of all items, or returns `None` if one item is `None`.
    ToOption {} [T: Send] Option<T> => Option<Vec<T>>,
    |self, chain, pool| on!(pool, chain).collect()
}
end! {
    /// Counts the items.
    Count {} [T] T => usize,
    |self, chain, pool| on!(pool, chain).count()
}
end! {
    /// Reduces the items in order.
    Reduce { op: F } [T: Send, F: Fn(T, T) -> T + Sync] T => Option<T>,
    |self, chain, pool| on!(pool, chain).reduce(self.op)
}
end! {
    /// Reduces the `Ok` values in order, or returns the first error.
    TryReduce { op: F } [T: Send, Z: Send, F: Fn(T, T) -> T + Sync] Result<T, Z> => Result<Option<T>, Z>,
    |self, chain, pool| on!(pool, chain).try_reduce(self.op)
}
end! {
    /// Returns the first `Some` of a closure, in the order of the items.
    FindMapFirst { f: F } [T, R: Send, F: Fn(T) -> Option<R> + Sync] T => Option<R>,
    |self, chain, pool| on!(pool, chain).find_map(|(_, item)| (self.f)(item))
}
end! {
    /// Returns any item for which a closure returns true.
    FindAny { f: F } [T: Send, F: Fn(&T) -> bool + Sync] T => Option<T>,
    |self, chain, pool| on!(pool, chain).find_any(|(_, item)| (self.f)(item))
}
end! {
    /// Whether a closure returns true for any item.
    Any { f: F } [T, F: Fn(T) -> bool + Sync] T => bool,
    |self, chain, pool| on!(pool, chain).any(|(_, item)| (self.f)(item))
}
end! {
    /// Folds the items into accumulators, and merges the accumulators in order.
    FoldMerge { init: ID, step: F, merge: M }
    [T, A: Send, ID: Fn() -> A + Sync, F: Fn(A, T) -> A + Sync, M: Fn(A, A) -> A + Sync] T => A,
    |self, chain, pool| on!(pool, chain).fold(self.init, |acc, (_, item)| (self.step)(acc, item), self.merge)
}
end! {
    /// Collects the first and the second components of pairs.
    Unzip {} [A: Send, B: Send] (A, B) => (Vec<A>, Vec<B>),
    |self, chain, pool| on!(pool, chain).unzip()
}
end! {
    /// Collects the items for which a closure returns true, and the other items.
    Partition { f: F } [T: Send, F: Fn(&T) -> bool + Sync] T => (Vec<T>, Vec<T>),
    |self, chain, pool| on!(pool, chain).partition(|(_, item)| (self.f)(item))
}
end! {
    /// Maps the items with a state for each worker, and collects the results.
    MapWithState { init: ID, f: F } [T, W, R: Send, ID: Fn() -> W + Sync, F: Fn(&mut W, T) -> R + Sync] T => Vec<R>,
    |self, chain, pool| {
        let state = |worker| (Seat::take(&pool, worker), (self.init)());
        pool.on(chain).with(state).map(|((_, state), item)| (self.f)(state, item)).collect()
    }
}
end! {
    /// Calls a closure with the worker's state and each item, until the closure returns an error.
    TryEachWithState { init: ID, f: F }
    [T, W, Z: Send, ID: Fn() -> W + Sync, F: Fn(&mut W, T) -> Result<(), Z> + Sync] T => Result<(), Z>,
    |self, chain, pool| {
        let state = |worker| (Seat::take(&pool, worker), (self.init)());
        pool.on(chain).with(state).try_for_each(|((_, state), item)| (self.f)(state, item))
    }
}
end! {
    /// Calls a closure with the worker's state and each item.
    EachWithState { init: ID, f: F } [T, W, ID: Fn() -> W + Sync, F: Fn(&mut W, T) + Sync] T => (),
    |self, chain, pool| {
        let state = |worker| (Seat::take(&pool, worker), (self.init)());
        pool.on(chain).with(state).for_each(|((_, state), item)| (self.f)(state, item));
    }
}

/// Adds up the items.
pub(crate) struct Add<S>(pub(crate) PhantomData<S>);

impl<T, S: Send + Sum<T> + Sum<S>> End<T> for Add<S> {
    type Out = S;

    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) -> S {
        let pool = current();
        on!(pool, chain).sum()
    }
}

/// Multiplies the items.
pub(crate) struct Multiply<S>(pub(crate) PhantomData<S>);

impl<T, S: Send + Product<T> + Product<S>> End<T> for Multiply<S> {
    type Out = S;

    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) -> S {
        let pool = current();
        on!(pool, chain).product()
    }
}

/// Appends all items to a vector.
pub(crate) struct Into<'v, T>(pub(crate) &'v mut Vec<T>);

impl<T: Send> End<T> for Into<'_, T> {
    type Out = ();

    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) {
        let pool = current();
        on!(pool, chain).collect_into(self.0);
    }
}

/// Returns the index of any item for which a closure returns true.
pub(crate) struct PositionAny<F>(pub(crate) F);

impl<T, F: Fn(T) -> bool + Sync> IndexedEnd<T> for PositionAny<F> {
    type Out = Option<usize>;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, items: S) -> Option<usize> {
        let pool = current();
        let numbered = source(items).enumerate();
        // If several workers store an index, any of these indices will do.
        let place = AtomicUsize::new(0);
        let is_found = on!(pool, numbered).any(|(_, (at, item))| {
            let is_found = (self.0)(item);
            if is_found {
                place.store(at, Ordering::Relaxed); // the end of the loop orders this
            }
            is_found
        });
        is_found.then(|| place.into_inner())
    }
}

/// Returns the index of the first item for which a closure returns true.
pub(crate) struct Position<F>(pub(crate) F);

impl<T, F: Fn(T) -> bool + Sync> IndexedEnd<T> for Position<F> {
    type Out = Option<usize>;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, items: S) -> Option<usize> {
        let pool = current();
        let numbered = source(items).enumerate();
        on!(pool, numbered).find_map(|(_, (at, item))| (self.0)(item).then_some(at))
    }
}
