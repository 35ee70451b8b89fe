//! Partial results combined in an order that depends on the number of blocks alone: by pairs, pairs of pairs, and so on.
//!
//! Blocks are leaves of a tree whose node of level `l` spans `2^l` blocks, beginning at a multiple of that. Whoever holds both
//! halves of a node reduces them; what is left over at the end is reduced from the right. So it does not matter which blocks a worker has folded:
//! every value comes about by the same operations in the same order. (Pairwise summation, which this amounts to, also has a smaller error than the plain loop:
//! Higham, The accuracy of floating point summation, 1993.)

use super::accumulator::discard;

/// Items a block of a slice of `len`. It depends on that alone: 256 blocks at least, since they are claimed whole; blocks of 64 where that
/// makes more of them, since each has a partial result of its own; and fewer than 4096.
pub(crate) fn block(len: usize) -> usize {
    (len / 256).clamp(1, 64).max(len / 2048)
}

/// The results of neighbouring blocks, reduced as far as possible. Dropping it drops them one by one: should one panic, and the
/// next as well, the process goes on, as that of the plain loop, which has no such results.
#[derive(Debug)]
pub(crate) struct Tree<A> {
    /// First block, level, and result of each node, from left to right.
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

    /// Adds the result of the block behind those in the tree.
    #[inline]
    pub(crate) fn push(&mut self, block: usize, result: A, reduce: &impl Fn(A, A) -> A) {
        self.add(block, 0, result, reduce);
    }

    /// Adds the tree of the blocks behind those in this one.
    pub(crate) fn join(mut self, mut next: Self, reduce: &impl Fn(A, A) -> A) -> Self {
        next.nodes.reverse();
        while let Some((first, level, result)) = next.nodes.pop() {
            self.add(first, level, result, reduce);
        }
        self
    }

    fn add(&mut self, mut first: usize, mut level: u32, mut result: A, reduce: &impl Fn(A, A) -> A) {
        // The other half of the same node lies on the left of it, if this is the right half.
        while (first >> level) % 2 == 1
            && let Some((_, _, left)) = self.nodes.pop_if(|(_, other, _)| *other == level)
        {
            result = reduce(left, result);
            first -= 1 << level;
            level += 1;
        }
        self.nodes.push((first, level, result));
    }

    /// The result of all blocks; none if there are none.
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

    /// Shows in which order it came about.
    #[expect(clippy::needless_pass_by_value, reason = "as any reduction")]
    fn reduce(a: String, b: String) -> String {
        format!("({a}{b})")
    }

    #[test]
    fn blocks_are_many_but_not_too_many() {
        for len in [1, 2, 255, 256, 1000, 10_000, 131_072, 140_000, 1 << 20, usize::MAX] {
            let blocks = len.div_ceil(block(len));
            assert!((256.min(len)..4096).contains(&blocks), "{len} items in {blocks} blocks");
        }
    }

    #[test]
    fn the_order_does_not_depend_on_who_folds_what() {
        let tree = |blocks: std::ops::Range<usize>| {
            blocks.fold(Tree::new(), |mut tree, block| {
                tree.push(block, block.to_string(), &reduce);
                tree
            })
        };
        assert_eq!(tree(0..0).into_result(&reduce), None);
        assert_eq!(tree(0..7).into_result(&reduce).unwrap(), "(((01)(23))((45)6))");
        for blocks in 1..if cfg!(miri) { 6 } else { 20 } {
            let expected = tree(0..blocks).into_result(&reduce);
            for first in 0..=blocks {
                for second in first..=blocks {
                    let parts = tree(0..first).join(tree(first..second), &reduce);
                    let joined = parts.join(tree(second..blocks), &reduce);
                    assert_eq!(joined.into_result(&reduce), expected, "{first} {second} {blocks}");
                }
            }
        }
    }
}
