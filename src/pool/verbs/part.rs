//! One reproducible result from several slices that are parts of one whole. Each part is reduced to
//! a few nodes of the reduction tree. Afterwards one process reduces the nodes of all parts to the
//! result.

use std::{convert::Infallible, error::Error, fmt, ops::Range};

use super::{
    chain::{Chain, Each, WorkerOf},
    ends::{folding, reducing},
    kernel::Fold,
    on::On,
    options::{Ending, OnPool},
    reproducible::block,
    state::{Given, State},
};
use crate::pool::{
    engine::order::{Node, Tree},
    policy::site::LoopKind,
    tell::units::Blocks,
};

/// The indices of `rank`'s part of a whole of `len` items, where `ranks` ranks are numbered from 0.
/// Each share consists of whole [blocks](block), and all shares have about the same number of
/// blocks. All shares together are `0..len`, in the order of the ranks. If there are fewer blocks
/// than ranks, some shares are empty.
///
/// ```
/// use rangesteal::reproducible::share;
///
/// let shares = [0, 1, 2].map(|rank| share(1000, rank, 3));
/// assert_eq!(shares, [0..333, 333..666, 666..1000]);
/// ```
///
/// # Panics
/// If `rank >= ranks`.
#[must_use]
#[track_caller]
pub fn share(len: usize, rank: usize, ranks: usize) -> Range<usize> {
    assert!(rank < ranks, "share: ranks are numbered from 0, and there are {ranks}; there is no rank {rank}");
    let blocks = Blocks { size: block(len), len };
    // In 128 bits no product overflows. The quotient is the number of a block, so it fits into a
    // `usize`.
    let bound = |rank: usize| (blocks.count() as u128 * rank as u128 / ranks as u128) as usize;
    blocks.items(bound(rank)..bound(rank + 1))
}

/// The position of a node in the tree: the number of items of the whole, the number of items per
/// block, the number of the node's first block, and the node's level. The node spans 2^level
/// blocks. The four numbers have 64 bits on every machine, so they can be sent as they are.
pub type Place = [u64; 4];

/// The result of a loop over a part of a whole: a few nodes of the reduction tree of
/// [`On::reproducible`](crate::On::reproducible). Made by the loops of [`OnPart`], or by
/// [`from_nodes`](Self::from_nodes) from the nodes of other parts.
///
/// The parts of a whole, combined in order, give the same bits as one reproducible loop over the
/// whole. This holds for every division of the whole into parts. A part of `b` blocks has at most 2
/// log2(`b` + 1) nodes: fewer than 24 unless a [`grain`](crate::On::grain) is set.
///
/// ```
/// use rangesteal::{Pool, reproducible::{Part, share}};
///
/// let pool = Pool::new()?;
/// let x: Vec<f64> = (1..=10_000).map(f64::from).collect();
/// let (inverse, add) = (|x: &f64| 1.0 / x, |a, b| a + b);
///
/// // On three machines:
/// let sent = (0..3).flat_map(|rank| {
///     let mine = share(x.len(), rank, 3);
///     let inverses = pool.on(&x[mine.clone()]).map(inverse);
///     inverses.reproducible_part(mine.start, x.len()).reduce(add).into_nodes()
/// });
/// // On each of them, with the nodes of all machines, in order:
/// let whole = Part::from_nodes(x.len(), sent, add)?;
/// let sum = whole.into_result(add)?;
///
/// // On one machine:
/// assert_eq!(sum, pool.on(&x).reproducible().map(inverse).reduce(add));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "it is a part of a result"]
pub struct Part<A> {
    blocks: Blocks,
    tree: Tree<A>,
}

/// The reason why nodes cannot be combined to a part, or why a part is not the whole. Later
/// versions may add variants, and fields to each variant: match with `..` and `_`.
///
/// ```
/// use rangesteal::{Pool, reproducible::{Part, PartError}};
///
/// let pool = Pool::new()?;
/// let second = pool.on(0..500).reproducible_part(501, 1001).reduce(|a, b| a + b);
/// let error = second.into_result(|a, b| a + b).unwrap_err();
/// assert!(matches!(error, PartError::Incomplete { .. }));
/// assert!(error.to_string().contains("501..1001 of 1001 items"));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PartError {
    /// A node belongs to a whole of another length.
    #[non_exhaustive]
    OtherLength {
        /// The expected number of items of the whole.
        expected: u64,
        /// The number of items of the node's whole.
        found: u64,
    },
    /// A node has blocks of another size than the nodes before it, or of size 0.
    #[non_exhaustive]
    OtherGrain {
        /// The number of items per block of the nodes before this node, or 1 if this node is the
        /// first.
        expected: u64,
        /// The number of items per block of this node.
        found: u64,
    },
    /// The tree has no node of this level that begins with this block and ends within the whole.
    #[non_exhaustive]
    NoSuchNode {
        /// The number of the node's first block.
        first: u64,
        /// The node's level.
        level: u64,
    },
    /// A node does not begin where the preceding node ends. A node may be missing, duplicated or
    /// out of order.
    #[non_exhaustive]
    NotTheNext {
        /// The number of the first block behind the preceding node.
        expected: u64,
        /// The number of the node's first block.
        found: u64,
    },
    /// Items at the beginning or at the end of the whole are missing.
    #[non_exhaustive]
    Incomplete {
        /// The indices of the items that the part contains.
        items: Range<usize>,
        /// The number of items of the whole.
        whole_len: usize,
    },
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherLength { expected, found } => {
                write!(f, "a part of {found} items instead of {expected}: all ranks must name the same whole")
            }
            Self::OtherGrain { expected, found } => write!(
                f,
                "blocks of {found} items after blocks of {expected}: all ranks must ask for the same grain"
            ),
            Self::NoSuchNode { first, level } => {
                write!(f, "no node of level {level} begins with block {first}: the message is damaged")
            }
            Self::NotTheNext { expected, found } => write!(
                f,
                "a node begins with block {found} instead of {expected}: give the nodes of all ranks once, in the order of the ranks"
            ),
            Self::Incomplete { items, whole_len } => write!(
                f,
                "only {}..{} of {whole_len} items are there: the nodes of some ranks are missing",
                items.start, items.end
            ),
        }
    }
}

