//! Methods of mutable slices: sorts, and iterators over mutable pieces.

use std::{
    any::Any,
    cmp::Ordering,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::{
    ChunkByMut, ChunksExactMut, ChunksMut, RChunksExactMut, RChunksMut, SplitInclusiveMut, SplitMut,
    cut::{Runs, Separated},
};
use crate::{
    iter::Divided,
    join::discard,
    pool::{Seat, on_its_host},
};

/// A sort of std that leaves the items in some order if the order is not total. Such a sort may
/// panic, and rayon's do not. Other panics are those of the program.
fn tolerant<T>(sort: impl Fn(&mut [T]) + Sync) -> impl Fn(&mut [T]) + Sync {
    fn is_about_the_order(payload: &(dyn Any + Send)) -> bool {
        payload.downcast_ref::<&str>().is_some_and(|message| message.ends_with("implement a total order"))
    }
    move |items| match catch_unwind(AssertUnwindSafe(|| sort(items))) {
        Err(payload) if is_about_the_order(&*payload) => discard(payload),
        Err(payload) => resume_unwind(payload),
        Ok(()) => {}
    }
}

/// Methods of mutable slices.
pub trait ParallelSliceMut<T: Send> {
    /// Returns the slice.
    fn as_parallel_slice_mut(&mut self) -> &mut [T];

    /// Iterates over the pieces between the items for which `separator` returns true.
    fn par_split_mut<P: Fn(&T) -> bool + Sync + Send>(&mut self, separator: P) -> SplitMut<'_, T, P> {
        Divided { whole: self.as_parallel_slice_mut(), by: Separated(separator) }
    }

    /// Iterates over the pieces that end with an item for which `separator` returns true.
    fn par_split_inclusive_mut<P: Fn(&T) -> bool + Sync + Send>(
        &mut self,
        separator: P,
    ) -> SplitInclusiveMut<'_, T, P> {
        Divided { whole: self.as_parallel_slice_mut(), by: Separated(separator) }
    }

    /// Iterates over chunks of `chunk_size` items, from the front. The last chunk may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_mut(&mut self, chunk_size: usize) -> ChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksMut { slice: self.as_parallel_slice_mut(), size: chunk_size }
    }

    /// Iterates over chunks of exactly `chunk_size` items, from the front. Up to `chunk_size - 1`
    /// items at the end are left over.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_chunks_exact_mut(&mut self, chunk_size: usize) -> ChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        ChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Iterates over chunks of `chunk_size` items, from the end. The last chunk, at the front of
    /// the slice, may be shorter.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_mut(&mut self, chunk_size: usize) -> RChunksMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksMut { slice: self.as_parallel_slice_mut(), size: chunk_size }
    }

    /// Iterates over chunks of exactly `chunk_size` items, from the end. Up to `chunk_size - 1`
    /// items at the front are left over.
    ///
    /// # Panics
    /// If `chunk_size` is 0.
    #[track_caller]
    fn par_rchunks_exact_mut(&mut self, chunk_size: usize) -> RChunksExactMut<'_, T> {
        assert!(chunk_size != 0, "chunk_size must not be zero");
        RChunksExactMut::new(self.as_parallel_slice_mut(), chunk_size)
    }

    /// Sorts the slice stably. If the order is not total, the items are in some order afterwards;
    /// so it is with all sorts but [`par_sort_by_cached_key`](Self::par_sort_by_cached_key).
    #[track_caller]
    fn par_sort(&mut self)
    where
        T: Ord,
    {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool.sort_pieces_with(items, tolerant(<[T]>::sort), T::lt));
    }

    /// Sorts the slice stably by `compare`.
    #[track_caller]
    fn par_sort_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool.sort_pieces_with(
            items,
            tolerant(|piece| piece.sort_by(&compare)),
            |a, b| compare(a, b).is_lt()
        ));
    }

    /// Sorts the slice stably by a key.
    #[track_caller]
    fn par_sort_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool
            .sort_pieces_with(items, tolerant(|piece| piece.sort_by_key(&f)), |a, b| f(a).lt(&f(b))));
    }

    /// Sorts the slice stably by a key that is computed once per item.
    #[track_caller]
    fn par_sort_by_cached_key<K: Ord + Send, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool.sort_by_cached_key(items, |item| {
            let _seat = Seat::take(pool); // keys may call loops
            f(item)
        }));
    }

    /// Sorts the slice unstably.
    #[track_caller]
    fn par_sort_unstable(&mut self)
    where
        T: Ord,
    {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool.sort_unstable_pieces_with(items, tolerant(<[T]>::sort_unstable), T::lt));
    }

    /// Sorts the slice unstably by `compare`.
    #[track_caller]
    fn par_sort_unstable_by<F: Fn(&T, &T) -> Ordering + Sync>(&mut self, compare: F) {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool.sort_unstable_pieces_with(
            items,
            tolerant(|piece| piece.sort_unstable_by(&compare)),
            |a, b| compare(a, b).is_lt()
        ));
    }

    /// Sorts the slice unstably by a key.
    #[track_caller]
    fn par_sort_unstable_by_key<K: Ord, F: Fn(&T) -> K + Sync>(&mut self, f: F) {
        let items = self.as_parallel_slice_mut();
        on_its_host!(|pool| pool.sort_unstable_pieces_with(
            items,
            tolerant(|piece| piece.sort_unstable_by_key(&f)),
            |a, b| f(a).lt(&f(b))
        ));
    }

    /// Iterates over the longest runs in which `pred` returns true for each pair of neighbours.
    fn par_chunk_by_mut<F: Fn(&T, &T) -> bool + Send + Sync>(&mut self, pred: F) -> ChunkByMut<'_, T, F> {
        Divided { whole: self.as_parallel_slice_mut(), by: Runs(pred) }
    }
}

impl<T: Send> ParallelSliceMut<T> for [T] {
    fn as_parallel_slice_mut(&mut self) -> &mut [T] {
        self
    }
}
