//! Starts the loop of an iterator, on a thread of the pool if the pool has a stack size.

use super::{End, ParallelIterator};
use crate::pool::on_its_host;

/// Gives the chain of `iter` to `end`.
#[track_caller]
#[inline(always)]
pub(crate) fn start<I: ParallelIterator, E: End<I::Item, Out: Send> + Send>(iter: I, end: E) -> E::Out {
    on_its_host!(|| iter.rs_run(end))
}

/// The items of `iter`.
#[track_caller]
pub(crate) fn gathered<I: ParallelIterator>(iter: I) -> Vec<I::Item> {
    on_its_host!(|| iter.rs_into_items())
}
