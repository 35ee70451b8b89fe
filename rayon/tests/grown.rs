//! Parts that a closure divides, and trees whose nodes a closure makes.

#![cfg(feature = "threads")]
#![allow(clippy::trivially_copy_pass_by_ref, reason = "closures of trees")]

mod dropped;

use std::{
    collections::HashSet,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::Relaxed},
    },
    thread,
    time::Duration,
};

use dropped::Dropped;
use rangesteal_rayon as rayon;
use rayon::{
    ThreadPoolBuilder,
    iter::{split, walk_tree, walk_tree_postfix, walk_tree_prefix},
    prelude::*,
};

/// Calls `work` on pools of one, two and four threads.
fn on_pools(work: impl Fn() + Sync) {
    for threads in [1, 2, 4] {
        let pool = ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(&work);
    }
}

/// Divides a range in two, down to single numbers.
fn halves(range: Range<usize>) -> (Range<usize>, Option<Range<usize>>) {
    let middle = range.start + range.len() / 2;
    if range.len() < 2 { (range, None) } else { (range.start..middle, Some(middle..range.end)) }
}

/// A splitter that can divide an interval of a million numbers is not called a million times.
#[test]
fn parts_are_as_many_as_threads_need() {
    on_pools(|| {
        let parts: Vec<_> = split(0..1_000_000, halves).collect();
        assert!(parts.len() < 1000, "{} parts", parts.len());
        assert!(parts.iter().cloned().flatten().eq(0..1_000_000), "in order");
        assert_eq!(split(0..1_000_000, halves).map(|part| part.len()).sum::<usize>(), 1_000_000);
        let last = split(0..1_000_000, halves).find_last(|_| true);
        assert_eq!(last.map(|part| part.end), Some(1_000_000));
    });
}

/// The children of a node: none, one or several.
fn children(of: &usize) -> Vec<usize> {
    let first = of * 5 / 2 + 1;
    (first..first + of * 7 % 4 + usize::from(of.is_multiple_of(9))).filter(|child| *child < 3000).collect()
}

fn parents_first(of: usize, children_of: fn(&usize) -> Vec<usize>, to: &mut Vec<usize>) {
    to.push(of);
    for child in children_of(&of) {
        parents_first(child, children_of, to);
    }
}

fn children_first(of: usize, children_of: fn(&usize) -> Vec<usize>, to: &mut Vec<usize>) {
    for child in children_of(&of) {
        children_first(child, children_of, to);
    }
    to.push(of);
}

/// A chain of nodes.
fn next(of: &usize) -> Vec<usize> {
    (*of < 200).then_some(of + 1).into_iter().collect()
}

/// A chain that ends in several children.
fn fork(of: &usize) -> Vec<usize> {
    if *of < 30 { vec![of + 1] } else { (31..100).filter(|_| *of == 30).collect() }
}

/// A chain of even nodes, each of which has an odd one beside the next one.
fn comb(of: &usize) -> Vec<usize> {
    if *of < 2000 && of.is_multiple_of(2) { vec![of + 1, of + 2] } else { vec![] }
}

#[test]
fn nodes_are_in_order() {
    on_pools(|| {
        for children_of in [children, next, fork, comb] {
            let (mut prefix, mut postfix) = (Vec::new(), Vec::new());
            parents_first(0, children_of, &mut prefix);
            children_first(0, children_of, &mut postfix);
            assert_eq!(walk_tree(0, children_of).count(), prefix.len());
            assert_eq!(walk_tree_prefix(0, children_of).collect::<Vec<_>>(), prefix);
            assert_eq!(walk_tree_postfix(0, children_of).collect::<Vec<_>>(), postfix);
            let is_odd = |node: &usize| node % 2 == 1;
            let odd: Vec<_> = prefix.iter().copied().filter(is_odd).collect();
            assert_eq!(walk_tree_prefix(0, children_of).filter(is_odd).collect::<Vec<_>>(), odd);
            assert_eq!(walk_tree_prefix(0, children_of).find_last(is_odd), odd.last().copied());
            let first = postfix.iter().copied().find(is_odd);
            assert_eq!(walk_tree_postfix(0, children_of).find_first(is_odd), first);
        }
    });
}

