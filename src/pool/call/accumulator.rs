//! The state and the partial results of a worker.
//!
//! The code of the executor that is compiled once for all loops calls an [`Accumulate`]. An
//! [`Accumulator`] is compiled once for each pair of types [`Body::Acc`] and [`Body::Found`]. It
//! calls a [`Folder`], which alone knows the loop's closures, and is compiled once for each loop.
//! Both calls go through a vtable, once for each call of [`kernel`]: in most loops once in some
//! microseconds, in `reproducible` loops once for each block.

use std::{
    mem,
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
};

use super::{
    body::{Body, Stop, kernel},
    ending::{Earliest, Outcome, Panic, attempt, discard},
    order::{Node, Order},
};
use crate::{
    pool::{protocol::range::Claims, record::units::Blocks},
    sorted::sort,
    sync::{Mutex, lock},
};

/// A worker's part of a loop, for any types of items and results.
pub(crate) trait Accumulate {
    /// Makes `claims` and folds the claimed items. The claimed items follow the items that the run
    /// has already folded.
    fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), Stop>;

    /// Ends a run: stores its partial result.
    fn end(&mut self, run: Node);

    /// Stores the partial result of a leaf. Then, while the last two stored partial results are the
    /// halves of a node, reduces these two.
    fn end_leaf(&mut self, leaf: Node);

    /// Hands over the partial results, and drops the state. Called when the worker has no work
    /// left.
    fn leave(&mut self);

    /// After a panic: drops the state and the partial result of the run. Does not panic.
    fn abandon(&mut self);
}

/// Makes an accumulator for a worker, on the worker's thread, and lends it to a closure. (With a
/// `dyn Fn` instead of this trait, the compiler would generate the code twice, because such a
/// closure can also be called by value.)
pub(crate) trait Lend: Sync {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Accumulate));
}

/// The loop's closures and a worker's state. `A` and `Z` are [`Body::Acc`] and [`Body::Found`].
pub(crate) trait Folder<A, Z> {
    /// Makes `claims` and folds the claimed items: [`Body::fold`].
    fn fold(&mut self, acc: Option<A>, claims: &mut Claims<'_>) -> Result<Option<A>, Stop<Z>>;

    /// Reduces the partial results of two neighbours.
    fn reduce(&self, before: A, behind: A) -> A;

    /// Drops the worker's state.
    fn leave(&mut self);
}

/// Makes a folder for a worker, on the worker's thread, and lends it to a closure.
pub(crate) trait LendFolder<A, Z>: Sync {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Folder<A, Z>));
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

    fn reduce(&self, before: L::Acc, behind: L::Acc) -> L::Acc {
        self.body.reduce(before, behind)
    }

    fn leave(&mut self) {
        drop(self.state.take());
    }
}

impl<L: Body> LendFolder<L::Acc, L::Found> for L {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Folder<L::Acc, L::Found>)) {
        work(&mut WorkerFolder::new(self, me, None));
    }
}

/// Lends accumulators to the workers of a loop.
pub(crate) struct Lender<'a, A, Z> {
    pub(crate) folders: &'a dyn LendFolder<A, Z>,
    pub(crate) made: &'a Partials<A, Z>,
}

impl<A: Send, Z: Send> Lend for Lender<'_, A, Z> {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Accumulate)) {
        self.folders.lend(me, &mut |folder| self.made.lend(folder, work));
    }
}

/// A partial result and its items. `None` if it has been reduced with its left neighbour.
type NodeResult<A> = (Node, Option<A>);

/// The partial results of one worker.
pub(crate) struct Accumulator<'f, A, Z> {
    folder: &'f mut dyn Folder<A, Z>,
    made: &'f Partials<A, Z>,
    acc: Option<A>,
    /// The nodes of the worker's leaves.
    leaves: Vec<NodeResult<A>>,
}

impl<'f, A, Z> Accumulator<'f, A, Z> {
    /// An accumulator that hands its partial results over to `made`. `acc` is the partial result of
    /// the items that `folder` has already folded.
    pub(crate) fn new(folder: &'f mut dyn Folder<A, Z>, acc: Option<A>, made: &'f Partials<A, Z>) -> Self {
        Self { folder, made, acc, leaves: Vec::new() }
    }

