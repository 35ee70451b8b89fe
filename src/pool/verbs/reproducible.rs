//! Reduces partial results in an order that depends only on the number of blocks: first in pairs,
//! then in pairs of pairs, and so on.
//!
//! The blocks are the leaves of a tree. A node of level `l` spans `2^l` blocks and begins at a
//! multiple of `2^l`. If a worker holds both halves of a node, the worker reduces them. Nodes that
//! are left over at the end are reduced from the right. So every value is computed by the same
//! operations in the same order, no matter which worker folds which block. (For sums this is
//! pairwise summation, which also has a smaller error than the serial loop: see Higham, The
//! accuracy of floating point summation, 1993.)

use std::{mem, ops::Range};

use crate::pool::engine::{ending::discard, order::Node};

/// The number of items per block of a whole of `len` items, unless a [`grain`](crate::On::grain) is
/// set. The number is `len / 256` limited to `1..=64`, or `len / 2048` if this is greater. There
/// are always fewer than 4096 blocks.
///
/// ```
/// use rangesteal::reproducible::block;
///
/// assert_eq!([0, 100, 1000, 100_000, 1_000_000].map(block), [1, 1, 3, 64, 488]);
/// ```
#[must_use]
pub fn block(len: usize) -> usize {
    // With `len / 256` items per block there are at least 256 blocks to share, since workers claim
    // whole blocks. With `len / 2048` there are fewer than 4096 blocks, and so fewer than 4096
    // partial results.
    (len / 256).clamp(1, 64).max(len / 2048)
}

/// The results of neighbouring blocks, reduced as far as possible.
///
/// Dropping the tree drops the results one by one, and catches panics. So the process does not
/// abort if several of these drops panic. (The serial loop has no partial results, so it does not
/// abort either.)
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

    /// Adds a node behind the nodes in the tree.
    pub(crate) fn add(&mut self, mut node: Node, mut result: A, reduce: &impl Fn(A, A) -> A) {
        while let Some(whole) = self.nodes.last().and_then(|(left, _)| left.with(node))
            && let Some((_, left)) = self.nodes.pop()
        {
            result = reduce(left, result);
            node = whole;
        }
        self.nodes.push((node, result));
    }

    /// The range of blocks in the tree.
    pub(crate) fn blocks(&self) -> Range<usize> {
        let first = self.nodes.first().map_or(0, |(node, _)| node.first);
        first..self.nodes.last().map_or(0, |(node, _)| node.first + (1 << node.level))
    }

    /// The nodes, from left to right.
    pub(crate) fn into_nodes(mut self) -> impl Iterator<Item = (Node, A)> {
        mem::take(&mut self.nodes).into_iter()
    }

    /// The result of all blocks; `None` if there are no blocks.
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

    #[test]
    fn blocks_are_many_but_not_too_many() {
        for len in [1, 2, 255, 256, 1000, 10_000, 131_072, 140_000, 1 << 20, usize::MAX] {
            let blocks = len.div_ceil(block(len));
            assert!((256.min(len)..4096).contains(&blocks), "{len} items in {blocks} blocks");
        }
    }
}
