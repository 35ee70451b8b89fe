//! `par_bridge`: the threads pull the items of a serial iterator one by one.
#![cfg(feature = "threads")]

use std::{
    iter,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Barrier,
        atomic::{AtomicIsize, AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::Duration,
};

use rangesteal_rayon::{self as rayon, ThreadPool, ThreadPoolBuilder, prelude::*};

/// A node of a tree that makes its children.
struct Node(u32, mpsc::Sender<Node>);

impl Node {
    /// The root alone.
    fn root(depth: u32) -> mpsc::Receiver<Node> {
        let (sender, receiver) = mpsc::channel();
        sender.send(Self(depth, sender.clone())).unwrap();
        receiver
    }

    /// Sends as many children as the node is deep.
    fn grow(self) {
        let Self(depth, sender) = self;
        (0..depth).for_each(|_| sender.send(Self(depth - 1, sender.clone())).unwrap());
    }
}

fn pool(threads: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
}

/// Every item comes once, whatever the number of threads.
#[test]
fn all_items_come_once() {
    for threads in [1, 2, 4] {
        for count in [0, 1, 2, 3, MANY, 100 * MANY] {
            let mut all: Vec<usize> = pool(threads).install(|| (0..count).par_bridge().collect());
            all.sort_unstable();
            assert!(all.into_iter().eq(0..count), "{threads} threads, {count} items");
        }
    }
}

/// The closure sends the items that the iterator receives: the loop ends when all have been
/// dropped, as a walk through folders does.
#[test]
fn a_loop_feeds_its_iterator() {
    for threads in [1, 2, 4] {
        let count = AtomicUsize::new(0);
        pool(threads).install(|| {
            Node::root(DEPTH).into_iter().par_bridge().for_each(|node| {
                count.fetch_add(1, Relaxed);
                node.grow();
            });
        });
        assert_eq!(count.into_inner(), (1..=DEPTH as usize).fold(1, |below, depth| 1 + depth * below));
    }
}

const DEPTH: u32 = if cfg!(miri) { 3 } else { 6 };

/// The same in a spawned task, while its spawner takes the results.
#[test]
fn a_task_feeds_its_iterator() {
    for threads in [1, 2] {
        let (results, received) = mpsc::channel();
        pool(threads).spawn(move || {
            Node::root(4).into_iter().par_bridge().for_each_with(results, |results, node| {
                results.send(node.0).unwrap();
                node.grow();
            });
        });
        assert_eq!(received.iter().count(), 1 + 4 + 12 + 24 + 24);
    }
}

/// An iterator without end: the search ends when an item is found.
#[test]
fn an_endless_iterator() {
    for threads in [1, 2, 4] {
        let found = pool(threads).install(|| (0..).par_bridge().find_any(|x| *x > 10 * MANY));
        assert!(found.is_some_and(|x| x > 10 * MANY));
    }
}

/// The second item begins while the first one waits for it.
#[test]
fn items_wait_for_each_other() {
    let barrier = Barrier::new(2);
    pool(2).install(|| (0..2).par_bridge().for_each(|_| _ = barrier.wait()));
}

/// A panic of the iterator ends the loop on all threads.
#[test]
fn the_iterator_panics() {
    for threads in [1, 2, 4] {
        let items = (0..).map(|x| if x < MANY { x } else { panic!("the iterator") });
        let items = AssertUnwindSafe(items);
        let ended = catch_unwind(|| pool(threads).install(|| { items }.0.par_bridge().for_each(|_| ())));
        let payload = ended.expect_err("a panic");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the iterator"));
    }
}

/// All threads pull: one item waits until each other thread has one, too.
#[test]
fn all_threads_help() {
    let barrier = Barrier::new(3);
    pool(3)
        .install(|| (0..3 * MANY).par_bridge().for_each(|x| _ = (x >= 3 * MANY - 3).then(|| barrier.wait())));
}

/// Under Miri a loop is a hundred times slower.
const MANY: usize = if cfg!(miri) { 60 } else { 1000 };

/// Counts the values that are alive.
struct Counted<'a>(usize, &'a AtomicIsize);

impl<'a> Counted<'a> {
    fn new(number: usize, alive: &'a AtomicIsize) -> Self {
        alive.fetch_add(1, Relaxed);
        Self(number, alive)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.1.fetch_sub(1, Relaxed);
    }
}

/// Items that have been made before the loop, so those that are left must be dropped, too.
fn made(alive: &AtomicIsize) -> Vec<Counted<'_>> {
    (0..MANY).map(|number| Counted::new(number, alive)).collect()
}

/// Every item is dropped once: those of the panic, those that the threads hold, those that have
/// been collected, and those that nobody has pulled.
#[test]
fn items_are_dropped_once() {
    let alive = AtomicIsize::new(0);
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for stop in [0, 1, MANY / 2, MANY - 1, MANY] {
            let bad = |item: &Counted<'_>| assert!(item.0 != stop, "the closure");
            let run = |run: &(dyn Fn(Vec<Counted<'_>>) + Sync)| {
                let run = || pool.install(|| run(made(&alive)));
                let is_bad = catch_unwind(AssertUnwindSafe(run)).is_err();
                assert_eq!(alive.load(Relaxed), 0, "{threads} threads, {stop}");
                is_bad
            };
            assert_eq!(run(&|all| all.into_iter().par_bridge().for_each(|item| bad(&item))), stop < MANY);
            let collects = |all: Vec<Counted<'_>>| {
                let kept = all.into_iter().par_bridge().inspect(bad).collect::<Vec<_>>();
                assert_eq!(kept.len(), MANY);
            };
            assert_eq!(run(&collects), stop < MANY);
            let fails = |all: Vec<Counted<'_>>| {
                let items = all.into_iter().inspect(bad);
                assert_eq!(items.par_bridge().map(|item| vec![item]).flatten_iter().count(), MANY);
            };
            assert_eq!(run(&fails), stop < MANY);
            let finds = |all: Vec<Counted<'_>>| {
                let found = all.into_iter().par_bridge().find_any(|item| item.0 == stop);
                assert_eq!(found.map(|item| item.0), Some(stop).filter(|stop| *stop < MANY));
            };
            assert!(!run(&finds));
            let reduces = |all: Vec<Counted<'_>>| {
                let one = all.into_iter().par_bridge().reduce_with(|a, b| if a.0 > b.0 { a } else { b });
                bad(&one.unwrap());
            };
            assert_eq!(run(&reduces), stop == MANY - 1);
        }
    }
}

