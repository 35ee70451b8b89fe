//! Neighbouring items of a slice, so many at a time.

use std::mem;

use rangesteal::source;

use crate::sources::begins;

/// So many items at a time. See [`ParallelSlice::par_chunks`](super::ParallelSlice::par_chunks).
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Chunks<'data, T> {
    pub(super) slice: &'data [T],
    pub(super) size: usize,
}

begins!(['data, T: Sync] Chunks<'data, T> => &'data [T], |self| source(self.slice).chunks(self.size),
    |self| self.slice.len().div_ceil(self.size));

/// So many items at a time, to be changed.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct ChunksMut<'data, T> {
    pub(super) slice: &'data mut [T],
    pub(super) size: usize,
}

begins!(['data, T: Send] ChunksMut<'data, T> => &'data mut [T], |self| source(self.slice).chunks(self.size),
    |self| self.slice.len().div_ceil(self.size));

/// Exactly so many items at a time.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct ChunksExact<'data, T> {
    slice: &'data [T],
    size: usize,
    rest: &'data [T],
}

impl<'data, T> ChunksExact<'data, T> {
    pub(super) fn new(slice: &'data [T], size: usize) -> Self {
        let (slice, rest) = slice.split_at(slice.len() / size * size);
        Self { slice, size, rest }
    }

    /// The items that are left over.
    #[must_use]
    pub fn remainder(&self) -> &'data [T] {
        self.rest
    }
}

begins!(['data, T: Sync] ChunksExact<'data, T> => &'data [T], |self| source(self.slice).chunks(self.size),
    |self| self.slice.len() / self.size);

/// Exactly so many items at a time, to be changed.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct ChunksExactMut<'data, T> {
    slice: &'data mut [T],
    size: usize,
    rest: &'data mut [T],
}

impl<'data, T> ChunksExactMut<'data, T> {
    pub(super) fn new(slice: &'data mut [T], size: usize) -> Self {
        let (slice, rest) = slice.split_at_mut(slice.len() / size * size);
        Self { slice, size, rest }
    }

    /// The items that are left over.
    #[must_use]
    pub fn into_remainder(self) -> &'data mut [T] {
        self.rest
    }

    /// The items that are left over.
    pub fn remainder(&mut self) -> &mut [T] {
        self.rest
    }

    /// The items that are left over; then none are.
    pub fn take_remainder(&mut self) -> &'data mut [T] {
        mem::take(&mut self.rest)
    }
}

begins!(['data, T: Send] ChunksExactMut<'data, T> => &'data mut [T], |self| source(self.slice).chunks(self.size),
    |self| self.slice.len() / self.size);

/// So many items at a time, from the end: the last may be shorter.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct RChunks<'data, T> {
    pub(super) slice: &'data [T],
    pub(super) size: usize,
}

begins!(['data, T: Sync] RChunks<'data, T> => &'data [T],
    |self| source(self.slice.rchunks(self.size).collect::<Vec<_>>()), |self| self.slice.len().div_ceil(self.size));

/// So many items at a time, from the end, to be changed: the last may be shorter.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct RChunksMut<'data, T> {
    pub(super) slice: &'data mut [T],
    pub(super) size: usize,
}

begins!(['data, T: Send] RChunksMut<'data, T> => &'data mut [T],
    |self| source(self.slice.rchunks_mut(self.size).collect::<Vec<_>>()), |self| self.slice.len().div_ceil(self.size));

/// Exactly so many items at a time, from the end.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct RChunksExact<'data, T> {
    slice: &'data [T],
    size: usize,
    rest: &'data [T],
}

impl<'data, T> RChunksExact<'data, T> {
    pub(super) fn new(slice: &'data [T], size: usize) -> Self {
        let (rest, slice) = slice.split_at(slice.len() % size);
        Self { slice, size, rest }
    }

    /// The items that are left over.
    #[must_use]
    pub fn remainder(&self) -> &'data [T] {
        self.rest
    }
}

begins!(['data, T: Sync] RChunksExact<'data, T> => &'data [T], |self| source(self.slice).chunks(self.size).rev(),
    |self| self.slice.len() / self.size);

/// Exactly so many items at a time, from the end, to be changed.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct RChunksExactMut<'data, T> {
    slice: &'data mut [T],
    size: usize,
    rest: &'data mut [T],
}

impl<'data, T> RChunksExactMut<'data, T> {
    pub(super) fn new(slice: &'data mut [T], size: usize) -> Self {
        let (rest, slice) = slice.split_at_mut(slice.len() % size);
        Self { slice, size, rest }
    }

    /// The items that are left over.
    #[must_use]
    pub fn into_remainder(self) -> &'data mut [T] {
        self.rest
    }

    /// The items that are left over.
    pub fn remainder(&mut self) -> &mut [T] {
        self.rest
    }

    /// The items that are left over; then none are.
    pub fn take_remainder(&mut self) -> &'data mut [T] {
        mem::take(&mut self.rest)
    }
}

begins!(['data, T: Send] RChunksExactMut<'data, T> => &'data mut [T],
    |self| source(self.slice).chunks(self.size).rev(), |self| self.slice.len() / self.size);

macro_rules! cloned {
    ($($iter:ident { $($field:ident),+ })+) => {$(
        impl<T> Clone for $iter<'_, T> {
            fn clone(&self) -> Self {
                Self { $($field: self.$field),+ }
            }
        }
    )+};
}

cloned! {
    Chunks { slice, size }
    RChunks { slice, size }
    ChunksExact { slice, size, rest }
    RChunksExact { slice, size, rest }
}
