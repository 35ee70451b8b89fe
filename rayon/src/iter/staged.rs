//! Iterators that consist of another iterator and a stage.

use std::fmt;

use super::{
    Backward, End, IndexedEnd, IndexedParallelIterator, IndexedStage, Lend, ParallelIterator, Stage, Then,
    Unindexed,
    drive::Before,
    indexed_by_bridge,
    plumbing::{Consumer, ProducerCallback, UnindexedConsumer},
    unindexed_by_bridge,
};

/// An iterator, and a stage that maps, filters or expands its items.
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Staged<I, G> {
    pub(crate) base: I,
    pub(crate) stage: G,
}
impl<I: ParallelIterator, G: Stage<I::Item> + Send + Sync> ParallelIterator for Staged<I, G> {
    type Item = G::Made;

    fn drive_unindexed<C: UnindexedConsumer<G::Made>>(self, consumer: C) -> C::Result {
        self.base.drive_unindexed(Before(&self.stage, consumer))
    }

    #[track_caller]
    fn rs_run<E: End<G::Made>>(self, end: E) -> E::Out {
        if const { G::FEEDS_ALL } {
            return end.foreign(self);
        }
        self.base.rs_run(Then(self.stage, end))
    }

    #[track_caller]
    fn rs_run_backward<E: End<G::Made>>(self, end: E) -> E::Out {
        if G::ONE_AT_MOST {
            return self.base.rs_run_backward(Then(self.stage, end));
        }
        end.foreign_backward(self)
    }

    fn opt_len(&self) -> Option<usize> {
        if G::ONE_EACH { self.base.opt_len() } else { None }
    }

    fn rs_lengths(&self) -> (usize, usize) {
        self.base.rs_lengths()
    }
}

impl<I, G> IndexedParallelIterator for Staged<I, G>
where
    I: IndexedParallelIterator,
    G: Stage<I::Item> + IndexedStage<I::Item, Made = <G as Stage<I::Item>>::Made> + Send + Sync,
{
    fn drive<C: Consumer<Self::Item>>(self, consumer: C) -> C::Result {
        self.base.drive(Before(&self.stage, consumer))
    }

    fn with_producer<CB: ProducerCallback<Self::Item>>(self, callback: CB) -> CB::Output {
        let lengths = self.rs_lengths();
        self.rs_run_indexed(Lend { to: callback, lengths })
    }

    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        self.base.rs_run_indexed(Then(self.stage, end))
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
    unindexed_by_bridge!();

    #[track_caller]
    fn rs_run<E: End<G::Made>>(self, end: E) -> E::Out {
        let lengths = self.rs_lengths();
        self.rs_run_indexed(Unindexed(end, lengths))
    }

    #[track_caller]
    fn rs_run_backward<E: End<G::Made>>(self, end: E) -> E::Out {
        let lengths = self.rs_lengths();
        self.rs_run_indexed(Backward(end, lengths))
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.len())
    }

    fn rs_lengths(&self) -> (usize, usize) {
        self.stage.lengths(self.base.rs_lengths())
    }
}

impl<I: IndexedParallelIterator, G: IndexedStage<I::Item> + Send> IndexedParallelIterator for Placed<I, G> {
    indexed_by_bridge!();

    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<Self::Item>>(self, end: E) -> E::Out {
        self.base.rs_run_indexed(Then(self.stage, end))
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
