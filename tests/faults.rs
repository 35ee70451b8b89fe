//! Tests of events that affect a whole process while pools exist: forks, signals, exits. Each test
//! runs in a child, so that a hang ends.

#![cfg(target_os = "linux")]

mod busy;
mod child;
mod forked;
mod kinds;

use std::{
    collections::HashSet,
    fs,
    future::poll_fn,
    hint::black_box,
    mem,
    os::unix::process::ExitStatusExt,
    process::{self, Command},
    ptr,
    sync::{
        LazyLock, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    task::Poll,
    thread,
    time::{Duration, Instant},
};

use busy::{Others, work};
use child::{is_child, passed, run};
use forked::forked;
use nix::{
    libc,
    unistd::{getpid, gettid},
};
use rangesteal::{CancelToken, Cancelled, Pool, Progress, RunReport};

/// Returns true in the child. In the parent, runs the test `name` in a child, checks that the child
/// passes, and returns false.
fn in_child(name: &str) -> bool {
    let is_child = is_child();
    if !is_child {
        passed(&run(&[], name, &[]));
    }
    is_child
}

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a small pool")
}

/// Runs a loop that is shared, and then a loop that need not be shared.
fn counts(pool: &Pool) {
    for nanos in [10_000, 0] {
        let item = |i: usize| {
            work(nanos);
            i
        };
        assert_eq!(pool.on(0..200).map(item).reduce(|a, b| a + b), Some(199 * 100));
    }
}

/// Another thread begins first, and repeats `other`. Runs `meanwhile` at the same time.
fn beside(other: impl Fn() + Sync, meanwhile: impl FnOnce()) {
    struct Raise<'a>(&'a AtomicBool);
    impl Drop for Raise<'_> {
        fn drop(&mut self) {
            self.0.store(true, Relaxed);
        }
    }
    let (begun, over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        scope.spawn(|| {
            begun.store(true, Relaxed);
            while !over.load(Relaxed) {
                other();
            }
        });
        let _over = Raise(&over); // even if this closure panics
        while !begun.load(Relaxed) {
            std::hint::spin_loop();
        }
        meanwhile();
    });
}

#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_forked_child_uses_the_handles_of_loops_under_way() {
    if !in_child("a_forked_child_uses_the_handles_of_loops_under_way") {
        return;
    }
    let (pool, token, progress) = (pool(3), CancelToken::new(), Progress::new());
    let watch = |pool: &Pool| pool.on(0..500).cancel(&token).progress(&progress).for_each(|_| work(2_000));
    let watched = || watch(&pool);
    beside(
        || assert_eq!(watched(), Ok(())),
        || {
            let ask = || assert!(progress.done() < usize::MAX);
            beside(ask, || {
                for _ in 0..100 {
                    forked(|| {
                        let own = Pool::builder().num_threads(2).build().unwrap();
                        let before = progress.done();
                        assert_eq!(watched(), Ok(()));
                        let done = progress.done();
                        assert!(done >= before);
                        assert_eq!(watched(), Ok(()));
                        assert_eq!(progress.done(), done + 500);
                        assert_eq!([(); 2].map(|()| watch(&own)), [Ok(()); 2]);
                        // If only the pool or only the token of a loop is the parent's, the loop is
                        // not shared either.
                        let (token_here, progress_here) = (CancelToken::new(), Progress::new());
                        let mixed = own.on(0..500).cancel(&token_here).progress(&progress);
                        assert_eq!(mixed.for_each(|_| work(2_000)), Ok(()));
                        let mixed = own.on(0..500).cancel(&token).progress(&progress_here);
                        assert_eq!(mixed.for_each(|_| work(2_000)), Ok(()));
                        assert_eq!(progress_here.done(), 500);
                        token.cancel();
                        assert_eq!(watched(), Err(Cancelled));
                    });
                }
            });
        },
    );
    assert!(!token.is_cancelled(), "the parent's own");
}

