//! One reproducible result from several slices that are parts of one whole: each is reduced as far
//! as its own blocks go, and the nodes that are left over are put together by whoever has them all.

use std::{convert::Infallible, error::Error, fmt, ops::Range};

use super::{
    chain::{Chain, Each, WorkerOf},
    ends::{folding, reducing},
    kernel::Claimed,
    on::On,
    options::{Ending, OnPool},
    reproducible::{self, Tree},
    state::{Given, State},
};
use crate::pool::{
    call::{body::Stop, order::Node},
    policy::site::LoopKind,
    record::units::Blocks,
};

/// How many items make a block of a whole of `len` items, if no [`grain`](crate::On::grain) is
/// asked for: `len / 256`, but at most 64, or `len / 2048` if that is more; at least 1. There are
/// always fewer than 4096 blocks.
///
/// ```
/// use rangesteal::reproducible::block;
///
/// assert_eq!([0, 100, 1000, 100_000, 1_000_000].map(block), [1, 1, 3, 64, 488]);
/// ```
#[must_use]
pub fn block(len: usize) -> usize {
    reproducible::block(len)
}

/// The part of a whole of `len` items that belongs to `rank`, one of `ranks` that are numbered from
/// 0: whole [blocks](block), and about as many for each. All shares together are `0..len`, in the
/// order of the ranks; some are empty if there are fewer blocks than ranks.
///
/// ```
/// use rangesteal::reproducible::share;
///
/// let shares = [0, 1, 2].map(|rank| share(1000, rank, 3));
/// assert_eq!(shares, [0..333, 333..666, 666..1000]);
/// ```
///
/// # Panics
/// If there is no such rank.
#[must_use]
pub fn share(len: usize, rank: usize, ranks: usize) -> Range<usize> {
    assert!(rank < ranks, "share: ranks are numbered from 0, and there are {ranks}; there is no rank {rank}");
    let blocks = Blocks { size: block(len), len };
    // In 128 bits no product overflows; the quotient is one of a few thousand blocks.
    let bound = |rank: usize| (blocks.count() as u128 * rank as u128 / ranks as u128) as usize;
    blocks.items(bound(rank)..bound(rank + 1))
}

/// Where a node of the tree stands: items of the whole, items per block, the number of its first
/// block, and its level. It spans 2^level blocks. Four numbers of 64 bits, to be sent as they are.
pub type Place = [u64; 4];

/// What a loop has made of a part of a whole, reduced as far as its blocks go: a few nodes of the
/// tree of [`On::reproducible`](crate::On::reproducible). Made by [`OnPart`], or of the nodes of
/// other parts.
///
/// Put together in order, the parts of a whole give the same bits as one reproducible loop over all
/// of it, wherever it was cut. A part of `b` blocks has at most 2 log2(`b` + 1) nodes, which is
/// less than 24 without a [`grain`](crate::On::grain).
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
/// // On each of them, what all have sent, in their order:
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

/// Why nodes do not make a part, or a part is not the whole. Later versions may add reasons, and
/// fields to each: match with `..` and `_`.
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
    /// A node is of a whole of another length.
    #[non_exhaustive]
    OtherLength {
        /// The items that were expected.
        expected: u64,
        /// The items of which the node is a part.
        found: u64,
    },
    /// A node has blocks of another size than the nodes before it, or of no size.
    #[non_exhaustive]
    OtherGrain {
        /// The items per block of the nodes before it; 1 or more if there were none.
        expected: u64,
        /// The items per block of this node.
        found: u64,
    },
    /// No node begins there at this level, or it ends beyond the whole.
    #[non_exhaustive]
    NoSuchNode {
        /// The number of its first block.
        first: u64,
        /// Its level.
        level: u64,
    },
    /// A node does not begin where the one before it ends: one is missing, comes twice, or in
    /// another order.
    #[non_exhaustive]
    NotTheNext {
        /// The number of the block with which it should have begun.
        expected: u64,
        /// The number of the block with which it begins.
        found: u64,
    },
    /// Items of the whole are missing, at its beginning or end.
    #[non_exhaustive]
    Incomplete {
        /// The items that are there.
        items: Range<usize>,
        /// The items of the whole.
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
    /// The nodes, from left to right, to be sent to whoever puts the parts together. A part without
    /// items has none.
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
        self.tree.into_nodes().map(move |(first, level, result)| (place(first, level), result))
    }

    /// Puts nodes together: those of neighbouring parts of `whole_len` items, in order. They may
    /// come from anywhere: what they say of their places is checked. `reduce` must be that of the
    /// loops.
    ///
    /// # Errors
    /// If they are not neighbours, or not of one whole. Their results are dropped then.
    ///
    /// # Panics
    /// If `reduce` does.
    pub fn from_nodes(
        whole_len: usize,
        nodes: impl IntoIterator<Item = (Place, A)>,
        reduce: impl Fn(A, A) -> A,
    ) -> Result<Self, PartError> {
        let mut part = Self { blocks: Blocks { size: block(whole_len), len: whole_len }, tree: Tree::new() };
        for ([len, size, first, level], result) in nodes {
            let is_first = part.tree.blocks().is_empty();
            if len != whole_len as u64 {
                return Err(PartError::OtherLength { expected: whole_len as u64, found: len });
            }
            let expected = if is_first { size.max(1) } else { part.blocks.size as u64 };
            if size != expected {
                return Err(PartError::OtherGrain { expected, found: size });
            }
            // No more than the items or, of a grain beyond them, one.
            part.blocks.size = usize::try_from(size).unwrap_or(usize::MAX);
            let (first, level) = part.node(first, level).ok_or(PartError::NoSuchNode { first, level })?;
            let end = part.tree.blocks().end;
            if !is_first && first != end {
                return Err(PartError::NotTheNext { expected: end as u64, found: first as u64 });
            }
            part.tree.add(first, level, result, &reduce);
        }
        Ok(part)
    }

    /// The first block and the level of a node, if there is such a node.
    fn node(&self, first: u64, level: u64) -> Option<(usize, u32)> {
        let (first, level) = (usize::try_from(first).ok()?, u32::try_from(level).ok()?);
        let span = 1_usize.checked_shl(level)?;
        let ends_inside = first.checked_add(span).is_some_and(|end| end <= self.blocks.count());
        (ends_inside && first.is_multiple_of(span)).then_some((first, level))
    }

    /// The result of the whole; none if it has no items. `reduce` must be that of the loops.
    ///
    /// # Errors
    /// If items of the whole are missing.
    ///
    /// # Panics
    /// If `reduce` does.
    pub fn into_result(self, reduce: impl Fn(A, A) -> A) -> Result<Option<A>, PartError> {
        let (blocks, there) = (self.blocks, self.tree.blocks());
        if there == (0..blocks.count()) {
            return Ok(self.tree.into_result(&reduce));
        }
        Err(PartError::Incomplete { items: blocks.items(there), whole_len: blocks.len })
    }
}

