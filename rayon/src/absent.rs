//! What is not there, so that the compiler can say so: each has a bound that no type meets.

use std::marker::PhantomData;

/// Met by nothing.
#[diagnostic::on_unimplemented(
    message = "`spawn` outside of a scope is not in rangesteal-rayon",
    label = "a loop is over when its call returns, and so is a scope",
    note = "call `rayon::scope`, or `std::thread::spawn`: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait SpawnIsNotThere {}

/// Met by nothing.
#[diagnostic::on_unimplemented(
    message = "`broadcast` is not in rangesteal-rayon",
    label = "no item belongs to a certain thread",
    note = "see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait BroadcastIsNotThere {}

/// Met by nothing.
#[diagnostic::on_unimplemented(
    message = "handlers of the threads of a pool are not in rangesteal-rayon",
    label = "a pool starts its threads itself",
    note = "what a thread needs is made by `map_init` or `for_each_init`: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait HandlersAreNotThere {}

/// Met by nothing.
#[diagnostic::on_unimplemented(
    message = "`rayon::iter::plumbing` is not in rangesteal-rayon",
    label = "no iterator of your own",
    note = "return one of the iterators there are from `IntoParallelIterator`: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait PlumbingIsNotThere {}

/// Met by the iterators of this crate.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parallel iterator of rangesteal-rayon",
    label = "no iterator of your own, nor one of another crate",
    note = "see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait IsOfThisCrate {}

/// Not there: no value of it exists.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    never: std::convert::Infallible,
    of: PhantomData<&'a ()>,
}

impl BroadcastContext<'_> {
    /// No number: there is no value.
    #[must_use]
    pub fn index(&self) -> usize {
        match self.never {}
    }

    /// No number: there is no value.
    #[must_use]
    pub fn num_threads(&self) -> usize {
        match self.never {}
    }
}

/// Not there: no value of it exists.
#[derive(Debug)]
pub struct ThreadBuilder {
    never: std::convert::Infallible,
}

impl ThreadBuilder {
    /// No number: there is no value.
    #[must_use]
    pub fn index(&self) -> usize {
        match self.never {}
    }

    /// No name: there is no value.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.never {}
    }

    /// No size: there is no value.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        match self.never {}
    }

    /// Nothing: there is no value.
    pub fn run(self) {
        match self.never {}
    }
}

/// Not there: the compiler refuses it.
pub fn spawn<F: FnOnce() + Send + 'static + SpawnIsNotThere>(_func: F) {}

/// Not there: the compiler refuses it.
pub fn spawn_fifo<F: FnOnce() + Send + 'static + SpawnIsNotThere>(_func: F) {}

/// Not there: the compiler refuses it.
#[must_use]
pub fn broadcast<OP, R: Send>(_op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync + BroadcastIsNotThere,
{
    Vec::new()
}

/// Not there: the compiler refuses it.
pub fn spawn_broadcast<OP>(_op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static + BroadcastIsNotThere,
{
}
