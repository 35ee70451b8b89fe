//! The iterator whose items have an index.

use std::cmp::Ordering;

use super::{
    Chunks, Enumerate, ExponentialBlocks, FoldChunks, FoldChunksWith, Gathered, IndexedEnd, Interleave,
    InterleaveShortest, IntoParallelIterator, MaxLen, MinLen, ParallelIterator, Placed, Positions, Rev, Skip,
    Staged, StepBy, Take, UniformBlocks, Zip, ZipEq, ends, folds, mixed, places, stages,
};

/// A parallel iterator that knows how many items it has, and each item has an index.
#[diagnostic::on_unimplemented(
    message = "the items of `{Self}` have no index",
    note = "behind `filter`, `flat_map` and the like there is none; custom iterators (`plumbing`) are not there: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[allow(clippy::len_without_is_empty, reason = "rayon has none")]
pub trait IndexedParallelIterator: ParallelIterator {
    /// Gives the source of this iterator to `end`.
    #[doc(hidden)]
    #[track_caller]
    fn run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out;

    /// How many items there are.
    fn len(&self) -> usize;

    /// The items: searches go from the front anyway.
    #[track_caller]
    fn by_exponential_blocks(self) -> ExponentialBlocks<Self> {
        Staged { base: self, stage: stages::Same }
    }

    /// The items: `block_size` is not followed.
    ///
    /// # Panics
    /// If `block_size` is 0.
    #[track_caller]
    fn by_uniform_blocks(self, block_size: usize) -> UniformBlocks<Self> {
        assert!(block_size != 0, "block_size must not be zero");
        Staged { base: self, stage: stages::Same }
    }

    /// Collects the items into `target`, instead of what is there.
    #[track_caller]
    fn collect_into_vec(self, target: &mut Vec<Self::Item>) {
        target.clear();
        self.run(ends::Into(target));
    }

    /// Collects the first parts of pairs and the second ones, instead of what is there.
    #[track_caller]
    fn unzip_into_vecs<A: Send, B: Send>(self, left: &mut Vec<A>, right: &mut Vec<B>)
    where
        Self: IndexedParallelIterator<Item = (A, B)>,
    {
        (*left, *right) = self.run(ends::Unzip {});
    }

    /// Pairs of items of two iterators, as far as the shorter one goes.
    #[track_caller]
    fn zip<Z>(self, zip_op: Z) -> Zip<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        Zip { a: self, b: zip_op.into_par_iter() }
    }

    /// Pairs of items of two iterators of equal length.
    ///
    /// # Panics
    /// If they have different lengths.
    #[track_caller]
    fn zip_eq<Z>(self, zip_op: Z) -> ZipEq<Self, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let b = zip_op.into_par_iter();
        assert_eq!(self.len(), b.len(), "iterators must have the same length");
        Zip { a: self, b }
    }

    /// Items of two iterators by turns, then what is left of the longer one; all are gathered into
    /// a vector.
    #[track_caller]
    fn interleave<I>(self, other: I) -> Interleave<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Gathered(mixed::ByTurns { a: self, b: other.into_par_iter(), ends_early: false })
    }

    /// Items of two iterators by turns, until the one whose turn it is has none; all are gathered
    /// into a vector.
    #[track_caller]
    fn interleave_shortest<I>(self, other: I) -> InterleaveShortest<Self, I::Iter>
    where
        I: IntoParallelIterator<Item = Self::Item, Iter: IndexedParallelIterator>,
    {
        Gathered(mixed::ByTurns { a: self, b: other.into_par_iter(), ends_early: true })
    }

    /// Vectors of `chunk_size` neighbouring items; the last may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn chunks(self, chunk_size: usize) -> Chunks<Self> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Placed { base: self, stage: places::Pieces(chunk_size) }
    }

    /// Folds each `chunk_size` neighbouring items.
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

    /// Folds each `chunk_size` neighbouring items into a clone of `init`.
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

    /// Compares two iterators, item by item, then by length.
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

    /// Compares two iterators, item by item, then by length; none if an item cannot be compared.
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

    /// Whether two iterators have equal items.
    #[track_caller]
    fn eq<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        let other = other.into_par_iter();
        self.len() == other.len() && self.zip(other).all(|(a, b)| a == b)
    }

    /// Whether two iterators do not have equal items.
    #[track_caller]
    fn ne<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialEq<I::Item>,
    {
        !self.eq(other)
    }

    /// Whether this one goes before another.
    #[track_caller]
    fn lt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_lt)
    }

    /// Whether this one goes before another, or is equal.
    #[track_caller]
    fn le<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_le)
    }

    /// Whether this one goes behind another.
    #[track_caller]
    fn gt<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_gt)
    }

    /// Whether this one goes behind another, or is equal.
    #[track_caller]
    fn ge<I>(self, other: I) -> bool
    where
        I: IntoParallelIterator<Iter: IndexedParallelIterator>,
        Self::Item: PartialOrd<I::Item>,
    {
        self.partial_cmp(other).is_some_and(Ordering::is_ge)
    }

    /// Pairs of an index and an item.
    #[track_caller]
    fn enumerate(self) -> Enumerate<Self> {
        Placed { base: self, stage: places::Numbered() }
    }

    /// The first of each `step` items.
    ///
    /// # Panics
    /// If `step` is 0.
    #[track_caller]
    fn step_by(self, step: usize) -> StepBy<Self> {
        assert!(step != 0, "step_by: a step goes on by at least one item");
        Placed { base: self, stage: places::Steps(step) }
    }

    /// The items behind the first `n`.
    #[track_caller]
    fn skip(self, n: usize) -> Skip<Self> {
        Placed { base: self, stage: places::Without(n) }
    }

    /// The first `n` items, or all if there are fewer.
    #[track_caller]
    fn take(self, n: usize) -> Take<Self> {
        Placed { base: self, stage: places::First(n) }
    }

    /// The index of an item of which `predicate` is true.
    #[track_caller]
    fn position_any<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        self.position_first(predicate)
    }

    /// The index of the first item of which `predicate` is true.
    #[track_caller]
    fn position_first<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        self.run_indexed(ends::Position(predicate))
    }

    /// The index of the last item of which `predicate` is true.
    #[track_caller]
    fn position_last<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<usize> {
        let len = self.len();
        self.rev().position_first(predicate).map(|from_end| len - 1 - from_end)
    }

    /// The indices of the items of which `predicate` is true.
    #[track_caller]
    fn positions<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Positions<Self, P> {
        Positions { base: self, predicate }
    }

    /// The items, the last one first.
    #[track_caller]
    fn rev(self) -> Rev<Self> {
        Placed { base: self, stage: places::Reversed() }
    }

    /// The items: advice that [`fold`](ParallelIterator::fold) follows.
    #[track_caller]
    fn with_min_len(self, min: usize) -> MinLen<Self> {
        Placed { base: self, stage: places::AtLeast(min) }
    }

    /// The items: advice that [`fold`](ParallelIterator::fold) follows.
    #[track_caller]
    fn with_max_len(self, max: usize) -> MaxLen<Self> {
        Placed { base: self, stage: places::AtMost(max) }
    }
}
