//! The interface between the parallel iterators of several crates, as in rayon.
//!
//! A [`Producer`] has items that can be split, and a [`Consumer`] receives items. A bridge splits
//! both into halves, as long as threads are idle, and folds the items of each part. The results of
//! the parts are reduced in order.

use std::{cell::Cell, ptr};

use super::IndexedParallelIterator;
use crate::{
    join::join_in,
    pool::{Seat, Shared, on_its_host},
};

/// Receives a producer. (A closure cannot be generic over the type of its argument.)
pub trait ProducerCallback<T> {
    /// The result.
    type Output;

    /// Is called with the producer.
    fn callback<P: Producer<Item = T>>(self, producer: P) -> Self::Output;
}

/// Items that have an index, and that can be split at an index.
pub trait Producer: Send + Sized {
    /// The type of an item.
    type Item;
    /// The serial iterator over the items.
    type IntoIter: Iterator<Item = Self::Item> + DoubleEndedIterator + ExactSizeIterator;

    /// Returns a serial iterator over the items.
    fn into_iter(self) -> Self::IntoIter;

    /// The least number of items that a part should have.
    fn min_len(&self) -> usize {
        1
    }

    /// The largest number of items that a part should have.
    fn max_len(&self) -> usize {
        usize::MAX
    }

    /// Returns the first `index` items, and the other items.
    fn split_at(self, index: usize) -> (Self, Self);

    /// Gives the items to a folder, until the folder is full.
    fn fold_with<F: Folder<Self::Item>>(self, folder: F) -> F {
        folder.consume_iter(self.into_iter())
    }
}

/// Receives items. Each part of a consumer becomes a folder, which receives the items of its part.
pub trait Consumer<Item>: Send + Sized {
    /// The folder.
    type Folder: Folder<Item, Result = Self::Result>;
    /// Reduces the results of two parts.
    type Reducer: Reducer<Self::Result>;
    /// The result of a part.
    type Result: Send;

    /// Returns the consumers of the first `index` items and of the other items, and the reducer of
    /// their results.
    fn split_at(self, index: usize) -> (Self, Self, Self::Reducer);

    /// Returns the folder for all items of this consumer.
    fn into_folder(self) -> Self::Folder;

    /// Whether no further item changes the result.
    fn full(&self) -> bool;

    /// Where the loop begins.
    #[doc(hidden)]
    fn rs_begins(&self) -> Begins {
        Begins::AtFirst
    }

    /// Whether the folder of a part may also receive the items behind this part. Then the consumer
    /// of those items is dropped.
    #[doc(hidden)]
    fn rs_goes_on(&self) -> bool {
        false
    }

    /// Returns the folder that receives the items in reverse. Only called if the loop begins
    /// [at the last item](Begins::AtLastItem).
    #[doc(hidden)]
    fn rs_into_backward_folder(self) -> Self::Folder {
        self.into_folder()
    }
}

/// Where a loop begins.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begins {
    /// At the first item.
    AtFirst,
    /// At the first item of the last part.
    AtLastPart,
    /// At the last item.
    AtLastItem,
}

/// Folds the items of one part, in order.
pub trait Folder<Item>: Sized {
    /// The result.
    type Result;

    /// Receives one item.
    #[must_use]
    fn consume(self, item: Item) -> Self;

    /// Receives items until the folder is full.
    #[must_use]
    fn consume_iter<I: IntoIterator<Item = Item>>(mut self, iter: I) -> Self {
        for item in iter {
            self = self.consume(item);
            if self.full() {
                break;
            }
        }
        self
    }

    /// Returns the result.
    fn complete(self) -> Self::Result;

    /// Whether no further item changes the result.
    fn full(&self) -> bool;
}

/// Reduces the results of two parts.
pub trait Reducer<Result> {
    /// Reduces the results of neighbouring parts. `left` belongs to the first one.
    fn reduce(self, left: Result, right: Result) -> Result;
}

/// A consumer of items without an index. It can be split although nobody knows the number of items.
pub trait UnindexedConsumer<I>: Consumer<I> {
    /// Returns a consumer of items before those of this consumer.
    #[must_use]
    fn split_off_left(&self) -> Self;

