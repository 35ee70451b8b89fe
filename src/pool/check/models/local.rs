//! The value that a call borrows.

#[cfg(shuttle)]
use std::sync::atomic::Ordering::SeqCst;

#[cfg(loom)]
use loom::cell::UnsafeCell;

/// Stands for a value on the caller's stack. The caller writes it before and after each loop, and
/// workers read it during the loop.
#[cfg(loom)]
pub(super) struct Local(UnsafeCell<usize>);

// SAFETY: loom's cell checks every access, and reports a conflict.
#[cfg(loom)]
#[allow(unsafe_code)]
unsafe impl Sync for Local {}

#[cfg(loom)]
impl Local {
    pub(super) fn new(value: usize) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub(super) fn write(&self, value: usize) {
        // SAFETY: loom reports a conflicting access.
        #[allow(unsafe_code)]
        self.0.with_mut(|local| unsafe { *local = value });
    }

    pub(super) fn read(&self) -> usize {
        // SAFETY: loom reports a conflicting access.
        #[allow(unsafe_code)]
        self.0.with(|local| unsafe { *local })
    }
}

/// Without loom's cell, a read that comes too late returns a wrong value.
#[cfg(shuttle)]
pub(super) struct Local(crate::sync::AtomicUsize);

#[cfg(shuttle)]
impl Local {
    pub(super) fn new(value: usize) -> Self {
        Self(crate::sync::AtomicUsize::new(value))
    }

    pub(super) fn write(&self, value: usize) {
        self.0.store(value, SeqCst);
    }

    pub(super) fn read(&self) -> usize {
        self.0.load(SeqCst)
    }
}
