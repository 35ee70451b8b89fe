//! The system's clocks, context switches, affinity masks and priorities.

#![allow(unsafe_code, reason = "priorities of threads, which nix does not have")]

use std::{
    fs,
    sync::{Arc, Condvar, Mutex},
    thread,
    time::{Duration, Instant},
};

use nix::{
    libc,
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::resource::{UsageWho, getrusage},
    time::{ClockId, clock_gettime},
    unistd::{Pid, gettid},
};

const THIS_THREAD: Pid = Pid::from_raw(0);

/// CPU time of this process, of all threads together, in nanoseconds.
pub(crate) fn cpu_nanos() -> f64 {
    nanos(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

/// CPU time of the calling thread, in nanoseconds.
pub(crate) fn thread_cpu_nanos() -> f64 {
    nanos(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of all other threads of this process, in nanoseconds. The clock of the process is not
/// suitable, because it counts the time of a running thread some milliseconds late. A busy-waiting
/// thread runs all the time.
pub(crate) fn cpu_nanos_elsewhere() -> f64 {
    let clock = |thread: i32| {
        let clock = ClockId::from_raw(!thread << 3 | 6); // Linux, include/linux/posix-timers.h: CPUCLOCK_SCHED of a thread
        clock_gettime(clock).map_or(0.0, |time| Duration::from(time).as_secs_f64() * 1e9)
    };
    let threads = fs::read_dir("/proc/self/task").expect("the threads of this process").flatten();
    let numbers = threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok());
    numbers.filter(|thread| *thread != gettid().as_raw()).map(clock).sum()
}

fn nanos(clock: ClockId) -> f64 {
    Duration::from(clock_gettime(clock).expect("a CPU clock")).as_secs_f64() * 1e9
}

/// Context switches of this process so far, voluntary or not.
pub(crate) fn switches() -> i64 {
    let usage = getrusage(UsageWho::RUSAGE_SELF).expect("the usage of this process");
    usage.voluntary_context_switches() + usage.involuntary_context_switches()
}

/// Waits until no other thread of this process computes, but at most a quarter of a second. Some
/// pools look for work long after a loop.
pub(crate) fn settle() {
    let begin = Instant::now();
    let mut before = cpu_nanos_elsewhere();
    while begin.elapsed() < Duration::from_millis(250) {
        thread::sleep(Duration::from_micros(300));
        let now = cpu_nanos_elsewhere();
        if now - before < 10_000.0 {
            return;
        }
        before = now;
    }
}

/// The CPUs that the calling thread may use.
pub(crate) fn mask() -> CpuSet {
    sched_getaffinity(THIS_THREAD).expect("an affinity mask")
}

/// The CPUs in a mask.
pub(crate) fn cpus(mask: &CpuSet) -> Vec<usize> {
    (0..CpuSet::count()).filter(|&cpu| mask.is_set(cpu).unwrap_or(false)).collect()
}

/// The CPUs in `mask` where the threads of a busy-waiting pool should start. A thread that started
/// on the CPU of this thread would share it, until the system moves one of the two after some
/// milliseconds.
pub(crate) fn elsewhere(mask: &CpuSet, threads: usize) -> CpuSet {
    let (all, mut others) = (cpus(mask), *mask);
    for here in cpus(&self::mask()) {
        others.unset(here).expect("a CPU");
    }
    let room = threads <= all.len() && !cpus(&others).is_empty();
    if room { others } else { *mask }
}

pub(crate) fn pin(cpu: usize) {
    let mut only = CpuSet::new();
    only.set(cpu).expect("a CPU");
    sched_setaffinity(THIS_THREAD, &only).expect("leave to pin this thread");
}

/// Gives the calling thread, and the threads that it starts, the lowest priority of ordinary
/// threads.
pub(crate) fn be_nice() {
    // SAFETY: 1. the arguments and the result are numbers. 0 is the calling thread.
    let refused = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
    assert_eq!(refused, 0, "anybody may be nicer");
}

/// Gives the calling thread a still lower priority, so that the thread runs only on idle CPUs.
pub(crate) fn be_idle() {
    let priority = libc::sched_param { sched_priority: 0 };
    // SAFETY: 2. `priority` is read during the call. 0 is the calling thread.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_IDLE, &raw const priority) };
    assert_eq!(refused, 0, "anybody may be idle");
}

/// Lets the calling thread run on all of `mask`. Its drop restores the old mask.
pub(crate) struct Freed(CpuSet);

impl Freed {
    pub(crate) fn to(to: &CpuSet) -> Self {
        let before = mask();
        sched_setaffinity(THIS_THREAD, to).expect("the mask of the start");
        Self(before)
    }
}

impl Drop for Freed {
    fn drop(&mut self) {
        sched_setaffinity(THIS_THREAD, &self.0).expect("the mask from before");
    }
}

/// The median time of a wake-up, in nanoseconds: from the notification of a thread that sleeps on
/// another CPU to its first instruction.
pub(crate) fn start_delay(mask: &CpuSet) -> f64 {
    let bell = Arc::new((Mutex::new(None::<Instant>), Condvar::new()));
    let sleeper = {
        let (bell, cpu) = (Arc::clone(&bell), *cpus(mask).last().expect("a CPU"));
        thread::spawn(move || {
            pin(cpu);
            let wait = |_| {
                let rung = bell.1.wait_while(bell.0.lock().unwrap(), |rung| rung.is_none());
                let now = Instant::now();
                (now - rung.unwrap().take().unwrap()).as_secs_f64() * 1e9
            };
            let mut delays: Vec<f64> = (0..201).map(wait).collect();
            delays.sort_by(f64::total_cmp);
            delays[delays.len() / 2]
        })
    };
    while !sleeper.is_finished() {
        thread::sleep(Duration::from_micros(500));
        let mut rung = bell.0.lock().unwrap();
        if rung.is_none() {
            *rung = Some(Instant::now());
            drop(rung);
            bell.1.notify_one();
        }
    }
    sleeper.join().unwrap()
}