    /// Returns the reducer of the results of a consumer that was split off, and of this consumer.
    fn to_reducer(&self) -> Self::Reducer;

    /// Returns a consumer of items behind those of this consumer. Only called if the loop begins
    /// [at the last item](Begins::AtLastItem).
    #[doc(hidden)]
    #[must_use]
    fn rs_split_off_right(&self) -> Self {
        self.split_off_left()
    }
}

/// Items without an index that can be split.
pub trait UnindexedProducer: Send + Sized {
    /// The type of an item.
    type Item;

    /// Splits the items into two parts, if it can.
    fn split(self) -> (Self, Option<Self>);

    /// Gives the items to a folder, until the folder is full.
    fn fold_with<F: Folder<Self::Item>>(self, folder: F) -> F;
}

/// The number of the calling thread, which is not 0.
pub(super) fn this_thread() -> usize {
    thread_local! {
        /// Its address is that of this thread alone.
        static THREAD: u8 = const { 0 };
    }
    THREAD.with(|byte| ptr::from_ref(byte).addr())
}

/// How a part goes on to be split. The part began on the thread `thread`.
#[derive(Clone, Copy)]
struct Splits<'p> {
    pool: &'p Shared,
    /// How often the part may still be split, unless it moves to another thread.
    left: usize,
    thread: usize,
}

impl<'p> Splits<'p> {
    /// As many parts as threads, and at least `parts`.
    fn new(pool: &'p Shared, parts: usize) -> Self {
        Self { pool, left: pool.num_threads().max(parts), thread: this_thread() }
    }

    /// Whether to split the part once more. A part that has moved to another thread is split again,
    /// since that thread was idle.
    fn splits(&mut self) -> bool {
        let thread = this_thread();
        let has_moved = thread != self.thread;
        let splits = has_moved || self.left > 0;
        self.left /= 2;
        if has_moved {
            (self.left, self.thread) = (self.left.max(self.pool.num_threads()), thread);
        }
        splits
    }
}

/// The least number of parts, if the loop begins at the last part.
const PARTS_OF_BACKWARD: usize = 64;

thread_local! {
    /// Whether this thread gives the items of an inner loop to a consumer of an outer loop.
    static IS_INNER: Cell<bool> = const { Cell::new(false) };
}

/// While this value lives, this thread's loops are inner ones.
struct Inner {
    before: bool,
}

impl Drop for Inner {
    fn drop(&mut self) {
        IS_INNER.set(self.before);
    }
}

/// Runs the loop over the items that are made of one item of an outer loop. While no thread is
/// idle, the halves of this loop are not offered by `join`: the parts of the outer loop are
/// offered, and most inner loops are short.
pub(super) fn in_outer<R>(run: impl FnOnce() -> R) -> R {
    let _inner = Inner { before: IS_INNER.replace(true) };
    run()
}

/// Runs both parts of a loop by `join`, and returns the results of the left and the right one.
fn in_halves<T: Send, R: Send>(
    pool: &Shared,
    begins: Begins,
    (left, right): (T, T),
    run: impl Fn(T) -> R + Sync,
) -> (R, R) {
    let goes_forward = begins == Begins::AtFirst;
    let (a, b) = if goes_forward { (left, right) } else { (right, left) };
    let (a, b) = if IS_INNER.get() && pool.idle() == 0 {
        (run(a), run(b))
    } else {
        join_in(pool, || run(a), || run(b))
    };
    if goes_forward { (a, b) } else { (b, a) }
}

/// The number of blocks of an inner loop that runs on one thread.
const BLOCKS_OF_INNER: usize = 4;

/// Gives blocks of items to one folder, as long as no thread is idle. Returns the result, or, if a
/// thread is idle, the result so far and the items that are left.
fn in_blocks<P: Producer, F: Folder<P::Item>>(
    pool: &Shared,
    mut len: usize,
    mut producer: P,
    mut folder: F,
) -> (F::Result, Option<(usize, P)>) {
    let block = len.div_ceil(BLOCKS_OF_INNER);
    while len > block {
        let (now, later) = producer.split_at(block);
        folder = now.fold_with(folder);
        (len, producer) = (len - block, later);
        if folder.full() {
            return (folder.complete(), None);
        }
        if pool.idle() > 0 {
            return (folder.complete(), Some((len, producer)));
        }
    }
    (producer.fold_with(folder).complete(), None)
}

