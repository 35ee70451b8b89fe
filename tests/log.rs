//! Tests of the log. Each loop logs a line at debug level and a table at trace level, but never
//! while the loop is published. Each pool logs one line at info level if a loop is faster alone.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::{Duration, Instant},
};

use log::{Level, LevelFilter, Log, Metadata, Record};
use rangesteal::Pool;

struct Lines(Mutex<Vec<String>>);

impl Log for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        let turn = TURN.fetch_add(usize::from(MOODY.load(Relaxed)), Relaxed);
        metadata.level() <= Level::Trace && turn.is_multiple_of(2)
    }

    fn log(&self, record: &Record<'_>) {
        if record.level() == Level::Info && record.args().to_string().contains("It now runs alone") {
            TOLD.fetch_add(1, Relaxed);
        }
        // A logger may itself use the pool.
        let pool = POOL.lock().unwrap().take();
        let line = record.args().to_string();
        if record.level() >= Level::Debug && record.target().starts_with("rangesteal") {
            self.0.lock().unwrap().push(line);
        }
        if let Some(pool) = pool {
            assert_eq!(pool.map_reduce(&[1, 2, 3], |x| *x, |a, b| a + b), Some(6));
        }
    }

    fn flush(&self) {}
}

static LINES: Lines = Lines(Mutex::new(Vec::new()));
/// A logger that is alternately enabled and disabled.
static MOODY: AtomicBool = AtomicBool::new(false);
static TURN: AtomicUsize = AtomicUsize::new(0);
static TOLD: AtomicUsize = AtomicUsize::new(0);
static POOL: Mutex<Option<Pool>> = Mutex::new(None);

#[test]
fn one_line_a_loop() {
    log::set_logger(&LINES).unwrap();
    log::set_max_level(LevelFilter::Debug);
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let another = Pool::builder().num_threads(2).build().unwrap();
    let lines = || std::mem::take(&mut *LINES.0.lock().unwrap());
    lines();
    for len in [0, 1, 2, 100, 300_000] {
        for _ in 0..3 {
            pool.for_each(&vec![1u64; len], |x| {
                std::hint::black_box(x);
            });
            let lines = lines();
            assert_eq!(lines.len(), 1, "{len} items: {lines:?}");
            assert!(lines[0].starts_with("tests/log.rs:"), "where the loop stands: {lines:?}");
            assert!(lines[0].contains(&format!(": {len} items in ")), "{lines:?}");
        }
    }
    pool.for_each(&[1, 2], |_| pool.for_each(&[1, 2, 3], |_| ()));
    let is_busy = |line: &&String| line.contains("other loops have the pool");
    let nested = lines();
    let mut busy = nested.iter().filter(is_busy).count();
    assert_eq!(nested.len() - busy, 3, "two loops inside one");
    // Both threads hold an item, so neither helps the loop inside the other's.
    for _ in 0..10 {
        let inside = AtomicUsize::new(0);
        pool.for_each(&[(); 2], |()| {
            inside.fetch_add(1, Relaxed);
            (0..1000)
                .take_while(|_| inside.load(Relaxed) < 2)
                .for_each(|_| thread::sleep(Duration::from_millis(1)));
            pool.for_each(&[1, 2, 3], |_| thread::sleep(Duration::from_micros(200)));
        });
    }
    busy += lines().iter().filter(is_busy).count();
    assert_eq!(busy, 1, "one line a pool tells that it is busy");

    *POOL.lock().unwrap() = Some(another);
    pool.for_each(&[1, 2], |_| ());
    assert_eq!(lines().len(), 2, "a loop, and that of the logger");

    MOODY.store(true, Relaxed);
    for len in [0, 1, 2] {
        for _ in 0..10 {
            let sum = pool.map_reduce(&vec![1; len], |x| *x, |a, b| a + b);
            assert_eq!(sum.unwrap_or(0), len);
        }
    }
    MOODY.store(false, Relaxed);
    TURN.store(0, Relaxed);
    lines();

    log::set_max_level(LevelFilter::Trace);
    pool.for_each(&[1, 2], |_| ());
    let line_and_table = lines();
    assert_eq!(line_and_table.len(), 2, "{line_and_table:?}");
    assert!(line_and_table[1].starts_with("2 items in ") && line_and_table[1].contains("suffered"));

    log::set_max_level(LevelFilter::Info);
    pool.for_each(&[1, 2], |_| ());
    assert_eq!(lines().len(), 0);

    // Helpers that delay one loop after another. If other programs use the CPUs, a trial of a loop
    // can fail. Items do not sleep on the caller, because there a busy machine wakes it late.
    let caller = thread::current().id();
    for _loop in (0..10).take_while(|done| *done < 2 || TOLD.load(Relaxed) == 0) {
        let items = vec![(); 100];
        for _ in 0..20 {
            pool.for_each(&items, |()| {
                if thread::current().id() == caller {
                    let begin = Instant::now();
                    while begin.elapsed() < Duration::from_micros(20) {}
                } else {
                    thread::sleep(Duration::from_millis(200));
                }
            });
        }
    }
    assert_eq!(TOLD.load(Relaxed), 1, "one line a pool tells that a loop is faster alone");
}
