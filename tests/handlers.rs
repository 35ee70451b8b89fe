//! Tests of handlers that run on each thread of a pool, and of threads that the program starts
//! itself. Tests that fork run in children.

#![cfg(target_os = "linux")]

mod busy;
mod child;
mod forked;

use std::{
    collections::HashSet,
    fs,
    io::{Error, ErrorKind},
    mem,
    panic::{AssertUnwindSafe, catch_unwind, panic_any},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use busy::work;
use child::{is_child, passed, run};
use forked::forked;
use nix::{
    sched::{CpuSet, sched_getaffinity},
    unistd::Pid,
};
use rangesteal::{BuildError, PinState, Pinning, Pool, PoolBuilder, WorkerThread};

/// Returns true in the child. In the parent, runs the test `name` in a child, checks that the child
/// passes, and returns false.
fn in_child(name: &str) -> bool {
    let is_child = is_child();
    if !is_child {
        passed(&run(&[], name, &[]));
    }
    is_child
}

fn mask() -> Vec<usize> {
    let set = sched_getaffinity(Pid::from_raw(0)).unwrap();
    (0..CpuSet::count()).filter(|&cpu| set.is_set(cpu).unwrap()).collect()
}

/// The threads that run a loop. The loop is repeated until `threads` threads have taken part.
fn threads_of(pool: &Pool, enough: usize) -> HashSet<ThreadId> {
    let seen = Mutex::new(HashSet::new());
    let begin = Instant::now();
    while seen.lock().unwrap().len() < enough {
        assert!(begin.elapsed() < Duration::from_secs(60), "they do not come");
        pool.on(0..200).for_each(|_| {
            seen.lock().unwrap().insert(thread::current().id());
            thread::sleep(Duration::from_micros(100));
        });
    }
    seen.into_inner().unwrap()
}

/// Runs a loop that is shared, and a loop that need not be shared.
fn counts(pool: &Pool) {
    for nanos in [10_000, 0] {
        let item = |i: usize| {
            work(nanos);
            i
        };
        assert_eq!(pool.on(0..200).map(item).reduce(|a, b| a + b), Some(199 * 100));
    }
}

/// Whether all threads whose names begin like this have ended. A joined thread may still be listed
/// for a moment.
fn are_gone(prefix: &str) -> bool {
    let is_there = || {
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        tasks.map(|task| name(task.unwrap())).any(|name| name.starts_with(prefix))
    };
    (0..10_000).any(|turn| {
        thread::sleep(Duration::from_millis(turn.min(1)));
        !is_there()
    })
}

/// The calls of a handler: the worker, and the thread.
type Notes = Arc<Mutex<Vec<(usize, ThreadId)>>>;

fn note_in(notes: &Notes) -> impl Fn(usize) + Send + Sync + use<> {
    let notes = Arc::clone(notes);
    move |worker| notes.lock().unwrap().push((worker, thread::current().id()))
}

/// All calls, in the order of workers.
fn noted(notes: &Notes) -> Vec<(usize, ThreadId)> {
    let mut noted = notes.lock().unwrap().clone();
    noted.sort_by_key(|(worker, _)| *worker);
    noted
}

fn workers(notes: &Notes) -> Vec<usize> {
    noted(notes).into_iter().map(|(worker, _)| worker).collect()
}

/// Starts a thread as the pool would.
fn start(worker: WorkerThread) -> std::io::Result<()> {
    let thread = thread::Builder::new().name(worker.name().to_owned());
    let thread = worker.stack_size().into_iter().fold(thread, thread::Builder::stack_size);
    thread.spawn(|| worker.run()).map(drop)
}

#[test]
fn handlers_run_on_each_thread_once() {
    for is_own in [true, false] {
        let (started, ended) = (Notes::default(), Notes::default());
        let builder = Pool::builder().num_threads(4);
        let builder = builder.start_handler(note_in(&started)).exit_handler(note_in(&ended));
        let pool = if is_own { builder.build() } else { builder.spawn_handler(start).build() };
        let pool = pool.unwrap();
        let on = noted(&started);
        assert_eq!(workers(&started), [1, 2, 3]);
        let mut threads: HashSet<_> = on.iter().map(|(_, thread)| *thread).collect();
        threads.insert(thread::current().id());
        assert_eq!(threads_of(&pool, 4), threads);
        assert_eq!((noted(&started), noted(&ended)), (on.clone(), vec![]));
        drop(pool);
        assert_eq!((noted(&started), noted(&ended)), (on.clone(), on));
        assert_eq!([&started, &ended].map(Arc::strong_count), [1; 2], "the handlers are dropped");
    }
}

#[test]
#[cfg_attr(portable, ignore = "no thread is pinned")]
fn a_start_handler_runs_where_the_worker_is_pinned() {
    for is_own in [true, false] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let see = Arc::clone(&seen);
        let builder = Pool::builder().num_threads(3).pinning(Pinning::Required);
        let builder = builder.start_handler(move |worker| see.lock().unwrap().push((worker, mask())));
        let pool = if is_own { builder.build() } else { builder.spawn_handler(start).build() };
        let placement = pool.unwrap().placement();
        let mut seen = mem::take(&mut *seen.lock().unwrap());
        seen.sort();
        let seats = placement.seats[1..].iter();
        let told: Vec<_> = seats.map(|seat| (seat.worker, vec![seat.cpu.unwrap().number])).collect();
        assert_eq!(seen, told, "{placement}");
        assert!(placement.seats[1..].iter().all(|seat| seat.pin == PinState::Pinned), "{placement}");
    }
}

