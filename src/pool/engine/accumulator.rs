//! The state and the partial results of a worker.
//!
//! The code of the executor that is compiled once for all loops calls an [`Accumulate`]. An
//! [`Accumulator`] is compiled once for each pair of types [`Body::Acc`] and [`Body::Found`]. It
//! calls a [`Folder`], which alone knows the loop's closures, and is compiled once for each loop.
//! Both calls go through a vtable, once for each call of [`kernel`]: in most loops once in some
//! microseconds, in `reproducible` loops once for each block.

use std::{mem, ops::Range, sync::PoisonError};

use super::{
    body::{Body, Stop, kernel},
    ending::{FirstStop, Outcome, Panic, StopAt, attempt, discard},
    order::{Node, Tree},
};
use crate::{
    pool::{
        supply::range::Claims,
        tell::units::{Blocks, Units},
    },
    sorted::sort,
    sync::{Mutex, lock},
};

/// A worker's part of a loop, for any types of items and results.
pub(crate) trait Accumulate {
    /// Makes `claims` and folds the claimed items. The claimed items follow the items that the run
    /// has already folded.
    fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), StopAt>;

    /// Ends the run that began at index `first`: stores its partial result.
    fn end(&mut self, first: usize);

    /// Hands over the partial results of leaves, and drops the state. Called when the worker has no
    /// work left.
    fn leave(&mut self);

    /// After a panic, which stops the loop at `stop`: keeps the panic, and drops the state and the
    /// partial result of the run. Does not panic.
    fn abandon(&mut self, stop: StopAt, panic: Panic);
}

/// Makes an accumulator for a worker, on the worker's thread, and lends it to a closure. No
/// `dyn Fn`: its code is generated twice, because such a closure can also be called by value.
pub(crate) trait Lend: Sync {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Accumulate));

    /// The index at which the loop has stopped, if it has.
    fn stopped_at(&self) -> Option<usize>;
}

/// A worker's state in a loop, and the closures of the loop. `A` and `Z` are [`Body::Acc`] and
/// [`Body::Found`].
pub(crate) trait Folder<A, Z> {
    /// Makes `claims` and folds the claimed items: [`Body::fold`].
    fn fold(&mut self, acc: Option<A>, claims: &mut Claims<'_>) -> Result<Option<A>, Stop<Z>>;

    /// Drops the worker's state.
    fn drop_state(&mut self);
}

/// The folders of all workers of a loop.
pub(crate) trait Folders<A, Z>: Sync {
    /// Makes a folder for worker `me`, on the worker's thread, and lends it to `work`.
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Folder<A, Z>));

    /// Reduces the partial results of two neighbours.
    fn reduce(&self, before: A, behind: A) -> A;
}

/// The state and the partial result of the first items of a loop.
pub(crate) type Started<'b, L> = (<L as Body>::State<'b>, Option<<L as Body>::Acc>);

/// The folder of one worker in the loop `body`.
pub(crate) struct WorkerFolder<'b, L: Body> {
    body: &'b L,
    me: usize,
    state: Option<L::State<'b>>,
}

impl<'b, L: Body> WorkerFolder<'b, L> {
    /// The folder of worker `me`. `state` is the worker's state, if it has begun.
    #[inline(always)]
    pub(crate) fn new(body: &'b L, me: usize, state: Option<L::State<'b>>) -> Self {
        Self { body, me, state }
    }
}

impl<L: Body> Folder<L::Acc, L::Found> for WorkerFolder<'_, L> {
    fn fold(
        &mut self,
        acc: Option<L::Acc>,
        claims: &mut Claims<'_>,
    ) -> Result<Option<L::Acc>, Stop<L::Found>> {
        let Self { body, me, ref mut state } = *self;
        kernel(body, state.get_or_insert_with(|| body.state(me)), acc, claims)
    }

    fn drop_state(&mut self) {
        drop(self.state.take());
    }
}

impl<L: Body> Folders<L::Acc, L::Found> for L {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Folder<L::Acc, L::Found>)) {
        work(&mut WorkerFolder::new(self, me, None));
    }

    fn reduce(&self, before: L::Acc, behind: L::Acc) -> L::Acc {
        Body::reduce(self, before, behind)
    }
}

