//! Partial results combined in an order that depends only on the number of blocks: by pairs, pairs
//! of pairs, and so on.
//!
//! Blocks are leaves of a tree. A node of level `l` spans `2^l` blocks and begins at a multiple of
//! `2^l`. A worker that holds both halves of a node reduces them; nodes that are left over at the
//! end are reduced from the right. So it does not matter which worker has folded which blocks:
//! every value is computed by the same operations in the same order. (This is pairwise summation,
//! which also has a smaller error than the plain loop: Higham, The accuracy of floating point
//! summation, 1993.)

use std::{mem, ops::Range};

use crate::pool::call::ending::discard;

/// Items per block for a slice of `len` items; depends on `len` alone. `len / 256`, so that there
/// are at least 256 blocks, since blocks are claimed whole; but at most 64, or `len / 2048` if that
/// is more. There are always fewer than 4096 blocks. Each block has a partial result of its own.
pub(crate) fn block(len: usize) -> usize {
    (len / 256).clamp(1, 64).max(len / 2048)
}

/// The results of neighbouring blocks, reduced as far as possible. Dropping it drops the results
/// one by one and catches panics: if several of these drops panic, the process still goes on, as
/// with the plain loop, which has no such results.
#[derive(Debug)]
pub(crate) struct Tree<A> {
    /// The first block, level, and result of each node, from left to right.
    nodes: Vec<(usize, u32, A)>,
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

    /// Adds a node behind those in the tree.
    pub(crate) fn add(
        &mut self,
        mut first: usize,
        mut level: u32,
        mut result: A,
        reduce: &impl Fn(A, A) -> A,
    ) {
        // If this is a right half, the other half of the same node lies to the left of it.
        while (first >> level) % 2 == 1
            && let Some((_, _, left)) = self.nodes.pop_if(|(_, other, _)| *other == level)
        {
            result = reduce(left, result);
            first -= 1 << level;
            level += 1;
        }
        self.nodes.push((first, level, result));
    }

    /// The blocks of the tree, which are neighbours.
    pub(crate) fn blocks(&self) -> Range<usize> {
        let first = self.nodes.first().map_or(0, |&(first, ..)| first);
        first..self.nodes.last().map_or(0, |&(first, level, _)| first + (1 << level))
    }

    /// The nodes, from left to right.
    pub(crate) fn into_nodes(mut self) -> impl Iterator<Item = (usize, u32, A)> {
        mem::take(&mut self.nodes).into_iter()
    }

    /// The result of all blocks; none if there are no blocks.
    pub(crate) fn into_result(mut self, reduce: &impl Fn(A, A) -> A) -> Option<A> {
        let (_, _, mut result) = self.nodes.pop()?;
        while let Some((_, _, left)) = self.nodes.pop() {
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
