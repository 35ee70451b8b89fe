//! What a new thread inherits from the one that starts it, on Linux: the CPUs on which it may run,
//! its scheduling policy, and its nice value. The threads of the global pool take over those of the
//! process instead, which are those of its main thread, since any thread may come first: one that
//! is pinned, a helper of another pool, or one of a low priority.

#![allow(unsafe_code)] // scheduling policies and nice values are not in std or nix

use std::io;

use super::affinity::{self, Mask};

#[cfg(all(target_os = "linux", not(any(miri, portable))))]
mod kernel {
    use std::{io, ptr};

    use nix::{libc, unistd::Pid};

    /// The number of the calling thread, in the calls below.
    const CALLER: libc::c_int = 0;

    /// What decides how much of a CPU a thread gets. The calls are made by number, since in musl
    /// the functions of the same names call nothing; `sched_setscheduler`(2) has what is valid.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(crate) struct Priority {
        policy: libc::c_int,
        /// The one field of a `sched_param`; 0 but for policies of real time.
        real_time: libc::c_int,
        nice: libc::c_int,
    }

    #[allow(clippy::useless_conversion, reason = "on some systems both are as long")]
    fn answer(answer: libc::c_long) -> io::Result<libc::c_int> {
        if answer < 0 { Err(io::Error::last_os_error()) } else { answer.try_into().map_err(io::Error::other) }
    }

    impl Priority {
        /// That of the main thread.
        pub(crate) fn of_process() -> io::Result<Self> {
            Self::of_thread(Pid::this().as_raw())
        }

        #[cfg(test)]
        pub(crate) fn of_this_thread() -> io::Result<Self> {
            Self::of_thread(CALLER)
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
            /// New threads inherit no privileged policy then, and no raised priority (sched(7)).
            const RESET: libc::c_int = libc::SCHED_RESET_ON_FORK;
            // SAFETY: takes a number.
            let policy = answer(unsafe { libc::syscall(libc::SYS_sched_getscheduler, thread) })?;
            let mut real_time = 0;
            // SAFETY: the kernel writes one integer, which is there.
            answer(unsafe {
                libc::syscall(libc::SYS_sched_getparam, thread, ptr::from_mut(&mut real_time))
            })?;
            // SAFETY: takes two numbers.
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
            let before = Self::of_thread(CALLER)?;
            if (policy, real_time) != (before.policy, before.real_time) {
                let parameter = ptr::from_ref(&real_time);
                // SAFETY: the kernel reads one integer, which is there.
                answer(unsafe { libc::syscall(libc::SYS_sched_setscheduler, CALLER, policy, parameter) })?;
            }
            if nice != before.nice {
                // SAFETY: takes three numbers.
                answer(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, CALLER, nice) })?;
            }
            Ok(())
        }
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, portable)))))]
mod kernel {
    use std::io;

    /// There is no value of it where it is not known.
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

/// What the threads of a process inherit from its main thread.
#[derive(Clone, Debug)]
pub(crate) struct InheritedScheduling {
    mask: Option<Mask>,
    priority: Option<kernel::Priority>,
}

impl InheritedScheduling {
    /// As far as the system tells.
    pub(crate) fn of_process() -> Self {
        Self { mask: affinity::of_process().ok(), priority: kernel::Priority::of_process().ok() }
    }

    /// The CPUs of the process; of the calling thread if the system does not tell.
    pub(crate) fn mask(&self) -> io::Result<Mask> {
        self.mask.clone().map_or_else(Mask::of_this_thread, Ok)
    }

    /// Gives it to the calling thread.
    ///
    /// # Errors
    /// What the system refused: a nice value is lowered by privileged processes alone
    /// (setpriority(2)).
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
        let heritage = InheritedScheduling::of_process();
        let lowered = move || {
            affinity::pin(mask.cpus()[0]).unwrap();
            let before = priority.lowered();
            before.apply().unwrap();
            assert_eq!(Priority::of_this_thread().unwrap(), before);
            let taken = heritage.take_over(); // the unprivileged may not
            assert_eq!(Mask::of_this_thread().unwrap().cpus(), mask.cpus());
            let now = Priority::of_this_thread().unwrap();
            assert!(now == priority || taken.is_err() && now.nice() == before.nice(), "{taken:?}: {now:?}");
        };
        thread::spawn(lowered).join().unwrap();
    }
}
