//! A table that grows, whose entries never move.

use std::sync::OnceLock;

/// The number of entries in the first block.
const FIRST_BLOCK: usize = 16;
const BLOCKS: usize = (usize::BITS - FIRST_BLOCK.ilog2()) as usize;

/// A table of `T`, made on demand. Each block has twice as many entries as the previous block.
#[derive(Debug)]
pub(crate) struct Slab<T> {
    blocks: [OnceLock<Box<[T]>>; BLOCKS],
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { blocks: [const { OnceLock::new() }; BLOCKS] }
    }

    /// Entry `number`. If the block of this entry does not exist yet, makes the block with `make`.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize, make: impl Fn() -> T) -> &T {
        // Block k begins with entry FIRST_BLOCK * (2^k - 1).
        let shifted = number + FIRST_BLOCK;
        let block = (shifted.ilog2() - FIRST_BLOCK.ilog2()) as usize;
        let size = FIRST_BLOCK << block;
        let entries = self.blocks[block].get_or_init(|| (0..size).map(|_| make()).collect());
        &entries[shifted - size]
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        ptr,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    #[test]
    fn entries_are_made_by_blocks_and_stay_where_they_are() {
        let made = AtomicUsize::new(0);
        let make = || made.fetch_add(1, Ordering::Relaxed);
        let slab = Slab::new();
        let entries: Vec<_> = (0..1000).map(|number| ptr::from_ref(slab.get(number, make))).collect();
        assert_eq!(made.into_inner(), 16 * (1 + 2 + 4 + 8 + 16 + 32), "as many blocks as are needed");
        for (number, entry) in entries.into_iter().enumerate() {
            assert!(ptr::eq(entry, slab.get(number, || unreachable!("it is there"))));
            assert_eq!(*slab.get(number, || 0), number);
        }
    }
}
