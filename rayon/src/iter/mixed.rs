//! Iterators over the items of two iterators, one after the other, and over items with a separator.

use std::{cell::Cell, iter, sync::Mutex};

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source,
};

use super::{
    End, Gather, GatherExact, Gathered, IndexedEnd, IndexedParallelIterator, Keeps, ParallelIterator, drive,
    end::Behind,
    ends,
    lend::ToEnd,
    plumbing::{Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer},
    shown,
};
use crate::{join::join, sync::lock};

/// The items of one iterator, then the items of another one.
#[doc(hidden)]
#[derive(Clone)]
pub struct OneAfterOther<A, B>(pub(super) A, pub(super) B);
shown!(OneAfterOther<A, B>);

/// See [`ParallelIterator::chain`].
pub type Chain<A, B> = Gathered<OneAfterOther<A, B>>;

impl<A: ParallelIterator, B: ParallelIterator<Item = A::Item>> Gather for OneAfterOther<A, B> {
    type Item = A::Item;

    fn gather(self) -> Vec<A::Item> {
        ends::gathered!(self.known_len(), |end| self.rs_run(end))
    }

    /// Runs a loop over each of the iterators.
    #[track_caller]
    fn rs_run<E: End<A::Item>>(self, end: E) -> E::Out {
        let Self(a, b) = self;
        let first = a.rs_run(&end);
        end.then(first, || b.rs_run(&end))
    }

    fn drive<C: UnindexedConsumer<A::Item>>(self, consumer: C) -> C::Result {
        let Self(a, b) = self;
        let (left, right, reducer) = if let (Some(before), Some(_)) = (a.opt_len(), b.opt_len()) {
            consumer.split_at(before) // a consumer of a known number of items needs that
        } else {
            let (left, reducer) = (consumer.split_off_left(), consumer.to_reducer());
            (left, consumer, reducer)
        };
        let (first, second) = join(|| a.drive_unindexed(left), || b.drive_unindexed(right));
        reducer.reduce(first, second)
    }

    #[track_caller]
    fn rs_run_backward<E: End<A::Item>>(self, end: E) -> E::Out {
        let Self(a, b) = self;
        let first = b.rs_run_backward(&end);
        end.then(first, || a.rs_run_backward(&end))
    }

    fn known_len(&self) -> Option<usize> {
        self.0.opt_len()?.checked_add(self.1.opt_len()?)
    }
}

impl<A: IndexedParallelIterator, B: IndexedParallelIterator<Item = A::Item>> GatherExact
    for OneAfterOther<A, B>
{
    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<A::Item>>(self, end: E) -> E::Out {
        let len = self.known_len().expect("at most `usize::MAX` items");
        self.lend(ToEnd { len, end })
    }

    fn lend<CB: ProducerCallback<A::Item>>(self, callback: CB) -> CB::Output {
        let Self(a, b) = self;
        let before = a.len();
        a.with_producer(WithFirst { before, b, to: callback })
    }
}

/// Receives the producer of the first of two iterators, which has `before` items.
struct WithFirst<B, CB> {
    before: usize,
    b: B,
    to: CB,
}

impl<T, B: IndexedParallelIterator<Item = T>, CB: ProducerCallback<T>> ProducerCallback<T>
    for WithFirst<B, CB>
{
    type Output = CB::Output;

    fn callback<P: Producer<Item = T>>(self, first: P) -> CB::Output {
        let Self { before, b, to } = self;
        b.with_producer(WithSecond { before, first, to })
    }
}

/// Receives the producer of the second of two iterators.
struct WithSecond<P, CB> {
    before: usize,
    first: P,
    to: CB,
}

impl<P: Producer, CB: ProducerCallback<P::Item>> ProducerCallback<P::Item> for WithSecond<P, CB> {
    type Output = CB::Output;

    fn callback<Q: Producer<Item = P::Item>>(self, second: Q) -> CB::Output {
        let Self { before, first, to } = self;
        to.callback(Both { before, first, second })
    }
}