/// In the child, no thread may touch a lock of the parent's token. So the workers read the token's
/// flag.
#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_forked_child_cancels_a_loop_whose_items_wait_by_its_parents_token() {
    if !in_child("a_forked_child_cancels_a_loop_whose_items_wait_by_its_parents_token") {
        return;
    }
    let token = CancelToken::new();
    forked(|| {
        let (own, begun) = (pool(2), &AtomicUsize::new(0));
        let ended = own.on(0..100).cancel(&token).waiting(1).for_each(async |_| {
            begun.fetch_add(1, Relaxed);
            token.cancel();
            let mut has_waited = false;
            poll_fn(|context| {
                context.waker().wake_by_ref();
                if mem::replace(&mut has_waited, true) { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
        });
        assert_eq!((ended, begun.load(Relaxed)), (Err(Cancelled), 1));
    });
    assert!(!token.is_cancelled(), "the parent's own");
}

#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_forked_child_cancels_a_loop_that_grows_by_its_parents_token() {
    const MOST: usize = 5_000;
    if !in_child("a_forked_child_cancels_a_loop_that_grows_by_its_parents_token") {
        return;
    }
    let token = CancelToken::new();
    forked(|| {
        let (own, folded) = (pool(1), AtomicUsize::new(0));
        let ended = own.grow([()]).cancel(&token).for_each(|(), feed| {
            work(2_000);
            match folded.fetch_add(1, Relaxed) {
                1_000 => token.cancel(),
                MOST.. => return,
                _ => {}
            }
            feed.push(());
        });
        assert!(ended == Err(Cancelled) && folded.into_inner() < MOST);
    });
    assert!(!token.is_cancelled(), "the parent's own");
}

#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_child_builds_a_pool_forked_while_its_parent_builds_the_first() {
    const NAME: &str = "a_child_builds_a_pool_forked_while_its_parent_builds_the_first";
    if !is_child() {
        for _ in 0..6 {
            passed(&run(&[], NAME, &[]));
        }
        return;
    }
    // The first pool registers with the kernel, which takes time. This pool has no thread, so that
    // no fork happens while std starts a thread.
    beside(
        || drop(pool(1)),
        || {
            for micros in 0..5 {
                work(100_000 * micros);
                forked(|| counts(&pool(2)));
            }
        },
    );
}

#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn children_of_children_build_pools_of_their_own() {
    if in_child("children_of_children_build_pools_of_their_own") {
        // Each pool is in an option, since a child also drops the pools of its ancestors.
        let mut own = Some(pool(3));
        forked(|| {
            let mut childs = Some(pool(3));
            assert_eq!([&childs, &own].map(|pool| pool.as_ref().map(threads_of)), [Some(3), Some(1)]);
            forked(|| {
                let grandchilds = pool(3);
                assert_eq!(threads_of(&grandchilds), 3);
                assert_eq!([&childs, &own].map(|pool| pool.as_ref().map(threads_of)), [Some(1); 2]);
                drop((childs.take(), own.take()));
            });
            assert_eq!(childs.as_ref().map(threads_of), Some(3));
            drop((childs.take(), own.take()));
        });
        assert_eq!(own.as_ref().map(threads_of), Some(3));
    }
}

/// The number of threads that share a loop whose items sleep. If another program uses the CPU of a
/// helper, the helper does not take part for a while. So the loop is repeated until all threads
/// have shared it. Three threads count as there if other programs keep one of them out.
fn threads_of(pool: &Pool) -> usize {
    let count = || {
        let ids: Vec<_> = pool
            .on(0..20)
            .map(|_| {
                thread::sleep(Duration::from_millis(1));
                thread::current().id()
            })
            .collect();
        ids.into_iter().collect::<HashSet<_>>().len()
    };
    let (others, mut most) = (Others::watch(), 0);
    for loops in 0..1000 {
        if most == 3 || most == 1 && loops == 60 {
            break;
        }
        most = count().max(most);
    }
    if most == 2 && others.have_a_cpu() { 3 } else { most }
}

#[test]
fn closures_fork_and_run_programs() {
    if !in_child("closures_fork_and_run_programs") {
        return;
    }
    let pool = pool(3);
    for _ in 0..3 {
        let ended: Vec<_> = pool
            .on(0..20)
            .map(|i| {
                forked(|| counts(&pool)); // in the middle of a loop that its parent shares
                Command::new("sh").args(["-c", &format!("exit {i}")]).status().unwrap().code()
            })
            .collect();
        assert_eq!(ended, (0..20).map(Some).collect::<Vec<_>>());
        assert_eq!(threads_of(&pool), 3, "those of the parent");
    }
}

