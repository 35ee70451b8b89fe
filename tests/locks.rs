//! Tests of locks that are held across loops, and taken in items of several loops. The programs of
//! rayon#592, rayon#1174 and rayon#1251 do not deadlock with this library, since a thread that
//! waits for the end of a loop runs no item of another loop.

mod busy;

use std::{
    cell::RefCell,
    io::{self, Write},
    process,
    sync::{
        Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

use rangesteal::Pool;

const POOLS: [usize; 3] = [2, 4, 8];
const CALLERS: [usize; 2] = [1, 3];
const OFTEN: usize = 10;
/// The number of items of an outer loop, and of an inner loop.
const OUTER: usize = 12;
const INNER: usize = 8;

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().expect("a pool")
}

/// The item of all loops of these tests.
fn each(pool: &Pool, items: usize, f: impl Fn(usize) + Sync) {
    pool.on(0..items).for_each(f);
}

/// One item in four sleeps, so that more threads than CPUs take part.
fn work(item: usize) {
    if item.is_multiple_of(4) {
        thread::sleep(Duration::from_micros(50));
    } else {
        busy::work(5_000);
    }
}

/// An inner loop. Returns the number of its items.
fn inner(pool: &Pool) -> usize {
    let count = AtomicUsize::new(0);
    each(pool, INNER, |item| {
        work(item);
        count.fetch_add(1, Relaxed);
    });
    count.into_inner()
}

/// Runs a test, or ends the program after a minute.
fn within_a_minute(name: &'static str, test: impl FnOnce()) {
    let (ends, ended) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        if ended.recv_timeout(Duration::from_secs(60)) == Err(RecvTimeoutError::Timeout) {
            // Not a print macro: the test harness captures its output until the test ends.
            let _ = writeln!(io::stderr(), "{name}: a deadlock: it has not ended within a minute");
            process::abort();
        }
    });
    test();
    drop(ends);
    watch.join().expect("no deadlock");
}

/// Runs a program repeatedly: on pools of all sizes, by one caller and by several callers. Returns
/// the number of runs.
fn everywhere(name: &'static str, program: impl Fn(&Pool) + Sync) -> usize {
    within_a_minute(name, || {
        for (threads, callers) in POOLS.iter().flat_map(|threads| CALLERS.map(|callers| (*threads, callers)))
        {
            let pool = pool(threads);
            let calls = || (0..OFTEN).for_each(|_| program(&pool));
            thread::scope(|scope| {
                for _ in 0..callers {
                    scope.spawn(calls);
                }
            });
        }
    });
    POOLS.len() * CALLERS.iter().sum::<usize>() * OFTEN
}

/// Items hold a lock across a loop that adds up its items.
fn held_across(what: &'static str, run: impl Fn(&Pool) -> usize + Sync) {
    let lock = Mutex::new(0);
    let calls = everywhere(what, |pool| {
        each(pool, OUTER, |_| {
            let mut held = lock.lock().unwrap();
            *held += run(pool);
        });
    });
    assert_eq!(lock.into_inner().unwrap(), calls * OUTER * INNER);
}

/// rayon#592.
#[test]
fn a_lock_is_held_across_an_inner_loop() {
    held_across("a lock held across an inner loop", inner);
}

/// rayon#1174: the loop under the lock belongs to a library with a pool of its own.
#[test]
fn a_lock_is_held_across_a_loop_on_another_pool() {
    let library = pool(2);
    held_across("a lock held across a loop on another pool", |_| inner(&library));
}

/// One of the loops has an inner loop in each item. The item holds the lock across its inner loop.
#[test]
fn items_of_two_loops_at_a_time_take_one_lock() {
    let lock = Mutex::new(0);
    let calls = everywhere("a lock taken in two loops at a time", |pool| {
        thread::scope(|scope| {
            scope.spawn(|| {
                each(pool, OUTER, |item| {
                    work(item);
                    let mut held = lock.lock().unwrap();
                    *held += inner(pool);
                });
            });
            each(pool, OUTER * INNER, |item| {
                work(item);
                *lock.lock().unwrap() += 1;
            });
        });
    });
    assert_eq!(lock.into_inner().unwrap(), calls * 2 * OUTER * INNER);
}

/// Each level has a lock. Items of the level hold this lock across the loop of the level below.
#[test]
fn a_lock_of_each_level_is_held_across_the_levels_below() {
    fn level(pool: &Pool, locks: &[Mutex<usize>]) {
        let [lock, below @ ..] = locks else { return work(1) };
        each(pool, 4, |item| {
            let mut held = lock.lock().unwrap();
            work(item);
            level(pool, below);
            *held += 1;
        });
    }

    let locks = [0; 3].map(Mutex::new);
    let calls = everywhere("a lock of each level", |pool| level(pool, &locks));
    assert_eq!(locks.map(|lock| lock.into_inner().unwrap() / calls), [4, 16, 64]);
}

/// rayon#1251: two callers compute the same values lazily, and these values depend on other values
/// that both callers share.
#[test]
fn values_are_made_by_loops_inside_get_or_init() {
    const CELLS: usize = 4;
    everywhere("a loop inside get_or_init", |pool| {
        let [upper, lower] = [(); 2].map(|()| [const { OnceLock::new() }; CELLS]);
        let made = AtomicUsize::new(0);
        let make_lower = || {
            made.fetch_add(1, Relaxed);
            inner(pool)
        };
        let make_upper = || {
            let sum = AtomicUsize::new(0);
            made.fetch_add(1, Relaxed);
            each(pool, INNER, |item| {
                work(item);
                sum.fetch_add(*lower[item / 2].get_or_init(make_lower), Relaxed);
            });
            sum.into_inner()
        };
        let look = || {
            each(pool, CELLS * OUTER, |item| {
                work(item);
                assert_eq!(*upper[item / OUTER].get_or_init(make_upper), INNER * INNER);
            });
        };
        thread::scope(|scope| {
            scope.spawn(look);
            look();
        });
        assert_eq!(made.into_inner(), CELLS + INNER / 2);
    });
}

/// A thread inside an item begins no other item of the same loop. The thread also begins no item of
/// the same level of another nest.
#[test]
fn what_an_item_borrows_of_its_thread_is_not_borrowed_by_another_item() {
    const LEVELS: usize = 3;
    thread_local! {
        static SCRATCH: [RefCell<Vec<usize>>; LEVELS] = const { [const { RefCell::new(Vec::new()) }; LEVELS] };
    }

    fn nest(pool: &Pool, level: usize, leaves: &AtomicUsize) {
        each(pool, 6, |item| {
            SCRATCH.with(|levels| {
                let mut scratch = levels[level].try_borrow_mut().expect("no other item on this thread");
                scratch.push(item);
                work(item);
                if level + 1 < LEVELS {
                    nest(pool, level + 1, leaves);
                } else {
                    leaves.fetch_add(1, Relaxed);
                }
                assert_eq!(scratch.pop(), Some(item));
            });
        });
    }

    let leaves = AtomicUsize::new(0);
    let calls = everywhere("scratch memory of a thread", |pool| nest(pool, 0, &leaves));
    assert_eq!(leaves.into_inner(), calls * 6 * 6 * 6);
}

/// The caller holds a lock around a loop: no item can take the lock.
#[test]
fn a_lock_that_the_caller_holds_around_a_loop_is_free_to_none_of_its_items() {
    let lock = Mutex::new(0);
    everywhere("a lock held by the caller", |pool| {
        let held = lock.lock().unwrap();
        each(pool, INNER, |item| {
            work(item);
            assert!(lock.try_lock().is_err());
        });
        drop(held);
    });
}
