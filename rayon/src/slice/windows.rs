//! Overlapping pieces of a slice; and the methods of shared slices.

use rangesteal::source;

use super::{
    ChunkBy, Chunks, ChunksExact, RChunks, RChunksExact, Split, SplitInclusive,
    cut::{Cut, Separated},
};
use crate::{iter::Gathered, sources::begins};

/// All so many neighbouring items.
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

/// All `N` neighbouring items, as arrays.
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

/// Methods of slices.
pub trait ParallelSlice<T: Sync> {
    /// The slice.
    fn as_parallel_slice(&self) -> &[T];

    /// What lies between the items of which `separator` is true.
    fn par_split<P: Fn(&T) -> bool + Sync + Send>(&self, separator: P) -> Split<'_, T, P> {
        Gathered(Separated { slice: self.as_parallel_slice(), separator })
    }

    /// What ends with the items of which `separator` is true.
    fn par_split_inclusive<P: Fn(&T) -> bool + Sync + Send>(&self, separator: P) -> SplitInclusive<'_, T, P> {
        Gathered(Separated { slice: self.as_parallel_slice(), separator })
    }

    /// All `window_size` neighbouring items.
    ///
    /// # Panics
    /// If `window_size` is 0.
    fn par_windows(&self, window_size: usize) -> Windows<'_, T> {
        assert!(window_size != 0, "window_size must not be zero");
        Windows { slice: self.as_parallel_slice(), size: window_size }
    }

    /// All `N` neighbouring items, as arrays.
    ///
    /// # Panics
    /// If `N` is 0.
    fn par_array_windows<const N: usize>(&self) -> ArrayWindows<'_, T, N> {
        assert!(N != 0, "window_size must not be zero");
        ArrayWindows(self.as_parallel_slice())
    }

    /// `chunk_size` items at a time; the last may be fewer.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks(&self, chunk_size: usize) -> Chunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        Chunks { slice: self.as_parallel_slice(), size: chunk_size }
    }

    /// Exactly `chunk_size` items at a time.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact(&self, chunk_size: usize) -> ChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// `chunk_size` items at a time, from the end; the last may be fewer.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks(&self, chunk_size: usize) -> RChunks<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunks { slice: self.as_parallel_slice(), size: chunk_size }
    }

    /// Exactly `chunk_size` items at a time, from the end.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact(&self, chunk_size: usize) -> RChunksExact<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksExact::new(self.as_parallel_slice(), chunk_size)
    }

    /// Runs of items of which `pred` is true for each two neighbours.
    fn par_chunk_by<F: Fn(&T, &T) -> bool + Send + Sync>(&self, pred: F) -> ChunkBy<'_, T, F> {
        Gathered(Cut { slice: self.as_parallel_slice(), pred })
    }
}

impl<T: Sync> ParallelSlice<T> for [T] {
    fn as_parallel_slice(&self) -> &[T] {
        self
    }
}
