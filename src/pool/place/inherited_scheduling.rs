//! The scheduling of the global pool's threads, on Linux. A new thread inherits the CPUs on which
//! it may run, the scheduling policy and the nice value of the thread that starts it. The threads
//! of the global pool are started by the thread that happens to use the global pool first. The
//! started threads do not keep the scheduling of their starter. The started threads take over the
//! CPUs and the priority of the process, which are those of the main thread.
//!
//! Without this module a program could have a global pool for its whole life
//! * on one CPU, if the first thread that uses the pool is pinned: a helper of another pool, say,
//!   or the main thread inside a [`scope`](crate::PoolBuilder::scope);
//! * at a low priority, if a background thread uses the pool first: other programs then stop the
//!   pool's workers in the middle of a loop;
//! * at a real-time priority, if an audio thread, say, uses the pool first: the pool's workers then
//!   stop other threads.

use std::io;

use super::affinity::{self, Mask, Priority};

/// The CPUs and the priority of the main thread. A field is `None` if the system does not report
/// it.
#[derive(Clone, Debug)]
pub(crate) struct InheritedScheduling {
    mask: Option<Mask>,
    priority: Option<Priority>,
}

impl InheritedScheduling {
    /// Reads the CPUs and the priority from the system.
    pub(crate) fn of_process() -> Self {
        Self { mask: affinity::of_process().ok(), priority: Priority::of_process().ok() }
    }

    /// The CPUs of `mask`, and no priority.
    pub(crate) fn of_cpus(mask: &Mask) -> Self {
        Self { mask: Some(mask.clone()), priority: None }
    }

    /// The CPUs of the process; if the system does not report these, the CPUs of the calling
    /// thread.
    pub(crate) fn mask(&self) -> io::Result<Mask> {
        self.mask.clone().map_or_else(Mask::of_this_thread, Ok)
    }

    /// Gives the calling thread these CPUs and this priority.
    ///
    /// # Errors
    /// The error of the system call, for example because only a privileged process may
    /// lower a nice value (setpriority(2)).
    pub(crate) fn take_over(&self) -> io::Result<()> {
        let mask = self.mask.as_ref().map_or(Ok(()), Mask::apply);
        let priority = self.priority.map_or(Ok(()), Priority::apply);
        mask.and(priority)
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle, miri, portable))))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn a_thread_takes_over_what_the_main_thread_has() {
        let (mask, priority) = (affinity::of_process().unwrap(), Priority::of_process().unwrap());
        let inherited = InheritedScheduling::of_process();
        let lowered = move || {
            affinity::pin(mask.cpus()[0]).unwrap();
            let before = priority.lowered();
            before.apply().unwrap();
            assert_eq!(Priority::of_this_thread().unwrap(), before);
            let taken = inherited.take_over(); // fails in an unprivileged process
            assert_eq!(Mask::of_this_thread().unwrap().cpus(), mask.cpus());
            let now = Priority::of_this_thread().unwrap();
            assert!(now == priority || taken.is_err() && now.nice() == before.nice(), "{taken:?}: {now:?}");
        };
        thread::spawn(lowered).join().unwrap();
    }
}