/// The partial results of one worker.
pub(crate) struct Accumulator<'f, A, Z> {
    folder: &'f mut dyn Folder<A, Z>,
    made: &'f Partials<'f, A, Z>,
    acc: Option<A>,
    /// The partial result of the worker's last run, which only this worker knows: most workers have
    /// one run, and the caller hands over nothing.
    ended: Option<(Node, A)>,
    /// The partial results of the worker's leaves.
    tree: Tree<A>,
}

impl<'f, A, Z> Accumulator<'f, A, Z> {
    /// An accumulator that hands its partial results over to `made`. `acc` is the partial result of
    /// the items that `folder` has already folded.
    pub(crate) fn new(
        folder: &'f mut dyn Folder<A, Z>,
        acc: Option<A>,
        made: &'f Partials<'f, A, Z>,
    ) -> Self {
        Self { folder, made, acc, ended: None, tree: Tree::new() }
    }

    /// Ends the work of the calling thread. Returns the partial result of its last run, if it has
    /// folded anything.
    pub(crate) fn finish(&mut self) -> Option<(Node, A)> {
        self.leave(); // if this panics, the partial results are dropped, too
        self.end(0); // of the items that it has folded before it has invited anybody
        self.ended.take()
    }

    /// Hands over the partial result of the last run.
    pub(crate) fn hand_over(&mut self) {
        if let Some((run, acc)) = self.ended.take() {
            self.made.add(run, acc);
        }
    }

    /// Folds the items of `claims`.
    fn fold(&mut self, claims: &mut Claims<'_>) -> Result<(), StopAt> {
        let Self { folder, made, acc, .. } = self;
        *acc = folder.fold(acc.take(), claims).map_err(|stop| made.stop(stop))?;
        Ok(())
    }

    /// Folds the items of each of the `leaves`, which are blocks, and stores their partial results.
    /// The tree has other leaves before the first block, `before` of them.
    #[inline(never)]
    fn fold_leaves(&mut self, leaves: Range<usize>, blocks: Blocks, before: usize) -> Result<(), StopAt> {
        let Self { folder, made, tree, .. } = self;
        for leaf in leaves {
            let items = blocks.items(leaf..leaf + 1);
            let acc = folder.fold(None, &mut Claims::of(items)).map_err(|stop| made.stop(stop))?;
            if let Some(acc) = acc {
                tree.add(Node::at(before + leaf), acc, &|a, b| made.folders.reduce(a, b));
            }
        }
        Ok(())
    }
}

impl<A, Z> Accumulate for Accumulator<'_, A, Z> {
    fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), StopAt> {
        let Units::Blocks { blocks, first_leaf } = *self.made.units else { return self.fold(claims) };
        while let Some(claimed) = claims.next() {
            match first_leaf {
                Some(before) => self.fold_leaves(claimed, blocks, before)?,
                None => self.fold(&mut Claims::of(blocks.items(claimed)))?,
            }
        }
        Ok(())
    }

    fn end(&mut self, first: usize) {
        if let Some(acc) = self.acc.take()
            && let Some((before, acc)) = self.ended.replace((Node::at(first), acc))
        {
            self.made.add(before, acc);
        }
    }

    fn leave(&mut self) {
        for (node, acc) in mem::replace(&mut self.tree, Tree::new()).into_nodes() {
            self.made.add(node, acc);
        }
        self.folder.drop_state();
    }

    fn abandon(&mut self, stop: StopAt, panic: Panic) {
        self.made.first_stop.note(stop, Err(panic));
        discard(self.acc.take());
        attempt(|| self.folder.drop_state());
    }
}

/// The partial results that the workers of a loop have handed over, and the loop's first stop.
#[repr(C, align(64))] // so that a lock and a small result lie in one cache line, which crosses once
pub(crate) struct Partials<'b, A, Z> {
    nodes: Mutex<Nodes<A>>,
    folders: &'b dyn Folders<A, Z>,
    units: &'b Units,
    first_stop: FirstStop<Z>,
}

/// Partial results. The first one takes no memory of the heap: a loop of two workers mostly hands
/// over one, since the caller keeps its own.
#[repr(C)] // so that the first one lies beside the lock
struct Nodes<A> {
    first: Option<(Node, A)>,
    others: Vec<(Node, A)>,
}

