//! The ends of loops. A chain's type cannot be named, so an iterator cannot return its chain.
//! Instead, the iterator receives an end, and passes its chain to this end.

use rangesteal::{
    options::Stateless,
    source,
    source::{Chain, Source},
};

/// Consumes a chain of items `T`.
#[doc(hidden)]
pub trait End<T> {
    /// The result.
    type Out;

    /// Runs the loop.
    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) -> Self::Out;
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

/// Consumes a source as an unindexed chain.
pub(crate) struct Unindexed<E>(pub(crate) E);

impl<T, E: End<T>> IndexedEnd<T> for Unindexed<E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> E::Out {
        self.0.chain(source)
    }
}

/// Consumes a source in reverse, as an unindexed chain.
pub(crate) struct Backward<E>(pub(crate) E);

impl<T, E: End<T>> IndexedEnd<T> for Backward<E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, items: S) -> E::Out {
        self.0.chain(source(items).rev())
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

    /// Appends this stage to a chain.
    fn behind<C: Chain<Item = T, State = Stateless> + Sync>(
        self,
        chain: C,
    ) -> impl Chain<Item = Self::Made, State = Stateless> + Sync;
}

/// A stage whose results each have an index.
#[doc(hidden)]
pub trait IndexedStage<T> {
    /// The type of the items behind the stage.
    type Made: Send;

    /// The number of items behind the stage, if there are `count` items before the stage.
    fn count(&self, count: usize) -> usize {
        count
    }

    /// The minimal and maximal length of a run, given these lengths before the stage. Only
    /// [`fold`](super::ParallelIterator::fold) obeys these lengths.
    fn lengths(&self, lengths: (usize, usize)) -> (usize, usize) {
        lengths
    }

    /// Appends this stage to a source.
    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = Self::Made> + Sync;
}

/// A stage, and the end that consumes the items behind it.
pub(crate) struct Then<G, E>(pub(crate) G, pub(crate) E);

impl<T, G: Stage<T>, E: End<G::Made>> End<T> for Then<G, E> {
    type Out = E::Out;

    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) -> E::Out {
        self.1.chain(self.0.behind(chain))
    }
}

impl<T, G: IndexedStage<T>, E: IndexedEnd<G::Made>> IndexedEnd<T> for Then<G, E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> E::Out {
        self.1.source(self.0.behind(source))
    }
}
