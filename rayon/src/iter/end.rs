//! What a loop does with a chain. The types of chains have no names, so an iterator does not return
//! its chain: it is given what is to be done with it.

use rangesteal::{
    options::Stateless,
    source,
    source::{Chain, Source},
};

/// What is done with a chain of items `T`.
#[doc(hidden)]
pub trait End<T> {
    /// What comes of it.
    type Out;

    /// Does it.
    #[track_caller]
    fn chain<C: Chain<Item = T, State = Stateless> + Sync>(self, chain: C) -> Self::Out;
}

/// What is done with a source of items `T`: each has an index.
#[doc(hidden)]
pub trait IndexedEnd<T> {
    /// What comes of it.
    type Out;

    /// Does it.
    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> Self::Out;
}

/// Of a source, what can be done with any chain.
pub(crate) struct Unindexed<E>(pub(crate) E);

impl<T, E: End<T>> IndexedEnd<T> for Unindexed<E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, source: S) -> E::Out {
        self.0.chain(source)
    }
}

/// Of a source in reverse, what can be done with any chain.
pub(crate) struct Backward<E>(pub(crate) E);

impl<T, E: End<T>> IndexedEnd<T> for Backward<E> {
    type Out = E::Out;

    #[track_caller]
    fn source<S: Source<Item = T> + Sync>(self, items: S) -> E::Out {
        self.0.chain(source(items).rev())
    }
}

/// A stage of a chain, behind which other items come out.
#[doc(hidden)]
pub trait Stage<T> {
    /// What comes out.
    type Made: Send;
    /// Whether one comes out for each.
    const ONE_EACH: bool = false;
    /// Whether at most one does.
    const ONE_AT_MOST: bool = true;

    /// Puts it behind a chain.
    fn behind<C: Chain<Item = T, State = Stateless> + Sync>(
        self,
        chain: C,
    ) -> impl Chain<Item = Self::Made, State = Stateless> + Sync;
}

/// A stage behind which each item has an index.
#[doc(hidden)]
pub trait IndexedStage<T> {
    /// What comes out.
    type Made: Send;

    /// How many of so many.
    fn count(&self, count: usize) -> usize {
        count
    }

    /// The least and the greatest length of a run: advice, which
    /// [`fold`](super::ParallelIterator::fold) follows.
    fn lengths(&self, lengths: (usize, usize)) -> (usize, usize) {
        lengths
    }

    /// Puts it behind a source.
    fn behind<S: Source<Item = T> + Sync>(self, source: S) -> impl Source<Item = Self::Made> + Sync;
}

/// A stage, and what is done behind it.
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
