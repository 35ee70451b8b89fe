//! Calls that users of rayon and of iterators try, and that this crate refuses. Each such call is a
//! compile error, whose message says what to write instead.
//!
//! Behind its message, the compiler quotes the code that refuses the call. If a token of a macro
//! stands there, the compiler quotes the macro and its whole invocation. So the macros take names
//! as `tt`, and implementations of traits are written out.

use std::{ops::RangeFrom, slice, vec};

use super::{
    chain::{Chain, IntoChain},
    grow::Grow,
    on::On,
    stages::{Filter, FilterMap, FlatMap, Flatten, Map, With},
    state::PerWorker,
};

/// Declares methods that cannot be called. Each row has a trait that no type implements, the
/// compiler's message for a missing implementation, and methods whose first argument would need an
/// implementation. If the first argument is a closure, its parameters have the types given behind
/// `as`, so the compiler reports no error inside it. The result is an associated type of the trait,
/// so the compiler reports no error for the methods that follow. The methods behind `=>` have no
/// argument; the type of their result would need the implementation.
macro_rules! refused {
    ([$($of:tt)*] $type:ty { $($reason:tt: $message:literal $(
        $method:tt<$first:ident $(, $other:ident)*>($($passed:ident),*) $(as $signature:path)?
    ),+;)+ } $(=> $makes:tt: $($made:tt)+)?) => {
        $(
            #[diagnostic::on_unimplemented(message = $message, label = "not available here")]
            pub trait $reason {
                type Made;
            }
        )+

        #[doc(hidden)]
        impl<$($of)*> $type {$($(
            pub fn $method<$first: $reason $(+ $signature)? $(, $other)*>(self, $(_: $passed),*) -> $first::Made {
                unreachable!("cannot be called")
            }
        )+)+ $($(
            pub fn $made<Made: $makes>(self) -> Made {
                unreachable!("cannot be called")
            }
        )+)?}
    };
}

