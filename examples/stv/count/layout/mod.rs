//! A layout of the ballots for counting. Identical ballots are merged, and a common beginning is
//! written once. So a distribution streams through memory.
//!
//! The *power* at a rank is the part of a ballot that reaches the rank, at most one. It depends on
//! the ranks above, not on the ballot's weight. So ballots with the same beginning are counted
//! together up to the end of that beginning. The sorted ballots form a tree of prefixes. Each node
//! has the weight of all ballots with its prefix. If a node passes nothing on, its subtree is
//! skipped. The sums are integers, so counting ballot by ballot would give the same digits.
//!
//! Each file calls only files further down in this table:
//!
//! | file | owns |
//! |---|---|
//! | `piece` | a piece of the ballots as trees |
//! | `order` | the ballots sorted, and cut into pieces |
//! | `walk` | the distribution of votes down a tree |
//! | `trie` | a tree |
//! | `sums` | the votes that a worker has counted |
//! | `shares` | the shares of the candidates of a group |
//! | `groups` | the ranks of ballots with equal ranks, by number |
//! | `factors` | the keep factors |

mod factors;
mod groups;
mod order;
mod piece;
mod shares;
mod sums;
mod trie;
mod walk;

pub use factors::Factors;
pub use sums::Sums;
pub(crate) use trie::Size;

use crate::{
    arithmetic::{Arithmetic, Fault},
    crew::Crew,
    spread::Votes,
};
use groups::Groups;
use piece::Piece;
use stv_ballots::{Election, EqualRanks, Integer};
use trie::{Cut, MOST_BALLOTS};

/// An election's ballots as trees, in pieces that were laid out separately. If two pieces have
/// ballots with the same beginning, each piece has that beginning, with the weight of its own
/// ballots.
#[derive(Debug)]
pub struct Layout {
    pieces: Vec<Piece>,
    groups: Groups,
    chunks: Vec<Chunk>,
    /// The ballots in all trees, in billionths.
    total: u128,
    size: Size,
}

/// Neighbouring nodes of one tree. A chunk is an item of the parallel loop.
#[derive(Debug, Clone)]
pub struct Chunk {
    piece: usize,
    tree: Tree,
    cut: Cut,
}

/// One of the two trees of a piece.
#[derive(Debug, Clone, Copy)]
enum Tree {
    Strict,
    Grouped,
}

/// One in billionths.
pub(crate) const ONE: u32 = 1_000_000_000;
/// The most candidates. A strict rank has 16 bits, and so has the depth of a node.
const MOST_CANDIDATES: usize = 1 << 16;
/// The number of ballots in a piece. The number is large, so that few beginnings are written twice.
/// Large elections still have many pieces. The number does not depend on the number of threads.
const PIECE: usize = 1 << 14;
/// The least number of ranks in a chunk. Counting them costs much more than beginning a chunk.
const LEAST: usize = 512;
/// The largest number of chunks, approximately. This number of chunks can be divided evenly among
/// threads.
const MOST: usize = 2048;

impl Layout {
    /// Returns `None` if the election is too large for machine words, or if it has equal ranks that
    /// count as in Droop. Such an election is counted ballot by ballot.
    pub(crate) fn of(election: &Election, crew: Crew<'_>) -> Option<Self> {
        Self::in_pieces(election, PIECE, crew)
    }

    fn in_pieces(election: &Election, length: usize, crew: Crew<'_>) -> Option<Self> {
        let (ballots, candidates) = (&election.ballots, election.candidates.len());
        let has_equal_ranks = ballots.turnout().with_equal_ranks > Integer::Word(0);
        let splits = has_equal_ranks && ballots.equal_ranks == EqualRanks::AsDroop;
        if splits || *ballots.total() >= Integer::from(MOST_BALLOTS) || candidates > MOST_CANDIDATES {
            return None;
        }
        let (keys, form) = order::order(ballots, candidates, crew);
        let pieces = order::pieces(keys, length, crew, |keys| Piece::of(keys, &form));
        let pieces: Option<(Vec<_>, Vec<_>)> = pieces.into_iter().collect();
        let (mut pieces, numbers) = pieces?;
        let (groups, renumbered) = Groups::of(&numbers)?;
        let mut each: Vec<_> = pieces.iter_mut().zip(&renumbered).collect();
        crew.change(&mut each, |(piece, new)| piece.renumber(new));
        let size = pieces.iter().map(Piece::size).fold(Size::default(), |sum, size| sum + size);
        let least = LEAST.max(size.ranks / MOST);
        let cuts =
            crew.map(&pieces, || (), |(), piece| [piece.strict.cuts(least), piece.grouped.cuts(least)]);
        let chunks = cuts.into_iter().enumerate().flat_map(|(piece, [strict, grouped])| {
            let chunk = move |tree| move |cut| Chunk { piece, tree, cut };
            strict.into_iter().map(chunk(Tree::Strict)).chain(grouped.into_iter().map(chunk(Tree::Grouped)))
        });
        let chunks = chunks.collect();
        let total = pieces.iter().map(|piece| u128::from(piece.weight())).sum::<u128>() * u128::from(ONE);
        Some(Self { pieces, groups, chunks, total, size })
    }

    /// The chunks that a distribution loops over.
    pub fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn size(&self) -> Size {
        self.size
    }

    /// Adds the votes that the ballots of a chunk give.
    pub fn distribute(&self, chunk: &Chunk, factors: &Factors, sums: &mut Sums) {
        let (Piece { strict, grouped }, cut) = (&self.pieces[chunk.piece], &chunk.cut);
        sums.nodes += cut.nodes.len();
        let Sums { votes, scratch, .. } = sums;
        match chunk.tree {
            Tree::Strict => walk::strict(strict, cut, factors, scratch, votes),
            Tree::Grouped => walk::grouped((grouped, &self.groups), cut, factors, scratch, votes),
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
        if sums.nodes != self.size.nodes {
            return Err(Fault::Incomplete);
        }
        let given = sums.votes.iter().map(|&votes| u128::from(votes)).sum();
        let of = sums.votes.iter().map(|&votes| from_billionths(votes.into())).collect::<Result<_, _>>()?;
        Ok(Votes { of, exhausted: from_billionths(self.total.checked_sub(given).ok_or(Fault::Overflow)?)? })
    }
}

#[cfg(test)]
mod tests;
