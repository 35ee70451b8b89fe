// Iterators and consumers as other crates define them. This file is included twice.

use rayon::{
    iter::plumbing::{
        Consumer, Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, UnindexedProducer, bridge,
        bridge_unindexed,
    },
    prelude::*,
};

/// The integers of a range, without an index.
pub(super) struct Numbers(pub(super) std::ops::Range<u64>);

impl ParallelIterator for Numbers {
    type Item = u64;

    fn drive_unindexed<C: UnindexedConsumer<u64>>(self, consumer: C) -> C::Result {
        bridge_unindexed(self, consumer)
    }
}

impl UnindexedProducer for Numbers {
    type Item = u64;

    fn split(self) -> (Self, Option<Self>) {
        let middle = self.0.start + (self.0.end - self.0.start) / 2;
        if middle == self.0.start {
            return (self, None);
        }
        (Self(self.0.start..middle), Some(Self(middle..self.0.end)))
    }

    fn fold_with<F: Folder<u64>>(self, folder: F) -> F {
        folder.consume_iter(self.0)
    }
}

/// The items of a slice, with an index.
#[derive(Clone, Copy)]
pub(super) struct Lent(pub(super) &'static [u32]);

impl ParallelIterator for Lent {
    type Item = &'static u32;

    fn drive_unindexed<C: UnindexedConsumer<&'static u32>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl IndexedParallelIterator for Lent {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn drive<C: Consumer<&'static u32>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<&'static u32>>(self, callback: CB) -> CB::Output {
        callback.callback(self)
    }
}

impl Producer for Lent {
    type Item = &'static u32;
    type IntoIter = std::slice::Iter<'static, u32>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let (a, b) = self.0.split_at(index);
        (Self(a), Self(b))
    }
}

/// The sum of a function of the items of a producer, part by part, in plain loops.
pub(super) struct Sums<F>(pub(super) usize, pub(super) F);

impl<F: Fn(T) -> u64 + Sync, T> ProducerCallback<T> for Sums<F> {
    type Output = u64;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> u64 {
        fn sums<P: Producer>(len: usize, all: P, of: &(impl Fn(P::Item) -> u64 + Sync)) -> u64 {
            if len < 100_000 {
                let mut sum = 0_u64;
                for item in all.into_iter() {
                    sum = sum.wrapping_add(of(item));
                }
                return sum;
            }
            let (a, b) = all.split_at(len / 2);
            let (a, b) = rayon::join(|| sums(len / 2, a, of), || sums(len - len / 2, b, of));
            a.wrapping_add(b)
        }
        sums(self.0, producer, &self.1)
    }
}

/// A consumer that adds up.
pub(super) struct Add;
pub(super) struct Added(u64);

impl Consumer<u64> for Add {
    type Folder = Added;
    type Reducer = Self;
    type Result = u64;

    fn split_at(self, _: usize) -> (Self, Self, Self) {
        (Self, Self, Self)
    }

    fn into_folder(self) -> Added {
        Added(0)
    }

    fn full(&self) -> bool {
        false
    }
}

impl UnindexedConsumer<u64> for Add {
    fn split_off_left(&self) -> Self {
        Self
    }

    fn to_reducer(&self) -> Self {
        Self
    }
}

impl Folder<u64> for Added {
    type Result = u64;

    fn consume(self, item: u64) -> Self {
        Self(self.0.wrapping_add(item))
    }

    fn complete(self) -> u64 {
        self.0
    }

    fn full(&self) -> bool {
        false
    }
}

impl Reducer<u64> for Add {
    fn reduce(self, left: u64, right: u64) -> u64 {
        left.wrapping_add(right)
    }
}
