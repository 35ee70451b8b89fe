//! The unit of an index of a loop: an item, or a block of items.

use std::ops::Range;

/// The unit of the indices of a loop.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Units {
    Items,
    Blocks {
        blocks: Blocks,
        /// The number of the first block, if the blocks are the leaves of a tree. Each leaf has its
        /// own partial result. The first number exceeds 0 if other items of the tree come before
        /// the items of this loop.
        first_leaf: Option<usize>,
    },
}

impl Units {
    /// Whether an index stands for a block.
    #[inline(always)]
    pub(crate) fn are_blocks(self) -> bool {
        matches!(self, Self::Blocks { .. })
    }

    /// Whether an index stands for a leaf of a tree.
    pub(crate) fn are_leaves(self) -> bool {
        matches!(self, Self::Blocks { first_leaf: Some(_), .. })
    }

    /// How many items an index stands for. The last index may stand for fewer.
    pub(crate) fn size(self) -> usize {
        match self {
            Self::Items => 1,
            Self::Blocks { blocks, .. } => blocks.size,
        }
    }

    /// The index that stands for this item, among others.
    pub(crate) fn index(self, item: usize) -> usize {
        item / self.size()
    }

    /// The number of the block of this item. The first block of a tree may have a number above 0.
    pub(crate) fn block_of(self, item: usize) -> usize {
        let first = if let Self::Blocks { first_leaf: Some(first), .. } = self { first } else { 0 };
        first + self.index(item)
    }

    /// The items that `indices` stand for.
    #[inline(always)]
    pub(crate) fn items(self, indices: Range<usize>) -> Range<usize> {
        match self {
            Self::Items => indices,
            Self::Blocks { blocks, .. } => blocks.items(indices),
        }
    }
}

/// Blocks of equal size. The last block may be shorter.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    /// Items per block, at least one.
    pub(crate) size: usize,
    /// The number of items in all blocks together.
    pub(crate) len: usize,
}

impl Blocks {
    /// How many blocks there are.
    pub(crate) fn count(self) -> usize {
        self.len.div_ceil(self.size)
    }

    /// The items of some `blocks` of these. For one block this is a single multiplication, without
    /// a test for an overflow: no block that has items begins behind `usize::MAX`.
    #[inline(always)]
    pub(crate) fn items(self, blocks: Range<usize>) -> Range<usize> {
        let first = self.len.min(blocks.start.wrapping_mul(self.size));
        let most = (blocks.end - blocks.start).saturating_mul(self.size);
        first..first + most.min(self.len - first)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_items() {
        for len in 0..40 {
            for size in 1..12 {
                let blocks = Blocks { size, len };
                let items: Vec<usize> = (0..blocks.count()).flat_map(|b| blocks.items(b..b + 1)).collect();
                assert!(items.into_iter().eq(0..len) && blocks.items(0..blocks.count()) == (0..len));
            }
        }
        let all = Blocks { size: 2, len: usize::MAX };
        assert_eq!(all.items(all.count() - 1..all.count()), usize::MAX - 1..usize::MAX);
        let halves = Blocks { size: 1 << (usize::BITS - 1), ..all };
        assert_eq!(halves.items(0..2), 0..usize::MAX);
        assert_eq!(halves.items(1..2), halves.size..usize::MAX);
        assert!(halves.items(2..2).is_empty());
    }
}
