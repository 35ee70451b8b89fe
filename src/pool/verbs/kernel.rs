//! The kernel of the public loops: a chain and an end, as the executor sees them.

#![allow(unsafe_code)] // each index is claimed once, so each item is requested once

use std::{
    iter,
    marker::PhantomData,
    mem::{self, ManuallyDrop},
    ops::Range,
};

use super::{
    chain::{Chain, Source, WorkerOf},
    state::State,
};
use crate::pool::{
    engine::{
        body::{Body, Stop},
        ending::attempt,
    },
    supply::range::Claims,
    tell::units::Units,
};

/// The right to request the items of a claim once. Dropping a claim drops its items, if they are
/// owned and have a drop.
pub(crate) struct Claim<'s, S: Source> {
    source: &'s S,
    range: Range<usize>,
}

impl<'s, S: Source> Claim<'s, S> {
    /// # Safety
    /// 1. `range` lies within the source, and has been noted. 2. No other claim ever requests an
    ///    item of `range`.
    #[inline(always)]
    pub(super) unsafe fn new(source: &'s S, range: Range<usize>) -> Self {
        Self { source, range }
    }

    /// A claim of the items of each block. `items_of` returns the items of some neighbouring
    /// blocks. Dropping the iterator drops the items of the blocks that are left, if they are
    /// owned.
    ///
    /// The iterator is a `Map` of a range, because std's `zip` reads such an iterator by index.
    /// `left` is right only if every consumer advances the range from its ends, one block after the
    /// other: `nth` of a `Map` calls `next` for each block that it skips, and std's `zip` reads
    /// ascending indices, and from the back descending ones. Builds with debug assertions check
    /// each block of items that are dropped.
    ///
    /// # Safety
    /// As for [`new`](Self::new), for the items of `blocks`. No two blocks share an index, and the
    /// items of a block begin where those of the block before it end.
    #[inline(always)]
    pub(super) unsafe fn of_blocks(
        source: &'s S,
        blocks: Range<usize>,
        items_of: impl Fn(Range<usize>) -> Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        let mut left = unsafe { Self::new(source, items_of(blocks.clone())) };
        let mut first_left = blocks.start;
        blocks.map(move |block| {
            // The closure owns the whole claim `left`, not only its fields, so the drop of the
            // closure drops the claim.
            let (left, items) = (&mut left, items_of(block..block + 1));
            // SAFETY: as the caller promises; `block` is the first or the last one that is left.
            unsafe { left.block(block, &mut first_left, items) }
        })
    }

    /// A claim of the `items` of one block, the first or the last of those that are left. If the
    /// items are owned, this claim has them no more.
    ///
    /// # Safety
    /// As for [`of_blocks`](Self::of_blocks). This claim requests no items.
    #[inline(always)]
    pub(super) unsafe fn block(
        &mut self,
        block: usize,
        first_left: &mut usize,
        mut items: Range<usize>,
    ) -> Self {
        if S::DROPS_ITEMS {
            let left = &mut self.range;
            if block == *first_left {
                debug_assert_eq!(items.start, left.start, "a block from the middle");
                *first_left += 1;
                items.start = mem::replace(&mut left.start, items.end);
            } else {
                debug_assert_eq!(items.end, left.end, "a block from the middle");
                left.end = items.start;
            }
        }
        // SAFETY: as the caller promises.
        unsafe { Self::new(self.source, items) }
    }

    /// The indices of the items.
    #[inline(always)]
    pub(crate) fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The number of items. (`Range::len` would also check whether the range ends before it begins.
    /// In a search this check costs half an instruction per item.)
    #[inline(always)]
    pub(crate) fn len(&self) -> usize {
        self.range.end - self.range.start
    }

    /// The items.
    #[inline(always)]
    pub(crate) fn items(self) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator + use<'s, S> {
        let (source, range) = self.spend();
        // SAFETY: as the caller of `new` promises; the claim is gone.
        unsafe { source.items(range) }
    }

    /// The items, the last one first.
    #[inline(always)]
    pub(super) fn items_backward(
        self,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator + use<'s, S> {
        let (source, range) = self.spend();
        // SAFETY: as the caller of `new` promises; the claim is gone.
        unsafe { source.items_backward(range) }
    }

