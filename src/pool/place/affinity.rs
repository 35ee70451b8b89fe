//! System calls for threads and CPUs: reading, setting and restoring affinity masks, and the CPU
//! time of a thread. On other systems than Linux these functions return `None` or an error.

#![allow(unsafe_code)] // masks of any size are not in std or nix

use std::{io, sync::Mutex};

use crate::sync::lock_unless_stuck;

#[cfg(all(target_os = "linux", not(any(miri, portable))))] // Miri has neither sched_getcpu nor getrusage
mod mask {
    use std::{io, time::Duration};

    use crate::pool::{
        place::{
            files::{File, number, parts, text, this_system},
            pin_monitor::Turns,
            topology::online,
        },
        record::journal::Usage,
    };
    use nix::{
        libc,
        sched::sched_getcpu,
        sys::{
            resource::{UsageWho, getrusage},
            time::TimeValLike,
        },
        unistd::{Pid, gettid},
    };

    const THIS_THREAD: libc::pid_t = 0;

    /// A thread that other threads can pin.
    pub(crate) type Thread = Pid;

    pub(crate) fn this_thread() -> Thread {
        gettid()
    }

    pub(crate) fn is_main_thread() -> bool {
        gettid() == Pid::this()
    }

    /// The CPU that the calling thread runs on at the moment.
    pub(crate) fn here() -> Option<usize> {
        sched_getcpu().ok()
    }

    /// The CPUs on which a thread may run, one bit per CPU. This is not the `CpuSet` of nix, which
    /// has only 1024 bits: system calls with it fail on larger machines.
    #[derive(Clone, Debug)]
    pub(crate) struct Mask(Vec<libc::c_ulong>);

    const BITS: usize = libc::c_ulong::BITS as usize;
    /// The size of the first mask, in CPUs. Most kernels support fewer CPUs.
    const FEW: usize = 1 << 10;
    /// The size of the largest mask, in CPUs. Every kernel supports fewer CPUs.
    const MOST: usize = 1 << 20;

    impl Mask {
        pub(crate) fn of_this_thread() -> io::Result<Self> {
            Self::of_thread(THIS_THREAD)
        }

        pub(crate) fn of_main_thread() -> io::Result<Self> {
            Self::of_thread(Pid::this().as_raw())
        }

        fn of_thread(thread: libc::pid_t) -> io::Result<Self> {
            let mut cpus = FEW;
            loop {
                let mut mask = vec![0; cpus / BITS];
                let size = size_of_val(mask.as_slice());
                // SAFETY: 1. the kernel writes at most `size` bytes, all of them inside `mask`; 2.
                // any bits are a valid mask.
                let refused = unsafe { libc::sched_getaffinity(thread, size, mask.as_mut_ptr().cast()) };
                if refused == 0 {
                    return Ok(Self(mask));
                }
                let error = io::Error::last_os_error();
                if error.raw_os_error() != Some(libc::EINVAL) || cpus >= MOST {
                    return Err(error);
                }
                cpus *= 2; // EINVAL: the mask of the kernel has more bits
            }
        }

        pub(crate) fn of(cpus: &[usize]) -> io::Result<Self> {
            let last = cpus.iter().copied().max().unwrap_or(0);
            if last >= MOST {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let mut mask = vec![0; (FEW / BITS).max(last / BITS + 1)];
            for cpu in cpus {
                mask[cpu / BITS] |= 1 << (cpu % BITS);
            }
            Ok(Self(mask))
        }

        pub(crate) fn apply(&self) -> io::Result<()> {
            self.apply_to(Pid::from_raw(THIS_THREAD))
        }

        pub(crate) fn apply_to(&self, thread: Thread) -> io::Result<()> {
            let size = size_of_val(self.0.as_slice());
            // SAFETY: the kernel reads `size` bytes, all of them inside the mask.
            let refused = unsafe { libc::sched_setaffinity(thread.as_raw(), size, self.0.as_ptr().cast()) };
            if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
        }

        pub(crate) fn cpus(&self) -> Vec<usize> {
            let is_set = |&cpu: &usize| self.0[cpu / BITS] >> (cpu % BITS) & 1 == 1;
            (0..self.0.len() * BITS).filter(is_set).collect()
        }
    }

    /// The number of CPUs, for a thread whose mask is not known.
    pub(crate) fn count_of_unknown(file: File<'_>) -> usize {
        online(file).unwrap_or(1)
    }

