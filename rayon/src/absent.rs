//! Items of rayon that this crate does not have. Each of these items has a bound that no type
//! meets. So a use is a compile error with an explanation.

use std::marker::PhantomData;

/// No type implements this trait.
#[diagnostic::on_unimplemented(
    message = "`spawn` outside of a scope is not in rangesteal-rayon",
    label = "a loop is over when its call returns, and so is a scope",
    note = "call `rayon::scope`, or `std::thread::spawn`: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait SpawnIsNotThere {}

/// No type implements this trait.
#[diagnostic::on_unimplemented(
    message = "`broadcast` is not in rangesteal-rayon",
    label = "no item belongs to a certain thread",
    note = "see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait BroadcastIsNotThere {}

/// No type implements this trait.
#[diagnostic::on_unimplemented(
    message = "threads that a program starts for a pool are not in rangesteal-rayon",
    label = "a pool starts its threads itself",
    note = "`rangesteal::PoolBuilder::spawn_handler` has them: see \"What is not there\" in the README of rangesteal-rayon"
)]
#[doc(hidden)]
pub trait SpawnedThreadsAreNotThere {}

/// Not in this crate: no value of this type exists.
#[derive(Debug)]
pub struct BroadcastContext<'a> {
    never: std::convert::Infallible,
    of: PhantomData<&'a ()>,
}

impl BroadcastContext<'_> {
    /// Never called: no value of this type exists.
    #[must_use]
    pub fn index(&self) -> usize {
        match self.never {}
    }

    /// Never called: no value of this type exists.
    #[must_use]
    pub fn num_threads(&self) -> usize {
        match self.never {}
    }
}

/// Not in this crate: no value of this type exists.
#[derive(Debug)]
pub struct ThreadBuilder {
    never: std::convert::Infallible,
}

impl ThreadBuilder {
    /// Never called: no value of this type exists.
    #[must_use]
    pub fn index(&self) -> usize {
        match self.never {}
    }

    /// Never called: no value of this type exists.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.never {}
    }

    /// Never called: no value of this type exists.
    #[must_use]
    pub fn stack_size(&self) -> Option<usize> {
        match self.never {}
    }

    /// Never called: no value of this type exists.
    pub fn run(self) {
        match self.never {}
    }
}

/// Not in this crate: a call is a compile error.
pub fn spawn<F: FnOnce() + Send + 'static + SpawnIsNotThere>(_func: F) {}

/// Not in this crate: a call is a compile error.
pub fn spawn_fifo<F: FnOnce() + Send + 'static + SpawnIsNotThere>(_func: F) {}

/// Not in this crate: a call is a compile error.
#[must_use]
pub fn broadcast<OP, R: Send>(_op: OP) -> Vec<R>
where
    OP: Fn(BroadcastContext<'_>) -> R + Sync + BroadcastIsNotThere,
{
    Vec::new()
}

/// Not in this crate: a call is a compile error.
pub fn spawn_broadcast<OP>(_op: OP)
where
    OP: Fn(BroadcastContext<'_>) + Send + Sync + 'static + BroadcastIsNotThere,
{
}
