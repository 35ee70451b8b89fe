//! A tree of ballots by their beginnings, written as one array from the first ballot to the last.

use std::{
    fmt,
    ops::{Add, Range},
};

/// A rank of all ballots that begin alike up to here. The nodes below follow it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Node<S> {
    /// Of all ballots through here.
    pub(super) weight: u64,
    /// The node after the last one below.
    pub(super) next: u32,
    pub(super) depth: u16,
    pub(super) rank: S,
}

#[derive(Debug)]
pub(super) struct Trie<S> {
    nodes: Vec<Node<S>>,
    chunks: Vec<(Range<u32>, Range<u32>)>,
    above: Vec<u32>,
}

/// What a layout takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Size {
    pub(crate) nodes: usize,
    pub(crate) bytes: usize,
    pub(crate) chunks: usize,
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} nodes in {} chunks, {} bytes", self.nodes, self.chunks, self.bytes)
    }
}

impl Add for Size {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            nodes: self.nodes + other.nodes,
            bytes: self.bytes + other.bytes,
            chunks: self.chunks + other.chunks,
        }
    }
}

/// Takes the ballots in an order that has equal beginnings next to each other.
pub(super) struct Builder<S> {
    nodes: Vec<Node<S>>,
    /// The nodes of the last ballot.
    open: Vec<usize>,
}

/// A rank as a node knows it.
pub(super) trait Rank: Copy + PartialEq {
    /// How many parts it can split a ballot into.
    fn parts(self) -> u32;
}

impl Rank for u16 {
    fn parts(self) -> u32 {
        1
    }
}

impl Rank for u32 {
    fn parts(self) -> u32 {
        1
    }
}

impl Rank for u64 {
    fn parts(self) -> u32 {
        self.count_ones()
    }
}

impl<S: Rank> Builder<S> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), open: Vec::new() }
    }

    pub(super) fn add(&mut self, ranks: impl Iterator<Item = S>, weight: u64) {
        let mut ranks = ranks.peekable();
        let mut depth = 0;
        while let (Some(&node), Some(rank)) = (self.open.get(depth), ranks.peek())
            && self.nodes[node].rank == *rank
        {
            depth += 1;
            ranks.next();
        }
        self.close(depth);
        for rank in ranks {
            let depth = u16::try_from(self.open.len()).unwrap_or(u16::MAX);
            self.open.push(self.nodes.len());
            self.nodes.push(Node { weight: 0, next: 0, depth, rank });
        }
        if let Some(&last) = self.open.last() {
            self.nodes[last].weight += weight;
        }
    }

    /// The nodes of the last ballot from this depth down have no more ballots.
    fn close(&mut self, depth: usize) {
        while self.open.len() > depth
            && let Some(node) = self.open.pop()
        {
            let next = self.nodes.len();
            self.nodes[node].next = u32::try_from(next).unwrap_or(u32::MAX);
            if let Some(&above) = self.open.last() {
                self.nodes[above].weight += self.nodes[node].weight;
            }
        }
    }

    /// None if there are more nodes than numbers for them.
    pub(super) fn finish(mut self) -> Option<Trie<S>> {
        self.close(0);
        let count = u32::try_from(self.nodes.len()).ok()?;
        let mut trie = Trie { nodes: self.nodes, chunks: Vec::new(), above: Vec::new() };
        trie.split(count);
        Some(trie)
    }
}

/// What a chunk costs at least: much more than to begin one.
const LEAST: u64 = 512;
/// About how many chunks there are at most: enough to deal out evenly.
const MOST: u64 = 2048;
/// A node counts as at most so many: few ballots are ever in as many parts as they could be.
const MOST_COUNTED: u32 = 4096;
/// What may have to be repeated where a chunk begins inside a tree: each part that a ballot has been split into above.
const MOST_PARTS: u32 = 8;

impl<S: Rank> Trie<S> {
    pub(super) fn nodes(&self) -> &[Node<S>] {
        &self.nodes
    }

    pub(super) fn above(&self, range: Range<usize>) -> &[u32] {
        &self.above[range]
    }

    pub(super) fn chunks(&self) -> impl Iterator<Item = (Range<u32>, Range<u32>)> {
        self.chunks.iter().cloned()
    }

    pub(super) fn size(&self) -> Size {
        let bytes = size_of_val(&self.nodes[..]) + size_of_val(&self.above[..]);
        Size { nodes: self.nodes.len(), bytes, chunks: self.chunks.len() }
    }

    /// Cuts the nodes into chunks of about equal cost, where a cut costs little.
    fn split(&mut self, count: u32) {
        let cost = |parts: u32| u64::from(parts.min(MOST_COUNTED));
        let total: u64 = self.parts().map(|(_, parts)| cost(parts)).sum();
        let least = LEAST.max(total / MOST);
        let (mut chunks, mut list) = (Vec::new(), Vec::new());
        let (mut start, mut above, mut sum) = (0, 0..0, 0);
        let mut path = Vec::new();
        for (at, (node, (before, after))) in (0..count).zip(self.nodes.iter().zip(self.parts())) {
            path.truncate(usize::from(node.depth));
            if sum >= least && before <= MOST_PARTS {
                chunks.push((start..at, above));
                let from = list.len();
                list.extend_from_slice(&path);
                (start, above, sum) = (at, index(from)..index(list.len()), 0);
            }
            sum += cost(after);
            path.push(at);
        }
        if start < count {
            chunks.push((start..count, above));
        }
        (self.chunks, self.above) = (chunks, list);
    }

    /// Of each node, how many parts a ballot can be in before and after it.
    fn parts(&self) -> impl Iterator<Item = (u32, u32)> {
        let mut path: Vec<u32> = Vec::new();
        self.nodes.iter().map(move |node| {
            path.truncate(usize::from(node.depth));
            let before = path.last().copied().unwrap_or(1);
            let after = before.saturating_mul(node.rank.parts());
            path.push(after);
            (before, after)
        })
    }
}

/// A chunk is longer than what is above it, so there are fewer of these than nodes.
fn index(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}
