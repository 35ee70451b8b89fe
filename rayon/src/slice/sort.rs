//! The methods of exclusive slices: sorts, and pieces to be changed.

use std::cmp::Ordering;

use super::{
    ChunkByMut, ChunksExactMut, ChunksMut, RChunksExactMut, RChunksMut, SplitInclusiveMut, SplitMut,
    cut::{Cut, Separated},
};
use crate::{iter::Gathered, pool::current};

/// Methods of slices whose items may be changed.
pub trait ParallelSliceMut<T: Send> {
    /// The slice.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// What lies between the items of which `separator` is true.
    fn par_split_mut<P: Fn(&T) -> bool + Sync + Send>(&mut self, separator: P) -> SplitMut<'_, T, P> {
        Gathered(Separated { slice: self.as_parallel_slice_mut(), separator })
    }

    /// What ends with the items of which `separator` is true.
    fn par_split_inclusive_mut<P: Fn(&T) -> bool + Sync + Send>(
        &mut self,
        separator: P,
    ) -> SplitInclusiveMut<'_, T, P> {
        Gathered(Separated { slice: self.as_parallel_slice_mut(), separator })
    }

    /// `chunk_size` items at a time; the last may be fewer.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksMut { slice: self.as_parallel_slice_mut(), size: chunk_size }
    }

    /// Exactly `chunk_size` items at a time.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// `chunk_size` items at a time, from the end; the last may be fewer.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksMut { slice: self.as_parallel_slice_mut(), size: chunk_size }
    }

    /// Exactly `chunk_size` items at a time, from the end.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Sorts, stably.
    #[track_caller]
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        current().sort(self.as_parallel_slice_mut());
    }

    /// Sorts by `compare`, stably.
    #[track_caller]
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        current().sort_by(self.as_parallel_slice_mut(), compare);
    }

    /// Sorts by a key, stably.
    #[track_caller]
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        current().sort_by_key(self.as_parallel_slice_mut(), f);
    }

    /// Sorts by a key that is computed once for each item, stably.
    #[track_caller]
    fn par_sort_by_cached_key<K: Ord + Send, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        current().sort_by_cached_key(self.as_parallel_slice_mut(), f);
    }

    /// Sorts, not stably.
    #[track_caller]
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        current().sort_unstable(self.as_parallel_slice_mut());
    }

    /// Sorts by `compare`, not stably.
    #[track_caller]
    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        current().sort_unstable_by(self.as_parallel_slice_mut(), compare);
    }

    /// Sorts by a key, not stably.
    #[track_caller]
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        current().sort_unstable_by_key(self.as_parallel_slice_mut(), f);
    }

    /// Runs of items of which `pred` is true for each two neighbours.
    fn par_chunk_by_mut<F: Fn(&T, &T) -> bool + Send + Sync>(&mut self, pred: F) -> ChunkByMut<'_, T, F> {
        Gathered(Cut { slice: self.as_parallel_slice_mut(), pred })
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}
