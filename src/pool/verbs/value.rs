//! A chain without a pool implements the traits of chains, so that a function can return it, `zip`
//! can take it, and a pool can run it.

#![allow(unsafe_code)] // a chain requests items of its source when its own items are requested

use std::ops::Range;

use super::{
    chain::{Chain, Each, Makes, Pieces, Shared, Source, SourceItem, WorkerOf, itself, noted_by},
    on::On,
};

itself!([C: Chain] On<C>);

impl<C: Chain> Chain for On<C> {
    type Item = C::Item;
    type Source = C::Source;
    type State = C::State;
    const MAKES: Makes = C::MAKES;

    #[inline(always)]
    fn begin(&self) -> &C::Source {
        self.chain.begin()
    }

    #[inline(always)]
    fn states(&self) -> &C::State {
        self.chain.states()
    }

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
    fn count(&self) -> usize {
        self.chain.count()
    }

    fn address(&self) -> usize {
        self.chain.address()
    }

    noted_by!(chain, self, range => range);

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.chain.items(range) }
    }
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
