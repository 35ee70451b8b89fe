//! Tests of the global pool. Every test runs in a child of its own, since a process has only one
//! global pool.

#![cfg(target_os = "linux")]

mod busy;
mod child;
mod forked;
mod refuse;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Barrier, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

use busy::work;
use child::{is_child, passed, run};
use forked::forked;
use nix::{
    libc,
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::{Pid, getpid, gettid},
};
use rangesteal::{Alone, BuildError, PinState, Pinning, Placement, Pool, RunReport, WorkerThread};
use refuse::refuse;

/// Returns true in the child. In the parent, runs the test `name` in a child, checks that the child
/// passes with this number of warnings, and returns false.
fn in_child(name: &str, variables: &[(&str, &str)], warnings: usize) -> bool {
    let is_child = is_child();
    if !is_child {
        let stderr = passed(&run(&[], name, variables));
        assert_eq!(stderr.matches("[WARN ").count(), warnings, "{stderr}");
    }
    is_child
}

fn mask() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).collect()
}

/// Runs a loop that is shared, and a loop that need not be shared.
fn counts(pool: &Pool) {
    for nanos in [10_000, 0] {
        let item = |i: usize| {
            work(nanos);
            i
        };
        assert_eq!(pool.on(0..200).map(item).reduce(|a, b| a + b), Some(199 * 100));
    }
}

/// The results of `tell` on all threads that run loops. Loops are repeated until at least `enough`
/// threads have taken part.
fn of_threads<T: Ord + Send>(enough: usize, tell: impl Fn() -> T + Sync) -> BTreeSet<T> {
    let told = Mutex::new((BTreeSet::new(), BTreeSet::new()));
    let begin = Instant::now();
    while told.lock().unwrap().0.len() < enough {
        assert!(begin.elapsed() < Duration::from_secs(60), "fewer than {enough} threads take part");
        Pool::global().on(0..200).for_each(|_| {
            let mut told = told.lock().unwrap();
            told.0.insert(gettid().as_raw());
            told.1.insert(tell());
            drop(told);
            work(20_000);
        });
    }
    told.into_inner().unwrap().1
}

fn nice() -> libc::c_int {
    #[expect(unsafe_code, reason = "not in nix")]
    // SAFETY: the call takes numbers only.
    let nice = unsafe { libc::getpriority(libc::PRIO_PROCESS as _, 0) };
    nice
}

/// Whether the system has this setting for this thread.
fn set_nice(nice: libc::c_int) -> bool {
    #[expect(unsafe_code, reason = "not in nix")]
    // SAFETY: the call takes numbers only.
    let refused = unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, nice) };
    refused == 0
}

/// Whether the process has the lowest priority, so that no thread can have a lower one.
fn is_lowest() -> bool {
    let is_lowest = nice() == 19;
    if is_lowest {
        eprintln!("SKIPPED: the process has the lowest priority");
    }
    is_lowest
}

