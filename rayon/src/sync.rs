//! Locks that ignore poison: a panic inside a lock is passed on by the loop that it ends.

pub(crate) use std::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};
use std::sync::{MutexGuard, PoisonError};

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
