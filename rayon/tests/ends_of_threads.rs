//! Loops at the end of a thread, in destructors of its thread-local variables.

use std::{cell::RefCell, thread};

use rangesteal_rayon::{self as rayon, ThreadPoolBuilder, prelude::*};

/// A variable of a thread. Its drop calls a closure.
struct AtEnd(RefCell<Option<Box<dyn FnOnce()>>>);

impl Drop for AtEnd {
    fn drop(&mut self) {
        self.0.take().expect("set by `at_end`")();
    }
}

/// Starts a thread that calls `before`, uses its variable, calls `between`, and ends with `last`.
/// (Variables are dropped in the reverse order of their first use.)
fn at_end(before: fn(), between: fn(), last: impl FnOnce() + Send + 'static) {
    thread_local!(static AT_END: AtEnd = const { AtEnd(RefCell::new(None)) });
    let thread = thread::spawn(move || {
        before();
        AT_END.with(|at_end| at_end.0.replace(Some(Box::new(last))));
        between();
    });
    thread.join().expect("a panic in a destructor ends the process");
}

fn a_loop() {
    assert_eq!((0..1000_u32).into_par_iter().sum::<u32>(), 499_500);
}

fn all_kinds_of_loops() {
    a_loop();
    assert_eq!(rayon::join(|| 1, || (0..1000).into_par_iter().map(|_| 1).sum::<u32>()), (1, 1000));
    let mut numbers: Vec<u32> = (0..10_000).rev().collect();
    numbers.par_sort();
    assert!(numbers.par_iter().copied().eq((0..10_000_u32).into_par_iter()));
    rayon::scope(|scope| scope.spawn(|_| a_loop()));
    assert_eq!(rayon::current_thread_index(), None);
    // Each item calls a loop.
    assert_eq!(
        (0..4).into_par_iter().map(|_| rayon::current_num_threads()).max(),
        Some(rayon::current_num_threads())
    );
    (0..4).into_par_iter().for_each(|_| a_loop());
    assert!(numbers.into_iter().par_bridge().any(|x| x == 9_999));
}

#[test]
fn a_destructor_calls_loops() {
    fn nothing() {}
    for before in [nothing, a_loop] {
        for between in [nothing, a_loop] {
            at_end(before, between, all_kinds_of_loops);
        }
    }
}

#[test]
fn a_destructor_calls_loops_on_a_pool_of_its_own() {
    let pool = ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    at_end(
        || {},
        a_loop,
        move || {
            pool.install(all_kinds_of_loops_of_three);
            all_kinds_of_loops();
        },
    );
}

fn all_kinds_of_loops_of_three() {
    let counts = (0..100).into_par_iter().map(|_| rayon::current_num_threads()).collect::<Vec<_>>();
    assert_eq!(counts, [if cfg!(feature = "threads") { 3 } else { 1 }; 100]);
    a_loop();
}
