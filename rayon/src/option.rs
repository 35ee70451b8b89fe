//! Parallel iterators over an [`Option`], which has no item or one.

use std::option;

use crate::{
    iter::{Counted, Gathered},
    sources::becomes,
};

/// An iterator over the item of an option, by value.
pub type IntoIter<T> = Gathered<Counted<option::IntoIter<T>>>;
/// An iterator over a reference to the item of an option.
pub type Iter<'a, T> = Gathered<Counted<option::Iter<'a, T>>>;
/// An iterator over an exclusive reference to the item of an option.
pub type IterMut<'a, T> = Gathered<Counted<option::IterMut<'a, T>>>;

becomes!([T: Send] Option<T> => T, IntoIter<T>, |self| Gathered(Counted(self.into_iter())));
becomes!(['a, T: Sync] &'a Option<T> => &'a T, Iter<'a, T>, |self| Gathered(Counted(self.iter())));
becomes!(['a, T: Send] &'a mut Option<T> => &'a mut T, IterMut<'a, T>, |self| Gathered(Counted(self.iter_mut())));
