//! Tests of tasks that outlive their caller, of calls on each thread, and of scopes whose tasks and
//! closures wait for each other.

#![cfg(feature = "threads")]

use std::{
    env,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    process::Command,
    sync::{
        Arc, Barrier, Condvar, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, channel, sync_channel},
    },
    thread,
    time::Duration,
};

use rangesteal_rayon::{self as rayon, ThreadPool, ThreadPoolBuilder, Yield, prelude::*};

const LONG: Duration = Duration::from_secs(60);

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool")
}

/// The next message; fails if it takes too long.
#[track_caller]
fn next<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(LONG).expect("a message within a minute")
}

fn sorted<T: Ord>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut items: Vec<T> = items.into_iter().collect();
    items.sort();
    items
}

#[test]
fn a_task_begins_although_its_caller_goes_on() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for spawn in [ThreadPool::spawn, ThreadPool::spawn_fifo] {
            let (numbers, sum) = (sync_channel(2), channel());
            let task: Box<dyn FnOnce() + Send> =
                Box::new(move || sum.0.send(numbers.1.iter().sum::<u64>()).unwrap());
            spawn(&pool, task);
            (0..100).for_each(|x| numbers.0.send(x).unwrap());
            drop(numbers.0);
            assert_eq!(next(&sum.1), 4950);
        }
    }
}

#[test]
fn tasks_of_the_global_pool_run() {
    let (sender, receiver) = channel();
    let again = sender.clone();
    rayon::spawn(move || {
        rayon::spawn_fifo(move || again.send((0..100_u32).into_par_iter().sum()).unwrap());
        sender.send(rayon::join(|| 1, || 2).1).unwrap();
    });
    assert_eq!(sorted([next(&receiver), next(&receiver)]), [2, 4950]);
}

#[test]
fn tasks_of_one_thread_begin_in_order() {
    let (pool, (sender, numbers)) = (pool(1), channel());
    for number in 0..100 {
        let sender = sender.clone();
        pool.spawn_fifo(move || sender.send(number).unwrap());
    }
    drop(sender);
    assert!(numbers.iter().eq(0..100));
}

/// Inside a pool of one thread, tasks wait until the thread leaves the pool, or for some
/// milliseconds: the thread may have lost its CPU.
#[test]
fn tasks_inside_a_pool_of_one_thread_begin_the_newest_first() {
    let has_order = |_| {
        let (sender, numbers) = channel();
        pool(1).install(move || {
            for number in 0..3 {
                let sender = sender.clone();
                rayon::spawn(move || {
                    for other in 0..3 {
                        let sender = sender.clone();
                        rayon::spawn_fifo(move || sender.send(3 * number + other).unwrap());
                    }
                });
            }
        });
        let numbers: Vec<_> = numbers.iter().collect();
        assert_eq!(sorted(numbers.clone()), (0..9).collect::<Vec<_>>());
        numbers == [6, 7, 8, 3, 4, 5, 0, 1, 2]
    };
    assert!((0..100).any(has_order));
}

/// Inside a pool of one thread, a scope that waits runs the newest task of all scopes, likewise.
#[test]
fn nested_scopes_inside_a_pool_of_one_thread_share_one_line() {
    let has_order = |_| {
        let order = Mutex::new(Vec::new());
        let note = |number| order.lock().unwrap().push(number);
        pool(1).scope(|outer| {
            outer.spawn(|_| note(1));
            rayon::scope_fifo(|inner| {
                inner.spawn_fifo(|_| note(2));
                outer.spawn(|_| note(3));
                inner.spawn_fifo(|_| note(4));
                outer.spawn(|_| note(5));
            });
            note(6);
        });
        let order = order.into_inner().unwrap();
        assert_eq!(sorted(order.clone()), [1, 2, 3, 4, 5, 6]);
        order == [5, 2, 3, 4, 6, 1]
    };
    assert!((0..100).any(has_order));
}

