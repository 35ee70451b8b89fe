//! Iterators that have no chain of their own: their items are gathered into a vector when the loop
//! begins, and the loop runs over that.

use std::fmt;

use rangesteal::source;

use super::{End, IndexedEnd, IndexedParallelIterator, ParallelIterator};

/// What can be gathered into a vector.
#[doc(hidden)]
pub trait Gather: Send {
    /// An item.
    type Item: Send;

    /// All items, in order.
    fn gather(self) -> Vec<Self::Item>;

    /// How many there will be, if that is known.
    fn known_len(&self) -> Option<usize> {
        None
    }
}

/// What can be gathered, and knows how many items there will be.
#[doc(hidden)]
pub trait GatherExact: Gather {}

/// An iterator over items that are gathered into a vector when the loop begins.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Gathered<G>(pub(crate) G);

impl<G> crate::absent::IsOfThisCrate for Gathered<G> {}

impl<G: Gather> ParallelIterator for Gathered<G> {
    type Item = G::Item;

    #[track_caller]
    fn run<E: End<G::Item>>(self, end: E) -> E::Out {
        end.chain(source(self.0.gather()))
    }

    fn into_items(self) -> Vec<G::Item> {
        self.0.gather()
    }

    fn opt_len(&self) -> Option<usize> {
        self.0.known_len()
    }
}

impl<G: GatherExact> IndexedParallelIterator for Gathered<G> {
    #[track_caller]
    fn run_indexed<E: IndexedEnd<G::Item>>(self, end: E) -> E::Out {
        end.source(source(self.0.gather()))
    }

    fn len(&self) -> usize {
        self.0.known_len().expect("it knows")
    }
}

/// The items of an iterator of the standard library, whose number is not known.
#[doc(hidden)]
#[derive(Clone)]
pub struct Listed<I>(pub(crate) I);

impl<I: Iterator<Item: Send> + Send> Gather for Listed<I> {
    type Item = I::Item;

    fn gather(self) -> Vec<I::Item> {
        self.0.collect()
    }
}

impl<I: fmt::Debug> fmt::Debug for Listed<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The items of an iterator of the standard library, whose number is known.
#[doc(hidden)]
#[derive(Clone)]
pub struct Counted<I>(pub(crate) I);

impl<I: ExactSizeIterator<Item: Send> + Send> Gather for Counted<I> {
    type Item = I::Item;

    fn gather(self) -> Vec<I::Item> {
        self.0.collect()
    }

    fn known_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<I: ExactSizeIterator<Item: Send> + Send> GatherExact for Counted<I> {}

impl<I: fmt::Debug> fmt::Debug for Counted<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
