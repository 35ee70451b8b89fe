//! Pieces of a slice whose ends depend on the items. The calling thread finds the pieces before the
//! loop begins.

use std::fmt;

use crate::iter::{Gather, Gathered};

/// The pieces between separators. If `INCLUSIVE`, each piece has its separator at the end.
#[doc(hidden)]
#[derive(Clone)]
pub struct Separated<S, P, const INCLUSIVE: bool> {
    pub(super) slice: S,
    pub(super) separator: P,
}

/// See [`ParallelSlice::par_split`](super::ParallelSlice::par_split).
pub type Split<'data, T, P> = Gathered<Separated<&'data [T], P, false>>;
/// See [`ParallelSlice::par_split_inclusive`](super::ParallelSlice::par_split_inclusive).
pub type SplitInclusive<'data, T, P> = Gathered<Separated<&'data [T], P, true>>;
/// See [`ParallelSliceMut::par_split_mut`](super::ParallelSliceMut::par_split_mut).
pub type SplitMut<'data, T, P> = Gathered<Separated<&'data mut [T], P, false>>;
/// See
/// [`ParallelSliceMut::par_split_inclusive_mut`](super::ParallelSliceMut::par_split_inclusive_mut).
pub type SplitInclusiveMut<'data, T, P> = Gathered<Separated<&'data mut [T], P, true>>;

impl<'data, T: Sync, P: Fn(&T) -> bool + Sync + Send, const INCLUSIVE: bool> Gather
    for Separated<&'data [T], P, INCLUSIVE>
{
    type Item = &'data [T];

    fn gather(self) -> Vec<&'data [T]> {
        if INCLUSIVE {
            self.slice.split_inclusive(self.separator).collect()
        } else {
            self.slice.split(self.separator).collect()
        }
    }
}

impl<'data, T: Send, P: Fn(&T) -> bool + Sync + Send, const INCLUSIVE: bool> Gather
    for Separated<&'data mut [T], P, INCLUSIVE>
{
    type Item = &'data mut [T];

    fn gather(self) -> Vec<&'data mut [T]> {
        if INCLUSIVE {
            self.slice.split_inclusive_mut(self.separator).collect()
        } else {
            self.slice.split_mut(self.separator).collect()
        }
    }
}

impl<S: fmt::Debug, P, const INCLUSIVE: bool> fmt::Debug for Separated<S, P, INCLUSIVE> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Separated").field("slice", &self.slice).finish_non_exhaustive()
    }
}

/// Runs of neighbouring items that satisfy a predicate pairwise.
#[doc(hidden)]
#[derive(Clone)]
pub struct Cut<S, F> {
    pub(super) slice: S,
    pub(super) pred: F,
}

/// See [`ParallelSlice::par_chunk_by`](super::ParallelSlice::par_chunk_by).
pub type ChunkBy<'data, T, F> = Gathered<Cut<&'data [T], F>>;
/// See [`ParallelSliceMut::par_chunk_by_mut`](super::ParallelSliceMut::par_chunk_by_mut).
pub type ChunkByMut<'data, T, F> = Gathered<Cut<&'data mut [T], F>>;

impl<'data, T: Sync, F: Fn(&T, &T) -> bool + Sync + Send> Gather for Cut<&'data [T], F> {
    type Item = &'data [T];

    fn gather(self) -> Vec<&'data [T]> {
        self.slice.chunk_by(self.pred).collect()
    }
}

impl<'data, T: Send, F: Fn(&T, &T) -> bool + Sync + Send> Gather for Cut<&'data mut [T], F> {
    type Item = &'data mut [T];

    fn gather(self) -> Vec<&'data mut [T]> {
        self.slice.chunk_by_mut(self.pred).collect()
    }
}

impl<S: fmt::Debug, F> fmt::Debug for Cut<S, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cut").field("slice", &self.slice).finish_non_exhaustive()
    }
}
