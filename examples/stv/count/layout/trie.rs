//! A tree of the common beginnings of ballots, as one array in depth-first order.

use std::{
    fmt,
    ops::{Add, Range},
};

/// A node: a run of ranks. Every ballot that reaches the first rank of the run has all ranks of the
/// run. The nodes below this node follow in the array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    /// The weight of all ballots through this node. The lowest bits are the number of ranks above.
    weight_and_depth: u64,
    /// The index of the first later node that is not below this node.
    next: u32,
    /// The index of the first rank of this node. The ranks end at the first rank of the next node.
    ranks: u32,
}

const DEPTH_BITS: u32 = 16;
/// The most ballots of a tree. A larger number of ballots, in billionths, would not fit in a word.
pub(super) const MOST_BALLOTS: u64 = u64::MAX / super::ONE as u64;
const _: () = assert!(MOST_BALLOTS < 1 << (u64::BITS - DEPTH_BITS), "they fit beside a depth");

impl Node {
    pub(super) fn weight(&self) -> u64 {
        self.weight_and_depth >> DEPTH_BITS
    }

    pub(super) fn depth(&self) -> usize {
        (self.weight_and_depth & ((1 << DEPTH_BITS) - 1)) as usize
    }

    pub(super) fn next(&self) -> usize {
        self.next as usize
    }
}

#[derive(Debug)]
pub(super) struct Trie<S> {
    /// All nodes, and an additional node at the end. The first rank of the additional node is the
    /// end of the last node's ranks.
    nodes: Vec<Node>,
    ranks: Vec<S>,
}

/// Neighbouring nodes of a tree.
#[derive(Debug, Clone)]
pub(super) struct Cut {
    pub(super) nodes: Range<usize>,
    /// The nodes above the first node, from the root down. They determine the power with which a
    /// ballot arrives at the first node.
    pub(super) above: Vec<usize>,
}

/// The size of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    pub(crate) nodes: usize,
    pub(crate) ranks: usize,
    pub(crate) bytes: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { nodes, ranks, bytes } = self;
        write!(f, "{ranks} ranks in {nodes} nodes, {bytes} bytes")
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            ranks: self.ranks + other.ranks,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Takes the ballots in an order that puts equal beginnings next to each other. Writes the tree
/// from its end.
pub(super) struct Builder<S> {
    nodes: Vec<Node>,
    ranks: Vec<S>,
    /// The ranks of the last ballot.
    path: Vec<S>,
    /// The ends of nodes on this path.
    open: Vec<Open>,
}

/// The end of a node that may get more ballots.
#[derive(Clone, Copy)]
struct Open {
    depth: usize,
    weight: u64,
    /// The number of nodes that were finished before the nodes below this node.
    before: usize,
}

/// A rank in a tree.
pub(super) trait Rank: Copy + PartialEq {}

impl<T: Copy + PartialEq> Rank for T {}

impl<S: Rank> Builder<S> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), ranks: Vec::new(), path: Vec::new(), open: Vec::new() }
    }

    /// Adds a ballot. All ballots together must not be more than [`MOST_BALLOTS`].
    pub(super) fn add(&mut self, ranks: impl Iterator<Item = S>, weight: u64) {
        let mut ranks = ranks.peekable();
        let mut shared = 0;
        while let Some(rank) = self.path.get(shared)
            && ranks.next_if_eq(rank).is_some()
        {
            shared += 1;
        }
        self.close(shared);
        self.path.truncate(shared);
        self.path.extend(ranks);
        let depth = self.path.len();
        match self.open.last_mut() {
            Some(last) if last.depth == depth => last.weight += weight,
            _ => self.open.push(Open { depth, weight, before: self.nodes.len() }),
        }
    }

    /// Writes the nodes that end below depth `shared`. No later ballot shares more than `shared`
    /// ranks with the last ballot.
    fn close(&mut self, shared: usize) {
        while let Some(node) = self.open.pop_if(|node| node.depth > shared) {
            let above = self.open.last_mut().filter(|above| above.depth >= shared);
            let depth = above.as_ref().map_or(shared, |above| above.depth);
            match above {
                Some(above) => above.weight += node.weight,
                None if shared > 0 => self.open.push(Open { depth: shared, ..node }),
                None => {}
            }
            self.ranks.extend(self.path[depth..node.depth].iter().rev());
            self.nodes.push(Node {
                weight_and_depth: node.weight << DEPTH_BITS | depth as u64,
                next: index(self.nodes.len() - node.before),
                ranks: index(node.depth - depth),
            });
        }
    }

    /// Returns the tree, or `None` if it has more nodes or ranks than `u32` can number.
    pub(super) fn finish(mut self) -> Option<Trie<S>> {
        self.close(0);
        let Self { mut nodes, mut ranks, .. } = self;
        let (count, end) = (u32::try_from(nodes.len()).ok()?, u32::try_from(ranks.len()).ok()?);
        nodes.reverse();
        ranks.reverse();
        let mut start = 0;
        for (at, node) in (1..).zip(&mut nodes) {
            node.next += at;
            start += std::mem::replace(&mut node.ranks, start);
        }
        nodes.push(Node { weight_and_depth: 0, next: count, ranks: end });
        Some(Trie { nodes, ranks })
    }
}

impl<S: Rank> Trie<S> {
    /// A node with its ranks.
    #[inline(always)]
    pub(super) fn node(&self, at: usize) -> (&Node, &[S]) {
        let [node, after] = &self.nodes[at..at + 2] else { unreachable!("two nodes") };
        (node, &self.ranks[node.ranks as usize..after.ranks as usize])
    }

    pub(super) fn nodes(&self) -> impl Iterator<Item = (&Node, &[S])> {
        (0..self.nodes.len() - 1).map(|at| self.node(at))
    }

    /// The weight of all ballots in the tree.
    pub(super) fn weight(&self) -> u64 {
        let (mut at, mut sum) = (0, 0);
        while at < self.nodes.len() - 1 {
            let (node, _) = self.node(at);
            sum += node.weight();
            at = node.next();
        }
        sum
    }

    pub(super) fn ranks_mut(&mut self) -> &mut [S] {
        &mut self.ranks
    }

    pub(super) fn size(&self) -> Size {
        let nodes = self.nodes.len() - 1;
        let bytes = nodes * size_of::<Node>() + size_of_val(&self.ranks[..]);
        Size { nodes, ranks: self.ranks.len(), bytes }
    }

    /// Cuts the nodes into neighbours that have at least `least` ranks together. The last of them
    /// may have fewer.
    pub(super) fn cuts(&self, least: usize) -> Vec<Cut> {
        let mut cuts = Vec::new();
        let (mut start, mut above, mut length) = (0, Vec::new(), 0);
        let mut path: Vec<usize> = Vec::new();
        for (at, (_, ranks)) in self.nodes().enumerate() {
            while path.pop_if(|above| self.nodes[*above].next() <= at).is_some() {}
            if length >= least {
                cuts.push(Cut { nodes: start..at, above });
                (start, above, length) = (at, path.clone(), 0);
            }
            length += ranks.len();
            path.push(at);
        }
        let end = self.nodes.len() - 1;
        if start < end {
            cuts.push(Cut { nodes: start..end, above });
        }
        cuts
    }
}

/// A number of nodes or ranks. A tree with more of them than `u32` can number is never finished.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
