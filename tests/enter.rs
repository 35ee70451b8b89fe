//! Tests of `Pool::enter`: closures on a thread that has the options of the pool's threads.

#![cfg(target_os = "linux")]

mod child;
mod forked;

use std::{
    collections::HashSet,
    hint::black_box,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Barrier, Mutex},
    thread,
    time::Duration,
};

use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use rangesteal::{BuildError, Pinning, Pool, PoolBuilder};

/// A recursion that needs 16 MiB of stack. A thread has 2 MiB by default, and the main thread 8.
fn deep() -> usize {
    fn descend(levels: usize) -> usize {
        let frame = black_box([levels; 1024]); // 8 KiB
        if levels == 0 { 0 } else { descend(levels - 1) + frame[1023] / levels }
    }
    descend(2_000)
}

fn with_deep_stacks(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).stack_size(256 << 20).build().unwrap()
}

fn name() -> Option<String> {
    thread::current().name().map(str::to_owned)
}

fn cpus() -> usize {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).count()
}

#[test]
fn a_closure_and_its_loops_have_the_stack() {
    for threads in 1..=3 {
        let pool = with_deep_stacks(threads);
        assert_eq!(pool.enter(deep), 2_000);
        let lens = [1, 2, 3]; // borrowed
        assert_eq!(pool.enter(|| pool.on(&lens).map(|len| len * deep()).sum::<usize>()), 12_000);
        assert_eq!(pool.enter(|| pool.join(deep, deep)), (2_000, 2_000));
        let seeds = || pool.grow([(); 4]).fold_unordered(|| 0, |sum, (), _| sum + deep(), |a, b| a + b);
        assert_eq!(pool.enter(seeds), 8_000);
    }
}

#[test]
fn loops_inside_use_the_workers() {
    let pool = Pool::builder().num_threads(3).build().unwrap();
    let seen = Mutex::new(HashSet::new());
    let host = pool.enter(|| {
        pool.on(0..60).for_each(|_| {
            thread::sleep(Duration::from_millis(2));
            seen.lock().unwrap().insert(thread::current().id());
        });
        thread::current().id()
    });
    let seen = seen.into_inner().unwrap();
    assert!(seen.len() > 1 && seen.contains(&host) && !seen.contains(&thread::current().id()), "{seen:?}");
}

#[test]
fn a_panic_comes_out_and_the_pool_stays_usable() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    for number in 0..3 {
        let enter = || pool.enter(|| -> u8 { std::panic::panic_any(number) });
        let payload = catch_unwind(AssertUnwindSafe(enter)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&number));
        let in_a_loop = || pool.enter(|| pool.on(0..9).for_each(|i| assert!(i != 5, "five")));
        let payload = catch_unwind(AssertUnwindSafe(in_a_loop)).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&"five"));
        assert_eq!(pool.enter(|| pool.on(1..=100).sum::<i32>()), 5050);
    }
}

#[test]
fn a_thread_of_the_pool_calls_the_closure_itself() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let id = || thread::current().id();
    let (outer, inner) = pool.enter(|| (id(), pool.enter(id)));
    assert_eq!(outer, inner);
    let caller = id();
    pool.on(0..40).for_each(|_| {
        thread::sleep(Duration::from_millis(1));
        assert_eq!(pool.enter(id) == id(), id() != caller);
    });
    // From the thread of another pool's closure, and back again.
    let other = Pool::builder().num_threads(2).build().unwrap();
    let all = pool.enter(|| {
        let (there, back) = other.enter(|| (id(), pool.enter(id)));
        HashSet::from([id(), there, back])
    });
    assert_eq!(all.len(), 3);
}

/// Each closure waits for the other one, and all workers are busy.
#[test]
fn calls_do_not_wait_for_each_other() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let all = Barrier::new(5);
    for _ in 0..3 {
        thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| pool.enter(|| _ = all.wait()));
            }
            pool.on(0..2).for_each(|i| {
                if i == 0 {
                    all.wait();
                }
                assert_eq!(pool.enter(|| pool.on(0..10).sum::<i32>()), 45);
            });
        });
    }
}

