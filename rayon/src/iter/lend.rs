//! Producers of our sources, and sources of others' producers.

use rangesteal::source::{InParts, Portion, Source, Splittable, portioned};

use super::{
    ANY_LENGTH, IndexedEnd, ParallelIterator,
    plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge_producer_consumer},
};

/// The producer of a portion, and the bounds of the length of a part. The type of the items has no
/// name, but the closure `open` returns it.
struct PortionProducer<'s, S, O> {
    portion: Portion<'s, S>,
    lengths: (usize, usize),
    open: O,
}

/// The producer of a portion, in parts of these lengths.
fn producer<S: Source + Sync>(
    portion: Portion<'_, S>,
    lengths: (usize, usize),
) -> impl Producer<Item = S::Item> {
    PortionProducer { portion, lengths, open: Portion::items }
}

impl<'s, S, I, O> Producer for PortionProducer<'s, S, O>
where
    S: Source + Sync,
    I: ExactSizeIterator<Item = S::Item> + DoubleEndedIterator,
    O: Fn(Portion<'s, S>) -> I + Copy + Send,
{
    type Item = S::Item;
    type IntoIter = I;

    fn into_iter(self) -> I {
        (self.open)(self.portion)
    }

    fn min_len(&self) -> usize {
        self.lengths.0
    }

    fn max_len(&self) -> usize {
        self.lengths.1
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let Self { portion, lengths, open } = self;
        let (first, second) = portion.split_at(index);
        (Self { portion: first, lengths, open }, Self { portion: second, lengths, open })
    }
}

/// An end that lends the items to a callback.
pub(crate) struct Lend<CB> {
    pub(crate) to: CB,
    /// The bounds of the length of a part: see [`rs_lengths`](ParallelIterator::rs_lengths).
    pub(crate) lengths: (usize, usize),
}

impl<T, CB: ProducerCallback<T>> IndexedEnd<T> for Lend<CB> {
    type Out = CB::Output;

    fn source<S: Source<Item = T> + Sync>(self, source: S) -> CB::Output {
        let Self { to, lengths } = self;
        portioned(source, |portion| to.callback(producer(portion, lengths)))
    }
}

/// Gives the items of a portion to a consumer, in parts of these lengths.
fn give<S: Source + Sync, C: Consumer<S::Item>>(
    portion: Portion<'_, S>,
    lengths: (usize, usize),
    consumer: C,
) -> C::Result {
    bridge_producer_consumer(portion.len(), producer(portion, lengths), consumer)
}

/// Gives the items of a source to a consumer.
pub(crate) fn drive<S: Source + Sync, C: Consumer<S::Item>>(source: S, consumer: C) -> C::Result {
    portioned(source, |all| give(all, ANY_LENGTH, consumer))
}

/// An iterator over the items of a source that begins with another crate's iterator: its parts are
/// few, since each is split off under a lock.
pub(super) struct Driven<'s, S> {
    pub(super) all: Portion<'s, S>,
    /// The bounds of the length of a part.
    pub(super) lengths: (usize, usize),
}

impl<S: Source<Item: Send> + Sync> ParallelIterator for Driven<'_, S> {
    type Item = S::Item;

    fn drive_unindexed<C: UnindexedConsumer<S::Item>>(self, consumer: C) -> C::Result {
        give(self.all, self.lengths, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.all.len())
    }
}

/// Implements the methods of rayon's traits for an iterator whose items have an index.
macro_rules! unindexed_by_bridge {
    () => {
        fn drive_unindexed<C_>(self, consumer: C_) -> C_::Result
        where
            C_: $crate::iter::plumbing::UnindexedConsumer<Self::Item>,
        {
            $crate::iter::plumbing::bridge(self, consumer)
        }
    };
}
pub(crate) use unindexed_by_bridge;

/// The other methods: see [`unindexed_by_bridge`].
macro_rules! indexed_by_bridge {
    () => {
        fn drive<C_: $crate::iter::plumbing::Consumer<Self::Item>>(self, consumer: C_) -> C_::Result {
            $crate::iter::plumbing::bridge(self, consumer)
        }

        fn with_producer<C_>(self, callback: C_) -> C_::Output
        where
            C_: $crate::iter::plumbing::ProducerCallback<Self::Item>,
        {
            let lengths = $crate::iter::ParallelIterator::rs_lengths(&self);
            $crate::iter::IndexedParallelIterator::rs_run_indexed(
                self,
                $crate::iter::Lend { to: callback, lengths },
            )
        }
    };
}
pub(crate) use indexed_by_bridge;

/// The producer of another crate's iterator.
struct Theirs<P>(P);

impl<P: Producer> Splittable for Theirs<P> {
    type Item = P::Item;
    type Items = P::IntoIter;

    fn split_at(self, len: usize) -> (Self, Self) {
        let (first, second) = self.0.split_at(len);
        (Self(first), Self(second))
    }

    fn into_items(self) -> P::IntoIter {
        self.0.into_iter()
    }
}

/// Receives the producer of another crate's iterator of `len` items, and gives the items to an end.
pub(super) struct ToEnd<E> {
    pub(super) len: usize,
    pub(super) end: E,
}

impl<T, E: IndexedEnd<T>> ProducerCallback<T> for ToEnd<E> {
    type Output = E::Out;

    #[track_caller]
    fn callback<P: Producer<Item = T>>(self, producer: P) -> E::Out {
        self.end.source(InParts::new(Theirs(producer), self.len))
    }
}