/// The items of one producer, which has `before` items, then those of another one.
struct Both<P, Q> {
    before: usize,
    first: P,
    second: Q,
}

impl<P: Producer, Q: Producer<Item = P::Item>> Producer for Both<P, Q> {
    type Item = P::Item;
    type IntoIter = ItemsOfBoth<P::IntoIter, Q::IntoIter>;

    fn into_iter(self) -> Self::IntoIter {
        ItemsOfBoth(self.first.into_iter().chain(self.second.into_iter()))
    }

    fn min_len(&self) -> usize {
        self.first.min_len().max(self.second.min_len())
    }

    fn max_len(&self) -> usize {
        self.first.max_len().min(self.second.max_len())
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let of_first = index.min(self.before);
        let (first, more_of_first) = self.first.split_at(of_first);
        let (second, more_of_second) = self.second.split_at(index - of_first);
        let behind = Self { before: self.before - of_first, first: more_of_first, second: more_of_second };
        (Self { before: of_first, first, second }, behind)
    }

    fn fold_with<F: Folder<P::Item>>(self, folder: F) -> F {
        let folder = self.first.fold_with(folder);
        if folder.full() { folder } else { self.second.fold_with(folder) }
    }
}

/// The items of two iterators, whose number is known.
struct ItemsOfBoth<A, B>(iter::Chain<A, B>);

impl<A: Iterator, B: Iterator<Item = A::Item>> Iterator for ItemsOfBoth<A, B> {
    type Item = A::Item;

    #[inline]
    fn next(&mut self) -> Option<A::Item> {
        self.0.next()
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }

    #[inline]
    fn fold<R, F: FnMut(R, A::Item) -> R>(self, acc: R, f: F) -> R {
        self.0.fold(acc, f)
    }
}

impl<A, B> DoubleEndedIterator for ItemsOfBoth<A, B>
where
    A: DoubleEndedIterator,
    B: DoubleEndedIterator<Item = A::Item>,
{
    #[inline]
    fn next_back(&mut self) -> Option<A::Item> {
        self.0.next_back()
    }
}

impl<A: ExactSizeIterator, B: ExactSizeIterator<Item = A::Item>> ExactSizeIterator for ItemsOfBoth<A, B> {}

/// The items of an iterator, with a clone of a separator between neighbours.
#[doc(hidden)]
#[derive(Clone)]
pub struct WithBetween<I, T>(pub(super) I, pub(super) T);
shown!(WithBetween<I, T>);

/// See [`ParallelIterator::intersperse`].
pub type Intersperse<I> = Gathered<WithBetween<I, <I as ParallelIterator>::Item>>;

impl<T: Clone + Send, I: ParallelIterator<Item = T>> Gather for WithBetween<I, T> {
    type Item = T;

    fn gather(self) -> Vec<T> {
        ends::gathered!(self.known_len(), |end| self.rs_run(end))
    }

    /// If the number of items is known, each part of the loop knows whether it has the first item.
    /// Otherwise the items are gathered without the separators, since each item but the first one
    /// needs its separator.
    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        if self.known_len().is_some() {
            return end.foreign(Gathered(self));
        }
        let Self(base, between) = self;
        ThenBetween { between: Mutex::new(between), end }.chain(source(base.rs_into_items()).enumerate())
    }

    fn drive<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        if self.known_len().is_none() {
            return drive(source(self.gather()), consumer);
        }
        let Self(base, between) = self;
        base.drive_unindexed(PartBetween { consumer, between, has_first: Cell::new(true) })
    }

    fn known_len(&self) -> Option<usize> {
        let items = self.0.opt_len()?;
        items.checked_add(items.saturating_sub(1))
    }
}

impl<T: Clone + Send, I: IndexedParallelIterator<Item = T>> GatherExact for WithBetween<I, T> {}

