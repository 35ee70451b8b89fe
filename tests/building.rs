//! Tests of building a pool, and of all system calls that can fail. A test that changes the whole
//! process runs in a child. The child runs the same test binary with only this test.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // a raw system call

mod busy;
mod child;
mod kinds;
mod refuse;

use std::{
    collections::{HashMap, HashSet},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use busy::work;
use child::is_child;
use nix::{
    libc,
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::resource::{Resource, setrlimit},
    unistd::Pid,
};
use rangesteal::{BuildError, CountSource, PinState, Pinning, Placement, Pool, PoolBuilder};
use refuse::{error, filter, refuse, statement};

const VARIABLE: &str = "RANGESTEAL_NUM_THREADS";

/// A time within which a helper gets a CPU on a busy machine.
const LONG: Duration = Duration::from_secs(60);

/// Runs the test `name` in a child, and checks that the child passes. If there is a command
/// `through`, this command starts the child. Returns the child's standard error.
fn child(through: &[&str], name: &str, variable: Option<&str>) -> String {
    let variable = variable.map(|value| (VARIABLE, value));
    child::passed(&child::run(through, name, variable.as_slice()))
}

/// Returns true in the child. In the parent, runs the test `name` in a child, checks that the child
/// passes with exactly these warnings, and returns false.
fn in_child(name: &str, variable: Option<&str>, warnings: &[&str]) -> bool {
    if is_child() {
        return true;
    }
    warns(&child(&[], name, variable), warnings);
    false
}

fn warns(stderr: &str, warnings: &[&str]) {
    let warned: Vec<&str> = stderr.lines().filter(|line| line.starts_with("[WARN ")).collect();
    assert_eq!(warned.len(), warnings.len(), "{stderr}");
    for (warned, warning) in warned.iter().zip(warnings) {
        assert!(warned.contains(warning), "no {warning:?} in {warned:?}");
    }
}

/// Whether a command of that name exists and runs with these arguments.
fn can(command: &[&str]) -> bool {
    let can =
        Command::new(command[0]).args(&command[1..]).output().is_ok_and(|output| output.status.success());
    if !can {
        eprintln!("SKIPPED: cannot run {command:?}");
    }
    can
}

fn mask() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).collect()
}

fn tasks() -> usize {
    std::fs::read_dir("/proc/self/task").unwrap().count()
}

/// The masks of all threads that take part in a loop.
fn masks(pool: &Pool) -> HashSet<Vec<usize>> {
    let seen = Mutex::new(HashSet::new());
    for _ in 0..20 {
        pool.for_each(&[(); 200], |()| {
            seen.lock().unwrap().insert(mask());
            work(20_000);
        });
    }
    seen.into_inner().unwrap()
}

fn counts(pool: &Pool) {
    let items: Vec<u64> = (0..20_000).map(|i| if i % 100 == 0 { 10_000 } else { 0 }).collect();
    for _ in 0..5 {
        let sum = pool.map_reduce(
            &items,
            |cost| {
                work(*cost);
                *cost
            },
            |a, b| a + b,
        );
        assert_eq!(sum, Some(2_000_000));
    }
}

/// From this call on, `sched_getaffinity` refuses masks of fewer than 2048 CPUs, as on a machine
/// that can have 2048 CPUs.
fn pretend_2048_cpus() {
    refuse_masks(1, libc::BPF_JGE, 2048 / 8, false, libc::EINVAL);
}

/// From this call on, `sched_getaffinity` fails for the calling thread's own mask (number 0). Calls
/// with the number of a thread still succeed, because sanitizers need these calls.
fn refuse_own_mask() {
    refuse_masks(0, libc::BPF_JEQ, 0, true, libc::EPERM);
}

/// From this call on, `sched_getaffinity` fails if the comparison of one of its arguments with
/// `value` gives `said`. `argument` is the number of this argument: 0 for the thread, 1 for the
/// bytes of the mask.
fn refuse_masks(argument: u32, comparison: u32, value: u32, said: bool, number: libc::c_int) {
    let low_word = if cfg!(target_endian = "little") { 0 } else { 4 };
    let (if_so, if_not) = if said { (0, 1) } else { (1, 0) }; // statements to skip
    filter(&mut [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        statement(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            3,
            u32::try_from(libc::SYS_sched_getaffinity).unwrap(),
        ),
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 16 + 8 * argument + low_word),
        statement(libc::BPF_JMP | comparison | libc::BPF_K, if_so, if_not, value),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, error(number)),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ]);
}

