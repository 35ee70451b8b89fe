//! Iterators over parts and nodes that exist only once a closure has made them: a loop calls the
//! closure on all its threads.

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

    /// The nodes in and below `open`, each before its children.
    fn parents_first(&self, mut open: Vec<S>) -> impl Iterator<Item = S> {
        // The children that are left of the node that came last, of its parent, and so on.
        let mut levels: Vec<I::IntoIter> = Vec::new();
        std::iter::from_fn(move || {
            loop {
                let node = match levels.last_mut() {
                    Some(children) => children.next(),
                    None => Some(open.pop()?),
                };
                if let Some(node) = node {
                    levels.push(self.children(&node));
                    return Some(node);
                }
                levels.pop();
            }
        })
    }

    /// The nodes in and below `open`, each behind its children.
    fn children_first(&self, mut open: Vec<S>) -> impl Iterator<Item = S> {
        // A node whose children come, and those that are left, below them its parent, and so on.
        let mut levels: Vec<(S, I::IntoIter)> = Vec::new();
        std::iter::from_fn(move || {
            loop {
                let node = match levels.last_mut() {
                    Some((_, children)) => children.next(),
                    None => Some(open.pop()?),
                };
                let Some(node) = node else { return levels.pop().map(|(node, _)| node) };
                let children = self.children(&node);
                levels.push((node, children));
            }
        })
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
        if PARENTS_FIRST {
            folder.consume_iter(parents.into_iter().chain(self.parents_first(open)))
        } else {
            folder.consume_iter(self.children_first(open).chain(parents.into_iter().rev()))
        }
    }
}
