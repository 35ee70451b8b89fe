//! The trait of all parallel iterators.

use std::{
    cmp::Ordering,
    collections::LinkedList,
    iter::{Product, Sum},
    marker::PhantomData,
    ops::ControlFlow,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use super::{
    Chain, Cloned, Copied, End, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    FoldWith, FromParallelIterator, Gathered, Inspect, Intersperse, IntoParallelIterator, Map, MapInit,
    MapWith, PanicFuse, ParallelExtend, SkipAny, SkipAnyWhile, Spread, Staged, TakeAny, TakeAnyWhile, Try,
    TryFold, TryFoldWith, Update, WhileSome, ends, folds, mixed,
    plumbing::UnindexedConsumer,
    prefixes, spread, stages,
    start::{gathered, start},
};
use crate::sync::lock;
use either::Either;

/// An iterator whose items are processed by the threads of a pool.
///
/// Names and meanings are those of rayon. The README of this package lists the differences. A type
/// of your own implements [`drive_unindexed`](Self::drive_unindexed), see
/// [`plumbing`](super::plumbing).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parallel iterator of `rangesteal-rayon`: if it is one of rayon, patch rayon for the whole tree",
    note = "write `[patch.crates-io]`, as \"The whole tree\" in the README of rangesteal-rayon says, or collect the items into a `Vec` first"
)]
pub trait ParallelIterator: Sized + Send {
    /// The type of an item.
    type Item: Send;

    /// Gives the items to a consumer. The methods of [`plumbing`](super::plumbing) do that.
    fn drive_unindexed<C: UnindexedConsumer<Self::Item>>(self, consumer: C) -> C::Result;

    /// Passes the chain of this iterator to `end`.
    #[doc(hidden)]
    #[track_caller]
    fn rs_run<E: End<Self::Item>>(self, end: E) -> E::Out {
        end.foreign(self)
    }

    /// Passes a chain of the same items in reverse to `end`.
    #[doc(hidden)]
    #[track_caller]
    fn rs_run_backward<E: End<Self::Item>>(self, end: E) -> E::Out {
        end.foreign_backward(self)
    }

    /// Returns all items, in order.
    #[doc(hidden)]
    #[track_caller]
    fn rs_into_items(self) -> Vec<Self::Item> {
        ends::gathered!(None::<usize>, |end| self.rs_run(end))
    }

    /// The minimal and maximal length of a run that [`fold`](Self::fold) folds, and of a part of
    /// another crate's iterator.
    #[doc(hidden)]
    fn rs_lengths(&self) -> (usize, usize) {
        (1, usize::MAX)
    }

    /// The number of items, if known before the loop.
    fn opt_len(&self) -> Option<usize> {
        None
    }

    /// Calls `op` with each item.
    #[track_caller]
    fn for_each<OP: Fn(Self::Item) + Sync + Send>(self, op: OP) {
        start(self, ends::Each { f: op });
    }

