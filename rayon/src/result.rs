//! Parallel iterators over a [`Result`], which has no item or one.

use std::option;

use crate::{
    iter::{Counted, Gathered},
    sources::becomes,
};

/// An iterator over the `Ok` value of a result, by value.
pub type IntoIter<T> = Gathered<Counted<option::IntoIter<T>>>;
/// An iterator over a reference to the `Ok` value of a result.
pub type Iter<'a, T> = Gathered<Counted<option::IntoIter<&'a T>>>;
/// An iterator over an exclusive reference to the `Ok` value of a result.
pub type IterMut<'a, T> = Gathered<Counted<option::IntoIter<&'a mut T>>>;

becomes!([T: Send, E] Result<T, E> => T, IntoIter<T>, |self| Gathered(Counted(self.ok().into_iter())));
becomes!(['a, T: Sync, E] &'a Result<T, E> => &'a T, Iter<'a, T>, |self| {
    Gathered(Counted(self.as_ref().ok().into_iter()))
});
becomes!(['a, T: Send, E] &'a mut Result<T, E> => &'a mut T, IterMut<'a, T>, |self| {
    Gathered(Counted(self.as_mut().ok().into_iter()))
});
