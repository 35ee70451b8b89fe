//! Collections that are made from parallel iterators, or extended by them. The loop collects the
//! items into a vector. The calling thread makes the collection from this vector.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    ffi::{OsStr, OsString},
    hash::{BuildHasher, Hash},
    rc::Rc,
    sync::Arc,
};

use super::{
    FromParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator, ends,
    start::{gathered, start},
};

macro_rules! collected {
    ($([$($generic:tt)*] $collection:ty, $item:ty;)+) => {$(
        impl<$($generic)*> FromParallelIterator<$item> for $collection {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(par_iter: I) -> Self {
                gathered(par_iter.into_par_iter()).into_iter().collect()
            }
        }
    )+};
}

collected! {
    [T: Send] Box<[T]>, T;
    [T: Send] Rc<[T]>, T;
    [T: Send] Arc<[T]>, T;
    [T: Send] VecDeque<T>, T;
    [T: Send + Ord] BinaryHeap<T>, T;
    [T: Send] LinkedList<T>, T;
    [T: Send + Ord] BTreeSet<T>, T;
    [T: Send + Eq + Hash, S: BuildHasher + Default + Send] HashSet<T, S>, T;
    [K: Send + Ord, V: Send] BTreeMap<K, V>, (K, V);
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Default + Send] HashMap<K, V, S>, (K, V);
    [] String, char;
    ['a] String, &'a char;
    ['a] String, &'a str;
    [] String, String;
    [] String, Box<str>;
    ['a] String, Cow<'a, str>;
    [] Box<str>, char;
    ['a] Box<str>, &'a char;
    ['a] Box<str>, &'a str;
    [] Box<str>, String;
    [] Box<str>, Box<str>;
    ['a] Box<str>, Cow<'a, str>;
    ['a] OsString, &'a OsStr;
    [] OsString, OsString;
    ['a] OsString, Cow<'a, OsStr>;
}

macro_rules! extended {
    ($([$($generic:tt)*] $collection:ty, $item:ty;)+) => {$(
        impl<$($generic)*> ParallelExtend<$item> for $collection {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, par_iter: I) {
                self.extend(gathered(par_iter.into_par_iter()));
            }
        }
    )+};
}

extended! {
    [T: Send] VecDeque<T>, T;
    ['a, T: Copy + Send + Sync + 'a] VecDeque<T>, &'a T;
    [T: Send + Ord] BinaryHeap<T>, T;
    ['a, T: Copy + Send + Sync + Ord + 'a] BinaryHeap<T>, &'a T;
    [T: Send] LinkedList<T>, T;
    ['a, T: Copy + Send + Sync + 'a] LinkedList<T>, &'a T;
    [T: Send + Ord] BTreeSet<T>, T;
    ['a, T: Copy + Send + Sync + Ord + 'a] BTreeSet<T>, &'a T;
    [T: Send + Eq + Hash, S: BuildHasher + Send] HashSet<T, S>, T;
    ['a, T: Copy + Send + Sync + Eq + Hash + 'a, S: BuildHasher + Send] HashSet<T, S>, &'a T;
    [K: Send + Ord, V: Send] BTreeMap<K, V>, (K, V);
    ['a, K: Copy + Send + Sync + Ord + 'a, V: Copy + Send + Sync + 'a] BTreeMap<K, V>, (&'a K, &'a V);
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Send] HashMap<K, V, S>, (K, V);
    ['a, K: Copy + Send + Sync + Eq + Hash + 'a, V: Copy + Send + Sync + 'a, S: BuildHasher + Send]
        HashMap<K, V, S>, (&'a K, &'a V);
    [] String, char;
    ['a] String, &'a char;
    ['a] String, &'a str;
    [] String, String;
    [] String, Box<str>;
    ['a] String, Cow<'a, str>;
    ['a] OsString, &'a OsStr;
    [] OsString, OsString;
    ['a] OsString, Cow<'a, OsStr>;
}

impl<T: Send> FromParallelIterator<T> for Vec<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self {
        gathered(par_iter.into_par_iter())
    }
}

impl<T: Send> ParallelExtend<T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        if self.capacity() == 0 {
            *self = gathered(par_iter.into_par_iter());
        } else {
            start(par_iter.into_par_iter(), ends::Into::new(self));
        }
    }
}

impl<'a, T: Copy + Send + Sync + 'a> ParallelExtend<&'a T> for Vec<T> {
    fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, par_iter: I) {
        self.par_extend(par_iter.into_par_iter().copied());
    }
}

impl FromParallelIterator<()> for () {
    fn from_par_iter<I: IntoParallelIterator<Item = ()>>(par_iter: I) {
        par_iter.into_par_iter().for_each(|()| ());
    }
}

impl ParallelExtend<()> for () {
    fn par_extend<I: IntoParallelIterator<Item = ()>>(&mut self, par_iter: I) {
        par_iter.into_par_iter().for_each(|()| ());
    }
}

impl<C, T> FromParallelIterator<T> for Cow<'_, C>
where
    C: ToOwned<Owned: FromParallelIterator<T>> + ?Sized,
    T: Send,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self {
        Cow::Owned(C::Owned::from_par_iter(par_iter))
    }
}

/// Returns the first error in the order of the items.
impl<C: FromParallelIterator<T>, T: Send, E: Send> FromParallelIterator<Result<T, E>> for Result<C, E> {
    fn from_par_iter<I: IntoParallelIterator<Item = Result<T, E>>>(par_iter: I) -> Self {
        start(par_iter.into_par_iter(), ends::ToResult {}).map(C::from_par_iter)
    }
}

impl<C: FromParallelIterator<T>, T: Send> FromParallelIterator<Option<T>> for Option<C> {
    fn from_par_iter<I: IntoParallelIterator<Item = Option<T>>>(par_iter: I) -> Self {
        start(par_iter.into_par_iter(), ends::ToOption {}).map(C::from_par_iter)
    }
}

impl<A, B, FromA, FromB> FromParallelIterator<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: FromParallelIterator<A>,
    FromB: FromParallelIterator<B>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = (A, B)>>(par_iter: I) -> Self {
        let (a, b) = start(par_iter.into_par_iter(), ends::Unzip {});
        (FromA::from_par_iter(a), FromB::from_par_iter(b))
    }
}

impl<A, B, FromA, FromB> ParallelExtend<(A, B)> for (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: ParallelExtend<A>,
    FromB: ParallelExtend<B>,
{
    fn par_extend<I: IntoParallelIterator<Item = (A, B)>>(&mut self, par_iter: I) {
        let (a, b) = start(par_iter.into_par_iter(), ends::Unzip {});
        self.0.par_extend(a);
        self.1.par_extend(b);
    }
}

impl<L, R, A, B> ParallelExtend<either::Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Default + Send + ParallelExtend<L>,
    B: Default + Send + ParallelExtend<R>,
{
    fn par_extend<I: IntoParallelIterator<Item = either::Either<L, R>>>(&mut self, par_iter: I) {
        let (left, right): (Vec<L>, Vec<R>) = par_iter.into_par_iter().partition_map(|item| item);
        self.0.par_extend(left);
        self.1.par_extend(right);
    }
}

impl<L, R, A, B> FromParallelIterator<either::Either<L, R>> for (A, B)
where
    L: Send,
    R: Send,
    A: Default + Send + ParallelExtend<L>,
    B: Default + Send + ParallelExtend<R>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = either::Either<L, R>>>(par_iter: I) -> Self {
        par_iter.into_par_iter().partition_map(|item| item)
    }
}
