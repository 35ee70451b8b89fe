//! Iterators over the items of two iterators, or over items with a separator. The items are
//! gathered when the loop begins, except those of a chain of two iterators.

use super::{End, Gather, GatherExact, Gathered, IndexedParallelIterator, ParallelIterator, ends, shown};

/// The items of one iterator, then the items of another one.
#[doc(hidden)]
#[derive(Clone)]
pub struct OneAfterOther<A, B>(pub(super) A, pub(super) B);
shown!(OneAfterOther<A, B>);

/// See [`ParallelIterator::chain`].
pub type Chain<A, B> = Gathered<OneAfterOther<A, B>>;

impl<A: ParallelIterator, B: ParallelIterator<Item = A::Item>> Gather for OneAfterOther<A, B> {
    type Item = A::Item;

    fn gather(self) -> Vec<A::Item> {
        ends::gathered(self.known_len(), |end| self.run(end))
    }

    /// Runs a loop over each of the iterators.
    #[track_caller]
    fn run<E: End<A::Item>>(self, end: E) -> E::Out {
        let Self(a, b) = self;
        let first = a.run(&end);
        end.then(first, || b.run(&end))
    }

    #[track_caller]
    fn run_backward<E: End<A::Item>>(self, end: E) -> E::Out {
        let Self(a, b) = self;
        let first = b.run_backward(&end);
        end.then(first, || a.run_backward(&end))
    }

    fn known_len(&self) -> Option<usize> {
        self.0.opt_len()?.checked_add(self.1.opt_len()?)
    }
}

impl<A: IndexedParallelIterator, B: IndexedParallelIterator<Item = A::Item>> GatherExact
    for OneAfterOther<A, B>
{
}

/// The items of two iterators in turn.
#[doc(hidden)]
#[derive(Clone)]
pub struct ByTurns<A, B> {
    pub(super) a: A,
    pub(super) b: B,
    /// Whether to end as soon as one iterator has no item for its turn.
    pub(super) ends_early: bool,
}
shown!(ByTurns<A, B>);

/// See [`IndexedParallelIterator::interleave`].
pub type Interleave<A, B> = Gathered<ByTurns<A, B>>;
/// See [`IndexedParallelIterator::interleave_shortest`].
pub type InterleaveShortest<A, B> = Gathered<ByTurns<A, B>>;

impl<A: IndexedParallelIterator, B: IndexedParallelIterator<Item = A::Item>> Gather for ByTurns<A, B> {
    type Item = A::Item;

    fn gather(self) -> Vec<A::Item> {
        let mut all = Vec::new();
        let (mut now, mut next) = (self.a.into_items().into_iter(), self.b.into_items().into_iter());
        while let Some(item) = now.next() {
            all.push(item);
            std::mem::swap(&mut now, &mut next);
        }
        if !self.ends_early {
            all.extend(next);
        }
        all
    }

    fn known_len(&self) -> Option<usize> {
        let (a, b) = (self.a.len(), self.b.len());
        if !self.ends_early {
            return a.checked_add(b);
        }
        if a <= b { a.checked_mul(2) } else { b.checked_mul(2)?.checked_add(1) }
    }
}

impl<A: IndexedParallelIterator, B: IndexedParallelIterator<Item = A::Item>> GatherExact for ByTurns<A, B> {}

/// The items of an iterator, with a clone of a separator between neighbours.
#[doc(hidden)]
#[derive(Clone)]
pub struct WithBetween<I, T>(pub(super) I, pub(super) T);
shown!(WithBetween<I, T>);

/// See [`ParallelIterator::intersperse`].
pub type Intersperse<I> = Gathered<WithBetween<I, <I as ParallelIterator>::Item>>;

impl<T: Clone + Send, I: ParallelIterator<Item = T>> Gather for WithBetween<I, T> {
    type Item = T;

    fn gather(self) -> Vec<T> {
        let Self(base, between) = self;
        let mut all = Vec::new();
        for item in base.into_items() {
            if !all.is_empty() {
                all.push(between.clone());
            }
            all.push(item);
        }
        all
    }

    fn known_len(&self) -> Option<usize> {
        let items = self.0.opt_len()?;
        items.checked_add(items.saturating_sub(1))
    }
}

impl<T: Clone + Send, I: IndexedParallelIterator<Item = T>> GatherExact for WithBetween<I, T> {}