refused! {
    [C: Chain, P] On<C, P> {
    Find: "`find_first` is called `find` here, as in `Iterator`"
        find_first<F>(F) as Fn(&C::Item) -> bool;
    FindLast: "there is no `find_last`: write `rev()` and `find`"
        find_last<F>(F) as Fn(&C::Item) -> bool;
    FindMap: "`find_map_first` and `find_map_any` are called `find_map` here, as in `Iterator`"
        find_map_first<F, R>(F) as Fn(C::Item) -> Option<R>,
        find_map_any<F, R>(F) as Fn(C::Item) -> Option<R>;
    FindMapLast: "there is no `find_map_last`: write `rev()` and `find_map`"
        find_map_last<F, R>(F) as Fn(C::Item) -> Option<R>;
    Position: "`position_first` is called `position` here, as in `Iterator`"
        position_first<F>(F) as Fn(C::Item) -> bool;
    PositionLast: "there is no `position_last`: `rev().position(..)` counts from the end"
        position_last<F>(F) as Fn(C::Item) -> bool;
    Positions: "there is no `positions`: write `enumerate().filter_map(|(i, x)| test(x).then_some(i))`"
        positions<F>(F) as Fn(C::Item) -> bool;
    Reduce: "`reduce_with` is called `reduce` here, as in `Iterator`"
        reduce_with<F>(F) as Fn(C::Item, C::Item) -> C::Item;
    TryReduce: "there is no `try_reduce_with`: `try_reduce` reduces the values of results, and `reduce(|a, b| op(a?, b?))` calls an `op` that can fail"
        try_reduce_with<F, R>(F) as Fn(R, R) -> C::Item;
    Zip: "`zip_eq` is called `zip`; the `zip` that ends with the shorter one is `zip_shortest`"
        zip_eq<B>(B);
    FlatMapIter: "`flat_map_iter` is called `flat_map`"
        flat_map_iter<F, I>(F) as Fn(C::Item) -> I;
    Grain: "`with_min_len` and `with_max_len` are not needed: the pool measures what items cost; `grain` asks for a size"
        with_min_len<N>(N), with_max_len<N>(N);
    CollectInto: "there is no `collect_into_vec`: write `out.clear()` and `collect_into(&mut out)`, which appends"
        collect_into_vec<V>(V);
    States: "a state of each worker is a stage of its own: `with(|_worker| state).map(|(state, x)| ..)`, and `for_each` and so on likewise"
        map_with<T, F>(T, F), map_init<T, F>(T, F),
        for_each_with<T, F>(T, F), for_each_init<T, F>(T, F),
        try_for_each_with<T, F>(T, F), try_for_each_init<T, F>(T, F);
    Fold: "`fold` has three closures here: `fold(init, step, merge)`; `merge` joins the results of two workers"
        fold_with<T, F>(T, F);
    TryFold: "`try_fold` has three closures here: `try_fold(init, step, merge)`; `merge` joins the results of two workers"
        try_fold_with<T, F>(T, F);
    FoldChunks: "there is no `fold_chunks`: write `chunks(n).map(|chunk| chunk.iter().fold(init, f))`"
        fold_chunks<N, T, F>(N, T, F), fold_chunks_with<N, T, F>(N, T, F);
    Update: "there is no `update`: write `map(|mut x| {{ f(&mut x); x }})`"
        update<F>(F) as Fn(&mut C::Item);
    TwoLoops: "there is no `chain`: write two loops, each with `collect_into(&mut both)`"
        chain<B>(B);
    Interleave: "there is no `interleave`: of sources of equal length, write `zip(b).flat_map(|(a, b)| [a, b])`"
        interleave<B>(B), interleave_shortest<B>(B);
    While: "no stage ends a loop at an item: find the `position` of the item, then `take` or `skip`"
        skip_while<F>(F) as Fn(&C::Item) -> bool, take_while<F>(F) as Fn(&C::Item) -> bool,
        skip_any_while<F>(F) as Fn(&C::Item) -> bool, take_any_while<F>(F) as Fn(&C::Item) -> bool;
    PartitionMap: "there is no `partition_map`: write two loops with `filter_map`, or `fold` into two vectors"
        partition_map<F, R>(F) as Fn(C::Item) -> R;
    ChunksFromTheEnd: "there is no `rchunks`: of a slice, write `pool.on(v.rchunks(n).collect::<Vec<_>>())`"
        rchunks<N>(N);
    }
}

refused! {
    [C: Chain] On<C> {
    Loop: "a chain without a pool runs no loop: write `pool.on(chain)`, and then the end"
        for_each<F>(F) as Fn(C::Item), try_for_each<F, R>(F) as Fn(C::Item) -> R,
        fold<T, F, M>(T, F, M), reduce<F>(F) as Fn(C::Item, C::Item) -> C::Item,
        any<F>(F) as Fn(C::Item) -> bool, all<F>(F) as Fn(C::Item) -> bool,
        find<F>(F) as Fn(&C::Item) -> bool, collect_into<V>(V);
    } => Loop: sum collect
}

refused! {
    [T: Send, E, M] Grow<'_, T, E, M> {
    GrowFolds: "a list that grows has no order and no stages: its ends are `for_each` and `fold_unordered`, and `try_` with each"
        map<F, R>(F) as Fn(T) -> R, filter<F>(F) as Fn(&T) -> bool, flat_map<F, R>(F) as Fn(T) -> R,
        fold<I, F, R>(I, F, R), reduce<F>(F) as Fn(T, T) -> T;
    } => GrowFolds: sum collect
}

#[diagnostic::on_unimplemented(
    message = "a pool makes a `PerWorker`: write `pool.per_worker(|_worker| state)`",
    label = "not available here"
)]
pub trait OfPool {}

#[doc(hidden)]
impl<W> PerWorker<W> {
    #[must_use]
    pub fn new<A>(_: A) -> Self
    where
        Self: OfPool,
    {
        unreachable!("cannot be called")
    }
}

