//! The order in which the partial results of a loop are reduced: neighbours first.
//!
//! In a loop whose result is reproducible, blocks of items are the leaves of a tree. A node of
//! level `l` spans `2^l` blocks and begins at a multiple of `2^l`. First, the two halves of every
//! node are reduced. Then the remaining nodes are reduced from right to left. So the order depends
//! only on the number of blocks. The result does not depend on the distribution of blocks to
//! workers. (This order is pairwise summation. The rounding error of pairwise summation is smaller
//! than the plain loop's error: Higham, The accuracy of floating point summation, 1993.)

use std::borrow::Cow;

use crate::sorted;

/// The items of a partial result: either a run, identified by its first item, or a node of the
/// tree, identified by its first block and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) first: usize,
    /// 0 for a run.
    pub(crate) level: u32,
}

impl Node {
    pub(crate) fn run(first: usize) -> Self {
        Self { first, level: 0 }
    }

    /// The node whose halves are `self` and `next`; `None` if there is no such node.
    pub(crate) fn with(self, next: Self) -> Option<Self> {
        let Self { first, level } = self;
        let are_halves =
            next.level == level && first.is_multiple_of(2 << level) && next.first == first + (1 << level);
        are_halves.then_some(Self { first, level: level + 1 })
    }
}

/// The order in which the partial results of a loop are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// The order for runs: first pairs of neighbours, then pairs of pairs, and so on. In this
    /// order, a large partial result is copied only a few times. If the runs were reduced from left
    /// to right, a large partial result would be copied once for each later run.
    Runs,
    /// The nodes of a tree.
    Tree,
}

impl Order {
    /// The pairs of `nodes` nodes to reduce, in this order. The result of a pair replaces the left
    /// node of the pair. `node` returns a node by its number. The pair of two nodes, the commonest
    /// case, takes no allocation.
    pub(crate) fn pairs(self, nodes: usize, node: &dyn Fn(usize) -> Node) -> Cow<'static, [(usize, usize)]> {
        let is_before = |a: usize, b: usize| node(a).first < node(b).first;
        if nodes == 2 {
            return Cow::Borrowed(if is_before(1, 0) { &[(1, 0)] } else { &[(0, 1)] });
        }
        let mut order = sorted::order(nodes, &is_before);
        let mut pairs = Vec::with_capacity(order.len());
        if self == Self::Tree {
            order = halves(node, order, &mut pairs);
            pairs.extend(order.windows(2).rev().map(|pair| (pair[0], pair[1])));
            return pairs.into();
        }
        while order.len() > 1 {
            pairs.extend(order.chunks_exact(2).map(|pair| (pair[0], pair[1])));
            order = order.into_iter().step_by(2).collect();
        }
        pairs.into()
    }
}

/// Pairs all halves of nodes. Returns the nodes that remain, from left to right. `order` has the
/// positions of the nodes, from left to right.
pub(crate) fn halves(
    node: &dyn Fn(usize) -> Node,
    order: Vec<usize>,
    pairs: &mut Vec<(usize, usize)>,
) -> Vec<usize> {
    let mut left: Vec<(Node, usize)> = Vec::new();
    for at in order {
        let (mut this, mut place) = (node(at), at);
        while let Some(&(before, other)) = left.last()
            && let Some(whole) = before.with(this)
        {
            left.pop();
            pairs.push((other, place));
            (this, place) = (whole, other);
        }
        left.push((this, place));
    }
    left.into_iter().map(|(_, place)| place).collect()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::ops::Range;

    use super::*;

    #[test]
    fn each_run_is_reduced_once_per_level_with_its_neighbour() {
        for runs in 1..100 {
            let nodes: Vec<Node> = (0..runs).map(|run| Node::run(run * 37 % 101)).collect();
            let mut order: Vec<usize> = (0..runs).collect();
            order.sort_unstable_by_key(|&run| nodes[run].first);
            // For each partial result: the range of runs that it consists of, and its number of
            // reductions.
            let mut stretches: Vec<_> = (0..runs).map(|_| None).collect();
            order.iter().enumerate().for_each(|(at, &run)| stretches[run] = Some((at..at + 1, 0)));
            let mut last = 0;
            for &(left, right) in &*Order::Runs.pairs(nodes.len(), &|at| nodes[at]) {
                let ((before, a), (behind, b)): ((Range<usize>, u32), (Range<usize>, u32)) =
                    stretches[left].take().zip(stretches[right].take()).unwrap();
                assert_eq!(before.end, behind.start);
                stretches[left] = Some((before.start..behind.end, a.max(b) + 1));
                last = left;
            }
            let (whole, levels) = stretches[last].take().unwrap();
            assert_eq!(whole, 0..runs);
            assert!(levels <= runs.next_power_of_two().ilog2(), "{levels} levels of {runs} runs");
        }
    }

    /// Shows the order of the reductions of the nodes.
    fn shown(nodes: &[Node]) -> String {
        let mut results: Vec<_> = nodes.iter().map(|node| Some(named(*node))).collect();
        let mut last = 0;
        for &(left, right) in &*Order::Tree.pairs(nodes.len(), &|at| nodes[at]) {
            let (a, b) = results[left].take().zip(results[right].take()).unwrap();
            results[left] = Some(format!("({a}{b})"));
            last = left;
        }
        results[last].take().unwrap()
    }

    /// The name of a node whose blocks one worker has folded.
    fn named(Node { first, level }: Node) -> String {
        if level == 0 {
            return first.to_string();
        }
        let half = |first| named(Node { first, level: level - 1 });
        format!("({}{})", half(first), half(first + (1 << (level - 1))))
    }

    /// The nodes of `blocks` blocks, if one worker has folded them.
    fn nodes(blocks: Range<usize>) -> Vec<Node> {
        let leaves: Vec<Node> = blocks.map(Node::run).collect();
        let mut nodes: Vec<_> = leaves.iter().copied().map(Some).collect();
        let mut pairs = Vec::new();
        halves(&|at| leaves[at], (0..leaves.len()).collect(), &mut pairs);
        for (left, right) in pairs {
            nodes[left] = nodes[left].zip(nodes[right].take()).and_then(|(a, b)| a.with(b));
        }
        nodes.into_iter().flatten().collect()
    }

    #[test]
    fn the_order_of_a_tree_does_not_depend_on_the_workers() {
        assert_eq!(shown(&nodes(0..7)), "(((01)(23))((45)6))");
        for blocks in 1..if cfg!(miri) { 6 } else { 20 } {
            let expected = shown(&nodes(0..blocks));
            for first in 0..=blocks {
                for second in first..=blocks {
                    let parts = [nodes(second..blocks), nodes(0..first), nodes(first..second)];
                    assert_eq!(shown(&parts.concat()), expected, "{first} {second} {blocks}");
                }
            }
        }
    }
}