/// Items of inner loops fork while other threads call, share and end loops of the same pool. The
/// parent's threads do not exist in the child, so the child runs all its loops alone.
#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn items_of_inner_loops_fork() {
    const OUTER: usize = 3;
    const INNER: usize = 5;
    if !in_child("items_of_inner_loops_fork") {
        return;
    }
    let alone_in_the_child = |pool: &Pool| {
        let mut report = RunReport::default();
        let item = |i| {
            counts(pool);
            i
        };
        assert_eq!(pool.on(0..3).report(&mut report).map(item).reduce(|a, b| a + b), Some(3));
        assert!(report.alone.is_some(), "the child has shared a loop");
    };
    let (begin, mut shared) = (Instant::now(), 0);
    while shared < 10 {
        assert!(begin.elapsed() < Duration::from_secs(60), "only {shared} inner loops were shared");
        let pool = pool(3); // a new pool: it has not learnt that other programs use the CPUs
        let inner_loops: Vec<_> = pool
            .on(0..OUTER)
            .map(|outer| {
                let mut report = RunReport::default();
                let item = |inner| {
                    work(200_000);
                    forked(|| alone_in_the_child(&pool));
                    outer * INNER + inner
                };
                let sum = pool.on(0..INNER).report(&mut report).map(item).reduce(|a, b| a + b);
                (sum, report.alone)
            })
            .collect();
        for (outer, (sum, alone)) in inner_loops.into_iter().enumerate() {
            assert_eq!(sum, Some((outer * INNER..(outer + 1) * INNER).sum()));
            shared += usize::from(alone.is_none());
        }
        counts(&pool);
    }
}

static SIGNALS: AtomicUsize = AtomicUsize::new(0);

/// Sends a signal to each thread of this process except the calling one.
#[expect(unsafe_code, reason = "signals are not in std")]
fn strike_all_threads() {
    let (process, me) = (getpid().as_raw(), gettid().as_raw());
    for task in fs::read_dir("/proc/self/task").unwrap() {
        let thread: libc::pid_t = task.unwrap().file_name().to_str().unwrap().parse().unwrap();
        if thread != me {
            // SAFETY: the call takes three numbers. For a thread that is gone, the call returns an
            // error.
            unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR1) };
        }
    }
}

#[expect(unsafe_code, reason = "signals are not in std")]
fn handle_signals(flags: libc::c_int) {
    extern "C" fn handler(_: libc::c_int) {
        SIGNALS.fetch_add(1, Relaxed);
    }
    // SAFETY: the type consists of integers, which may all be zero.
    let mut action: libc::sigaction = unsafe { mem::zeroed() };
    action.sa_sigaction = handler as extern "C" fn(libc::c_int) as libc::sighandler_t;
    action.sa_flags = flags;
    // SAFETY: the handler adds to an atomic and nothing else.
    let refused = unsafe { libc::sigaction(libc::SIGUSR1, &raw const action, ptr::null_mut()) };
    assert_eq!(refused, 0);
}

#[test]
fn signals_every_millisecond() {
    if in_child("signals_every_millisecond") {
        for (flags, spin) in [(0, 0), (libc::SA_RESTART, 50)] {
            handle_signals(flags);
            let strike = || {
                strike_all_threads();
                thread::sleep(Duration::from_millis(1));
            };
            let builder = || Pool::builder().num_threads(3).spin_before_park(Duration::from_micros(spin));
            beside(strike, || {
                let pool = builder().build().unwrap();
                let (begin, before) = (Instant::now(), SIGNALS.load(Relaxed));
                while begin.elapsed() < Duration::from_secs(1) || SIGNALS.load(Relaxed) < before + 200 {
                    kinds::loops(&pool);
                    counts(&pool);
                    assert_eq!(threads_of(&pool), 3);
                    thread::sleep(Duration::from_millis(20)); // all workers are idle
                    builder().scope(counts).unwrap();
                }
            });
        }
    }
}

/// Checks the number of pool threads. A joined thread may still be listed for a moment.
fn left(threads: usize) {
    let name = |task: &fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
    let are_left = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        tasks.filter(|task| name(task.as_ref().unwrap()).starts_with("rangesteal-")).count()
    };
    let begin = Instant::now();
    while are_left() != threads && begin.elapsed() < Duration::from_secs(60) {
        thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(are_left(), threads, "threads of pools");
}

#[test]
fn dropped_by_a_worker_of_another_pool() {
    if !in_child("dropped_by_a_worker_of_another_pool") {
        return;
    }
    let (others, workers) = ((0..40).map(|_| Mutex::new(Some(pool(2)))).collect::<Vec<_>>(), pool(3));
    workers.for_each(&others, |other| {
        let other = other.lock().unwrap().take().unwrap();
        counts(&other);
    });
    counts(&workers);
    left(3 - 1);
}

#[test]
fn dropped_while_its_thread_ends() {
    if !in_child("dropped_while_its_thread_ends") {
        return;
    }
    thread_local! {
        static OWN: Pool = pool(3);
    }
    for _ in 0..20 {
        thread::spawn(|| OWN.with(counts)).join().unwrap();
    }
    left(0);
}

/// Tests of exits: the process ends this many milliseconds after the first loop.
const SOON: Duration = Duration::from_millis(30);

