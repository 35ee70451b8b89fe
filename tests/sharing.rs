//! Tests of loops inside loops, of loops from many threads, and of pools that are dropped, leaked,
//! moved and forked.

mod busy;

use std::{
    mem::ManuallyDrop,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use rangesteal::{Pool, RunReport};

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a small pool")
}

fn work() {
    busy::work(if cfg!(miri) { 0 } else { 5_000 });
}

fn count(pool: &Pool, items: &[usize]) -> usize {
    pool.fold_reduce(
        items,
        || 0,
        |sum, item| {
            work();
            sum + item
        },
        |a, b| a + b,
    )
}

const ITEMS: [usize; 100] = [1; 100];
/// The number of repetitions of loops whose timing should vary.
const OFTEN: usize = if cfg!(miri) { 2 } else { 100 };

#[test]
fn nested_loops() {
    let pool = pool(3);
    for _ in 0..OFTEN.min(5) {
        let total = pool.map_reduce(&[(); 20], |()| count(&pool, &ITEMS), |a, b| a + b);
        assert_eq!(total, Some(2000));
    }
}

/// Runs two items. Each item waits until the other item has begun, and then works. Returns whether
/// the other item began in time.
fn meet(begun: &AtomicUsize) -> bool {
    let (calls, begin) = (begun.fetch_add(1, Relaxed) / 2, Instant::now());
    while begun.load(Relaxed) < 2 * calls + 2 && begin.elapsed() < Duration::from_secs(2) {
        thread::yield_now();
    }
    thread::sleep(Duration::from_millis(1));
    begun.load(Relaxed) >= 2 * calls + 2
}

/// In each of the first calls of a loop of two long items, a helper comes before the first item is
/// over. If other threads use a helper's CPU, the helper is not woken again for a while. So one
/// quiet pool of several is enough.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn few_long_items_are_shared_from_the_first_call_on() {
    const POOLS: usize = 8;
    type Form = fn(&Pool, &AtomicUsize) -> bool;
    let forms: [(&str, Form); 7] = [
        ("map_reduce", |pool, begun| {
            pool.map_reduce(&[(); 2], |()| meet(begun), |a, b| a && b) == Some(true)
        }),
        ("map_collect", |pool, begun| pool.map_collect(&[(); 2], |()| meet(begun)) == [true; 2]),
        ("by value", |pool, begun| {
            pool.on(vec![(); 2]).map(|()| meet(begun)).collect::<Vec<_>>() == [true; 2]
        }),
        ("chunks", |pool, begun| {
            pool.on(0..10).chunks(5).map(|_| meet(begun)).collect::<Vec<_>>() == [true; 2]
        }),
        ("try_for_each", |pool, begun| {
            pool.on(0..2).try_for_each(|_| meet(begun).then_some(()).ok_or(())).is_ok()
        }),
        ("all", |pool, begun| pool.on(0..2).all(|_| meet(begun))),
        ("grow", |pool, begun| {
            pool.grow([(); 2]).fold_unordered(|| true, |all, (), _| meet(begun) && all, |a, b| a && b)
        }),
    ];
    for (name, form) in forms {
        let alone = || {
            let (pool, begun) = (pool(2), AtomicUsize::new(0));
            (0..30).find(|_| !form(&pool, &begun))
        };
        let calls: Vec<_> = (0..POOLS).map_while(|_| alone()).collect();
        assert!(calls.len() < POOLS, "{name}: of each pool this call had no helper: {calls:?}");
    }
}

/// Counts the items of a loop that run at the same time.
#[derive(Default)]
struct Crowd {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Crowd {
    /// Runs `items` items that sleep for 10 ms, and returns the report of the loop.
    fn sleepers(&self, pool: &Pool, items: usize) -> RunReport {
        let mut report = RunReport::default();
        pool.on(0..items).report(&mut report).for_each(|_| {
            let now = self.now.fetch_add(1, Relaxed) + 1;
            self.most.fetch_max(now, Relaxed);
            thread::sleep(Duration::from_millis(10));
            self.now.fetch_sub(1, Relaxed);
        });
        report
    }

    fn most(&self) -> usize {
        self.most.load(Relaxed)
    }
}

/// Whether a condition holds in one of several tries. Other programs may keep helpers from their
/// CPUs.
fn once_in_a_while(is_so: impl Fn() -> bool) -> bool {
    (0..8).any(|_| is_so())
}

/// An outer loop of two items leaves two of four workers idle.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn idle_workers_help_a_loop_inside_an_item() {
    let pool = pool(4);
    assert!(once_in_a_while(|| {
        let inner = Crowd::default();
        let reports = pool.map_collect(&[8, 0], |items| inner.sleepers(&pool, *items));
        inner.most() >= 3 && reports[0].alone.is_none() && reports[0].idle >= 2
    }));
}

