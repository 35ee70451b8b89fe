//! Conversions to and from parallel iterators.

use super::{
    IndexedParallelIterator, ParallelIterator,
    plumbing::{Consumer, ProducerCallback, UnindexedConsumer},
};

/// A type that can be converted into a parallel iterator.
#[diagnostic::on_unimplemented(
    message = "`{Self}` becomes no parallel iterator of `rangesteal-rayon`: if it becomes one of rayon, patch rayon for the whole tree",
    note = "write `[patch.crates-io]`, as \"The whole tree\" in the README of rangesteal-rayon says, or collect the items into a `Vec` first"
)]
pub trait IntoParallelIterator {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of an item.
    type Item: Send;

    /// Converts this value into a parallel iterator.
    fn into_par_iter(self) -> Self::Iter;
}

impl<T: ParallelIterator> IntoParallelIterator for T {
    type Iter = T;
    type Item = T::Item;

    fn into_par_iter(self) -> T {
        self
    }
}

/// A type with a parallel iterator over references to its items.
pub trait IntoParallelRefIterator<'data> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of a reference to an item.
    type Item: Send + 'data;

    /// Returns a parallel iterator over references to the items.
    fn par_iter(&'data self) -> Self::Iter;
}

impl<'data, I: ByRef<'data> + ?Sized> IntoParallelRefIterator<'data> for I {
    type Iter = I::Iter;
    type Item = I::Item;

    fn par_iter(&'data self) -> Self::Iter {
        self.by_ref()
    }
}

/// A type whose reference can be converted. (If the bound were `&I: IntoParallelIterator`, the
/// compiler would not print a message of this crate for a call of `par_iter`.)
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`&{Self}` becomes no parallel iterator of `rangesteal-rayon`: if it becomes one of rayon, patch rayon for the whole tree",
    note = "write `[patch.crates-io]`, as \"The whole tree\" in the README of rangesteal-rayon says, or collect the items into a `Vec` first"
)]
pub trait ByRef<'data> {
    type Iter: ParallelIterator<Item = Self::Item>;
    type Item: Send + 'data;

    fn by_ref(&'data self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> ByRef<'data> for I
where
    &'data I: IntoParallelIterator,
{
    type Iter = <&'data I as IntoParallelIterator>::Iter;
    type Item = <&'data I as IntoParallelIterator>::Item;

    fn by_ref(&'data self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A type with a parallel iterator over exclusive references to its items.
pub trait IntoParallelRefMutIterator<'data> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of a reference to an item.
    type Item: Send + 'data;

    /// Returns a parallel iterator over exclusive references to the items.
    fn par_iter_mut(&'data mut self) -> Self::Iter;
}

impl<'data, I: ByMut<'data> + ?Sized> IntoParallelRefMutIterator<'data> for I {
    type Iter = I::Iter;
    type Item = I::Item;

    fn par_iter_mut(&'data mut self) -> Self::Iter {
        self.by_mut()
    }
}

/// [`ByRef`] for exclusive references.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`&mut {Self}` becomes no parallel iterator of `rangesteal-rayon`: if it becomes one of rayon, patch rayon for the whole tree",
    note = "write `[patch.crates-io]`, as \"The whole tree\" in the README of rangesteal-rayon says, or collect the items into a `Vec` first"
)]
pub trait ByMut<'data> {
    type Iter: ParallelIterator<Item = Self::Item>;
    type Item: Send + 'data;

    fn by_mut(&'data mut self) -> Self::Iter;
}

impl<'data, I: 'data + ?Sized> ByMut<'data> for I
where
    &'data mut I: IntoParallelIterator,
{
    type Iter = <&'data mut I as IntoParallelIterator>::Iter;
    type Item = <&'data mut I as IntoParallelIterator>::Item;

    fn by_mut(&'data mut self) -> Self::Iter {
        self.into_par_iter()
    }
}

/// A collection that can be made from the items of a parallel iterator.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is made of no parallel iterator of `rangesteal-rayon` over `{T}`: if it is of one of rayon, patch rayon for the whole tree",
    note = "write `[patch.crates-io]`, as \"The whole tree\" in the README of rangesteal-rayon says, or collect the items into a `Vec` first"
)]
pub trait FromParallelIterator<T: Send> {
    /// Makes the collection from the items.
    #[track_caller]
    fn from_par_iter<I: IntoParallelIterator<Item = T>>(par_iter: I) -> Self;
}

/// A collection that can be extended by the items of a parallel iterator.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is extended by no parallel iterator of `rangesteal-rayon` over `{T}`: if it is by one of rayon, patch rayon for the whole tree",
    note = "write `[patch.crates-io]`, as \"The whole tree\" in the README of rangesteal-rayon says, or collect the items into a `Vec` first"
)]
pub trait ParallelExtend<T: Send> {
    /// Adds the items to the collection.
    #[track_caller]
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I);
}

/// A collection with a parallel iterator that takes all items out.
pub trait ParallelDrainFull {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of an item.
    type Item: Send;

    /// Returns a parallel iterator that takes all items out of the collection.
    fn par_drain(self) -> Self::Iter;
}

/// A collection with a parallel iterator that takes the items of a range out.
pub trait ParallelDrainRange<Idx = usize> {
    /// The parallel iterator.
    type Iter: ParallelIterator<Item = Self::Item>;
    /// The type of an item.
    type Item: Send;

    /// Returns a parallel iterator that takes the items of the range out of the collection.
    fn par_drain<R: std::ops::RangeBounds<Idx>>(self, range: R) -> Self::Iter;
}
impl<L: ParallelIterator, R: ParallelIterator<Item = L::Item>> ParallelIterator for either::Either<L, R> {
    type Item = L::Item;

    fn drive_unindexed<C: UnindexedConsumer<L::Item>>(self, consumer: C) -> C::Result {
        either::for_both!(self, iter => iter.drive_unindexed(consumer))
    }

    #[track_caller]
    fn rs_run<E: super::End<L::Item>>(self, end: E) -> E::Out {
        either::for_both!(self, iter => iter.rs_run(end))
    }

    fn rs_into_items(self) -> Vec<L::Item> {
        either::for_both!(self, iter => iter.rs_into_items())
    }

    fn opt_len(&self) -> Option<usize> {
        either::for_both!(self, iter => iter.opt_len())
    }
}

impl<L, R> IndexedParallelIterator for either::Either<L, R>
where
    L: IndexedParallelIterator,
    R: IndexedParallelIterator<Item = L::Item>,
{
    fn drive<C: Consumer<L::Item>>(self, consumer: C) -> C::Result {
        either::for_both!(self, iter => iter.drive(consumer))
    }

    fn with_producer<CB: ProducerCallback<L::Item>>(self, callback: CB) -> CB::Output {
        either::for_both!(self, iter => iter.with_producer(callback))
    }

    #[track_caller]
    fn rs_run_indexed<E: super::IndexedEnd<L::Item>>(self, end: E) -> E::Out {
        either::for_both!(self, iter => iter.rs_run_indexed(end))
    }

    fn len(&self) -> usize {
        either::for_both!(self, iter => iter.len())
    }
}

impl<T: Send, L: ParallelExtend<T>, R: ParallelExtend<T>> ParallelExtend<T> for either::Either<L, R> {
    fn par_extend<I: IntoParallelIterator<Item = T>>(&mut self, par_iter: I) {
        either::for_both!(self, collection => collection.par_extend(par_iter));
    }
}
