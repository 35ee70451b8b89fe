//! The implementation with rangesteal.

use rangesteal::Pool;
use tokio::runtime::Handle;

use crate::{
    item::Item,
    timer::{Timer, Tokio},
};

pub(crate) fn run(pool: &Pool, items: &[Item], limit: Option<usize>, timer: impl Timer) -> u64 {
    let items = pool.on(items).waiting(limit.unwrap_or(usize::MAX));
    items.map_reduce(|item| item.run(timer), u64::wrapping_add).unwrap_or(0)
}

/// Each worker enters the runtime, since tokio's timers use the runtime that the thread has
/// entered.
pub(crate) fn run_in(runtime: &Handle, pool: &Pool, items: &[Item], limit: Option<usize>) -> u64 {
    let items = pool.on(items).with(|_| runtime.enter()).waiting(limit.unwrap_or(usize::MAX));
    items.map_reduce(|item| item.run(Tokio), u64::wrapping_add).unwrap_or(0)
}

/// Runs items that never wait.
pub(crate) fn at_once(pool: &Pool, items: &[u64], run: impl Fn(u64) -> u64 + Sync) -> u64 {
    let items = pool.on(items).waiting(usize::MAX);
    items.map_reduce(async |item| run(*item), u64::wrapping_add).unwrap_or(0)
}
