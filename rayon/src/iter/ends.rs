//! The ends. Each end runs a loop and reduces all items to one value.

use std::{
    iter::{self, Product, Sum},
    marker::PhantomData,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source,
    source::{Chain, Source},
};

use super::{
    End, IndexedEnd, ParallelIterator,
    drive::{self, Prunes, joined},
};
use crate::{
    pool::{current, on},
    sync::lock,
};

/// Implements [`End`] for an end before which no stage keeps anything: the result for a chain of
/// items `T`, the loop, and the result of two loops. Then comes how the end folds the items of
/// another crate's iterator: the result for no items and the result with one more item. Behind
/// `until`, the second one is an `Err` if the fold ends there.
macro_rules! ends {
    (
        [$($generic:tt)*] $name:ty, $item:ty => $out:ty, |$self:ident, $on:ident| $run:expr,
        |$first:ident, $second:ident| $then:expr
        $(, $may_end:ident $prunes:tt $init:expr, |$acc:pat_param, $one:pat_param| $step:expr)?
        $(, { $($more:tt)* })?
    ) => {
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

            $(const TAKES_ANY: bool = matches!(
                $crate::iter::drive::Prunes::$prunes,
                $crate::iter::drive::Prunes::All
            );

            fn foreign<I_: $crate::iter::ParallelIterator<Item = $item>>(&$self, iter: I_) -> $out
            where
                $item: Send,
            {
                let fold = $crate::iter::drive::$may_end(
                    || $init,
                    |$acc: $out, $one: $item| $step,
                    |first, second| <Self as End<$item>>::then($self, first, || second),
                );
                fold.of(iter, $crate::iter::drive::Prunes::$prunes)
            })?

            $($($more)*)?
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

/// [`joined`] for pairs of vectors.
fn both_joined<A, B>(a: (Vec<A>, Vec<B>), b: (Vec<A>, Vec<B>)) -> (Vec<A>, Vec<B>) {
    (joined(a.0, b.0), joined(a.1, b.1))
}

end! {
    /// Calls a closure with each item.
    Each { f: F } [T, F: Fn(T) + Sync] T => (),
    |self, on| on.for_each(|(_, item)| (self.f)(item)),
    |_first, second| second(),
    through Later (), |(), item| {
        (self.f)(item);
        Ok(())
    }
}
end! {
    /// Calls a closure with each item until the closure returns an error.
    TryEach { f: F } [T, Z: Send, F: Fn(T) -> Result<(), Z> + Sync] T => Result<(), Z>,
    |self, on| on.try_for_each(|(_, item)| (self.f)(item)),
    |first, second| first.and_then(|()| second()),
    until Later Ok(()), |_, item| {
        let ended = (self.f)(item);
        if ended.is_ok() { Ok(ended) } else { Err(ended) }
    }
}
end! {
    /// Collects the `Ok` values of all items, or returns the first error.
    ToResult {} [T: Send, Z: Send] Result<T, Z> => Result<Vec<T>, Z>,
    |self, on| on.collect(),
    |first, second| Ok(joined(first?, second()?)),
    {
        fn foreign<I: ParallelIterator<Item = Result<T, Z>>>(&self, iter: I) -> Result<Vec<T>, Z> {
            drive::to_result(iter)
        }
    }
}
end! {
    /// Collects the `Some` values of all items, or returns `None` if one item is `None`.
    ToOption {} [T: Send] Option<T> => Option<Vec<T>>,
    |self, on| on.collect(),
    |first, second| Some(joined(first?, second()?)),
    {
        fn foreign<I: ParallelIterator<Item = Option<T>>>(&self, iter: I) -> Option<Vec<T>> {
            drive::to_result(iter.map(|item| item.ok_or(()))).ok()
        }
    }
}
end! {
    /// Counts the items.
    Count {} [T] T => usize,
    |self, on| on.count(),
    |first, second| first + second(),
    through Later 0, |count, _| Ok(count + 1)
}
end! {
    /// Reduces the items in order.
    Reduce { op: F } [T: Send, F: Fn(T, T) -> T + Sync] T => Option<T>,
    |self, on| on.reduce(|a, b| (self.op)(a, b)),
    |first, second| match (first, second()) {
        (Some(a), Some(b)) => Some((self.op)(a, b)),
        (a, b) => a.or(b),
    },
    through Later None, |acc, item| Ok(Some(match acc {
        Some(acc) => (self.op)(acc, item),
        None => item,
    }))
}
end! {
    /// Reduces the `Ok` values in order, or returns the first error.
    TryReduce { op: F } [T: Send, Z: Send, F: Fn(T, T) -> T + Sync] Result<T, Z> => Result<Option<T>, Z>,
    |self, on| on.try_reduce(|a, b| (self.op)(a, b)),
    |first, second| Ok(match (first?, second()?) {
        (Some(a), Some(b)) => Some((self.op)(a, b)),
        (a, b) => a.or(b),
    }),
    until Later Ok(None), |acc, item| match (acc, item) {
        (Ok(Some(acc)), Ok(item)) => Ok(Ok(Some((self.op)(acc, item)))),
        (Ok(None), Ok(item)) => Ok(Ok(Some(item))),
        (Err(error), _) | (_, Err(error)) => Err(Err(error)),
    }
}
end! {
    /// Returns the first `Some` of a closure, in the order of the items.
    FindMapFirst { f: F } [T, R: Send, F: Fn(T) -> Option<R> + Sync] T => Option<R>,
    |self, on| on.find_map(|(_, item)| (self.f)(item)),
    |first, second| first.or_else(second),
    until Later None, |_, item| {
        let found = (self.f)(item);
        if found.is_none() { Ok(found) } else { Err(found) }
    },
    {
        fn foreign_backward<I: ParallelIterator<Item = T>>(&self, iter: I) -> Option<R>
        where
            T: Send,
        {
            let fold = drive::until(
                || None,
                |last, item| match (self.f)(item) {
                    None => Ok(last),
                    found => Err(found),
                },
                |first, second: Option<R>| second.or(first),
            );
            fold.of(iter, Prunes::Earlier)
        }
    }
}
end! {
    /// Returns any item for which a closure returns true.
    FindAny { f: F } [T: Send, F: Fn(&T) -> bool + Sync] T => Option<T>,
    |self, on| on.find_any(|(_, item)| (self.f)(item)),
    |first, second| first.or_else(second),
    until All None, |_, item| {
        let found = Some(item).filter(&self.f);
        if found.is_none() { Ok(found) } else { Err(found) }
    }
}
end! {
    /// Whether a closure returns true for any item.
    Any { f: F } [T, F: Fn(T) -> bool + Sync] T => bool,
    |self, on| on.any(|(_, item)| (self.f)(item)),
    |first, second| first || second(),
    until All false, |_, item| if (self.f)(item) { Err(true) } else { Ok(false) }
}
end! {
    /// Folds the items into accumulators, and merges the accumulators in order.
    FoldMerge { init: ID, step: F, merge: M }
    [T, A: Send, ID: Fn() -> A + Sync, F: Fn(A, T) -> A + Sync, M: Fn(A, A) -> A + Sync] T => A,
    |self, on| on.fold(|| (self.init)(), |acc, (_, item)| (self.step)(acc, item), |a, b| (self.merge)(a, b)),
    |first, second| (self.merge)(first, second()),
    through Later (self.init)(), |acc, item| Ok((self.step)(acc, item))
}
end! {
    /// Collects the first and the second components of pairs.
    Unzip {} [A: Send, B: Send] (A, B) => (Vec<A>, Vec<B>),
    |self, on| on.unzip(),
    |first, second| both_joined(first, second()),
    {
        fn foreign<I: ParallelIterator<Item = (A, B)>>(&self, iter: I) -> (Vec<A>, Vec<B>) {
            drive::to_two(iter, |firsts, seconds, (a, b)| {
                firsts.push(a);
                seconds.push(b);
            })
        }
    }
}
end! {
    /// Collects the items for which a closure returns true, and the other items.
    Partition { f: F } [T: Send, F: Fn(&T) -> bool + Sync] T => (Vec<T>, Vec<T>),
    |self, on| on.partition(|(_, item)| (self.f)(item)),
    |first, second| both_joined(first, second()),
    {
        fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> (Vec<T>, Vec<T>) {
            drive::to_two(iter, |yes, no, item| if (self.f)(&item) { yes.push(item) } else { no.push(item) })
        }
    }
}

/// Adds up the items.
pub(crate) struct Add<S>(pub(crate) PhantomData<fn() -> S>);
ends!([T, S: Send + Sum<T> + Sum<S>] Add<S>, T => S,
    |self, on| on.sum(),
    |first, second| [first, second()].into_iter().sum(),
    through Later iter::empty::<T>().sum(), |sum, item| Ok([sum, [item].into_iter().sum()].into_iter().sum()));

/// Multiplies the items.
pub(crate) struct Multiply<S>(pub(crate) PhantomData<fn() -> S>);
ends!([T, S: Send + Product<T> + Product<S>] Multiply<S>, T => S,
|self, on| on.product(),
|first, second| [first, second()].into_iter().product(),
through Later iter::empty::<T>().product(), |all, item| {
    Ok([all, [item].into_iter().product()].into_iter().product())
});

/// Appends all items to a vector. (One loop holds the lock. A vector behind a lock is `Sync`.)
pub(crate) struct Into<'v, T>(Mutex<&'v mut Vec<T>>);

impl<'v, T> Into<'v, T> {
    pub(crate) fn new(to: &'v mut Vec<T>) -> Self {
        Self(Mutex::new(to))
    }
}

ends!([T: Send] Into<'_, T>, T => (),
|self, on| on.collect_into(&mut lock(&self.0)),
|_first, second| second(),
{
    fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) {
        drive::append(iter, &mut lock(&self.0));
    }
});

/// The items that a loop gives to an end, in a vector with room for `known` items. A macro, since a
/// closure does not keep the caller's place in the source.
macro_rules! gathered {
    ($known:expr, |$end:ident| $run:expr) => {{
        let mut all = Vec::with_capacity($known.unwrap_or(0));
        let $end = $crate::iter::ends::Into::new(&mut all);
        $run;
        all
    }};
}
pub(crate) use gathered;

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
