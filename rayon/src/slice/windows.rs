//! Methods of shared slices, and iterators over overlapping windows.

use rangesteal::source;

use super::{
    ChunkBy, Chunks, ChunksExact, RChunks, RChunksExact, Split, SplitInclusive,
    cut::{Runs, Separated},
};
use crate::{iter::Divided, sources::begins};

/// Overlapping windows of a slice. See [`ParallelSlice::par_windows`].
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Windows<'data, T> {
    slice: &'data [T],
    size: usize,
}

impl<T> Clone for Windows<'_, T> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

begins!(['data, T: Sync] Windows<'data, T> => &'data [T], |self| source(self.slice).windows(self.size),
    |self| self.slice.len().saturating_sub(self.size - 1));

/// Overlapping windows of a slice, as arrays. See [`ParallelSlice::par_array_windows`].
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct ArrayWindows<'data, T, const N: usize>(&'data [T]);

impl<T, const N: usize> Clone for ArrayWindows<'_, T, N> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

begins!(['data, T: Sync, const N: usize] ArrayWindows<'data, T, N> => &'data [T; N],
    |self| source(self.0).windows(N).map(|window: &'data [T]| window.try_into().expect("N items")),
    |self| self.0.len().saturating_sub(N - 1));

/// Methods of shared slices.
pub trait ParallelSlice<T: Sync> {
    /// Returns the slice.
    fn as_parallel_slice(&self) -> &[T];

    /// Iterates over the pieces between the items for which `separator` returns true.
    fn par_split<P: Fn(&T) -> bool + Sync + Send>(&self, separator: P) -> Split<'_, T, P> {
        Divided { whole: self.as_parallel_slice(), by: Separated(separator) }
    }

    /// Iterates over the pieces that end with an item for which `separator` returns true.
    fn par_split_inclusive<P: Fn(&T) -> bool + Sync + Send>(&self, separator: P) -> SplitInclusive<'_, T, P> {
        Divided { whole: self.as_parallel_slice(), by: Separated(separator) }
    }

    /// Iterates over all overlapping windows of `window_size` neighbouring items.
    ///
    /// # Panics
    /// If `window_size` is 0.
    fn par_windows(&self, window_size: usize) -> Windows<'_, T> {
        assert!(window_size != 0, "window_size must not be zero");
        Windows { slice: self.as_parallel_slice(), size: window_size }
    }

    /// Iterates over all overlapping windows of `N` neighbouring items, as arrays.
    ///
    /// # Panics
    /// If `N` is 0.
    fn par_array_windows<const N: usize>(&self) -> ArrayWindows<'_, T, N> {
        assert!(N != 0, "window_size must not be zero");
        ArrayWindows(self.as_parallel_slice())
    }

    /// Iterates over chunks of `chunk_size` items, from the front. The last chunk may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks { slice: self.as_parallel_slice(), size: chunk_size }
    }

    /// Iterates over chunks of exactly `chunk_size` items, from the front. Up to `chunk_size - 1`
    /// items at the end are left over.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Iterates over chunks of `chunk_size` items, from the end. The last chunk, at the front of
    /// the slice, may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks(&self, chunk_size: usize) -> RChunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunks { slice: self.as_parallel_slice(), size: chunk_size }
    }

    /// Iterates over chunks of exactly `chunk_size` items, from the end. Up to `chunk_size - 1`
    /// items at the front are left over.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact(&self, chunk_size: usize) -> RChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Iterates over the longest runs in which `pred` returns true for each pair of neighbours.
    fn par_chunk_by<F: Fn(&T, &T) -> bool + Send + Sync>(&self, pred: F) -> ChunkBy<'_, T, F> {
        Divided { whole: self.as_parallel_slice(), by: Runs(pred) }
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}
