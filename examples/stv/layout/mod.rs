//! The ballots laid out for counting: identical ones merged, common beginnings written once, so
//! that a distribution streams through memory.
//!
//! How much of a ballot reaches a rank depends on the ranks before it alone and not on its weight.
//! So ballots that begin alike are counted together as far as they do: sorted, they form a tree of
//! prefixes, and every node knows the weight of all ballots through it. Where nothing is passed on,
//! a whole subtree is skipped. The sums are of integers: no digit differs from counting ballot by
//! ballot.

mod groups;
mod order;
mod trie;
mod walk;

pub(crate) use trie::Size;
pub(crate) use walk::{Kept, Sums};

use crate::{
    arithmetic::{Arithmetic, Fault, Integer},
    election::{Election, Preference},
    spread::{KeepFactor, Votes},
};
use groups::{Group, Groups, Numbers};
use order::Order;
use std::ops::Range;
use trie::{Builder, MOST_BALLOTS, Rank, Trie};

/// An election's ballots as trees: strict ballots, whose ranks are candidates; and ballots with
/// equal ranks, whose ranks are sets, or numbered groups if the equals are to be treated as
/// `--equalize` does.
#[derive(Debug)]
pub(crate) struct Layout {
    strict: Trie<u16>,
    small_sets: Trie<u32>,
    sets: Trie<u64>,
    equalized: Trie<Group>,
    groups: Groups,
    chunks: Vec<Chunk>,
    /// The ballots in all trees, in billionths.
    total: u128,
    candidates: usize,
}

/// Neighbouring nodes of one tree: an item of the parallel loop.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    tree: Tree,
    nodes: Range<u32>,
    /// Where the nodes above the first one are listed, from the root down: they say with how much a
    /// ballot arrives there.
    above: Range<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Tree {
    Strict,
    SmallSets,
    Sets,
    Equalized,
}

/// One in billionths.
pub(crate) const ONE: u32 = 1_000_000_000;
/// A set of candidates has a bit for each.
const MOST_IN_SETS: usize = 64;
const MOST_IN_SMALL_SETS: usize = 32;
/// A strict rank has 16 bits, and so has the depth of a node.
const MOST_CANDIDATES: usize = 1 << 16;

impl Rank for u16 {
    fn parts(self) -> u32 {
        1
    }
}

impl Rank for u32 {
    fn parts(self) -> u32 {
        self.count_ones()
    }
}

impl Rank for u64 {
    fn parts(self) -> u32 {
        self.count_ones()
    }
}

impl Layout {
    /// None if the election is too large for machine words: those are counted ballot by ballot.
    pub(crate) fn of(election: &Election) -> Option<Self> {
        let (ballots, candidates) = (&election.ballots, election.candidates.len());
        if *ballots.total() >= Integer::from(MOST_BALLOTS) {
            return None;
        }
        let shares = ballots.records().iter().any(|&ballot| ballots.has_equal_ranks(ballot));
        if candidates > if shares && !ballots.equalize { MOST_IN_SETS } else { MOST_CANDIDATES } {
            return None;
        }
        let (mut strict, mut small_sets) = (Builder::new(), Builder::new());
        let (mut sets, mut equalized) = (Builder::new(), Builder::new());
        let (mut groups, mut numbers, mut numbered) = (Groups::default(), Numbers::default(), Vec::new());
        for ballot in Order::new(ballots, candidates) {
            let weight = u64::try_from(ballots.weight(ballot).word()?).ok()?;
            let mut preferences = ballots.preferences(ballot);
            if !ballots.has_equal_ranks(ballot) {
                strict.add(preferences.map(strict_rank), weight);
            } else if ballots.equalize {
                numbered.clear();
                while !preferences.is_empty() {
                    let (rank, below) = preferences.first_rank();
                    numbered.push(groups.number(rank, &mut numbers)?);
                    preferences = below;
                }
                equalized.add(numbered.iter().copied(), weight);
            } else if candidates <= MOST_IN_SMALL_SETS {
                #[allow(clippy::cast_possible_truncation)] // of so few candidates
                small_sets.add(order::sets(preferences).map(|set| set as u32), weight);
            } else {
                sets.add(order::sets(preferences), weight);
            }
        }
        let (strict, small_sets) = (strict.finish()?, small_sets.finish()?);
        let (sets, equalized) = (sets.finish()?, equalized.finish()?);
        let chunk = |tree| move |(nodes, above)| Chunk { tree, nodes, above };
        let mut chunks: Vec<_> = strict.chunks().map(chunk(Tree::Strict)).collect();
        chunks.extend(small_sets.chunks().map(chunk(Tree::SmallSets)));
        chunks.extend(sets.chunks().map(chunk(Tree::Sets)));
        chunks.extend(equalized.chunks().map(chunk(Tree::Equalized)));
        let total = strict.weight() + small_sets.weight() + sets.weight() + equalized.weight();
        let total = u128::from(total) * u128::from(ONE);
        Some(Self { strict, small_sets, sets, equalized, groups, chunks, total, candidates })
    }

    /// What a distribution loops over.
    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn candidates(&self) -> usize {
        self.candidates
    }

    pub(crate) fn size(&self) -> Size {
        self.strict.size() + self.small_sets.size() + self.sets.size() + self.equalized.size()
    }

    /// Adds what a chunk's ballots give to whom.
    pub(crate) fn distribute(&self, chunk: &Chunk, kept: &Kept, sums: &mut Sums) {
        let above = chunk.above.start as usize..chunk.above.end as usize;
        let nodes = chunk.nodes.start as usize..chunk.nodes.end as usize;
        sums.covered += nodes.len();
        match chunk.tree {
            Tree::Strict => sums.strict(&self.strict, nodes, self.strict.above(above), kept),
            Tree::SmallSets => sums.shared(&self.small_sets, nodes, self.small_sets.above(above), kept),
            Tree::Sets => sums.shared(&self.sets, nodes, self.sets.above(above), kept),
            Tree::Equalized => {
                sums.equalized(&self.equalized, nodes, self.equalized.above(above), &self.groups, kept);
            }
        }
    }

    /// The result of a distribution: what the candidates have not of the ballots in the trees is
    /// exhausted. Since it is a difference, it says nothing of nodes that were lost or counted
    /// twice: those are checked by their number.
    pub(crate) fn votes<A: Arithmetic>(
        &self,
        sums: &Sums,
        from_billionths: fn(u128) -> Result<A, Fault>,
    ) -> Result<Votes<A>, Fault> {
        if sums.covered != self.size().nodes {
            return Err(Fault::Incomplete);
        }
        let given: u128 = sums.votes().iter().sum();
        let of = sums.votes().iter().map(|&votes| from_billionths(votes)).collect::<Result<_, _>>()?;
        Ok(Votes { of, exhausted: from_billionths(self.total.checked_sub(given).ok_or(Fault::Overflow)?)? })
    }
}

fn strict_rank(preference: Preference) -> u16 {
    u16::try_from(preference.candidate()).unwrap_or(u16::MAX) // none is more than the last of MOST_CANDIDATES
}

/// The keep factors in billionths, or false if one of them is not between zero and one.
pub(crate) fn keep<A: Arithmetic>(
    kept: &mut Kept,
    factors: &[KeepFactor<A>],
    billionths: fn(&A) -> Option<u32>,
) -> bool {
    kept.clear();
    factors.iter().all(|factor| billionths(factor.kept()).is_some_and(|keep| kept.push(keep)))
}

#[cfg(test)]
mod tests;
