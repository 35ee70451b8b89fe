//! Iterators over parts and nodes that exist only once a closure has made them: a loop calls the
//! closure on all its threads.

use std::hint;

use super::{
    ParallelIterator,
    plumbing::{Folder, UnindexedConsumer, UnindexedProducer, bridge_unindexed},
    shown,
};

/// See [`split`].
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Split<D, S> {
    whole: D,
    splitter: S,
}
shown!(Split<D, S>);

/// An iterator over parts of `data`. `splitter` divides a part in two, or returns it as it is. A
/// loop divides `data` into some parts per thread, and a part again when it goes to another thread.
pub fn split<D: Send, S: Fn(D) -> (D, Option<D>) + Sync>(data: D, splitter: S) -> Split<D, S> {
    Split { whole: data, splitter }
}

impl<D: Send, S: Fn(D) -> (D, Option<D>) + Sync + Send> ParallelIterator for Split<D, S> {
    type Item = D;

    fn drive_unindexed<C: UnindexedConsumer<D>>(self, consumer: C) -> C::Result {
        bridge_unindexed(Divisible { part: self.whole, splitter: &self.splitter }, consumer)
    }
}

/// A part, and what divides it.
struct Divisible<'s, D, S> {
    part: D,
    splitter: &'s S,
}

impl<D: Send, S: Fn(D) -> (D, Option<D>) + Sync> UnindexedProducer for Divisible<'_, D, S> {
    type Item = D;

    fn split(self) -> (Self, Option<Self>) {
        let splitter = self.splitter;
        let (left, right) = splitter(self.part);
        (Self { part: left, splitter }, right.map(|part| Self { part, splitter }))
    }

    fn fold_with<F: Folder<D>>(self, folder: F) -> F {
        folder.consume(self.part)
    }
}

/// An iterator over the nodes of a tree.
#[doc(hidden)]
#[derive(Clone)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Walk<S, B, const PARENTS_FIRST: bool> {
    root: S,
    children_of: B,
}

impl<S, B, const PARENTS_FIRST: bool> std::fmt::Debug for Walk<S, B, PARENTS_FIRST> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Walk").finish_non_exhaustive()
    }
}

/// See [`walk_tree`].
pub type WalkTree<S, B> = Walk<S, B, true>;
/// See [`walk_tree_prefix`].
pub type WalkTreePrefix<S, B> = Walk<S, B, true>;
/// See [`walk_tree_postfix`].
pub type WalkTreePostfix<S, B> = Walk<S, B, false>;

/// An iterator over the nodes of a tree: [`walk_tree_prefix`].
pub fn walk_tree<S, B, I>(root: S, children_of: B) -> WalkTree<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    walk_tree_prefix(root, children_of)
}

/// An iterator over the nodes of a tree, each before its children. The threads call `children_of`.
pub fn walk_tree_prefix<S, B, I>(root: S, children_of: B) -> WalkTreePrefix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S, IntoIter: DoubleEndedIterator>,
{
    Walk { root, children_of }
}

/// An iterator over the nodes of a tree, each behind its children. The threads call `children_of`.
pub fn walk_tree_postfix<S, B, I>(root: S, children_of: B) -> WalkTreePostfix<S, B>
where
    S: Send,
    B: Fn(&S) -> I + Send + Sync,
    I: IntoIterator<Item = S>,
{
    Walk { root, children_of }
}

impl<S: Send, B: Fn(&S) -> I + Send + Sync, I: IntoIterator<Item = S>, const PARENTS_FIRST: bool>
    ParallelIterator for Walk<S, B, PARENTS_FIRST>
{
    type Item = S;

    fn drive_unindexed<C: UnindexedConsumer<S>>(self, consumer: C) -> C::Result {
        let Self { root, children_of } = self;
        let nodes =
            Nodes::<_, _, PARENTS_FIRST> { open: vec![root], parents: Vec::new(), children_of: &children_of };
        bridge_unindexed(nodes, consumer)
    }
}

