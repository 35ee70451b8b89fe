//! Arrays.

use rangesteal::source;

use crate::{
    slice::{Iter, IterMut},
    sources::{becomes, begins},
};

/// An iterator over the items of an array, by value.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct IntoIter<T: Send, const N: usize>([T; N]);

begins!([T: Send, const N: usize] IntoIter<T, N> => T, |self| source(self.0), |self| self.0.len());

becomes!([T: Send, const N: usize] [T; N] => T, IntoIter<T, N>, |self| IntoIter(self));
becomes!(['data, T: Sync, const N: usize] &'data [T; N] => &'data T, Iter<'data, T>, |self| {
    self.as_slice().into_par_iter()
});
becomes!(['data, T: Send, const N: usize] &'data mut [T; N] => &'data mut T, IterMut<'data, T>, |self| {
    self.as_mut_slice().into_par_iter()
});
