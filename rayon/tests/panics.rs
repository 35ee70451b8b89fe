//! Panics whose payloads, and results whose drops, panic in turn. The first panic comes out.

use std::{
    mem,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use rangesteal_rayon::{self as rayon, Scope, ScopeFifo};

/// A value whose drop panics.
struct Bomb(usize);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic_any("the drop");
    }
}

/// The number of the bomb with which `work` panics.
fn bomb_of<R>(work: impl FnOnce() -> R) -> usize {
    let payload = catch_unwind(AssertUnwindSafe(|| mem::forget(work()))).expect_err("a panic comes out");
    let bomb = payload.downcast::<Bomb>().expect("the panic of a closure");
    let number = bomb.0;
    mem::forget(bomb);
    number
}

#[test]
fn of_a_join_with_two_panics_the_first_comes_out() {
    let strike = |number| -> u8 { panic_any(Bomb(number)) };
    let of_joins = || {
        assert_eq!(bomb_of(|| rayon::join(|| strike(1), || strike(2))), 1);
        assert_eq!(bomb_of(|| rayon::join(|| strike(1), || Bomb(2))), 1);
        assert_eq!(bomb_of(|| rayon::join(|| Bomb(1), || strike(2))), 2);
        assert_eq!(bomb_of(|| rayon::join_context(|_| strike(1), |_| strike(2))), 1);
    };
    of_joins();
    // Inside a pool of one thread no join is offered to another thread.
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    alone.install(of_joins);
}

#[test]
fn the_second_closure_of_a_join_that_is_not_offered_is_called_though_the_first_one_panics() {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let calls = AtomicUsize::new(0);
    let count = || calls.fetch_add(1, Relaxed);
    let strike = || -> u8 { panic_any(Bomb(1)) };
    assert_eq!(bomb_of(|| alone.install(|| rayon::join(strike, count))), 1);
    assert_eq!(bomb_of(|| alone.install(|| rayon::join_context(|_| strike(), |_| count()))), 1);
    assert_eq!(calls.into_inner(), 2);
}

const TASKS: usize = 20;
static RAN: AtomicUsize = AtomicUsize::new(0);

/// Counts a task, and panics.
fn strike(number: usize) {
    RAN.fetch_add(1, Relaxed);
    panic_any(Bomb(number));
}

#[test]
fn all_tasks_of_a_scope_run_whatever_the_drops_of_payloads_do() {
    // The task 0 runs alone, and the tasks that it adds run together.
    let newest_first = |scope: &Scope<'_>| {
        (1..TASKS).for_each(|number| scope.spawn(move |_| strike(number)));
        strike(0);
    };
    assert_eq!(bomb_of(|| rayon::scope(|scope| scope.spawn(newest_first))), 0);
    assert_eq!(RAN.swap(0, Relaxed), TASKS);
    let oldest_first = |scope: &ScopeFifo<'_>| {
        (1..TASKS).for_each(|number| scope.spawn_fifo(move |_| strike(number)));
        strike(0);
    };
    assert_eq!(bomb_of(|| rayon::scope_fifo(|scope| scope.spawn_fifo(oldest_first))), 0);
    assert_eq!(RAN.swap(0, Relaxed), TASKS);
    let one_by_one = |scope: &Scope<'_>| {
        scope.spawn(|scope| {
            scope.spawn(|_| strike(2));
            strike(1);
        });
        strike(0);
    };
    assert_eq!(bomb_of(|| rayon::in_place_scope(one_by_one)), 0);
    assert_eq!(RAN.swap(0, Relaxed), 3);
}

#[test]
fn the_result_of_a_scope_is_dropped_if_a_task_panics() {
    let scope = |scope: &Scope<'_>| {
        scope.spawn(|_| panic_any(Bomb(3)));
        Bomb(4)
    };
    assert_eq!(bomb_of(|| rayon::scope(scope)), 3);
}
