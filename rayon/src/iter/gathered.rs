//! Iterators whose items have no index in the sources of rangesteal. If the loop needs an index, or
//! if the iterator has no chain of its own, the items are gathered into a vector when the loop
//! begins, and the loop runs over the vector.

use std::fmt;

use rangesteal::source;

use super::{
    ANY_LENGTH, End, IndexedEnd, IndexedParallelIterator, Lend, ParallelIterator, drive,
    plumbing::{Consumer, ProducerCallback, UnindexedConsumer, bridge},
};

/// A source of items that can be gathered into a vector.
#[doc(hidden)]
pub trait Gather: Send {
    /// The type of an item.
    type Item: Send;

    /// Returns all items, in order.
    #[track_caller]
    fn gather(self) -> Vec<Self::Item>;

    /// Gives the chain of the items to `end`. Without an implementation of its own, a loop runs
    /// over the gathered items.
    #[track_caller]
    fn rs_run<E: End<Self::Item>>(self, end: E) -> E::Out
    where
        Self: Sized,
    {
        end.chain(source(self.gather()))
    }

    /// Gives the items to a consumer.
    fn drive<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result
    where
        Self: Sized,
    {
        drive(source(self.gather()), consumer)
    }

    /// Gives the chain of the items in reverse to `end`.
    #[track_caller]
    fn rs_run_backward<E: End<Self::Item>>(self, end: E) -> E::Out
    where
        Self: Sized,
    {
        end.chain(source(self.gather()).rev())
    }

    /// The number of items, if known.
    fn known_len(&self) -> Option<usize> {
        None
    }
}

/// A source of items whose number is always known.
#[doc(hidden)]
pub trait GatherExact: Gather {
    /// Gives the source of the items to `end`.
    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out
    where
        Self: Sized,
    {
        end.source(source(self.gather()))
    }

    /// Calls `callback` with the producer of the items.
    fn lend<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output
    where
        Self: Sized,
    {
        self.rs_run_indexed(Lend { to: callback, lengths: ANY_LENGTH })
    }
}

/// An iterator whose items are gathered into a vector when the loop begins, if the loop needs that.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Gathered<G>(pub(crate) G);
impl<G: Gather> ParallelIterator for Gathered<G> {
    type Item = G::Item;

    fn drive_unindexed<C: UnindexedConsumer<G::Item>>(self, consumer: C) -> C::Result {
        self.0.drive(consumer)
    }

    #[track_caller]
    fn rs_run<E: End<G::Item>>(self, end: E) -> E::Out {
        self.0.rs_run(end)
    }

    #[track_caller]
    fn rs_run_backward<E: End<G::Item>>(self, end: E) -> E::Out {
        self.0.rs_run_backward(end)
    }

    fn rs_into_items(self) -> Vec<G::Item> {
        self.0.gather()
    }

    fn opt_len(&self) -> Option<usize> {
        self.0.known_len()
    }
}

impl<G: GatherExact> IndexedParallelIterator for Gathered<G> {
    fn drive<C: Consumer<G::Item>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<G::Item>>(self, callback: CB) -> CB::Output {
        self.0.lend(callback)
    }

    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<G::Item>>(self, end: E) -> E::Out {
        self.0.rs_run_indexed(end)
    }

    fn len(&self) -> usize {
        self.0.known_len().expect("the number of items is known")
    }
}

/// The items of a serial iterator, whose number is not known.
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

/// The items of a serial iterator, whose number is known.
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
