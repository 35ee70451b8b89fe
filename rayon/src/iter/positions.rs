//! The indices of the items that satisfy a predicate.

use super::{End, IndexedParallelIterator, ParallelIterator, shown};

/// See [`IndexedParallelIterator::positions`].
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Positions<I, P> {
    pub(super) base: I,
    pub(super) predicate: P,
}
impl<I, P> crate::absent::IsOfThisCrate for Positions<I, P> {}
shown!(Positions<I, P>);

impl<I: IndexedParallelIterator, P: Fn(I::Item) -> bool + Sync + Send> ParallelIterator for Positions<I, P> {
    type Item = usize;

    #[track_caller]
    fn run<E: End<usize>>(self, end: E) -> E::Out {
        let Self { base, predicate } = self;
        base.enumerate().filter_map(move |(at, item)| predicate(item).then_some(at)).run(end)
    }
}
