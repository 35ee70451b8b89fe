//! Tests of pools with far more threads than CPUs.

#![cfg(not(portable))] // other systems do not tell which items sleep

mod busy;

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use busy::work;
use rangesteal::Pool;

const THREADS: usize = 1500;

/// The number of threads that take part in a loop.
fn threads_of(pool: &Pool, item: impl Fn() + Sync) -> usize {
    let seen = Mutex::new(HashSet::new());
    pool.on(0..2 * THREADS).for_each(|_| {
        seen.lock().unwrap().insert(thread::current().id());
        item();
    });
    seen.into_inner().unwrap().len()
}

#[test]
fn a_loop_wakes_few_threads_unless_its_items_sleep() {
    let pool = Pool::builder().num_threads(THREADS).build().unwrap();
    let most = 256;
    let first = threads_of(&pool, || work(1_000_000));
    assert!(first <= 1 + most, "{first} threads have taken part, but {most} helpers suffice");
    let sleepers = || threads_of(&pool, || thread::sleep(Duration::from_millis(20)));
    let first = sleepers();
    assert!(first > most / 2, "{first} of {most} threads have taken part in the first call");
    assert!((0..30).any(|_| sleepers() > 1 + most), "the other threads take no part");
    // Beside other programs, each thread waits for a CPU when it wakes. (When such threads were
    // taken for starved ones, 5 threads took part in the third call.)
    let is_over = AtomicBool::new(false);
    let busy = || {
        while !is_over.load(Relaxed) {
            work(1_000_000);
        }
    };
    let last = thread::scope(|scope| {
        (0..6).for_each(|_| drop(scope.spawn(busy)));
        let last = (0..3).fold(0, |_, _| sleepers());
        is_over.store(true, Relaxed);
        last
    });
    assert!(last > most / 2, "{last} threads have taken part beside busy threads");
}
