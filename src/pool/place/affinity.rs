//! System calls for threads and CPUs: reading, setting and restoring affinity masks and priorities,
//! and the CPU time of a thread. On other systems than Linux these functions return `None` or an
//! error.

#![allow(unsafe_code)] // masks of any size, scheduling policies and nice values are not in std or nix

use std::{cell::RefCell, io, sync::Mutex, time::Duration};

use super::{
    files::{number, parts, text, this_system},
    pin_monitor::Turns,
};
use crate::sync::lock_unless_stuck;

pub(crate) use system::{Priority, Thread, count_of_unknown, here, this_thread, thread_of, usage};

#[cfg(all(target_os = "linux", not(any(miri, portable))))] // Miri has neither sched_getcpu nor getrusage
mod system {
    use std::{io, ptr, time::Duration};

    use super::CALLING_THREAD;
    use crate::pool::tell::journal::Usage;
    use nix::{
        errno::Errno,
        libc,
        sched::sched_getcpu,
        sys::{
            pthread::pthread_self,
            resource::{UsageWho, getrusage},
            time::TimeValLike,
        },
        unistd::{Pid, gettid},
    };

    /// The number of a thread in the kernel.
    pub(super) type Number = libc::pid_t;

    /// A thread that other threads can pin.
    pub(crate) type Thread = libc::pthread_t;

    pub(crate) fn this_thread() -> Thread {
        pthread_self()
    }

    /// The thread that has been started.
    #[cfg(not(any(loom, shuttle)))]
    pub(crate) fn thread_of(started: &std::thread::JoinHandle<()>) -> Thread {
        std::os::unix::thread::JoinHandleExt::as_pthread_t(started)
    }

    /// Models build pools with `Pinning::Off`, if at all.
    #[cfg(any(loom, shuttle))]
    pub(crate) fn thread_of(_started: &crate::sync::JoinHandle<()>) -> Thread {
        this_thread()
    }

    pub(super) fn pin_thread(thread: Thread, mask: &[usize]) -> io::Result<()> {
        let size = size_of_val(mask);
        // SAFETY: *alive*: 1. the C library reads `size` bytes, all of them inside the mask; 2. the
        // thread has not been joined.
        match unsafe { libc::pthread_setaffinity_np(thread, size, mask.as_ptr().cast()) } {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(error)),
        }
    }

    pub(super) fn main_thread() -> Number {
        Pid::this().as_raw()
    }

    pub(super) fn is_main_thread() -> bool {
        gettid() == Pid::this()
    }

    /// The CPU that the calling thread runs on at the moment.
    pub(crate) fn here() -> Option<usize> {
        sched_getcpu().ok()
    }

    /// Reads the mask of a thread. The error is EINVAL if the mask of the kernel has more bits.
    pub(super) fn read_mask(thread: Number, mask: &mut [usize]) -> io::Result<()> {
        let size = size_of_val(mask);
        // SAFETY: 1. the kernel writes at most `size` bytes, all of them inside `mask`; 2. any bits
        // are a valid mask.
        Errno::result(unsafe { libc::sched_getaffinity(thread, size, mask.as_mut_ptr().cast()) })?;
        Ok(())
    }

    pub(super) fn set_mask(thread: Number, mask: &[usize]) -> io::Result<()> {
        let size = size_of_val(mask);
        // SAFETY: the kernel reads `size` bytes, all of them inside the mask.
        Errno::result(unsafe { libc::sched_setaffinity(thread, size, mask.as_ptr().cast()) })?;
        Ok(())
    }

    /// The number of CPUs, for a thread whose mask is not known. (`available_parallelism` of std
    /// would add 10 KB to a program.)
    pub(crate) fn count_of_unknown(online: Option<usize>) -> usize {
        online.unwrap_or(1)
    }

    /// The CPU time of the calling thread since its start, and the number of its voluntary context
    /// switches: getrusage(2).
    pub(crate) fn usage() -> Option<Usage> {
        let usage = getrusage(UsageWho::RUSAGE_THREAD).ok()?;
        let micros = (usage.user_time() + usage.system_time()).num_microseconds();
        let naps = usage.voluntary_context_switches().try_into().ok()?;
        Some(Usage { cpu: Duration::from_micros(micros.try_into().ok()?), naps })
    }

    /// The scheduling policy and the priority of a thread. This type makes the system calls by
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
            Self::of_thread(main_thread())
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
mod system {
    use std::{env, io, thread};

    use crate::pool::tell::journal::Usage;

    /// The name of the system. Bare wasm has no such name; there this is the name of the processor.
    const SYSTEM: &str = if env::consts::OS.is_empty() { env::consts::ARCH } else { env::consts::OS };

