//! A chain without a pool implements the traits of chains, so that a function can return it, `zip`
//! can take it, and a pool can run it.

#![allow(unsafe_code)] // a chain requests items of its source when its own items are requested

use std::ops::Range;

use super::{
    chain::{Chain, Each, Makes, Pieces, Shared, Source, SourceItem, WorkerOf, behind, itself, noted_by},
    on::On,
};

itself!([C: Chain] On<C>);

impl<C: Chain> Chain for On<C> {
    type Item = C::Item;
    const MAKES: Makes = C::MAKES;
    behind!();

    #[inline(always)]
    fn push<A, Z>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        acc: A,
        next: impl FnMut(&mut WorkerOf<C>, A, C::Item) -> Result<A, Z>,
    ) -> Result<A, Z> {
        self.chain.push(state, item, acc, next)
    }

    #[inline(always)]
    fn emit<T>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        to: &mut Vec<T>,
        open: impl FnMut(C::Item) -> T,
    ) {
        self.chain.emit(state, item, to, open);
    }

    #[inline(always)]
    fn sift(&self, state: &mut WorkerOf<C>, item: SourceItem<C>) -> (C::Item, bool) {
        self.chain.sift(state, item)
    }
}

impl<C: Each> Each for On<C> {}

impl<S: Source> Source for On<S> {
    noted_by!(chain);
}

impl<S: Pieces> Pieces for On<S> {
    type Piece = S::Piece;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> S::Piece {
        // SAFETY: as the caller promises.
        unsafe { self.chain.piece(range) }
    }

    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.chain.pieces(range, size) }
    }
}

impl<S: Shared> Shared for On<S> {}
