//! Collections of the standard library: the calling thread gathers their items, or references to
//! them, before the loop begins.

/// Declares the module of a collection.
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
        /// The items.
        pub type $iter<$($arg),+> = Gathered<$kind<of_std::$iter<$($arg),+>>>;
        becomes!([$($generic)*] $of => $item, $iter<$($arg),+>, |self| Gathered($kind(self.into_iter())));
        collection!(@ $collection, $kind; $($rest)*);
    };
    (@ $collection:ident, $kind:ident; shared [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// References to the items.
        pub type $iter<'a, $($arg),+> = Gathered<$kind<of_std::$iter<'a, $($arg),+>>>;
        becomes!(['a, $($generic)*] &'a $of => $item, $iter<'a, $($arg),+>, |self| Gathered($kind(self.iter())));
        collection!(@ $collection, $kind; $($rest)*);
    };
    (@ $collection:ident, $kind:ident; exclusive [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// Exclusive references to the items.
        pub type $iter<'a, $($arg),+> = Gathered<$kind<of_std::$iter<'a, $($arg),+>>>;
        becomes!(['a, $($generic)*] &'a mut $of => $item, $iter<'a, $($arg),+>, |self| Gathered($kind(self.iter_mut())));
        collection!(@ $collection, $kind; $($rest)*);
    };
    (@ $collection:ident, $kind:ident; drained [$($generic:tt)*] $of:ty => $item:ty, $iter:ident<$($arg:ident),+>; $($rest:tt)*) => {
        /// The items, which are taken out.
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
    /// Heaps.
    binary_heap, BinaryHeap, Counted;
    by value [T: Ord + Send] BinaryHeap<T> => T, IntoIter<T>;
    shared [T: Ord + Sync] BinaryHeap<T> => &'a T, Iter<T>;
    drained [T: Ord + Send] BinaryHeap<T> => T, Drain<T>;
}
collection! {
    /// Trees of keys and values.
    btree_map, BTreeMap, Counted;
    by value [K: Ord + Send, V: Send] BTreeMap<K, V> => (K, V), IntoIter<K, V>;
    shared [K: Ord + Sync, V: Sync] BTreeMap<K, V> => (&'a K, &'a V), Iter<K, V>;
    exclusive [K: Ord + Send + Sync, V: Send] BTreeMap<K, V> => (&'a K, &'a mut V), IterMut<K, V>;
}
collection! {
    /// Trees of keys.
    btree_set, BTreeSet, Counted;
    by value [T: Ord + Send] BTreeSet<T> => T, IntoIter<T>;
    shared [T: Ord + Sync] BTreeSet<T> => &'a T, Iter<T>;
}
collection! {
    /// Tables of keys and values.
    hash_map, HashMap, Counted;
    by value [K: Eq + std::hash::Hash + Send, V: Send, S: std::hash::BuildHasher] HashMap<K, V, S> => (K, V), IntoIter<K, V>;
    shared [K: Eq + std::hash::Hash + Sync, V: Sync, S: std::hash::BuildHasher] HashMap<K, V, S> => (&'a K, &'a V), Iter<K, V>;
    exclusive [K: Eq + std::hash::Hash + Send + Sync, V: Send, S: std::hash::BuildHasher] HashMap<K, V, S> => (&'a K, &'a mut V), IterMut<K, V>;
    drained [K: Eq + std::hash::Hash + Send, V: Send, S: std::hash::BuildHasher] HashMap<K, V, S> => (K, V), Drain<K, V>;
}
collection! {
    /// Tables of keys.
    hash_set, HashSet, Counted;
    by value [T: Eq + std::hash::Hash + Send, S: std::hash::BuildHasher] HashSet<T, S> => T, IntoIter<T>;
    shared [T: Eq + std::hash::Hash + Sync, S: std::hash::BuildHasher] HashSet<T, S> => &'a T, Iter<T>;
    drained [T: Eq + std::hash::Hash + Send, S: std::hash::BuildHasher] HashSet<T, S> => T, Drain<T>;
}
collection! {
    /// Lists.
    linked_list, LinkedList, Counted;
    by value [T: Send] LinkedList<T> => T, IntoIter<T>;
    shared [T: Sync] LinkedList<T> => &'a T, Iter<T>;
    exclusive [T: Send] LinkedList<T> => &'a mut T, IterMut<T>;
}
collection! {
    /// Vectors with two ends.
    vec_deque, VecDeque, Counted;
    by value [T: Send] VecDeque<T> => T, IntoIter<T>;
    shared [T: Sync] VecDeque<T> => &'a T, Iter<T>;
    exclusive [T: Send] VecDeque<T> => &'a mut T, IterMut<T>;
}

impl<'a, T: Send> crate::iter::ParallelDrainRange<usize> for &'a mut std::collections::VecDeque<T> {
    type Iter = crate::iter::Gathered<crate::iter::Counted<std::collections::vec_deque::Drain<'a, T>>>;
    type Item = T;

    fn par_drain<R: std::ops::RangeBounds<usize>>(self, range: R) -> Self::Iter {
        crate::iter::Gathered(crate::iter::Counted(self.drain(range)))
    }
}
