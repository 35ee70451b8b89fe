//! Iterators over no items, one item, and clones of one item.

use super::{
    End, Gather, GatherExact, Gathered, IndexedParallelIterator, IntoParallelIterator, ParallelIterator, Zip,
    plumbing::{Consumer, Producer, ProducerCallback, UnindexedConsumer, bridge},
    unindexed_by_bridge,
};

/// An iterator without items.
#[doc(hidden)]
#[derive(Debug)]
pub struct Nothing<T>(std::marker::PhantomData<fn() -> T>);

impl<T> Clone for Nothing<T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

/// See [`empty`].
pub type Empty<T> = Gathered<Nothing<T>>;

/// An iterator without items.
pub fn empty<T: Send>() -> Empty<T> {
    Gathered(Nothing(std::marker::PhantomData))
}

impl<T: Send> Gather for Nothing<T> {
    type Item = T;

    fn gather(self) -> Vec<T> {
        Vec::new()
    }

    fn known_len(&self) -> Option<usize> {
        Some(0)
    }
}

impl<T: Send> GatherExact for Nothing<T> {}

/// See [`once`].
pub type Once<T> = crate::option::IntoIter<T>;

/// An iterator over one item.
pub fn once<T: Send>(item: T) -> Once<T> {
    Some(item).into_par_iter()
}

/// See [`repeat`].
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Repeat<T> {
    element: T,
}

/// An endless iterator over clones of `element`.
pub fn repeat<T: Clone + Send>(element: T) -> Repeat<T> {
    Repeat { element }
}

impl<T: Clone + Send> Repeat<T> {
    /// An iterator over `n` clones.
    pub fn take(self, n: usize) -> RepeatN<T> {
        repeat_n(self.element, n)
    }

    /// Iterates over pairs of a clone and an item of `zip_op`.
    pub fn zip<Z>(self, zip_op: Z) -> Zip<RepeatN<T>, Z::Iter>
    where
        Z: IntoParallelIterator<Iter: IndexedParallelIterator>,
    {
        let zipped = zip_op.into_par_iter();
        let n = zipped.len();
        self.take(n).zip(zipped)
    }
}
impl<T: Clone + Send> ParallelIterator for Repeat<T> {
    type Item = T;

    fn drive_unindexed<C: UnindexedConsumer<T>>(self, consumer: C) -> C::Result {
        self.take(usize::MAX).drive_unindexed(consumer)
    }

    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        self.take(usize::MAX).rs_run(end)
    }
}

/// See [`repeat_n`].
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct RepeatN<T> {
    /// `None` if `n` is 0.
    element: Option<T>,
    n: usize,
}

/// An iterator over `n` items: clones of `element`, and finally `element` itself. Each part of a
/// loop clones an element of its own.
pub fn repeat_n<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    RepeatN { element: (n > 0).then_some(element), n }
}

/// An iterator over `n` clones of `element`.
#[deprecated(note = "use `repeat_n`")]
pub fn repeatn<T: Clone + Send>(element: T, n: usize) -> RepeatN<T> {
    repeat_n(element, n)
}

impl<T: Clone + Send> ParallelIterator for RepeatN<T> {
    type Item = T;
    unindexed_by_bridge!();

    fn opt_len(&self) -> Option<usize> {
        Some(self.n)
    }
}

impl<T: Clone + Send> IndexedParallelIterator for RepeatN<T> {
    fn drive<C: Consumer<T>>(self, consumer: C) -> C::Result {
        bridge(self, consumer)
    }

    fn with_producer<CB: ProducerCallback<T>>(self, callback: CB) -> CB::Output {
        callback.callback(Clones(self))
    }

    fn len(&self) -> usize {
        self.n
    }
}

/// Clones of an element, and finally the element itself.
struct Clones<T>(RepeatN<T>);

impl<T: Clone + Send> Producer for Clones<T> {
    type Item = T;
    type IntoIter = Self;

    fn into_iter(self) -> Self {
        self
    }

    fn split_at(self, index: usize) -> (Self, Self) {
        let RepeatN { element, n } = self.0;
        let (first, second) = match (index, n - index) {
            (_, 0) => (element, None),
            (0, _) => (None, element),
            _ => (element.clone(), element),
        };
        (Self(RepeatN { element: first, n: index }), Self(RepeatN { element: second, n: n - index }))
    }
}

impl<T: Clone> Iterator for Clones<T> {
    type Item = T;

    #[inline]
    fn next(&mut self) -> Option<T> {
        self.nth(0)
    }

    #[inline]
    fn nth(&mut self, skipped: usize) -> Option<T> {
        let RepeatN { element, n } = &mut self.0;
        *n = n.saturating_sub(skipped);
        *n = n.checked_sub(1)?;
        if *n == 0 { element.take() } else { element.clone() }
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.0.n, Some(self.0.n))
    }
}

impl<T: Clone> DoubleEndedIterator for Clones<T> {
    #[inline]
    fn next_back(&mut self) -> Option<T> {
        self.next()
    }

    #[inline]
    fn nth_back(&mut self, skipped: usize) -> Option<T> {
        self.nth(skipped)
    }
}

impl<T: Clone> ExactSizeIterator for Clones<T> {}
