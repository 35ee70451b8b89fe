//! Starts the loop of an iterator, on a thread of the pool if the pool has a stack size.

use super::{End, ParallelIterator};
use crate::pool::in_its_stack;

/// Gives the chain of `iter` to `end`.
#[track_caller]
#[inline(always)]
pub(crate) fn start<I: ParallelIterator, E: End<I::Item, Out: Send> + Send>(iter: I, end: E) -> E::Out {
    in_its_stack!(|| iter.rs_run(end))
}

/// The items of `iter`.
pub(crate) fn gathered<I: ParallelIterator>(iter: I) -> Vec<I::Item> {
    in_its_stack!(|| iter.rs_into_items())
}