    /// The items, the last one first, for sources that make [an item](Source::item) as fast as the
    /// next one.
    ///
    /// Like [`of_blocks`](Self::of_blocks), the iterator is a `Map` of a range, which std's `zip`
    /// reads by index, and `left` is right for the same reason. So a loop counts only once for an
    /// item and its index. Beside std's `rev` it would count twice, and LLVM would not vectorise
    /// it.
    #[inline(always)]
    pub(super) fn each_backward(
        self,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator + use<'s, S> {
        let Range { start: mut first_left, end } = self.range;
        let mut left = self;
        #[allow(clippy::range_plus_one, reason = "std's `zip` reads no inclusive range by index")]
        let from_end = 1..left.len() + 1;
        from_end.map(move |from_end| {
            // The closure owns the whole claim `left`, as in `of_blocks`.
            let (left, index) = (&mut left, end - from_end);
            // SAFETY: as the caller of `new` promises; `index` is the first or the last one that is
            // left.
            unsafe { left.block(index, &mut first_left, index..index + 1) }.item()
        })
    }

    /// The item of a claim of one item.
    #[inline(always)]
    pub(super) fn item(self) -> S::Item {
        let (source, range) = self.spend();
        debug_assert_eq!(range.end - range.start, 1, "a claim of one item");
        // SAFETY: as the caller of `new` promises; the claim is gone.
        unsafe { source.item(range.start) }
    }

    /// The first item. The other items are dropped, if they are owned. The claim has an item.
    #[inline(always)]
    pub(super) fn first(self) -> S::Item {
        debug_assert!(self.len() > 0, "a claim with an item");
        if const { S::DROPS_ITEMS || S::IS_PARTED } {
            let Some(first) = self.items().next() else { unreachable!("a claim has an item") };
            return first;
        }
        let (source, range) = self.spend();
        // SAFETY: as the caller of `new` promises; the claim is gone.
        unsafe { source.item(range.start) }
    }

    /// The source and the indices, whose items the caller requests instead of this claim.
    #[inline(always)]
    pub(super) fn spend(self) -> (&'s S, Range<usize>) {
        let claim = ManuallyDrop::new(self);
        (claim.source, claim.range.clone())
    }

    /// Calls `step` with each item and its index, up to the first `Err`. For sources whose items
    /// [find faster](Source::FINDS_FASTER).
    #[inline(always)]
    fn fold<A, Z>(self, acc: A, mut step: impl FnMut(A, usize, S::Item) -> Result<A, Z>) -> Result<A, Z> {
        let (mut at, mut held) = (self.range.start, Some(acc));
        let found = self.items().find_map(|item| {
            let acc = held.take().expect("each step but the last one returns it");
            match step(acc, at, item) {
                Ok(acc) => held = Some(acc),
                Err(found) => return Some(found),
            }
            at += 1;
            None
        });
        match held {
            Some(acc) => Ok(acc),
            None => Err(found.expect("the last step has failed")),
        }
    }

    /// The items with their indices. LLVM vectorises some loops over numbered items, but not the
    /// same loops over [`items`](Self::items): `zip` counts an index, while the iterator of a slice
    /// moves a pointer. (Examples: the sum of `3 * x` over `u64`, the maximum of `x * x` over
    /// `f32`.)
    #[inline(always)]
    pub(crate) fn numbered(self) -> impl Iterator<Item = (usize, S::Item)> + use<'s, S> {
        iter::zip(self.range(), self.items())
    }

    /// Splits off a claim of the first `len` items.
    ///
    /// # Panics
    /// If the claim has fewer than `len` items.
    #[inline(always)]
    pub(crate) fn take(&mut self, len: usize) -> Self {
        assert!(len <= self.len());
        let middle = self.range.start + len;
        let first = self.range.start..middle;
        self.range.start = middle;
        // SAFETY: 1. as the caller of `new` promises, since `first` is a part of the range; 2.
        // `first` is no longer in this claim.
        unsafe { Self::new(self.source, first) }
    }
}

/// The right to write the result of one item, once.
#[derive(Debug)]
pub(crate) struct Index(usize);

impl Index {
    /// Returns the index, and uses up the right.
    #[inline(always)]
    pub(crate) fn spend(self) -> usize {
        self.0
    }
}

/// The item at one index that the executor has claimed, and the right to write its result.
#[inline(always)]
pub(crate) fn claim_item<'s, S: Source>(
    source: &'s S,
    ledger: &mut S::Ledger<'s>,
    index: usize,
) -> (S::Item, Index) {
    source.note(ledger, index..index + 1);
    // SAFETY: *once*: 1. the executor claims indices of the source, and this index has just been
    // noted; 2. the executor claims every index once, either in a range or among the indices that
    // are begun first, and begins each claim once (case 15).
    let mut items = unsafe { source.items(index..index + 1) };
    let Some(item) = items.next() else { unreachable!("there is one") };
    (item, Index(index))
}