    pub(super) type Number = i32;
    pub(crate) type Thread = Number;

    pub(crate) fn this_thread() -> Thread {
        super::CALLING_THREAD
    }

    pub(crate) fn thread_of(_started: &crate::sync::JoinHandle<()>) -> Thread {
        super::CALLING_THREAD
    }

    pub(super) use set_mask as pin_thread;

    pub(super) fn main_thread() -> Number {
        super::CALLING_THREAD
    }

    pub(super) fn is_main_thread() -> bool {
        false
    }

    pub(crate) fn here() -> Option<usize> {
        None
    }

    pub(super) fn read_mask(_thread: Thread, _mask: &mut [usize]) -> io::Result<()> {
        Err(io::Error::new(io::ErrorKind::Unsupported, format!("not supported on this system ({SYSTEM})")))
    }

    pub(super) fn set_mask(thread: Thread, _mask: &[usize]) -> io::Result<()> {
        read_mask(thread, &mut [])
    }

    pub(crate) fn count_of_unknown(_online: Option<usize>) -> usize {
        thread::available_parallelism().map_or(1, usize::from)
    }

    pub(crate) fn usage() -> Option<Usage> {
        None
    }

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

/// In the system calls, the number 0 means the calling thread.
const CALLING_THREAD: system::Number = 0;

/// The CPUs on which a thread may run, one bit per CPU. This is not the `CpuSet` of nix, which has
/// only 1024 bits: system calls with it fail on larger machines.
#[derive(Clone, Debug)]
pub(crate) struct Mask(Vec<usize>);

const BITS: usize = usize::BITS as usize;
/// The size of the first mask that is read, in CPUs. Most kernels support fewer CPUs.
const FEW: usize = 1 << 10;
/// The size of the largest mask, in CPUs. Every kernel supports fewer CPUs.
const MOST: usize = 1 << 20;

impl Mask {
    pub(crate) fn of_this_thread() -> io::Result<Self> {
        Self::of_thread(CALLING_THREAD)
    }