/// The thread does not leave the pool, since it waits for the task.
#[test]
fn tasks_inside_a_pool_of_one_thread_begin_all_the_same() {
    let pool = pool(1);
    for spawn in [ThreadPool::spawn, ThreadPool::spawn_fifo] {
        let (sender, answer) = channel();
        let task: Box<dyn FnOnce() + Send> = Box::new(move || sender.send(7).unwrap());
        let pool = &pool;
        let answer = pool.install(move || {
            spawn(pool, task);
            next(&answer)
        });
        assert_eq!(answer, 7);
    }
}

#[test]
fn loops_and_tasks_of_a_task_run_on_its_pool() {
    for threads in 1..=3 {
        let (pool, (sender, seen)) = (pool(threads), channel());
        pool.spawn(move || {
            let counts = (0..8).into_par_iter().map(|_| rayon::current_num_threads());
            let again = sender.clone();
            rayon::spawn(move || again.send(rayon::current_num_threads()).unwrap());
            assert!(rayon::current_thread_index().is_some_and(|index| index < threads));
            sender.send(counts.max().unwrap()).unwrap();
        });
        assert_eq!([next(&seen), next(&seen)], [threads; 2]);
    }
}

/// The pool's last owner may be one of its own tasks.
#[test]
fn tasks_run_although_their_pool_is_dropped() {
    for threads in 1..=3 {
        let (pool, (go, wait), (sender, ended)) = (pool(threads), channel::<()>(), channel());
        pool.spawn(move || {
            wait.recv().unwrap();
            rayon::spawn(move || sender.send(()).unwrap());
        });
        drop(pool);
        go.send(()).unwrap();
        next(&ended);
    }
}

/// A broadcast comes after an earlier one that nobody waits for, on each thread.
#[test]
fn a_broadcast_comes_after_earlier_ones() {
    for threads in 1..=3 {
        let pool = pool(threads);
        for _ in 0..200 {
            let ((sender, numbers), again) = (channel(), channel());
            let (other, more) = (again.0, again.1);
            pool.spawn_broadcast(move |context| {
                thread::yield_now();
                sender.send(context.index()).unwrap();
            });
            let task = other.clone();
            pool.spawn_broadcast(move |_| task.send(()).unwrap());
            pool.broadcast(|_| ());
            assert!(sorted(numbers.try_iter()).into_iter().eq(0..threads));
            assert_eq!(more.try_iter().count(), threads);
        }
    }
}

/// A task that runs on does not keep a broadcast from its end.
#[test]
fn a_broadcast_does_not_wait_for_a_task() {
    let (pool, (go, wait), (sender, ended)) = (pool(1), channel::<()>(), channel());
    pool.spawn(move || {
        wait.recv().unwrap();
        sender.send(()).unwrap();
    });
    assert_eq!(pool.broadcast(|context| context.index()), [0]);
    go.send(()).unwrap();
    next(&ended);
}

type Feeds = fn(&ThreadPool) -> u64;

/// The closure of a scope feeds a task. The scopes have different types.
macro_rules! feeds {
    ($scope:ident, $spawn:ident) => {
        |pool| {
            let ((sender, numbers), mut sum) = (sync_channel(2), 0);
            pool.$scope(|scope| {
                scope.$spawn(|_| sum = numbers.into_iter().sum());
                (0..100).for_each(|x| sender.send(x).unwrap());
                drop(sender);
            });
            sum
        }
    };
}

/// The closure of a scope feeds a task through a bounded channel.
const FEEDS: [Feeds; 4] = [
    feeds!(in_place_scope, spawn),
    feeds!(scope, spawn),
    feeds!(in_place_scope_fifo, spawn_fifo),
    // In a task of a scope.
    |pool| {
        let ((sender, numbers), mut sum) = (sync_channel(2), 0);
        pool.scope(|scope| {
            scope.spawn(|scope| {
                scope.spawn(|_| sum = numbers.into_iter().sum());
                (0..100).for_each(|x| sender.send(x).unwrap());
                drop(sender);
            });
        });
        sum
    },
];