    /// Calls `op` with a worker's state and each item. The state is a clone of `init`.
    #[track_caller]
    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        self.for_each_init(folds::cloned_from(init), op);
    }

    /// Calls `op` with a worker's state and each item. Each worker makes its state by `init()`.
    #[track_caller]
    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.map_init(init, op).for_each(|()| ());
    }

    /// Calls `op` with each item until one call fails. Returns the first failure in the order of
    /// the items.
    #[track_caller]
    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        let ended = start(self, ends::TryEach { f: |item| checked(op(item)) });
        ended.err().unwrap_or_else(|| R::from_output(()))
    }

    /// Calls `op` with a worker's state and each item until one call fails. The state is a clone of
    /// `init`. Returns the first failure in the order of the items.
    #[track_caller]
    fn try_for_each_with<OP, T, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Try<Output = ()> + Send,
    {
        self.try_for_each_init(folds::cloned_from(init), op)
    }

    /// Calls `op` with a worker's state and each item until one call fails. Each worker makes its
    /// state by `init()`. Returns the first failure in the order of the items.
    #[track_caller]
    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        self.map_init(init, op).try_for_each(|ended| ended)
    }

    /// Counts the items.
    #[track_caller]
    fn count(self) -> usize {
        start(self, ends::Count {})
    }

    /// Maps each item by `map_op`.
    #[track_caller]
    fn map<F, R>(self, map_op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Staged { base: self, stage: stages::MapBy(map_op) }
    }

    /// Maps each item by `map_op`, which also receives a worker's state. The state is a clone of
    /// `init`. The results are gathered into a vector if a later stage needs their index.
    #[track_caller]
    fn map_with<F, T, R>(self, init: T, map_op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        Gathered(folds::MapWithOf { base: self, init, op: map_op })
    }

    /// Maps each item by `map_op`, which also receives a worker's state. Each worker makes its
    /// state by `init()`. The results are gathered into a vector if a later stage needs their
    /// index.
    #[track_caller]
    fn map_init<F, INIT, T, R>(self, init: INIT, map_op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        Gathered(folds::MapInitOf { base: self, init, op: map_op })
    }

    /// Iterates over clones of the items, which are references.
    #[track_caller]
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Staged { base: self, stage: stages::Owned }
    }

    /// Iterates over copies of the items, which are references.
    #[track_caller]
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Staged { base: self, stage: stages::Owned }
    }

    /// Calls `inspect_op` with a reference to each item, and passes the item on.
    #[track_caller]
    fn inspect<OP: Fn(&Self::Item) + Sync + Send>(self, inspect_op: OP) -> Inspect<Self, OP> {
        Staged { base: self, stage: stages::InspectBy(inspect_op) }
    }

    /// Changes each item by `update_op`, and passes the item on.
    #[track_caller]
    fn update<F: Fn(&mut Self::Item) + Sync + Send>(self, update_op: F) -> Update<Self, F> {
        Staged { base: self, stage: stages::UpdateBy(update_op) }
    }

    /// Iterates over the items for which `filter_op` returns true.
    #[track_caller]
    fn filter<P: Fn(&Self::Item) -> bool + Sync + Send>(self, filter_op: P) -> Filter<Self, P> {
        Staged { base: self, stage: stages::FilterBy(filter_op) }
    }

    /// Maps each item by `filter_op`, and iterates over the `Some` results.
    #[track_caller]
    fn filter_map<P, R>(self, filter_op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        Staged { base: self, stage: stages::FilterMapBy(filter_op) }
    }

    /// Maps each item to a parallel iterator, and iterates over the items of all these iterators.
    #[track_caller]
    fn flat_map<F, PI>(self, map_op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        Spread { base: self, by: spread::FlatMapBy(map_op) }
    }

    /// Maps each item to a serial iterator, and iterates over the items of all these iterators.
    #[track_caller]
    fn flat_map_iter<F, SI>(self, map_op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        Staged { base: self, stage: stages::FlatMapIterBy(map_op) }
    }

    /// Iterates over the items of the items, which are parallel iterators.
    #[track_caller]
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Spread { base: self, by: spread::Flat }
    }

    /// Iterates over the items of the items, which are serial iterators.
    #[track_caller]
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        Staged { base: self, stage: stages::FlatIter }
    }

    /// Reduces the items in order. Returns `identity()` if there are no items.
    #[track_caller]
    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
        ID: Fn() -> Self::Item + Sync + Send,
    {
        self.reduce_with(op).unwrap_or_else(identity)
    }

    /// Reduces the items in order. Returns `None` if there are no items.
    #[track_caller]
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        start(self, ends::Reduce { op })
    }

    /// Reduces the values in the items, until an item or `op` is a failure. Begins with
    /// `identity()`.
    #[track_caller]
    fn try_reduce<T, OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        self.try_reduce_with(op).unwrap_or_else(|| Self::Item::from_output(identity()))
    }

    /// Reduces the values in the items, until an item or `op` is a failure. Returns `None` if there
    /// are no items.
    #[track_caller]
    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        // The failure that came first in time. Each item that begins after this failure ends the
        // loop.
        let (has_failed, failure) = (AtomicBool::new(false), Mutex::new(None));
        let fail = |failed| {
            has_failed.store(true, Relaxed);
            lock(&failure).get_or_insert(failed);
        };
        let guarded = self.map(|item| {
            if has_failed.load(Relaxed) {
                return Err(());
            }
            match checked(item) {
                Ok(output) => Ok(Self::Item::from_output(output)),
                Err(failed) => {
                    fail(failed);
                    Err(())
                }
            }
        });
        let folded = start(
            guarded,
            ends::TryReduce {
                op: |a: Self::Item, b: Self::Item| match a.branch() {
                    ControlFlow::Continue(a) => match b.branch() {
                        ControlFlow::Continue(b) => op(a, b),
                        ControlFlow::Break(why) => Self::Item::from_residual(why),
                    },
                    ControlFlow::Break(why) => Self::Item::from_residual(why),
                },
            },
        );
        match folded {
            Ok(reduced) => reduced,
            Err(()) => failure.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Folds runs of neighbouring items, each run into an accumulator that begins with
    /// `identity()`. Iterates over the accumulators, in order.
    #[track_caller]
    fn fold<T, ID, F>(self, identity: ID, fold_op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Gathered(folds::FoldOf { base: self, init: identity, op: fold_op })
    }

    /// Folds runs of neighbouring items, each run into a clone of `init`. Iterates over the
    /// accumulators, in order.
    #[track_caller]
    fn fold_with<F, T>(self, init: T, fold_op: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send + Clone,
    {
        Gathered(folds::FoldWithOf { base: self, init, op: fold_op })
    }

    /// Folds runs of neighbouring items. A run ends early if `fold_op` fails. Iterates over the
    /// results of the runs, in order.
    #[track_caller]
    fn try_fold<T, R, ID, F>(self, identity: ID, fold_op: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        Gathered(folds::TryFoldOf { base: self, init: identity, op: fold_op, of: PhantomData })
    }

    /// Folds runs of neighbouring items, each run into a clone of `init`. A run ends early if
    /// `fold_op` fails. Iterates over the results of the runs, in order.
    #[track_caller]
    fn try_fold_with<F, T, R>(self, init: T, fold_op: F) -> TryFoldWith<Self, R, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        R: Try<Output = T> + Send,
        T: Clone + Send,
    {
        Gathered(folds::TryFoldWithOf { base: self, init, op: fold_op })
    }

    /// Adds up the items.
    #[track_caller]
    fn sum<S: Send + Sum<Self::Item> + Sum<S>>(self) -> S {
        start(self, ends::Add(PhantomData))
    }

    /// Multiplies the items.
    #[track_caller]
    fn product<P: Send + Product<Self::Item> + Product<P>>(self) -> P {
        start(self, ends::Multiply(PhantomData))
    }

    /// Returns the smallest item. Of several equal items, returns the first one.
    #[track_caller]
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.min_by(Ord::cmp)
    }

    /// Returns the smallest item by the order `f`. Of several equal items, returns the first one.
    #[track_caller]
    fn min_by<F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering>(self, f: F) -> Option<Self::Item> {
        self.reduce_with(|a, b| if f(&a, &b).is_gt() { b } else { a })
    }

    /// Returns the item with the smallest key. Of several such items, returns the first one.
    #[track_caller]
    fn min_by_key<K: Ord + Send, F: Sync + Send + Fn(&Self::Item) -> K>(self, f: F) -> Option<Self::Item> {
        let keyed = self.map(|item| (f(&item), item));
        keyed.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, item)| item)
    }

    /// Returns the largest item. Of several equal items, returns the last one.
    #[track_caller]
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.max_by(Ord::cmp)
    }

    /// Returns the largest item by the order `f`. Of several equal items, returns the last one.
    #[track_caller]
    fn max_by<F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering>(self, f: F) -> Option<Self::Item> {
        self.reduce_with(|a, b| if f(&a, &b).is_gt() { a } else { b })
    }

    /// Returns the item with the largest key. Of several such items, returns the last one.
    #[track_caller]
    fn max_by_key<K: Ord + Send, F: Sync + Send + Fn(&Self::Item) -> K>(self, f: F) -> Option<Self::Item> {
        let keyed = self.map(|item| (f(&item), item));
        keyed.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, item)| item)
    }

    /// Iterates over the items of this iterator, then over the items of another one. All items are
    /// gathered into one vector if a later stage needs their index. Otherwise there are two loops,
    /// one after the other.
    #[track_caller]
    fn chain<C: IntoParallelIterator<Item = Self::Item>>(self, chain: C) -> Chain<Self, C::Iter> {
        Gathered(mixed::OneAfterOther(self, chain.into_par_iter()))
    }

    /// Returns any item for which `predicate` returns true.
    #[track_caller]
    fn find_any<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<Self::Item> {
        start(self, ends::FindAny { f: predicate })
    }

    /// Returns the first item for which `predicate` returns true.
    #[track_caller]
    fn find_first<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<Self::Item> {
        self.find_map_first(|item| predicate(&item).then_some(item))
    }

    /// Returns the last item for which `predicate` returns true.
    #[track_caller]
    fn find_last<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<Self::Item> {
        self.find_map_last(|item| predicate(&item).then_some(item))
    }

    /// Returns any `Some` that `predicate` returns.
    #[track_caller]
    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.filter_map(predicate).find_any(|_| true)
    }

    /// Returns the first `Some` of `predicate`, in the order of the items.
    #[track_caller]
    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        start(self, ends::FindMapFirst { f: predicate })
    }

    /// Returns the last `Some` of `predicate`, in the order of the items.
    #[track_caller]
    fn find_map_last<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.rs_run_backward(ends::FindMapFirst { f: predicate })
    }

    /// Whether `predicate` returns true for any item.
    #[track_caller]
    fn any<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> bool {
        start(self, ends::Any { f: predicate })
    }

    /// Whether `predicate` returns true for all items.
    #[track_caller]
    fn all<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> bool {
        !self.any(|item| !predicate(item))
    }

    /// Iterates over the values of the items until any item is `None`. `collect` collects the
    /// values of all items before the first `None`. In other loops some of these may be missing,
    /// and some items behind the first `None` may be there, if other threads process them.
    #[track_caller]
    fn while_some<T: Send>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
    {
        Gathered(prefixes::SomeOf(self))
    }

    /// Returns this iterator unchanged, because a loop always stops early after a panic.
    #[track_caller]
    fn panic_fuse(self) -> PanicFuse<Self> {
        Staged { base: self, stage: stages::Same }
    }

    /// Collects the items in order.
    #[track_caller]
    fn collect<C: FromParallelIterator<Self::Item>>(self) -> C {
        C::from_par_iter(self)
    }

    /// Collects the first components and the second components of the items, which are pairs. Both
    /// collections are in order.
    #[track_caller]
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        both(start(self, ends::Unzip {}))
    }

    /// Collects the items for which `predicate` returns true, and also collects the other items.
    /// Both collections are in order.
    #[track_caller]
    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        both(start(self, ends::Partition { f: predicate }))
    }

    /// Maps each item by `predicate`. Collects the `Left` results and the `Right` results. Both
    /// collections are in order.
    #[track_caller]
    fn partition_map<A, B, P, L, R>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<L>,
        B: Default + Send + ParallelExtend<R>,
        P: Fn(Self::Item) -> Either<L, R> + Sync + Send,
        L: Send,
        R: Send,
    {
        let step = |(mut left, mut right): (Vec<L>, Vec<R>), item| {
            match predicate(item) {
                Either::Left(item) => left.push(item),
                Either::Right(item) => right.push(item),
            }
            (left, right)
        };
        let merge = |mut a: (Vec<L>, Vec<R>), mut b: (Vec<L>, Vec<R>)| {
            a.0.append(&mut b.0);
            a.1.append(&mut b.1);
            a
        };
        both(start(self, ends::FoldMerge { init: || (Vec::new(), Vec::new()), step, merge }))
    }

    /// Iterates over the items with a clone of `element` between neighbours. The items, without
    /// the clones, are gathered into a vector when the loop begins.
    #[track_caller]
    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Gathered(mixed::WithBetween(self, element))
    }

    /// Iterates over any `n` items, or over all items if there are fewer.
    #[track_caller]
    fn take_any(self, n: usize) -> TakeAny<Self> {
        Gathered(prefixes::SomeItems(self, n))
    }

    /// Skips any `n` items.
    #[track_caller]
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        Staged { base: self, stage: stages::SkipSome(n.into()) }
    }

    /// Iterates, in order, over items for which `predicate` returns true. Ends as soon as the
    /// predicate returns false for any item.
    #[track_caller]
    fn take_any_while<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> TakeAnyWhile<Self, P> {
        Gathered(prefixes::TakenWhile(self, predicate))
    }

    /// Skips items for which `predicate` returns true. Stops skipping as soon as the predicate
    /// returns false for any item.
    #[track_caller]
    fn skip_any_while<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> SkipAnyWhile<Self, P> {
        Staged { base: self, stage: stages::SkipWhile(predicate, false.into()) }
    }

    /// Collects the items into a list that contains one vector.
    #[track_caller]
    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        let items = gathered(self);
        if items.is_empty() { LinkedList::new() } else { LinkedList::from([items]) }
    }
}

/// Converts a value into a `Result`. The `Result` is an error if the loop must stop.
fn checked<R: Try>(value: R) -> Result<R::Output, R> {
    match value.branch() {
        ControlFlow::Continue(output) => Ok(output),
        ControlFlow::Break(why) => Err(R::from_residual(why)),
    }
}

/// Makes one collection of each of the two vectors.
fn both<A, B, FromA, FromB>((a, b): (Vec<A>, Vec<B>)) -> (FromA, FromB)
where
    A: Send,
    B: Send,
    FromA: Default + ParallelExtend<A>,
    FromB: Default + ParallelExtend<B>,
{
    let (mut firsts, mut seconds) = (FromA::default(), FromB::default());
    firsts.par_extend(a);
    seconds.par_extend(b);
    (firsts, seconds)
}