    /// Ends the work of the calling thread. Returns the partial result of its last run, if that has
    /// not been handed over.
    pub(crate) fn into_last(mut self) -> Option<A> {
        self.leave(); // if this panics, the partial results are dropped, too
        self.acc
    }
}

impl<A, Z> Accumulate for Accumulator<'_, A, Z> {
    fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), Stop> {
        match self.folder.fold(self.acc.take(), claims) {
            Ok(acc) => {
                self.acc = acc;
                Ok(())
            }
            Err(stop) => Err(self.made.store_found(stop)),
        }
    }

    fn end(&mut self, run: Node) {
        self.made.add_run(run, self.acc.take());
    }

    fn end_leaf(&mut self, leaf: Node) {
        add_leaf(&mut self.leaves, leaf, self.acc.take(), self.folder);
    }

    fn leave(&mut self) {
        self.made.add_leaves(mem::take(&mut self.leaves));
        self.folder.leave();
    }

    fn abandon(&mut self) {
        discard(self.acc.take());
        attempt(|| self.folder.leave());
    }
}

/// A worker of a loop whose indices stand for blocks of items. The worker passes the items of its
/// blocks to the kernel.
pub(crate) struct InBlocks<'a> {
    pub(crate) of: &'a mut dyn Accumulate,
    pub(crate) blocks: Blocks,
    /// The number of the first block, if the blocks are the leaves of a tree; otherwise `None`. The
    /// first block has a number above 0 if other items of the tree come before the items of this
    /// loop. Each leaf has its own partial result.
    pub(crate) leaves: Option<usize>,
}

impl InBlocks<'_> {
    fn fold(&mut self, blocks: Range<usize>) -> Result<(), Stop> {
        let Self { blocks: all, .. } = *self;
        let block = |Stop { at, needed_end, found }| Stop {
            at: at / all.size,
            needed_end: needed_end / all.size,
            found,
        };
        self.of.take(&mut Claims::of(all.items(blocks))).map_err(block)
    }
}

impl Accumulate for InBlocks<'_> {
    fn take(&mut self, claims: &mut Claims<'_>) -> Result<(), Stop> {
        while let Some(blocks) = claims.next() {
            let Some(first) = self.leaves else {
                self.fold(blocks)?;
                continue;
            };
            for block in blocks {
                self.fold(block..block + 1)?;
                self.of.end_leaf(Node::run(first + block));
            }
        }
        Ok(())
    }

    fn end(&mut self, run: Node) {
        if self.leaves.is_none() {
            self.of.end(run); // each leaf has ended already
        }
    }

    fn end_leaf(&mut self, leaf: Node) {
        self.of.end_leaf(leaf);
    }

    fn leave(&mut self) {
        self.of.leave();
    }

    fn abandon(&mut self) {
        self.of.abandon();
    }
}

/// Lends accumulators to the workers of a loop over blocks.
pub(crate) struct BlocksOf<'a> {
    pub(crate) others: &'a dyn Lend,
    pub(crate) blocks: Blocks,
    pub(crate) leaves: Option<usize>,
}

impl Lend for BlocksOf<'_> {
    fn lend(&self, me: usize, work: &mut dyn FnMut(&mut dyn Accumulate)) {
        let Self { others, blocks, leaves } = *self;
        others.lend(me, &mut |of| work(&mut InBlocks { of, blocks, leaves }));
    }
}

/// Adds a leaf to `parts`. While the last two parts are the halves of a node, reduces these two.
#[inline(never)]
fn add_leaf<A, Z>(
    parts: &mut Vec<NodeResult<A>>,
    mut node: Node,
    mut acc: Option<A>,
    folder: &dyn Folder<A, Z>,
) {
    while let Some((before, _)) = parts.last()
        && let Some(whole) = before.with(node)
        && let Some((_, before)) = parts.pop()
    {
        node = whole;
        acc = before.zip(acc).map(|(before, behind)| folder.reduce(before, behind));
    }
    parts.push((node, acc));
}

/// The partial results that the workers of a loop have handed over.
pub(crate) struct Partials<A, Z>(Mutex<HandedOver<A, Z>>);

struct HandedOver<A, Z> {
    parts: Vec<NodeResult<A>>,
    /// Of all found values, the one at the first place.
    found: Earliest<Z>,
}