impl<S: Source> Drop for Claim<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        if S::DROPS_ITEMS {
            let drops = || {
                // SAFETY: as the caller of `new` promises; the items of this claim have not been
                // requested.
                drop(unsafe { self.source.items(self.range.clone()) });
            };
            // A source in parts splits one off, by code of another crate that may panic.
            if const { S::IS_PARTED } { attempt(drops) } else { drops() }
        }
    }
}

/// The claims of a worker, one range after the other, and the worker's state.
pub(crate) struct SourceClaims<'k, 'c, 's, C: Chain + 's> {
    pub(crate) chain: &'s C,
    held: &'k mut <C::State as State>::Held<'s>,
    ledger: &'k mut <C::Source as Source>::Ledger<'s>,
    claims: &'k mut Claims<'c>,
    units: Units,
}

impl<'s, C: Chain> SourceClaims<'_, '_, 's, C> {
    /// Claims the next items of the source; `None` if there are no more.
    #[inline(always)]
    pub(crate) fn next(&mut self) -> Option<Claim<'s, C::Source>> {
        let items = self.claims.next()?;
        if C::State::BY_BLOCK {
            self.chain.states().begin_block(self.held, self.units.block_of(items.start));
        }
        let source = self.chain.source();
        source.note(self.ledger, items.clone());
        // SAFETY: *once*, *inside*: 1. the executor claims indices of the source, and these indices
        // have just been noted; 2. the executor claims every index once, and folds each claim once.
        Some(unsafe { Claim::new(source, items) })
    }

    /// A claim without items.
    pub(crate) fn nothing(&self) -> Claim<'s, C::Source> {
        // SAFETY: there is no index.
        unsafe { Claim::new(self.chain.source(), 0..0) }
    }

    /// Makes the items of all claims, and folds them into `acc`, up to the first `Err`.
    #[inline(always)]
    pub(crate) fn fold<B, Z>(
        mut self,
        mut acc: B,
        step: impl Fn(&mut WorkerOf<C>, B, C::Item) -> Result<B, Z>,
    ) -> Result<B, Stop<Z>> {
        while let Some(items) = self.next() {
            let (chain, state) = (self.chain, self.state());
            if const { C::Source::FINDS_FASTER } {
                acc = items.fold(acc, |acc, at, item| {
                    let folded = chain.push(state, item, acc, |state, acc, item| step(state, acc, item));
                    folded.map_err(|found| Stop::there(at, found))
                })?;
                continue;
            }
            for (at, item) in items.numbered() {
                let folded = chain.push(state, item, acc, |state, acc, item| step(state, acc, item));
                acc = folded.map_err(|found| Stop::there(at, found))?;
            }
        }
        Ok(acc)
    }

    /// The state of the worker.
    #[inline(always)]
    pub(crate) fn state(&mut self) -> &mut WorkerOf<C> {
        C::State::get(self.held)
    }
}

/// What an end does with the claims of a worker: folds them into a partial result.
pub(crate) trait Fold<C: Chain, A, Z>:
    Fn(SourceClaims<'_, '_, '_, C>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync
{
}

impl<C: Chain, A, Z, F> Fold<C, A, Z> for F where
    F: Fn(SourceClaims<'_, '_, '_, C>, Option<A>) -> Result<Option<A>, Stop<Z>> + Sync
{
}

/// A loop over the items of `chain`. `fold` folds the claims of a worker, and `reduce` combines two
/// partial results.
pub(crate) struct Kernel<C, F, R, A, Z> {
    pub(crate) chain: C,
    pub(crate) fold: F,
    pub(crate) reduce: R,
    /// The unit of the loop's indices. States may belong to blocks.
    pub(crate) units: Units,
    pub(crate) makes: PhantomData<fn() -> (A, Z)>,
}

impl<C, F, R, A, Z> Body for Kernel<C, F, R, A, Z>
where
    C: Chain + Sync,
    F: Fold<C, A, Z>,
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
        (self.chain.states().hold(me), self.chain.source().ledger())
    }

    #[inline(always)]
    fn fold<'s>(
        &'s self,
        (held, ledger): &mut Self::State<'s>,
        acc: Option<A>,
        claims: &mut Claims<'_>,
    ) -> Result<Option<A>, Stop<Z>> {
        let Self { ref chain, units, .. } = *self;
        if C::State::BY_BLOCK {
            claims.take_by(units.size());
        }
        (self.fold)(SourceClaims { chain, held, ledger, claims, units }, acc)
    }

    #[inline(always)]
    fn reduce(&self, before: A, behind: A) -> A {
        (self.reduce)(before, behind)
    }
}
