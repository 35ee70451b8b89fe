//! Parallel iterators over the standard library's collections. Except of a queue (`VecDeque`), the
//! calling thread gathers the items, or references to the items, into a vector before the loop
//! begins.

/// Declares the module of a collection: its parallel iterators by value, by reference, by exclusive
/// reference, and draining.
macro_rules! collection {
    ($(#[$doc:meta])* $module:ident, $collection:ident, $kind:ident; $($rest:tt)*) => {
        $(#[$doc])*
        pub mod $module {
            use std::{collections::$module as of_std, collections::$collection};

            use crate::{
                iter::{$kind, Gathered},
                sources::becomes,
            };

            collection!(@ $collection, $kind; $($rest)*);
        }
    };
    (@ $collection:ident, $kind:ident;) => {};
    (@ $collection:ident, $kind:ident; by value [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// An iterator over the items, by value.
        pub type $iter<$($arg),+> = Gathered<$kind<of_std::$iter<$($arg),+>>>;
        becomes!([$($generic)*] $of => $item, $iter<$($arg),+>, |self| Gathered($kind(self.into_iter())));
        collection!(@ $collection, $kind; $($rest)*);
    };
    (@ $collection:ident, $kind:ident; shared [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// An iterator over references to the items.
        pub type $iter<'a, $($arg),+> = Gathered<$kind<of_std::$iter<'a, $($arg),+>>>;
        becomes!(['a, $($generic)*] &'a $of => $item, $iter<'a, $($arg),+>, |self| Gathered($kind(self.iter())));
        collection!(@ $collection, $kind; $($rest)*);
    };
    (@ $collection:ident, $kind:ident; exclusive [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// An iterator over exclusive references to the items.
        pub type $iter<'a, $($arg),+> = Gathered<$kind<of_std::$iter<'a, $($arg),+>>>;
        becomes!(['a, $($generic)*] &'a mut $of => $item, $iter<'a, $($arg),+>, |self| Gathered($kind(self.iter_mut())));
        collection!(@ $collection, $kind; $($rest)*);
    };
    (@ $collection:ident, $kind:ident; drained [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// An iterator that takes the items out of the collection.
        pub type $iter<'a, $($arg),+> = Gathered<$kind<of_std::$iter<'a, $($arg),+>>>;

        impl<'a, $($generic)*> crate::iter::ParallelDrainFull for &'a mut $of {
            type Iter = $iter<'a, $($arg),+>;
            type Item = $item;

            fn par_drain(self) -> Self::Iter {
                Gathered($kind(self.drain()))
            }
        }
        collection!(@ $collection, $kind; $($rest)*);
    };
}

collection! {
    /// Parallel iterators over a [`BinaryHeap`](std::collections::BinaryHeap).
    binary_heap, BinaryHeap, Counted;
    by value [T: Ord + Send] BinaryHeap<T> => T, IntoIter<T>;
    shared [T: Ord + Sync] BinaryHeap<T> => &'a T, Iter<T>;
    drained [T: Ord + Send] BinaryHeap<T> => T, Drain<T>;
}
collection! {
    /// Parallel iterators over a [`BTreeMap`](std::collections::BTreeMap).
    btree_map, BTreeMap, Counted;
    by value [K: Ord + Send, V: Send] BTreeMap<K, V> => (K, V), IntoIter<K, V>;
    shared [K: Ord + Sync, V: Sync] BTreeMap<K, V> => (&'a K, &'a V), Iter<K, V>;
    exclusive [K: Ord + Send + Sync, V: Send] BTreeMap<K, V> => (&'a K, &'a mut V), IterMut<K, V>;
}
collection! {
    /// Parallel iterators over a [`BTreeSet`](std::collections::BTreeSet).
    btree_set, BTreeSet, Counted;
    by value [T: Ord + Send] BTreeSet<T> => T, IntoIter<T>;
    shared [T: Ord + Sync] BTreeSet<T> => &'a T, Iter<T>;
}
collection! {
    /// Parallel iterators over a [`HashMap`](std::collections::HashMap).
    hash_map, HashMap, Counted;
    by value [K: Eq + std::hash::Hash + Send, V: Send, S: std::hash::BuildHasher] HashMap<K, V, S> => (K, V), IntoIter<K, V>;
    shared [K: Eq + std::hash::Hash + Sync, V: Sync, S: std::hash::BuildHasher] HashMap<K, V, S> => (&'a K, &'a V), Iter<K, V>;
    exclusive [K: Eq + std::hash::Hash + Send + Sync, V: Send, S: std::hash::BuildHasher] HashMap<K, V, S> => (&'a K, &'a mut V), IterMut<K, V>;
    drained [K: Eq + std::hash::Hash + Send, V: Send, S: std::hash::BuildHasher] HashMap<K, V, S> => (K, V), Drain<K, V>;
}
collection! {
    /// Parallel iterators over a [`HashSet`](std::collections::HashSet).
    hash_set, HashSet, Counted;
    by value [T: Eq + std::hash::Hash + Send, S: std::hash::BuildHasher] HashSet<T, S> => T, IntoIter<T>;
    shared [T: Eq + std::hash::Hash + Sync, S: std::hash::BuildHasher] HashSet<T, S> => &'a T, Iter<T>;
    drained [T: Eq + std::hash::Hash + Send, S: std::hash::BuildHasher] HashSet<T, S> => T, Drain<T>;
}
collection! {
    /// Parallel iterators over a [`LinkedList`](std::collections::LinkedList).
    linked_list, LinkedList, Counted;
    by value [T: Send] LinkedList<T> => T, IntoIter<T>;
    shared [T: Sync] LinkedList<T> => &'a T, Iter<T>;
    exclusive [T: Send] LinkedList<T> => &'a mut T, IterMut<T>;
}
/// Parallel iterators over a [`VecDeque`](std::collections::VecDeque). Those over references are
/// chains of the two slices of the queue.
pub mod vec_deque {
    use std::collections::VecDeque;

    use crate::{
        iter::{Chain, ParallelIterator as _},
        slice,
        sources::becomes,
        vec,
    };

    /// An iterator over the items, by value.
    pub type IntoIter<T> = vec::IntoIter<T>;
    /// An iterator over references to the items.
    pub type Iter<'a, T> = Chain<slice::Iter<'a, T>, slice::Iter<'a, T>>;
    /// An iterator over exclusive references to the items.
    pub type IterMut<'a, T> = Chain<slice::IterMut<'a, T>, slice::IterMut<'a, T>>;

    becomes!([T: Send] VecDeque<T> => T, IntoIter<T>, |self| Vec::from(self).into_par_iter());
    becomes!(['a, T: Sync] &'a VecDeque<T> => &'a T, Iter<'a, T>, |self| {
        let (first, second) = self.as_slices();
        first.into_par_iter().chain(second)
    });
    becomes!(['a, T: Send] &'a mut VecDeque<T> => &'a mut T, IterMut<'a, T>, |self| {
        let (first, second) = self.as_mut_slices();
        first.into_par_iter().chain(second)
    });
}

impl<'a, T: Send> crate::iter::ParallelDrainRange<usize> for &'a mut std::collections::VecDeque<T> {
    type Iter = crate::iter::Gathered<crate::iter::Counted<std::collections::vec_deque::Drain<'a, T>>>;
    type Item = T;

    fn par_drain<R: std::ops::RangeBounds<usize>>(self, range: R) -> Self::Iter {
        crate::iter::Gathered(crate::iter::Counted(self.drain(range)))
    }
}
