//! Tests of tasks that outlive their caller, and of calls on each thread of the pool.

mod child;
#[cfg(unix)]
mod forked;

use std::{
    cell::Cell,
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Arc, Barrier, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
        mpsc::{Receiver, channel, sync_channel},
    },
    thread,
    time::Duration,
};

use rangesteal::Pool;

const LONG: Duration = Duration::from_secs(60);

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// The next message; fails if it takes too long.
#[track_caller]
fn next<T>(receiver: &Receiver<T>) -> T {
    receiver.recv_timeout(LONG).expect("a message within a minute")
}

#[test]
fn a_task_begins_although_its_caller_goes_on() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for _ in 0..50 {
            let (numbers, sum) = (sync_channel(2), channel());
            pool.spawn(move || sum.0.send(numbers.1.iter().sum::<u64>()).unwrap());
            (0..100).for_each(|x| numbers.0.send(x).unwrap());
            drop(numbers.0);
            assert_eq!(next(&sum.1), 4950);
        }
    }
}

/// As many tasks as threads wait for each other.
#[test]
fn as_many_tasks_run_as_there_are_threads() {
    for threads in 1..=4 {
        let pool = pool(threads);
        for _ in 0..20 {
            let (together, (sender, done)) = (Arc::new(Barrier::new(threads)), channel());
            for _ in 0..threads {
                let (together, sender) = (Arc::clone(&together), sender.clone());
                pool.spawn(move || {
                    together.wait();
                    sender.send(()).unwrap();
                });
            }
            (0..threads).for_each(|_| next(&done));
        }
    }
}

/// All items of a loop wait for a task that they spawn.
#[test]
fn a_task_begins_while_all_workers_are_busy() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for _ in 0..20 {
            pool.on(0..8).for_each(|item| {
                thread::sleep(Duration::from_micros(100));
                let (sender, came) = channel();
                pool.spawn(move || sender.send(item).unwrap());
                assert_eq!(next(&came), item);
            });
        }
    }
}

#[test]
fn tasks_begin_in_order() {
    let (pool, (sender, numbers)) = (pool(1), channel());
    for number in 0..100 {
        let sender = sender.clone();
        pool.spawn(move || sender.send(number).unwrap());
    }
    drop(sender);
    assert!(numbers.iter().eq(0..100));
}

#[test]
fn the_drop_of_a_pool_waits_for_its_tasks() {
    for threads in 1..=3 {
        let (pool, ended) = (pool(threads), Arc::new(AtomicUsize::new(0)));
        for _ in 0..50 {
            let ended = Arc::clone(&ended);
            pool.spawn(move || {
                thread::sleep(Duration::from_micros(100));
                ended.fetch_add(1, SeqCst);
            });
        }
        drop(pool);
        assert_eq!(ended.load(SeqCst), 50);
    }
}

/// The thread of a task drops the pool, and must not wait for itself.
#[test]
fn a_task_drops_its_pool() {
    for threads in 1..=3 {
        let (pool, (go, wait), (sender, ended)) = (Arc::new(pool(threads)), channel(), channel());
        let own = Arc::clone(&pool);
        pool.spawn(move || {
            wait.recv().unwrap();
            let sender_of_last = sender.clone();
            own.spawn(move || sender_of_last.send("a task of a task").unwrap());
            drop(own);
            sender.send("the pool is dropped").unwrap();
        });
        drop(pool);
        go.send(()).unwrap();
        let said: HashSet<_> = [next(&ended), next(&ended)].into();
        assert_eq!(said.len(), 2);
        assert!(ended.recv_timeout(LONG).is_err(), "all senders are dropped");
    }
}