impl Error for PartError {}

impl<A> Part<A> {
    /// The nodes, from left to right. Send them to the process that combines the parts, and combine
    /// them with [`from_nodes`](Self::from_nodes). A part without items has no nodes.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// // Blocks of one item: the fourth, then the two behind it as one node, then the seventh.
    /// let part = pool.on(3..7).reproducible_part(3, 100).reduce(|a, b| a + b);
    /// let nodes: Vec<_> = part.into_nodes().collect();
    /// assert_eq!(nodes, [([100, 1, 3, 0], 3), ([100, 1, 4, 1], 9), ([100, 1, 6, 0], 6)]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn into_nodes(self) -> impl Iterator<Item = (Place, A)> {
        let Blocks { size, len } = self.blocks;
        let place = move |first: usize, level| [len as u64, size as u64, first as u64, u64::from(level)];
        self.tree.into_nodes().map(move |(Node { first, level }, result)| (place(first, level), result))
    }

    /// Combines the nodes of neighbouring parts, in order, into one part of a whole of `whole_len`
    /// items. `reduce` must be the `reduce` or `merge` of the loops that made the nodes. The nodes
    /// may come from an untrusted sender: their positions are checked.
    ///
    /// # Errors
    /// If the nodes are not neighbours, or do not belong to the same whole. On an error all results
    /// are dropped.
    ///
    /// # Panics
    /// If `reduce` panics.
    pub fn from_nodes(
        whole_len: usize,
        nodes: impl IntoIterator<Item = (Place, A)>,
        reduce: impl Fn(A, A) -> A,
    ) -> Result<Self, PartError> {
        let mut part = Self { blocks: Blocks { size: block(whole_len), len: whole_len }, tree: Tree::new() };
        for ([len, size, first, level], result) in nodes {
            let is_first = part.tree.leaves().is_empty();
            if len != whole_len as u64 {
                return Err(PartError::OtherLength { expected: whole_len as u64, found: len });
            }
            let expected = if is_first { size.max(1) } else { part.blocks.size as u64 };
            if size != expected {
                return Err(PartError::OtherGrain { expected, found: size });
            }
            // If a size does not fit into a `usize`, it exceeds the whole, and so does
            // `usize::MAX`. With either size the whole is a single block.
            part.blocks.size = usize::try_from(size).unwrap_or(usize::MAX);
            let node = part.node(first, level).ok_or(PartError::NoSuchNode { first, level })?;
            let end = part.tree.leaves().end;
            if !is_first && node.first != end {
                return Err(PartError::NotTheNext { expected: end as u64, found: first });
            }
            part.tree.add(node, result, &reduce);
        }
        Ok(part)
    }

    /// The node with this first block and this level; `None` if the tree has no such node.
    fn node(&self, first: u64, level: u64) -> Option<Node> {
        let (first, level) = (usize::try_from(first).ok()?, u32::try_from(level).ok()?);
        let span = 1_usize.checked_shl(level)?;
        let ends_inside = first.checked_add(span).is_some_and(|end| end <= self.blocks.count());
        (ends_inside && first.is_multiple_of(span)).then_some(Node { first, level })
    }

    /// The result of the whole. `None` if the whole has no items. `reduce` must be the `reduce` or
    /// `merge` of the loops that made the part.
    ///
    /// # Errors
    /// If items of the whole are missing.
    ///
    /// # Panics
    /// If `reduce` panics.
    pub fn into_result(self, reduce: impl Fn(A, A) -> A) -> Result<Option<A>, PartError> {
        let (blocks, there) = (self.blocks, self.tree.leaves());
        if there == (0..blocks.count()) {
            return Ok(self.tree.into_result(&reduce));
        }
        Err(PartError::Incomplete { items: blocks.items(there), whole_len: blocks.len })
    }
}

