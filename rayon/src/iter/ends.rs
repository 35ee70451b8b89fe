//! The ends. Each end runs a loop and reduces all items to one value.

use std::{
    iter::{Product, Sum},
    marker::PhantomData,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source,
    source::{Chain, Source},
};

use super::{End, IndexedEnd};
use crate::pool::{current, on};

/// Implements [`End`] for an end before which no stage keeps anything: the result for a chain of
/// items `T`, the loop, and the result of two loops.
macro_rules! ends {
    ([$($generic:tt)*] $name:ty, $item:ty => $out:ty, |$self:ident, $on:ident| $run:expr, |$first:ident, $second:ident| $then:expr) => {
        #[allow(clippy::unused_unit, reason = "some ends return nothing")]
        impl<$($generic)*> End<$item> for $name {
            type Out = $out;
            type Kept = ();

            fn keep(&self) {}

            #[track_caller]
            fn run<C_, G_, W_, L_: $crate::iter::Keeps<W_, ()>>(&$self, $on: On<C_, OnPool<'_>>, _: L_) -> $out
            where
                C_: Chain<Item = $item, State = Fresh<G_>> + Sync,
                G_: Fn(usize) -> W_ + Sync,
            {
                $run
            }

            fn then(&$self, $first: $out, $second: impl FnOnce() -> $out) -> $out {
                $then
            }
        }
    };
}
pub(super) use ends;

/// Declares an end with fields, and implements [`End`].
macro_rules! end {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $of:ident),* } $($rest:tt)*) => {
        $(#[$doc])*
        pub(crate) struct $name<$($of),*> {
            $(pub(crate) $field: $of,)*
        }

        end!(@ $name [$($of),*] $($rest)*);
    };
    (@ $name:ident [$($of:ident),*] [$($generic:tt)*] $($rest:tt)*) => {
        ends!([$($generic)*] $name<$($of),*>, $($rest)*);
    };
}

/// The items of `a`, then those of `b`.
fn joined<T>(mut a: Vec<T>, mut b: Vec<T>) -> Vec<T> {
    a.append(&mut b);
    a
}

/// [`joined`] for pairs of vectors.
fn both_joined<A, B>(a: (Vec<A>, Vec<B>), b: (Vec<A>, Vec<B>)) -> (Vec<A>, Vec<B>) {
    (joined(a.0, b.0), joined(a.1, b.1))
}

end! {
    /// Calls a closure with each item.
    Each { f: F } [T, F: Fn(T) + Sync] T => (),
    |self, on| on.for_each(|(_, item)| (self.f)(item)),
    |_first, second| second()
}
end! {
    /// Calls a closure with each item until the closure returns an error.
    TryEach { f: F } [T, Z: Send, F: Fn(T) -> Result<(), Z> + Sync] T => Result<(), Z>,
    |self, on| on.try_for_each(|(_, item)| (self.f)(item)),
    |first, second| first.and_then(|()| second())
}
end! {
    /// Collects the `Ok` values of all items, or returns the first error.
    ToResult {} [T: Send, Z: Send] Result<T, Z> => Result<Vec<T>, Z>,
    |self, on| on.collect(),
    |first, second| Ok(joined(first?, second()?))
}
end! {
    /// Collects the `Some` values of all items, or returns `None` if one item is `None`.
    ToOption {} [T: Send] Option<T> => Option<Vec<T>>,
    |self, on| on.collect(),
    |first, second| Some(joined(first?, second()?))
}
end! {
    /// Counts the items.
    Count {} [T] T => usize,
    |self, on| on.count(),
    |first, second| first + second()
}
end! {
    /// Reduces the items in order.
    Reduce { op: F } [T: Send, F: Fn(T, T) -> T + Sync] T => Option<T>,
    |self, on| on.reduce(|a, b| (self.op)(a, b)),
    |first, second| match (first, second()) {
        (Some(a), Some(b)) => Some((self.op)(a, b)),
        (a, b) => a.or(b),
    }
}
end! {
    /// Reduces the `Ok` values in order, or returns the first error.
    TryReduce { op: F } [T: Send, Z: Send, F: Fn(T, T) -> T + Sync] Result<T, Z> => Result<Option<T>, Z>,
    |self, on| on.try_reduce(|a, b| (self.op)(a, b)),
    |first, second| Ok(match (first?, second()?) {
        (Some(a), Some(b)) => Some((self.op)(a, b)),
        (a, b) => a.or(b),
    })
}
end! {
    /// Returns the first `Some` of a closure, in the order of the items.
    FindMapFirst { f: F } [T, R: Send, F: Fn(T) -> Option<R> + Sync] T => Option<R>,
    |self, on| on.find_map(|(_, item)| (self.f)(item)),
    |first, second| first.or_else(second)
}
end! {
    /// Returns any item for which a closure returns true.
    FindAny { f: F } [T: Send, F: Fn(&T) -> bool + Sync] T => Option<T>,
    |self, on| on.find_any(|(_, item)| (self.f)(item)),
    |first, second| first.or_else(second)
}
end! {
    /// Whether a closure returns true for any item.
    Any { f: F } [T, F: Fn(T) -> bool + Sync] T => bool,
    |self, on| on.any(|(_, item)| (self.f)(item)),
    |first, second| first || second()
}
end! {
    /// Folds the items into accumulators, and merges the accumulators in order.
    FoldMerge { init: ID, step: F, merge: M }
    [T, A: Send, ID: Fn() -> A + Sync, F: Fn(A, T) -> A + Sync, M: Fn(A, A) -> A + Sync] T => A,
    |self, on| on.fold(|| (self.init)(), |acc, (_, item)| (self.step)(acc, item), |a, b| (self.merge)(a, b)),
    |first, second| (self.merge)(first, second())
}
end! {
    /// Collects the first and the second components of pairs.
    Unzip {} [A: Send, B: Send] (A, B) => (Vec<A>, Vec<B>),
    |self, on| on.unzip(),
    |first, second| both_joined(first, second())
}
end! {
    /// Collects the items for which a closure returns true, and the other items.
    Partition { f: F } [T: Send, F: Fn(&T) -> bool + Sync] T => (Vec<T>, Vec<T>),
    |self, on| on.partition(|(_, item)| (self.f)(item)),
    |first, second| both_joined(first, second())
}

/// Adds up the items.
pub(crate) struct Add<S>(pub(crate) PhantomData<fn() -> S>);
ends!([T, S: Send + Sum<T> + Sum<S>] Add<S>, T => S,
    |self, on| on.sum(),
    |first, second| [first, second()].into_iter().sum());

/// Multiplies the items.
pub(crate) struct Multiply<S>(pub(crate) PhantomData<fn() -> S>);
ends!([T, S: Send + Product<T> + Product<S>] Multiply<S>, T => S,
    |self, on| on.product(),
    |first, second| [first, second()].into_iter().product());

/// Appends all items to a vector. (One loop holds the lock. A vector behind a lock is `Sync`.)
pub(crate) struct Into<'v, T>(Mutex<&'v mut Vec<T>>);

impl<'v, T> Into<'v, T> {
    pub(crate) fn new(to: &'v mut Vec<T>) -> Self {
        Self(Mutex::new(to))
    }
}

ends!([T: Send] Into<'_, T>, T => (),
    |self, on| on.collect_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner)),
    |_first, second| second());

/// The items that `run` gives to an end, in a vector with room for `known` items.
pub(crate) fn gathered<T: Send>(known: Option<usize>, run: impl FnOnce(Into<'_, T>)) -> Vec<T> {
    let mut all = Vec::with_capacity(known.unwrap_or(0));
    run(Into::new(&mut all));
    all
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
