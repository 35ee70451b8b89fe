//! Tests of the CPUs on which workers run, beside other programs. These tests run in a process of
//! their own, since they bind threads to CPUs.
#![cfg(all(target_os = "linux", not(portable)))]

mod busy;

use std::{
    fs, hint,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use busy::{Others, work};
use nix::{
    libc,
    sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
    unistd::Pid,
};
use rangesteal::{PinState, Pool};

/// The lock that keeps the tests from running at the same time; `None` if there is only one CPU.
fn two_cpus() -> Option<MutexGuard<'static, ()>> {
    static ALONE: Mutex<()> = Mutex::new(());
    if mask().count() < 2 {
        eprintln!("SKIPPED: one CPU is all there is");
        return None;
    }
    Some(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
}

struct Cpus(CpuSet);

impl Cpus {
    fn count(&self) -> usize {
        (0..CpuSet::count()).filter(|&cpu| self.0.is_set(cpu).unwrap()).count()
    }

    fn bind(&self) {
        sched_setaffinity(Pid::from_raw(0), &self.0).unwrap();
    }

    fn only(cpu: usize) -> Self {
        let mut set = CpuSet::new();
        set.set(cpu).unwrap();
        Self(set)
    }
}

/// The CPUs on which the calling thread may run.
fn mask() -> Cpus {
    Cpus(sched_getaffinity(Pid::from_raw(0)).unwrap())
}

/// The idle times of all CPUs together: `proc_stat`(5).
fn idle() -> Duration {
    let text = fs::read_to_string("/proc/stat").unwrap();
    let ticks = text.lines().next().unwrap().split_whitespace().nth(4).unwrap();
    Duration::from_millis(10 * ticks.parse::<u64>().unwrap())
}

/// The time for which the calling thread was ready to run and had no CPU: the second number of
/// `/proc/thread-self/schedstat`.
fn run_delay() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().nth(1).map_or(0, |nanos| nanos.parse().unwrap());
    Duration::from_nanos(nanos)
}

fn here() -> usize {
    sched_getcpu().unwrap()
}

const ITEMS: usize = 20_000;

/// Returns the number of items that the caller folds, of `ITEMS`, and the number of these that it
/// folds on its helper's CPU. From time to time, the caller is moved to that CPU.
fn items_of_the_caller(pool: &Pool) -> (usize, usize) {
    const OFTEN: usize = 500;
    let (caller, before) = (thread::current().id(), mask());
    let helper_is_on = AtomicUsize::new(usize::MAX);
    let counts = Mutex::new((0, 0)); // the caller's items: all items, and the items on the helper's CPU
    pool.on(0..ITEMS).for_each(|_| {
        work(50_000);
        if thread::current().id() != caller {
            helper_is_on.store(here(), Relaxed);
            return;
        }
        let (own, together) = &mut *counts.lock().unwrap();
        *own += 1;
        let there = helper_is_on.load(Relaxed);
        *together += usize::from(here() == there);
        if *own % OFTEN == 0 && there != usize::MAX {
            thread::sleep(Duration::from_millis(1));
            Cpus::only(there).bind();
            before.bind();
        }
    });
    counts.into_inner().unwrap()
}

/// Now and then the system wakes a sleeping caller on its helper's CPU. This test moves the caller
/// in the same way. The system would leave both threads on that CPU for about ten milliseconds.
#[test]
fn a_caller_that_wakes_up_on_the_cpu_of_its_helper_does_not_stay_with_it() {
    let Some(_alone) = two_cpus() else { return };
    let pool = Pool::builder().num_threads(2).build().unwrap();
    // Another program may take the CPU to which the helper would move, so not every try succeeds.
    let mut tries = (0..5).map(|_| items_of_the_caller(&pool));
    let others = Others::watch();
    let is_fair = |&(own, together): &(usize, usize)| {
        let is_shared = own > ITEMS / 8 && own < 7 * ITEMS / 8;
        assert!(is_shared || others.have_a_cpu(), "{own} items of the caller");
        is_shared && together < own / 10
    };
    let is_fair_once = tries.any(|counts| is_fair(&counts));
    assert!(is_fair_once || others.have_a_cpu(), "the caller stays on the CPU of its helper");
}

#[test]
fn a_helper_gives_way_to_another_program_and_comes_back() {
    let Some(_alone) = two_cpus() else { return };
    let pool = Pool::builder().num_threads(2).build().unwrap();
    // The other CPU is idle most of the time.
    let run = || {
        pool.on(0..100).for_each(|_| work(50_000));
        thread::sleep(Duration::from_millis(20));
    };
    run();
    let hold = || pool.placement().seats[1].pin;
    // Repeats `f` until the condition holds, or until a time limit.
    let becomes = |wanted: PinState| {
        let begin = Instant::now();
        while hold() != wanted && begin.elapsed() < Duration::from_secs(20) {
            run();
        }
        hold() == wanted
    };
    assert!(becomes(PinState::Pinned));
    let there = pool.placement().seats[1].cpu.unwrap().number;
    let is_over = AtomicBool::new(false);
    let (evicted, idle) = thread::scope(|scope| {
        scope.spawn(|| {
            Cpus::only(there).bind();
            while !is_over.load(Relaxed) {
                hint::spin_loop();
            }
        });
        let before = idle();
        let evicted = becomes(PinState::Evicted);
        is_over.store(true, Relaxed);
        (evicted, idle().saturating_sub(before))
    });
    if !evicted && idle < Duration::from_secs(10) {
        eprintln!("SKIPPED: no CPU was idle for half of the time, only {idle:?} of 20 s");
        return;
    }
    assert!(evicted, "with CPUs that were idle for {idle:?}");
    assert!(becomes(PinState::Pinned));
}

/// A program of higher priority takes the helper's CPU, and the loop waits for the helper's item:
/// some 69 times as long as the item takes. The pool must not let this happen repeatedly.
#[test]
#[expect(unsafe_code, reason = "setpriority is not in std")]
fn a_helper_that_does_not_get_its_cpu_is_not_waited_for_again_and_again() {
    // Longer than the time for which the system lets a thread run that has just woken up.
    const ITEM: Duration = Duration::from_millis(12);
    /// The pool tries the helper again, and each trial can end in one more wait.
    const MOST: usize = 4;
    let Some(_alone) = two_cpus() else { return };
    let build = || {
        // SAFETY: the call takes and returns numbers. 0 is the calling thread.
        let refused = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, 19) };
        assert_eq!(refused, 0, "anybody may be nicer");
        Pool::builder().num_threads(2).build().unwrap()
    };
    let pool = thread::scope(|scope| scope.spawn(build).join().unwrap());
    let there = pool.placement().seats[1].cpu.unwrap().number;
    let (is_over, mut times) = (AtomicBool::new(false), Vec::new());
    // A factor of five, since another CPU may be slow.
    let bad = |times: &[Duration]| times.iter().filter(|time| **time > 5 * 4 * ITEM).count();
    thread::scope(|scope| {
        scope.spawn(|| {
            Cpus::only(there).bind();
            while !is_over.load(Relaxed) {
                hint::spin_loop();
            }
        });
        // The time for which the caller had no CPU, because of other programs, does not count.
        while times.len() < 60 && bad(&times) <= MOST {
            let (begin, delay) = (Instant::now(), run_delay());
            pool.on(0..4).for_each(|_| work(u64::try_from(ITEM.as_nanos()).unwrap()));
            times.push(begin.elapsed().saturating_sub(run_delay().saturating_sub(delay)));
        }
        is_over.store(true, Relaxed);
    });
    assert!(bad(&times) <= MOST, "{} calls: {times:?}", times.len());
}