/// A panic of a closure ends the loop on all threads, also if the iterator has no end.
#[test]
fn a_closure_panics_beside_an_endless_iterator() {
    for threads in [1, 2, 4] {
        let pool = pool(threads);
        for bad in [0, 1, MANY as u64] {
            let run = || (0_u64..).par_bridge().for_each(|x| assert!(x != bad, "the closure"));
            let ended = catch_unwind(AssertUnwindSafe(|| pool.install(run)));
            let payload = ended.expect_err("a panic");
            assert_eq!(payload.downcast_ref::<&str>(), Some(&"the closure"));
        }
    }
}

/// The iterator calls loops, joins and scopes, and so do the closures.
#[test]
fn an_iterator_and_its_loop_call_loops() {
    let calls = |x: usize| -> usize {
        let mut sum = 0;
        rayon::scope(|scope| scope.spawn(|_| sum = (0..x).into_par_iter().sum()));
        let (a, b) = rayon::join(|| (0..x).par_bridge().count(), || (0..x).into_par_iter().max());
        sum + a + b.unwrap_or(0)
    };
    let expected: usize = (0..40).map(|x| 2 * calls(x)).sum();
    for threads in [1, 2, 4] {
        pool(threads).install(|| {
            let items = (0..40).map(|x| (x, calls(x)));
            let sum: usize = items.par_bridge().map(|(x, sum)| sum + calls(x)).sum();
            assert_eq!(sum, expected, "{threads} threads");
        });
    }
}

/// The iterator runs tasks that wait, of its own loop, too: such a task takes no item, since its
/// thread is inside the iterator. All other threads are busy, so nobody else runs these tasks.
#[test]
fn an_iterator_yields() {
    for threads in [1, 2, 4] {
        let (pool, busy, ends) = (pool(threads), Arc::new(Barrier::new(threads + 1)), mpsc::channel());
        for _ in 0..threads {
            let (busy, ends) = (Arc::clone(&busy), ends.0.clone());
            pool.spawn(move || {
                busy.wait();
                busy.wait();
                ends.send(()).unwrap();
            });
        }
        busy.wait();
        pool.install(|| {
            let items = (0..10).inspect(|_| {
                thread::sleep(Duration::from_millis(5)); // so the watch of scopes calls help
                rayon::yield_now();
            });
            let mut all: Vec<usize> = items.par_bridge().inspect(|_| _ = rayon::yield_now()).collect();
            all.sort_unstable();
            assert!(all.into_iter().eq(0..10), "{threads} threads");
        });
        busy.wait();
        assert_eq!(ends.1.iter().take(threads).count(), threads);
    }
}

/// An iterator that goes on after its end, and says a wrong number of items.
struct Odd {
    calls: usize,
    says: (usize, Option<usize>),
    drops: &'static AtomicUsize,
}

impl Iterator for Odd {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.calls += 1;
        (self.calls != MANY).then_some(self.calls)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.says
    }
}

impl Drop for Odd {
    fn drop(&mut self) {
        self.drops.fetch_add(1, Relaxed);
    }
}

/// The loop ends at the first `None`, whatever the iterator says about its length. The thread that
/// receives the `None` drops the iterator, once.
#[test]
fn an_iterator_says_wrong_numbers() {
    static DROPS: AtomicUsize = AtomicUsize::new(0);
    for threads in [1, 2, 4] {
        for says in [(0, None), (0, Some(0)), (5, Some(1)), (usize::MAX, None), (7, Some(usize::MAX))] {
            let odd = Odd { calls: 0, says, drops: &DROPS };
            let count = pool(threads).install(|| odd.par_bridge().count());
            assert_eq!((count, DROPS.swap(0, Relaxed)), (MANY - 1, 1), "{says:?}");
        }
    }
}

/// The drop of an iterator may panic.
#[test]
fn the_drop_of_an_iterator_panics() {
    struct Bad;
    impl Drop for Bad {
        fn drop(&mut self) {
            panic!("the drop");
        }
    }
    let alive = AtomicIsize::new(0);
    for threads in [1, 2] {
        let (pool, bad, mut all) = (pool(threads), Bad, made(&alive).into_iter());
        let items = iter::from_fn(move || {
            let _bad = &bad;
            all.next()
        });
        let ended = catch_unwind(AssertUnwindSafe(|| {
            pool.install(|| { items }.par_bridge().map(|item| item).collect::<Vec<_>>()).len()
        }));
        assert_eq!(ended.expect_err("a panic").downcast_ref::<&str>(), Some(&"the drop"));
        assert_eq!(alive.load(Relaxed), 0);
    }
}
