//! Iterators over no items, one item, clones of one item, the parts of a divided value, and the
//! nodes of a tree.

use std::sync::Mutex;

use rangesteal::source;

use super::{
    ANY_LENGTH, End, Gather, GatherExact, Gathered, IndexedEnd, IndexedParallelIterator,
    IntoParallelIterator, ParallelIterator, Unindexed, Zip, indexed_by_bridge, plumbing::UnindexedConsumer,
    shown, unindexed_by_bridge,
};
use crate::sync::lock;

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

/// An iterator over `n` items: clones of `element`, and finally `element` itself. A lock guards the
/// element, since `T` need not be `Sync`.
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

    #[track_caller]
    fn rs_run<E: End<T>>(self, end: E) -> E::Out {
        self.rs_run_indexed(Unindexed(end, ANY_LENGTH))
    }

    fn opt_len(&self) -> Option<usize> {
        Some(self.n)
    }
}

impl<T: Clone + Send> IndexedParallelIterator for RepeatN<T> {
    indexed_by_bridge!();

    #[track_caller]
    fn rs_run_indexed<E: IndexedEnd<T>>(self, end: E) -> E::Out {
        let left = Mutex::new((self.element, self.n));
        let next = move |_| {
            let (element, left) = &mut *lock(&left);
            *left -= 1;
            let next = if *left == 0 { element.take() } else { element.clone() };
            next.expect("at most `n` items are requested")
        };
        end.source(source(0..self.n).map(next))
    }

    fn len(&self) -> usize {
        self.n
    }
}

/// The parts of a divided value.
#[doc(hidden)]
#[derive(Clone)]
pub struct Parts<D, S> {
    whole: D,
    splitter: S,
}
shown!(Parts<D, S>);

/// See [`split`].
pub type Split<D, S> = Gathered<Parts<D, S>>;

/// An iterator over the parts of `data`, which `splitter` divides as often as it can. The calling
/// thread divides `data` before the loop begins.
pub fn split<D: Send, S: Fn(D) -> (D, Option<D>) + Sync>(data: D, splitter: S) -> Split<D, S> {
    Gathered(Parts { whole: data, splitter })
}

impl<D: Send, S: Fn(D) -> (D, Option<D>) + Sync + Send> Gather for Parts<D, S> {
    type Item = D;

    fn gather(self) -> Vec<D> {
        let (mut parts, mut open) = (Vec::new(), vec![self.whole]);
        while let Some(part) = open.pop() {
            match (self.splitter)(part) {
                (left, Some(right)) => open.extend([right, left]),
                (part, None) => parts.push(part),
            }
        }
        parts
    }
}

/// The nodes of a tree.
#[doc(hidden)]
#[derive(Clone)]
pub struct Nodes<S, B, const PARENTS_FIRST: bool> {
    root: S,
    children_of: B,
}

impl<S, B, const PARENTS_FIRST: bool> std::fmt::Debug for Nodes<S, B, PARENTS_FIRST> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nodes").finish_non_exhaustive()
    }
}

/// See [`walk_tree`].
pub type WalkTree<S, B> = Gathered<Nodes<S, B, true>>;
/// See [`walk_tree_prefix`].
pub type WalkTreePrefix<S, B> = Gathered<Nodes<S, B, true>>;
/// See [`walk_tree_postfix`].
pub type WalkTreePostfix<S, B> = Gathered<Nodes<S, B, false>>;

/// An iterator over the nodes of a tree, each before its children. The calling thread visits all
/// nodes before the loop begins.
pub fn walk_tree<S, B, I>(root: S, children_of: B) -> WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    Gathered(Nodes { root, children_of })
}

/// The nodes of a tree, each before its children.
pub fn walk_tree_prefix<S, B, I>(root: S, children_of: B) -> WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    Gathered(Nodes { root, children_of })
}

/// An iterator over the nodes of a tree, each behind its children. The calling thread visits all
/// nodes before the loop begins.
pub fn walk_tree_postfix<S, B, I>(root: S, children_of: B) -> WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S>,
{
    Gathered(Nodes { root, children_of })
}

impl<S: Send, B: Fn(&S) -> I + Send + Sync, I: IntoIterator<Item = S>, const PARENTS_FIRST: bool> Gather
    for Nodes<S, B, PARENTS_FIRST>
{
    type Item = S;

    /// Visits parents first. If children must come first, visits the children from the last to the
    /// first, and reverses the result.
    fn gather(self) -> Vec<S> {
        let (mut nodes, mut open) = (Vec::new(), vec![self.root]);
        while let Some(node) = open.pop() {
            let first = open.len();
            open.extend((self.children_of)(&node));
            if PARENTS_FIRST {
                open[first..].reverse();
            }
            nodes.push(node);
        }
        if !PARENTS_FIRST {
            nodes.reverse();
        }
        nodes
    }
}
