//! Loops over a list that grows: every item once, whatever happens.

use std::{
    collections::HashSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use rangesteal::{CancelToken, Cancelled, Pool, RunReport};

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

/// The children of a node of an irregular tree: numbers below `end`.
fn children(node: u64, end: u64) -> impl Iterator<Item = u64> {
    (1..=1 + node % 3).map(move |i| 3 * node + i).filter(move |child| *child < end)
}

/// The nodes of the tree, by a plain stack.
fn nodes(end: u64) -> Vec<u64> {
    let (mut stack, mut nodes) = (vec![0], Vec::new());
    while let Some(node) = stack.pop() {
        nodes.push(node);
        stack.extend(children(node, end));
    }
    nodes.sort_unstable();
    nodes
}

#[test]
fn every_item_is_folded_once() {
    let most = if cfg!(miri) { 300 } else { 3_000_000 };
    for threads in [1, 2, 3, 7] {
        let pool = pool(threads);
        for end in [1, 2, 5, 100, most / 100, most / 10, most] {
            let mut report = RunReport::default();
            let mut seen = pool.grow([0]).report(&mut report).fold_unordered(
                Vec::new,
                |mut seen, node, feed| {
                    seen.push(node);
                    feed.extend(children(node, end));
                    seen
                },
                |mut a, mut b| {
                    a.append(&mut b);
                    a
                },
            );
            seen.sort_unstable();
            assert!(seen == nodes(end), "{threads} threads, {end}");
            assert_eq!(report.items(), seen.len());
        }
    }
}