#[test]
fn a_scope_feeds_its_task() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for feed in FEEDS {
            for _ in 0..20 {
                assert_eq!(feed(&pool), 4950);
                assert_eq!(pool.install(|| feed(&pool)), 4950);
            }
        }
    }
}

/// The first task waits for all others.
#[test]
fn a_task_listens_to_the_tasks_behind_it() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for _ in 0..20 {
            let ((sender, numbers), mut sum) = (channel(), 0);
            pool.scope(|scope| {
                scope.spawn(|_| sum = numbers.into_iter().sum());
                for k in 0..4_u64 {
                    let sender = sender.clone();
                    scope.spawn(move |_| (0..25).for_each(|x| sender.send(k * 25 + x).unwrap()));
                }
                drop(sender);
            });
            assert_eq!(sum, 4950);
        }
    }
}

/// As many tasks as the pool has threads wait for each other.
#[test]
fn as_many_tasks_of_a_scope_run_as_there_are_threads() {
    for threads in [1, 2, 4] {
        let (pool, together, count) = (pool(threads), Barrier::new(threads), AtomicUsize::new(0));
        for _ in 0..10 {
            pool.scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|_| {
                        together.wait();
                        count.fetch_add(1, SeqCst);
                    });
                }
            });
        }
        assert_eq!(count.load(SeqCst), 10 * threads);
    }
}

#[test]
fn all_tasks_of_all_scopes_run_once() {
    fn tree<'scope>(scope: &rayon::Scope<'scope>, depth: u32, count: &'scope AtomicUsize) {
        count.fetch_add(1, SeqCst);
        if depth % 4 == 3 {
            rayon::scope(|inner| inner.spawn(|_| _ = count.fetch_add(1, SeqCst)));
        }
        (0..2).filter(|_| depth > 0).for_each(|_| scope.spawn(move |scope| tree(scope, depth - 1, count)));
    }
    for threads in [1, 2, 4] {
        let (pool, count) = (pool(threads), AtomicUsize::new(0));
        thread::scope(|callers| {
            for _ in 0..3 {
                callers.spawn(|| (0..20).for_each(|_| pool.scope(|scope| tree(scope, 8, &count))));
            }
        });
        // A tree has 511 tasks, and an inner scope at the depths 7 and 3.
        assert_eq!(count.load(SeqCst), 60 * (511 + 2 + 32));
    }
}

#[test]
fn a_panic_of_a_task_that_a_helper_runs_comes_out_of_the_scope() {
    for threads in [1, 2] {
        let (pool, (sender, begun)) = (pool(threads), channel());
        let scope = || {
            pool.in_place_scope(|scope| {
                scope.spawn(move |_| {
                    sender.send(()).unwrap();
                    panic_any(7);
                });
                next(&begun); // so a helper runs it
            });
        };
        assert_eq!(catch_unwind(AssertUnwindSafe(scope)).unwrap_err().downcast_ref(), Some(&7));
        assert_eq!(FEEDS[0](&pool), 4950);
    }
}

#[test]
fn a_broadcast_runs_once_on_each_thread() {
    for threads in [1, 2, 4] {
        let (pool, together) = (pool(threads), Barrier::new(threads));
        let numbers = |pool: &ThreadPool| {
            pool.broadcast(|context| {
                together.wait();
                assert_eq!((context.num_threads(), rayon::current_num_threads()), (threads, threads));
                assert_eq!(rayon::current_thread_index(), Some(context.index()));
                context.index()
            })
        };
        assert!(numbers(&pool).into_iter().eq(0..threads));
        assert!(pool.install(|| numbers(&pool)).into_iter().eq(0..threads));
        assert!(pool.install(|| rayon::broadcast(|context| context.index())).into_iter().eq(0..threads));
        let (sender, spawned) = channel();
        pool.spawn_broadcast(move |context| sender.send(context.index()).unwrap());
        assert!(sorted(spawned).into_iter().eq(0..threads));
    }
    assert_eq!(rayon::broadcast(|context| context.num_threads()).len(), rayon::current_num_threads());
    let (sender, spawned) = channel();
    rayon::spawn_broadcast(move |context| sender.send(context.index()).unwrap());
    assert!(sorted(spawned).into_iter().eq(0..rayon::current_num_threads()));
}

