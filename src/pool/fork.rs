//! Knows whether this process is a child, by `fork`, of the one that built a pool: its threads did not come along.

#![allow(unsafe_code)] // pthread_atfork is not in std or nix

#[cfg(all(unix, not(any(miri, portable))))]
mod count {
    use std::sync::{
        Once,
        atomic::{AtomicUsize, Ordering},
    };

    /// Forks between the first process that asked and this one.
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
        FORKS.fetch_add(1, Ordering::Relaxed); // the child has one thread: nobody to order with
    }

    pub(super) fn start() {
        static START: Once = Once::new();
        START.call_once(|| {
            // SAFETY: 1. the declaration is the one of POSIX; 2. the handler touches an atomic only, which is allowed in a
            // child of a process with threads; 3. it is never unloaded before the process (or its library) is.
            let refused = unsafe { pthread_atfork(None, None, Some(forked)) };
            if refused != 0 {
                log::warn!("out of memory for a fork handler: do not use this pool in a forked child");
            }
        });
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

/// The process in which a pool was built.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Process(usize);

impl Process {
    pub(crate) fn current() -> Self {
        count::start();
        Self(count::now())
    }

    /// Whether this is still that process. Costs one load; touches no lock.
    pub(crate) fn is_current(self) -> bool {
        self.0 == count::now()
    }
}
