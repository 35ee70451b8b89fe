//! Tests of pools with a stack size. A call from outside of the pool runs on a thread of the pool.

#![cfg(feature = "threads")]

use std::{
    collections::HashSet,
    env,
    hint::black_box,
    panic::catch_unwind,
    process::Command,
    sync::{Arc, Mutex, mpsc},
    thread,
};

use rangesteal_rayon::{self as rayon, ThreadPool, ThreadPoolBuilder, prelude::*};

/// A recursion that needs 16 MiB of stack. A thread has 2 MiB by default, and the main thread 8.
fn deep() -> usize {
    fn descend(levels: usize) -> usize {
        let frame = black_box([levels; 1024]); // 8 KiB
        if levels == 0 { 0 } else { descend(levels - 1) + frame[1023] / levels }
    }
    descend(2_000)
}

fn builder() -> ThreadPoolBuilder {
    ThreadPoolBuilder::new().num_threads(2).stack_size(256 << 20)
}

fn pool() -> ThreadPool {
    builder().build().expect("a pool")
}

/// Each kind of call from outside, on the pool of the calling thread.
fn calls_on_the_current_pool() {
    let numbers = || (0..16_usize).into_par_iter();
    let mut sorted = [3, 1, 2];
    numbers().for_each(|_| _ = deep());
    assert_eq!(numbers().map(|i| i + deep()).sum::<usize>(), 32_120);
    assert_eq!(numbers().map(|i| i + deep()).collect::<Vec<_>>().len(), 16);
    assert!(numbers().any(|_| deep() == 2_000));
    assert_eq!(numbers().position_any(|_| deep() != 2_000), None);
    assert_eq!(numbers().fold(|| 0, |sum, _| sum + deep()).sum::<usize>(), 32_000);
    assert_eq!(numbers().map_init(deep, |made, _| *made).max(), Some(2_000));
    assert_eq!(numbers().try_for_each(|i| if deep() > i { Ok(()) } else { Err(i) }), Ok(()));
    let mut all = Vec::new();
    numbers().map(|_| deep()).collect_into_vec(&mut all);
    all.par_extend(numbers().map(|_| deep()));
    assert_eq!(all, [2_000; 32]);
    assert_eq!((0..4).map(|_| deep()).par_bridge().sum::<usize>(), 8_000);
    sorted.par_sort_by_key(|key| key * deep());
    sorted.par_sort_unstable_by(|a, b| (deep() * b).cmp(&(deep() * a)));
    assert_eq!(sorted, [3, 2, 1]);
    assert_eq!(rayon::join(deep, deep), (2_000, 2_000));
    assert_eq!(rayon::join_context(|_| deep(), |_| deep()), (2_000, 2_000));
    rayon::scope(|scope| {
        scope.spawn(|_| _ = deep());
        scope.spawn(|scope| scope.spawn(|_| _ = deep()));
        deep();
    });
    rayon::scope_fifo(|scope| scope.spawn_fifo(|_| _ = deep()));
    rayon::in_place_scope(|scope| {
        scope.spawn(|_| _ = deep());
        scope.spawn(|_| _ = deep());
        (0..4).into_par_iter().for_each(|_| _ = deep());
    });
}

#[test]
fn what_is_installed_has_the_stack() {
    let pool = pool();
    assert_eq!(pool.install(deep), 2_000);
    pool.install(calls_on_the_current_pool);
    assert_eq!(
        ThreadPoolBuilder::new().num_threads(1).stack_size(256 << 20).build().unwrap().install(deep),
        2_000
    );
}

#[test]
fn joins_and_scopes_of_a_pool_have_the_stack() {
    let pool = pool();
    assert_eq!(pool.join(deep, deep), (2_000, 2_000));
    pool.scope(|scope| {
        scope.spawn(|_| _ = deep());
        scope.spawn(|_| _ = deep());
        deep();
    });
    pool.scope_fifo(|scope| scope.spawn_fifo(|_| _ = deep()));
    pool.in_place_scope(|scope| (0..3).for_each(|_| scope.spawn(|_| _ = deep())));
    pool.in_place_scope_fifo(|scope| (0..3).for_each(|_| scope.spawn_fifo(|_| _ = deep())));
    for pool in [builder().num_threads(1).build().unwrap(), pool] {
        let joined = pool.in_place_scope(|_| rayon::join(deep, deep));
        assert_eq!(joined, (2_000, 2_000));
        let joined = pool.in_place_scope(|_| rayon::join_context(|_| deep(), |_| deep()));
        assert_eq!(joined, (2_000, 2_000));
    }
}

/// Runs in a process of its own, because it builds the global pool.
#[test]
fn loops_on_the_global_pool_have_the_stack() {
    const CHILD: &str = "RANGESTEAL_STACKS_CHILD";
    if env::var_os(CHILD).is_some() {
        builder().build_global().expect("the first use");
        return calls_on_the_current_pool();
    }
    let mut child = Command::new(env::current_exe().expect("a path"));
    child.args(["loops_on_the_global_pool_have_the_stack", "--exact"]).env(CHILD, "1");
    let output = child.output().expect("a child");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn a_thread_of_the_pool_is_number_0_and_has_the_name_and_the_handler() {
    let (sender, started) = mpsc::channel();
    let sender = Mutex::new(sender);
    let builder = builder().thread_name(|number| format!("deep-{number}"));
    let pool = builder.start_handler(move |number| sender.lock().unwrap().send(number).unwrap()).build();
    let pool = pool.expect("a pool");
    let here = || (rayon::current_thread_index(), rayon::current_num_threads(), thread::current().id());
    let (index, threads, id) = pool.install(here);
    assert_eq!((index, threads), (Some(0), 2));
    assert!(id != thread::current().id());
    assert_eq!(pool.install(|| pool.install(here)), (index, threads, id));
    let name = pool.install(|| thread::current().name().map(str::to_owned));
    assert_eq!(name.as_deref(), Some("deep-0"));
    let started = [(); 2].map(|()| started.recv().unwrap());
    assert_eq!(HashSet::from(started), HashSet::from([0, 1]));
    assert_eq!(rayon::current_thread_index(), None);
}

#[test]
fn a_panic_comes_out_of_install_and_of_loops() {
    let pool = Arc::new(pool());
    for _ in 0..2 {
        let payload = catch_unwind(|| pool.install(|| -> u8 { std::panic::panic_any(7) })).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&7));
        let in_a_loop = || pool.install(|| (0..9).into_par_iter().for_each(|i| assert!(i != 5, "five")));
        assert_eq!(catch_unwind(in_a_loop).unwrap_err().downcast_ref(), Some(&"five"));
    }
}
