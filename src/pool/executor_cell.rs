//! The cell in which a pool keeps its executor. The cell of the global pool is empty at first, and
//! its executor is replaced once. So loops can run while the global pool is being built
//! (`global.rs` lists programs that would deadlock otherwise).

#![allow(unsafe_code)] // an executor is replaced while loops use it

use std::{
    ptr,
    sync::atomic::{AtomicPtr, Ordering},
};

use super::engine::executor::Executor;

/// The executor of a pool. The global pool replaces its executor once, when its threads have
/// started.
#[derive(Debug)]
pub(crate) struct ExecutorCell {
    executor: AtomicPtr<Executor>,
    /// The replaced executor. Kept until drop, since loops may still use it.
    former: AtomicPtr<Executor>,
}

impl ExecutorCell {
    pub(crate) fn new(executor: Executor) -> Self {
        Self { executor: AtomicPtr::new(Box::into_raw(Box::new(executor))), former: AtomicPtr::default() }
    }

    /// # Safety
    /// The cell has to be filled before `get` is called and before the cell is dropped.
    pub(crate) const unsafe fn empty() -> Self {
        Self { executor: AtomicPtr::new(ptr::null_mut()), former: AtomicPtr::new(ptr::null_mut()) }
    }

    #[inline(always)]
    pub(crate) fn get(&self) -> &Executor {
        let executor = self.executor.load(Ordering::Acquire); // partner: fill, replace
        // SAFETY: 1. the pointer comes from a box, since an empty cell is filled before this call
        // (see `empty`); 2. no box is freed before the cell is dropped, and the result borrows the
        // cell; 3. executors are `Sync`.
        unsafe { &*executor }
    }

    /// Fills an empty cell. Does nothing if another thread has filled it.
    pub(crate) fn fill(&self, executor: Executor) {
        let executor = Box::into_raw(Box::new(executor));
        // Release: partner of `get`. Acquire on failure: the caller goes on to use the executor
        // that the other thread stored here.
        let filled =
            self.executor.compare_exchange(ptr::null_mut(), executor, Ordering::AcqRel, Ordering::Acquire);
        if filled.is_err() {
            // SAFETY: the pointer comes from the box above, and no other thread has seen it.
            drop(unsafe { Box::from_raw(executor) });
        }
    }

    /// Replaces the executor. The old executor is kept until the cell is dropped, since loops may
    /// still use the old executor. Must be called at most once.
    pub(crate) fn replace(&self, executor: Executor) {
        let former = self.executor.swap(Box::into_raw(Box::new(executor)), Ordering::AcqRel); // partner: get
        self.former.store(former, Ordering::Relaxed); // read by `drop`, which has `&mut self`
    }
}

impl Drop for ExecutorCell {
    /// Frees the executors, unless a loop is running. A pool can be dropped in the middle of a loop
    /// in only one case: a closure calls `process::exit`, and the pool is a thread-local variable
    /// of that thread, which the exit drops. The workers go on until the process ends, so their
    /// executor has to stay.
    fn drop(&mut self) {
        if self.get().threads.is_busy() {
            return;
        }
        for executor in [*self.executor.get_mut(), *self.former.get_mut()] {
            if !executor.is_null() {
                // SAFETY: 1. the pointer comes from a box, as in `get`; 2. this cell alone has the
                // pointer, and nobody borrows the cell.
                drop(unsafe { Box::from_raw(executor) });
            }
        }
    }
}

/// Many threads use an executor. `AtomicPtr` does not require that its target is `Sync`.
const _: fn() = || {
    fn is_shared<T: Send + Sync + std::panic::RefUnwindSafe>() {}
    is_shared::<Executor>();
};

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::thread;

    use super::*;

    /// A thread that sees an executor sees all of it, and the replaced executor stays.
    #[test]
    fn an_executor_is_replaced_while_it_is_used() {
        // SAFETY: filled at once, by the faster thread.
        let cell = unsafe { ExecutorCell::empty() };
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    cell.fill(Executor::of_one(Vec::new()));
                    let workers = || cell.get().workers;
                    assert_eq!([workers(), workers()], [1; 2]);
                });
            }
        });
        thread::scope(|scope| {
            let user = scope.spawn(|| cell.get().workers);
            let former = cell.get();
            cell.replace(Executor::of_one(Vec::new()));
            assert!(!ptr::eq(former, cell.get()));
            assert_eq!([user.join().unwrap(), former.workers], [1; 2], "it is still there");
        });
    }
}
