//! Pieces of a slice whose ends depend on the items.

use std::{
    mem,
    ops::{Deref, Range},
    slice::Windows,
};

use crate::iter::{Divide, Divided, Whole};

/// The pieces between separators. If `INCLUSIVE`, each piece has its separator at the end.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Separated<P, const INCLUSIVE: bool>(pub(super) P);

/// See [`ParallelSlice::par_split`](super::ParallelSlice::par_split).
pub type Split<'data, T, P> = Divided<&'data [T], Separated<P, false>>;
/// See [`ParallelSlice::par_split_inclusive`](super::ParallelSlice::par_split_inclusive).
pub type SplitInclusive<'data, T, P> = Divided<&'data [T], Separated<P, true>>;
/// See [`ParallelSliceMut::par_split_mut`](super::ParallelSliceMut::par_split_mut).
pub type SplitMut<'data, T, P> = Divided<&'data mut [T], Separated<P, false>>;
/// See
/// [`ParallelSliceMut::par_split_inclusive_mut`](super::ParallelSliceMut::par_split_inclusive_mut).
pub type SplitInclusiveMut<'data, T, P> = Divided<&'data mut [T], Separated<P, true>>;

/// Runs of neighbouring items that satisfy a predicate pairwise.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Runs<F>(pub(super) F);

/// See [`ParallelSlice::par_chunk_by`](super::ParallelSlice::par_chunk_by).
pub type ChunkBy<'data, T, F> = Divided<&'data [T], Runs<F>>;
/// See [`ParallelSliceMut::par_chunk_by_mut`](super::ParallelSliceMut::par_chunk_by_mut).
pub type ChunkByMut<'data, T, F> = Divided<&'data mut [T], Runs<F>>;

/// The runs of a block. As in rayon, the predicate is called once for each pair of neighbours, so
/// it is not called again for the pairs that the cut of the block has seen.
struct RunsOf<'f, S, F> {
    rest: S,
    is_same: &'f F,
    /// From the pair that ends at this index on, all pairs of the rest are in one run. 0 if nothing
    /// is left, otherwise at most the length of the rest.
    seen: usize,
}

impl<'f, T, S: Whole + Deref<Target = [T]>, F: Fn(&T, &T) -> bool> RunsOf<'f, S, F> {
    fn new(block: S, is_same: &'f F, seen: usize) -> Self {
        Self { seen: seen.min(block.len()), rest: block, is_same }
    }

    /// The pairs of neighbours that have not been seen.
    fn pairs(&self) -> Windows<'_, T> {
        self.rest[..self.seen].windows(2)
    }

    fn is_end(&self, pair: &[T]) -> bool {
        !(self.is_same)(&pair[0], &pair[1])
    }
}

impl<T, S: Whole + Default + Deref<Target = [T]>, F: Fn(&T, &T) -> bool> Iterator for RunsOf<'_, S, F> {
    type Item = S;

    #[inline(always)]
    fn next(&mut self) -> Option<S> {
        if self.seen == 0 {
            return None;
        }
        let end = self.pairs().position(|pair| self.is_end(pair)).map(|at| at + 1);
        let rest = mem::take(&mut self.rest);
        let Some(end) = end else {
            self.seen = 0;
            return Some(rest);
        };
        let (run, rest) = rest.cut(end);
        (self.rest, self.seen) = (rest, self.seen - end);
        Some(run)
    }
}

impl<T, S: Whole + Default + Deref<Target = [T]>, F: Fn(&T, &T) -> bool> DoubleEndedIterator
    for RunsOf<'_, S, F>
{
    fn next_back(&mut self) -> Option<S> {
        if self.seen == 0 {
            return None;
        }
        let begin = self.pairs().rposition(|pair| self.is_end(pair)).map_or(0, |at| at + 1);
        let (rest, run) = mem::take(&mut self.rest).cut(begin);
        (self.rest, self.seen) = (rest, begin);
        Some(run)
    }
}

/// Implements [`Divide`] for shared or exclusive slices. The arguments are std's methods.
macro_rules! divides {
    ($bound:ident, $slice:ty, $split:ident, $split_inclusive:ident) => {
        impl<'data, T: $bound, P: Fn(&T) -> bool + Sync + Send> Divide<$slice> for Separated<P, false> {
            type Piece = $slice;

            fn cut(&self, slice: &$slice, from: usize) -> Option<Range<usize>> {
                let at = from + slice[from..].iter().position(&self.0)?;
                Some(at..at + 1)
            }

            fn pieces(&self, block: $slice, _: usize, _: usize) -> impl DoubleEndedIterator<Item = $slice> {
                block.$split(&self.0)
            }
        }

        impl<'data, T: $bound, P: Fn(&T) -> bool + Sync + Send> Divide<$slice> for Separated<P, true> {
            type Piece = $slice;

            fn cut(&self, slice: &$slice, from: usize) -> Option<Range<usize>> {
                let end = from + slice[from..].iter().position(&self.0)? + 1;
                Some(end..end)
            }

            fn pieces(&self, block: $slice, _: usize, _: usize) -> impl DoubleEndedIterator<Item = $slice> {
                block.$split_inclusive(&self.0)
            }
        }

        impl<'data, T: $bound, F: Fn(&T, &T) -> bool + Sync + Send> Divide<$slice> for Runs<F> {
            type Piece = $slice;

            fn cut(&self, slice: &$slice, from: usize) -> Option<Range<usize>> {
                let is_end = |pair: &[T]| !(self.0)(&pair[0], &pair[1]);
                let end = from + slice[from - 1..].windows(2).position(is_end)?;
                Some(end..end)
            }

            fn pieces(
                &self,
                block: $slice,
                _: usize,
                seen: usize,
            ) -> impl DoubleEndedIterator<Item = $slice> {
                RunsOf::new(block, &self.0, seen)
            }
        }
    };
}

divides!(Sync, &'data [T], split, split_inclusive);
divides!(Send, &'data mut [T], split_mut, split_inclusive_mut);