/// A loop over a part of a whole. Made by [`On::reproducible_part`]. Its methods run the loop, and
/// return a [`Part`].
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct OnPart<C, P> {
    on: On<C, P>,
    blocks: Blocks,
    /// The number of the first block of the part.
    first: usize,
}

/// Loops over a part of a whole.
impl<'p, C: Chain + Sync, E: Ending> On<C, OnPool<'p, E>> {
    /// Declares the items to be a part of a whole of `whole_len` items. The part begins at index
    /// `first` of the whole. The other parts may be in another process, on another machine, or not
    /// yet in memory. The results of all parts together give the same result as one
    /// [`reproducible`](Self::reproducible) loop over the whole: see [`Part`].
    ///
    /// A part must begin and end at block boundaries. The size of a block depends on the length of
    /// the whole and not on the length of the part. [`block`] returns the size, unless a
    /// [`grain`](Self::grain) is set. [`share`] cuts the whole into parts of about equal length.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let part = pool.on(&[0.5, 0.25]).grain(1).reproducible_part(7, 9);
    /// let sums = part.fold(|| 0.0, |sum, x| sum + x, |a, b| a + b);
    /// let nodes: Vec<_> = sums.into_nodes().collect();
    /// assert_eq!(nodes, [([9, 1, 7, 0], 0.5), ([9, 1, 8, 0], 0.25)]);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    ///
    /// # Panics
    /// If the part does not begin and end at block boundaries, or ends beyond the whole. The method
    /// also panics if each worker has a state. (Use [`with_block`](Self::with_block) instead, which
    /// makes a state for each block of the whole.)
    #[inline(always)]
    #[track_caller]
    pub fn reproducible_part(self, first: usize, whole_len: usize) -> OnPart<C, OnPool<'p, E>> {
        let on = self.reproducible();
        let blocks = Blocks { size: on.block_of(whole_len), len: whole_len };
        check(first, on.source_count(), blocks);
        OnPart { on, blocks, first: first / blocks.size }
    }
}

/// Panics unless the `items` items from index `first` on consist of complete blocks of the whole.
#[track_caller]
fn check(first: usize, items: usize, blocks: Blocks) {
    let Blocks { size, len } = blocks;
    let Some(end) = first.checked_add(items).filter(|&end| end <= len) else {
        panic!("reproducible_part: {items} items from {first} on are no part of {len} items")
    };
    let is_cut = |at: usize| at == len || at.is_multiple_of(size);
    assert!(
        is_cut(first) && is_cut(end),
        "reproducible_part: {first}..{end} of {len} items is not cut between blocks of {size}: see `share`"
    );
}

impl<C: Chain + Sync, E: Ending> OnPart<C, OnPool<'_, E>> {
    /// Folds the items of the part. Returns `None` if the loop was cancelled.
    #[inline(always)]
    fn folded<A: Send>(
        self,
        kind: LoopKind,
        fold: impl Fold<C, A, Infallible>,
        reduce: &(impl Fn(A, A) -> A + Sync),
    ) -> Option<Part<A>> {
        let Self { on, blocks, first } = self;
        let tree = on.fold_to_tree(kind, blocks.size, first, fold, reduce).through()?;
        Some(Part { blocks, tree })
    }

    /// Reduces the items, as [`On::reduce`] does. The chain must make exactly one item of each
    /// source item. (For a chain with a filter, use [`fold`](Self::fold), since the filter may
    /// leave out all items of a block, and then `reduce` has no item to begin with.)
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let part = pool.on(&[1, 2, 3]).map(|x| x * x).reproducible_part(0, 3).reduce(|a, b| a + b);
    /// assert_eq!(part.into_result(|a, b| a + b)?, Some(14));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `reduce` or a closure of the chain panics.
    #[inline(always)]
    pub fn reduce(self, reduce: impl Fn(C::Item, C::Item) -> C::Item + Sync) -> E::Of<Part<C::Item>>
    where
        C: Each<Item: Send>,
    {
        E::end(self.folded(LoopKind::LARGE_PARTIALS, reducing(|_, item| Ok(item), &reduce), &reduce))
    }

    /// Folds the items of each block into an accumulator, and merges the accumulators, as
    /// [`On::fold`] does.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let part = pool.on(0..9).reproducible_part(0, 9).fold(
    ///     || (0, 0),
    ///     |(sum, count), i| (sum + i, count + 1),
    ///     |a, b| (a.0 + b.0, a.1 + b.1),
    /// );
    /// let mean = part.into_result(|a, b| (a.0 + b.0, a.1 + b.1))?.map(|(sum, count)| sum / count);
    /// assert_eq!(mean, Some(4));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If a closure of the loop or of the chain panics.
    #[inline(always)]
    pub fn fold<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        step: impl for<'a> Fn(A, Given<'a, C::State, C::Item>) -> A + Sync,
        merge: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<Part<A>> {
        let step = move |state: &mut WorkerOf<C>, acc, item| Ok(step(acc, C::State::give(state, item)));
        E::end(self.folded(LoopKind::THROUGH, folding(init, step), &merge))
    }
}
