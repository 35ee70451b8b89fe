//! Chunks of neighbouring items of a slice.

use std::mem;

use rangesteal::source;

use crate::{
    iter::{
        Chain, End, IndexedEnd, IndexedParallelIterator, ParallelIterator,
        plumbing::{Consumer, ProducerCallback, bridge},
        unindexed_by_bridge,
    },
    option,
    sources::begins,
};

/// Declares an iterator over chunks of `size` items. One chunk may be shorter.
macro_rules! chunks {
    ($(#[$doc:meta])* $iter:ident of $slice:ty, $bound:ident, |$self:ident| $source:expr) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "an iterator runs nothing: its last method does"]
        pub struct $iter<'data, T> {
            pub(super) slice: $slice,
            pub(super) size: usize,
        }

        begins!(['data, T: $bound] $iter<'data, T> => $slice, |$self| $source,
            |self| self.slice.len().div_ceil(self.size));
    };
}

/// Declares an iterator over chunks of exactly `size` items. Also declares how the slice is split
/// into the chunks and the items left over.
macro_rules! exact_chunks {
    (
        $(#[$doc:meta])* $iter:ident of $slice:ty, $bound:ident,
        |$all:ident, $size:ident| $split:expr, |$self:ident| $source:expr
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "an iterator runs nothing: its last method does"]
        pub struct $iter<'data, T> {
            slice: $slice,
            size: usize,
            rest: $slice,
        }

        impl<'data, T> $iter<'data, T> {
            pub(super) fn new($all: $slice, $size: usize) -> Self {
                let (slice, rest) = $split;
                Self { slice, size: $size, rest }
            }
        }

        begins!(['data, T: $bound] $iter<'data, T> => $slice, |$self| $source,
            |self| self.slice.len() / self.size);
    };
}

/// Declares an iterator over chunks of `size` items from the end, of which the last one may be
/// shorter: the exact chunks, then the items left over. The last arguments take these items out of
/// the exact chunks, and run a loop that needs indices if items are left over.
macro_rules! chunks_from_the_end {
    (
        $(#[$doc:meta])* $iter:ident of $slice:ty, $bound:ident, $chunks:ident,
        |$exact:ident| $rest:expr, |$self:ident, $end:ident| $indexed:expr
    ) => {
        $(#[$doc])*
        #[derive(Debug)]
        #[must_use = "an iterator runs nothing: its last method does"]
        pub struct $iter<'data, T> {
            pub(super) slice: $slice,
            pub(super) size: usize,
        }

        impl<'data, T: $bound> $iter<'data, T> {
            /// The exact chunks, then the items left over.
            fn exact_and_rest(self) -> Chain<$chunks<'data, T>, option::IntoIter<$slice>> {
                #[allow(unused_mut, reason = "items left over are taken out of an exclusive slice")]
                let mut $exact = $chunks::new(self.slice, self.size);
                let rest = $rest;
                $exact.chain((!rest.is_empty()).then_some(rest))
            }
        }

        impl<'data, T: $bound> ParallelIterator for $iter<'data, T> {
            type Item = $slice;
            unindexed_by_bridge!();

            #[track_caller]
            fn rs_run<E: End<$slice>>(self, end: E) -> E::Out {
                self.exact_and_rest().rs_run(end)
            }

            #[track_caller]
            fn rs_run_backward<E: End<$slice>>(self, end: E) -> E::Out {
                self.exact_and_rest().rs_run_backward(end)
            }

            fn opt_len(&self) -> Option<usize> {
                Some(self.len())
            }
        }

        impl<'data, T: $bound> IndexedParallelIterator for $iter<'data, T> {
            fn drive<C: Consumer<$slice>>(self, consumer: C) -> C::Result {
                bridge(self, consumer)
            }

            fn with_producer<CB: ProducerCallback<$slice>>(self, callback: CB) -> CB::Output {
                self.exact_and_rest().with_producer(callback)
            }

            #[track_caller]
            fn rs_run_indexed<E: IndexedEnd<$slice>>($self, $end: E) -> E::Out {
                if $self.slice.len().is_multiple_of($self.size) {
                    return $chunks::new($self.slice, $self.size).rs_run_indexed($end);
                }
                $indexed
            }

            fn len(&self) -> usize {
                self.slice.len().div_ceil(self.size)
            }
        }
    };
}

chunks! {
    /// Chunks from the front. See [`ParallelSlice::par_chunks`](super::ParallelSlice::par_chunks).
    Chunks of &'data [T], Sync, |self| source(self.slice).chunks(self.size)
}
chunks! {
    /// Mutable chunks from the front. See
    /// [`ParallelSliceMut::par_chunks_mut`](super::ParallelSliceMut::par_chunks_mut).
    ChunksMut of &'data mut [T], Send, |self| source(self.slice).chunks(self.size)
}
chunks_from_the_end! {
    /// Chunks from the end. See [`ParallelSlice::par_rchunks`](super::ParallelSlice::par_rchunks).
    RChunks of &'data [T], Sync, RChunksExact, |exact| exact.remainder(), |self, end| {
        // The ends are those of chunks from the front of a slice with `more` items before the first
        // one: LLVM makes fewer instructions of that. If such a slice is too long, products wrap.
        let Self { slice, size } = self;
        let chunks = self.len();
        let more = chunks.wrapping_mul(size).wrapping_sub(slice.len());
        end.source(source(0..chunks).map(move |index| {
            let end = (chunks - index).wrapping_mul(size).wrapping_sub(more);
            &slice[..end][end.saturating_sub(size)..]
        }))
    }
}
chunks_from_the_end! {
    /// Mutable chunks from the end. See
    /// [`ParallelSliceMut::par_rchunks_mut`](super::ParallelSliceMut::par_rchunks_mut).
    RChunksMut of &'data mut [T], Send, RChunksExactMut, |exact| exact.take_remainder(),
    |self, end| self.exact_and_rest().rs_run_indexed(end)
}