    fn of_thread(thread: system::Number) -> io::Result<Self> {
        let mut cpus = FEW;
        loop {
            let mut mask = vec![0; cpus / BITS];
            match system::read_mask(thread, &mut mask) {
                Ok(()) => return Ok(Self(mask)),
                Err(error) if error.kind() == io::ErrorKind::InvalidInput && cpus < MOST => cpus *= 2,
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn of(cpus: &[usize]) -> io::Result<Self> {
        let last = cpus.iter().copied().max().unwrap_or(0);
        if last >= MOST {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut mask = vec![0; last / BITS + 1]; // the kernel takes the other CPUs for not set
        for cpu in cpus {
            mask[cpu / BITS] |= 1 << (cpu % BITS);
        }
        Ok(Self(mask))
    }

    /// Gives the calling thread this mask.
    pub(crate) fn apply(&self) -> io::Result<()> {
        system::set_mask(CALLING_THREAD, &self.0)
    }

    pub(crate) fn cpus(&self) -> Vec<usize> {
        let is_set = |&cpu: &usize| self.0[cpu / BITS] >> (cpu % BITS) & 1 == 1;
        (0..self.0.len() * BITS).filter(is_set).collect()
    }
}

/// The text of a file of the kernel about threads and CPUs. `None` on systems without such files.
fn proc_file(path: &str) -> Option<String> {
    let is_linux = cfg!(all(target_os = "linux", not(any(miri, portable))));
    if is_linux { text(&this_system, path) } else { None }
}

/// How long the calling thread has run, and how long it has waited for a CPU (see
/// `scheduler/sched-stats.rst` in the kernel's documentation). `None` if the system does not report
/// these times.
pub(crate) fn turns() -> Option<Turns> {
    let text = proc_file("/proc/thread-self/schedstat")?;
    let [ran, waited, count] = parts(&text, ' ')[..] else { return None };
    let nanos = |text| Some(Duration::from_nanos(number(text)? as u64));
    let naps = usage().map_or(0, |usage| usage.naps);
    Some(Turns { ran: nanos(ran)?, waited: nanos(waited)?, count: number(count)? as u64, naps })
}

/// For each of these CPUs, how long it has been idle or has waited for a disk since the system
/// started, in steps of 10 ms: `proc_stat`(5). 0 for a CPU that is offline.
pub(crate) fn idle(cpus: &[usize]) -> Option<Vec<Duration>> {
    const TICK: Duration = Duration::from_millis(10); // the unit of all Linux interfaces, whatever the tick of the kernel
    let text = proc_file("/proc/stat")?;
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

/// While a [`scope`](crate::PoolBuilder::scope) pins the main thread: the mask that the main thread
/// has outside the scope. The outermost scope writes this mask when it pins the thread, and clears
/// it at its end. Without this mask, a global pool that is first used inside a scope would run on
/// one CPU. Read with `lock_unless_stuck`, because the process may have been forked while another
/// thread held the lock.
static OUTSIDE_SCOPE: Mutex<Option<Mask>> = Mutex::new(None);

/// The CPUs on which this process may run: the mask of the main thread, as it is outside of any
/// scope.
pub(crate) fn of_process() -> io::Result<Mask> {
    let outside = lock_unless_stuck(&OUTSIDE_SCOPE); // held during the reading, so that no scope begins meanwhile
    let known = outside.as_deref().and_then(Option::clone);
    let read = || Mask::of_thread(system::main_thread()).or_else(|_| Mask::of_this_thread());
    known.map_or_else(read, Ok)
}

/// Pins a thread of a pool to `cpu`. The pool has not been dropped: promise *Alive* in `UNSAFE.md`.
pub(crate) fn pin_thread(thread: Thread, cpu: usize) -> io::Result<()> {
    system::pin_thread(thread, &Mask::of(&[cpu])?.0)
}

/// Pins the calling thread to `cpu`.
pub(crate) fn pin(cpu: usize) -> io::Result<()> {
    Mask::of(&[cpu])?.apply()
}

std::thread_local! {
    /// If a pool has pinned the calling thread: the mask that the thread had before. An item that
    /// builds a pool or starts a program needs this mask.
    static BEFORE_PIN: RefCell<Option<Mask>> = const { RefCell::new(None) };
}

/// The mask that the calling thread had before a pool pinned it. `None` if no pool has pinned it,
/// or if the thread ends.
pub(crate) fn before_pin() -> Option<Mask> {
    BEFORE_PIN.try_with(|mask| mask.try_borrow().ok()?.clone()).ok()?
}

/// Sets the mask that [`before_pin`] returns. Returns whether this was possible.
fn note_before_pin(mask: Option<Mask>) -> bool {
    let note = |noted: &RefCell<_>| noted.try_borrow_mut().map(|mut noted| *noted = mask).is_ok();
    BEFORE_PIN.try_with(note).unwrap_or(false)
}

/// Notes the mask that the calling thread had before a pool pinned it. Returns whether no pool has
/// pinned it before.
fn note_first(before: &Mask) -> bool {
    before_pin().is_none() && note_before_pin(Some(before.clone()))
}

/// Notes that the builder of a pool pins the calling thread, which has started with this mask.
pub(crate) fn note_pinned(before: &Mask) {
    note_first(before);
}

/// Pins the calling thread to a CPU.
pub(crate) type Pin<'a> = &'a mut dyn FnMut(usize) -> io::Result<()>;

/// Pins the calling thread, a thread of a pool, until it ends.
pub(crate) fn pin_for_good(cpu: usize) -> io::Result<()> {
    let before = Mask::of_this_thread()?;
    pin(cpu)?;
    note_first(&before);
    Ok(())
}

/// The calling thread is pinned. Dropping this value restores the old mask of the thread.
#[derive(Debug)]
pub(crate) struct Pinned {
    before: Mask,
    /// Whether no pool has pinned this thread before: `before_pin` has a mask while this value
    /// exists.
    is_first: bool,
    /// Whether this is the outermost scope of the main thread: `OUTSIDE_SCOPE` has a mask while
    /// this value exists.
    is_outermost: bool,
}

impl Pinned {
    pub(crate) fn to(cpu: usize) -> io::Result<Self> {
        let before = Mask::of_this_thread()?;
        let is_main_thread = system::is_main_thread();
        let outside = if is_main_thread { lock_unless_stuck(&OUTSIDE_SCOPE) } else { None };
        let outside = outside.filter(|mask| mask.is_none());
        // Cloned before: an allocator that asks for the mask here must not see the new one.
        let kept = before.clone();
        pin(cpu)?; // under the lock: nobody takes the new mask for the mask outside of the scope
        let is_outermost = outside.map(|mut mask| *mask = Some(kept)).is_some();
        let is_first = note_first(&before);
        Ok(Self { before, is_first, is_outermost })
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        if self.is_first {
            note_before_pin(None);
        }
        if let Err(error) = self.before.apply() {
            log::warn!("the calling thread stays pinned: {error}");
        }
        if self.is_outermost {
            let _mask = lock_unless_stuck(&OUTSIDE_SCOPE).and_then(|mut mask| mask.take());
        }
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