#[test]
fn a_broadcast_of_a_scope_runs_once_on_each_thread() {
    for threads in [1, 2, 4] {
        let (pool, seen) = (pool(threads), Mutex::new(Vec::new()));
        pool.scope(|scope| {
            for _ in 0..3 {
                scope.spawn_broadcast(|scope, context| {
                    let index = context.index();
                    let seen = &seen;
                    scope.spawn(move |_| seen.lock().unwrap().push(index));
                });
            }
        });
        pool.scope_fifo(|scope| {
            scope.spawn_broadcast(|_, context| seen.lock().unwrap().push(context.index()));
        });
        let expected = sorted((0..4).flat_map(|_| 0..threads));
        assert_eq!(sorted(seen.into_inner().unwrap()), expected);
    }
}

#[test]
fn broadcasts_inside_of_loops_and_scopes_end() {
    for threads in [1, 2, 4] {
        let (pool, count) = (pool(threads), AtomicUsize::new(0));
        pool.install(|| {
            (0..16).into_par_iter().for_each(|_| {
                thread::sleep(Duration::from_micros(200));
                rayon::scope(|scope| {
                    for _ in 0..4 {
                        scope.spawn(|_| {
                            thread::sleep(Duration::from_micros(50));
                            rayon::broadcast(|_| count.fetch_add(1, SeqCst));
                        });
                    }
                });
            });
        });
        assert_eq!(count.load(SeqCst), 16 * 4 * threads);
    }
}

#[test]
fn a_yield_runs_a_task() {
    let pool = pool(1);
    assert_eq!((rayon::yield_now(), rayon::yield_local(), pool.yield_now()), (None, None, None));
    assert_eq!(rayon::current_thread_has_pending_tasks(), None);
    let (sender, seen) = channel();
    pool.install(|| {
        assert_eq!(rayon::current_thread_has_pending_tasks(), Some(false));
        // The only other thread waits, so this thread has to run the second task.
        let (go, wait) = channel();
        let (begins, begun) = channel();
        rayon::spawn(move || {
            begins.send(()).unwrap();
            wait.recv().unwrap();
        });
        next(&begun);
        rayon::spawn(move || sender.send(thread::current().id()).unwrap());
        assert_eq!(rayon::current_thread_has_pending_tasks(), Some(true));
        assert_eq!(rayon::yield_now(), Some(Yield::Executed));
        assert_eq!(pool.yield_local(), Some(Yield::Idle));
        go.send(()).unwrap();
    });
    assert_eq!(next(&seen), thread::current().id());
}

#[test]
fn a_panic_goes_to_the_handler() {
    let (sender, panics) = channel();
    let builder = ThreadPoolBuilder::new().num_threads(2);
    let pool = builder.panic_handler(move |payload| sender.send(payload).unwrap()).build().expect("a pool");
    pool.spawn(|| panic_any(1));
    pool.spawn_fifo(|| panic_any(2));
    pool.spawn_broadcast(|context| panic_any(3 + i32::try_from(context.index()).unwrap()));
    drop(pool);
    let panics = panics.iter().map(|payload| *payload.downcast::<i32>().expect("a number"));
    assert_eq!(sorted(panics), [1, 2, 3, 4]);
}

#[test]
fn a_panic_without_a_handler_ends_the_process() {
    const CHILD: &str = "RANGESTEAL_TASKS_CHILD";
    if env::var_os(CHILD).is_some() {
        rayon::spawn(|| panic!("nobody handles this"));
        return thread::sleep(LONG);
    }
    let mut child = Command::new(env::current_exe().expect("a path"));
    child.args(["a_panic_without_a_handler_ends_the_process", "--exact"]).env(CHILD, "1");
    assert!(!child.output().expect("a child").status.success());
}