impl<A, Z> Partials<A, Z> {
    /// Nothing has been handed over yet.
    #[inline(always)]
    pub(crate) fn new() -> Self {
        Self(Mutex::new(HandedOver { parts: Vec::new(), found: Earliest::NONE }))
    }

    /// Lends an accumulator that hands its partial results over. (A function of its own, since the
    /// compiler generates the code of a closure behind `dyn FnMut` twice.)
    #[inline(never)]
    fn lend(&self, folder: &mut dyn Folder<A, Z>, work: &mut dyn FnMut(&mut dyn Accumulate)) {
        let mut own = Accumulator::new(folder, None, self);
        work(&mut own);
        if mem::needs_drop::<A>() {
            discard(own.leaves); // values that remain after a panic
        }
    }

    /// Takes the partial result of a run.
    #[inline(never)]
    fn add_run(&self, run: Node, acc: Option<A>) {
        if acc.is_some() {
            lock(&self.0).parts.push((run, acc));
        }
    }

    /// Takes the partial results of a worker's leaves.
    #[inline(never)]
    fn add_leaves(&self, leaves: Vec<NodeResult<A>>) {
        for (leaf, acc) in leaves {
            self.add_run(leaf, acc);
        }
    }

    /// Takes the found value of a stop.
    #[cold]
    #[inline(never)]
    fn store_found(&self, Stop { at, needed_end, found }: Stop<Z>) -> Stop {
        let surplus = lock(&self.0).found.note(needed_end, found);
        discard(surplus);
        Stop { at, needed_end, found: () }
    }

    /// The outcome of a loop that has ended: the partial results, reduced in `order`. `last` is the
    /// partial result that the calling thread has not handed over.
    #[inline(never)]
    pub(crate) fn outcome(
        self,
        ended: Result<Outcome, Panic>,
        last: Option<A>,
        order: Order,
        folder: &dyn Folder<A, Z>,
    ) -> Outcome<Option<A>, Z> {
        if let Ok(Outcome::Through(())) = ended {
            // The calling thread has a partial result only if it has folded everything.
            return Outcome::Through(if last.is_some() { last } else { self.reduced(order, folder) });
        }
        Outcome::of_early_end(ended, self.found(last))
    }

    /// The outcome of a loop over leaves: the nodes, from left to right. Nodes of different workers
    /// are not reduced.
    #[inline(never)]
    pub(crate) fn nodes(self, ended: Result<Outcome, Panic>, last: Option<A>) -> Outcome<Vec<(Node, A)>, Z> {
        let Ok(Outcome::Through(())) = ended else {
            return Outcome::of_early_end(ended, self.found(last));
        };
        let HandedOver { parts, .. } = self.into_inner();
        let mut nodes: Vec<_> = parts.into_iter().filter_map(|(node, acc)| Some((node, acc?))).collect();
        sort(&mut nodes, &|(a, _), (b, _)| a.first < b.first);
        Outcome::Through(nodes)
    }

    fn into_inner(self) -> HandedOver<A, Z> {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// The result of a loop that has folded all items: the partial results, reduced in `order`.
    pub(crate) fn reduced(self, order: Order, folder: &dyn Folder<A, Z>) -> Option<A> {
        let HandedOver { mut parts, .. } = self.into_inner();
        if parts.is_empty() {
            return None;
        }
        let pairs = order.pairs(parts.len(), &|at| parts[at].0);
        let mut last = 0;
        for &(left, right) in &*pairs {
            let (Some(a), Some(b)) = (parts[left].1.take(), parts[right].1.take()) else { continue };
            // If the reduction panics, the remaining partial results are dropped outside the
            // unwinding. A second panic, in a drop during the unwinding, would end the process. The
            // plain loop has no other partial results, so such a panic would not end the process.
            match catch_unwind(AssertUnwindSafe(|| folder.reduce(a, b))) {
                Ok(reduced) => parts[left].1 = Some(reduced),
                Err(payload) => {
                    parts.into_iter().for_each(discard);
                    resume_unwind(payload);
                }
            }
            last = left;
        }
        parts[last].1.take()
    }

    /// The value that was found first, in a loop that has stopped. Drops all other values.
    fn found(self, last: Option<A>) -> Option<Z> {
        let HandedOver { parts, found } = self.into_inner();
        parts.into_iter().filter_map(|(_, acc)| acc).chain(last).for_each(discard);
        found.into_noted()
    }
}
