//! Building a pool, and everything the system can refuse. What changes a whole process runs in a child: this test binary
//! again, with one test.

#![cfg(target_os = "linux")]
#![allow(unsafe_code)] // seccomp filters and raw limits

mod busy;

use std::{
    collections::HashSet,
    env,
    panic::{AssertUnwindSafe, catch_unwind},
    process::Command,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use busy::work;
use nix::{
    libc,
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    sys::resource::{Resource, setrlimit},
    unistd::Pid,
};
use rangesteal::{BuildError, Pinning, Pool};

const VARIABLE: &str = "RANGESTEAL_NUM_THREADS";

/// In the child returns true; in the parent runs the test `name` in a child, checks that it passes and returns false. The
/// child's standard error must contain every line of `logged`.
fn in_child(name: &str, variable: Option<&str>, logged: &[&str]) -> bool {
    if env::var_os("RANGESTEAL_TEST_CHILD").is_some() {
        env_logger::Builder::new().filter_level(log::LevelFilter::Warn).init();
        return true;
    }
    let mut command = Command::new(env::current_exe().unwrap());
    command.args([name, "--exact", "--nocapture"]).env("RANGESTEAL_TEST_CHILD", "1");
    match variable {
        Some(value) => command.env(VARIABLE, value),
        None => command.env_remove(VARIABLE),
    };
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && stdout.contains("1 passed"), "{stdout}{stderr}");
    for line in logged {
        assert!(stderr.contains(line), "no {line:?} in {stderr}");
    }
    false
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

/// From here on this thread, and those it starts, get `EPERM` from the system call `number`.
fn refuse(number: libc::c_long) {
    let statement =
        |code: u32, jt, jf, k| libc::sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k };
    let eperm = libc::SECCOMP_RET_ERRNO | u32::try_from(libc::EPERM).unwrap();
    let mut filter = [
        statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0), // the system call's number
        statement(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, u32::try_from(number).unwrap()),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, eperm),
        statement(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: 4, filter: filter.as_mut_ptr() };
    // SAFETY: plain integers.
    assert_eq!(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }, 0);
    // SAFETY: the kernel copies the four statements before it returns.
    let set = unsafe { libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) };
    assert_eq!(set, 0, "seccomp filters are not available");
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
#[cfg_attr(portable, ignore = "nobody is pinned")]
fn more_threads_than_cpus_share_them() {
    let pool = Pool::builder().num_threads(40).pinning(Pinning::Required).build().unwrap();
    assert_eq!(pool.num_threads(), 40);
    counts(&pool);
}

#[test]
fn thread_names() {
    let pool = Pool::builder().num_threads(2).thread_name(|w| format!("named-{w}")).build().unwrap();
    let names = Mutex::new(HashSet::new());
    for _ in 0..20 {
        pool.for_each(&[(); 100], |()| {
            names.lock().unwrap().insert(std::thread::current().name().map(String::from));
            work(20_000);
        });
    }
    assert!(names.into_inner().unwrap().contains(&Some("named-1".into())));

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
    pool.for_each(&[(); 200], |()| {
        if std::thread::current().id() != caller {
            assert_eq!(deep(1000), 1000); // 8 MiB; a thread has 2 MiB by default
            tried.store(true, Relaxed);
        }
        std::thread::sleep(Duration::from_micros(100));
    });
    assert!(tried.into_inner());
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
#[cfg_attr(portable, ignore = "nobody is pinned")]
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

#[test]
#[cfg_attr(portable, ignore = "nobody is pinned")]
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
#[cfg_attr(portable, ignore = "nobody is pinned")]
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
        let seen = masks(&pool);
        assert_eq!(seen.len(), 2, "on CPU {cpu}, the threads of a loop have been on {seen:?}");
        assert!(seen.contains(&vec![cpu]), "{seen:?}");
    }
}

#[test]
fn pinning_off() {
    let before = mask();
    let pool = Pool::builder().num_threads(3).pinning(Pinning::Off).build().unwrap();
    assert_eq!(masks(&pool), HashSet::from([before]));
}

#[test]
#[cfg_attr(portable, ignore = "nobody is pinned")]
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
#[cfg_attr(portable, ignore = "nobody is pinned")]
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
#[cfg_attr(portable, ignore = "nobody is pinned")]
fn best_effort_pinning_that_is_refused() {
    let warning = "WARN  rangesteal::pool::builder] cannot pin worker 1 to CPU";
    if in_child("best_effort_pinning_that_is_refused", None, &[warning]) {
        refuse(libc::SYS_sched_setaffinity);
        let before = mask();
        let pool = Pool::builder().num_threads(3).build().unwrap();
        assert_eq!(masks(&pool), HashSet::from([before]));
        counts(&pool);
        Pool::builder().num_threads(2).scope(counts).unwrap();
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

#[test]
#[cfg_attr(portable, ignore = "there is no membarrier")]
fn membarrier_that_is_refused_later() {
    if in_child("membarrier_that_is_refused_later", None, &[]) {
        // Threads inherit the filter of the thread that starts them: register first, then refuse, then start the workers.
        let unfiltered = Pool::builder().num_threads(2).build().unwrap();
        refuse(libc::SYS_membarrier);
        // SAFETY: a query; reads two integers.
        assert_eq!(unsafe { libc::syscall(libc::SYS_membarrier, libc::MEMBARRIER_CMD_QUERY, 0) }, -1);
        let pool = Pool::builder().num_threads(3).build().unwrap();
        counts(&pool);
        counts(&unfiltered); // its caller is refused, its worker is not
        // Cheap items, so that ranges are large when a theft is tried, refused and undone.
        let items: Vec<u32> = (0..8000).collect();
        let begin = Instant::now();
        while begin.elapsed() < Duration::from_secs(2) {
            assert_eq!(pool.map_collect(&items, |item| std::hint::black_box(*item)), items);
        }
    }
}
