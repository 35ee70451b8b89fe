//! The stages that need no index of an item.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source,
    source::{Chain, Source},
};

use super::{IndexedStage, Stage, Staged, plumbing::Folder};

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
/// (`one of each`, at most `one`, or `any`), and the chain. A closure behind a chain on a pool
/// receives a worker's state, too. A stage that makes one of each has two chains: one on a pool,
/// and one without, which is a source. Last comes how the stage feeds an item of another crate's
/// iterator to the next stage.
macro_rules! behind {
    ([$($generic:tt)*] $stage:ty, $item:ty => $made:ty, one of each,
        ($self:ident, $on:ident) $behind:expr, $indexed:expr, $feed:tt $fed:expr) => {
        behind!(@ [$($generic)*] $stage, $item => $made, { const ONE_EACH: bool = true; }, ($self, $on) $behind, $feed $fed);

        impl<$($generic)*> IndexedStage<$item> for $stage {
            type Made = $made;

            fn behind<S: Source<Item = $item> + Sync>($self, $on: S) -> impl Source<Item = $made> + Sync {
                $indexed
            }
        }
    };
    ([$($generic:tt)*] $stage:ty, $item:ty => $made:ty, one,
        ($self:ident, $on:ident) $behind:expr, $feed:tt $fed:expr) => {
        behind!(@ [$($generic)*] $stage, $item => $made, {}, ($self, $on) $behind, $feed $fed);
    };
    ([$($generic:tt)*] $stage:ty, $item:ty => $made:ty, any,
        ($self:ident, $on:ident) $behind:expr, $feed:tt $fed:expr) => {
        behind!(@ [$($generic)*] $stage, $item => $made, { const ONE_AT_MOST: bool = false; }, ($self, $on) $behind, $feed $fed);
    };
    ([$($generic:tt)*] $stage:ty, $item:ty => $made:ty, one that stays,
        ($self:ident, $on:ident) $behind:expr, $feed:tt $fed:expr) => {
        behind!(@ [$($generic)*] $stage, $item => $made, {
            const FEEDS_ALL: bool = true;

            /// As soon as an item stays, all items behind it stay.
            #[inline(always)]
            fn feed_all<F_: Folder<$made>>(&self, mut items: impl Iterator<Item = $item>, folder: F_) -> F_ {
                while !folder.full() {
                    let Some(item) = items.next() else { break };
                    if !self.skips(&item) {
                        let folder = folder.consume(item);
                        return if folder.full() { folder } else { folder.consume_iter(items) };
                    }
                }
                folder
            }
        }, ($self, $on) $behind, $feed $fed);
    };
    (@ [$($generic:tt)*] $stage:ty, $item:ty => $made:ty, {$($number:tt)*},
        ($self:ident, $on:ident) $behind:expr, ($one:ident, $acc:ident, $next:ident) $fed:expr) => {
        impl<$($generic)*> Stage<$item> for $stage {
            type Made = $made;
            $($number)*

            #[allow(unused_mut, reason = "some stages pass the closure on")]
            #[inline(always)]
            fn feed<A_>(
                &$self,
                $one: $item,
                $acc: A_,
                mut $next: impl FnMut(A_, $made) -> Result<A_, A_>,
            ) -> Result<A_, A_> {
                $fed
            }

            fn behind<'p, C_, G_, W_>(
                &$self,
                $on: On<C_, OnPool<'p>>,
            ) -> On<impl Chain<Item = $made, State = Fresh<G_>> + Sync, OnPool<'p>>
            where
                C_: Chain<Item = $item, State = Fresh<G_>> + Sync,
                G_: Fn(usize) -> W_ + Sync,
            {
                $behind
            }
        }
    };
}

stage! {
    /// See [`map`](super::ParallelIterator::map).
    Map, MapBy
}
behind!([T, R: Send, F: Fn(T) -> R + Sync] MapBy<F>, T => R, one of each, (self, on) on.map(|(_, item)| (self.0)(item)), source(on).map(self.0),
    (item, acc, next) next(acc, (self.0)(item)));

stage! {
    /// See [`inspect`](super::ParallelIterator::inspect).
    Inspect, InspectBy
}
behind!([T: Send, F: Fn(&T) + Sync] InspectBy<F>, T => T, one of each, (self, on) on.inspect(|(_, item)| (self.0)(item)), source(on).inspect(self.0),
(item, acc, next) {
    (self.0)(&item);
    next(acc, item)
});

stage! {
    /// See [`update`](super::ParallelIterator::update).
    Update, UpdateBy
}
behind!([T: Send, F: Fn(&mut T) + Sync] UpdateBy<F>, T => T, one of each, (self, on) {
    on.map(|(_, mut item)| {
        (self.0)(&mut item);
        item
    })
}, {
    source(on).map(move |mut item| {
        (self.0)(&mut item);
        item
    })
}, (item, acc, next) {
    let mut item = item;
    (self.0)(&mut item);
    next(acc, item)
});

