//! What a pool keeps its executor in.

#![allow(unsafe_code)] // an executor is replaced while loops use it

use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::call::executor::Executor;

/// The executor of a pool. That of the global pool is replaced once.
#[derive(Debug)]
pub(crate) struct ExecutorCell {
    executor: AtomicPtr<Executor>,
    /// The one before, which loops may still use.
    former: AtomicPtr<Executor>,
}

impl ExecutorCell {
    pub(crate) fn new(executor: Executor) -> Self {
        let executor = AtomicPtr::new(Box::into_raw(Box::new(executor)));
        Self { executor, former: AtomicPtr::new(ptr::null_mut()) }
    }

    /// # Safety
    /// To be filled before anybody asks for the executor or drops this.
    pub(crate) const unsafe fn empty() -> Self {
        let none = AtomicPtr::new(ptr::null_mut());
        Self { executor: none, former: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> &Executor {
        let executor = self.executor.load(Ordering::Acquire); // partner: fill, replace
        // SAFETY: 1. it comes from a box, since an empty hold is filled before this (see `empty`);
        // 2. no box is freed before the hold is dropped, and this borrows the hold; 3. executors
        // are shared by threads.
        unsafe { &*executor }
    }

    /// Fills an empty hold, unless another thread is faster.
    pub(crate) fn fill(&self, executor: Executor) {
        let executor = Box::into_raw(Box::new(executor));
        // Release: partner `get`. Acquire of who comes too late: what it finds is used.
        let filled =
            self.executor.compare_exchange(ptr::null_mut(), executor, Ordering::AcqRel, Ordering::Acquire);
        if filled.is_err() {
            // SAFETY: it comes from a box above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(executor) });
        }
    }

    /// Keeps another executor from now on, and this one as well: loops may still use it. Once.
    pub(crate) fn replace(&self, executor: Executor) {
        let former = self.executor.swap(Box::into_raw(Box::new(executor)), Ordering::AcqRel); // partner: get
        self.former.store(former, Ordering::Relaxed); // for whoever drops this
    }
}

impl Drop for ExecutorCell {
    /// If the pool is dropped in the middle of a loop, a closure has called `process::exit`, which
    /// drops the thread-local variables of its thread, and the pool is one of them. The workers go
    /// on until the process ends, so what they use has to stay.
    fn drop(&mut self) {
        if self.get().is_busy() {
            return;
        }
        for executor in [*self.executor.get_mut(), *self.former.get_mut()] {
            if !executor.is_null() {
                // SAFETY: 1. it comes from a box, as in `get`; 2. this is the only hold that has
                // it, and nobody borrows the hold.
                drop(unsafe { Box::from_raw(executor) });
            }
        }
    }
}

/// Executors are used by many threads: `AtomicPtr` would not ask.
const _: fn() = || {
    fn is_shared<T: Send + Sync + std::panic::RefUnwindSafe>() {}
    is_shared::<Executor>();
};

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::thread;

    use super::*;

    /// Who sees an executor sees all of it, and the former one stays.
    #[test]
    fn an_executor_is_replaced_while_it_is_used() {
        // SAFETY: filled at once, by whoever is faster.
        let hold = unsafe { ExecutorCell::empty() };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    hold.fill(Executor::of_one(Vec::new()));
                    let workers = || hold.get().workers();
                    assert_eq!([workers(), workers()], [1; 2]);
                });
            }
        });
        thread::scope(|scope| {
            let user = scope.spawn(|| hold.get().workers());
            let former = hold.get();
            hold.replace(Executor::of_one(Vec::new()));
            assert!(!ptr::eq(former, hold.get()));
            assert_eq!([user.join().unwrap(), former.workers()], [1; 2], "it is still there");
        });
    }
}
