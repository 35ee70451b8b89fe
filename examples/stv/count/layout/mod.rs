//! A layout of the ballots for counting. Identical ballots are merged, and a common beginning is
//! written once. So a distribution streams through memory.
//!
//! The part of a ballot that reaches a rank depends on the ranks above, not on the ballot's weight.
//! So ballots with the same beginning are counted together up to the end of that beginning. The
//! sorted ballots form a tree of prefixes. Each node has the weight of all ballots with its prefix.
//! If a node passes nothing on, its subtree is skipped. The sums are integers, so counting ballot
//! by ballot would give the same digits.
//!
//! | file | owns |
//! |---|---|
//! | `piece` | a piece of the ballots as trees |
//! | `order` | the ballots sorted, and cut into pieces |
//! | `walk` | the distribution of votes down a tree |
//! | `trie` | a tree |
//! | `equals` | the candidates of a shared rank, with their shares |
//! | `groups` | the ranks of ballots with equal ranks, by number |
//! | `kept` | the keep factors |

mod equals;
mod groups;
mod kept;
mod order;
mod piece;
mod trie;
mod walk;

pub use kept::Kept;
pub(crate) use trie::Size;
pub use walk::Sums;

use crate::{
    arithmetic::{Arithmetic, Fault},
    crew::Crew,
    spread::{KeepFactor, Votes},
};
use groups::Groups;
use piece::{Piece, Tree};
use std::ops::Range;
use stv_ballots::{Election, EqualRanks, Integer};
use trie::MOST_BALLOTS;

/// An election's ballots as trees, in pieces that were laid out separately. If two pieces have
/// ballots with the same beginning, each piece has that beginning, with the weight of its own
/// ballots.
#[derive(Debug)]
pub struct Layout {
    pieces: Vec<Piece>,
    groups: Groups,
    chunks: Vec<Chunk>,
    equalize: bool,
    /// The ballots in all trees, in billionths.
    total: u128,
    size: Size,
}

/// Neighbouring nodes of one tree. A chunk is an item of the parallel loop.
#[derive(Debug, Clone)]
pub struct Chunk {
    piece: usize,
    tree: Tree,
    nodes: Range<u32>,
    /// The place of a list: the nodes above the first node of the chunk, from the root down. These
    /// nodes determine the power with which a ballot arrives at the first node.
    above: Range<u32>,
}

/// One in billionths.
pub(crate) const ONE: u32 = 1_000_000_000;
/// The most candidates. A strict rank has 16 bits, and so has the depth of a node.
const MOST_CANDIDATES: usize = 1 << 16;
/// The number of ballots in a piece. The number is large, so that few beginnings are written twice.
/// Large elections still have many pieces. The number does not depend on the number of threads.
const PIECE: usize = 1 << 14;
/// The least cost of a chunk: much more than the cost to begin one.
const LEAST: u64 = 512;
/// The largest number of chunks, approximately. This number of chunks can be divided evenly among
/// threads.
const MOST: u64 = 2048;

impl Layout {
    /// Returns `None` if the election is too large for machine words. Such an election is counted
    /// ballot by ballot.
    pub(crate) fn of(election: &Election, crew: Crew<'_>) -> Option<Self> {
        Self::in_pieces(election, PIECE, crew)
    }

    fn in_pieces(election: &Election, length: usize, crew: Crew<'_>) -> Option<Self> {
        let (ballots, candidates) = (&election.ballots, election.candidates.len());
        if *ballots.total() >= Integer::from(MOST_BALLOTS) || candidates > MOST_CANDIDATES {
            return None;
        }
        let equalize = ballots.equal_ranks == EqualRanks::AllOrders;
        let (keys, form) = order::order(ballots, candidates, crew);
        let pieces = order::pieces(keys, length, crew, |keys| Piece::of(keys, &form, equalize));
        let pieces: Option<(Vec<_>, Vec<_>)> = pieces.into_iter().collect();
        let (mut pieces, numbers) = pieces?;
        let (groups, names) = Groups::of(&numbers)?;
        let mut named: Vec<_> = pieces.iter_mut().zip(&names).collect();
        crew.change(&mut named, |(piece, names)| piece.grouped.rename(|group| names.of(group)));
        let cost = pieces.iter().map(|piece: &Piece| piece.cost).sum::<u64>();
        crew.change(&mut pieces, |piece| piece.split(LEAST.max(cost / MOST), &groups, equalize));
        let chunks = pieces.iter().enumerate().flat_map(|(piece, trees)| {
            let chunk = move |tree| move |(nodes, above)| Chunk { piece, tree, nodes, above };
            let strict = trees.strict.chunks().map(chunk(Tree::Strict));
            strict.chain(trees.grouped.chunks().map(chunk(Tree::Grouped)))
        });
        let chunks = chunks.collect();
        let total = pieces.iter().map(|piece| u128::from(piece.weight())).sum::<u128>() * u128::from(ONE);
        let size = pieces.iter().map(Piece::size).fold(Size::default(), |sum, size| sum + size);
        Some(Self { pieces, groups, chunks, equalize, total, size })
    }

    /// The chunks that a distribution loops over.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Adds the votes that the ballots of a chunk give.
    pub fn distribute(&self, chunk: &Chunk, kept: &Kept, sums: &mut Sums) {
        let above = chunk.above.start as usize..chunk.above.end as usize;
        let nodes = chunk.nodes.start as usize..chunk.nodes.end as usize;
        sums.covered += nodes.len();
        let Piece { strict, grouped, .. } = &self.pieces[chunk.piece];
        match chunk.tree {
            Tree::Strict => sums.strict(strict, nodes, strict.above(above), kept),
            Tree::Grouped if self.equalize => {
                sums.equalized(grouped, nodes, grouped.above(above), &self.groups, kept);
            }
            Tree::Grouped => sums.shared(grouped, nodes, grouped.above(above), &self.groups, kept),
        }
    }

    /// The result of a distribution. The exhausted votes are computed as the total of the ballots
    /// minus the votes of the candidates. This difference does not show whether a chunk was lost or
    /// counted twice, so this function also checks the number of nodes in the counted chunks.
    pub(crate) fn votes<A: Arithmetic>(
        &self,
        sums: &Sums,
        from_billionths: fn(u128) -> Result<A, Fault>,
    ) -> Result<Votes<A>, Fault> {
        if sums.covered != self.size().nodes {
            return Err(Fault::Incomplete);
        }
        let given = sums.votes().iter().map(|&votes| u128::from(votes)).sum();
        let of = sums.votes().iter().map(|&votes| from_billionths(votes.into())).collect::<Result<_, _>>()?;
        Ok(Votes { of, exhausted: from_billionths(self.total.checked_sub(given).ok_or(Fault::Overflow)?)? })
    }
}

/// Sets the keep factors, in billionths. Returns false if one is not between zero and one.
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
