//! What rayon has for iterators of your own. It is not here: the compiler refuses it, and names the
//! README.

use crate::absent::PlumbingIsNotThere;

macro_rules! absent {
    ($($name:ident $(<$($generic:ident),+>)?;)+) => {$(
        /// Not there: no type may implement it.
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

/// Not there: the compiler refuses it.
pub fn bridge<I: PlumbingIsNotThere, C>(_iter: I, _consumer: C) {}

/// Not there: the compiler refuses it.
pub fn bridge_unindexed<P: PlumbingIsNotThere, C>(_producer: P, _consumer: C) {}

/// Not there: the compiler refuses it.
pub fn bridge_producer_consumer<P: PlumbingIsNotThere, C>(_len: usize, _producer: P, _consumer: C) {}
