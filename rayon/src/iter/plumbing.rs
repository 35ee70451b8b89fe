//! rayon's building blocks for custom iterators. This crate does not have them: a use is a compile
//! error that refers to the README.

use crate::absent::PlumbingIsNotThere;

macro_rules! absent {
    ($($name:ident $(<$($generic:ident),+>)?;)+) => {$(
        /// Not in this crate: no type can implement this trait.
        pub trait $name$(<$($generic),+>)?: PlumbingIsNotThere {}
    )+};
}

absent! {
    Consumer<Item>;
    Folder<Item>;
    Producer;
    ProducerCallback<T>;
    Reducer<Result>;
    UnindexedConsumer<Item>;
    UnindexedProducer;
}

/// Not in this crate: a call is a compile error.
pub fn bridge<I: PlumbingIsNotThere, C>(_iter: I, _consumer: C) {}

/// Not in this crate: a call is a compile error.
pub fn bridge_unindexed<P: PlumbingIsNotThere, C>(_producer: P, _consumer: C) {}

/// Not in this crate: a call is a compile error.
pub fn bridge_producer_consumer<P: PlumbingIsNotThere, C>(_len: usize, _producer: P, _consumer: C) {}