#[test]
fn a_task_calls_loops_and_spawns_tasks() {
    for threads in 1..=3 {
        let (pool, (sender, sums)) = (Arc::new(pool(threads)), channel());
        let own = Arc::clone(&pool);
        pool.spawn(move || {
            let again = Arc::clone(&own);
            let numbers: Vec<u64> = (0..100_000).collect();
            let sum = own.on(&numbers).copied().sum::<u64>();
            let (a, b) = own.join(|| sum, || 1);
            own.spawn(move || sender.send(again.on(&numbers).copied().sum::<u64>() + a + b).unwrap());
        });
        assert_eq!(next(&sums), 2 * 4_999_950_000 + 1);
    }
}

#[test]
fn a_panic_goes_to_the_handler() {
    for threads in 1..=2 {
        let (sender, panics) = channel();
        let handler = move |payload: Box<dyn std::any::Any + Send>| {
            sender.send(payload.downcast_ref::<usize>().copied()).unwrap();
        };
        let pool = Pool::builder().num_threads(threads).panic_handler(handler).build().unwrap();
        (0..5_usize).for_each(|number| pool.spawn(move || panic_any(number)));
        pool.spawn_broadcast(|worker| panic_any(worker));
        drop(pool);
        let mut told: Vec<_> = panics.iter().map(|panic| panic.expect("a number")).collect();
        told.sort_unstable();
        let mut expected: Vec<_> = (0..5).chain(0..threads).collect();
        expected.sort_unstable();
        assert_eq!(told, expected);
    }
}

#[test]
fn a_panic_without_a_handler_aborts() {
    if child::is_child() {
        pool(2).spawn(|| panic!("nobody handles this"));
        thread::sleep(LONG);
        return;
    }
    let output = child::run(&[], "a_panic_without_a_handler_aborts", &[]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("panic_handler"), "{}: {said}", output.status);
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt;
        assert_eq!(output.status.signal(), Some(nix::libc::SIGABRT));
    }
}

#[test]
fn a_broadcast_runs_once_on_each_thread_at_the_same_time() {
    thread_local!(static VISITS: Cell<usize> = const { Cell::new(0) });
    for threads in 1..=4 {
        let (pool, together) = (pool(threads), Barrier::new(threads));
        for round in 1..=20 {
            let numbers = pool.broadcast(|number| {
                together.wait();
                VISITS.set(VISITS.get() + 1);
                (number, thread::current().id(), VISITS.get())
            });
            let ids: HashSet<_> = numbers.iter().map(|(_, id, _)| *id).collect();
            assert_eq!((numbers.len(), ids.len()), (threads, threads));
            assert!(numbers.iter().enumerate().all(|(at, (number, _, _))| *number == at));
            assert!(numbers[1..].iter().all(|(.., visits)| *visits == round), "always the same threads");
            assert_eq!(numbers[0].1, thread::current().id());
        }
        VISITS.set(0);
    }
}

#[test]
fn a_spawned_broadcast_runs_once_on_each_thread() {
    for threads in 1..=4 {
        let (pool, (sender, numbers)) = (pool(threads), channel());
        let together = Barrier::new(threads);
        pool.spawn_broadcast(move |number| {
            together.wait();
            sender.send(number).unwrap();
        });
        let mut numbers: Vec<_> = numbers.iter().collect();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..threads));
    }
}

#[test]
fn the_first_panic_of_a_broadcast_comes_out_after_all_calls() {
    let (pool, calls) = (pool(3), AtomicUsize::new(0));
    let broadcast = || {
        pool.broadcast(|number| {
            thread::sleep(Duration::from_millis(5 * (3 - number as u64)));
            calls.fetch_add(1, SeqCst);
            assert!(number == 0, "{number}");
        })
    };
    let payload = catch_unwind(AssertUnwindSafe(broadcast)).unwrap_err();
    assert_eq!(payload.downcast_ref::<String>().map(String::as_str), Some("1"));
    assert_eq!(calls.load(SeqCst), 3);
    assert_eq!(pool.broadcast(|number| number), [0, 1, 2]);
}