/// A part of a loop, or its folder, that gives items with separators to a consumer or folder.
struct PartBetween<T, C> {
    consumer: C,
    between: T,
    /// Whether the part has the first item of the loop, to which no separator belongs.
    has_first: Cell<bool>,
}

impl<T: Clone, C> PartBetween<T, C> {
    fn part<D>(&self, consumer: D, has_first: bool) -> PartBetween<T, D> {
        PartBetween { consumer, between: self.between.clone(), has_first: Cell::new(has_first) }
    }
}

impl<T: Clone + Send, C: Consumer<T>> Consumer<T> for PartBetween<T, C> {
    type Folder = PartBetween<T, C::Folder>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, index: usize) -> (Self, Self, C::Reducer) {
        let Self { consumer, between, has_first } = self;
        let has_first = has_first.get();
        let (left, right, reducer) = consumer.split_at(2 * index - usize::from(has_first && index > 0));
        let left = PartBetween { consumer: left, between: between.clone(), has_first: Cell::new(has_first) };
        let right_has_first = Cell::new(has_first && index == 0);
        (left, PartBetween { consumer: right, between, has_first: right_has_first }, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        let Self { consumer, between, has_first } = self;
        PartBetween { consumer: consumer.into_folder(), between, has_first }
    }

    fn full(&self) -> bool {
        self.consumer.full()
    }
}

impl<T: Clone + Send, C: UnindexedConsumer<T>> UnindexedConsumer<T> for PartBetween<T, C> {
    fn split_off_left(&self) -> Self {
        self.part(self.consumer.split_off_left(), self.has_first.replace(false))
    }

    fn to_reducer(&self) -> C::Reducer {
        self.consumer.to_reducer()
    }
}

impl<T: Clone, F: Folder<T>> Folder<T> for PartBetween<T, F> {
    type Result = F::Result;

    fn consume(self, item: T) -> Self {
        let Self { mut consumer, between, has_first } = self;
        if !has_first.replace(false) {
            consumer = consumer.consume(between.clone());
        }
        if !consumer.full() {
            consumer = consumer.consume(item);
        }
        Self { consumer, between, has_first }
    }

    /// Passes all items on at once.
    fn consume_iter<I: IntoIterator<Item = T>>(self, iter: I) -> Self {
        let mut items = iter.into_iter();
        let Self { mut consumer, between, has_first } = self;
        if has_first.get()
            && let Some(first) = items.next()
        {
            has_first.set(false);
            consumer = consumer.consume(first);
        }
        if !consumer.full() {
            consumer = consumer
                .consume_iter(items.flat_map(|item| iter::once(between.clone()).chain(iter::once(item))));
        }
        Self { consumer, between, has_first }
    }

    fn complete(self) -> F::Result {
        self.consumer.complete()
    }

    fn full(&self) -> bool {
        self.consumer.full()
    }
}

/// A stage that puts a clone of a separator before each item except the first one, and the end
/// behind the stage. Each worker clones its own separator, since `T` need not be `Sync`.
struct ThenBetween<T, E> {
    between: Mutex<T>,
    end: E,
}

impl<T: Clone + Send, E: End<T>> End<(usize, T)> for ThenBetween<T, E> {
    type Out = E::Out;
    type Kept = (T, E::Kept);

    fn keep(&self) -> Self::Kept {
        (lock(&self.between).clone(), self.end.keep())
    }

    #[track_caller]
    fn run<C, G, W, L>(&self, on: On<C, OnPool<'_>>, kept: L) -> E::Out
    where
        C: source::Chain<Item = (usize, T), State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
        L: Keeps<W, Self::Kept>,
    {
        let spread = on.flat_map(|(state, (at, item))| {
            let between = kept.with(state, |(between, _)| (at > 0).then(|| between.clone()));
            between.into_iter().chain(iter::once(item))
        });
        self.end.run(spread, Behind::<_, T>::new(kept))
    }

    fn then(&self, first: E::Out, second: impl FnOnce() -> E::Out) -> E::Out {
        self.end.then(first, second)
    }
}
