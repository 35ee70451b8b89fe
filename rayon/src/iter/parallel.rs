//! The iterator that a loop runs over.

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

use either::Either;
use rangesteal::source;

use super::{
    Chain, Cloned, Copied, End, Filter, FilterMap, FlatMap, FlatMapIter, Flatten, FlattenIter, Fold,
    FoldWith, FromParallelIterator, Gathered, Inspect, Intersperse, IntoParallelIterator, Map, MapInit,
    MapWith, PanicFuse, ParallelExtend, SkipAny, SkipAnyWhile, Staged, TakeAny, TakeAnyWhile, Try, TryFold,
    TryFoldWith, Update, WhileSome, ends, folds, mixed, prefixes, stages,
};

use crate::absent::IsOfThisCrate;

/// Items that the threads of a pool go through.
///
/// The names and what they mean are those of rayon; the README of this package tells what differs.
/// It is implemented for the iterators of this crate alone: an iterator of your own returns one of
/// these from [`IntoParallelIterator`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parallel iterator of `rangesteal-rayon`",
    note = "custom iterators (`plumbing`) are not there: see \"What is not there\" in the README of rangesteal-rayon",
    note = "other crates' iterators for rayon are those of the real rayon: collect them into a `Vec` first"
)]
pub trait ParallelIterator: IsOfThisCrate + Sized + Send {
    /// An item.
    type Item: Send;

    /// Gives the chain of this iterator to `end`.
    #[doc(hidden)]
    #[track_caller]
    fn run<E: End<Self::Item>>(self, end: E) -> E::Out;

    /// Gives a chain of the same items in reverse to `end`.
    #[doc(hidden)]
    #[track_caller]
    fn run_backward<E: End<Self::Item>>(self, end: E) -> E::Out {
        end.chain(source(self.into_items()).rev())
    }

    /// All items, in order.
    #[doc(hidden)]
    #[track_caller]
    fn into_items(self) -> Vec<Self::Item> {
        self.run(ends::ToVec {})
    }

    /// The least and the greatest length of a run.
    #[doc(hidden)]
    fn lengths(&self) -> (usize, usize) {
        (1, usize::MAX)
    }

    /// How many items there are, if that is known before the loop.
    fn opt_len(&self) -> Option<usize> {
        None
    }

    /// Calls `op` with each item.
    #[track_caller]
    fn for_each<OP: Fn(Self::Item) + Sync + Send>(self, op: OP) {
        self.run(ends::Each { f: op });
    }

    /// Calls `op` with a state and each item; each worker has a clone of `init`.
    #[track_caller]
    fn for_each_with<OP, T>(self, init: T, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        T: Send + Clone,
    {
        self.for_each_init(folds::cloned_from(init), op);
    }

    /// Calls `op` with a state and each item; each worker makes one.
    #[track_caller]
    fn for_each_init<OP, INIT, T>(self, init: INIT, op: OP)
    where
        OP: Fn(&mut T, Self::Item) + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
    {
        self.run(ends::EachWithState { init, f: op });
    }

    /// Calls `op` with each item until it fails; returns the first failure.
    #[track_caller]
    fn try_for_each<OP, R>(self, op: OP) -> R
    where
        OP: Fn(Self::Item) -> R + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        let ended = self.run(ends::TryEach { f: |item| checked(op(item)) });
        ended.err().unwrap_or_else(|| R::from_output(()))
    }

    /// Calls `op` with a state and each item until it fails; each worker has a clone of `init`.
    #[track_caller]
    fn try_for_each_with<OP, T, R>(self, init: T, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Try<Output = ()> + Send,
    {
        self.try_for_each_init(folds::cloned_from(init), op)
    }

    /// Calls `op` with a state and each item until it fails; each worker makes a state.
    #[track_caller]
    fn try_for_each_init<OP, INIT, T, R>(self, init: INIT, op: OP) -> R
    where
        OP: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Try<Output = ()> + Send,
    {
        let ended =
            self.run(ends::TryEachWithState { init, f: |state: &mut T, item| checked(op(state, item)) });
        ended.err().unwrap_or_else(|| R::from_output(()))
    }

    /// Counts the items.
    #[track_caller]
    fn count(self) -> usize {
        self.run(ends::Count {})
    }

    /// What `map_op` makes of each item.
    #[track_caller]
    fn map<F, R>(self, map_op: F) -> Map<Self, F>
    where
        F: Fn(Self::Item) -> R + Sync + Send,
        R: Send,
    {
        Staged { base: self, stage: stages::MapBy(map_op) }
    }

    /// What `map_op` makes of a state and each item; each worker has a clone of `init`.
    #[track_caller]
    fn map_with<F, T, R>(self, init: T, map_op: F) -> MapWith<Self, T, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        T: Send + Clone,
        R: Send,
    {
        Gathered(folds::MapWithOf { base: self, init, op: map_op })
    }

    /// What `map_op` makes of a state and each item; each worker makes one.
    #[track_caller]
    fn map_init<F, INIT, T, R>(self, init: INIT, map_op: F) -> MapInit<Self, INIT, F>
    where
        F: Fn(&mut T, Self::Item) -> R + Sync + Send,
        INIT: Fn() -> T + Sync + Send,
        R: Send,
    {
        Gathered(folds::MapInitOf { base: self, init, op: map_op })
    }

    /// Clones of the items.
    #[track_caller]
    fn cloned<'a, T>(self) -> Cloned<Self>
    where
        T: 'a + Clone + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Staged { base: self, stage: stages::Owned }
    }