exact_chunks! {
    /// Exact chunks from the front. See
    /// [`ParallelSlice::par_chunks_exact`](super::ParallelSlice::par_chunks_exact).
    ChunksExact of &'data [T], Sync, |slice, size| slice.split_at(slice.len() / size * size),
    |self| source(self.slice).chunks_exact(self.size)
}
exact_chunks! {
    /// Mutable exact chunks from the front. See
    /// [`ParallelSliceMut::par_chunks_exact_mut`](super::ParallelSliceMut::par_chunks_exact_mut).
    ChunksExactMut of &'data mut [T], Send, |slice, size| slice.split_at_mut(slice.len() / size * size),
    |self| source(self.slice).chunks_exact(self.size)
}
exact_chunks! {
    /// Exact chunks from the end. See
    /// [`ParallelSlice::par_rchunks_exact`](super::ParallelSlice::par_rchunks_exact).
    RChunksExact of &'data [T], Sync,
    |slice, size| {
        let (rest, chunks) = slice.split_at(slice.len() % size);
        (chunks, rest)
    },
    |self| source(self.slice).chunks_exact(self.size).rev()
}
exact_chunks! {
    /// Mutable exact chunks from the end. See
    /// [`ParallelSliceMut::par_rchunks_exact_mut`](super::ParallelSliceMut::par_rchunks_exact_mut).
    RChunksExactMut of &'data mut [T], Send,
    |slice, size| {
        let (rest, chunks) = slice.split_at_mut(slice.len() % size);
        (chunks, rest)
    },
    |self| source(self.slice).chunks_exact(self.size).rev()
}

/// Gives access to the items left over by shared chunks.
macro_rules! remainder {
    ($($iter:ident)+) => {$(
        impl<'data, T> $iter<'data, T> {
            /// The items that are in no chunk.
            #[must_use]
            pub fn remainder(&self) -> &'data [T] {
                self.rest
            }
        }
    )+};
}

remainder!(ChunksExact RChunksExact);

/// Gives access to the items left over by mutable chunks.
macro_rules! remainder_mut {
    ($($iter:ident)+) => {$(
        impl<'data, T> $iter<'data, T> {
            /// The items that are in no chunk.
            #[must_use]
            pub fn into_remainder(self) -> &'data mut [T] {
                self.rest
            }

            /// The items that are in no chunk.
            pub fn remainder(&mut self) -> &mut [T] {
                self.rest
            }

            /// Takes the items that are in no chunk. Later calls return an empty slice.
            pub fn take_remainder(&mut self) -> &'data mut [T] {
                mem::take(&mut self.rest)
            }
        }
    )+};
}

remainder_mut!(ChunksExactMut RChunksExactMut);

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
