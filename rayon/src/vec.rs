//! Parallel iterators over a [`Vec`].

use std::ops::{Range, RangeBounds};

use rangesteal::{source, source::drain};

use crate::{
    iter::{
        ANY_LENGTH, End, IndexedEnd, IndexedParallelIterator, ParallelDrainRange, ParallelIterator,
        Unindexed, indexed_by_bridge, unindexed_by_bridge,
    },
    slice::{Iter, IterMut},
    sources::{becomes, begins},
};

/// An iterator over the items of a vector, by value.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct IntoIter<T>(Vec<T>);
impl<T: Send> ParallelIterator for IntoIter<T> {
    type Item = T;
    unindexed_by_bridge!();

    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        self.rs_run_indexed(Unindexed(end, ANY_LENGTH))
    }

    fn rs_into_items(self) -> Vec<T> {
        self.0
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.0.len())
    }
}

impl<T: Send> IndexedParallelIterator for IntoIter<T> {
    indexed_by_bridge!();

    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<T>>(self, end: E) -> E::Out {
        end.source(source(self.0))
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

becomes!([T: Send] Vec<T> => T, IntoIter<T>, |self| IntoIter(self));
becomes!([T: Send] Box<[T]> => T, IntoIter<T>, |self| IntoIter(self.into_vec()));
becomes!(['data, T: Sync] &'data Vec<T> => &'data T, Iter<'data, T>, |self| self.as_slice().into_par_iter());
becomes!(['data, T: Send] &'data mut Vec<T> => &'data mut T, IterMut<'data, T>, |self| {
    self.as_mut_slice().into_par_iter()
});

/// An iterator that takes the items of a range out of a vector.
#[derive(Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Drain<'data, T: Send> {
    /// `None` once a loop has taken the vector.
    vec: Option<&'data mut Vec<T>>,
    range: Range<usize>,
}

begins!(['data, T: Send] Drain<'data, T> => T,
    |self| source(drain(self.vec.take().expect("only one loop takes the vector"), self.range.clone())), |self| self.range.len());

impl<T: Send> Drop for Drain<'_, T> {
    fn drop(&mut self) {
        if let Some(vec) = self.vec.take() {
            vec.drain(self.range.clone());
        }
    }
}

impl<'data, T: Send> ParallelDrainRange<usize> for &'data mut Vec<T> {
    type Iter = Drain<'data, T>;
    type Item = T;

    fn par_drain<R: RangeBounds<usize>>(self, range: R) -> Drain<'data, T> {
        let range = crate::range::within(range, self.len());
        Drain { vec: Some(self), range }
    }
}
