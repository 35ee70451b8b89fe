//! The trait of iterators whose items have an index.

use std::cmp::Ordering;

use super::{
    Blocks, Chunks, Enumerate, ExponentialBlocks, FoldChunks, FoldChunksWith, IndexedEnd, Interleave,
    InterleaveShortest, IntoParallelIterator, Joined, MaxLen, MinLen, ParallelIterator, Placed, Positions,
    Rev, Skip, StepBy, Take, UniformBlocks, Zip, ZipEq,
    blocks::Sizes,
    ends, folds,
    lend::ToEnd,
    places,
    plumbing::{Consumer, ProducerCallback},
    start::start,
    zip,
};
use crate::{pool::on_its_host, thread_pool::current_num_threads};

/// A parallel iterator with a known number of items. Each item has an index.
#[diagnostic::on_unimplemented(
    message = "the items of `{Self}` have no index: `collect` them into a `Vec` first; if it is an iterator of rayon, patch rayon for the whole tree",
    note = "behind `filter`, `flat_map` and the like there is no index; for iterators of rayon see \"The whole tree\" in the README of rangesteal-rayon"
)]
#[allow(clippy::len_without_is_empty, reason = "rayon has none")]
pub trait IndexedParallelIterator: ParallelIterator {
    /// Gives the source of this iterator to `end`.
    #[doc(hidden)]
    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        let len = self.len();
        self.with_producer(ToEnd { len, end })
    }

    /// The number of items.
    fn len(&self) -> usize;

    /// Gives the items to a consumer. [`bridge`](super::plumbing::bridge) does that.
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result;

    /// Calls `callback` with the producer of the items.
    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output;

    /// Runs the items in blocks, one after the other. The first block has an item for each thread,
    /// and each later one is twice as large as the block before it. Searches need no blocks: they
    /// go from the front.
    #[track_caller]
    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        Blocks { base: self, sizes: Sizes { first: current_num_threads(), grow: true } }
    }

    /// Runs the items in blocks of `block_size`, one after the other.
    ///
    /// # Panics
    /// If `block_size` is 0.
    #[track_caller]
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        assert!(block_size != 0, "block_size must not be zero");
        Blocks { base: self, sizes: Sizes { first: block_size, grow: false } }
    }

    /// Replaces the contents of `target` by the items.
    #[track_caller]
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        start(self, ends::Into::new(target));
    }

    /// Replaces the contents of `left` and `right` by the first and second components of the items,
    /// which are pairs.
    #[track_caller]
    fn unzip_into_vecs<A: Send, B: Send>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
    {
        left.clear();
        right.clear();
        (*left, *right) = start(self, ends::Unzip {});
    }

    /// Iterates over pairs of items of two iterators. Ends with the shorter iterator.
    #[track_caller]
    fn zip<Z>(self, zip_op: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Joined { a: self, b: zip_op.into_par_iter(), by: zip::InStep }
    }

    /// Iterates over pairs of items of two iterators of equal length.
    ///
    /// # Panics
    /// If the iterators have different lengths.
    #[track_caller]
    fn zip_eq<Z>(self, zip_op: Z) -> ZipEq<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let b = zip_op.into_par_iter();
        assert_eq!(self.len(), b.len(), "iterators must have the same length");
        Joined { a: self, b, by: zip::InStep }
    }

    /// Iterates over items of two iterators in turn, then over the remaining items of the longer
    /// iterator.
    #[track_caller]
    fn interleave<I>(self, other: I) -> Interleave<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Joined { a: self, b: other.into_par_iter(), by: zip::ByTurns { ends_early: false } }
    }

    /// Iterates over items of two iterators in turn. Ends as soon as one iterator has no item for
    /// its turn.
    #[track_caller]
    fn interleave_shortest<I>(self, other: I) -> InterleaveShortest<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Joined { a: self, b: other.into_par_iter(), by: zip::ByTurns { ends_early: true } }
    }

    /// Iterates over vectors of `chunk_size` neighbouring items. The last vector may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Placed { base: self, stage: places::Pieces(chunk_size) }
    }

    /// Folds each group of `chunk_size` neighbouring items, beginning with `identity()`. The last
    /// group may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn fold_chunks<T, ID, F>(self, chunk_size: usize, identity: ID, fold_op: F) -> FoldChunks<Self, ID, F>
    where
        ID: Fn() -> T + Send + Sync,
        F: Fn(T, Self::Item) -> T + Send + Sync,
        T: Send,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Placed { base: self, stage: folds::FoldPieces { size: chunk_size, init: identity, op: fold_op } }
    }

    /// Folds each group of `chunk_size` neighbouring items, beginning with a clone of `init`. The
    /// last group may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn fold_chunks_with<T, F>(self, chunk_size: usize, init: T, fold_op: F) -> FoldChunksWith<Self, T, F>
    where
        T: Send + Clone,
        F: Fn(T, Self::Item) -> T + Send + Sync,
    {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Placed { base: self, stage: folds::FoldPiecesWith { size: chunk_size, init, op: fold_op } }
    }

    /// Compares two iterators in lexicographic order: item by item, then by length.
    #[track_caller]
    fn cmp<I>(self, other: I) -> Ordering
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
        Self::Item: Ord,
    {
        let other = other.into_par_iter();
        let lengths = self.len().cmp(&other.len());
        let differ = |(a, b): (Self::Item, Self::Item)| Some(a.cmp(&b)).filter(|order| order.is_ne());
        self.zip(other).find_map_first(differ).unwrap_or(lengths)
    }

    /// Compares two iterators in lexicographic order: item by item, then by length. `None` if the
    /// first two items that are not equal cannot be compared.
    #[track_caller]
    fn partial_cmp<I>(self, other: I) -> Option<Ordering>
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        let other = other.into_par_iter();
        let lengths = self.len().cmp(&other.len());
        let differ = |(a, b): (Self::Item, I::Item)| {
            let order = a.partial_cmp(&b);
            (order != Some(Ordering::Equal)).then_some(order)
        };
        self.zip(other).find_map_first(differ).unwrap_or(Some(lengths))
    }

    /// Whether two iterators have the same number of items, and equal items.
    #[track_caller]
    fn eq<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        let other = other.into_par_iter();
        self.len() == other.len() && self.zip(other).all(|(a, b)| a == b)
    }

    /// Whether two iterators differ in an item, or in the number of items.
    #[track_caller]
    fn ne<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        !self.eq(other)
    }

    /// Whether this iterator is less than `other` in lexicographic order.
    #[track_caller]
    fn lt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_lt)
    }

    /// Whether this iterator is at most equal to `other` in lexicographic order.
    #[track_caller]
    fn le<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_le)
    }

    /// Whether this iterator is greater than `other` in lexicographic order.
    #[track_caller]
    fn gt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_gt)
    }

    /// Whether this iterator is at least equal to `other` in lexicographic order.
    #[track_caller]
    fn ge<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_ge)
    }

    /// Iterates over pairs of an index and an item.
    #[track_caller]
    fn enumerate(self) -> Enumerate<Self> {
        Placed { base: self, stage: places::Numbered() }
    }

    /// Iterates over the first item of each group of `step` items.
    ///
    /// # Panics
    /// If `step` is 0.
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step != 0, "step_by: a step goes on by at least one item");
        Placed { base: self, stage: places::Steps(step) }
    }

    /// Skips the first `n` items.
    #[track_caller]
    fn skip(self, n: usize) -> Skip<Self> {
        Placed { base: self, stage: places::Without(n) }
    }

    /// Iterates over the first `n` items, or over all items if there are fewer.
    #[track_caller]
    fn take(self, n: usize) -> Take<Self> {
        Placed { base: self, stage: places::First(n) }
    }

    /// Returns the index of any item for which `predicate` returns true.
    #[track_caller]
    fn position_any<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        on_its_host!(|| self.rs_run_indexed(ends::PositionAny(predicate)))
    }

    /// Returns the index of the first item for which `predicate` returns true.
    #[track_caller]
    fn position_first<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        on_its_host!(|| self.rs_run_indexed(ends::Position(predicate)))
    }

    /// Returns the index of the last item for which `predicate` returns true.
    #[track_caller]
    fn position_last<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        let len = self.len();
        self.rev().position_first(predicate).map(|from_end| len - 1 - from_end)
    }

    /// Iterates over the indices of the items for which `predicate` returns true.
    #[track_caller]
    fn positions<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Positions<Self, P> {
        Positions { base: self, predicate }
    }

    /// Iterates over the items in reverse.
    #[track_caller]
    fn rev(self) -> Rev<Self> {
        Placed { base: self, stage: places::Reversed() }
    }

    /// Sets the least length of the runs that [`fold`](ParallelIterator::fold) folds, and of the
    /// parts of another crate's iterator. Other loops ignore this length.
    #[track_caller]
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        Placed { base: self, stage: places::AtLeast(min) }
    }

    /// Sets the largest length of the runs that [`fold`](ParallelIterator::fold) folds, and of the
    /// parts of another crate's iterator. Other loops ignore this length.
    #[track_caller]
    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        Placed { base: self, stage: places::AtMost(max) }
    }
}