#[test]
fn the_process_ends_in_the_middle_of_a_loop() {
    const NAME: &str = "the_process_ends_in_the_middle_of_a_loop";
    const WAY: &str = "RANGESTEAL_TEST_END";
    const GLOBAL: &str = "RANGESTEAL_TEST_GLOBAL";
    static SHARED: LazyLock<&Pool> = LazyLock::new(|| match std::env::var_os(GLOBAL) {
        Some(_) => Pool::builder().num_threads(3).build_global().unwrap(),
        None => Box::leak(Box::new(pool(3))),
    });
    thread_local! {
        static OWN: Pool = pool(3);
    }
    extern "C" fn last_words() {
        counts(&SHARED); // other threads may be in the middle of a loop of this pool
    }
    if !is_child() {
        for way in ["return", "caller", "helper", "other", "own", "all", "panic"] {
            let code = match way {
                "return" => 0,
                "panic" => 101,
                _ => 42,
            };
            for variables in [&[(WAY, way)][..], &[(WAY, way), (GLOBAL, "")]] {
                let output = run(&[], NAME, variables);
                let stderr = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(code), "{variables:?}: {}\n{stderr}", output.status);
            }
        }
        return;
    }
    let way = std::env::var(WAY).unwrap();
    #[expect(unsafe_code, reason = "not in std")]
    // SAFETY: if a Rust function unwinds here, the process ends, and the test fails.
    let refused = unsafe { libc::atexit(last_words) };
    assert_eq!(refused, 0);
    counts(&SHARED);
    let (begin, caller) = (Instant::now(), thread::current().id());
    let ends = |on_caller: Option<bool>| {
        move |_| {
            work(10_000);
            let here = thread::current().id() == caller;
            if begin.elapsed() > SOON {
                if on_caller.is_none_or(|on_caller| on_caller == here) {
                    process::exit(42);
                }
                thread::sleep(Duration::from_secs(3600)); // a process that waits for this thread hangs
            }
        }
    };
    match &*way {
        "caller" => SHARED.on(0..usize::MAX).for_each(ends(Some(true))),
        "helper" => SHARED.on(0..usize::MAX).for_each(ends(Some(false))),
        "own" => OWN.with(|own| own.on(0..usize::MAX).for_each(ends(Some(true)))),
        "all" => OWN.with(|own| own.on(0..usize::MAX).for_each(ends(None))),
        _ => {}
    }
    thread::spawn(|| SHARED.on(0..usize::MAX).for_each(|_| work(10_000)));
    thread::sleep(SOON);
    match &*way {
        "other" => process::exit(42),
        "panic" => panic!("as ordered"),
        _ => {} // the test returns, and then `main` returns
    }
}

/// Runs a loop inside a loop inside a loop, and so on. Returns the number of items, which is the
/// number of loops plus one.
fn nest(pool: &Pool, depth: usize) -> usize {
    let inner = |i| {
        work(if depth.is_multiple_of(16) { 1_000 } else { 0 });
        if i == 1 && depth > 0 { nest(pool, depth - 1) } else { 1 }
    };
    pool.on(0..2).map(inner).reduce(|a, b| a + b).unwrap_or(0)
}

#[test]
fn loops_three_hundred_deep() {
    const STACK: usize = 64 << 20; // 8 KiB a level in a debug build, several times that with sanitizers
    if !in_child("loops_three_hundred_deep") {
        return;
    }
    let deep = || {
        let pool = Pool::builder().num_threads(3).stack_size(STACK).build().unwrap();
        for _ in 0..3 {
            let items: Vec<_> = pool
                .on(0..20)
                .map(|i| {
                    work(20_000);
                    nest(&pool, 300 + i)
                })
                .collect();
            assert_eq!(items, (0..20).map(|i| 302 + i).collect::<Vec<_>>());
        }
    };
    thread::Builder::new().stack_size(STACK).spawn(deep).unwrap().join().unwrap();
}

#[test]
fn a_helper_that_recurses_for_ever() {
    #[expect(unconditional_recursion, reason = "that is the fault")]
    fn deeper(level: usize) -> usize {
        deeper(black_box(level) + 1) + black_box(level)
    }
    const NAME: &str = "a_helper_that_recurses_for_ever";
    if is_child() {
        let pool = pool(2);
        let caller = thread::current().id();
        loop {
            pool.on(0..100).for_each(|i| {
                work(20_000);
                if thread::current().id() != caller {
                    black_box(deeper(i));
                }
            });
        }
    }
    // std gives every thread a guard page: an overflow ends the process with a message instead of
    // writing into other memory.
    let output = run(&[], NAME, &[]);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.signal(), Some(libc::SIGABRT), "{}\n{stderr}", output.status);
    assert!(stderr.contains("'rangesteal-1'") && stderr.contains("stack"), "{stderr}");
}
