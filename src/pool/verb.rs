//! The bodies of the public loops: over items, over blocks of them, and over stripes.

use std::ops::Range;

use super::{
    body::{Body, Stop, fold},
    reproducible::Tree,
    state::State,
    units::{Blocks, Front},
    watch::Watch,
};

/// A loop over the items of `source`.
pub(crate) struct Verb<'a, S, M, F, B> {
    pub(crate) source: S,
    pub(crate) state: &'a M,
    pub(crate) first: F,
    pub(crate) block: B,
}

impl<'a, S, M, F, B, A, Z> Body for Verb<'a, S, M, F, B>
where
    S: Sync,
    M: State,
    F: Fn(&S, &mut M::Worker, usize) -> Result<A, Stop<Z>> + Sync,
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
    fn first(&self, held: &mut M::Held<'a>, index: usize) -> Result<A, Stop<Z>> {
        (self.first)(&self.source, M::get(held), index)
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

impl<V: Body> InBlocks<V> {
    fn stop(&self, Stop { at, found }: Stop<V::Found>) -> Stop<V::Found> {
        Stop { at: at / self.blocks.size, found }
    }
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
    fn first(&self, state: &mut V::State, block: usize) -> Result<V::Acc, Stop<V::Found>> {
        fold(&self.verb, state, self.blocks.items(block..block + 1)).map_err(|stop| self.stop(stop))
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        acc: V::Acc,
        blocks: Range<usize>,
    ) -> Result<V::Acc, Stop<V::Found>> {
        self.verb.block(state, acc, self.blocks.items(blocks)).map_err(|stop| self.stop(stop))
    }
}

/// The same, with a partial result of its own for each block.
pub(crate) struct InTree<'a, V, R> {
    pub(crate) leaves: InBlocks<V>,
    pub(crate) reduce: &'a R,
}

impl<V: Body, R: Fn(V::Acc, V::Acc) -> V::Acc + Sync> Body for InTree<'_, V, R> {
    type State = V::State;
    type Acc = Tree<V::Acc>;
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.leaves.state(me)
    }

    #[inline(always)]
    fn first(&self, state: &mut V::State, leaf: usize) -> Result<Tree<V::Acc>, Stop<V::Found>> {
        self.block(state, Tree::new(), leaf..leaf + 1)
    }

    #[inline(always)]
    fn block(
        &self,
        state: &mut V::State,
        mut tree: Tree<V::Acc>,
        leaves: Range<usize>,
    ) -> Result<Tree<V::Acc>, Stop<V::Found>> {
        for leaf in leaves {
            tree.push(leaf, self.leaves.first(state, leaf)?, self.reduce);
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

impl<V: Body<Acc = ()>> Body for InFront<'_, V> {
    type State = V::State;
    type Acc = ();
    type Found = V::Found;

    #[inline(always)]
    fn state(&self, me: usize) -> V::State {
        self.verb.state(me)
    }

    #[inline(always)]
    fn first(&self, state: &mut V::State, searcher: usize) -> Result<(), Stop<V::Found>> {
        self.block(state, (), searcher..searcher + 1)
    }

    #[inline(always)]
    fn block(&self, state: &mut V::State, (): (), searchers: Range<usize>) -> Result<(), Stop<V::Found>> {
        for searcher in searchers {
            while let Some(block) = self.front.claim(searcher) {
                if self.watch.is_cancelled() {
                    break;
                }
                let items = block.len();
                self.verb.block(state, (), block)?;
                self.watch.done(items);
            }
        }
        Ok(())
    }
}
