//! How the weight of many ballots goes down a tree, in machine words: the rules of `spread`, node by node.

use super::{ONE, trie::Node};
use std::ops::Range;

/// The keep factors of a distribution, in billionths.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    keep: Vec<u32>,
    /// Who keeps anything.
    holders: u64,
    /// Who keeps something and passes something on.
    elected: u64,
}

impl Kept {
    pub(super) fn clear(&mut self) {
        self.keep.clear();
        (self.holders, self.elected) = (0, 0);
    }

    /// Says whether it is a keep factor.
    pub(super) fn push(&mut self, keep: u32) -> bool {
        // Sets are of the first 64 candidates, and only used if there are no more.
        let bit = 1_u64.checked_shl(self.keep.len().try_into().unwrap_or(u32::MAX)).unwrap_or(0);
        self.keep.push(keep);
        if keep > 0 {
            self.holders |= bit;
        }
        if keep > 0 && keep < ONE {
            self.elected |= bit;
        }
        keep <= ONE
    }

    /// What a candidate keeps of this power, and what is passed on; both truncated.
    #[inline(always)]
    fn split(&self, power: u32, candidate: usize) -> (u32, u32) {
        let product = u64::from(power) * u64::from(self.keep[candidate]);
        #[allow(clippy::cast_possible_truncation)] // a product of two numbers up to one is up to one
        let used = (product / u64::from(ONE)) as u32;
        let exact = u64::from(used) * u64::from(ONE) == product;
        (used, power - used - u32::from(!exact))
    }
}

/// What a worker adds up, in billionths, and its place in a tree. Kept from loop to loop.
#[derive(Debug)]
pub(crate) struct Sums {
    votes: Vec<u128>,
    /// How much of each ballot has come to each depth: for strict ballots one power each, else the powers of its parts, depth after depth.
    powers: Vec<u32>,
    /// Where the powers of each depth start.
    starts: Vec<usize>,
}

/// So many parts of a ballot go on together; if there are more, one lot after the other, for memory's sake.
const LOT: usize = 4096;

impl Sums {
    pub(crate) fn new(candidates: usize) -> Self {
        Self { votes: vec![0; candidates], powers: Vec::new(), starts: Vec::new() }
    }

    pub(crate) fn clear(&mut self) {
        self.votes.fill(0);
    }

    pub(crate) fn votes(&self) -> &[u128] {
        &self.votes
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (votes, more) in self.votes.iter_mut().zip(&other.votes) {
            *votes += more;
        }
    }

    #[inline(always)]
    fn give(&mut self, candidate: usize, used: u32, weight: u64) {
        self.votes[candidate] += u128::from(used) * u128::from(weight);
    }

    /// Each candidate keeps a share of what the one before passed on.
    pub(super) fn strict(&mut self, nodes: &[Node<u16>], range: Range<usize>, above: &[u32], kept: &Kept) {
        self.powers.resize(self.votes.len() + 1, 0);
        self.powers[0] = ONE;
        for (depth, &node) in above.iter().enumerate() {
            let node = nodes[node as usize];
            let (_, rest) = kept.split(self.powers[depth], usize::from(node.rank));
            if rest == 0 {
                return self.strict_below(nodes, node.next as usize..range.end, kept);
            }
            self.powers[depth + 1] = rest;
        }
        self.strict_below(nodes, range, kept);
    }

    fn strict_below(&mut self, nodes: &[Node<u16>], range: Range<usize>, kept: &Kept) {
        let Range { start: mut at, end } = range;
        while at < end {
            let node = &nodes[at];
            let (candidate, depth) = (usize::from(node.rank), usize::from(node.depth));
            let (used, rest) = kept.split(self.powers[depth], candidate);
            self.give(candidate, used, node.weight);
            self.powers[depth + 1] = rest;
            at = if rest == 0 { node.next as usize } else { at + 1 };
        }
    }

    /// Equals get equal parts, and what each passes on goes down on its own; a rank that nobody holds blocks the ballot.
    pub(super) fn shared(&mut self, nodes: &[Node<u64>], range: Range<usize>, above: &[u32], kept: &Kept) {
        self.powers.clear();
        self.powers.push(ONE);
        self.starts.clear();
        self.starts.push(0);
        for &node in above {
            let node = &nodes[node as usize];
            if !self.rank(node, 0, kept) {
                return self.shared_below(nodes, node.next as usize..range.end, kept);
            }
        }
        self.shared_below(nodes, range, kept);
    }

    fn shared_below(&mut self, nodes: &[Node<u64>], range: Range<usize>, kept: &Kept) {
        let Range { start: mut at, end } = range;
        while at < end {
            let node = &nodes[at];
            let goes_on = self.rank(node, node.weight, kept);
            let next = node.next as usize;
            at = if goes_on { at + 1 } else { next };
            let from = self.starts[self.starts.len() - 1];
            if self.powers.len() - from > LOT && at < next {
                let parts = self.powers.split_off(from);
                let depth = self.starts.len();
                for lot in parts.chunks(LOT) {
                    self.starts.truncate(depth);
                    self.powers.truncate(from);
                    self.powers.extend_from_slice(lot);
                    self.shared_below(nodes, at..next.min(end), kept);
                }
                at = next;
            }
        }
    }

    /// One rank of all parts of a ballot; whether anything is passed on.
    #[inline(always)]
    fn rank(&mut self, node: &Node<u64>, weight: u64, kept: &Kept) -> bool {
        let depth = usize::from(node.depth);
        let holders = node.rank & kept.holders;
        let from = self.starts[depth];
        let to = self.starts.get(depth + 1).copied().unwrap_or(self.powers.len());
        self.starts.truncate(depth + 1);
        self.powers.truncate(to);
        self.starts.push(to);
        if holders == 0 {
            return false;
        }
        let elected = node.rank & kept.elected;
        let equals = holders.count_ones();
        let mut hopeful = 0;
        for at in from..to {
            let part = if equals == 1 { self.powers[at] } else { self.powers[at] / equals };
            hopeful += part;
            for candidate in members(elected) {
                let (used, rest) = kept.split(part, candidate);
                self.give(candidate, used, weight);
                if rest != 0 {
                    self.powers.push(rest);
                }
            }
        }
        for candidate in members(holders & !elected) {
            self.give(candidate, hopeful, weight);
        }
        self.powers.len() > to
    }
}

fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (first < u64::BITS).then_some(first as usize)
    })
}