/// The helper has the item with the inner loop. The caller has done the other item and waits for
/// the helper, and no worker is idle.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn a_caller_that_waits_helps_a_loop_inside_its_own() {
    let pool = pool(2);
    assert!(once_in_a_while(|| {
        let inner = Crowd::default();
        let outer = Instant::now();
        let reports = pool.map_collect(&[0, 24], |items| {
            thread::sleep(Duration::from_millis(1)); // long enough for the other thread to come
            inner.sleepers(&pool, *items)
        });
        let report = &reports[1];
        inner.most() == 2
            && report.alone.is_none()
            && outer.elapsed() < report.wall + Duration::from_millis(9)
    }));
}

/// Both loops are shared, although the first loop has all workers when the second loop begins
/// alone.
#[test]
#[cfg_attr(miri, ignore = "the time of items is not known")]
fn a_loop_that_finds_nobody_idle_is_helped_later() {
    let pool = pool(4);
    assert!(once_in_a_while(|| {
        let [first, second] = [(); 2].map(|()| Crowd::default());
        let report = thread::scope(|scope| {
            scope.spawn(|| first.sleepers(&pool, 16));
            let begin = Instant::now();
            while first.most() < 4 && begin.elapsed() < Duration::from_secs(1) {
                thread::yield_now();
            }
            second.sleepers(&pool, 40)
        });
        first.most() == 4
            && second.most() >= 3
            && report.alone.is_none()
            && report.begun_alone > Duration::from_millis(5)
    }));
}

#[test]
fn two_pools_inside_each_other() {
    let (a, b) = (pool(2), pool(2));
    for _ in 0..OFTEN.min(5) {
        let inner = || b.map_reduce(&[(); 4], |()| count(&a, &ITEMS), |x, y| x + y).unwrap_or(0);
        assert_eq!(a.map_reduce(&[(); 4], |()| inner(), |x, y| x + y), Some(1600));
    }
}

#[test]
fn a_closure_that_joins_a_thread_that_uses_the_pool() {
    let pool = pool(2);
    let total = pool.map_reduce(
        &[(); 10],
        |()| thread::scope(|scope| scope.spawn(|| count(&pool, &ITEMS)).join().unwrap()),
        |a, b| a + b,
    );
    assert_eq!(total, Some(1000));
}

#[test]
fn loops_from_eight_threads_at_once() {
    let pool = pool(2);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..OFTEN {
                    assert_eq!(count(&pool, &ITEMS), 100);
                }
            });
        }
    });
}

#[test]
#[cfg_attr(miri, ignore = "its threads never end")]
fn a_leaked_pool_keeps_nothing_borrowed() {
    // Never dropped, as after `mem::forget`, but leak checkers can still reach the value.
    static LEAKED: Mutex<Vec<ManuallyDrop<Pool>>> = Mutex::new(Vec::new());
    let pool = ManuallyDrop::new(pool(2));
    let items = vec![1; 300];
    assert_eq!(count(&pool, &items), 300);
    LEAKED.lock().unwrap().push(pool);
    drop(items);
}

#[test]
fn a_pool_moves_and_is_dropped_elsewhere() {
    let pool = pool(2);
    assert_eq!(count(&pool, &ITEMS), 100);
    thread::spawn(move || assert_eq!(count(&pool, &ITEMS), 100)).join().unwrap();
}

#[test]
fn closures_borrow_locals() {
    let pool = pool(3);
    for round in 0..2 * OFTEN {
        let factor = round;
        let seen = AtomicUsize::new(0);
        let local = vec![round; 50];
        pool.for_each(&local, |item| {
            work();
            seen.fetch_add(item * factor, Relaxed);
        });
        assert_eq!(seen.into_inner(), 50 * round * round);
    }
}

/// Detects ended threads by their last action. `/proc` may still list a joined thread for a moment,
/// often under an emulator.
#[test]
#[cfg_attr(miri, ignore = "who comes in time is a matter of time")]
fn drop_joins() {
    const HELPERS: usize = 3;
    static BEGUN: AtomicUsize = AtomicUsize::new(0);
    static ENDED: AtomicUsize = AtomicUsize::new(0);

    /// A value whose drop delays the end of its thread.
    struct Last;

    impl Drop for Last {
        fn drop(&mut self) {
            thread::sleep(Duration::from_millis(100));
            ENDED.fetch_add(1, Relaxed);
        }
    }

    thread_local! {
        static LAST: Last = {
            BEGUN.fetch_add(1, Relaxed);
            Last
        };
    }
    let pool = pool(1 + HELPERS);
    let caller = thread::current().id();
    while BEGUN.load(Relaxed) < HELPERS {
        pool.for_each(&ITEMS, |_| {
            thread::sleep(Duration::from_millis(1));
            if thread::current().id() != caller {
                LAST.with(|_| ());
            }
        });
    }
    drop(pool);
    assert_eq!(ENDED.load(Relaxed), HELPERS);
}

