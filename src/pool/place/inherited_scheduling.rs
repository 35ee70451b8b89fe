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

#![allow(unsafe_code)] // scheduling policies and nice values are not in std or nix

use std::io;

use super::affinity::{self, Mask};

#[cfg(all(target_os = "linux", not(any(miri, portable))))]
mod kernel {
    use std::{io, ptr};

    use nix::{errno::Errno, libc, unistd::Pid};

    /// In the system calls below, the number 0 means the calling thread.
    const CALLING_THREAD: libc::c_int = 0;

    /// The scheduling policy and the priority of a thread. This module makes the system calls by
    /// number, since the functions of the same names in musl do nothing. `sched_setscheduler`(2)
    /// lists the valid values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Priority {
        policy: libc::c_int,
        /// The only field of a `sched_param`: the priority under a real-time policy, and 0 under
        /// all other policies.
        real_time: libc::c_int,
        nice: libc::c_int,
    }

    #[allow(clippy::useless_conversion, reason = "on some systems both types have the same size")]
    fn answer(answer: libc::c_long) -> io::Result<libc::c_int> {
        Errno::result(answer)?.try_into().map_err(io::Error::other)
    }

    impl Priority {
        /// The priority of the main thread.
        pub(crate) fn of_process() -> io::Result<Self> {
            Self::of_thread(Pid::this().as_raw())
        }

        #[cfg(test)]
        pub(crate) fn of_this_thread() -> io::Result<Self> {
            Self::of_thread(CALLING_THREAD)
        }

        #[cfg(test)]
        pub(crate) fn lowered(self) -> Self {
            Self { policy: libc::SCHED_BATCH, nice: 7, ..self }
        }

        #[cfg(test)]
        pub(crate) fn nice(self) -> libc::c_int {
            self.nice
        }

        fn of_thread(thread: libc::c_int) -> io::Result<Self> {
            /// If a thread has this flag, its new threads inherit neither a privileged policy nor a
            /// raised priority (sched(7)).
            const RESET: libc::c_int = libc::SCHED_RESET_ON_FORK;
            // SAFETY: the call takes a number and no pointer.
            let policy = answer(unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) })?;
            let mut real_time = 0;
            // SAFETY: the kernel writes one integer, to a variable of this function.
            answer(unsafe {
                libc::syscall(libc::SYS_sched_getparam, thread, ptr::from_mut(&mut real_time))
            })?;
            // SAFETY: the call takes two numbers and no pointer.
            let turned = answer(unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, thread) })?;
            let nice = 20 - turned; // getpriority(2): from 1 to 40
            if policy & RESET == 0 {
                return Ok(Self { policy, real_time, nice });
            }
            let is_privileged = matches!(policy & !RESET, libc::SCHED_FIFO | libc::SCHED_RR);
            let policy = if is_privileged { libc::SCHED_OTHER } else { policy & !RESET };
            Ok(Self { policy, real_time: 0, nice: nice.max(0) })
        }

        /// Gives the calling thread this priority.
        pub(crate) fn apply(self) -> io::Result<()> {
            let Self { policy, real_time, nice } = self;
            let before = Self::of_thread(CALLING_THREAD)?;
            if (policy, real_time) != (before.policy, before.real_time) {
                let parameter = ptr::from_ref(&real_time);
                // SAFETY: the kernel reads one integer, from a variable of this function.
                answer(unsafe {
                    libc::syscall(libc::SYS_sched_setscheduler, CALLING_THREAD, policy, parameter)
                })?;
            }
            if nice != before.nice {
                // SAFETY: the call takes three numbers and no pointer.
                answer(unsafe {
                    libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, CALLING_THREAD, nice)
                })?;
            }
            Ok(())
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, portable)))))]
mod kernel {
    use std::io;

    /// This system has no such priority, so the type has no value.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Priority {}

    impl Priority {
        pub(crate) fn of_process() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn apply(self) -> io::Result<()> {
            match self {}
        }
    }
}

/// The CPUs and the priority of the main thread. A field is `None` if the system does not report
/// it.
#[derive(Clone, Debug)]
pub(crate) struct InheritedScheduling {
    mask: Option<Mask>,
    priority: Option<kernel::Priority>,
}

impl InheritedScheduling {
    /// Reads the CPUs and the priority from the system.
    pub(crate) fn of_process() -> Self {
        Self { mask: affinity::of_process().ok(), priority: kernel::Priority::of_process().ok() }
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
        let priority = self.priority.map_or(Ok(()), kernel::Priority::apply);
        mask.and(priority)
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, shuttle, miri, portable))))]
mod tests {
    use std::thread;

    use super::{kernel::Priority, *};

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
