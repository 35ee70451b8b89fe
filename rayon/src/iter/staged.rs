//! Iterators that consist of another iterator and a stage.

use std::fmt;

use rangesteal::source;

use super::{
    Backward, End, IndexedEnd, IndexedParallelIterator, IndexedStage, ParallelIterator, Stage, Then,
    Unindexed,
};

/// An iterator, and a stage that maps, filters or expands its items.
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Staged<I, G> {
    pub(crate) base: I,
    pub(crate) stage: G,
}

impl<I, G> crate::absent::IsOfThisCrate for Staged<I, G> {}
impl<I, G> crate::absent::IsOfThisCrate for Placed<I, G> {}

impl<I: ParallelIterator, G: Stage<I::Item> + Send + Sync> ParallelIterator for Staged<I, G> {
    type Item = G::Made;

    #[track_caller]
    fn run<E: End<G::Made>>(self, end: E) -> E::Out {
        self.base.run(Then(self.stage, end))
    }

    #[track_caller]
    fn run_backward<E: End<G::Made>>(self, end: E) -> E::Out {
        if G::ONE_AT_MOST {
            return self.base.run_backward(Then(self.stage, end));
        }
        end.chain(source(self.into_items()).rev())
    }

    fn opt_len(&self) -> Option<usize> {
        if G::ONE_EACH { self.base.opt_len() } else { None }
    }

    fn lengths(&self) -> (usize, usize) {
        self.base.lengths()
    }
}

impl<I, G> IndexedParallelIterator for Staged<I, G>
where
    I: IndexedParallelIterator,
    G: Stage<I::Item> + IndexedStage<I::Item, Made = <G as Stage<I::Item>>::Made> + Send + Sync,
{
    #[track_caller]
    fn run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        self.base.run_indexed(Then(self.stage, end))
    }

    fn len(&self) -> usize {
        self.stage.count(self.base.len())
    }
}

impl<I: fmt::Debug, G> fmt::Debug for Staged<I, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Staged").field("base", &self.base).finish_non_exhaustive()
    }
}

/// An iterator whose items have an index, and a stage that needs the index.
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Placed<I, G> {
    pub(crate) base: I,
    pub(crate) stage: G,
}

impl<I: IndexedParallelIterator, G: IndexedStage<I::Item> + Send> ParallelIterator for Placed<I, G> {
    type Item = G::Made;

    #[track_caller]
    fn run<E: End<G::Made>>(self, end: E) -> E::Out {
        self.run_indexed(Unindexed(end))
    }

    #[track_caller]
    fn run_backward<E: End<G::Made>>(self, end: E) -> E::Out {
        self.run_indexed(Backward(end))
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }

    fn lengths(&self) -> (usize, usize) {
        self.stage.lengths(self.base.lengths())
    }
}

impl<I: IndexedParallelIterator, G: IndexedStage<I::Item> + Send> IndexedParallelIterator for Placed<I, G> {
    #[track_caller]
    fn run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        self.base.run_indexed(Then(self.stage, end))
    }

    fn len(&self) -> usize {
        self.stage.count(self.base.len())
    }
}

impl<I: fmt::Debug, G> fmt::Debug for Placed<I, G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Placed").field("base", &self.base).finish_non_exhaustive()
    }
}
