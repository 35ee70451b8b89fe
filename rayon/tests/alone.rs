//! Without the feature `threads` everything runs on the calling thread: loops, pools, scopes,
//! joins. `cargo test -p rangesteal-rayon --no-default-features`

#![cfg(not(feature = "threads"))]

use std::{sync::Mutex, thread};

use rangesteal_rayon::{self as rayon, ThreadPoolBuilder, prelude::*};

#[test]
fn everything_runs_on_the_calling_thread() {
    let caller = thread::current().id();
    let here = || assert_eq!(thread::current().id(), caller);
    assert_eq!(rayon::current_num_threads(), 1);
    (0..100_000).into_par_iter().for_each(|_| here());
    let squares: Vec<_> = [1, 2, 3].par_iter().map(|x| x * x).inspect(|_| here()).collect();
    assert_eq!(squares, [1, 4, 9]);
    let mut items: Vec<u32> = (0..100_000).rev().collect();
    items.par_sort_by(|a, b| {
        here();
        a.cmp(b)
    });
    assert!(items.is_sorted());
    assert_eq!(rayon::join(|| (here(), 1).1, || (here(), 2).1), (1, 2));
    let order = Mutex::new(Vec::new());
    rayon::scope(|scope| {
        for i in 0..3 {
            let order = &order;
            scope.spawn(move |_| {
                here();
                order.lock().unwrap().push(i);
            });
        }
    });
    assert_eq!(order.into_inner().unwrap(), [2, 1, 0]);
    let pool = ThreadPoolBuilder::new().num_threads(8).build().expect("a pool of this thread");
    assert_eq!(pool.current_num_threads(), 1);
    pool.install(|| (0..1000).into_par_iter().for_each(|_| here()));
    // No builder has built the global pool before, so this call succeeds.
    ThreadPoolBuilder::new().num_threads(8).build_global().expect("nothing to start");
    assert_eq!(rayon::max_num_threads(), 1);
}

#[test]
fn tasks_run_on_the_calling_thread() {
    let order = std::sync::Arc::new(Mutex::new(Vec::new()));
    let says = |what: &'static str| {
        let (order, caller) = (std::sync::Arc::clone(&order), thread::current().id());
        move || {
            assert_eq!(thread::current().id(), caller);
            order.lock().unwrap().push(what);
        }
    };
    let (outer, inner, last) = (says("outer"), says("inner"), says("last"));
    rayon::spawn(move || {
        rayon::spawn(inner);
        outer();
    });
    rayon::spawn_fifo(last);
    assert_eq!(*order.lock().unwrap(), ["outer", "inner", "last"]);
    assert_eq!(rayon::broadcast(|context| (context.index(), context.num_threads())), [(0, 1)]);
    let broadcast = says("broadcast");
    rayon::spawn_broadcast(move |_| broadcast());
    rayon::scope(|scope| scope.spawn_broadcast(|_, context| assert_eq!(context.num_threads(), 1)));
    assert_eq!(order.lock().unwrap().len(), 4);
}

/// Reads the list of threads in `/proc`.
#[test]
#[cfg(target_os = "linux")]
fn no_thread_is_started() {
    let sum: u64 = (0..1_000_000_u64).into_par_iter().sum();
    assert_eq!(sum, 499_999_500_000);
    for task in std::fs::read_dir("/proc/self/task").unwrap() {
        let name = std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default();
        assert!(!name.starts_with("rangesteal"), "{name}");
    }
}
