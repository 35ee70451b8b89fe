//! The body of the public loops.

#![allow(unsafe_code)] // requests the items of a source once, as the executor gives out the indices

use std::{iter, marker::PhantomData, mem::ManuallyDrop, ops::Range};

use super::{
    chain::{Chain, Pieces, Source},
    state::State,
};
use crate::pool::{
    call::body::{Body, Stop},
    protocol::range::Claims,
};

/// Items that a worker has claimed: the right to be given them, once. Dropping it drops the items,
/// if they are owned.
pub(crate) struct Claim<'s, S: Source> {
    source: &'s S,
    range: Range<usize>,
}

impl<'s, S: Source> Claim<'s, S> {
    /// # Safety
    /// 1. `range` lies within the source, and has been noted. 2. No other claim ever has an index
    ///    of it.
    #[inline(always)]
    unsafe fn new(source: &'s S, range: Range<usize>) -> Self {
        Self { source, range }
    }

    /// The indices of the items.
    #[inline(always)]
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// How many items there are. (`Range::len` looks whether it ends before it begins: in a search
    /// that is half an instruction an item.)
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.range.end - self.range.start
    }

    /// The items.
    #[inline(always)]
    pub(crate) fn items(self) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator + use<'s, S> {
        let claim = ManuallyDrop::new(self);
        // SAFETY: as promised in `new`; this claim is gone.
        unsafe { claim.source.items(claim.range.clone()) }
    }

    /// The items, as one piece.
    #[inline(always)]
    pub(crate) fn piece(self) -> S::Piece
    where
        S: Pieces,
    {
        let claim = ManuallyDrop::new(self);
        // SAFETY: as promised in `new`; this claim is gone.
        unsafe { claim.source.piece(claim.range.clone()) }
    }

    /// The items, with their indices. LLVM vectorises a loop over them that it would not vectorise
    /// over [`items`](Self::items): `zip` counts where a slice's iterator moves a pointer. (The sum
    /// of `3 * x` over `u64` in 0.4 of the time, the greatest of `x * x` over `f32` in 0.2.)
    #[inline(always)]
    pub(crate) fn numbered(self) -> impl Iterator<Item = (usize, S::Item)> + use<'s, S> {
        iter::zip(self.range(), self.items())
    }

    /// A claim of the first `len` items. The others stay.
    ///
    /// # Panics
    /// If there are less.
    #[inline(always)]
    pub(crate) fn take(&mut self, len: usize) -> Self {
        assert!(len <= self.len());
        let middle = self.range.start + len;
        let first = self.range.start..middle;
        self.range.start = middle;
        // SAFETY: 1. as promised in `new`, since it is a part of the range; 2. that part is not in
        // this claim any more.
        unsafe { Self::new(self.source, first) }
    }
}

/// The right to the place of one item's result, once.
#[derive(Debug)]
pub(crate) struct Index(usize);

impl Index {
    /// The index. The right to it is used up.
    #[inline(always)]
    pub(crate) fn spend(self) -> usize {
        self.0
    }
}

impl<S: Source> Claim<'_, S> {
    /// The only item, and the right to its result.
    ///
    /// # Panics
    /// If it is not the only one.
    #[inline(always)]
    pub(crate) fn into_item(self) -> (S::Item, Index) {
        assert!(self.len() == 1);
        let index = Index(self.range.start);
        let Some(item) = self.items().next() else { unreachable!("there is one") };
        (item, index)
    }
}

/// The claim of one index, which the executor gives out to be begun.
#[inline(always)]
pub(crate) fn claim_one<'s, S: Source>(
    source: &'s S,
    ledger: &mut S::Ledger<'s>,
    index: usize,
) -> Claim<'s, S> {
    source.note(ledger, index..index + 1);
    // SAFETY: *once*: 1. the executor gives out indices of the source, and this one has just been
    // noted; 2. it claims every index once, in a range or among those that are begun first, and
    // begins what it claims once (case 15).
    unsafe { Claim::new(source, index..index + 1) }
}

impl<S: Source> Drop for Claim<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: as promised in `new`; nobody has asked this claim for its items.
        drop(unsafe { self.source.items(self.range.clone()) });
    }
}

/// The items that a worker folds, which it claims one range after the other, and its state.
pub(crate) struct Claimed<'k, 'c, 's, C: Chain + 's> {
    pub(crate) chain: &'s C,
    held: &'k mut <C::State as State>::Held<'s>,
    ledger: &'k mut <C::Source as Source>::Ledger<'s>,
    claims: &'k mut Claims<'c>,
    states_of: Numbered,
}

impl<'s, C: Chain> Claimed<'_, '_, 's, C> {
    /// The next items of the source.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Claim<'s, C::Source>> {
        let items = self.claims.next()?;
        if C::State::BY_BLOCK {
            self.chain.states().begin_block(self.held, self.states_of.block(items.start));
        }
        let source = self.chain.begin();
        source.note(self.ledger, items.clone());
        // SAFETY: *once*, *inside*: 1. the executor gives out indices of the source, and these have
        // just been noted;
        // 2. it claims every index once, and folds what it claims once.
        Some(unsafe { Claim::new(source, items) })
    }

    /// No items.
    pub(crate) fn nothing(&self) -> Claim<'s, C::Source> {
        // SAFETY: there is no index.
        unsafe { Claim::new(self.chain.begin(), 0..0) }
    }

    /// The state of the worker.
    #[inline(always)]
    pub(crate) fn state(&mut self) -> &mut <C::State as State>::Worker {
        C::State::get(self.held)
    }
}

/// How blocks that have states of their own are numbered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Numbered {
    /// The number of the first block, in the whole of which the items may be a part.
    pub(crate) first: usize,
    /// Items per block.
    pub(crate) size: usize,
}

impl Numbered {
    /// The number of the block that begins with this item.
    fn block(self, item: usize) -> usize {
        self.first + item / self.size
    }
}

/// A loop over what `chain` makes: `fold` folds what a worker has claimed.
pub(crate) struct Kernel<C, F, R, A, Z> {
    pub(crate) chain: C,
    pub(crate) fold: F,
    pub(crate) reduce: R,
    pub(crate) states_of: Numbered,
    pub(crate) makes: PhantomData<fn() -> (A, Z)>,
}

impl<C, F, R, A, Z> Body for Kernel<C, F, R, A, Z>
where
    C: Chain + Sync,
    F: Fn(Claimed<'_, '_, '_, C>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync,
    R: Fn(A, A) -> A + Sync,
    A: Send,
    Z: Send,
{
    type State<'s>
        = (<C::State as State>::Held<'s>, <C::Source as Source>::Ledger<'s>)
    where
        Self: 's;
    type Acc = A;
    type Found = Z;

    #[inline(always)]
    fn state(&self, me: usize) -> Self::State<'_> {
        (self.chain.states().hold(me), self.chain.begin().ledger())
    }

    #[inline(always)]
    fn fold<'s>(
        &'s self,
        (held, ledger): &mut Self::State<'s>,
        acc: Option<A>,
        claims: &mut Claims<'_>,
    ) -> Result<Option<A>, Stop<Z>> {
        let Self { ref chain, states_of, .. } = *self;
        if C::State::BY_BLOCK {
            claims.take_by(states_of.size);
        }
        (self.fold)(Claimed { chain, held, ledger, claims, states_of }, acc)
    }

    #[inline(always)]
    fn reduce(&self, before: A, behind: A) -> A {
        (self.reduce)(before, behind)
    }
}