/// A loop over a part of a whole. Made by [`On::reproducible_part`]; the loops are its methods, and
/// return a [`Part`].
#[must_use = "options alone run nothing: a loop is their last method"]
#[derive(Debug)]
pub struct OnPart<C, P> {
    on: On<C, P>,
    blocks: Blocks,
    /// The number of the first block of the part.
    first: usize,
}

/// Of a part of a whole.
impl<'p, C: Chain + Sync, E: Ending> On<C, OnPool<'p, E>> {
    /// The items are a part of a whole of `whole_len` items, and begin with the one of index
    /// `first`: other parts are elsewhere, in another process, on another machine, not yet read.
    /// All parts together give the result of one loop that is
    /// [`reproducible`](Self::reproducible): see [`Part`].
    ///
    /// Parts are cut where blocks end. Their size follows from the length of the whole, not of the
    /// part: [`block`] tells it, unless a [`grain`](Self::grain) is asked for, and [`share`] cuts
    /// the whole into equal parts.
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
    /// If the part does not begin and end at ends of blocks, or ends beyond the whole; or if each
    /// worker has a state: [`with_block`](Self::with_block) makes one for each block of the whole.
    #[inline(always)]
    #[track_caller]
    pub fn reproducible_part(self, first: usize, whole_len: usize) -> OnPart<C, OnPool<'p, E>> {
        let on = self.reproducible();
        let blocks = Blocks { size: on.block_of(whole_len), len: whole_len };
        check(first, on.source_count(), blocks);
        OnPart { on, blocks, first: first / blocks.size }
    }
}

/// Panics unless so many items from `first` on are whole blocks of the whole.
fn check(first: usize, items: usize, blocks: Blocks) {
    let Blocks { size, len } = blocks;
    let end = first.checked_add(items).filter(|&end| end <= len);
    let Some(end) = end else {
        panic!("reproducible_part: {items} items from {first} on are no part of {len} items")
    };
    let is_cut = |at: usize| at == len || at.is_multiple_of(size);
    assert!(
        is_cut(first) && is_cut(end),
        "reproducible_part: {first}..{end} of {len} items is not cut between blocks of {size}: see `share`"
    );
}

impl<C: Chain + Sync, E: Ending> OnPart<C, OnPool<'_, E>> {
    /// Folds the items of the part; none if the loop was cancelled.
    #[inline(always)]
    fn folded<A: Send>(
        self,
        kind: LoopKind,
        fold: impl Fn(Claimed<'_, '_, '_, C>, Option<A>) -> Result<Option<A>, Stop<Infallible>> + Sync,
        reduce: &(impl Fn(A, A) -> A + Sync),
    ) -> Option<Part<A>> {
        let Self { on, blocks, first } = self;
        let mine = Blocks { len: on.source_count(), ..blocks };
        let nodes = on.fold_to_nodes(kind, mine, first, fold, |a, b| (*reduce)(a, b)).through()?;
        let mut tree = Tree::new();
        for (Node { first, level }, result) in nodes {
            tree.add(first, level, result, reduce);
        }
        Some(Part { blocks, tree })
    }

    /// Reduces the items, as [`On::reduce`] does: of a chain that makes one of each of its source.
    /// (A block whose items are all left out has no result: fold.)
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let part = pool.on(&[1, 2, 3]).map(|x| x * x).reproducible_part(0, 3).reduce(|a, b| a + b);
    /// assert_eq!(part.into_result(|a, b| a + b)?, Some(14));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Panics
    /// If `reduce` or a closure of the chain does.
    #[inline(always)]
    pub fn reduce(self, reduce: impl Fn(C::Item, C::Item) -> C::Item + Sync) -> E::Of<Part<C::Item>>
    where
        C: Each<Item: Send>,
    {
        E::end(self.folded(LoopKind::LargePartials, reducing(|_, item| Ok(item), &reduce), &reduce))
    }

    /// Folds the items of each block into an accumulator and merges these, as [`On::fold`] does.
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
    /// If `init`, `merge` or a closure of the chain does.
    #[inline(always)]
    pub fn fold<A: Send>(
        self,
        init: impl Fn() -> A + Sync,
        step: impl for<'a> Fn(A, Given<'a, C::State, C::Item>) -> A + Sync,
        merge: impl Fn(A, A) -> A + Sync,
    ) -> E::Of<Part<A>> {
        let step = move |state: &mut WorkerOf<C>, acc, item| Ok(step(acc, C::State::give(state, item)));
        E::end(self.folded(LoopKind::Through, folding(init, step), &merge))
    }
}
