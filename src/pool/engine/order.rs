//! The order in which the partial results of a loop are reduced: neighbours first.
//!
//! Partial results are the leaves of a tree. A node of level `l` spans `2^l` leaves and begins at a
//! multiple of `2^l`. First, the two halves of every node are reduced. Then the remaining nodes are
//! reduced from right to left. So each partial result takes part in at most `log2(n) + 1`
//! reductions, where `n` is the number of leaves. (If `reduce` appends lists, it moves each item at
//! most so often.)
//!
//! In a loop whose result is reproducible, each block of items is a leaf. So the order depends only
//! on the number of blocks, and the result does not depend on the distribution of blocks to
//! workers. (This order is pairwise summation. The rounding error of pairwise summation is smaller
//! than the plain loop's error: Higham, The accuracy of floating point summation, 1993.) In other
//! loops, each run of items is a leaf.

use std::{mem, ops::Range};

use super::ending::discard;

/// The items of a partial result: either a run, identified by its first item, or a node of the
/// tree, identified by its first leaf and its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) first: usize,
    /// 0 for a run and for a leaf.
    pub(crate) level: u32,
}

impl Node {
    /// A run or a leaf that begins here.
    pub(crate) fn at(first: usize) -> Self {
        Self { first, level: 0 }
    }

    /// The node whose halves are `self` and `next`; `None` if there is no such node.
    pub(crate) fn with(self, next: Self) -> Option<Self> {
        let Self { first, level } = self;
        let are_halves =
            next.level == level && (first >> level).is_multiple_of(2) && next.first == first + (1 << level);
        are_halves.then_some(Self { first, level: level + 1 })
    }
}

/// The results of neighbouring leaves, reduced as far as possible.
///
/// Dropping the tree drops the results one by one, and catches panics. So the process does not
/// abort if several of these drops panic, or if a drop panics after a reduction has panicked. (The
/// plain loop has no partial results, so it does not abort either.)
#[derive(Debug)]
pub(crate) struct Tree<A> {
    /// The nodes and their results, from left to right.
    nodes: Vec<(Node, A)>,
}

impl<A> Drop for Tree<A> {
    fn drop(&mut self) {
        self.nodes.drain(..).for_each(discard);
    }
}

impl<A> Tree<A> {
    pub(crate) const fn new() -> Self {
        Self { nodes: Vec::new() }
    }

    /// The tree of `nodes`, which are in order from left to right.
    pub(crate) fn of(mut nodes: Vec<(Node, A)>, reduce: &impl Fn(A, A) -> A) -> Self {
        nodes.reverse();
        // If `reduce` panics, the other results are dropped as those of a tree.
        let (mut others, mut tree) = (Self { nodes }, Self::new());
        while let Some((node, result)) = others.nodes.pop() {
            tree.add(node, result, reduce);
        }
        tree
    }

    /// Adds a node behind the nodes in the tree. While the last two nodes are the halves of a node,
    /// reduces these two.
    #[inline(always)] // into its two callers, for each leaf and for each node
    pub(crate) fn add(&mut self, mut node: Node, mut result: A, reduce: &impl Fn(A, A) -> A) {
        while let Some((left, _)) = self.nodes.last()
            && let Some(whole) = left.with(node)
            && let Some((_, left)) = self.nodes.pop()
        {
            (node, result) = (whole, reduce(left, result));
        }
        self.nodes.push((node, result));
    }

    /// The range of leaves in the tree.
    pub(crate) fn leaves(&self) -> Range<usize> {
        let first = self.nodes.first().map_or(0, |(node, _)| node.first);
        first..self.nodes.last().map_or(0, |(node, _)| node.first + (1 << node.level))
    }

    /// The nodes, from left to right.
    pub(crate) fn into_nodes(mut self) -> impl Iterator<Item = (Node, A)> {
        mem::take(&mut self.nodes).into_iter()
    }

    /// The result of all leaves; `None` if there are no leaves.
    pub(crate) fn into_result(mut self, reduce: &impl Fn(A, A) -> A) -> Option<A> {
        let (_, mut result) = self.nodes.pop()?;
        while let Some((_, left)) = self.nodes.pop() {
            result = reduce(left, result);
        }
        Some(result)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A reduction whose result is a text that shows it.
    fn pair(left: String, right: String) -> String {
        [String::from("("), left, right, String::from(")")].concat()
    }

    /// The nodes of `blocks` blocks, if one worker has folded them.
    fn nodes(blocks: Range<usize>) -> Vec<(Node, String)> {
        let mut tree = Tree::new();
        for block in blocks {
            tree.add(Node::at(block), block.to_string(), &pair);
        }
        tree.into_nodes().collect()
    }

    #[test]
    fn each_leaf_is_reduced_at_most_once_per_level() {
        for leaves in 1..100 {
            let whole = Tree::of(nodes(0..leaves), &pair).into_result(&pair).unwrap();
            let (mut depth, mut deepest) = (0, 0);
            for bracket in whole.chars() {
                depth += i32::from(bracket == '(') - i32::from(bracket == ')');
                deepest = depth.max(deepest);
            }
            let levels = leaves.next_power_of_two().ilog2();
            assert_eq!(u32::try_from(deepest), Ok(levels), "{whole}");
        }
    }

    #[test]
    fn the_order_of_a_tree_does_not_depend_on_the_workers() {
        let shown =
            |parts: &[Vec<(Node, String)>]| Tree::of(parts.concat(), &pair).into_result(&pair).unwrap();
        assert_eq!(shown(&[nodes(0..7)]), "(((01)(23))((45)6))");
        for blocks in 1..if cfg!(miri) { 6 } else { 20 } {
            let expected = shown(&[nodes(0..blocks)]);
            for first in 0..=blocks {
                for second in first..=blocks {
                    let parts = [nodes(0..first), nodes(first..second), nodes(second..blocks)];
                    assert_eq!(shown(&parts), expected, "{first} {second} {blocks}");
                }
            }
        }
    }
}
