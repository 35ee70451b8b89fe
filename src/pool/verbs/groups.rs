//! Vectors of neighbouring items, with one request to their source for each claim.

#![allow(unsafe_code)] // a source requests items of other sources when its own items are requested

use std::ops::Range;

use super::{
    chain::{Chain, Each, InVectors, Source, base, begins_a_chain, itself, made_of},
    state::Stateless,
};
use crate::pool::tell::units::Blocks;

/// The pieces of a source, of equal size, as vectors. The last piece may be shorter. Made by
/// [`On::groups`](crate::On::groups). A claim requests the items of all its pieces at once, where
/// [`Chunks`](super::indexed::Chunks) requests those of each piece, under a lock if the source is
/// in parts.
#[doc(hidden)]
#[derive(Debug)]
pub struct Groups<S> {
    source: S,
    blocks: Blocks,
}

impl<S: Source> Groups<S> {
    #[track_caller]
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "groups: a group has at least one item");
        Self { blocks: Blocks { size, len: source.count() }, source }
    }
}

begins_a_chain!([S: Source] Groups<S>, Vec<S::Item>);

impl<S: Source> Source for Groups<S> {
    fn count(&self) -> usize {
        self.blocks.count()
    }

    made_of!(source, self, range => self.blocks.items(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Vec<S::Item>> + DoubleEndedIterator {
        // SAFETY: *once*: no two blocks share an index, and each block is requested at most once,
        // as the caller promises.
        let items = unsafe { self.source.items(self.blocks.items(range.clone())) };
        ItemsInGroups { items, left: range, blocks: self.blocks }
    }
}

impl<S: Source> InVectors for Groups<S> {}

/// The items of the blocks `left`. A block is shorter if the items end before it does.
struct ItemsInGroups<I> {
    items: I,
    left: Range<usize>,
    blocks: Blocks,
}

impl<I: Iterator> Iterator for ItemsInGroups<I> {
    type Item = Vec<I::Item>;

    #[inline(always)]
    fn next(&mut self) -> Option<Vec<I::Item>> {
        let block = self.left.next()?;
        let len = self.blocks.items(block..block + 1).len();
        Some(self.items.by_ref().take(len).collect())
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.left.size_hint()
    }
}

impl<I: DoubleEndedIterator> DoubleEndedIterator for ItemsInGroups<I> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<Vec<I::Item>> {
        let block = self.left.next_back()?;
        let len = self.blocks.items(block..block + 1).len();
        let mut group: Vec<_> = self.items.by_ref().rev().take(len).collect();
        group.reverse();
        Some(group)
    }
}

impl<I: Iterator> ExactSizeIterator for ItemsInGroups<I> {}
