//! Sources whose neighbouring items can be requested as one piece.

#![allow(unsafe_code)] // a source requests its items as pieces

use std::ops::Range;

use super::{chain::Source, kernel::Claim};
use crate::pool::tell::units::Blocks;

impl<S: Pieces> Claim<'_, S> {
    /// The items, as one piece.
    #[inline(always)]
    pub(crate) fn piece(self) -> S::Piece {
        let (source, range) = self.spend();
        // SAFETY: as promised in `new`; the claim is gone.
        unsafe { source.piece(range) }
    }
}

/// A source whose neighbouring items can be requested as one piece. A loop can run over the
/// [chunks](crate::On::chunks) of such a source. Sealed, as [`Source`] is.
pub trait Pieces: Source {
    /// The type of a piece: some neighbouring items.
    type Piece;

    /// The items at the indices of `range`, as one piece.
    ///
    /// # Safety
    /// As for [`Source::items`].
    #[doc(hidden)]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece;

    /// The items of each of some neighbouring `blocks`, as one piece. `items_of` returns the items
    /// of some neighbouring blocks.
    ///
    /// # Safety
    /// As for [`Source::items`], for the items of `blocks`. No two blocks share an index, and the
    /// items of a block begin where those of the block before it end.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn pieces(
        &self,
        blocks: Range<usize>,
        items_of: impl Fn(Range<usize>) -> Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { Claim::of_blocks(self, blocks, items_of) }.map(Claim::piece)
    }

    /// The items of each of some neighbouring `blocks` of `size` items, as one piece. All blocks
    /// together have the first `len` items, so the last block may be shorter, unless `EXACT`.
    ///
    /// # Safety
    /// As for [`Source::items`], for the items of `blocks`.
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn blocks<const EXACT: bool>(
        &self,
        blocks: Range<usize>,
        size: usize,
        len: usize,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        let all = Blocks { size, len };
        // SAFETY: as the caller promises, since no two blocks share an index.
        unsafe { self.pieces(blocks, move |some| all.items(some)) }
    }
}

/// A source whose pieces are vectors.
#[doc(hidden)]
pub trait InVectors: Source {}

#[doc(hidden)]
#[diagnostic::do_not_recommend]
impl<S: InVectors> Pieces for S {
    type Piece = Vec<S::Item>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Vec<S::Item> {
        // SAFETY: as the caller promises.
        unsafe { self.items(range) }.collect()
    }

    /// As [`Claim::of_blocks`], whose rules for consumers hold here, too. A request to a source in
    /// parts takes a lock, so there the items of all blocks are requested at once.
    #[inline(always)]
    unsafe fn pieces(
        &self,
        blocks: Range<usize>,
        items_of: impl Fn(Range<usize>) -> Range<usize>,
    ) -> impl ExactSizeIterator<Item = Vec<S::Item>> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        let mut left = unsafe { Claim::new(self, items_of(blocks.clone())) };
        let mut first_left = blocks.start;
        let mut requested = if const { S::IS_PARTED } {
            let (_, all) = left.take(left.len()).spend();
            // SAFETY: as the caller promises, since an item has the same index here as in the
            // source that begins the chain; the claim is gone.
            Some(unsafe { self.source().own_blocks(all, |item| self.one(&mut (), item)) })
        } else {
            None
        };
        blocks.map(move |block| {
            let (left, items) = (&mut left, items_of(block..block + 1));
            match &mut requested {
                Some(block_of) if const { S::IS_PARTED } => {
                    let is_first = block == first_left;
                    first_left += usize::from(is_first);
                    block_of(items.len(), is_first)
                }
                // SAFETY: as the caller promises.
                _ => unsafe { left.block(block, &mut first_left, items) }.piece(),
            }
        })
    }
}

/// A source whose items may be requested any number of times. Sealed, as [`Source`] is.
pub trait Shared: Pieces {}
