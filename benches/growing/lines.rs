//! Lists with hardly any parallelism. The target is to be no slower than the plain loop.

use std::hint::black_box;

use rangesteal::Pool;

use crate::{
    entrants::Entrants,
    row::{Row, Unit},
    task::{Task, busy},
    work::links,
};

/// Calls `each` with the next node. In a comb, calls `each` with a leaf (a 0) first.
#[inline]
fn next<const COMB: bool>(node: u64, mut each: impl FnMut(u64)) {
    if node > 0 {
        each(node - 1);
        if COMB {
            each(0);
        }
    }
}

fn plain<const COMB: bool>(nodes: u64, cost: impl Fn(u64) -> u64) -> u64 {
    let (mut stack, mut sum) = (vec![nodes], 0_u64);
    while let Some(node) = stack.pop() {
        next::<COMB>(node, |next| stack.push(next));
        black_box(stack.as_ptr()); // keeps the nodes in memory instead of registers
        sum = sum.wrapping_add(cost(node));
    }
    sum
}

fn grow<const COMB: bool>(pool: &Pool, nodes: u64, cost: impl Fn(u64) -> u64 + Sync) -> u64 {
    pool.grow([nodes]).fold_unordered(
        || 0,
        |sum: u64, node, feed| {
            next::<COMB>(node, |next| feed.push(next));
            sum.wrapping_add(cost(node))
        },
        u64::wrapping_add,
    )
}

/// A row of nodes with work of `cost` each. A call has `parts` nodes.
fn row<const COMB: bool>(
    entrants: &Entrants<'_>,
    name: &str,
    nodes: u64,
    cost: impl Fn(u64) -> u64 + Copy + Sync,
    (unit, bar, parts): (Unit, f64, usize),
) -> Row {
    let task = Task::plain(|| plain::<COMB>(nodes, cost)).grow(|pool| grow::<COMB>(pool, nodes, cost));
    Row::of(&task.per_part(parts).calls(10).race(entrants), name, unit, Some(bar))
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let (links, many) = black_box((links(100), links(1000)));
    let nothing = |node| black_box(node) ^ 5;
    let some = |node| busy(links) ^ node;
    let more = |node| busy(many) ^ node;
    let items = |items| (Unit::Nanos, 3.0, items);
    let ratio = (Unit::Ratio, 1.05, 1);
    vec![
        row::<true>(
            entrants,
            "comb: each makes a leaf and the next, an item",
            1_000_000,
            nothing,
            items(2_000_000),
        ),
        row::<false>(entrants, "chain: each makes the next, an item", 1_000_000, nothing, items(1_000_000)),
        row::<true>(entrants, "comb of 100k nodes, 100 ns each, with their leaves", 100_000, some, ratio),
        row::<false>(entrants, "chain of 100k nodes, 100 ns each", 100_000, some, ratio),
        row::<false>(entrants, "chain of 10k nodes, 1 µs each", 10_000, more, ratio),
    ]
}