stage! {
    /// See [`filter`](super::ParallelIterator::filter).
    Filter, FilterBy
}
behind!([T: Send, F: Fn(&T) -> bool + Sync] FilterBy<F>, T => T, one, (self, on) on.filter(|(_, item)| (self.0)(item)),
    (item, acc, next) if (self.0)(&item) { next(acc, item) } else { Ok(acc) });

stage! {
    /// See [`filter_map`](super::ParallelIterator::filter_map).
    FilterMap, FilterMapBy
}
behind!([T, R: Send, F: Fn(T) -> Option<R> + Sync] FilterMapBy<F>, T => R, one, (self, on) {
    on.filter_map(|(_, item)| (self.0)(item))
}, (item, acc, next) match (self.0)(item) {
    Some(made) => next(acc, made),
    None => Ok(acc),
});

stage! {
    /// See [`flat_map_iter`](super::ParallelIterator::flat_map_iter).
    FlatMapIter, FlatMapIterBy
}
behind!([T, P: IntoIterator<Item: Send>, F: Fn(T) -> P + Sync] FlatMapIterBy<F>, T => P::Item, any, (self, on) {
    on.flat_map(|(_, item)| (self.0)(item))
}, (item, acc, next) (self.0)(item).into_iter().try_fold(acc, next));

/// The stage of [`FlattenIter`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct FlatIter;

/// See [`flatten_iter`](super::ParallelIterator::flatten_iter).
pub type FlattenIter<I> = Staged<I, FlatIter>;
behind!([P: IntoIterator<Item: Send>] FlatIter, P => P::Item, any, (self, on) on.flatten(),
    (item, acc, next) item.into_iter().try_fold(acc, next));

/// The stage of [`Copied`] and [`Cloned`].
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Owned;

/// See [`copied`](super::ParallelIterator::copied).
pub type Copied<I> = Staged<I, Owned>;
/// See [`cloned`](super::ParallelIterator::cloned).
pub type Cloned<I> = Staged<I, Owned>;
behind!(['a, T: Clone + Send + 'a] Owned, &'a T => T, one of each, (self, on) on.cloned(), source(on).cloned(),
    (item, acc, next) next(acc, item.clone()));

/// The stage that passes all items on.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Same;

/// See [`panic_fuse`](super::ParallelIterator::panic_fuse).
pub type PanicFuse<I> = Staged<I, Same>;
behind!([T: Send] Same, T => T, one of each, (self, on) on, on, (item, acc, next) next(acc, item));

/// The stage of [`SkipAny`]: the number of items that are left to skip.
#[doc(hidden)]
#[derive(Debug)]
#[repr(align(128))] // all threads read it, and the caller writes what is beside it on its stack
pub struct SkipSome(pub(super) AtomicUsize);

impl SkipSome {
    /// Counts an item, unless enough have been skipped.
    #[inline(always)]
    fn skips<T>(&self, _: &T) -> bool {
        self.0.load(Relaxed) > 0 && self.counts()
    }

    #[cold]
    fn counts(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)).is_ok()
    }
}

impl Clone for SkipSome {
    fn clone(&self) -> Self {
        Self(AtomicUsize::new(self.0.load(Relaxed)))
    }
}

/// See [`skip_any`](super::ParallelIterator::skip_any).
pub type SkipAny<I> = Staged<I, SkipSome>;
behind!([T: Send] SkipSome, T => T, one that stays, (self, on) {
    on.filter(|(_, item)| !self.skips(item))
}, (item, acc, next) if self.skips(&item) { Ok(acc) } else { next(acc, item) });

/// The stage of [`SkipAnyWhile`]: the closure, and whether an item has been kept.
#[doc(hidden)]
#[derive(Debug)]
pub struct SkipWhile<F>(pub(super) F, pub(super) AtomicBool);

impl<F> SkipWhile<F> {
    /// Whether this item is left out. If it is not, no item is from now on.
    #[inline(always)]
    fn skips<T>(&self, item: &T) -> bool
    where
        F: Fn(&T) -> bool,
    {
        if self.1.load(Relaxed) {
            return false; // without a write: all threads read this
        }
        let is_left_out = (self.0)(item);
        if !is_left_out {
            self.1.store(true, Relaxed);
        }
        is_left_out
    }
}

impl<F: Clone> Clone for SkipWhile<F> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), AtomicBool::new(self.1.load(Relaxed)))
    }
}

/// See [`skip_any_while`](super::ParallelIterator::skip_any_while).
pub type SkipAnyWhile<I, F> = Staged<I, SkipWhile<F>>;
behind!([T: Send, F: Fn(&T) -> bool + Sync] SkipWhile<F>, T => T, one that stays, (self, on) {
    on.filter(|(_, item)| !self.skips(item))
}, (item, acc, next) if self.skips(&item) { Ok(acc) } else { next(acc, item) });
