//! The ends of loops. A chain's type cannot be named, so an iterator cannot return its chain.
//! Instead, the iterator receives an end, and passes its chain to this end.

use std::marker::PhantomData;

use rangesteal::{
    On,
    options::{Fresh, OnPool, Stateless},
    source,
    source::{Chain, Source, portioned},
};

use super::{ParallelIterator, Staged, drive::gather, lend::Driven, plumbing::Folder};
use crate::pool::{Seat, current};

/// Consumes a chain of items `T`.
#[doc(hidden)]
pub trait End<T>: Sync {
    /// The result.
    type Out: Send;
    /// The state that each worker keeps during the loop, for the stages before the end.
    type Kept;

    /// Whether any of several items may be the result, and then ends the loop.
    const TAKES_ANY: bool = false;

    /// Makes the state of a worker.
    fn keep(&self) -> Self::Kept;

    /// Runs the loop. `kept` finds the part that belongs to this end in a worker's state.
    #[track_caller]
    fn run<C, G, W, L>(&self, on: On<C, OnPool<'_>>, kept: L) -> Self::Out
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
        L: Keeps<W, Self::Kept>;

    /// The result of two loops, one after the other. `first` is the result of the first loop, and
    /// `second` runs the second loop, if it is still needed.
    fn then(&self, first: Self::Out, second: impl FnOnce() -> Self::Out) -> Self::Out;

    /// Runs the loop over an iterator that another crate has defined.
    #[track_caller]
    fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> Self::Out
    where
        T: Send,
    {
        self.chain(source(gather(iter)))
    }

    /// Runs the loop over such an iterator in reverse.
    #[track_caller]
    fn foreign_backward<I: ParallelIterator<Item = T>>(&self, iter: I) -> Self::Out
    where
        T: Send,
    {
        self.chain(source(gather(iter)).rev())
    }

    /// Runs the loop over a chain, on the pool of this thread's loops.
    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(&self, chain: C) -> Self::Out {
        let pool = current();
        self.run(pool.on(chain).with(|_| (Seat::take(&pool), self.keep())), Whole)
    }
}

/// Finds the part `K` in a worker's state `W`. (A function that returns a reference to `K` would
/// need to know that `W` lives as long as `K`.)
#[doc(hidden)]
pub trait Keeps<W, K>: Copy + Sync {
    /// Calls `work` with the part.
    fn with<R>(self, state: &mut W, work: impl FnOnce(&mut K) -> R) -> R;
}

/// The part that belongs to the first stage of a loop: all but the seat.
#[derive(Clone, Copy)]
struct Whole;

impl<K> Keeps<(Seat, K), K> for Whole {
    #[inline(always)]
    fn with<R>(self, (_, kept): &mut (Seat, K), work: impl FnOnce(&mut K) -> R) -> R {
        work(kept)
    }
}

/// The part that belongs to the stages behind a stage, next to the part of that stage.
pub(crate) struct Behind<L, S>(L, PhantomData<fn() -> S>);

impl<L: Copy, S> Copy for Behind<L, S> {}

impl<L: Copy, S> Clone for Behind<L, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L, S> Behind<L, S> {
    pub(crate) fn new(kept: L) -> Self {
        Self(kept, PhantomData)
    }
}

impl<W, S, K, L: Keeps<W, (S, K)>> Keeps<W, K> for Behind<L, S> {
    #[inline(always)]
    fn with<R>(self, state: &mut W, work: impl FnOnce(&mut K) -> R) -> R {
        self.0.with(state, |(_, kept)| work(kept))
    }
}

impl<T, E: End<T>> End<T> for &E {
    type Out = E::Out;
    type Kept = E::Kept;
    const TAKES_ANY: bool = E::TAKES_ANY;

    fn keep(&self) -> E::Kept {
        (**self).keep()
    }

    #[track_caller]
    fn run<C, G, W, L>(&self, on: On<C, OnPool<'_>>, kept: L) -> E::Out
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
        L: Keeps<W, E::Kept>,
    {
        (**self).run(on, kept)
    }

    #[track_caller]
    fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> E::Out
    where
        T: Send,
    {
        (**self).foreign(iter)
    }

    #[track_caller]
    fn foreign_backward<I: ParallelIterator<Item = T>>(&self, iter: I) -> E::Out
    where
        T: Send,
    {
        (**self).foreign_backward(iter)
    }

    fn then(&self, first: E::Out, second: impl FnOnce() -> E::Out) -> E::Out {
        (**self).then(first, second)
    }
}

/// Consumes a source of items `T`, each of which has an index.
#[doc(hidden)]
pub trait IndexedEnd<T> {
    /// The result.
    type Out;

    /// Runs the loop.
    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> Self::Out;
}

/// The minimal and maximal length of a part if the program sets none.
pub(crate) const ANY_LENGTH: (usize, usize) = (1, usize::MAX);

/// Consumes a source as an unindexed chain. The bounds are those of the lengths of the parts into
/// which another crate's iterator is split: see [`ParallelIterator::rs_lengths`].
pub(crate) struct Unindexed<E>(pub(crate) E, pub(crate) (usize, usize));

impl<T: Send, E: End<T>> IndexedEnd<T> for Unindexed<E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> E::Out {
        let Self(end, lengths) = self;
        if const { S::IS_PARTED } {
            return portioned(source, |all| end.foreign(Driven { all, lengths }));
        }
        end.chain(source)
    }
}

/// Consumes a source in reverse, as an unindexed chain. The bounds are those of [`Unindexed`].
pub(crate) struct Backward<E>(pub(crate) E, pub(crate) (usize, usize));

impl<T: Send, E: End<T>> IndexedEnd<T> for Backward<E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, items: S) -> E::Out {
        let Self(end, lengths) = self;
        if const { S::IS_PARTED } {
            return portioned(items, |all| end.foreign_backward(Driven { all, lengths }));
        }
        end.chain(source(items).rev())
    }
}

