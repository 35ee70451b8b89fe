//! Threads and CPUs: affinity masks, read, set and restored, and what a thread uses. Nothing where the platform does not tell.

use std::{io, time::Duration};

/// What a thread uses: CPU time, and how often it has slept or waited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) naps: u64,
}

impl Usage {
    /// Adds what was used between `before` and `after`.
    pub(crate) fn add(&mut self, before: Self, after: Self) {
        self.cpu += after.cpu.saturating_sub(before.cpu);
        self.naps += after.naps.saturating_sub(before.naps);
    }
}

#[cfg(all(target_os = "linux", not(any(miri, portable))))] // Miri knows neither sched_getcpu nor getrusage
mod mask {
    use std::{io, time::Duration};

    use super::Usage;
    use nix::{
        sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
        sys::{
            resource::{UsageWho, getrusage},
            time::TimeValLike,
        },
        unistd::{Pid, gettid},
    };

    const CALLING_THREAD: Pid = Pid::from_raw(0);

    /// A thread, for others to pin.
    pub(crate) type Thread = Pid;

    pub(crate) fn this_thread() -> Thread {
        gettid()
    }

    /// The CPU that the calling thread runs on at the moment.
    pub(crate) fn here() -> Option<usize> {
        sched_getcpu().ok()
    }

    /// The CPUs on which a thread may run.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Mask(CpuSet);

    impl Mask {
        pub(crate) fn of_this_thread() -> io::Result<Self> {
            Ok(Self(sched_getaffinity(CALLING_THREAD)?))
        }

        pub(crate) fn only(cpu: usize) -> io::Result<Self> {
            let mut set = CpuSet::new();
            set.set(cpu)?;
            Ok(Self(set))
        }

        pub(crate) fn apply(&self) -> io::Result<()> {
            self.apply_to(CALLING_THREAD)
        }

        pub(crate) fn apply_to(&self, thread: Thread) -> io::Result<()> {
            Ok(sched_setaffinity(thread, &self.0)?)
        }

        pub(crate) fn cpus(&self) -> Vec<usize> {
            let contained = |&cpu: &usize| self.0.is_set(cpu).unwrap_or(false);
            (0..CpuSet::count()).filter(contained).collect()
        }
    }

    /// What the calling thread has used until now: getrusage(2).
    pub(crate) fn usage() -> Option<Usage> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        let naps = usage.voluntary_context_switches().try_into().ok()?;
        Some(Usage { cpu: Duration::from_micros(micros.try_into().ok()?), naps })
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, portable)))))]
mod mask {
    use std::io;

    use super::Usage;

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Thread;

    pub(crate) fn this_thread() -> Thread {
        Thread
    }

    pub(crate) fn here() -> Option<usize> {
        None
    }

    /// The CPUs on which a thread may run: not to be known here, so there is none of these.
    #[derive(Clone, Copy, Debug)]
    pub(crate) enum Mask {}

    impl Mask {
        pub(crate) fn of_this_thread() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn only(_cpu: usize) -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub(crate) fn apply(self) -> io::Result<()> {
            match self {}
        }

        pub(crate) fn apply_to(self, _thread: Thread) -> io::Result<()> {
            match self {}
        }

        pub(crate) fn cpus(self) -> Vec<usize> {
            match self {}
        }
    }

    pub(crate) fn usage() -> Option<Usage> {
        None
    }
}

pub(crate) use mask::{Mask, Thread, this_thread, usage};

/// Keeps the calling thread on `cpu` until it ends or is moved again.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    Mask::only(cpu)?.apply()
}

/// The CPUs on which the calling thread may run.
pub(crate) fn allowed() -> io::Result<Vec<usize>> {
    Ok(Mask::of_this_thread()?.cpus())
}

/// Pins the calling thread; dropping it gives the thread its old mask back.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Mask,
}

impl Pinned {
    pub(crate) fn to(cpu: usize) -> io::Result<Self> {
        let before = Mask::of_this_thread()?;
        pin(cpu)?;
        Ok(Self { before })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = self.before.apply() {
            log::warn!("the calling thread stays pinned: {error}");
        }
    }
}

/// Who sits where: threads pinned to CPUs, and the CPU that is left for the caller.
#[derive(Debug)]
pub(crate) struct Seats {
    threads: Vec<(Thread, usize)>,
    free: usize,
}

impl Seats {
    /// `free` is the CPU that is best left to the caller.
    pub(crate) fn new(threads: Vec<(Thread, usize)>, free: usize) -> Self {
        Self { threads, free }
    }

    /// The caller is not pinned, and may have come to sit on the CPU of a helper, which then could not help. Whoever is pinned there
    /// changes with the CPU that was free. One reading of the CPU's number, some nanoseconds, if all is well.
    pub(crate) fn make_room(&mut self) {
        let Some(here) = mask::here().filter(|&here| here != self.free) else { return };
        if !self.threads.iter().any(|&(_, cpu)| cpu == here) {
            return;
        }
        for (thread, cpu) in &mut self.threads {
            let there = match *cpu {
                cpu if cpu == here => self.free,
                cpu if cpu == self.free => here,
                _ => continue,
            };
            if Mask::only(there).and_then(|mask| mask.apply_to(*thread)).is_ok() {
                *cpu = there;
            }
        }
        self.free = here;
    }
}