/// Some nodes of a tree: those in and below `open`, and `parents`.
struct Nodes<'b, S, B, const PARENTS_FIRST: bool> {
    /// Nodes whose children are not known yet. The last one comes first.
    open: Vec<S>,
    /// Nodes before, or behind, those of `open`. Each of these nodes is the parent of the next one,
    /// or of those in `open`.
    parents: Vec<S>,
    children_of: &'b B,
}

impl<S, B: Fn(&S) -> I, I: IntoIterator<Item = S>, const PARENTS_FIRST: bool> Nodes<'_, S, B, PARENTS_FIRST> {
    fn children(&self, of: &S) -> I::IntoIter {
        (self.children_of)(of).into_iter()
    }

    /// Folds a node, its siblings behind it, and all below them. The recursion takes about
    /// [`STACK`] bytes below `top`: it looks at the stack once for all siblings, and not for nodes
    /// without children.
    fn fold<A>(
        &self,
        mut node: S,
        mut siblings: impl Iterator<Item = S>,
        mut acc: A,
        op: &mut impl FnMut(A, S) -> A,
        top: usize,
    ) -> A {
        let is_deep = stack_address().abs_diff(top) >= STACK;
        loop {
            let children = self.children(&node);
            if PARENTS_FIRST {
                acc = op(acc, node);
                acc = self.fold_children(children, acc, op, top, is_deep);
            } else {
                acc = self.fold_children(children, acc, op, top, is_deep);
                acc = op(acc, node);
            }
            match siblings.next() {
                Some(next) => node = next,
                None => return acc,
            }
        }
    }

    #[inline(always)]
    fn fold_children<A>(
        &self,
        mut children: I::IntoIter,
        mut acc: A,
        op: &mut impl FnMut(A, S) -> A,
        top: usize,
        is_deep: bool,
    ) -> A {
        if !is_deep {
            return match children.next() {
                Some(first) => self.fold(first, children, acc, op, top),
                None => acc,
            };
        }
        for node in (Below { nodes: self, open: Vec::new(), levels: vec![(None, children)] }) {
            acc = op(acc, node);
        }
        acc
    }
}

/// In bytes: how much stack the recursion takes. The last level may take more.
const STACK: usize = 1 << 15;

/// About the end of the stack. (The number of levels says little about the stack: the compiler may
/// put what a closure needs into each frame.)
#[inline(always)]
fn stack_address() -> usize {
    let here = 0_u8;
    hint::black_box(&raw const here).addr()
}

/// The nodes in and below `open`.
struct Below<'n, 'b, S, B, I: IntoIterator, const PARENTS_FIRST: bool> {
    nodes: &'n Nodes<'b, S, B, PARENTS_FIRST>,
    /// The last one comes first.
    open: Vec<S>,
    /// Nodes that come behind their children, and the children that are left: of the last node,
    /// below them of its parent, and so on.
    levels: Vec<(Option<S>, I::IntoIter)>,
}

impl<S, B: Fn(&S) -> I, I: IntoIterator<Item = S>, const PARENTS_FIRST: bool> Iterator
    for Below<'_, '_, S, B, I, PARENTS_FIRST>
{
    type Item = S;

    #[inline]
    fn next(&mut self) -> Option<S> {
        loop {
            let node = match self.levels.last_mut() {
                Some((_, children)) => children.next(),
                None => Some(self.open.pop()?),
            };
            match node {
                Some(node) => {
                    let children = self.nodes.children(&node);
                    if PARENTS_FIRST {
                        self.levels.push((None, children));
                        return Some(node);
                    }
                    self.levels.push((Some(node), children));
                }
                None => {
                    if let Some((Some(node), _)) = self.levels.pop() {
                        return Some(node);
                    }
                }
            }
        }
    }

    /// By recursion: in small nodes, a vector for the path takes longer than the rest.
    fn fold<A, F: FnMut(A, S) -> A>(self, mut acc: A, mut op: F) -> A {
        let (top, Self { nodes, open, levels }) = (stack_address(), self);
        for (node, children) in levels.into_iter().rev() {
            acc = nodes.fold_children(children, acc, &mut op, top, false);
            if let Some(node) = node {
                acc = op(acc, node);
            }
        }
        let mut open = open.into_iter().rev();
        match open.next() {
            Some(first) => nodes.fold(first, open, acc, &mut op, top),
            None => acc,
        }
    }
}

