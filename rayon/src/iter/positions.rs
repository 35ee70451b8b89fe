//! The indices of the items that satisfy a predicate.

use super::{End, IndexedParallelIterator, ParallelIterator, plumbing::UnindexedConsumer, shown};

/// See [`IndexedParallelIterator::positions`].
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Positions<I, P> {
    pub(super) base: I,
    pub(super) predicate: P,
}
shown!(Positions<I, P>);

impl<I: IndexedParallelIterator, P: Fn(I::Item) -> bool + Sync + Send> ParallelIterator for Positions<I, P> {
    type Item = usize;

    fn drive_unindexed<C: UnindexedConsumer<usize>>(self, consumer: C) -> C::Result {
        let Self { base, predicate } = self;
        let found = base.enumerate().filter_map(move |(at, item)| predicate(item).then_some(at));
        found.drive_unindexed(consumer)
    }

    #[track_caller]
    fn rs_run<E: End<usize>>(self, end: E) -> E::Out {
        let Self { base, predicate } = self;
        base.enumerate().filter_map(move |(at, item)| predicate(item).then_some(at)).rs_run(end)
    }
}