#[diagnostic::on_unimplemented(
    message = "items behind `filter`, `flat_map`, `with` and so on have no index: put this method before such a stage",
    label = "needs items that have an index",
    note = "or `collect` the items first, and run the next loop over the result"
)]
pub trait NoIndex {
    type Made;
}

/// Stands for the argument of a method without arguments. The only implementation of [`Items`]
/// tells the compiler that the parameter of such a method is this type.
#[derive(Debug)]
pub struct NoArgument;

#[doc(hidden)]
pub trait Items<A> {}

impl<C> Items<NoArgument> for C {}

/// Declares the methods that need an index, for stages behind which items have none, and for a
/// `map` behind such a stage. The methods in the second parentheses have no argument.
macro_rules! no_index {
    ($reason:tt $methods:tt $without:tt $($stage:ident<$($of:ident),+>)+) => {$(
        no_index!(@$reason $methods $without [$($of),+] $stage<$($of),+>);
        no_index!(@$reason $methods $without [$($of),+, G] Map<$stage<$($of),+>, G>);
    )+};
    (@$reason:tt ($($method:tt)+) ($($without:tt)+) [$($of:ident),+] $stage:ty) => {
        #[doc(hidden)]
        impl<$($of),+, P> On<$stage, P> {
            $(pub fn $method<A: $reason>(self, _: A) -> A::Made {
                unreachable!("cannot be called")
            })+
            $(pub fn $without<A: $reason>(self) -> A::Made
            where
                $stage: Items<A>,
            {
                unreachable!("cannot be called")
            })+
        }
    };
}

no_index! {
    NoIndex (zip zip_shortest chunks chunks_exact windows take skip step_by) (enumerate rev located)
    Filter<C, F> FilterMap<C, F> FlatMap<C, F> Flatten<C> With<C, M>
}

/// Declares a trait that no type implements, with the compiler's message. (If a type over which no
/// loop runs needed the trait, the compiler would report two errors for a type with a lifetime. So
/// the type's parameter needs it.)
macro_rules! no_loop {
    ($($reason:ident: $message:literal)+) => {$(
        #[diagnostic::on_unimplemented(message = $message, label = "no loop runs over this")]
        pub trait $reason {
            type Made: Chain;
        }
    )+};
}

no_loop! {
    OfSlice: "no loop runs over an iterator: write `&v`, not `v.iter()`"
    OfExclusive: "no loop runs over an iterator: write `&mut v`, not `v.iter_mut()`"
    OfVec: "no loop runs over an iterator: write `v`, not `v.into_iter()`"
    OfDrained: "no loop runs over an iterator: write `source::drain(&mut v, range)`, not `v.drain(range)`"
    OfPieces: "no loop runs over an iterator: write `pool.on(&v).chunks(n)`, and inside `zip` `source(&v).chunks(n)`, not `v.chunks(n)`; other pieces likewise"
    OfOpenRange: "a range for a loop has an end: write `enumerate()` to number items, or `0..n`"
}

macro_rules! no_chain {
    ($made:ty) => {
        type Chain = $made;

        fn into_chain(self) -> $made {
            unreachable!("cannot be called")
        }
    };
}

#[doc(hidden)]
impl<T: OfSlice> IntoChain for slice::Iter<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfExclusive> IntoChain for slice::IterMut<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfVec> IntoChain for vec::IntoIter<T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfDrained> IntoChain for vec::Drain<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfPieces> IntoChain for slice::Chunks<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfPieces> IntoChain for slice::ChunksMut<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfPieces> IntoChain for slice::ChunksExact<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfPieces> IntoChain for slice::ChunksExactMut<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfPieces> IntoChain for slice::Windows<'_, T> {
    no_chain!(T::Made);
}

#[doc(hidden)]
impl<T: OfOpenRange> IntoChain for RangeFrom<T> {
    no_chain!(T::Made);
}
