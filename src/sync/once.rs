//! loom's form of std's `OnceLock`.

use std::sync;

use loom::sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
};

/// A `OnceLock` whose initialisation loom sees. loom does not know the `OnceLock` of std: it would
/// neither let another thread run in the middle of an initialisation, nor see that the
/// initialisation happens before the return of each `get` that finds the value.
#[derive(Debug)]
pub(crate) struct OnceLock<T> {
    is_set: AtomicBool,
    initialising: Mutex<()>,
    value: sync::OnceLock<T>,
}

impl<T> OnceLock<T> {
    pub(crate) fn new() -> Self {
        Self { is_set: AtomicBool::new(false), initialising: Mutex::new(()), value: sync::OnceLock::new() }
    }

    pub(crate) fn get(&self) -> Option<&T> {
        // Partner: `get_or_init`.
        self.is_set.load(Ordering::Acquire).then(|| self.value.get()).flatten()
    }

    pub(crate) fn get_or_init(&self, init: impl FnOnce() -> T) -> &T {
        let _one_at_a_time = self.initialising.lock();
        let value = self.value.get_or_init(init);
        self.is_set.store(true, Ordering::Release); // partner: `get`
        value
    }
}