#[test]
fn a_tree_may_be_deeper_than_a_stack() {
    const N: usize = 400_000;
    let comb = |of: &usize| {
        let has_children = of + 2 < N && of.is_multiple_of(2);
        (of + 1..of + 3).filter(move |_| has_children)
    };
    on_pools(|| {
        let sum = (0..N - 1).sum::<usize>();
        assert_eq!(walk_tree(0, comb).sum::<usize>(), sum);
        assert_eq!(walk_tree_postfix(0, comb).sum::<usize>(), sum);
    });
}

/// A search ends although the tree does not.
#[test]
fn a_tree_may_be_endless() {
    on_pools(|| {
        let found = walk_tree(0, |depth: &u64| [depth + 1, depth + 1]).find_any(|depth| *depth == 1000);
        assert_eq!(found, Some(1000));
    });
}

/// The closure that makes the children runs on several threads.
#[test]
fn children_are_made_on_all_threads() {
    let pool = ThreadPoolBuilder::new().num_threads(2).build().expect("a pool");
    let threads = Mutex::new(HashSet::new());
    for _ in 0..100 {
        let children = |depth: &u32| {
            thread::sleep(Duration::from_millis(1));
            threads.lock().expect("no panic").insert(thread::current().id());
            vec![depth + 1; if *depth < 4 { 2 } else { 0 }]
        };
        assert_eq!(pool.install(|| walk_tree(0, children).count()), 31);
        if threads.lock().expect("no panic").len() > 1 {
            return;
        }
    }
    panic!("one thread made all children");
}

/// Divides a vector in two, down to single items.
fn halved<T>(mut all: Vec<T>) -> (Vec<T>, Option<Vec<T>>) {
    let right = (all.len() > 1).then(|| all.split_off(all.len() / 2));
    (all, right)
}

/// Whatever panics, and wherever a loop ends early, each part and each node is dropped once.
#[test]
fn each_node_is_dropped_once() {
    const N: usize = 300;
    on_pools(|| {
        for at in [0, 1, 7, N / 2, N - 1, N] {
            for way in 0..6 {
                let (drops, made): (Vec<_>, Vec<_>) =
                    (0..N).map(|_| (AtomicUsize::new(0), AtomicUsize::new(0))).unzip();
                let node = |at: usize| {
                    made[at].fetch_add(1, Relaxed);
                    Dropped { at, drops: &drops }
                };
                let children = |of: &Dropped<'_>| {
                    assert!(way != 0 || of.at != at, "wanted");
                    (3 * of.at + 1..(3 * of.at + 4).min(N)).map(node).collect::<Vec<_>>()
                };
                let is_at = |item: &Dropped<'_>| item.at == at;
                let not_at = |item: Dropped<'_>| assert!(item.at != at, "wanted");
                let all = || (0..N).map(node).collect::<Vec<_>>();
                _ = catch_unwind(AssertUnwindSafe(|| match way {
                    0 => drop(walk_tree_prefix(node(0), children).collect::<Vec<_>>()),
                    1 => walk_tree_postfix(node(0), children).for_each(not_at),
                    2 => drop(walk_tree_prefix(node(0), children).find_any(is_at)),
                    3 => drop(
                        split(all(), |part| {
                            assert!(!part.iter().any(is_at), "wanted");
                            halved(part)
                        })
                        .collect::<Vec<_>>(),
                    ),
                    4 => drop(split(all(), halved).find_first(|part| part.iter().any(is_at))),
                    _ => drop(walk_tree_postfix(node(0), children).find_last(is_at)),
                }));
                let wrong = |at: &usize| drops[*at].load(Relaxed) != made[*at].load(Relaxed);
                let wrong: Vec<_> = (0..N).filter(wrong).collect();
                assert!(wrong.is_empty(), "way {way}, at {at}: not dropped once: {wrong:?}");
            }
        }
    });
}