/// A stage of a chain: maps, filters or expands items.
#[doc(hidden)]
pub trait Stage<T> {
    /// The type of the items behind the stage.
    type Made: Send;
    /// Whether the stage makes exactly one item of each item that it receives.
    const ONE_EACH: bool = false;
    /// Whether the stage makes at most one item of each item that it receives.
    const ONE_AT_MOST: bool = true;

    /// Whether a loop by [`feed_all`](Self::feed_all) is faster than a chain.
    const FEEDS_ALL: bool = false;

    /// Gives the items that the stage makes of an item to `next`, until `next` returns an `Err`.
    fn feed<A>(&self, item: T, acc: A, next: impl FnMut(A, Self::Made) -> Result<A, A>) -> Result<A, A>;

    /// Gives the items that the stage makes of the items of a part to `folder`, until the folder is
    /// full, or the stage has ended.
    #[inline(always)]
    fn feed_all<F: Folder<Self::Made>>(&self, items: impl Iterator<Item = T>, mut folder: F) -> F {
        for item in items {
            folder = self.feed_to(item, folder);
            if self.has_ended() || folder.full() {
                break;
            }
        }
        folder
    }

    /// [`feed`](Self::feed) for a folder.
    #[inline(always)]
    fn feed_to<F: Folder<Self::Made>>(&self, item: T, folder: F) -> F {
        let next = |folder: F, made| {
            let folder = folder.consume(made);
            if folder.full() { Err(folder) } else { Ok(folder) }
        };
        let (Ok(folder) | Err(folder)) = self.feed(item, folder, next);
        folder
    }

    /// Whether the stage makes nothing of any further item.
    fn has_ended(&self) -> bool {
        false
    }

    /// Appends this stage to a chain.
    fn behind<'p, C, G, W>(
        &self,
        on: On<C, OnPool<'p>>,
    ) -> On<impl Chain<Item = Self::Made, State = Fresh<G>> + Sync, OnPool<'p>>
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync;
}

impl<T, S: Stage<T>> Stage<T> for &S {
    type Made = S::Made;
    const ONE_EACH: bool = S::ONE_EACH;
    const ONE_AT_MOST: bool = S::ONE_AT_MOST;
    const FEEDS_ALL: bool = S::FEEDS_ALL;

    #[inline(always)]
    fn feed<A>(&self, item: T, acc: A, next: impl FnMut(A, S::Made) -> Result<A, A>) -> Result<A, A> {
        (**self).feed(item, acc, next)
    }

    #[inline(always)]
    fn feed_all<F: Folder<S::Made>>(&self, items: impl Iterator<Item = T>, folder: F) -> F {
        (**self).feed_all(items, folder)
    }

    fn has_ended(&self) -> bool {
        (**self).has_ended()
    }

    fn behind<'p, C, G, W>(
        &self,
        on: On<C, OnPool<'p>>,
    ) -> On<impl Chain<Item = S::Made, State = Fresh<G>> + Sync, OnPool<'p>>
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
    {
        (**self).behind(on)
    }
}

/// A stage whose results each have an index.
#[diagnostic::on_unimplemented(
    message = "items behind `filter`, `flat_map` and so on have no index",
    label = "needs items that have an index",
    note = "`collect` the items into a `Vec` first, and pass the `Vec`"
)]
#[doc(hidden)]
pub trait IndexedStage<T> {
    /// The type of the items behind the stage.
    type Made: Send;

    /// The number of items behind the stage, if there are `count` items before the stage.
    fn count(&self, count: usize) -> usize {
        count
    }

    /// The minimal and maximal length of a run, given these lengths before the stage:
    /// see [`rs_lengths`](super::ParallelIterator::rs_lengths).
    fn lengths(&self, lengths: (usize, usize)) -> (usize, usize) {
        lengths
    }

    /// Appends this stage to a source.
    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = Self::Made> + Sync;
}

/// A stage, and the end that consumes the items behind it.
pub(crate) struct Then<G, E>(pub(crate) G, pub(crate) E);

impl<T, S: Stage<T> + Sync, E: End<S::Made>> End<T> for Then<S, E> {
    type Out = E::Out;
    type Kept = E::Kept;
    const TAKES_ANY: bool = E::TAKES_ANY;

    fn keep(&self) -> E::Kept {
        self.1.keep()
    }

    #[track_caller]
    fn run<C, G, W, L>(&self, on: On<C, OnPool<'_>>, kept: L) -> E::Out
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
        L: Keeps<W, E::Kept>,
    {
        self.1.run(self.0.behind(on), kept)
    }

    #[track_caller]
    fn foreign<I: ParallelIterator<Item = T>>(&self, iter: I) -> E::Out
    where
        T: Send,
    {
        self.1.foreign(Staged { base: iter, stage: &self.0 })
    }

    #[track_caller]
    fn foreign_backward<I: ParallelIterator<Item = T>>(&self, iter: I) -> E::Out
    where
        T: Send,
    {
        self.1.foreign_backward(Staged { base: iter, stage: &self.0 })
    }

    fn then(&self, first: E::Out, second: impl FnOnce() -> E::Out) -> E::Out {
        self.1.then(first, second)
    }
}

impl<T, G: IndexedStage<T>, E: IndexedEnd<G::Made>> IndexedEnd<T> for Then<G, E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> E::Out {
        self.1.source(self.0.behind(source))
    }
}
