//! Iterators over the items of parallel iterators, each of which is made of one item. They have no
//! chain: a loop over another loop's item is driven as an iterator of another crate is.

use super::{
    IntoParallelIterator, ParallelIterator,
    plumbing::{Begins, Consumer, Folder, Reducer, UnindexedConsumer, in_outer},
    shown,
};

/// Makes a parallel iterator of an item.
#[doc(hidden)]
pub trait Spreads<T>: Send + Sync {
    /// The parallel iterator.
    type Iter: ParallelIterator;

    /// The iterator of an item.
    fn of(&self, item: T) -> Self::Iter;
}

/// An iterator over the items of all parallel iterators that are made of the items of another one.
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Spread<I, G> {
    pub(super) base: I,
    pub(super) by: G,
}
shown!(Spread<I, G>);

/// Makes the iterators by a closure.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct FlatMapBy<F>(pub(super) F);

/// See [`ParallelIterator::flat_map`].
pub type FlatMap<I, F> = Spread<I, FlatMapBy<F>>;

impl<T, P: IntoParallelIterator, F: Fn(T) -> P + Sync + Send> Spreads<T> for FlatMapBy<F> {
    type Iter = P::Iter;

    fn of(&self, item: T) -> P::Iter {
        (self.0)(item).into_par_iter()
    }
}

/// The items are the iterators.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Flat;

/// See [`ParallelIterator::flatten`].
pub type Flatten<I> = Spread<I, Flat>;

impl<P: IntoParallelIterator> Spreads<P> for Flat {
    type Iter = P::Iter;

    fn of(&self, item: P) -> P::Iter {
        item.into_par_iter()
    }
}

impl<I: ParallelIterator, G: Spreads<I::Item>> ParallelIterator for Spread<I, G> {
    type Item = <G::Iter as ParallelIterator>::Item;

    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(BeforeSpread(&self.by, consumer))
    }
}

/// Gives the items of all iterators to a consumer.
struct BeforeSpread<'g, G, C>(&'g G, C);

impl<'g, T, G, C> Consumer<T> for BeforeSpread<'g, G, C>
where
    G: Spreads<T>,
    C: UnindexedConsumer<<G::Iter as ParallelIterator>::Item>,
{
    type Folder = SpreadFolder<'g, G, C, C::Result>;
    type Reducer = C::Reducer;
    type Result = C::Result;

    fn split_at(self, _: usize) -> (Self, Self, C::Reducer) {
        let (left, reducer) = (self.1.split_off_left(), self.1.to_reducer());
        (Self(self.0, left), self, reducer)
    }

    fn into_folder(self) -> Self::Folder {
        SpreadFolder { by: self.0, to: self.1, so_far: None, is_backward: false }
    }

    fn full(&self) -> bool {
        self.1.full()
    }

    fn rs_begins(&self) -> Begins {
        self.1.rs_begins()
    }

    fn rs_goes_on(&self) -> bool {
        self.1.rs_goes_on()
    }

    fn rs_into_backward_folder(self) -> Self::Folder {
        SpreadFolder { by: self.0, to: self.1, so_far: None, is_backward: true }
    }
}

impl<T, G, C> UnindexedConsumer<T> for BeforeSpread<'_, G, C>
where
    G: Spreads<T>,
    C: UnindexedConsumer<<G::Iter as ParallelIterator>::Item>,
{
    fn split_off_left(&self) -> Self {
        Self(self.0, self.1.split_off_left())
    }

    fn rs_split_off_right(&self) -> Self {
        Self(self.0, self.1.rs_split_off_right())
    }

    fn to_reducer(&self) -> C::Reducer {
        self.1.to_reducer()
    }
}

/// The folder of [`BeforeSpread`], and the result of all iterators so far.
struct SpreadFolder<'g, G, C, R> {
    by: &'g G,
    to: C,
    so_far: Option<R>,
    is_backward: bool,
}

impl<T, G, C> Folder<T> for SpreadFolder<'_, G, C, C::Result>
where
    G: Spreads<T>,
    C: UnindexedConsumer<<G::Iter as ParallelIterator>::Item>,
{
    type Result = C::Result;

    fn consume(self, item: T) -> Self {
        let Self { by, to, so_far, is_backward } = self;
        let part = if is_backward { to.rs_split_off_right() } else { to.split_off_left() };
        let inner = by.of(item);
        let result = in_outer(|| inner.drive_unindexed(part));
        let so_far = Some(match so_far {
            Some(behind) if is_backward => to.to_reducer().reduce(result, behind),
            Some(before) => to.to_reducer().reduce(before, result),
            None => result,
        });
        Self { by, to, so_far, is_backward }
    }

    fn complete(self) -> C::Result {
        self.so_far.unwrap_or_else(|| self.to.into_folder().complete())
    }

    fn full(&self) -> bool {
        self.to.full()
    }
}
