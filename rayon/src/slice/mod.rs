//! Parallel iterators over slices, and parallel sorts.

mod chunks;
mod cut;
mod sort;
mod windows;

use rangesteal::source;

pub use self::{
    chunks::{
        Chunks, ChunksExact, ChunksExactMut, ChunksMut, RChunks, RChunksExact, RChunksExactMut, RChunksMut,
    },
    cut::{ChunkBy, ChunkByMut, Split, SplitInclusive, SplitInclusiveMut, SplitMut},
    sort::ParallelSliceMut,
    windows::{ArrayWindows, ParallelSlice, Windows},
};
use crate::sources::{becomes, begins};

/// An iterator over references to the items of a slice.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Iter<'data, T>(&'data [T]);

impl<T> Clone for Iter<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

begins!(['data, T: Sync] Iter<'data, T> => &'data T, |self| source(self.0), |self| self.0.len());

/// An iterator over exclusive references to the items of a slice.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct IterMut<'data, T>(&'data mut [T]);

begins!(['data, T: Send] IterMut<'data, T> => &'data mut T, |self| source(self.0), |self| self.0.len());

becomes!(['data, T: Sync] &'data [T] => &'data T, Iter<'data, T>, |self| Iter(self));
becomes!(['data, T: Sync] &'data Box<[T]> => &'data T, Iter<'data, T>, |self| Iter(self));
becomes!(['data, T: Send] &'data mut [T] => &'data mut T, IterMut<'data, T>, |self| IterMut(self));
becomes!(['data, T: Send] &'data mut Box<[T]> => &'data mut T, IterMut<'data, T>, |self| IterMut(self));