#[test]
fn many_threads_come_first_and_get_the_same() {
    if !in_child("many_threads_come_first_and_get_the_same", &[("RANGESTEAL_NUM_THREADS", "3")], 0) {
        return;
    }
    let begin = Barrier::new(8);
    let address = || {
        begin.wait();
        let pool = Pool::global();
        counts(pool);
        std::ptr::from_ref(pool).addr()
    };
    let all: BTreeSet<usize> = thread::scope(|scope| {
        let threads = [(); 8].map(|()| scope.spawn(address));
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(all.len(), 1);
    assert_eq!(Pool::global().num_threads(), 3, "for all of them, as soon as it is built");
    assert!(matches!(Pool::builder().build_global(), Err(BuildError::GlobalExists)));
}

#[test]
fn it_is_built_once_and_before_it_is_used() {
    if !in_child("it_is_built_once_and_before_it_is_used", &[], 0) {
        return;
    }
    assert!(matches!(Pool::builder().num_threads(0).build_global(), Err(BuildError::ZeroThreads)));
    let nameless = || Pool::builder().num_threads(3).thread_name(|worker| panic!("{worker}")).build_global();
    assert!(catch_unwind(AssertUnwindSafe(nameless)).is_err());
    let pool = Pool::builder().num_threads(3).thread_name(|worker| format!("all-{worker}")).build_global();
    assert!(std::ptr::eq(pool.unwrap(), Pool::global()));
    assert_eq!(Pool::global().num_threads(), 3);
    counts(Pool::global());
    assert!(matches!(Pool::builder().num_threads(2).build_global(), Err(BuildError::GlobalExists)));
    assert_eq!(Pool::global().num_threads(), 3);
}

/// Whether the global pool has a CPU of its own for each worker, and the priority of the process.
/// (A helper moves when the caller comes to its CPU.)
fn is_of_the_process(all: &[usize], of_the_process: libc::c_int) {
    let pool = Pool::global();
    assert_eq!(pool.num_threads(), all.len());
    let told = of_threads(all.len(), || (gettid().as_raw(), mask(), nice()));
    let helpers: Vec<_> = told.into_iter().filter(|(thread, ..)| *thread != gettid().as_raw()).collect();
    let threads: BTreeSet<_> = helpers.iter().map(|(thread, ..)| thread).collect();
    assert_eq!(threads.len(), all.len() - 1, "{helpers:?}");
    let is_right = |(_, mask, nice): &(_, Vec<_>, _)| mask.len() == 1 && *nice == of_the_process;
    assert!(helpers.iter().all(is_right), "{helpers:?}");
    let cpus: Vec<_> = pool.placement().seats.iter().map(|seat| seat.cpu.map(|cpu| cpu.number)).collect();
    assert_eq!(cpus.iter().flatten().copied().collect::<BTreeSet<_>>(), all.iter().copied().collect());
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn it_gets_the_cpus_of_the_process_whoever_comes_first() {
    const NAME: &str = "it_gets_the_cpus_of_the_process_whoever_comes_first";
    const WHO: &str = "RANGESTEAL_TEST_WHO";
    if !is_child() {
        for who in ["scope", "helper", "pinned"] {
            in_child(NAME, &[(WHO, who)], 0);
        }
        return;
    }
    // The main thread of a child is the one that has forked it.
    forked(|| {
        assert_eq!(gettid(), getpid());
        let (all, own) = (mask(), nice());
        match &*std::env::var(WHO).unwrap() {
            "scope" => {
                Pool::builder().num_threads(all.len()).scope(|_| is_of_the_process(&all, own)).unwrap();
            }
            "helper" => {
                let other = Pool::builder().num_threads(2).build().unwrap();
                let first = Mutex::new(None);
                while first.lock().unwrap().is_none() {
                    other.on(0..200).for_each(|_| {
                        if gettid() != getpid() {
                            *first.lock().unwrap() = Some(Pool::global().num_threads());
                        }
                        work(10_000);
                    });
                }
            }
            _ => thread::scope(|scope| {
                let pinned = || {
                    let mut one = CpuSet::new();
                    one.set(all[0]).unwrap();
                    sched_setaffinity(Pid::from_raw(0), &one).unwrap();
                    counts(Pool::global());
                };
                scope.spawn(pinned).join().unwrap();
            }),
        }
        assert_eq!(mask(), all, "a scope is over, and leaves nothing behind");
        is_of_the_process(&all, own);
        // A later scope pins its thread, too. So the pool has not kept an old mask.
        Pool::builder().scope(|_| assert_eq!(mask().len(), 1)).unwrap();
    });
}

/// If threads are not pinned, a new thread has the mask of the thread that starts it.
#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn its_threads_get_the_mask_of_the_process_where_they_are_not_pinned() {
    const NAME: &str = "its_threads_get_the_mask_of_the_process_where_they_are_not_pinned";
    if !in_child(NAME, &[("RANGESTEAL_PINNING", "off"), ("RANGESTEAL_NUM_THREADS", "3")], 0) {
        return;
    }
    let all = mask();
    let pool = Pool::builder().num_threads(2).pinning(Pinning::BestEffort);
    pool.scope(|_| assert_eq!(Pool::global().num_threads(), 3)).unwrap();
    assert!(Pool::global().placement().seats.iter().all(|seat| seat.pin == PinState::Off));
    assert_eq!(of_threads(2, mask), BTreeSet::from([all]));
}

#[test]
#[cfg_attr(portable, ignore = "a priority is not known")]
fn a_nice_thread_comes_first() {
    const NAME: &str = "a_nice_thread_comes_first";
    const REFUSED: &str = "RANGESTEAL_TEST_REFUSED";
    if is_lowest() {
        return;
    }
    if !is_child() {
        let in_child = |refused, warnings| {
            in_child(NAME, &[(REFUSED, refused), ("RANGESTEAL_NUM_THREADS", "3")], warnings)
        };
        in_child("yes", 1);
        let own = nice();
        let may_raise = move || {
            set_nice(19);
            set_nice(own)
        };
        if thread::spawn(may_raise).join().unwrap() {
            in_child("", 0);
        }
        return;
    }
    let is_refused = !std::env::var(REFUSED).unwrap().is_empty();
    let own = nice();
    let first = move || {
        assert!(set_nice(19));
        if is_refused {
            refuse(libc::SYS_setpriority);
        }
        counts(Pool::global());
    };
    thread::spawn(first).join().unwrap();
    let expected = if is_refused { [own, 19].into() } else { [own].into() };
    assert_eq!(of_threads(2, nice), expected, "the caller, and the helpers");
    thread::sleep(Duration::from_millis(300)); // another thread logs the warning
    assert_eq!(Pool::global().placement().doubts.len(), usize::from(is_refused));
}

#[test]
#[cfg_attr(portable, ignore = "a priority is not known")]
fn threads_that_the_program_starts_keep_their_priority() {
    if is_lowest() || !in_child("threads_that_the_program_starts_keep_their_priority", &[], 0) {
        return;
    }
    // The priority is only slightly lower, because a starving thread takes no part in loops.
    let (own, lower) = (nice(), nice() + 1);
    let spawn = |worker: WorkerThread| {
        let life = move || {
            assert!(set_nice(lower));
            worker.run();
        };
        thread::Builder::new().spawn(life).map(drop)
    };
    let pool = Pool::builder().num_threads(2).spawn_handler(spawn).build_global();
    assert!(pool.unwrap().placement().doubts.is_empty());
    assert_eq!(of_threads(2, nice), [own, lower].into(), "the caller, and the helper");
}

#[test]
fn what_cannot_be_built_has_one_worker() {
    const NAME: &str = "what_cannot_be_built_has_one_worker";
    if !is_child() {
        in_child(NAME, &[("RANGESTEAL_NUM_THREADS", "3")], 0); // the thread that logs cannot be started
        return;
    }
    refuse(libc::SYS_clone3);
    refuse(libc::SYS_clone);
    for _ in 0..3 {
        thread::sleep(Duration::from_millis(100)); // another thread logs the warning
        assert_eq!(Pool::global().num_threads(), 1);
        let doubts = Pool::global().placement().doubts;
        assert!(doubts.len() == 1 && doubts[0].contains("one worker: "), "{doubts:?}");
        let mut report = RunReport::default();
        Pool::global().on(0..100).report(&mut report).for_each(|_| work(1_000));
        assert_eq!((report.alone, report.items()), (Some(Alone::OneWorker), 100));
        counts(Pool::global());
    }
}

#[test]
fn a_wrong_variable_is_a_warning_and_has_no_effect() {
    const NAME: &str = "a_wrong_variable_is_a_warning_and_has_no_effect";
    const THREADS: &str = "RANGESTEAL_TEST_THREADS";
    if !is_child() {
        let threads = Pool::new().unwrap().num_threads().to_string();
        for value in ["0", "-1", "many", "", "70000", "99999999999999999999"] {
            in_child(NAME, &[(THREADS, &threads), ("RANGESTEAL_NUM_THREADS", value)], 1);
        }
        in_child(NAME, &[(THREADS, &threads), ("RANGESTEAL_PINNING", "sometimes")], 1);
        in_child(NAME, &[(THREADS, "3"), ("RANGESTEAL_NUM_THREADS", "3"), ("RANGESTEAL_PINNING", "")], 1);
        return;
    }
    let threads: usize = std::env::var(THREADS).unwrap().parse().unwrap();
    assert_eq!(Pool::global().num_threads(), threads);
    let doubts = Pool::global().placement().doubts;
    assert!(doubts.len() == 1 && doubts[0].contains("RANGESTEAL_"), "{doubts:?}");
    counts(Pool::global());
    thread::sleep(Duration::from_millis(300)); // another thread logs the warning
}

/// A logger that uses the pool while it writes each record, one record at a time.
struct Logger {
    writes: Mutex<usize>,
}

static LOGGER: Logger = Logger { writes: Mutex::new(0) };

/// Installs the logger above in the child, and returns true there.
fn in_child_that_logs(name: &str, variables: &[(&str, &str)]) -> bool {
    let is_child = std::env::var_os("RANGESTEAL_TEST_CHILD").is_some();
    if is_child {
        log::set_logger(&LOGGER).unwrap();
        log::set_max_level(log::LevelFilter::Trace);
    }
    in_child(name, variables, 0)
}

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        thread_local!(static LOGS: Cell<bool> = const { Cell::new(false) });
        if LOGS.replace(true) {
            return; // a loop logs, too
        }
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        let text = record.args().to_string();
        let letters = Pool::global().map_reduce(text.as_bytes(), |_| 1, |a, b| a + b);
        assert_eq!(letters.unwrap_or(0), text.len());
        *writes += 1;
        LOGS.set(false);
    }

    fn flush(&self) {}
}

