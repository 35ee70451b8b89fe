//! The synchronisation primitives of the crate: std's, loom's under `--cfg loom`, shuttle's under `--cfg shuttle`, and nothing else.

#[cfg(loom)]
use loom as primitives;
#[cfg(shuttle)]
use shuttle as primitives;
#[cfg(not(any(loom, shuttle)))]
use std as primitives;

pub(crate) use primitives::{
    sync::{
        Condvar, Mutex, MutexGuard,
        atomic::{AtomicU64, AtomicUsize, Ordering, fence},
        mpsc,
    },
    thread::{Builder as ThreadBuilder, JoinHandle},
};

use std::{
    sync::{PoisonError, TryLockError},
    time::Duration,
};

/// Locks `mutex`. A poisoned lock is taken as it is: user code runs under one lock of this crate, the turn, and what that guards is
/// not touched while it does; so no state is ever left half-changed by a panic.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks `mutex` if nobody holds it.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// Waits on `condvar`, giving up `guard` meanwhile. May return without a cause.
pub(crate) fn wait<'a, T>(condvar: &Condvar, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
    condvar.wait(guard).unwrap_or_else(PoisonError::into_inner)
}

/// Locks `mutex`, which is held for a few microseconds at most: to sleep would take longer than to wait.
pub(crate) fn lock_soon<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    let mut guard = None;
    spin(BRIEFLY, || {
        guard = try_lock(mutex);
        guard.is_some()
    });
    guard.unwrap_or_else(|| lock(mutex))
}

/// As long as a lock, or the end of a round, is polled before the thread sleeps; unless more is asked for.
pub(crate) const BRIEFLY: Duration = Duration::from_micros(5);

/// Polls `ready` for at most `limit`. A hint: what it saw orders nothing.
#[cfg(not(any(loom, shuttle, miri)))]
pub(crate) fn spin(limit: Duration, mut ready: impl FnMut() -> bool) {
    let begin = crate::clock::Instant::now();
    while begin.elapsed() < limit {
        for _ in 0..16 {
            if ready() {
                return;
            }
            std::hint::spin_loop();
        }
    }
}

/// A model checker explores the parked path; polling would only multiply its states.
#[cfg(any(loom, shuttle, miri))]
pub(crate) fn spin(_limit: Duration, _ready: impl FnMut() -> bool) {}