#[test]
fn zero_threads_and_too_many() {
    for asked in [65_537, usize::MAX / 8, usize::MAX] {
        let error = Pool::builder().num_threads(asked).build().unwrap_err();
        assert!(matches!(error, BuildError::TooManyThreads { .. }));
        assert!(error.to_string().contains(&asked.to_string()));
    }
    let error = Pool::builder().num_threads(0).build().unwrap_err();
    assert!(matches!(error, BuildError::ZeroThreads));
    assert!(error.to_string().contains("num_threads(0)"));
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn more_threads_than_cpus_share_them() {
    let pool = Pool::builder().num_threads(40).pinning(Pinning::Required).build().unwrap();
    assert_eq!(pool.num_threads(), 40);
    counts(&pool);
}

#[test]
fn thread_names() {
    let pool = Pool::builder().num_threads(2).thread_name(|w| format!("named-{w}")).build().unwrap();
    let names = Mutex::new(HashSet::new());
    let has_come = || names.lock().unwrap().contains(&Some("named-1".to_owned()));
    let begin = Instant::now();
    while !has_come() && begin.elapsed() < LONG {
        pool.for_each(&[(); 100], |()| {
            names.lock().unwrap().insert(std::thread::current().name().map(String::from));
            work(20_000);
        });
    }
    assert!(has_come());

    let error = Pool::builder().num_threads(2).thread_name(|_| "a\0b".into()).build().unwrap_err();
    assert!(error.to_string().contains("NUL"), "{error}");
}

#[test]
fn a_stack_of_the_size_asked_for() {
    fn deep(levels: usize) -> usize {
        let frame = std::hint::black_box([levels; 1024]); // 8 KiB
        if levels == 0 { 0 } else { deep(levels - 1) + frame[1023] / levels }
    }
    let pool = Pool::builder().num_threads(2).stack_size(64 << 20).build().unwrap();
    let caller = std::thread::current().id();
    let tried = AtomicBool::new(false);
    let begin = Instant::now();
    while !tried.load(Relaxed) && begin.elapsed() < LONG {
        pool.for_each(&[(); 200], |()| {
            if std::thread::current().id() != caller {
                assert_eq!(deep(1000), 1000); // 8 MiB; a thread has 2 MiB by default
                tried.store(true, Relaxed);
            }
            std::thread::sleep(Duration::from_micros(100));
        });
    }
    assert!(tried.into_inner());
}

#[test]
fn a_stack_that_is_too_small() {
    for (threads, bytes) in [(2, 0), (2, 1024), (2, (64 << 10) - 1), (1, 1024)] {
        let builder = || Pool::builder().num_threads(threads).stack_size(bytes);
        for error in [builder().build().unwrap_err(), builder().scope(|_| ()).unwrap_err()] {
            assert!(matches!(error, BuildError::StackSize { asked, .. } if asked == bytes), "{error:?}");
            let message = error.to_string();
            assert!(
                message.contains(&format!("stack_size({bytes})")) && message.contains("65536 bytes or more")
            );
        }
    }
    for too_large in [1 << 50, usize::MAX] {
        let error = Pool::builder().num_threads(2).stack_size(too_large).build().unwrap_err();
        assert!(matches!(error, BuildError::Spawn { worker: 1, .. }), "{error:?}");
    }
}

#[test]
fn the_smallest_stack_holds_loops_and_panics() {
    let pool = Pool::builder().num_threads(3).stack_size(64 << 10).build().unwrap();
    let caller = std::thread::current().id();
    let panicked = (0..1000).any(|_| {
        kinds::loops(&pool);
        let strike = |i: usize| {
            work(20_000);
            assert_eq!(std::thread::current().id(), caller, "item {i}");
        };
        catch_unwind(AssertUnwindSafe(|| pool.on(0..200).for_each(strike))).is_err()
    });
    assert!(panicked, "no helper took part");
}

/// Whether all threads whose names begin like this are gone. A joined thread may still be listed
/// for a moment.
fn are_gone(prefix: &str) -> bool {
    (0..10_000).any(|turn| {
        std::thread::sleep(Duration::from_millis(turn.min(1)));
        !masks_in_proc().keys().any(|name| name.starts_with(prefix))
    })
}

/// Names the threads. Right before the thread of worker `k` is started, makes the system refuse
/// certain calls.
fn refuse_from(k: usize, prefix: &'static str, calls: &'static [libc::c_long]) -> PoolBuilder {
    Pool::builder().num_threads(6).thread_name(move |worker| {
        if worker == k {
            for call in calls {
                refuse(*call);
            }
        }
        format!("{prefix}{worker}")
    })
}

#[test]
fn every_thread_can_be_the_one_that_is_not_started() {
    for k in 1..6 {
        // Each try needs a thread of its own, because a filter cannot be removed.
        let build = || refuse_from(k, "unstarted-", &[libc::SYS_clone3, libc::SYS_clone]).build();
        let error = std::thread::scope(|scope| scope.spawn(build).join().unwrap()).unwrap_err();
        let BuildError::Spawn { worker, ref source, .. } = error else { panic!("{error}") };
        assert_eq!((worker, source.raw_os_error()), (k, Some(libc::EPERM)));
        assert!(error.to_string().contains(&format!("the thread of worker {k}")), "{error}");
        assert!(are_gone("unstarted-"), "threads are left: {:?}", masks_in_proc().keys());
    }
    counts(&Pool::builder().num_threads(6).build().unwrap());
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn every_thread_can_be_the_one_that_is_not_pinned() {
    for k in 1..6 {
        let build =
            || refuse_from(k, "unpinned-", &[libc::SYS_sched_setaffinity]).pinning(Pinning::Required).build();
        let error = std::thread::scope(|scope| scope.spawn(build).join().unwrap()).unwrap_err();
        assert!(matches!(error, BuildError::Pin { worker, .. } if worker == k), "{error}");
        assert!(are_gone("unpinned-"), "threads are left: {:?}", masks_in_proc().keys());
    }
}

#[test]
fn a_name_that_is_not_given() {
    for k in 1..4 {
        let name = move |worker| {
            assert_ne!(worker, k, "no name");
            format!("nameless-{worker}")
        };
        let build = || Pool::builder().num_threads(4).thread_name(name).build();
        let payload = catch_unwind(AssertUnwindSafe(build)).unwrap_err();
        assert!(payload.downcast_ref::<String>().is_some_and(|message| message.contains("no name")));
        assert!(are_gone("nameless-"), "threads are left: {:?}", masks_in_proc().keys());
    }
}

#[test]
fn the_variable_counts_where_the_program_does_not() {
    if in_child("the_variable_counts_where_the_program_does_not", Some("3"), &[]) {
        assert_eq!(Pool::new().unwrap().num_threads(), 3);
        assert_eq!(Pool::builder().num_threads(2).build().unwrap().num_threads(), 2);
    }
}

#[test]
fn a_variable_that_is_no_number() {
    for value in ["0", "-1", "many", ""] {
        if in_child("a_variable_that_is_no_number", Some(value), &[]) {
            let error = Pool::new().unwrap_err();
            assert!(matches!(error, BuildError::Variable { .. }));
            assert!(error.to_string().contains(VARIABLE));
            assert!(Pool::builder().num_threads(1).build().is_ok());
            return;
        }
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn pinning_is_what_the_variable_says_where_the_program_says_nothing() {
    const NAME: &str = "pinning_is_what_the_variable_says_where_the_program_says_nothing";
    const PINNING: &str = "RANGESTEAL_PINNING";
    if !is_child() {
        for value in ["off", " Off", "best-effort", "required", "no", ""] {
            child::passed(&child::run(&[], NAME, &[(PINNING, value)]));
        }
        return;
    }
    let pin = |builder: PoolBuilder| {
        let pool = builder.num_threads(2).build()?;
        Ok::<_, BuildError>(pool.placement().seats[1].pin)
    };
    assert_eq!(pin(Pool::builder().pinning(Pinning::Off)).unwrap(), PinState::Off);
    assert_eq!(pin(Pool::builder().pinning(Pinning::Required)).unwrap(), PinState::Pinned);
    let by_default = pin(Pool::builder());
    match std::env::var(PINNING).unwrap().trim() {
        "off" | "Off" => assert_eq!(by_default.unwrap(), PinState::Off),
        "best-effort" | "required" => assert_eq!(by_default.unwrap(), PinState::Pinned),
        _ => {
            let error = by_default.unwrap_err();
            assert!(matches!(error, BuildError::Variable { name: PINNING, .. }), "{error}");
            assert!(error.to_string().contains(PINNING), "{error}");
        }
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn one_cpu_is_left() {
    if in_child("one_cpu_is_left", None, &[]) {
        let cpu = *mask().last().unwrap();
        let mut only = CpuSet::new();
        only.set(cpu).unwrap();
        sched_setaffinity(Pid::from_raw(0), &only).unwrap();

        assert_eq!(Pool::new().unwrap().num_threads(), 1);
        let pool = Pool::builder().num_threads(3).pinning(Pinning::Required).build().unwrap();
        assert_eq!(masks(&pool), HashSet::from([vec![cpu]]));
        counts(&pool);
    }
}

/// The number of CPUs that are online. These CPUs have a line in `/proc/stat`.
fn online() -> usize {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    };
    text.lines().filter(is_cpu).count()
}

/// A process bound to one CPU, as launchers of many processes do.
#[test]
#[cfg_attr(portable, ignore = "masks are not read")]
fn who_is_bound_to_one_cpu_is_told() {
    const NAME: &str = "who_is_bound_to_one_cpu_is_told";
    let count = online();
    let line =
        format!("bound to 1 of {count} CPUs, one worker at a time: a launcher may have done that (mpirun");
    if is_child() {
        let cpus = mask();
        let before = Pool::builder().num_threads(1).build().unwrap().placement().to_string();
        let bound = if cpus.len() < count {
            format!("\nbound to {} of {count} CPUs", cpus.len())
        } else {
            String::new()
        };
        assert!(before.starts_with(&format!("1 worker, by num_threads; LogicalCpus{bound}")), "{before}");
        assert_eq!(before.contains("bound"), !bound.is_empty(), "{before}");

        let mut only = CpuSet::new();
        only.set(cpus[0]).unwrap();
        sched_setaffinity(Pid::from_raw(0), &only).unwrap();
        log::debug!("from here on this thread has one CPU");
        for builder in
            [Pool::builder(), Pool::builder().num_threads(3), Pool::builder().pinning(Pinning::Off)]
        {
            let placement = builder.build().unwrap().placement().to_string();
            assert_eq!(placement.matches(&line).count(), 1, "{placement}");
        }
        return;
    }
    if count < 2 || std::fs::metadata("/sys/devices/system/cpu/online").is_err() {
        eprintln!("SKIPPED: one CPU, or it is not told how many there are");
        return;
    }
    let stderr = child::passed(&child::run(&[], NAME, &[(child::LEVEL, "debug")]));
    let (_, stderr) = stderr.split_once("from here on").unwrap();
    let told = stderr.lines().filter(|told| told.contains(&line));
    let debug = told.filter(|told| told.starts_with("[DEBUG rangesteal::pool::builder] "));
    assert_eq!(debug.count(), 3, "one a pool: {stderr}");
    assert!(!stderr.contains("WARN"), "{stderr}");
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn workers_are_pinned_and_the_caller_is_not() {
    let before = mask();
    let pool = Pool::builder().num_threads(before.len().max(2)).build().unwrap();
    assert_eq!(mask(), before);
    let mut seen = masks(&pool);
    assert!(seen.remove(&before), "the caller's mask has changed");
    assert!(seen.iter().all(|mask| mask.len() == 1), "{seen:?}");
    assert_eq!(mask(), before);
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_worker_makes_room_for_the_caller() {
    let cpus = mask();
    if cpus.len() < 2 {
        eprintln!("SKIPPED: one CPU has no room");
        return;
    }
    let pool = Pool::builder().num_threads(2).build().unwrap();
    for cpu in [cpus[0], cpus[1], cpus[0], cpus[1]] {
        let mut only = CpuSet::new();
        only.set(cpu).unwrap();
        sched_setaffinity(Pid::from_raw(0), &only).unwrap(); // as if the system had moved this thread
        // While another program uses the helper's CPU, the helper is not pinned.
        let mut tries = (0..20).map(|_| {
            std::thread::sleep(Duration::from_millis(20));
            masks(&pool)
        });
        let is_apart = |seen: &HashSet<Vec<usize>>| {
            seen.len() == 2 && seen.contains(&vec![cpu]) && seen.iter().all(|mask| mask.len() == 1)
        };
        assert!(tries.any(|seen| is_apart(&seen)), "the helper does not leave CPU {cpu} to the caller");
    }
}

#[test]
fn pinning_off() {
    let before = mask();
    let pool = Pool::builder().num_threads(3).pinning(Pinning::Off).build().unwrap();
    assert_eq!(masks(&pool), HashSet::from([before]));
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_scope_pins_the_caller_and_lets_it_go() {
    let before = mask();
    let inside = Pool::builder().num_threads(2).scope(|pool| {
        counts(pool);
        mask()
    });
    assert_eq!(inside.unwrap().len(), 1);
    assert_eq!(mask(), before);
    let panicked =
        catch_unwind(AssertUnwindSafe(|| Pool::builder().num_threads(2).scope(|_| panic!("inside"))));
    assert!(panicked.is_err());
    assert_eq!(mask(), before);
}

#[test]
fn a_thread_that_cannot_be_started() {
    if in_child("a_thread_that_cannot_be_started", None, &[]) {
        const STACK: libc::rlim_t = 256 << 20;
        let before = tasks();
        let pages: libc::rlim_t =
            std::fs::read_to_string("/proc/self/statm").unwrap().split(' ').next().unwrap().parse().unwrap();
        let limit = pages * 4096 + 3 * STACK;
        setrlimit(Resource::RLIMIT_AS, limit, libc::RLIM_INFINITY).unwrap();
        let error =
            Pool::builder().num_threads(8).stack_size(usize::try_from(STACK).unwrap()).build().unwrap_err();
        let BuildError::Spawn { worker, .. } = error else { panic!("{error}") };
        assert!((2..8).contains(&worker), "{worker}: half-way is what this test is about");
        assert!(error.to_string().contains("stack_size"), "{error}");
        assert_eq!(tasks(), before, "threads are left");
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn required_pinning_that_is_refused() {
    if in_child("required_pinning_that_is_refused", None, &[]) {
        let before = tasks();
        refuse(libc::SYS_sched_setaffinity);
        let error = Pool::builder().num_threads(3).pinning(Pinning::Required).build().unwrap_err();
        let BuildError::Pin { worker: 1, cpu, ref allowed, .. } = error else { panic!("{error}") };
        assert_eq!(*allowed, mask());
        assert!(allowed.contains(&cpu));
        let message = error.to_string();
        assert!(message.contains(&format!("CPU {cpu}")) && message.contains("allowed CPUs: "), "{message}");
        assert_eq!(tasks(), before, "threads are left");

        let error = Pool::builder().num_threads(1).pinning(Pinning::Required).scope(|_| ()).unwrap_err();
        assert!(matches!(error, BuildError::Pin { worker: 0, .. }), "{error}");
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn best_effort_pinning_that_is_refused() {
    let warnings = ["worker 1 is not pinned to CPU"; 2];
    if in_child("best_effort_pinning_that_is_refused", None, &warnings) {
        refuse(libc::SYS_sched_setaffinity);
        let before = mask();
        let pool = Pool::builder().num_threads(3).build().unwrap();
        assert_eq!(masks(&pool), HashSet::from([before]));
        counts(&pool);
        let holds: Vec<PinState> = pool.placement().seats.iter().map(|seat| seat.pin).collect();
        assert_eq!(holds, [PinState::Free, PinState::Refused, PinState::Refused]);
        Pool::builder().num_threads(2).scope(counts).unwrap(); // the system also refuses the caller: one warning for both threads
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn pinning_that_is_refused_later() {
    if mask().len() < 2 {
        eprintln!("SKIPPED: one CPU has no room");
    } else if in_child("pinning_that_is_refused_later", None, &["the calling thread stays pinned"]) {
        let cpus = mask();
        let pool = Pool::builder().placement(Placement::Cpus(vec![cpus[0], cpus[1]])).build().unwrap();
        let scope = || {
            Pool::builder().num_threads(2).scope(|inside| {
                let mut only = CpuSet::new();
                only.set(cpus[1]).unwrap();
                sched_setaffinity(Pid::from_raw(0), &only).unwrap();
                refuse(libc::SYS_sched_setaffinity);
                counts(inside);
                counts(&pool);
                // The calling thread works on the helper's CPU, so the helper may lose its pin.
                if pool.placement().seats[1].pin != PinState::Evicted {
                    assert_eq!(seats(&pool), [cpus[0], cpus[1]], "the helper has nowhere to go");
                }
            })
        };
        std::thread::scope(|threads| threads.spawn(scope).join().unwrap()).unwrap();
        counts(&pool);
    }
}

#[test]
#[cfg_attr(portable, ignore = "there is no membarrier")]
fn membarrier_that_is_refused_from_the_start() {
    if in_child("membarrier_that_is_refused_from_the_start", None, &[]) {
        refuse(libc::SYS_membarrier);
        let pool = Pool::builder().num_threads(3).build().unwrap();
        counts(&pool);
        assert!(pool.thefts() > 0);
    }
}

/// Asks the kernel for a command of `membarrier(2)`.
fn membarrier(command: libc::c_int) -> libc::c_long {
    // SAFETY: this call reads two integers.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0) }
}

/// Calls loops until a worker has registered the process for `membarrier(2)`, if the kernel has it.
fn counts_until_registered(pool: &Pool) {
    let is_offered = membarrier(libc::MEMBARRIER_CMD_QUERY)
        & libc::c_long::from(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        != 0;
    let begin = Instant::now();
    while is_offered && membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED) != 0 {
        assert!(begin.elapsed() < Duration::from_secs(20));
        counts(pool);
    }
}

/// In a process with several threads, the kernel takes some 10 ms to register it. The building of a
/// pool does not wait for that.
#[test]
#[cfg_attr(portable, ignore = "there is no membarrier")]
fn a_worker_registers_for_membarrier() {
    if in_child("a_worker_registers_for_membarrier", None, &[]) {
        let pool = Pool::builder().num_threads(2).build().unwrap();
        assert_ne!(membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED), 0, "the pool is new");
        counts_until_registered(&pool);
        counts(&pool);
    }
}

#[test]
#[cfg_attr(portable, ignore = "there is no membarrier")]
fn membarrier_that_is_refused_later() {
    if in_child("membarrier_that_is_refused_later", None, &[]) {
        // Threads inherit the filter of the thread that starts them. So a worker without the filter
        // registers, before the workers of the other pool start.
        let unfiltered = Pool::builder().num_threads(2).build().unwrap();
        counts_until_registered(&unfiltered);
        refuse(libc::SYS_membarrier);
        assert_eq!(membarrier(libc::MEMBARRIER_CMD_QUERY), -1);
        let pool = Pool::builder().num_threads(3).build().unwrap();
        counts(&pool);
        counts(&unfiltered); // the filter holds for the caller, not for the worker of this pool
        // The items are cheap, so that ranges are large when a theft is tried, refused and undone.
        let items: Vec<u32> = (0..8000).collect();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(2) {
            assert_eq!(pool.map_collect(&items, |item| std::hint::black_box(*item)), items);
        }
    }
}

/// The masks of this process's threads by name, from `/proc`. In a process with several tests,
/// threads of other tests may have the same names.
fn masks_in_proc() -> HashMap<String, String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
    let read = |path: PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let mask = |task: PathBuf| {
        let status = read(task.join("status"));
        let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
        Some((read(task.join("comm")).trim().to_owned(), list.trim().to_owned()))
    };
    tasks.filter_map(mask).collect()
}

/// Drops the pool, and waits until its threads are gone, because the threads of the next pool have
/// the same names.
fn end(pool: Pool) {
    drop(pool);
    assert!(are_gone("rangesteal-"), "threads are left: {:?}", masks_in_proc().keys());
}

/// Checks the mask of every helper against the placement of the pool, and returns the CPUs of that
/// placement.
fn seats(pool: &Pool) -> Vec<usize> {
    let (placement, begin) = (pool.placement(), Instant::now());
    let is_named = |worker| masks_in_proc().contains_key(&format!("rangesteal-{worker}"));
    while !(1..pool.num_threads()).all(is_named) && begin.elapsed() < Duration::from_secs(60) {
        std::thread::yield_now(); // `build` may return before a thread has its name
    }
    let masks = masks_in_proc();
    assert_eq!(placement.seats.len(), pool.num_threads());
    for seat in &placement.seats[1..] {
        assert_eq!(seat.pin, PinState::Pinned, "{placement}");
        assert_eq!(
            masks[&format!("rangesteal-{}", seat.worker)],
            seat.cpu.unwrap().number.to_string(),
            "{placement}"
        );
    }
    placement.seats.iter().map(|seat| seat.cpu.unwrap().number).collect()
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn workers_sit_where_the_pool_says() {
    const NAME: &str = "workers_sit_where_the_pool_says";
    let before = mask();
    if !is_child() {
        if can(&["taskset", "--version"]) {
            let all = before.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
            let singles = before.iter().map(ToString::to_string);
            for list in singles.chain([all]) {
                warns(&child(&["taskset", "-c", &list], NAME, None), &[]);
            }
        }
        return;
    }
    let by_default = Pool::builder().pinning(Pinning::Required).build().unwrap();
    let placement = by_default.placement();
    assert!(
        placement.counted_by == CountSource::Cpus || before.len() > by_default.num_threads(),
        "{placement}"
    );
    let mut taken = seats(&by_default);
    end(by_default);
    taken.sort_unstable();
    taken.dedup();
    if placement.counted_by == CountSource::Cpus {
        assert_eq!(taken, before, "each CPU of the mask is taken once");
    }

    for placement in [Placement::LogicalCpus, Placement::Compact, Placement::Spread, Placement::PhysicalCores]
    {
        let required = || Pool::builder().pinning(Pinning::Required).placement(placement.clone());
        let pool = required().num_threads(2 * before.len() + 1).build().unwrap();
        let taken = seats(&pool);
        assert!(taken.iter().all(|cpu| before.contains(cpu)), "{taken:?}");
        let round = taken[1..].iter().position(|cpu| *cpu == taken[0]).unwrap() + 1;
        assert!(taken.chunks(round).all(|chunk| chunk == &taken[..chunk.len()]), "no round robin: {taken:?}");
        end(pool);

        required()
            .scope(|pool| {
                let caller = &pool.placement().seats[0];
                assert_eq!(
                    (caller.pin, caller.cpu.map(|cpu| vec![cpu.number])),
                    (PinState::Pinned, Some(mask()))
                );
                counts(pool);
                assert_eq!(&pool.placement().seats[0], caller, "the caller has not moved");
            })
            .unwrap();
        assert!(are_gone("rangesteal-"), "threads are left: {:?}", masks_in_proc().keys());
        assert_eq!(mask(), before);
    }
    let last = *before.last().unwrap();
    let pool = Pool::builder().placement(Placement::Cpus(vec![last, last, before[0]])).build().unwrap();
    assert_eq!(seats(&pool), [last, last, before[0]]);
    counts(&pool);
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_seat_that_is_not_where_it_was() {
    if mask().len() < 2 {
        eprintln!("SKIPPED: one CPU has no room");
    } else if in_child("a_seat_that_is_not_where_it_was", None, &[]) {
        let cpus = mask();
        let pool = Pool::builder().placement(Placement::Cpus(vec![cpus[0], cpus[1]])).build().unwrap();
        let mut only = CpuSet::new();
        only.set(cpus[1]).unwrap();
        sched_setaffinity(Pid::from_raw(0), &only).unwrap();
        counts(&pool);
        assert_eq!(seats(&pool), [cpus[1], cpus[0]], "the caller and the helper have changed seats");
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_list_that_is_not_allowed() {
    let warning = "Placement::Cpus names CPUs 1048575, which are not allowed";
    if in_child("a_list_that_is_not_allowed", None, &[warning, warning]) {
        let cpus = mask();
        let list = |list: Vec<usize>| Pool::builder().placement(Placement::Cpus(list));
        let pool = list(vec![1_048_575, cpus[0]]).num_threads(2).build().unwrap();
        assert_eq!(seats(&pool), [cpus[0], cpus[0]]);
        assert_eq!(list(vec![1_048_575]).build().unwrap().placement().order, Placement::LogicalCpus);
        let error = list(vec![cpus[0], 1_048_575]).pinning(Pinning::Required).build().unwrap_err();
        let BuildError::Cpu { cpu: 1_048_575, ref allowed, .. } = error else { panic!("{error}") };
        assert_eq!(*allowed, cpus);
        assert!(matches!(list(Vec::new()).build(), Err(BuildError::NoCpus)));
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_kernel_for_more_cpus_than_a_mask_of_1024_holds() {
    if in_child("a_kernel_for_more_cpus_than_a_mask_of_1024_holds", None, &[]) {
        let cpus = mask();
        pretend_2048_cpus();
        assert!(sched_getaffinity(Pid::from_raw(0)).is_err(), "the filter is active");
        let pool = Pool::builder().num_threads(3).pinning(Pinning::Required).build().unwrap();
        assert!(seats(&pool).iter().all(|cpu| cpus.contains(cpu)));
        counts(&pool);
        Pool::builder().num_threads(2).pinning(Pinning::Required).scope(counts).unwrap();
        assert_eq!(masks_in_proc().len(), 4, "two of this test, and the helpers");
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn no_mask_is_told() {
    if in_child("no_mask_is_told", None, &["builder] workers are not pinned: "]) {
        refuse_own_mask();
        let pool = Pool::builder().num_threads(3).build().unwrap();
        assert_eq!(pool.placement().seats[1].pin, PinState::Refused);
        counts(&pool);
        drop(pool);
        let error = Pool::builder().pinning(Pinning::Required).build().unwrap_err();
        assert!(matches!(error, BuildError::Affinity { .. }), "{error}");
        assert!(Pool::builder().pinning(Pinning::Off).build().unwrap().num_threads() >= 1);
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn no_sysfs() {
    const NAME: &str = "no_sysfs";
    const HIDE: &str = "mount -t tmpfs none /sys/devices/system && exec \"$@\"";
    if is_child() {
        let cpus = mask();
        let pool = Pool::new().unwrap();
        let mut taken = seats(&pool);
        taken.sort_unstable(); // the CPU of this thread is left free
        assert_eq!(taken, cpus[..pool.num_threads()], "by number");
        counts(&pool);
    } else if mask().len() > 1 && can(&["unshare", "-m", "sh", "-c", HIDE, "sh", "true"]) {
        let stderr = child(&["unshare", "-m", "sh", "-c", HIDE, "sh"], NAME, None);
        warns(&stderr, &["builder] sysfs tells nothing of cores"]);
    }
}

/// The directory of a control group of version 1, which exists during a test and has these
/// settings.
struct Group(PathBuf);

impl Group {
    /// Makes a group for the test `name` alone, because tests of a process run in parallel.
    fn new(test: &str, controller: &str, settings: &[(&str, &str)]) -> Option<Self> {
        let path = Path::new("/sys/fs/cgroup").join(controller);
        let path = path.join(format!("rangesteal-{}-{test}", std::process::id()));
        let made = std::fs::create_dir(&path).is_ok().then(|| Self(path.clone()));
        let set = |(file, value): &(&str, &str)| std::fs::write(path.join(file), value).is_ok();
        let group = made.filter(|_| settings.iter().all(set));
        if group.is_none() {
            eprintln!("SKIPPED: cannot make the control group {}", path.display());
        }
        group
    }

    /// Runs the test `name` inside the group.
    fn child(&self, name: &str) -> String {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        child(&["sh", "-c", &enter, "sh"], name, None)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _cannot = std::fs::remove_dir(&self.0);
    }
}

/// Runs the test `name` in a group with this quota, in microseconds per 10,000. Returns true in the
/// child.
fn in_quota(name: &str, quota: &str) -> bool {
    if is_child() {
        return true;
    }
    if let Some(group) =
        Group::new(name, "cpu", &[("cpu.cfs_period_us", "10000"), ("cpu.cfs_quota_us", quota)])
    {
        warns(&group.child(name), &[]);
    }
    false
}

#[test]
#[cfg_attr(portable, ignore = "std counts")]
fn a_quota_below_the_cpus() {
    if in_quota("a_quota_below_the_cpus", "8000") {
        let pool = Pool::new().unwrap();
        let counted_by = if mask().len() > 1 { CountSource::Quota(0.8) } else { CountSource::Cpus };
        assert_eq!((pool.placement().counted_by, pool.num_threads()), (counted_by, 1));
        let pool = Pool::builder().num_threads(3).build().unwrap();
        assert_eq!(pool.num_threads(), 3);
        counts(&pool);
        let hold = if mask().len() > 1 { PinState::Quota } else { PinState::Pinned };
        assert_eq!(pool.placement().seats[1].pin, hold);
        end(pool);
        seats(&Pool::builder().num_threads(3).pinning(Pinning::Required).build().unwrap());
    }
}

#[test]
#[cfg_attr(portable, ignore = "std counts, and rounds down")]
fn a_quota_is_rounded_up() {
    if mask().len() != 2 {
        eprintln!("SKIPPED: not 2 CPUs");
    } else if in_quota("a_quota_is_rounded_up", "15000") {
        let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        assert!(groups.contains("rangesteal-"), "{groups}");
        let pool = Pool::new().unwrap();
        assert_eq!(
            (pool.placement().counted_by, pool.num_threads()),
            (CountSource::Cpus, 2),
            "1.5 CPUs keep two busy"
        );
        seats(&pool);
        counts(&pool);
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_scope_keeps_its_seat_when_others_call() {
    if mask().len() < 2 {
        eprintln!("SKIPPED: one CPU has no room");
    } else if in_child("a_scope_keeps_its_seat_when_others_call", None, &[]) {
        let cpus = mask();
        let pin = |cpu| {
            let mut only = CpuSet::new();
            only.set(cpu).unwrap();
            sched_setaffinity(Pid::from_raw(0), &only).unwrap();
        };
        let pool = Pool::builder().placement(Placement::Cpus(vec![cpus[0], cpus[1]]));
        pool.scope(|pool| {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    pin(cpus[1]);
                    counts(pool);
                });
            });
            assert_eq!(seats(pool), [cpus[0], cpus[1]]);
            assert_eq!(mask(), [cpus[0]]);
        })
        .unwrap();
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_cpu_that_is_forbidden_under_way() {
    const NAME: &str = "a_cpu_that_is_forbidden_under_way";
    let cpus = mask();
    if is_child() {
        let pool = Pool::builder().num_threads(2).pinning(Pinning::Required).build().unwrap();
        counts(&pool);
        let group = std::fs::read_to_string("/proc/self/cgroup").unwrap();
        let path = group.lines().find_map(|line| line.split_once(":cpuset:/")).unwrap().1;
        std::fs::write(format!("/sys/fs/cgroup/cpuset/{path}/cpuset.cpus"), cpus[0].to_string()).unwrap();
        assert_eq!(mask(), [cpus[0]]);
        counts(&pool); // the kernel has moved the helper
        assert!(masks_in_proc().values().all(|mask| *mask == cpus[0].to_string()), "{:?}", masks_in_proc());
        let pool = Pool::builder().num_threads(2).pinning(Pinning::Required).build().unwrap();
        assert_eq!(seats(&pool), [cpus[0], cpus[0]]);
        counts(&pool);
        return;
    }
    let all = cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    if cpus.len() > 1
        && let Some(group) = Group::new(NAME, "cpuset", &[("cpuset.mems", "0"), ("cpuset.cpus", &all)])
    {
        warns(&group.child(NAME), &[]);
    }
}