impl<A: Send, Z: Send> Lend for Partials<'_, A, Z> {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Accumulate)) {
        self.folders.lend(me, &mut |folder| self.lend_with(folder, work));
    }

    fn stopped_at(&self) -> Option<usize> {
        self.first_stop.at()
    }
}

impl<'b, A, Z> Partials<'b, A, Z> {
    /// Nothing has been handed over yet.
    #[inline(always)]
    pub(crate) fn new(folders: &'b dyn Folders<A, Z>, units: &'b Units) -> Self {
        Self {
            nodes: Mutex::new(Nodes { first: None, others: Vec::new() }),
            folders,
            units,
            first_stop: FirstStop::none(),
        }
    }

    /// Lends an accumulator that folds with `folder`. No closure behind `dyn FnMut`: its code is
    /// generated twice.
    #[inline(never)]
    fn lend_with(&self, folder: &mut dyn Folder<A, Z>, work: &mut dyn FnMut(&mut dyn Accumulate)) {
        let mut accumulator = Accumulator::new(folder, None, self);
        work(&mut accumulator);
        accumulator.hand_over();
    }

    /// Takes the partial result of a run or of a node.
    #[inline(never)]
    fn add(&self, node: Node, acc: A) {
        let mut nodes = lock(&self.nodes);
        if nodes.first.is_none() {
            nodes.first = Some((node, acc));
        } else {
            nodes.others.push((node, acc));
        }
    }

    /// Keeps the value of a stop at an item. Returns the index of the stop.
    #[cold]
    #[inline(never)]
    fn stop(&self, Stop { at, needed_end, found }: Stop<Z>) -> StopAt {
        let index = |item| self.units.index(item);
        let stop = StopAt { at: index(at), needed_end: index(needed_end) };
        self.first_stop.note(stop, Ok(found));
        stop
    }
}

/// The outcome of a loop that has ended: its result, reduced in order. `last` is what the calling
/// thread has kept: see [`Accumulator::finish`].
#[inline(never)]
pub(crate) fn result_of<A, Z>(
    made: &mut Partials<'_, A, Z>,
    is_cancelled: bool,
    mut last: Option<(Node, A)>,
) -> Outcome<Option<A>, Z> {
    let folders = made.folders;
    if !made.first_stop.is_noted() && !is_cancelled {
        let nodes = made.nodes.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The commonest cases take no memory for a tree: one partial result, or two.
        match (last, nodes.first.take()) {
            (last, None) => return Outcome::Through(last.map(|(_, result)| result)),
            (Some((own, a)), Some((other, b))) if nodes.others.is_empty() => {
                let (before, behind) = if own.first < other.first { (a, b) } else { (b, a) };
                return Outcome::Through(Some(folders.reduce(before, behind)));
            }
            more => (last, nodes.first) = more,
        }
    }
    let tree = tree_of(made, is_cancelled, last);
    tree.map(|tree| tree.into_result(&|before, behind| folders.reduce(before, behind)))
}

/// As [`result_of`], with the tree of the partial results instead of the result.
#[inline(never)]
pub(crate) fn tree_of<A, Z>(
    made: &mut Partials<'_, A, Z>,
    is_cancelled: bool,
    last: Option<(Node, A)>,
) -> Outcome<Tree<A>, Z> {
    let Partials { nodes, folders, units, first_stop } = made;
    let Nodes { first, others } = nodes.get_mut().unwrap_or_else(PoisonError::into_inner);
    let mut nodes = mem::take(others);
    nodes.extend(first.take().into_iter().chain(last));
    if first_stop.is_noted() || is_cancelled {
        nodes.into_iter().for_each(discard);
        return mem::replace(first_stop, FirstStop::none()).into_outcome(is_cancelled);
    }
    sort(&mut nodes, &|(a, _), (b, _)| a.first < b.first);
    if !units.are_leaves() {
        // Each run is a leaf.
        nodes.iter_mut().enumerate().for_each(|(at, (node, _))| *node = Node::at(at));
    }
    Outcome::Through(Tree::of(nodes, &|before, behind| folders.reduce(before, behind)))
}