#[test]
fn the_thread_has_the_name_and_the_handlers_and_is_kept() {
    let notes: [Arc<Mutex<Vec<usize>>>; 2] = Default::default();
    let note = |at: usize| {
        let notes = Arc::clone(&notes[at]);
        move |worker| notes.lock().unwrap().push(worker)
    };
    let builder = Pool::builder().num_threads(2).thread_name(|worker| format!("deep-{worker}"));
    let pool = builder.start_handler(note(0)).exit_handler(note(1)).build().unwrap();
    assert_eq!(*notes[0].lock().unwrap(), [1], "no call yet");
    let seen: HashSet<_> = (0..10).map(|_| pool.enter(|| (thread::current().id(), name()))).collect();
    assert_eq!(seen.into_iter().map(|(_, name)| name).collect::<Vec<_>>(), [Some("deep-0".to_owned())]);
    drop(pool);
    let [mut started, mut ended] = notes.map(|notes| notes.lock().unwrap().clone());
    started.sort_unstable();
    ended.sort_unstable();
    assert_eq!((started, ended), (vec![0, 1], vec![0, 1]));
    let nameless = |worker| if worker == 0 { "\0".into() } else { String::new() };
    let error = Pool::builder().thread_name(nameless).build().unwrap_err();
    assert!(matches!(error, BuildError::ThreadName { .. }));
}

#[test]
fn a_thread_that_cannot_start_is_a_panic() {
    let message = |pool: &Pool| {
        let payload = catch_unwind(AssertUnwindSafe(|| pool.enter(|| ()))).unwrap_err();
        payload.downcast_ref::<String>().unwrap().clone()
    };
    let start = |worker| assert!(worker != 0, "not here");
    let pool = Pool::builder().num_threads(2).start_handler(start).build().unwrap();
    for _ in 0..2 {
        assert_eq!(message(&pool), "no thread for Pool::enter: the start handler has panicked: not here");
    }
    let pool = Pool::builder().num_threads(1).stack_size(1 << 50).build().unwrap();
    assert!(message(&pool).starts_with("no thread for Pool::enter: "));
    assert_eq!(pool.on(1..=100).sum::<i32>(), 5050);
}

/// The first call comes from a thread that is pinned to one CPU.
#[test]
fn the_thread_may_run_on_the_cpus_of_the_builder() {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let all = cpus();
    let of_host = Pool::builder().num_threads(2).scope(|_| pool.enter(cpus)).unwrap();
    assert_eq!([of_host, pool.enter(cpus)], [all; 2]);
    let inside = Pool::builder().num_threads(2).scope(|pool| pool.enter(cpus)).unwrap();
    assert_eq!(inside, all);
}

#[test]
fn the_global_pool_has_such_threads() {
    if child::is_child() {
        let builder: PoolBuilder = Pool::builder().num_threads(2).stack_size(256 << 20);
        let pool = builder.pinning(Pinning::Off).build_global().unwrap();
        assert_eq!(pool.enter(deep), 2_000);
        assert_eq!(Pool::global().enter(name).as_deref(), Some("rangesteal-0"));
    } else {
        child::passed(&child::run(&[], "the_global_pool_has_such_threads", &[]));
    }
}

#[test]
fn a_forked_child_starts_a_thread_for_each_call() {
    let pool = with_deep_stacks(2);
    let works = || {
        for _ in 0..3 {
            assert_eq!(pool.enter(|| (deep(), pool.on(1..=100).sum::<i32>())), (2_000, 5050));
        }
    };
    let (inside, forked) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|threads| {
        threads.spawn(|| {
            pool.enter(|| {
                inside.wait();
                forked.wait();
            });
        });
        inside.wait();
        works(); // this second thread is kept
        forked::forked(works);
        forked.wait();
    });
    works();
}
