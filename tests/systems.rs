//! Tests for every system, including systems that cannot pin or cannot start threads. With `--cfg
//! portable`, Linux counts as such a system.

mod kinds;

use std::{collections::HashSet, thread, time::Duration};

use kinds::loops;
use rangesteal::{BuildError, Pinning, Pool};

/// The largest number of threads of a loop in these tests.
const MOST: usize = if HAS_THREADS { 3 } else { 1 };
const HAS_THREADS: bool = cfg!(any(not(target_family = "wasm"), target_feature = "atomics"));

#[test]
fn loops_are_right_on_any_number_of_threads() {
    for pinning in [Pinning::Off, Pinning::BestEffort] {
        for threads in if cfg!(miri) { MOST } else { 1 }..=MOST {
            let builder = || Pool::builder().num_threads(threads).pinning(pinning);
            loops(&builder().build().unwrap());
            loops(&builder().spin_before_park(Duration::from_micros(50)).build().unwrap());
            builder().scope(loops).unwrap();
        }
    }
    loops(&Pool::new().unwrap());
}

#[test]
fn all_workers_work() {
    let pool = Pool::builder().num_threads(MOST).build().unwrap();
    let threads = || {
        let ids = pool.map_collect(&[(); 20], |()| {
            thread::sleep(Duration::from_millis(1));
            thread::current().id()
        });
        ids.into_iter().collect::<HashSet<_>>().len()
    };
    threads(); // the pool learns that the items of this loop sleep, so more workers than CPUs help
    assert!((0..100).any(|_| threads() == MOST), "never have {MOST} threads shared a loop");
}

#[test]
fn a_panic_comes_out_of_the_loop() {
    if cfg!(panic = "abort") {
        eprintln!("SKIPPED: a panic ends the process here");
        return;
    }
    let pool = Pool::builder().num_threads(MOST).build().unwrap();
    let payload = std::panic::catch_unwind(|| pool.for_each(&[1, 2, 3], |x| assert!(*x < 2, "item {x}")));
    assert_eq!(payload.unwrap_err().downcast_ref::<String>().map(String::as_str), Some("item 2"));
    loops(&pool);
}

#[test]
fn threads_that_cannot_be_started_are_an_error() {
    if HAS_THREADS {
        return;
    }
    let error = Pool::builder().num_threads(2).build().unwrap_err();
    assert!(matches!(error, BuildError::Spawn { worker: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("ask for fewer threads (num_threads)"), "{error}");
}

#[cfg(any(portable, not(target_os = "linux")))]
mod without_pinning {
    use std::{cell::RefCell, env::consts, sync::Once};

    use log::{Level, LevelFilter, Log, Metadata, Record};

    use super::*;

    const SYSTEM: &str = if consts::OS.is_empty() { "wasm32" } else { consts::OS };

    thread_local! {
        static LINES: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
    }

    /// Keeps the lines of each thread.
    struct Lines;

    impl Log for Lines {
        fn enabled(&self, _: &Metadata<'_>) -> bool {
            true
        }

        fn log(&self, record: &Record<'_>) {
            LINES.with_borrow_mut(|lines| lines.push((record.level(), record.args().to_string())));
        }

        fn flush(&self) {}
    }

    /// The lines on pinning, and the warnings, that this thread logs during `work`.
    fn logged(work: impl FnOnce()) -> Vec<(Level, String)> {
        static START: Once = Once::new();
        START.call_once(|| {
            log::set_logger(&Lines).expect("the only logger");
            log::set_max_level(LevelFilter::Debug);
        });
        LINES.take();
        work();
        let mut lines = LINES.take();
        lines.retain(|(level, line)| *level <= Level::Warn || line.contains("pinned"));
        lines
    }

    #[test]
    fn best_effort_is_a_line_at_debug_level() {
        let line = format!("workers are not pinned: not supported on this system ({SYSTEM})");
        let builder = |pinning| Pool::builder().num_threads(MOST).pinning(pinning);
        let built = logged(|| drop(builder(Pinning::BestEffort).build().unwrap()));
        assert_eq!(built, [(Level::Debug, line.clone())]);
        let scope = logged(|| builder(Pinning::BestEffort).scope(|_| ()).unwrap());
        assert_eq!(scope, [(Level::Debug, line)]);
        assert_eq!(logged(|| builder(Pinning::Off).scope(|_| ()).unwrap()), []);
    }

    #[test]
    fn required_is_an_error() {
        let builder = |threads| Pool::builder().num_threads(threads).pinning(Pinning::Required);
        for error in [builder(1).build().unwrap_err(), builder(MOST).scope(|_| ()).unwrap_err()] {
            assert!(matches!(error, BuildError::Affinity { .. }), "{error:?}");
            let message = error.to_string();
            let what = format!("workers cannot be pinned: not supported on this system ({SYSTEM});");
            assert!(message.contains(&what) && message.contains("Pinning::Off"), "{message}");
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn all_masks_stay_as_they_are() {
        use std::sync::Mutex;

        use nix::{
            sched::{CpuSet, sched_getaffinity},
            unistd::Pid,
        };

        let mask = || {
            let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
            (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).collect::<Vec<_>>()
        };
        let before = mask();
        if before.len() < 2 {
            eprintln!("SKIPPED: who may run on one CPU alone looks pinned");
            return;
        }
        let masks = |pool: &Pool| {
            let seen = Mutex::new(HashSet::new());
            for _ in 0..100 {
                if seen.lock().unwrap().len() == MOST {
                    break;
                }
                pool.for_each(&[(); 20], |()| {
                    thread::sleep(Duration::from_millis(1));
                    seen.lock().unwrap().insert((thread::current().id(), mask()));
                });
            }
            let seen = seen.into_inner().unwrap();
            assert_eq!(seen.len(), MOST, "{seen:?}");
            assert!(seen.iter().all(|(_, mask)| *mask == before), "{seen:?}");
        };
        masks(&Pool::builder().num_threads(MOST).build().unwrap());
        Pool::builder().num_threads(MOST).scope(masks).unwrap();
        assert_eq!(mask(), before);
    }
}
