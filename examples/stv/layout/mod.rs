//! The ballots laid out for counting: identical ones merged, common beginnings written once, so that a distribution streams through memory.
//!
//! How much of a ballot reaches a rank depends on the ranks before it alone and not on its weight. So ballots that begin alike are counted
//! together as far as they do: sorted, they form a tree of prefixes, and every node knows the weight of all ballots through it. Where
//! nothing is passed on, a whole subtree is skipped. The sums are of integers: no digit differs from counting ballot by ballot.

mod groups;
mod trie;
mod walk;

pub(crate) use trie::Size;
pub(crate) use walk::{Kept, Sums};

use crate::{
    arithmetic::{Arithmetic, Fault},
    election::{Ballot, Ballots, Election, Preference},
    spread::{KeepFactor, Votes},
};
use groups::{Groups, Numbers};
use std::ops::Range;
use trie::{Builder, Trie};

/// An election's ballots as two trees: strict ballots, whose ranks are candidates, and ballots with equal ranks, whose ranks are sets, or
/// numbered groups if the equals are to be treated as `--equalize` does.
#[derive(Debug)]
pub(crate) struct Layout {
    strict: Trie<u16>,
    shared: Trie<u64>,
    equalized: Trie<u32>,
    groups: Groups,
    chunks: Vec<Chunk>,
    /// All ballots, in billionths.
    total: u128,
    candidates: usize,
}

/// Neighbouring nodes of one tree: an item of the parallel loop.
#[derive(Debug, Clone)]
pub(crate) struct Chunk {
    tree: Tree,
    nodes: Range<u32>,
    /// Where the nodes above the first one are listed, from the root down: they say with how much a ballot arrives there.
    above: Range<u32>,
}

#[derive(Debug, Clone, Copy)]
enum Tree {
    Strict,
    Shared,
    Equalized,
}

/// One in billionths.
pub(crate) const ONE: u32 = 1_000_000_000;
/// A set of candidates has a bit for each.
const MOST_IN_SETS: usize = 64;
/// A code is a candidate and a bit, plus one, in 16 bits.
const MOST_CANDIDATES: usize = 32_000;

impl Layout {
    /// None if the election is too large for machine words: those are counted ballot by ballot.
    pub(crate) fn of(election: &Election) -> Option<Self> {
        let (ballots, candidates) = (&election.ballots, election.candidates.len());
        let total = u64::try_from(ballots.total().word()?).ok()?;
        let shares = ballots.records().iter().any(|ballot| ballot.has_equal_ranks);
        if candidates > if shares && !ballots.equalize { MOST_IN_SETS } else { MOST_CANDIDATES } {
            return None;
        }
        let sorted = Sorted::new(ballots, candidates)?;
        let (mut strict, mut shared, mut equalized) = (Builder::new(), Builder::new(), Builder::new());
        let (mut groups, mut numbers, mut numbered) = (Groups::default(), Numbers::default(), Vec::new());
        for (place, ballot) in sorted.ballots(ballots) {
            let weight = u64::try_from(ballot.weight.word()?).ok()?;
            let all = sorted.codes(place);
            let mut codes = all.iter().map(|code| code - 1);
            if ballot.has_equal_ranks && ballots.equalize {
                numbered.clear();
                for codes in all.split_inclusive(|code| (code - 1) & 1 == 0) {
                    numbered.push(groups.number(codes, &mut numbers)?);
                }
                equalized.add(numbered.iter().copied(), weight);
            } else if ballot.has_equal_ranks {
                shared.add(std::iter::from_fn(|| next_set(&mut codes)), weight);
            } else {
                strict.add(codes.map(|code| code >> 1), weight);
            }
        }
        let (strict, shared, equalized) = (strict.finish()?, shared.finish()?, equalized.finish()?);
        let chunk = |tree| move |(nodes, above)| Chunk { tree, nodes, above };
        let mut chunks: Vec<_> = strict.chunks().map(chunk(Tree::Strict)).collect();
        chunks.extend(shared.chunks().map(chunk(Tree::Shared)));
        chunks.extend(equalized.chunks().map(chunk(Tree::Equalized)));
        let total = u128::from(total) * u128::from(ONE);
        Some(Self { strict, shared, equalized, groups, chunks, total, candidates })
    }

    /// What a distribution loops over.
    pub(crate) fn chunks(&self) -> &[Chunk] {
        &self.chunks
    }

