//! Methods that need an index, on iterators whose items have none. Each call is a compile error,
//! which says what to write instead.

use super::{
    Spread, Staged,
    spread::{Flat, FlatMapBy},
    stages::{FilterBy, FilterMapBy, FlatIter, FlatMapIterBy, MapBy, SkipSome, SkipWhile},
};

#[diagnostic::on_unimplemented(
    message = "items behind `filter`, `flat_map` and so on have no index: put this method before such a stage",
    label = "needs items that have an index",
    note = "or `collect` the items into a `Vec` first, and call this method on its `into_par_iter`"
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

impl<T> Items<NoArgument> for T {}

/// Declares the methods, for iterators with these stages, and for a `map` behind such a stage. The
/// methods in the second parentheses have no argument.
macro_rules! no_index {
    ($methods:tt $without:tt $($iter:ident: $($stage:ident $(<$of:ident>)?)+;)+) => {$($(
        no_index!(@$methods $without [$($of)?] $iter<I, $stage$(<$of>)?>);
        no_index!(@$methods $without [$($of,)? G] Staged<$iter<I, $stage$(<$of>)?>, MapBy<G>>);
    )+)+};
    (@($($method:ident)+) ($($without:ident)+) [$($of:ident),*] $iter:ty) => {
        #[doc(hidden)]
        impl<I, $($of),*> $iter {
            $(pub fn $method<A: NoIndex>(self, _: A) -> A::Made {
                unreachable!("cannot be called")
            })+
            $(pub fn $without<A: NoIndex>(self) -> A::Made
            where
                Self: Items<A>,
            {
                unreachable!("cannot be called")
            })+
        }
    };
}

no_index! {
    (zip zip_eq interleave interleave_shortest chunks step_by skip take with_min_len with_max_len collect_into_vec)
    (enumerate rev)
    Staged: FilterBy<F> FilterMapBy<F> FlatMapIterBy<F> FlatIter SkipSome SkipWhile<F>;
    Spread: FlatMapBy<F> Flat;
}