    /// How long the calling thread has run, and how long it has waited for a CPU (see
    /// `scheduler/sched-stats.rst` in the kernel's documentation). `None` if the kernel does not
    /// report these times.
    pub(crate) fn turns() -> Option<Turns> {
        let text = text(&this_system, "/proc/thread-self/schedstat")?;
        let [ran, waited, count] = parts(&text, ' ')[..] else { return None };
        let nanos = |text| Some(Duration::from_nanos(number(text)? as u64));
        Some(Turns { ran: nanos(ran)?, waited: nanos(waited)?, count: number(count)? as u64 })
    }

    /// For each of these CPUs, how long it has been idle or has waited for a disk since the system
    /// started, in steps of 10 ms: `proc_stat`(5).
    pub(crate) fn idle(cpus: &[usize]) -> Option<Vec<Duration>> {
        const TICK: Duration = Duration::from_millis(10); // the unit of all Linux interfaces, whatever the tick of the kernel
        let text = text(&this_system, "/proc/stat")?;
        let idle = |line: &str| {
            let words = parts(line.strip_prefix("cpu")?, ' ');
            let [cpu, _, _, _, idle, disk, ..] = words[..] else { return None };
            let ticks = u32::try_from(number(idle)? + number(disk)?).ok()?;
            Some((number(cpu)?, TICK * ticks))
        };
        let times: Vec<(usize, Duration)> = parts(&text, '\n').into_iter().filter_map(idle).collect(); // ascending CPUs
        let of = |cpu| times.binary_search_by_key(cpu, |(number, _)| *number).ok().map(|at| times[at].1);
        Some(cpus.iter().map(|cpu| of(cpu).unwrap_or_default()).collect())
    }

    /// The CPU time of the calling thread since its start, and the number of its voluntary context
    /// switches: getrusage(2).
    pub(crate) fn usage() -> Option<Usage> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
        let micros = usage.user_time().num_microseconds() + usage.system_time().num_microseconds();
        let naps = usage.voluntary_context_switches().try_into().ok()?;
        Some(Usage { cpu: Duration::from_micros(micros.try_into().ok()?), naps })
    }
}

#[cfg(not(all(target_os = "linux", not(any(miri, portable)))))]
mod mask {
    use std::{env, io, thread, time::Duration};

    use crate::pool::{
        place::{files::File, pin_monitor::Turns},
        record::journal::Usage,
    };

    /// The name of the system. Bare wasm has no such name; there this is the name of the processor.
    const SYSTEM: &str = if env::consts::OS.is_empty() { env::consts::ARCH } else { env::consts::OS };

    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Thread;

    pub(crate) fn this_thread() -> Thread {
        Thread
    }

    pub(crate) fn is_main_thread() -> bool {
        false
    }

    pub(crate) fn here() -> Option<usize> {
        None
    }

    /// The CPUs on which a thread may run. This system does not report these CPUs, so the type has
    /// no value.
    #[derive(Clone, Debug)]
    pub(crate) enum Mask {}

    impl Mask {
        pub(crate) fn of_this_thread() -> io::Result<Self> {
            Err(io::Error::new(
                io::ErrorKind::Unsupported,
                format!("not supported on this system ({SYSTEM})"),
            ))
        }

        pub(crate) fn of_main_thread() -> io::Result<Self> {
            Self::of_this_thread()
        }

        pub(crate) fn of(_cpus: &[usize]) -> io::Result<Self> {
            Self::of_this_thread()
        }

        pub(crate) fn apply(&self) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn apply_to(&self, _thread: Thread) -> io::Result<()> {
            match *self {}
        }

        pub(crate) fn cpus(&self) -> Vec<usize> {
            match *self {}
        }
    }

    pub(crate) fn count_of_unknown(_file: File<'_>) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    pub(crate) fn turns() -> Option<Turns> {
        None
    }

    pub(crate) fn idle(_cpus: &[usize]) -> Option<Vec<Duration>> {
        None
    }

    pub(crate) fn usage() -> Option<Usage> {
        None
    }
}

pub(crate) use mask::{
    Mask, Thread, count_of_unknown, here, idle, is_main_thread, this_thread, turns, usage,
};

