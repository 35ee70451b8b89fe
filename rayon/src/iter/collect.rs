//! Collections that are made from parallel iterators, or extended by them. The loop collects the
//! items into a vector, and the calling thread makes the collection from this vector. Of a string
//! or a linked list, the loop makes parts, which the calling thread joins.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet, LinkedList, VecDeque},
    ffi::{OsStr, OsString},
    hash::{BuildHasher, Hash},
    mem,
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
    [T: Send + Ord] BTreeSet<T>, T;
    [T: Send + Eq + Hash, S: BuildHasher + Default + Send] HashSet<T, S>, T;
    [K: Send + Ord, V: Send] BTreeMap<K, V>, (K, V);
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Default + Send] HashMap<K, V, S>, (K, V);
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
    [T: Send + Ord] BTreeSet<T>, T;
    ['a, T: Copy + Send + Sync + Ord + 'a] BTreeSet<T>, &'a T;
    [T: Send + Eq + Hash, S: BuildHasher + Send] HashSet<T, S>, T;
    ['a, T: Copy + Send + Sync + Eq + Hash + 'a, S: BuildHasher + Send] HashSet<T, S>, &'a T;
    [K: Send + Ord, V: Send] BTreeMap<K, V>, (K, V);
    ['a, K: Copy + Send + Sync + Ord + 'a, V: Copy + Send + Sync + 'a] BTreeMap<K, V>, (&'a K, &'a V);
    [K: Send + Eq + Hash, V: Send, S: BuildHasher + Send] HashMap<K, V, S>, (K, V);
    ['a, K: Copy + Send + Sync + Eq + Hash + 'a, V: Copy + Send + Sync + 'a, S: BuildHasher + Send]
        HashMap<K, V, S>, (&'a K, &'a V);
}

/// Collections of neighbouring items, in order: each run of the loop makes one. (In a box, since a
/// fold moves its accumulator for each item.)
#[track_caller]
fn parts<P: Default + Send, I: ParallelIterator>(
    iter: I,
    add: impl Fn(&mut P, I::Item) + Sync + Send,
) -> Vec<Box<P>> {
    gathered(iter.fold(Box::<P>::default, |mut part, item| {
        add(&mut part, item);
        part
    }))
}

macro_rules! texts {
    ($($text:ident: $([$($of:lifetime)?] $item:ty, |$all:ident, $one:ident| $add:expr;)+)+) => {$($(
        impl<$($of)?> FromParallelIterator<$item> for $text {
            fn from_par_iter<I: IntoParallelIterator<Item = $item>>(par_iter: I) -> Self {
                let mut all = Self::new();
                all.par_extend(par_iter);
                all
            }
        }

        impl<$($of)?> ParallelExtend<$item> for $text {
            fn par_extend<I: IntoParallelIterator<Item = $item>>(&mut self, par_iter: I) {
                let mut parts = parts(par_iter.into_par_iter(), |$all: &mut Self, $one| $add);
                if let (0, [only]) = (self.capacity(), &mut *parts) {
                    *self = mem::take(only);
                    return;
                }
                self.reserve(parts.iter().map(|part| part.len()).sum());
                self.extend(parts.into_iter().map(|part| *part));
            }
        }
    )+)+};
}

texts! {
    String:
    [] char, |all, one| all.push(one);
    ['a] &'a char, |all, one| all.push(*one);
    ['a] &'a str, |all, one| all.push_str(one);
    [] String, |all, one| all.push_str(&one);
    [] Box<str>, |all, one| all.push_str(&one);
    ['a] Cow<'a, str>, |all, one| all.push_str(&one);
    OsString:
    ['a] &'a OsStr, |all, one| all.push(one);
    [] OsString, |all, one| all.push(one);
    ['a] Cow<'a, OsStr>, |all, one| all.push(one);
}

impl<T: Send> FromParallelIterator<T> for Box<str>
where
    String: FromParallelIterator<T>,
{
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self {
        String::from_par_iter(par_iter).into_boxed_str()
    }
}

impl<T: Send> FromParallelIterator<T> for LinkedList<T> {
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self {
        let mut all = Self::new();
        all.par_extend(par_iter);
        all
    }
}

impl<T: Send> ParallelExtend<T> for LinkedList<T> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        for mut part in parts(par_iter.into_par_iter(), |part: &mut Self, item| part.push_back(item)) {
            self.append(&mut part);
        }
    }
}

impl<'a, T: Copy + Send + Sync + 'a> ParallelExtend<&'a T> for LinkedList<T> {
    fn par_extend<I: IntoParallelIterator<Item = &'a T>>(&mut self, par_iter: I) {
        self.par_extend(par_iter.into_par_iter().copied());
    }
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
