//! Blocks of items, one after the other, each of which is a loop.

use super::{
    IndexedParallelIterator, ParallelIterator,
    plumbing::{Folder, Producer, ProducerCallback, Reducer, UnindexedConsumer, bridge_producer_consumer},
    shown,
};

/// See [`by_exponential_blocks`](super::IndexedParallelIterator::by_exponential_blocks) and
/// [`by_uniform_blocks`](super::IndexedParallelIterator::by_uniform_blocks).
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Blocks<I> {
    pub(super) base: I,
    pub(super) sizes: Sizes,
}
shown!(Blocks<I>);

/// See [`by_exponential_blocks`](super::IndexedParallelIterator::by_exponential_blocks).
pub type ExponentialBlocks<I> = Blocks<I>;
/// See [`by_uniform_blocks`](super::IndexedParallelIterator::by_uniform_blocks).
pub type UniformBlocks<I> = Blocks<I>;

/// The size of the first block, and whether each further block is twice as large as its
/// predecessor.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    pub(super) first: usize,
    pub(super) grow: bool,
}

impl Sizes {
    /// The number of items in the first `blocks` blocks.
    fn items(self, blocks: usize) -> usize {
        let factor = if self.grow {
            u32::try_from(blocks)
                .ok()
                .and_then(|blocks| 1_usize.checked_shl(blocks))
                .map_or(usize::MAX, |x| x - 1)
        } else {
            blocks
        };
        self.first.saturating_mul(factor)
    }

    /// The number of blocks of `len` items.
    fn blocks(self, len: usize) -> usize {
        if self.grow {
            (0..=usize::BITS as usize).find(|blocks| self.items(*blocks) >= len).unwrap_or(0)
        } else {
            len.div_ceil(self.first)
        }
    }
}

/// Gives the blocks of a producer to a consumer.
struct InBlocks<C> {
    len: usize,
    sizes: Sizes,
    consumer: C,
}

impl<T, C: UnindexedConsumer<T>> ProducerCallback<T> for InBlocks<C> {
    type Output = C::Result;

    fn callback<P: Producer<Item = T>>(self, producer: P) -> C::Result {
        run(self.sizes, (0, self.sizes.blocks(self.len)), (0, self.len), producer, self.consumer)
    }
}

/// Runs the loops of some blocks, which have the items from `begin` to `end`. The blocks are
/// halved, since a consumer may be split off only so often on one side.
fn run<P: Producer, C: UnindexedConsumer<P::Item>>(
    sizes: Sizes,
    (first, behind): (usize, usize),
    (begin, end): (usize, usize),
    producer: P,
    consumer: C,
) -> C::Result {
    if consumer.full() {
        return consumer.into_folder().complete();
    }
    if behind - first <= 1 {
        return bridge_producer_consumer(end - begin, producer, consumer);
    }
    let middle = first + (behind - first) / 2;
    let cut = sizes.items(middle);
    let (left, right) = producer.split_at(cut - begin);
    let (reducer, left_consumer) = (consumer.to_reducer(), consumer.split_off_left());
    let of_left = run(sizes, (first, middle), (begin, cut), left, left_consumer);
    reducer.reduce(of_left, run(sizes, (middle, behind), (cut, end), right, consumer))
}

impl<I: IndexedParallelIterator> ParallelIterator for Blocks<I> {
    type Item = I::Item;

    fn drive_unindexed<C: UnindexedConsumer<I::Item>>(self, consumer: C) -> C::Result {
        let Self { base, sizes } = self;
        let len = base.len();
        base.with_producer(InBlocks { len, sizes, consumer })
    }
}
