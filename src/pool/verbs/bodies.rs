//! The bodies of the public loops: over items, and over blocks of them.

use std::{marker::PhantomData, ops::Range};

use super::{reproducible::Tree, state::State};
use crate::pool::{
    call::body::{Body, Stop},
    record::units::Blocks,
};

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
    S: Sync,
    M: State,
    B: Fn(&S, &mut M::Worker, Option<A>, Range<usize>) -> Result<A, Stop<Z>> + Sync,
    A: Send,
    Z: Send,
{
    type State = M::Held<'a>;
    type Acc = A;
    type Found = Z;

    #[inline(always)]
    fn state(&self, me: usize) -> M::Held<'a> {
        self.state.hold(me)
    }

    #[inline(always)]
    fn block(&self, held: &mut M::Held<'a>, acc: Option<A>, items: Range<usize>) -> Result<A, Stop<Z>> {
        (self.block)(&self.source, M::get(held), acc, items)
    }
}

/// A loop whose indices stand for blocks of items.
pub(crate) struct InBlocks<V> {
    pub(crate) verb: V,
    pub(crate) blocks: Blocks,
}

impl<V: Body> Body for InBlocks<V> {
    const IN_BLOCKS: bool = false;

    type State = V::State;
    type Acc = V::Acc;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.verb.state(me)
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        acc: Option<V::Acc>,
        blocks: Range<usize>,
    ) -> Result<V::Acc, Stop<V::Found>> {
        let folded = self.verb.block(state, acc, self.blocks.items(blocks));
        let size = self.blocks.size;
        folded.map_err(|stop| Stop { at: stop.at / size, place: stop.place / size, ..stop })
    }
}

/// A loop over blocks of items, with a partial result of its own for each block.
pub(crate) struct InTree<'a, V, R> {
    pub(crate) leaves: InBlocks<V>,
    pub(crate) reduce: &'a R,
}

impl<V: Body, R: Fn(V::Acc, V::Acc) -> V::Acc + Sync> Body for InTree<'_, V, R> {
    const IN_BLOCKS: bool = false;

    type State = V::State;
    type Acc = Tree<V::Acc>;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.leaves.state(me)
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        acc: Option<Tree<V::Acc>>,
        leaves: Range<usize>,
    ) -> Result<Tree<V::Acc>, Stop<V::Found>> {
        let mut tree = acc.unwrap_or(Tree::new());
        for leaf in leaves {
            tree.push(leaf, self.leaves.block(state, None, leaf..leaf + 1)?, self.reduce);
        }
        Ok(tree)
    }
}