/// Items of loops, nested loops and joins broadcast while their callers wait.
#[test]
fn a_broadcast_inside_of_loops_ends() {
    for threads in 2..=4 {
        let (pool, calls) = (pool(threads), AtomicUsize::new(0));
        let broadcast = || {
            pool.broadcast(|_| calls.fetch_add(1, SeqCst));
        };
        for _ in 0..30 {
            pool.on(0..8).for_each(|_| {
                thread::sleep(Duration::from_micros(200));
                pool.on(0..4).for_each(|_| {
                    thread::sleep(Duration::from_micros(50));
                    broadcast();
                });
                pool.join(broadcast, broadcast);
            });
        }
        assert_eq!(calls.load(SeqCst), 30 * 8 * 6 * threads);
    }
}

#[test]
fn broadcasts_of_tasks_and_of_several_threads_end() {
    for threads in 1..=3 {
        let (pool, (sender, lengths)) = (Arc::new(pool(threads)), channel());
        for _ in 0..20 {
            let (own, sender) = (Arc::clone(&pool), sender.clone());
            pool.spawn(move || sender.send(own.broadcast(|number| number).len()).unwrap());
        }
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..20).for_each(|_| assert_eq!(pool.broadcast(|_| ()).len(), threads)));
            }
        });
        (0..20).for_each(|_| assert_eq!(next(&lengths), threads));
    }
}

#[test]
fn two_pools_broadcast_to_each_other() {
    let (few, many, calls) = (pool(3), pool(5), AtomicUsize::new(0));
    few.broadcast(|_| {
        many.broadcast(|_| {
            few.broadcast(|_| calls.fetch_add(1, SeqCst));
        });
    });
    assert_eq!(calls.load(SeqCst), 3 * 5 * 3);
}

/// Loops and tasks, at the same time, from several threads.
#[test]
fn loops_and_tasks_do_not_disturb_each_other() {
    for threads in 1..=4 {
        let (pool, (sender, ended)) = (pool(threads), channel());
        let numbers: Vec<u64> = (0..20_000).collect();
        thread::scope(|scope| {
            for _ in 0..2 {
                let (pool, numbers, sender) = (&pool, &numbers, sender.clone());
                scope.spawn(move || {
                    for round in 0..200 {
                        let sender = sender.clone();
                        pool.spawn(move || sender.send(round).unwrap());
                        let sum: u64 = pool.on(numbers).map(|x| x * 2).sum();
                        assert_eq!(sum, 399_980_000);
                        if round % 50 == 0 {
                            assert_eq!(pool.broadcast(|_| ()).len(), threads);
                        }
                    }
                });
            }
        });
        drop(sender);
        assert_eq!(ended.iter().sum::<u32>(), 2 * 19_900);
    }
}

#[test]
fn threads_of_the_program_run_tasks() {
    let (sender, names) = channel();
    thread::scope(|scope| {
        let start = |worker: rangesteal::WorkerThread| {
            thread::Builder::new().name("lent".into()).spawn_scoped(scope, || worker.run()).map(drop)
        };
        let pool = Pool::builder().num_threads(2).spawn_handler(start).build().unwrap();
        pool.spawn_broadcast(move |number| {
            sender.send((number, thread::current().name().map(str::to_owned))).unwrap();
        });
    });
    let mut names: Vec<_> = names.iter().collect();
    names.sort();
    assert_eq!(names, [(0, Some("rangesteal-0".into())), (1, Some("lent".into()))]);
}

#[test]
fn the_reserve_has_the_options_of_the_pool() {
    let (sender, calls) = channel();
    let sender = Mutex::new(sender);
    let (start, ends) = channel();
    let ends_sender = Mutex::new(start);
    let pool = Pool::builder()
        .num_threads(1)
        .thread_name(|number| format!("mine-{number}"))
        .start_handler(move |number| sender.lock().unwrap().send(("start", number)).unwrap())
        .exit_handler(move |number| ends_sender.lock().unwrap().send(("exit", number)).unwrap())
        .build()
        .unwrap();
    let (name, named) = channel();
    pool.spawn(move || name.send(thread::current().name().map(str::to_owned)).unwrap());
    assert_eq!(next(&named).as_deref(), Some("mine-0"));
    drop(pool);
    assert!(calls.iter().eq([("start", 0)]) && ends.iter().eq([("exit", 0)]));
}

