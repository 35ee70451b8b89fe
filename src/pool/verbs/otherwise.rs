//! Methods of rayon that have another name in this crate. A call by rayon's name is a compile
//! error, whose message says the name to use.

use super::{
    chain::Chain,
    on::On,
    options::{Ending, OnPool},
};

/// Declares a trait that no type implements, and the compiler's message for a missing
/// implementation.
macro_rules! otherwise {
    ($($name:ident: $message:literal;)+) => {$(
        #[diagnostic::on_unimplemented(message = $message, label = "has another name here")]
        pub trait $name {}
    )+};
}

otherwise! {
    CalledFind: "`find_first` is called `find` here, as in `Iterator`";
    CalledPosition: "`position_first` is called `position` here, as in `Iterator`";
    CalledReduce: "`reduce_with` is called `reduce` here, as in `Iterator`";
    CalledZip: "`zip_eq` is called `zip`; the `zip` that ends with the shorter one is `zip_shortest`";
    CalledFlatMap: "`flat_map_iter` is called `flat_map`";
    CalledGrain: "`with_min_len` and `with_max_len` are not needed: the pool measures what items cost; `grain` asks for a size";
}

#[doc(hidden)]
impl<C: Chain + Sync, E: Ending> On<C, OnPool<'_, E>> {
    pub fn find_first<F: Fn(&C::Item) -> bool + CalledFind>(self, _: F) -> E::Of<Option<C::Item>> {
        unreachable!("cannot be called")
    }

    pub fn position_first<F: Fn(C::Item) -> bool + CalledPosition>(self, _: F) -> E::Of<Option<usize>> {
        unreachable!("cannot be called")
    }

    pub fn reduce_with<F>(self, _: F) -> E::Of<Option<C::Item>>
    where
        F: Fn(C::Item, C::Item) -> C::Item + CalledReduce,
    {
        unreachable!("cannot be called")
    }

    pub fn flat_map_iter<I: IntoIterator, F: Fn(C::Item) -> I + CalledFlatMap>(self, _: F) -> Self {
        unreachable!("cannot be called")
    }

    pub fn zip_eq<B: CalledZip>(self, _: B) -> Self {
        unreachable!("cannot be called")
    }

    pub fn with_min_len<N: CalledGrain>(self, _: N) -> Self {
        unreachable!("cannot be called")
    }

    pub fn with_max_len<N: CalledGrain>(self, _: N) -> Self {
        unreachable!("cannot be called")
    }
}