/// Cuts a stack in two, if it has several elements. Returns the lower half.
fn lower_half<T>(stack: &mut Vec<T>) -> Option<Vec<T>> {
    (stack.len() > 1).then(|| {
        let upper = stack.split_off(stack.len() / 2);
        std::mem::replace(stack, upper)
    })
}

impl<S: Send, B: Fn(&S) -> I + Sync, I: IntoIterator<Item = S>, const PARENTS_FIRST: bool> UnindexedProducer
    for Nodes<'_, S, B, PARENTS_FIRST>
{
    type Item = S;

    /// Goes down to a node with several children. Each part gets a half of these subtrees. In a
    /// tree without such a node, each part gets a half of the nodes.
    fn split(mut self) -> (Self, Option<Self>) {
        let children_of = self.children_of;
        while let [_] = &*self.open {
            let node = self.open.pop().expect("one node");
            self.open.extend(self.children(&node));
            self.open.reverse();
            self.parents.push(node);
        }
        let part = |open, parents| Self { open, parents, children_of };
        match (lower_half(&mut self.open), PARENTS_FIRST) {
            (Some(lower), true) => (self, Some(part(lower, Vec::new()))),
            (Some(lower), false) => {
                let parents = std::mem::take(&mut self.parents);
                (self, Some(part(lower, parents)))
            }
            (None, _) => {
                let Some(lower) = lower_half(&mut self.parents) else { return (self, None) };
                let upper = std::mem::take(&mut self.parents);
                let (first, second) = if PARENTS_FIRST { (lower, upper) } else { (upper, lower) };
                (part(Vec::new(), first), Some(part(Vec::new(), second)))
            }
        }
    }

    fn fold_with<F: Folder<S>>(mut self, folder: F) -> F {
        let (open, parents) = (std::mem::take(&mut self.open), std::mem::take(&mut self.parents));
        let below = Below { nodes: &self, open, levels: Vec::new() };
        if PARENTS_FIRST {
            folder.consume_iter(parents.into_iter().chain(below))
        } else {
            folder.consume_iter(below.chain(parents.into_iter().rev()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All nodes of a binary tree, of which some are taken one by one, and the rest is folded.
    fn taken_and_folded<const PARENTS_FIRST: bool>(taken: usize) -> Vec<u32> {
        let children_of = |of: &u32| (2 * of..2 * of + 2).filter(|child| *child < 40);
        let nodes = Nodes::<_, _, PARENTS_FIRST> { open: vec![], parents: vec![], children_of: &children_of };
        let mut below = Below { nodes: &nodes, open: vec![1], levels: vec![] };
        let mut all: Vec<_> = below.by_ref().take(taken).collect();
        below.fold((), |(), node| all.push(node));
        all
    }

    #[test]
    fn a_walk_that_has_begun_is_folded_to_its_end() {
        for taken in 1..39 {
            assert_eq!(taken_and_folded::<true>(taken), taken_and_folded::<true>(0));
            assert_eq!(taken_and_folded::<false>(taken), taken_and_folded::<false>(0));
        }
    }

    #[test]
    fn the_recursion_takes_little_stack() {
        let children_of = |of: &u32| Some(of + 1).filter(|child| *child < 10_000);
        let nodes = Nodes::<_, _, true> { open: vec![], parents: vec![], children_of: &children_of };
        let (mut low, mut high) = (usize::MAX, 0);
        Below { nodes: &nodes, open: vec![0], levels: vec![] }.fold((), |(), _| {
            let large = hint::black_box([0_u8; 900]);
            let at = (&raw const large).addr();
            (low, high) = (low.min(at), high.max(at));
        });
        assert!(high - low < 2 * STACK, "{} bytes", high - low);
    }
}