#[cfg(unix)]
#[test]
fn a_forked_child_runs_tasks_on_the_calling_thread() {
    let pool = pool(3);
    pool.spawn(|| ());
    forked::forked(|| {
        let here = thread::current().id();
        let (sender, ran) = channel();
        pool.spawn(move || sender.send(thread::current().id()).unwrap());
        assert_eq!(ran.try_recv(), Ok(here));
        assert_eq!(pool.broadcast(|number| (number, thread::current().id() == here)).len(), 3);
        let (sender, numbers) = channel();
        pool.spawn_broadcast(move |number| sender.send(number).unwrap());
        assert!(numbers.try_iter().eq(0..3));
        drop(pool);
    });
}

/// The worker and the reserve are in tasks, so a third task waits.
#[cfg(unix)]
#[test]
fn a_forked_child_runs_no_task_of_its_parent() {
    let pool = pool(2);
    let (go, begun) = (Arc::new(Barrier::new(3)), channel());
    for _ in 0..3 {
        let (go, begun) = (Arc::clone(&go), begun.0.clone());
        pool.spawn(move || {
            begun.send(()).unwrap();
            go.wait();
        });
    }
    (0..2).for_each(|_| next(&begun.1));
    assert!(pool.has_tasks());
    forked::forked(|| assert!(!pool.has_tasks() && !pool.run_task()));
    assert!(pool.run_task());
}

#[cfg(unix)]
#[test]
fn a_process_ends_while_tasks_run() {
    if child::is_child() {
        let pool = Pool::global();
        pool.spawn(|| thread::sleep(LONG));
        pool.spawn_broadcast(|_| thread::sleep(LONG));
        std::process::exit(7);
    }
    let output = child::run(&[], "a_process_ends_while_tasks_run", &[]);
    assert_eq!(output.status.code(), Some(7), "{output:?}");
}

#[test]
fn the_report_of_the_program_counts_tasks() {
    if child::is_child() {
        let pool = pool(2);
        (0..3).for_each(|_| pool.spawn(|| ()));
        return;
    }
    let output = child::run(&[], "the_report_of_the_program_counts_tasks", &[("RANGESTEAL_REPORT", "1")]);
    if cfg!(unix) {
        assert!(child::passed(&output).contains("3 tasks (Pool::spawn"), "{output:?}");
    }
}

/// A worker is noted for the task, and runs its call of the broadcast first. The call waits for the
/// task.
#[test]
fn a_task_begins_although_a_broadcast_waits_for_it() {
    for _ in 0..10 {
        let pool = pool(2);
        thread::sleep(Duration::from_millis(10)); // its worker sleeps
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        pool.spawn(move || sender.send(7).unwrap());
        let heard = pool.broadcast(|number| number == 0 || next(&receiver.lock().unwrap()) == 7);
        assert_eq!(heard, [true; 2]);
    }
}

/// In each of two broadcasts all threads wait for each other.
#[test]
fn two_broadcasts_at_a_time_run_in_one_order() {
    const THREADS: usize = 4;
    let pool = Arc::new(pool(THREADS));
    let (sender, receiver) = channel();
    for _ in 0..2 {
        let (pool, sender) = (Arc::clone(&pool), sender.clone());
        thread::spawn(move || {
            for _ in 0..200 {
                let all = Barrier::new(THREADS);
                pool.broadcast(|_| all.wait());
            }
            sender.send(()).unwrap();
        });
    }
    (0..2).for_each(|_| next(&receiver));
}
