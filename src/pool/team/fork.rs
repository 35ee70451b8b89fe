//! Detects whether this process is a forked child of the process that made a value. The threads of
//! the parent do not exist in the child. If such a thread held a lock, the lock stays locked in the
//! child.

#![allow(unsafe_code)] // pthread_atfork is not in std or nix

#[cfg(all(unix, not(any(miri, portable))))]
mod count {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    /// The number of forks from the first process that called `start` down to this process. The
    /// child increments this at each fork.
    static FORKS: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" {
        /// POSIX.1-2017, `pthread_atfork`.
        fn pthread_atfork(
            prepare: Option<extern "C" fn()>,
            parent: Option<extern "C" fn()>,
            child: Option<extern "C" fn()>,
        ) -> std::ffi::c_int;
    }

    extern "C" fn forked() {
        FORKS.fetch_add(1, Ordering::Relaxed); // Relaxed: the child has one thread
    }

    /// Registers the handler. This uses no `Once`: if the process forked while another thread ran
    /// the `Once`, the child would wait for that thread for ever. If two threads call this at the
    /// same time, both register the handler, and then a fork counts twice.
    pub(super) fn start() {
        static STARTED: AtomicBool = AtomicBool::new(false);
        if STARTED.load(Ordering::Acquire) {
            return; // partner: the store below; later forks run the handler
        }
        // SAFETY: 1. the declaration is that of POSIX; 2. the handler touches only an atomic, which
        // is allowed in a child of a process with threads; 3. the handler is unloaded only together
        // with the process or with the library that contains it.
        let refused = unsafe { pthread_atfork(None, None, Some(forked)) };
        if refused == 0 {
            STARTED.store(true, Ordering::Release); // partner: the load above
        } else {
            log::warn!("out of memory for a fork handler: do not use this pool in a forked child");
        }
    }

    pub(super) fn now() -> usize {
        FORKS.load(Ordering::Relaxed) // see `forked`
    }
}

#[cfg(not(all(unix, not(any(miri, portable)))))]
mod count {
    pub(super) fn start() {}

    pub(super) fn now() -> usize {
        0
    }
}

/// The process that made a value.
#[derive(Clone, Copy, Debug)]
pub struct Process(usize);

impl Default for Process {
    fn default() -> Self {
        Self::current()
    }
}

impl Process {
    /// The process that calls this.
    #[must_use]
    #[inline(never)]
    pub fn current() -> Self {
        count::start();
        Self(count::now())
    }

    /// Whether `self` is the current process. Costs one load, and takes no lock.
    #[must_use]
    pub fn is_current(self) -> bool {
        self.0 == count::now()
    }
}
