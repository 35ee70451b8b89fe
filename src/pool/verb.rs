//! The bodies of the public loops: over items, over blocks of them, and over stripes.

use std::ops::Range;

use super::{
    body::{Body, Stop},
    reproducible::Tree,
    state::State,
    units::{Blocks, Front},
    watch::Watch,
};

/// A loop over the items of `source`.
pub(crate) struct Verb<'a, S, M, I, B> {
    pub(crate) source: S,
    pub(crate) state: &'a M,
    pub(crate) init: I,
    pub(crate) block: B,
}

impl<'a, S, M, I, B, A, Z> Body for Verb<'a, S, M, I, B>
where
    S: Sync,
    M: State,
    I: Fn() -> A + Sync,
    B: Fn(&S, &mut M::Worker, A, Range<usize>) -> Result<A, Stop<Z>> + Sync,
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
    fn init(&self) -> A {
        (self.init)()
    }

    #[inline(always)]
    fn block(&self, held: &mut M::Held<'a>, acc: A, items: Range<usize>) -> Result<A, Stop<Z>> {
        (self.block)(&self.source, M::get(held), acc, items)
    }
}

/// The same loop, whose indices stand for blocks.
pub(crate) struct InBlocks<V> {
    pub(crate) verb: V,
    pub(crate) blocks: Blocks,
}

impl<V: Body> Body for InBlocks<V> {
    type State = V::State;
    type Acc = V::Acc;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.verb.state(me)
    }

    #[inline(always)]
    fn init(&self) -> V::Acc {
        self.verb.init()
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        acc: V::Acc,
        blocks: Range<usize>,
    ) -> Result<V::Acc, Stop<V::Found>> {
        let folded = self.verb.block(state, acc, self.blocks.items(blocks));
        folded.map_err(|Stop { at, found }| Stop { at: at / self.blocks.size, found })
    }
}

/// The same, with a partial result of its own for each block.
pub(crate) struct InTree<'a, V, R> {
    pub(crate) verb: V,
    pub(crate) blocks: Blocks,
    pub(crate) reduce: &'a R,
}

impl<V: Body, R: Fn(V::Acc, V::Acc) -> V::Acc + Sync> Body for InTree<'_, V, R> {
    type State = V::State;
    type Acc = Tree<V::Acc>;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.verb.state(me)
    }

    #[inline(always)]
    fn init(&self) -> Tree<V::Acc> {
        Tree::new()
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        mut tree: Tree<V::Acc>,
        blocks: Range<usize>,
    ) -> Result<Tree<V::Acc>, Stop<V::Found>> {
        for block in blocks {
            let folded = self.verb.block(state, self.verb.init(), self.blocks.items(block..block + 1));
            let folded = folded.map_err(|Stop { at, found }| Stop { at: at / self.blocks.size, found })?;
            tree.push(block, folded, self.reduce);
        }
        Ok(tree)
    }
}

/// The same loop, whose indices are searchers.
pub(crate) struct InFront<'a, V> {
    pub(crate) verb: &'a V,
    pub(crate) front: Front,
    pub(crate) watch: Watch<'a>,
}

impl<V: Body> Body for InFront<'_, V> {
    type State = V::State;
    type Acc = V::Acc;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.verb.state(me)
    }

    #[inline(always)]
    fn init(&self) -> V::Acc {
        self.verb.init()
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        mut acc: V::Acc,
        searchers: Range<usize>,
    ) -> Result<V::Acc, Stop<V::Found>> {
        for searcher in searchers {
            while let Some(block) = self.front.claim(searcher) {
                if self.watch.is_cancelled() {
                    break;
                }
                let items = block.len();
                acc = self.verb.block(state, acc, block)?;
                self.watch.done(items);
            }
        }
        Ok(acc)
    }
}
