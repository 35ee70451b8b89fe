//! A chain without a pool implements the traits of chains, so that a function can return it, `zip`
//! can take it, and a pool can run it.

#![allow(unsafe_code)] // a chain requests pieces of its source when its own pieces are requested

use std::ops::Range;

use super::{
    chain::{Chain, Each, IntoChain, Source, SourceItem, WorkerOf, behind, made_of, sealed},
    on::{NoPool, On, WithoutPool},
    pieces::{Pieces, Shared},
};

impl<C: Chain> sealed::Sealed for On<C> {}

impl<C: Chain, P: WithoutPool> IntoChain for On<C, P> {
    type Chain = On<C>;

    #[inline(always)]
    fn into_chain(self) -> On<C> {
        On { chain: self.chain, pool: NoPool }
    }
}

impl<C: Chain> Chain for On<C> {
    type Item = C::Item;
    const MAKES_ONE: bool = C::MAKES_ONE;
    const SIFTS: bool = C::SIFTS;
    behind!(|self, next, state, acc, item| next(state, acc, item));

    #[inline(always)]
    fn emit<T>(
        &self,
        state: &mut WorkerOf<C>,
        item: SourceItem<C>,
        to: &mut Vec<T>,
        open: impl FnMut(&mut WorkerOf<C>, C::Item) -> T,
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
    made_of!(chain);
}

impl<S: Pieces> Pieces for On<S> {
    type Piece = S::Piece;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> S::Piece {
        // SAFETY: as the caller promises.
        unsafe { self.chain.piece(range) }
    }
}

impl<S: Shared> Shared for On<S> {}
