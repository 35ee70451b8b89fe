//! The bodies of the public loops: over items, and over blocks of them.

#![allow(unsafe_code)] // requests the items of a source once, as the executor gives out the indices

use std::{marker::PhantomData, mem::ManuallyDrop, ops::Range};

use super::{reproducible::Tree, source::Source, state::State};
use crate::pool::{
    call::body::{Body, Stop},
    record::units::Blocks,
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
    // SAFETY: 1. the executor gives out indices of the source, and this one has just been noted; 2.
    // it claims every index once, in a range or among those that are begun first, and begins what
    // it claims once (case 15).
    unsafe { Claim::new(source, index..index + 1) }
}

impl<S: Source> Drop for Claim<'_, S> {
    #[inline(always)]
    fn drop(&mut self) {
        // SAFETY: as promised in `new`; nobody has asked this claim for its items.
        drop(unsafe { self.source.items(self.range.clone()) });
    }
}

/// A loop over the items of `source`.
pub(crate) struct Verb<'a, S, M, B, A, Z> {
    source: S,
    state: &'a M,
    block: B,
    makes: PhantomData<fn() -> (A, Z)>,
}

impl<'a, S, M, B, A, Z> Verb<'a, S, M, B, A, Z> {
    #[inline(always)]
    pub(crate) fn new(source: S, state: &'a M, block: B) -> Self {
        Self { source, state, block, makes: PhantomData }
    }
}

impl<'a, S, M, B, A, Z> Body for Verb<'a, S, M, B, A, Z>
where
    S: Source,
    M: State,
    B: Fn(Claim<'_, S>, &mut M::Worker, Option<A>) -> Result<A, Stop<Z>> + Sync,
    A: Send,
    Z: Send,
{
    const MAKES_ITEMS: bool = M::MAKES_ITEMS;

    type State<'s>
        = (M::Held<'a>, S::Ledger<'s>)
    where
        Self: 's;
    type Acc = A;
    type Found = Z;

    #[inline(always)]
    fn state(&self, me: usize) -> Self::State<'_> {
        (self.state.hold(me), self.source.ledger())
    }

    #[inline(always)]
    fn block(
        &self,
        (held, ledger): &mut (M::Held<'a>, S::Ledger<'_>),
        acc: Option<A>,
        items: Range<usize>,
    ) -> Result<A, Stop<Z>> {
        self.source.note(ledger, items.clone());
        // SAFETY: 1. the executor gives out indices of the source, and these have just been noted;
        // 2. it claims every index once, and folds what it claims once.
        let claim = unsafe { Claim::new(&self.source, items) };
        (self.block)(claim, M::get(held), acc)
    }
}

/// A loop over items whose state may be that of a block.
pub(crate) trait Blockwise: Body {
    /// Whether each block has a state of its own.
    const BY_BLOCK: bool;

    /// The block with this number begins.
    fn begin_block(&self, state: &mut Self::State<'_>, block: usize);
}

impl<'a, S, M, B, A, Z> Blockwise for Verb<'a, S, M, B, A, Z>
where
    S: Source,
    M: State,
    B: Fn(Claim<'_, S>, &mut M::Worker, Option<A>) -> Result<A, Stop<Z>> + Sync,
    A: Send,
    Z: Send,
{
    const BY_BLOCK: bool = M::BY_BLOCK;

    #[inline(always)]
    fn begin_block(&self, (held, _): &mut (M::Held<'a>, S::Ledger<'_>), block: usize) {
        self.state.begin_block(held, block);
    }
}

/// A loop whose indices stand for blocks of items.
pub(crate) struct InBlocks<V> {
    pub(crate) verb: V,
    pub(crate) blocks: Blocks,
}

impl<V: Blockwise> Body for InBlocks<V> {
    const IN_BLOCKS: bool = false;

    type State<'s>
        = V::State<'s>
    where
        Self: 's;
    type Acc = V::Acc;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State<'_> {
        self.verb.state(me)
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State<'_>,
        acc: Option<V::Acc>,
        blocks: Range<usize>,
    ) -> Result<V::Acc, Stop<V::Found>> {
        if !V::BY_BLOCK {
            return self.fold(state, acc, blocks);
        }
        let mut fold = |acc, block| {
            self.verb.begin_block(state, block);
            self.fold(state, acc, block..block + 1)
        };
        let first = fold(acc, blocks.start)?;
        (blocks.start + 1..blocks.end).try_fold(first, |acc, block| fold(Some(acc), block))
    }
}

impl<V: Blockwise> InBlocks<V> {
    /// Folds the items of some blocks.
    #[inline(always)]
    fn fold(
        &self,
        state: &mut V::State<'_>,
        acc: Option<V::Acc>,
        blocks: Range<usize>,
    ) -> Result<V::Acc, Stop<V::Found>> {
        let size = self.blocks.size;
        let folded = self.verb.block(state, acc, self.blocks.items(blocks));
        folded.map_err(|stop| Stop { at: stop.at / size, place: stop.place / size, ..stop })
    }
}

/// A loop over blocks of items, with a partial result of its own for each block.
pub(crate) struct InTree<'a, V, R> {
    pub(crate) leaves: InBlocks<V>,
    /// The number of the first block, in the whole of which the items may be a part.
    pub(crate) first: usize,
    pub(crate) reduce: &'a R,
}

impl<V: Blockwise, R: Fn(V::Acc, V::Acc) -> V::Acc + Sync> Body for InTree<'_, V, R> {
    const IN_BLOCKS: bool = false;

    type State<'s>
        = V::State<'s>
    where
        Self: 's;
    type Acc = Tree<V::Acc>;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State<'_> {
        self.leaves.state(me)
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State<'_>,
        acc: Option<Tree<V::Acc>>,
        leaves: Range<usize>,
    ) -> Result<Tree<V::Acc>, Stop<V::Found>> {
        let mut tree = acc.unwrap_or(Tree::new());
        for leaf in leaves {
            let block = self.first + leaf;
            self.leaves.verb.begin_block(state, block);
            tree.push(block, self.leaves.fold(state, None, leaf..leaf + 1)?, self.reduce);
        }
        Ok(tree)
    }
}