    /// Copies of the items.
    #[track_caller]
    fn copied<'a, T>(self) -> Copied<Self>
    where
        T: 'a + Copy + Send,
        Self: ParallelIterator<Item = &'a T>,
    {
        Staged { base: self, stage: stages::Owned }
    }

    /// Calls `inspect_op` with each item that passes by.
    #[track_caller]
    fn inspect<OP: Fn(&Self::Item) + Sync + Send>(self, inspect_op: OP) -> Inspect<Self, OP> {
        Staged { base: self, stage: stages::InspectBy(inspect_op) }
    }

    /// The items, changed by `update_op`.
    #[track_caller]
    fn update<F: Fn(&mut Self::Item) + Sync + Send>(self, update_op: F) -> Update<Self, F> {
        Staged { base: self, stage: stages::UpdateBy(update_op) }
    }

    /// The items of which `filter_op` is true.
    #[track_caller]
    fn filter<P: Fn(&Self::Item) -> bool + Sync + Send>(self, filter_op: P) -> Filter<Self, P> {
        Staged { base: self, stage: stages::FilterBy(filter_op) }
    }

    /// What `filter_op` makes of the items for which it returns `Some`.
    #[track_caller]
    fn filter_map<P, R>(self, filter_op: P) -> FilterMap<Self, P>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        Staged { base: self, stage: stages::FilterMapBy(filter_op) }
    }

    /// All that comes out of the parallel iterators that `map_op` makes: each is gathered into a
    /// vector by a loop of its own.
    #[track_caller]
    fn flat_map<F, PI>(self, map_op: F) -> FlatMap<Self, F>
    where
        F: Fn(Self::Item) -> PI + Sync + Send,
        PI: IntoParallelIterator,
    {
        Staged { base: self, stage: stages::FlatMapBy(map_op) }
    }

    /// All that comes out of the plain iterators that `map_op` makes.
    #[track_caller]
    fn flat_map_iter<F, SI>(self, map_op: F) -> FlatMapIter<Self, F>
    where
        F: Fn(Self::Item) -> SI + Sync + Send,
        SI: IntoIterator<Item: Send>,
    {
        Staged { base: self, stage: stages::FlatMapIterBy(map_op) }
    }

    /// All that comes out of the items, which are parallel iterators.
    #[track_caller]
    fn flatten(self) -> Flatten<Self>
    where
        Self::Item: IntoParallelIterator,
    {
        Staged { base: self, stage: stages::Flat }
    }

    /// All that comes out of the items, which are plain iterators.
    #[track_caller]
    fn flatten_iter(self) -> FlattenIter<Self>
    where
        Self::Item: IntoIterator<Item: Send>,
    {
        Staged { base: self, stage: stages::FlatIter }
    }

    /// Reduces the items in order; `identity` where there are none.
    #[track_caller]
    fn reduce<OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
        ID: Fn() -> Self::Item + Sync + Send,
    {
        self.reduce_with(op).unwrap_or_else(identity)
    }

    /// Reduces the items in order; none if there are none.
    #[track_caller]
    fn reduce_with<OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(Self::Item, Self::Item) -> Self::Item + Sync + Send,
    {
        self.run(ends::Reduce { op })
    }

    /// Reduces what is in the items until one, or `op`, fails.
    #[track_caller]
    fn try_reduce<T, OP, ID>(self, identity: ID, op: OP) -> Self::Item
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        self.try_reduce_with(op).unwrap_or_else(|| Self::Item::from_output(identity()))
    }

    /// Reduces what is in the items until one, or `op`, fails; none if there are no items.
    #[track_caller]
    fn try_reduce_with<T, OP>(self, op: OP) -> Option<Self::Item>
    where
        OP: Fn(T, T) -> Self::Item + Sync + Send,
        Self::Item: Try<Output = T>,
    {
        // The first failure in time; items that are begun after it end the loop.
        let (has_failed, failure) = (AtomicBool::new(false), Mutex::new(None));
        let fail = |failed| {
            has_failed.store(true, Relaxed);
            failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(failed);
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
        let folded = guarded.run(ends::TryReduce {
            op: |a: Self::Item, b: Self::Item| match a.branch() {
                ControlFlow::Continue(a) => match b.branch() {
                    ControlFlow::Continue(b) => op(a, b),
                    ControlFlow::Break(why) => Self::Item::from_residual(why),
                },
                ControlFlow::Break(why) => Self::Item::from_residual(why),
            },
        });
        match folded {
            Ok(reduced) => reduced,
            Err(()) => failure.into_inner().unwrap_or_else(PoisonError::into_inner),
        }
    }

    /// Folds runs of items; the accumulators, in order, are the items of what is returned.
    #[track_caller]
    fn fold<T, ID, F>(self, identity: ID, fold_op: F) -> Fold<Self, ID, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        T: Send,
    {
        Gathered(folds::FoldOf { base: self, init: identity, op: fold_op })
    }

    /// Folds runs of items into clones of `init`.
    #[track_caller]
    fn fold_with<F, T>(self, init: T, fold_op: F) -> FoldWith<Self, T, F>
    where
        F: Fn(T, Self::Item) -> T + Sync + Send,
        T: Send + Clone,
    {
        Gathered(folds::FoldWithOf { base: self, init, op: fold_op })
    }

    /// Folds runs of items until `fold_op` fails.
    #[track_caller]
    fn try_fold<T, R, ID, F>(self, identity: ID, fold_op: F) -> TryFold<Self, R, ID, F>
    where
        F: Fn(T, Self::Item) -> R + Sync + Send,
        ID: Fn() -> T + Sync + Send,
        R: Try<Output = T> + Send,
    {
        Gathered(folds::TryFoldOf { base: self, init: identity, op: fold_op, of: PhantomData })
    }

    /// Folds runs of items into clones of `init` until `fold_op` fails.
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
        self.run(ends::Add(PhantomData))
    }

    /// Multiplies the items.
    #[track_caller]
    fn product<P: Send + Product<Self::Item> + Product<P>>(self) -> P {
        self.run(ends::Multiply(PhantomData))
    }

    /// The smallest item, and of several equal ones the first.
    #[track_caller]
    fn min(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.min_by(Ord::cmp)
    }

    /// The smallest item by `f`, and of several equal ones the first.
    #[track_caller]
    fn min_by<F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering>(self, f: F) -> Option<Self::Item> {
        self.reduce_with(|a, b| if f(&a, &b).is_gt() { b } else { a })
    }

    /// The item with the smallest key, and of several equal ones the first.
    #[track_caller]
    fn min_by_key<K: Ord + Send, F: Sync + Send + Fn(&Self::Item) -> K>(self, f: F) -> Option<Self::Item> {
        let keyed = self.map(|item| (f(&item), item));
        keyed.min_by(|a, b| a.0.cmp(&b.0)).map(|(_, item)| item)
    }

    /// The largest item, and of several equal ones the last.
    #[track_caller]
    fn max(self) -> Option<Self::Item>
    where
        Self::Item: Ord,
    {
        self.max_by(Ord::cmp)
    }

    /// The largest item by `f`, and of several equal ones the last.
    #[track_caller]
    fn max_by<F: Sync + Send + Fn(&Self::Item, &Self::Item) -> Ordering>(self, f: F) -> Option<Self::Item> {
        self.reduce_with(|a, b| if f(&a, &b).is_gt() { a } else { b })
    }

    /// The item with the largest key, and of several equal ones the last.
    #[track_caller]
    fn max_by_key<K: Ord + Send, F: Sync + Send + Fn(&Self::Item) -> K>(self, f: F) -> Option<Self::Item> {
        let keyed = self.map(|item| (f(&item), item));
        keyed.max_by(|a, b| a.0.cmp(&b.0)).map(|(_, item)| item)
    }

    /// The items of this iterator, then those of another; both are gathered into one vector.
    #[track_caller]
    fn chain<C: IntoParallelIterator<Item = Self::Item>>(self, chain: C) -> Chain<Self, C::Iter> {
        Gathered(mixed::OneAfterOther(self, chain.into_par_iter()))
    }

    /// An item of which `predicate` is true.
    #[track_caller]
    fn find_any<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<Self::Item> {
        self.run(ends::FindAny { f: predicate })
    }

    /// The first item of which `predicate` is true.
    #[track_caller]
    fn find_first<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<Self::Item> {
        self.find_map_first(|item| predicate(&item).then_some(item))
    }

    /// The last item of which `predicate` is true.
    #[track_caller]
    fn find_last<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> Option<Self::Item> {
        self.find_map_last(|item| predicate(&item).then_some(item))
    }

    /// What `predicate` makes of an item for which it returns `Some`.
    #[track_caller]
    fn find_map_any<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.filter_map(predicate).find_any(|_| true)
    }

    /// What `predicate` makes of the first item for which it returns `Some`.
    #[track_caller]
    fn find_map_first<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.run(ends::FindMapFirst { f: predicate })
    }

    /// What `predicate` makes of the last item for which it returns `Some`.
    #[track_caller]
    fn find_map_last<P, R>(self, predicate: P) -> Option<R>
    where
        P: Fn(Self::Item) -> Option<R> + Sync + Send,
        R: Send,
    {
        self.run_backward(ends::FindMapFirst { f: predicate })
    }

    /// Whether `predicate` is true of any item.
    #[track_caller]
    fn any<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> bool {
        self.run(ends::Any { f: predicate })
    }

    /// Whether `predicate` is true of all items.
    #[track_caller]
    fn all<P: Fn(Self::Item) -> bool + Sync + Send>(self, predicate: P) -> bool {
        !self.any(|item| !predicate(item))
    }

    /// What is in the items before the first that is `None`.
    #[track_caller]
    fn while_some<T: Send>(self) -> WhileSome<Self>
    where
        Self: ParallelIterator<Item = Option<T>>,
    {
        Gathered(prefixes::SomeOf(self))
    }

    /// The items: after a panic few are begun anyway.
    #[track_caller]
    fn panic_fuse(self) -> PanicFuse<Self> {
        Staged { base: self, stage: stages::Same }
    }

    /// Collects the items, in order.
    #[track_caller]
    fn collect<C: FromParallelIterator<Self::Item>>(self) -> C {
        C::from_par_iter(self)
    }

    /// The first parts of pairs, and the second ones, both in order.
    #[track_caller]
    fn unzip<A, B, FromA, FromB>(self) -> (FromA, FromB)
    where
        Self: ParallelIterator<Item = (A, B)>,
        FromA: Default + Send + ParallelExtend<A>,
        FromB: Default + Send + ParallelExtend<B>,
        A: Send,
        B: Send,
    {
        both(self.run(ends::Unzip {}))
    }

    /// The items of which `predicate` is true, and the others, both in order.
    #[track_caller]
    fn partition<A, B, P>(self, predicate: P) -> (A, B)
    where
        A: Default + Send + ParallelExtend<Self::Item>,
        B: Default + Send + ParallelExtend<Self::Item>,
        P: Fn(&Self::Item) -> bool + Sync + Send,
    {
        both(self.run(ends::Partition { f: predicate }))
    }

    /// What `predicate` makes of the items: what is left, and what is right, both in order.
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
        both(self.run(ends::FoldMerge { init: || (Vec::new(), Vec::new()), step, merge }))
    }

    /// The items, with `element` between all of them; they are gathered into a vector.
    #[track_caller]
    fn intersperse(self, element: Self::Item) -> Intersperse<Self>
    where
        Self::Item: Clone,
    {
        Gathered(mixed::WithBetween(self, element))
    }

    /// `n` of the items, whichever, or all if there are fewer.
    #[track_caller]
    fn take_any(self, n: usize) -> TakeAny<Self> {
        Gathered(prefixes::SomeItems(self, n))
    }

    /// All items but `n`, whichever.
    #[track_caller]
    fn skip_any(self, n: usize) -> SkipAny<Self> {
        Staged { base: self, stage: stages::SkipSome(n) }
    }

    /// Items of which `predicate` is true, in order, until it is false of one, whichever comes
    /// first in time.
    #[track_caller]
    fn take_any_while<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> TakeAnyWhile<Self, P> {
        Gathered(prefixes::TakenWhile(self, predicate))
    }

    /// The items, without those of which `predicate` is true before it is false of any.
    #[track_caller]
    fn skip_any_while<P: Fn(&Self::Item) -> bool + Sync + Send>(self, predicate: P) -> SkipAnyWhile<Self, P> {
        Staged { base: self, stage: stages::SkipWhile(predicate) }
    }

    /// Collects the items into a list of vectors: of one.
    #[track_caller]
    fn collect_vec_list(self) -> LinkedList<Vec<Self::Item>> {
        let items = self.into_items();
        if items.is_empty() { LinkedList::new() } else { LinkedList::from([items]) }
    }
}

/// Whether a value lets a loop go on.
fn checked<R: Try>(value: R) -> Result<R::Output, R> {
    match value.branch() {
        ControlFlow::Continue(output) => Ok(output),
        ControlFlow::Break(why) => Err(R::from_residual(why)),
    }
}

/// Collections of two vectors.
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