/// While a [`scope`](crate::PoolBuilder::scope) pins the main thread: the mask that the main thread
/// has outside the scope. The scope writes this mask before it pins the thread, and clears it at
/// the end of the scope. Without this mask, a global pool that is first used inside a scope would
/// run on one CPU. Read with `lock_unless_stuck`, because the process may have been forked while
/// another thread held the lock.
static OUTSIDE_SCOPE: Mutex<Option<Mask>> = Mutex::new(None);

/// The CPUs on which this process may run: the mask of the main thread, as it is outside of any
/// scope.
pub(crate) fn of_process() -> io::Result<Mask> {
    let outside = lock_unless_stuck(&OUTSIDE_SCOPE); // held during the reading, so that no scope begins meanwhile
    let known = outside.as_deref().and_then(Option::clone);
    known.map_or_else(|| Mask::of_main_thread().or_else(|_| Mask::of_this_thread()), Ok)
}

/// Pins the calling thread to `cpu`.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    Mask::of(&[cpu])?.apply()
}

/// The calling thread is pinned. Dropping this value restores the old mask of the thread.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Mask,
    #[expect(dead_code, reason = "only its drop matters")]
    outermost: Option<Outermost>,
}

impl Pinned {
    pub(crate) fn to(cpu: usize) -> io::Result<Self> {
        let (before, there) = (Mask::of_this_thread()?, Mask::of(&[cpu])?);
        let outermost = Outermost::of_main_thread(&before);
        there.apply()?;
        Ok(Self { before, outermost })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if let Err(error) = self.before.apply() {
            log::warn!("the calling thread stays pinned: {error}");
        }
    }
}

/// Marks the outermost scope of the main thread: `OUTSIDE_SCOPE` has a mask while this value
/// exists.
#[derive(Debug)]
struct Outermost;

impl Outermost {
    fn of_main_thread(outside: &Mask) -> Option<Self> {
        let mask = if is_main_thread() { lock_unless_stuck(&OUTSIDE_SCOPE) } else { None };
        let mask = mask.filter(|mask| mask.is_none());
        mask.map(|mut mask| mask.replace(outside.clone())).map(|_| Self)
    }
}

impl Drop for Outermost {
    fn drop(&mut self) {
        let _mask = lock_unless_stuck(&OUTSIDE_SCOPE).and_then(|mut mask| mask.take());
    }
}

#[cfg(all(test, target_os = "linux", not(any(loom, miri, portable))))]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn masks_have_no_end() {
        for cpu in [0, 63, 64, 1023, 1024, 1999, 100_000] {
            assert_eq!(Mask::of(&[cpu]).unwrap().cpus(), [cpu]);
        }
        assert_eq!(Mask::of(&[7, 64, 3]).unwrap().cpus(), [3, 7, 64]);
        assert!(Mask::of(&[usize::MAX]).is_err());
        let allowed = || Mask::of_this_thread().unwrap().cpus();
        let before = allowed();
        assert!(Mask::of(&[100_000]).unwrap().apply().is_err(), "there is no such CPU");
        assert_eq!(allowed(), before);
    }

    #[test]
    fn the_kernel_reports_turns_and_idle_cpus() {
        let cpus = Mask::of_this_thread().unwrap().cpus();
        let (before, idle_before) = (turns(), idle(&cpus).unwrap());
        std::thread::sleep(Duration::from_millis(50));
        let begin = std::time::Instant::now();
        while begin.elapsed() < Duration::from_millis(50) {}
        let idle = idle(&cpus).unwrap();
        assert!(idle.len() == cpus.len() && idle.iter().zip(&idle_before).all(|(now, before)| now >= before));
        if let (Some(before), Some(now)) = (before, turns()) {
            let ran = now.ran.saturating_sub(before.ran);
            let waited = now.waited.saturating_sub(before.waited);
            // The kernel updates the times at its ticks. A hypervisor may suppress some ticks.
            assert!(ran + waited >= Duration::from_millis(10), "{ran:?} {waited:?}");
            assert!(ran < Duration::from_millis(100) && now.count > before.count, "{ran:?}: it has slept");
        }
    }

    #[test]
    fn time_in_the_kernel_is_used_time() {
        use nix::time::{ClockId, clock_gettime};
        let before = usage().unwrap();
        let clock = || Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).unwrap());
        let end = clock() + Duration::from_millis(40);
        while clock() < end {} // most of this time is spent in system calls
        let used = usage().unwrap().since(before);
        assert!((20..60).contains(&used.cpu.as_millis()), "{:?}", used.cpu);
    }
}
