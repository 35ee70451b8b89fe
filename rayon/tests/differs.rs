//! Differences from rayon that the README lists.

#![cfg(feature = "threads")]

use std::{
    collections::HashSet,
    panic::catch_unwind,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
};

use rangesteal_rayon::{self as rayon, ThreadPoolBuilder, prelude::*};

fn pool(threads: usize) -> rayon::ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

#[test]
fn the_calling_thread_works_and_install_calls_on_it() {
    let caller = thread::current().id();
    assert_eq!(pool(2).install(|| thread::current().id()), caller);
    let seen = Mutex::new(HashSet::new());
    pool(1).install(|| {
        (0..100).into_par_iter().for_each(|_| _ = seen.lock().unwrap().insert(thread::current().id()));
    });
    assert_eq!(seen.into_inner().unwrap(), HashSet::from([caller]));
}

#[test]
fn a_thread_that_waits_does_nothing_else() {
    // `was` would be true if an item began on a thread while another item of the same thread waits.
    let depth = AtomicUsize::new(0);
    pool(2).install(|| {
        (0..50).into_par_iter().for_each(|_| {
            thread_local!(static INSIDE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) });
            let was = INSIDE.replace(true);
            depth.fetch_max(usize::from(was), Relaxed);
            (0..100).into_par_iter().for_each(|_| thread::yield_now());
            INSIDE.set(was);
        });
    });
    assert_eq!(depth.into_inner(), 0);
}

#[test]
fn the_calling_thread_is_number_0() {
    assert_eq!(rayon::current_thread_index(), None);
    let pool = pool(3);
    assert_eq!(pool.install(rayon::current_thread_index), Some(0));
    assert_eq!(pool.install(rayon::current_num_threads), 3);
    let numbers: Vec<_> =
        pool.install(|| (0..1000).into_par_iter().map(|_| rayon::current_thread_index()).collect());
    assert!(numbers.iter().all(|number| number.is_some_and(|number| number < 3)));
    // A loop inside an item runs on the pool of the item, and the thread keeps its number.
    pool.install(|| {
        (0..100).into_par_iter().for_each(|_| {
            let outside = (rayon::current_num_threads(), rayon::current_thread_index());
            (0..1).into_par_iter().for_each(|_| {
                assert_eq!((rayon::current_num_threads(), rayon::current_thread_index()), outside);
            });
        });
    });
    assert_eq!(rayon::current_thread_index(), None);
}

#[test]
fn the_first_error_and_the_first_panic_come_out() {
    for _ in 0..20 {
        let odd = |i: usize| if i % 100 == 99 { Err(i) } else { Ok(i) };
        let all: Result<Vec<_>, _> = (0..1000).into_par_iter().map(odd).collect();
        assert_eq!(all, Err(99));
        assert_eq!((0..1000).into_par_iter().try_for_each(|i| odd(i).map(drop)), Err(99));
    }
    let panics = catch_unwind(|| (0..1000).into_par_iter().for_each(|i| assert!(i % 100 != 99, "{i}")));
    assert_eq!(panics.unwrap_err().downcast_ref::<String>().unwrap(), "99");
}

#[test]
fn find_any_goes_from_the_front() {
    pool(1).install(|| {
        assert_eq!((0..1000).into_par_iter().find_any(|i| i % 300 == 299), Some(299));
        assert_eq!((0..1000).into_par_iter().position_any(|i| i % 300 == 299), Some(299));
    });
    assert_eq!((0..1000).into_par_iter().find_last(|i| i % 300 == 299), Some(899));
}

#[test]
fn no_closure_sees_what_is_skipped() {
    let calls = AtomicUsize::new(0);
    let count =
        (0..1000).into_par_iter().inspect(|_| _ = calls.fetch_add(1, Relaxed)).skip(600).take(300).count();
    assert_eq!((count, calls.into_inner()), (300, 300));
}

#[test]
fn a_task_begins_when_the_closure_that_spawns_it_has_ended() {
    let order = Mutex::new(Vec::new());
    rayon::scope(|scope| {
        scope.spawn(|scope| {
            scope.spawn(|_| order.lock().unwrap().push("inner"));
            order.lock().unwrap().push("outer");
        });
        order.lock().unwrap().push("scope");
    });
    assert_eq!(order.into_inner().unwrap(), ["scope", "outer", "inner"]);
}

#[test]
fn lengths_bound_what_is_folded() {
    let runs = |least, most| -> Vec<usize> {
        let items = (0..1000).into_par_iter().with_min_len(least).with_max_len(most);
        items.fold(|| 0, |count, _| count + 1).collect()
    };
    assert_eq!(runs(1, 1).len(), 1000);
    assert!(runs(10, 100).iter().all(|run| (10..=100).contains(run)));
}

#[test]
fn sorts_panic_if_the_order_is_none() {
    let mut items: Vec<u32> = (0..100_000).map(|i: u32| i.wrapping_mul(2_654_435_761)).collect();
    items.par_sort();
    assert!(items.is_sorted());
    let mut few: Vec<_> = (0..1000).collect();
    let state = AtomicUsize::new(1);
    let order = |_: &i32, _: &i32| {
        let next = state.load(Relaxed).wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.store(next, Relaxed);
        (next >> 60).cmp(&8)
    };
    let sorted = catch_unwind(std::panic::AssertUnwindSafe(|| few.par_sort_by(order)));
    let of_std = catch_unwind(std::panic::AssertUnwindSafe(|| (0..1000).collect::<Vec<_>>().sort_by(order)));
    assert_eq!(sorted.is_err(), of_std.is_err());
}
