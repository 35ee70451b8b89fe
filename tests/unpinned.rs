//! Tests of what items start: programs, threads and pools, on workers that are pinned.

#![cfg(target_os = "linux")]

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    process::Command,
    sync::Mutex,
    thread::{self, available_parallelism},
    time::Duration,
};

use nix::{
    sched::{CpuSet, sched_getaffinity, sched_setaffinity},
    unistd::Pid,
};
use rangesteal::{Pinning, Pool};

fn mask() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).collect()
}

/// What `item` returns on the caller and on helpers, which both take part.
fn on_all<R: Send>(pool: &Pool, item: impl Fn() -> R + Sync) -> Vec<R> {
    let seen = Mutex::new(HashSet::new());
    for _ in 0..100 {
        let results = pool.on(0..16).map(|_| {
            seen.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_millis(2));
            item()
        });
        let results = results.collect();
        if seen.lock().unwrap().len() > 1 {
            return results;
        }
    }
    panic!("no helper takes part");
}

/// Programs and threads that an item starts, and the count of std.
fn started() -> [usize; 3] {
    let nproc = Command::new("nproc").env_remove("OMP_NUM_THREADS").output().unwrap();
    let count = || available_parallelism().unwrap().get();
    let of_thread = thread::spawn(count).join().unwrap();
    [String::from_utf8(nproc.stdout).unwrap().trim().parse().unwrap(), count(), of_thread]
}

#[test]
fn what_starts_unpinned_may_use_all_cpus() {
    let (pool, all) = (Pool::builder().num_threads(3).build().unwrap(), started());
    assert_eq!(pool.unpinned(started), all, "outside");
    for seen in on_all(&pool, || pool.unpinned(started)) {
        assert_eq!(seen, all);
    }
    Pool::builder()
        .num_threads(2)
        .scope(|pool| {
            let pinned = mask();
            assert_eq!(pool.unpinned(started), all, "the caller of a scope");
            assert_eq!(mask(), pinned);
        })
        .unwrap();
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_worker_is_pinned_again() {
    let pool = Pool::builder().num_threads(3).pinning(Pinning::Required).build().unwrap();
    let (outside, caller) = (mask(), thread::current().id());
    let is_pinned = || thread::current().id() == caller || mask().len() == 1;
    let all = on_all(&pool, || {
        assert!(is_pinned());
        let nested = pool.unpinned(|| {
            pool.unpinned(|| assert_eq!(mask(), outside));
            mask()
        });
        assert_eq!(nested, outside, "the inner call has pinned the thread");
        assert!(is_pinned());
        let panics = || pool.unpinned(|| panic_any(mask()));
        let payload = catch_unwind(AssertUnwindSafe(panics)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&outside));
        is_pinned()
    });
    assert!(all.into_iter().all(|is_pinned| is_pinned));
    assert_eq!(mask(), outside);
    let seats = pool.placement().seats;
    assert!(seats[1..].iter().all(|seat| seat.pin == rangesteal::PinState::Pinned), "{seats:?}");
}

#[test]
fn a_mask_that_the_program_has_set_is_kept() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let first = mask()[0];
    let mut only = CpuSet::new();
    only.set(first).unwrap();
    sched_setaffinity(Pid::from_raw(0), &only).unwrap();
    assert_eq!(pool.unpinned(mask), [first]);
}

#[test]
fn a_pool_that_an_item_builds_has_all_cpus() {
    let pool = Pool::builder().num_threads(3).build().unwrap();
    let expected = Pool::new().unwrap().num_threads();
    let all = mask();
    let built = || {
        let inner = Pool::new().unwrap();
        let unpinned = Pool::builder().num_threads(2).pinning(Pinning::Off).build().unwrap();
        let masks = Mutex::new(HashSet::new());
        let me = thread::current().id();
        for _ in 0..100 {
            unpinned.on(0..8).for_each(|_| {
                thread::sleep(Duration::from_millis(1));
                if thread::current().id() != me {
                    masks.lock().unwrap().insert(mask());
                }
            });
            if !masks.lock().unwrap().is_empty() {
                break;
            }
        }
        (inner.num_threads(), masks.into_inner().unwrap(), inner.enter(mask))
    };
    let check = |(threads, masks, of_host): (usize, HashSet<_>, Vec<_>)| {
        assert_eq!((threads, of_host), (expected, all.clone()));
        assert_eq!(masks, HashSet::from([all.clone()]), "threads that are not pinned");
    };
    on_all(&pool, built).into_iter().for_each(check);
    check(Pool::builder().num_threads(2).scope(|_| built()).unwrap());
}