/// Gives the items of an iterator to a consumer.
pub fn bridge<I: IndexedParallelIterator, C: Consumer<I::Item>>(par_iter: I, consumer: C) -> C::Result {
    struct Bridged<C> {
        len: usize,
        consumer: C,
    }

    impl<T, C: Consumer<T>> ProducerCallback<T> for Bridged<C> {
        type Output = C::Result;

        fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
            bridge_producer_consumer(self.len, producer, self.consumer)
        }
    }

    let len = par_iter.len();
    par_iter.with_producer(Bridged { len, consumer })
}

/// Gives the `len` items of a producer to a consumer.
pub fn bridge_producer_consumer<P: Producer, C: Consumer<P::Item>>(
    len: usize,
    producer: P,
    consumer: C,
) -> C::Result {
    /// Gives the items of a part to its consumer. A part has at least `least` items.
    fn part<P: Producer, C: Consumer<P::Item>>(
        mut splits: Splits<'_>,
        least: usize,
        len: usize,
        producer: P,
        consumer: C,
    ) -> C::Result {
        if consumer.full() {
            return consumer.into_folder().complete();
        }
        let (half, begins) = (len / 2, consumer.rs_begins());
        if half < least || !splits.splits() {
            if begins == Begins::AtLastItem {
                let folder = consumer.rs_into_backward_folder();
                return folder.consume_iter(producer.into_iter().rev()).complete();
            }
            return producer.fold_with(consumer.into_folder()).complete();
        }
        if IS_INNER.get() && begins == Begins::AtFirst && consumer.rs_goes_on() && splits.pool.idle() == 0 {
            let (left, right, reducer) = consumer.split_at(half);
            let (result, rest) = in_blocks(splits.pool, len, producer, left.into_folder());
            let Some((len, producer)) = rest else { return result };
            return reducer.reduce(result, part(splits, least, len, producer, right));
        }
        let (first, second) = producer.split_at(half);
        let (left, right, reducer) = consumer.split_at(half);
        let parts = ((half, first, left), (len - half, second, right));
        let (left, right) = in_halves(splits.pool, begins, parts, |(len, producer, consumer)| {
            part(splits, least, len, producer, consumer)
        });
        reducer.reduce(left, right)
    }

    let (least, most) = (producer.min_len().max(1), producer.max_len().max(1));
    on_its_host!(|pool| {
        let _seat = Seat::take(pool);
        part(Splits::new(pool, len / most), least, len, producer, consumer)
    })
}

/// Gives the items of a producer without an index to a consumer.
pub fn bridge_unindexed<P: UnindexedProducer, C: UnindexedConsumer<P::Item>>(
    producer: P,
    consumer: C,
) -> C::Result {
    /// Gives the items of a part to its consumer.
    fn part<P: UnindexedProducer, C: UnindexedConsumer<P::Item>>(
        mut splits: Splits<'_>,
        producer: P,
        consumer: C,
    ) -> C::Result {
        if consumer.full() {
            return consumer.into_folder().complete();
        }
        let (first, second) = if splits.splits() { producer.split() } else { (producer, None) };
        let Some(second) = second else { return first.fold_with(consumer.into_folder()).complete() };
        let (reducer, left) = (consumer.to_reducer(), consumer.split_off_left());
        let (begins, parts) = (consumer.rs_begins(), ((first, left), (second, consumer)));
        let (left, right) =
            in_halves(splits.pool, begins, parts, |(producer, consumer)| part(splits, producer, consumer));
        reducer.reduce(left, right)
    }

    // A loop that begins at the last part folds this part to its end, so the part is small.
    let parts = if consumer.rs_begins() == Begins::AtFirst { 1 } else { PARTS_OF_BACKWARD };
    on_its_host!(|pool| {
        let _seat = Seat::take(pool);
        part(Splits::new(pool, parts), producer, consumer)
    })
}