#[cfg(all(target_os = "linux", not(miri)))] // Miri knows neither fork nor /proc
mod threads {
    use std::{fs, path::Path};

    use super::*;

    /// The scheduler statistics of a thread of this name (Documentation/scheduler/sched-stats.rst):
    /// nanoseconds on a CPU, nanoseconds of waiting for a CPU, and the number of time slices.
    fn on_cpu(name: &str) -> String {
        let name_of = |task: &Path| fs::read_to_string(task.join("comm")).unwrap_or_default();
        let mut tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let task = tasks.find(|task| name_of(task).trim() == name).unwrap();
        fs::read_to_string(task.join("schedstat")).unwrap()
    }

    #[test]
    fn an_idle_pool_uses_no_cpu() {
        let patience = [("idler", Some(0)), ("patient", Some(2)), ("learner", None)];
        for (name, millis) in patience {
            let mut builder = Pool::builder().num_threads(2);
            if let Some(millis) = millis {
                builder = builder.spin_before_park(Duration::from_millis(millis));
            }
            let pool = builder.thread_name(move |worker| format!("{name}-{worker}")).build().unwrap();
            for _ in 0..200 {
                count(&pool, &ITEMS); // short gaps, after which helpers poll if the pool decides
            }
            let worker = format!("{name}-1");
            // The thread may have been woken late for the last loop. On a busy machine, it may also
            // have had its CPU for less than 2 ms so far.
            let quiet = (0..20).any(|_| {
                thread::sleep(Duration::from_millis(50));
                let before = on_cpu(&worker);
                thread::sleep(Duration::from_millis(300));
                on_cpu(&worker) == before
            });
            assert!(quiet, "{name}");
        }
    }

    #[test]
    fn a_pool_that_spins_is_dropped_at_once() {
        let pool =
            Pool::builder().num_threads(3).spin_before_park(Duration::from_secs(1000)).build().unwrap();
        for _ in 0..100 {
            assert_eq!(count(&pool, &ITEMS), 100);
        }
        drop(pool); // dropped now, since otherwise this test takes a quarter of an hour
    }

    #[test]
    #[cfg_attr(portable, ignore = "forks are not noticed")]
    #[expect(unsafe_code, reason = "fork is what is tested")]
    fn a_forked_child_runs_its_loops_alone() {
        use nix::{
            sys::wait::{WaitStatus, waitpid},
            unistd::{ForkResult, fork},
        };

        let pool = pool(3);
        count(&pool, &ITEMS);
        // At most of these moments another thread runs a loop, and may hold any lock of the pool.
        let stop = AtomicUsize::new(0);
        thread::scope(|scope| {
            scope.spawn(|| {
                while stop.load(Relaxed) == 0 {
                    count(&pool, &ITEMS);
                }
            });
            for _ in 0..20 {
                // SAFETY: the child only counts on its stack, without allocating, and exits at
                // once.
                match unsafe { fork() }.unwrap() {
                    ForkResult::Child => {
                        let sum = count(&pool, &ITEMS);
                        // SAFETY: ends the child without running the parent's destructors and exit
                        // handlers.
                        unsafe { libc::_exit(i32::from(sum != 100)) }
                    }
                    ForkResult::Parent { child } => {
                        assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
                    }
                }
            }
            stop.store(1, Relaxed);
        });
        assert_eq!(count(&pool, &ITEMS), 100, "the parent's pool");
    }

    #[test]
    #[cfg_attr(portable, ignore = "forks are not noticed")]
    #[expect(unsafe_code, reason = "fork is what is tested")]
    fn a_forked_child_drops_the_pool() {
        use nix::{
            sys::wait::{WaitStatus, waitpid},
            unistd::{ForkResult, fork},
        };

        let pool = pool(3);
        count(&pool, &ITEMS);
        // SAFETY: the child drops a pool and exits. In a child, the drop of a pool joins no thread
        // and touches no lock.
        match unsafe { fork() }.unwrap() {
            ForkResult::Child => {
                drop(pool);
                // SAFETY: ends the child without running the parent's destructors and exit
                // handlers.
                unsafe { libc::_exit(0) }
            }
            ForkResult::Parent { child } => {
                assert_eq!(waitpid(child, None).unwrap(), WaitStatus::Exited(child, 0));
                assert_eq!(count(&pool, &ITEMS), 100);
            }
        }
    }
}
