//! `par_bridge`: the threads pull the items of a serial iterator one by one.
#![cfg(feature = "threads")]

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
};

use rangesteal_rayon::{ThreadPool, ThreadPoolBuilder, prelude::*};

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
        for count in [0, 1, 2, 3, 1000, 100_000] {
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
            Node::root(6).into_iter().par_bridge().for_each(|node| {
                count.fetch_add(1, Relaxed);
                node.grow();
            });
        });
        let levels = [1, 6, 30, 120, 360, 720, 720];
        assert_eq!(count.into_inner(), levels.into_iter().sum(), "{threads} threads");
    }
}

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
        let found = pool(threads).install(|| (0_u64..).par_bridge().find_any(|x| *x > 10_000));
        assert!(found.is_some_and(|x| x > 10_000));
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
        let items = (0..).map(|x| if x < 1000 { x } else { panic!("the iterator") });
        let items = AssertUnwindSafe(items);
        let ended = catch_unwind(|| pool(threads).install(|| { items }.0.par_bridge().for_each(|_: i32| ())));
        let payload = ended.expect_err("a panic");
        assert_eq!(payload.downcast_ref::<&str>(), Some(&"the iterator"));
    }
}

/// All threads pull: one item waits until each other thread has one, too.
#[test]
fn all_threads_help() {
    let barrier = Barrier::new(3);
    pool(3).install(|| (0..3000).par_bridge().for_each(|x| _ = (x >= 2997).then(|| barrier.wait())));
}