/// One thread builds the pool, logs, and waits for a lock. Another thread holds the lock and uses
/// the pool.
#[test]
fn a_logger_uses_it_while_it_is_built() {
    if !in_child_that_logs("a_logger_uses_it_while_it_is_built", &[]) {
        return;
    }
    log::set_max_level(log::LevelFilter::Warn); // loops of this thread must not log while the thread has the lock
    let writes = LOGGER.writes.lock().unwrap();
    let (begun, has_begun) = mpsc::channel();
    let builder = thread::spawn(move || {
        let name = move |worker| {
            begun.send(()).unwrap();
            log::Log::log(&LOGGER, &log::Record::builder().args(format_args!("a name")).build());
            format!("named-{worker}")
        };
        Pool::builder().num_threads(3).thread_name(name).build_global().unwrap();
    });
    has_begun.recv().unwrap();
    for _ in 0..10 {
        counts(Pool::global());
    }
    assert_eq!(Pool::global().num_threads(), 1, "it cannot be built before the lock is free");
    assert!(matches!(Pool::builder().build_global(), Err(BuildError::GlobalExists)));
    drop(writes);
    builder.join().unwrap();
    assert_eq!(Pool::global().num_threads(), 3);
    counts(Pool::global());
    assert!(*LOGGER.writes.lock().unwrap() >= 2);
}