    pub(crate) fn candidates(&self) -> usize {
        self.candidates
    }

    pub(crate) fn size(&self) -> Size {
        self.strict.size() + self.shared.size() + self.equalized.size()
    }

    /// Adds what a chunk's ballots give to whom.
    pub(crate) fn distribute(&self, chunk: &Chunk, kept: &Kept, sums: &mut Sums) {
        let above = chunk.above.start as usize..chunk.above.end as usize;
        let nodes = chunk.nodes.start as usize..chunk.nodes.end as usize;
        sums.covered += nodes.len();
        match chunk.tree {
            Tree::Strict => sums.strict(self.strict.nodes(), nodes, self.strict.above(above), kept),
            Tree::Shared => sums.shared(self.shared.nodes(), nodes, self.shared.above(above), kept),
            Tree::Equalized => {
                let tree = &self.equalized;
                sums.equalized(tree.nodes(), nodes, tree.above(above), &self.groups, kept);
            }
        }
    }

    /// The result of a distribution: what no candidate has is exhausted. Since it is a difference, it says nothing of nodes that were lost or
    /// counted twice: those are checked by their number.
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

/// The next rank as a set: equals are written in any order.
fn next_set(codes: &mut impl Iterator<Item = u16>) -> Option<u64> {
    let mut set = 0;
    for code in codes {
        set |= 1 << (code >> 1);
        if code & 1 == 0 {
            return Some(set);
        }
    }
    None
}

/// The ballots in an order that brings equal beginnings together, the strict ones first.
struct Sorted {
    /// The preferences of all ballots: candidate, then whether the next one is its equal. Never 0, which in a key is the end.
    codes: Vec<u16>,
    /// Where each ballot's codes end.
    ends: Vec<u32>,
    /// As many codes of a ballot as fit, and its place in the records.
    order: Vec<(u64, u32)>,
}

impl Sorted {
    fn new(ballots: &Ballots, candidates: usize) -> Option<Self> {
        let records = ballots.records();
        let mut sorted =
            Self { codes: Vec::new(), ends: Vec::new(), order: Vec::with_capacity(records.len()) };
        sorted.ends.reserve_exact(records.len());
        let bits = (2 * candidates as u64).ilog2() + 1;
        let fit = 63 / bits;
        let mut longest = 0;
        for (place, ballot) in (0_u32..).zip(records) {
            let start = sorted.codes.len();
            sorted.push(ballots.preferences(ballot), ballots.equalize);
            let codes = &sorted.codes[start..];
            longest = longest.max(codes.len());
            let mut key = u64::from(ballot.has_equal_ranks);
            for at in 0..fit as usize {
                key = key << bits | codes.get(at).map_or(0, |&code| u64::from(code));
            }
            sorted.ends.push(u32::try_from(sorted.codes.len()).ok()?);
            sorted.order.push((key, place));
        }
        let mut order = std::mem::take(&mut sorted.order);
        if longest <= fit as usize {
            order.sort_unstable_by_key(|ballot| ballot.0);
        } else {
            order.sort_unstable_by(|left, right| {
                let codes = |place| sorted.codes(place);
                left.0.cmp(&right.0).then_with(|| codes(left.1).cmp(codes(right.1)))
            });
        }
        sorted.order = order;
        Some(sorted)
    }

    /// Equals in candidate order, so that ranks are equal as codes if they are equal as sets.
    /// Unless their order matters.
    fn push(&mut self, preferences: &[Preference], as_written: bool) {
        let code = |(candidate, shares)| {
            u16::try_from(candidate << 1 | usize::from(shares)).map_or(0, |code| code + 1)
        };
        let mut equals = self.codes.len();
        for preference in preferences {
            let shares = preference.shares_rank_with_next();
            self.codes.push(code((preference.candidate(), true)));
            if !shares {
                if !as_written {
                    self.codes[equals..].sort_unstable();
                }
                equals = self.codes.len();
                self.codes[equals - 1] -= 1;
            }
        }
    }

    fn codes(&self, place: u32) -> &[u16] {
        let place = place as usize;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.codes[start as usize..self.ends[place] as usize]
    }

    fn ballots<'a>(&'a self, ballots: &'a Ballots) -> impl Iterator<Item = (u32, &'a Ballot)> {
        self.order.iter().map(|&(_, place)| (place, &ballots.records()[place as usize]))
    }
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