#[test]
fn a_program_starts_the_threads() {
    let (sender, started) = channel();
    let start = |thread: rayon::ThreadBuilder| {
        sender.send((thread.index(), thread.name().map(str::to_owned), thread.stack_size())).unwrap();
        thread::Builder::new().spawn(|| thread.run()).map(drop)
    };
    let builder = ThreadPoolBuilder::new().num_threads(3).stack_size(1 << 20);
    let pool = builder.thread_name(|index| format!("mine-{index}")).spawn_handler(start).build();
    let sum: u32 = pool.expect("a pool").install(|| (0..100_u32).into_par_iter().sum());
    assert_eq!(sum, 4950);
    let names = [0, 1, 2].map(|index| (index, Some(format!("mine-{index}")), Some(1 << 20)));
    assert!(started.try_iter().eq(names));
    let unnamed = |thread: rayon::ThreadBuilder| {
        assert_eq!((thread.name(), thread.stack_size()), (None, None));
        thread::Builder::new().spawn(|| thread.run()).map(drop)
    };
    ThreadPoolBuilder::new().num_threads(2).spawn_handler(unnamed).build().expect("a pool");
    let refuses = |_| Err(std::io::Error::other("no threads today"));
    let error = ThreadPoolBuilder::new().num_threads(2).spawn_handler(refuses).build().unwrap_err();
    assert!(std::error::Error::source(&error).is_some(), "{error}");
}

#[test]
fn the_threads_of_a_scoped_pool_borrow() {
    let (greeting, greeted) = (String::from("borrowed"), AtomicUsize::new(0));
    let greets = |thread: rayon::ThreadBuilder| {
        assert_eq!(greeting, "borrowed");
        greeted.fetch_add(1, SeqCst);
        thread.run();
        greeted.fetch_add(1, SeqCst);
    };
    let builder = ThreadPoolBuilder::new().num_threads(3);
    let sum = builder.build_scoped(greets, |pool| {
        pool.spawn(|| ());
        pool.install(|| (0..100_u32).into_par_iter().sum::<u32>())
    });
    assert_eq!((sum.unwrap(), greeted.load(SeqCst)), (4950, 6));
}

#[test]
fn the_current_thread_is_number_0() {
    let ends = Arc::new((Mutex::new(0), Condvar::new()));
    let told = Arc::clone(&ends);
    let builder = || ThreadPoolBuilder::new().num_threads(2).use_current_thread();
    let pool = builder()
        .exit_handler(move |_| {
            *told.0.lock().unwrap() += 1;
            told.1.notify_one();
        })
        .build()
        .expect("a pool");
    assert_eq!((rayon::current_thread_index(), pool.current_thread_index()), (Some(0), Some(0)));
    assert_eq!(rayon::current_num_threads(), 2);
    let error = builder().build().unwrap_err();
    assert!(error.to_string().contains("already works for a pool"), "{error}");
    let (sender, index) = channel();
    rayon::spawn(move || sender.send(rayon::current_thread_index()).unwrap());
    assert_eq!(next(&index), Some(1));
    drop(pool);
    let ended = ends.1.wait_timeout_while(ends.0.lock().unwrap(), LONG, |ended| *ended == 0).unwrap();
    assert_eq!(*ended.0, 1, "its thread has ended");
    drop(ended);
    assert_eq!(rayon::current_thread_index(), None);
    drop(builder().build().expect("a second pool"));
}

#[test]
fn a_pool_with_a_stack_size_runs_tasks() {
    fn deep(level: u32) -> u32 {
        let frame = std::hint::black_box([level; 256]);
        if level == 0 { 0 } else { deep(level - 1) + frame[255] / level }
    }
    let pool = ThreadPoolBuilder::new().num_threads(2).stack_size(64 << 20).build().expect("a pool");
    let (sender, depths) = channel();
    pool.spawn(move || sender.send(deep(20_000)).unwrap());
    assert_eq!(next(&depths), 20_000);
    assert_eq!(pool.broadcast(|_| deep(20_000)), [20_000; 2]);
    for feed in FEEDS {
        assert_eq!(feed(&pool), 4950);
    }
}