/// The logger is the first user of the pool, and holds a lock during this use. The pool has a
/// warning to log.
#[test]
fn a_logger_is_the_first_to_use_it() {
    const NAME: &str = "a_logger_is_the_first_to_use_it";
    if !in_child_that_logs(NAME, &[("RANGESTEAL_NUM_THREADS", "many")]) {
        return;
    }
    log::warn!("the first record");
    let begin = Instant::now();
    while *LOGGER.writes.lock().unwrap() < 2 {
        assert!(begin.elapsed() < Duration::from_secs(60), "the warning is logged, too");
        thread::sleep(Duration::from_millis(1));
    }
    counts(Pool::global());
}

/// Another thread builds the pool while the main thread enters and leaves scopes.
#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn scopes_do_not_hide_the_cpus_of_the_process() {
    if !in_child("scopes_do_not_hide_the_cpus_of_the_process", &[], 0) {
        return;
    }
    for turn in 0..60 {
        forked(|| {
            let all = mask();
            let last = Placement::Cpus(vec![all[all.len() - 1]]); // the thread has to move to that CPU
            thread::scope(|scope| {
                let first = scope.spawn(|| {
                    work(turn * 20_000);
                    Pool::global().num_threads()
                });
                while !first.is_finished() {
                    Pool::builder().num_threads(1).placement(last.clone()).scope(|_| ()).unwrap();
                }
                assert_eq!(first.join().unwrap(), all.len());
            });
            assert_eq!(mask(), all);
        });
    }
}

/// An allocator that uses the pool at each request, except for requests that this use causes.
struct Allocator;

static ALLOCATES: AtomicBool = AtomicBool::new(false);
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);

#[expect(unsafe_code, reason = "allocators are unsafe")]
// SAFETY: all memory comes from the system's allocator.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        thread_local!(static ASKS: Cell<bool> = const { Cell::new(false) });
        if ALLOCATES.load(Relaxed) && !ASKS.replace(true) {
            ALLOCATED.fetch_add(1, Relaxed);
            let sum = Pool::global().on(0..100).reduce(|a, b| a + b);
            assert!(sum == Some(4950));
            ASKS.set(false);
        }
        // SAFETY: the caller's contract is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is passed on.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

#[test]
fn an_allocator_uses_it_while_it_is_built() {
    if !in_child("an_allocator_uses_it_while_it_is_built", &[("RANGESTEAL_NUM_THREADS", "4")], 0) {
        return;
    }
    ALLOCATES.store(true, Relaxed);
    let begin = Barrier::new(3);
    thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                begin.wait();
                for _ in 0..10 {
                    counts(Pool::global());
                }
            });
        }
    });
    ALLOCATES.store(false, Relaxed);
    assert!(ALLOCATED.load(Relaxed) > 20, "{ALLOCATED:?}");
    assert_eq!(Pool::global().num_threads(), 4);
    counts(Pool::global());
}

/// Forks while another thread builds the pool. In the child, no thread finishes the pool.
#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_child_is_forked_while_it_is_built() {
    if !in_child("a_child_is_forked_while_it_is_built", &[], 0) {
        return;
    }
    let name = |worker| {
        forked(|| counts(Pool::global()));
        format!("forked-{worker}")
    };
    Pool::builder().num_threads(3).thread_name(name).build_global().unwrap();
    counts(Pool::global());
    forked(|| counts(Pool::global()));
}

/// The number of ended threads.
static ENDED: AtomicUsize = AtomicUsize::new(0);

/// A value of a thread that uses the pool when the thread ends.
struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        counts(Pool::global());
        ENDED.fetch_add(1, Relaxed);
    }
}

#[test]
fn destructors_of_threads_use_it() {
    if !in_child("destructors_of_threads_use_it", &[("RANGESTEAL_NUM_THREADS", "3")], 0) {
        return;
    }
    thread_local!(static LAST: Last = const { Last });
    for _ in 0..5 {
        thread::spawn(|| LAST.with(|_| ())).join().unwrap();
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(ENDED.load(Relaxed), 5);
    assert_eq!(Pool::global().num_threads(), 3, "it was built by one of them");
}