/// A payload whose drop panics.
struct Dangerous;

impl Drop for Dangerous {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_start_handler_that_panics_on_one_thread() {
    for is_own in [true, false] {
        for k in 1..6 {
            let (started, ended) = (Notes::default(), Notes::default());
            let note = note_in(&started);
            let builder = Pool::builder().num_threads(6).thread_name(|worker| format!("st-{worker}"));
            let builder = builder.exit_handler(note_in(&ended)).start_handler(move |worker| {
                note(worker);
                match k {
                    _ if worker != k => {}
                    1 => panic!("no room"),
                    2 => panic!("no room for {worker}"),
                    3 => panic_any(Dangerous),
                    _ => panic_any(k),
                }
            });
            let built = if is_own { builder.build() } else { builder.spawn_handler(start).build() };
            let error = built.unwrap_err();
            let BuildError::StartHandler { worker, ref message, .. } = error else { panic!("{error}") };
            let said = match k {
                1 => "no room",
                2 => "no room for 2",
                _ => "its payload is no text",
            };
            assert_eq!((worker, &**message), (k, said));
            let text = error.to_string();
            assert!(text.contains(&format!("start_handler panicked on the thread of worker {k}: {said}")));
            assert!(are_gone("st-"), "threads are left");
            let mut have_started = workers(&started);
            if is_own {
                assert_eq!(have_started, [1, 2, 3, 4, 5]);
            }
            // A thread that begins after the pool was abandoned does not enter the pool.
            have_started.retain(|worker| *worker != k);
            assert_eq!(workers(&ended), have_started);
            let are_dropped = || [&started, &ended].map(Arc::strong_count) == [1; 2];
            while !is_own && !are_dropped() {
                thread::yield_now(); // a thread of the abandoned pool still has the handlers
            }
            assert!(are_dropped(), "the handlers are there");
        }
    }
    counts(&Pool::builder().num_threads(6).build().unwrap());
}

#[test]
fn an_exit_handler_that_panics() {
    for is_own in [true, false] {
        let (ended, mut lent) = (Notes::default(), Vec::new());
        let note = note_in(&ended);
        let builder = Pool::builder().num_threads(4).thread_name(|worker| format!("ex-{worker}"));
        let builder = builder.exit_handler(move |worker| {
            note(worker);
            match worker {
                1 => panic!("no way out"),
                2 => panic_any(Dangerous),
                _ => {}
            }
        });
        let lend = |worker: WorkerThread| {
            lent.push(thread::spawn(|| worker.run()));
            Ok(())
        };
        let pool = if is_own { builder.build() } else { builder.spawn_handler(lend).build() };
        drop(pool.inspect(counts).unwrap());
        assert_eq!(workers(&ended), [1, 2, 3]);
        assert!(lent.into_iter().all(|thread| thread.join().is_ok()), "`run` has returned");
        assert!(are_gone("ex-"), "threads are left");
        assert_eq!(Arc::strong_count(&ended), 1, "the handler is dropped");
    }
}

#[test]
fn handlers_use_pools() {
    fn count(worker: usize) {
        counts(&Pool::builder().num_threads(2).build().unwrap());
        assert_eq!(Pool::global().on(0..10).count(), 10, "on the thread of worker {worker}");
    }
    let builder = || Pool::builder().num_threads(3).start_handler(count).exit_handler(count);
    drop(builder().build().inspect(counts).unwrap());
    builder().scope(counts).unwrap();
    let spawn = |worker| {
        counts(&Pool::builder().num_threads(2).spawn_handler(start).build().unwrap());
        start(worker)
    };
    drop(builder().spawn_handler(spawn).build().inspect(counts).unwrap());
}

#[test]
fn a_handler_starts_the_threads() {
    let (before, given) = (mask(), Mutex::new(Vec::new()));
    let (started, ended) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (starts, ends) = (Arc::clone(&started), Arc::clone(&ended));
    let mut threads = Vec::new();
    let pool = Pool::builder()
        .num_threads(4)
        .stack_size(1 << 20)
        .thread_name(|worker| format!("lent-{worker}"))
        .start_handler(move |_| {
            starts.fetch_add(1, Relaxed);
        })
        .exit_handler(move |_| {
            thread::sleep(Duration::from_millis(50)); // a call that does not wait for this thread returns too early
            ends.fetch_add(1, Relaxed);
        })
        .spawn_handler(|worker| {
            assert_eq!(started.load(Relaxed), 0, "no thread waits between two calls, and none has started");
            given.lock().unwrap().push((worker.index(), worker.name().to_owned(), worker.stack_size()));
            threads.push(worker);
            if threads.len() == 3 {
                assert!(format!("{worker:?}", worker = threads[0]).contains("lent-1"));
                for worker in mem::take(&mut threads).into_iter().rev() {
                    thread::spawn(|| worker.run());
                }
            }
            Ok(())
        })
        .build()
        .unwrap();
    let all = [1, 2, 3].map(|worker| (worker, format!("lent-{worker}"), Some(1 << 20)));
    assert_eq!(given.into_inner().unwrap(), all);
    assert_eq!(started.load(Relaxed), 3);
    counts(&pool);
    threads_of(&pool, 4);
    drop(pool);
    assert_eq!(ended.load(Relaxed), 3, "all threads have left");
    assert_eq!(mask(), before);
}

/// Threads that outlive a pool, and work for several pools one after another.
#[test]
fn lent_threads_come_back_as_they_were() {
    let (before, after) = (mask(), Mutex::new(HashSet::new()));
    let (send, workers) = mpsc::channel::<WorkerThread>();
    let workers = Mutex::new(workers);
    let lend = || {
        loop {
            let next = workers.lock().unwrap().recv();
            let Ok(worker) = next else { return };
            worker.run();
            after.lock().unwrap().insert(mask());
        }
    };
    thread::scope(|scope| {
        (0..3).for_each(|_| drop(scope.spawn(lend)));
        let mut seen = HashSet::new();
        for _ in 0..20 {
            let spawn = |worker| send.send(worker).map_err(Error::other);
            let pool = Pool::builder().num_threads(4).spawn_handler(spawn).build().unwrap();
            counts(&pool);
            seen.extend(threads_of(&pool, 4));
            if cfg!(not(portable)) {
                assert!(pool.placement().seats[1..].iter().all(|seat| seat.pin == PinState::Pinned));
            }
        }
        assert_eq!(seen.len(), 4, "three threads, and this one");
        drop(send);
    });
    assert_eq!(after.into_inner().unwrap(), HashSet::from([before]), "they are pinned no more");
}

#[test]
fn scoped_threads_and_a_scope() {
    let borrowed = [1, 2, 3];
    let sum = thread::scope(|scope| {
        let spawn = |worker: WorkerThread| {
            scope.spawn(|| {
                assert_eq!(borrowed.len(), 3);
                worker.run();
                assert_eq!(borrowed[0], 1);
            });
            Ok(())
        };
        Pool::builder().num_threads(3).spawn_handler(spawn).scope(|pool| {
            threads_of(pool, 3);
            pool.on(&borrowed).sum::<i32>()
        })
    });
    assert_eq!(sum.unwrap(), 6);
    let panicked = catch_unwind(|| {
        Pool::builder().num_threads(3).spawn_handler(start).scope(|pool| {
            counts(pool);
            panic!("inside");
        })
    });
    assert!(panicked.is_err());
}

/// Builds a pool of six workers. The pool's spawn handler calls `what` with worker `k`, and starts
/// the other workers.
fn except(k: usize, mut what: impl FnMut(WorkerThread) -> std::io::Result<()>) -> Result<Pool, BuildError> {
    let builder = Pool::builder().num_threads(6).thread_name(|worker| format!("un-{worker}"));
    let spawn = move |worker: WorkerThread| if worker.index() == k { what(worker) } else { start(worker) };
    builder.spawn_handler(spawn).build()
}

#[test]
fn a_worker_that_is_dropped() {
    for k in 1..6 {
        let mut kept = Vec::new();
        let at_once = except(k, |worker| {
            drop(worker);
            Ok(())
        });
        let later = except(k, |worker| {
            thread::spawn(move || {
                thread::sleep(Duration::from_millis(5));
                drop(worker);
            });
            Ok(())
        });
        let by_a_panic = except(k, |worker| {
            thread::spawn(move || {
                let _worker = worker;
                panic!("on the thread of {k}");
            });
            Ok(())
        });
        let with_the_handler = except(k, move |worker| {
            kept.push(worker);
            Ok(())
        });
        for built in [at_once, later, by_a_panic, with_the_handler] {
            let error = built.unwrap_err();
            assert!(matches!(error, BuildError::NotRun { worker, .. } if worker == k), "{error}");
            assert!(error.to_string().contains(&format!("the WorkerThread of worker {k} was dropped")));
        }
        assert!(are_gone("un-"), "threads are left");
    }
}

#[test]
fn a_handler_that_fails_or_panics() {
    for k in 1..6 {
        let fails = |_| Err(Error::from(ErrorKind::AddrInUse));
        let error = except(k, fails).unwrap_err();
        let BuildError::Spawn { worker, ref source, .. } = error else { panic!("{error}") };
        assert_eq!((worker, source.kind()), (k, ErrorKind::AddrInUse));
        assert!(are_gone("un-"), "threads are left");

        let panics = |worker: WorkerThread| panic!("no thread for {}", worker.index());
        let payload = catch_unwind(AssertUnwindSafe(|| except(k, panics))).unwrap_err();
        assert_eq!(payload.downcast_ref(), Some(&format!("no thread for {k}")));
        assert!(are_gone("un-"), "threads are left");

        let here = |worker: WorkerThread| {
            worker.run();
            Ok(())
        };
        let payload = catch_unwind(AssertUnwindSafe(|| except(k, here))).unwrap_err();
        let said = payload.downcast_ref::<String>().unwrap();
        assert!(said.contains(&format!("worker {k} runs on the thread that builds the pool")), "{said}");
        assert!(are_gone("un-"), "threads are left");
    }
}

#[test]
fn a_worker_of_a_pool_that_was_never_built() {
    let started = Notes::default();
    let (send, kept) = mpsc::channel();
    let built = Pool::builder()
        .num_threads(4)
        .start_handler(note_in(&started))
        .exit_handler(note_in(&started))
        .spawn_handler(|worker| match worker.index() {
            3 => Err(ErrorKind::OutOfMemory.into()),
            _ => send.send(worker).map_err(Error::other),
        })
        .build();
    assert!(matches!(built, Err(BuildError::Spawn { worker: 3, .. })));
    for worker in kept.try_iter() {
        worker.run(); // at once, on any thread
    }
    assert_eq!(workers(&started), [0; 0], "no worker has started");
    assert_eq!(Arc::strong_count(&started), 1, "the handlers are dropped");
}

#[test]
fn options_are_kept_behind_a_handler() {
    let builder = Pool::builder().num_threads(3).pinning(Pinning::Off);
    let builder: PoolBuilder<fn(WorkerThread) -> std::io::Result<()>> = builder.spawn_handler(start);
    let pool = builder.spin_before_park(Duration::ZERO).build().unwrap();
    assert_eq!((pool.num_threads(), pool.placement().seats[1].pin), (3, PinState::Off));
    let alone = Pool::builder().num_threads(1).spawn_handler(|_| unreachable!("no thread is needed"));
    counts(&alone.build().unwrap());
}

#[test]
fn the_global_pool_has_handlers() {
    if !in_child("the_global_pool_has_handlers") {
        return;
    }
    let (notes, failures) = (Notes::default(), Notes::default());
    let builder = || Pool::builder().num_threads(3);
    let panics = |_| assert_eq!(Pool::global().num_threads(), 3, "not yet");
    let failed = builder().start_handler(panics).exit_handler(note_in(&failures)).build_global();
    assert!(matches!(failed, Err(BuildError::StartHandler { worker: 1, .. })), "{failed:?}");
    let failed = builder().spawn_handler(|_| Ok(())).build_global();
    assert!(matches!(failed, Err(BuildError::NotRun { worker: 1, .. })), "{failed:?}");

    let pool = builder().start_handler(note_in(&notes)).exit_handler(note_in(&failures));
    let pool = pool.spawn_handler(start).build_global().unwrap();
    counts(pool);
    threads_of(pool, 3);
    assert_eq!((workers(&notes), workers(&failures)), (vec![1, 2], vec![]));
}

#[test]
#[cfg_attr(portable, ignore = "forks are not noticed")]
fn a_forked_child_runs_no_handler() {
    if !in_child("a_forked_child_runs_no_handler") {
        return;
    }
    let (started, ended) = (Notes::default(), Notes::default());
    let (send, kept) = mpsc::channel();
    for is_own in [true, false] {
        let builder = Pool::builder().num_threads(3);
        let builder = builder.start_handler(note_in(&started)).exit_handler(note_in(&ended));
        let pool = if is_own { builder.build() } else { builder.spawn_handler(start).build() };
        let mut pool = Some(pool.unwrap());
        forked(|| {
            let before = workers(&started);
            pool.as_ref().into_iter().for_each(counts);
            drop(pool.take());
            assert_eq!((workers(&started), workers(&ended)), (before, vec![]));
        });
        pool.iter().for_each(counts);
        drop(pool);
        assert_eq!((workers(&started), workers(&ended)), (vec![1, 2], vec![1, 2]));
        for notes in [&started, &ended] {
            notes.lock().unwrap().clear();
        }
    }
    // Workers that have not begun when their pool's process forks.
    let build = || {
        let spawn = |worker| send.send(worker).map_err(Error::other);
        let builder = Pool::builder().num_threads(3);
        let builder = builder.start_handler(note_in(&started)).exit_handler(note_in(&ended));
        drop(builder.spawn_handler(spawn).build().unwrap());
    };
    thread::scope(|scope| {
        scope.spawn(build);
        let waiting: Vec<_> = kept.iter().take(2).collect();
        let mut childs = Some(waiting);
        forked(|| {
            let mut workers_here = childs.take().unwrap();
            workers_here.pop().unwrap().run();
            drop(workers_here);
            assert_eq!((workers(&started), workers(&ended)), (vec![], vec![]));
        });
        for worker in childs.take().unwrap() {
            scope.spawn(|| worker.run());
        }
    });
    assert_eq!((workers(&started), workers(&ended)), (vec![1, 2], vec![1, 2]));
}
