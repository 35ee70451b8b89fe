//! Distributes the weight of many ballots down a tree, in machine words. Every node follows the
//! rules of `spread`.

use super::{
    ONE,
    equals::{Holders, Shares},
    groups::{Group, Groups},
    kept::Kept,
    trie::{Rank, Trie},
};
use std::ops::Range;

/// The sums of a worker, in billionths, and its place in a tree. Later loops reuse the memory.
#[derive(Debug)]
pub struct Sums {
    votes: Vec<u64>,
    /// The number of nodes in the counted chunks. This number shows whether a distribution lost a
    /// chunk or counted it twice. It does not show whether a walk skipped a node of its chunk.
    pub(super) covered: usize,
    /// The powers that have come to each depth, depth after depth. A strict ballot has one power
    /// per depth. A ballot with equal ranks has one power per part.
    powers: Vec<u32>,
    /// The powers of depth `d` are `powers[ends[d]..ends[d + 1]]`.
    ends: Vec<usize>,
    /// The powers that come to each of the equals of a rank.
    parts: Vec<u32>,
    shares: Shares,
    holders: Holders,
}

/// The largest number of parts in a lot. The parts of a lot are counted together. If a ballot has
/// more parts, they are divided into several lots, to save memory.
const LOT: usize = 4096;

impl Sums {
    pub fn new(candidates: usize) -> Self {
        Self {
            votes: vec![0; candidates],
            covered: 0,
            powers: Vec::new(),
            ends: Vec::new(),
            parts: Vec::new(),
            shares: Shares::default(),
            holders: Holders::default(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.votes.fill(0);
        self.covered = 0;
    }

    pub(crate) fn votes(&self) -> &[u64] {
        &self.votes
    }

    pub fn add(&mut self, other: &Self) {
        for (votes, more) in self.votes.iter_mut().zip(&other.votes) {
            *votes += more;
        }
        self.covered += other.covered;
    }

    /// Each candidate keeps a share of the power that the previous candidate passed on.
    pub(super) fn strict(&mut self, tree: &Trie<u16>, range: Range<usize>, above: &[u32], kept: &Kept) {
        self.powers.resize(self.powers.len().max(self.votes.len() + 1), 0);
        self.powers[0] = ONE;
        walk(tree, range, above, |depth, ranks, weight| self.strict_run(depth, ranks, weight, kept));
    }

    /// Counts the ranks of a node. Returns whether they pass anything on to the nodes below.
    #[inline(always)]
    fn strict_run(&mut self, depth: usize, ranks: &[u16], weight: u64, kept: &Kept) -> bool {
        let mut power = self.powers[depth];
        for &candidate in ranks {
            let (used, rest) = kept.split(usize::from(candidate)).of(power);
            give(&mut self.votes, usize::from(candidate), used, weight);
            if rest == 0 {
                return false;
            }
            power = rest;
        }
        self.powers[depth + ranks.len()] = power;
        true
    }

    /// Every order of equals counts for an equal part of the ballot. All power that a rank passes
    /// on goes to the next rank as a whole.
    pub(super) fn equalized(
        &mut self,
        tree: &Trie<Group>,
        range: Range<usize>,
        above: &[u32],
        groups: &Groups,
        kept: &Kept,
    ) {
        self.shares.make_room(groups);
        self.powers.resize(self.powers.len().max(self.votes.len() + 1), 0);
        self.powers[0] = ONE;
        walk(tree, range, above, |depth, ranks, weight| {
            self.equalized_run(depth, ranks, weight, groups, kept)
        });
    }

    /// Counts the ranks of a node. Returns whether they pass anything on to the nodes below.
    #[inline(always)]
    fn equalized_run(
        &mut self,
        depth: usize,
        ranks: &[Group],
        weight: u64,
        groups: &Groups,
        kept: &Kept,
    ) -> bool {
        let mut power = self.powers[depth];
        for &group in ranks {
            let (members, passed_on) = self.shares.of(group, groups, kept);
            for (candidate, share) in members {
                give(&mut self.votes, candidate, part(power, share), weight);
            }
            power = part(power, passed_on);
            if power == 0 {
                return false;
            }
        }
        self.powers[depth + ranks.len()] = power;
        true
    }

    /// Equals get equal parts. The power that one of the equals passes on remains a separate part
    /// in the ranks below. If a rank has no holder, the ranks below get nothing.
    pub(super) fn shared(
        &mut self,
        tree: &Trie<Group>,
        range: Range<usize>,
        above: &[u32],
        groups: &Groups,
        kept: &Kept,
    ) {
        self.holders.make_room(groups);
        self.powers.resize(self.powers.len().max(LOT), 0);
        self.powers[0] = ONE;
        self.ends.clear();
        self.ends.extend([0, 1]);
        for &node in above {
            let (node, ranks) = tree.node(node as usize);
            let mut ranks = (node.depth()..).zip(ranks);
            if !ranks.all(|(depth, &group)| self.rank(group, depth, 0, groups, kept)) {
                return self.shared_below(tree, node.next()..range.end, 0, groups, kept);
            }
        }
        self.shared_below(tree, range, 0, groups, kept);
    }

    /// Counts these nodes. The first `passed` ranks of the first node have already been counted.
    fn shared_below(
        &mut self,
        tree: &Trie<Group>,
        range: Range<usize>,
        mut passed: usize,
        groups: &Groups,
        kept: &Kept,
    ) {
        let Range { start: mut at, end } = range;
        while at < end {
            let (node, ranks) = tree.node(at);
            let next = node.next();
            at += 1;
            while let Some(&group) = ranks.get(passed) {
                let depth = node.depth() + passed;
                passed += 1;
                if !self.rank(group, depth, node.weight(), groups, kept) {
                    at = next;
                    break;
                }
                let (from, to) = (self.ends[depth + 1], self.ends[depth + 2]);
                if to - from > LOT && (passed < ranks.len() || at < next) {
                    let parts = self.powers[from..to].to_vec();
                    for lot in parts.chunks(LOT) {
                        self.powers[from..][..lot.len()].copy_from_slice(lot);
                        self.ends[depth + 2] = from + lot.len();
                        self.shared_below(tree, at - 1..next.min(end), passed, groups, kept);
                    }
                    at = next;
                    break;
                }
            }
            passed = 0;
        }
    }

    /// Counts one rank of all parts of a ballot. Returns whether it passes anything on.
    #[inline(always)]
    fn rank(&mut self, rank: Group, depth: usize, weight: u64, groups: &Groups, kept: &Kept) -> bool {
        let (elected, hopefuls) = self.holders.of(rank, groups, kept);
        let equals = elected.len() + hopefuls.len();
        let (from, to) = (self.ends[depth], self.ends[depth + 1]);
        if self.ends.len() < depth + 3 {
            self.ends.push(to);
        }
        let most = to + (to - from) * equals;
        if self.powers.len() < most {
            self.powers.resize(2 * most, 0);
        }
        let share = Share::among(equals);
        let (powers, below) = self.powers.split_at_mut(to);
        let powers = &powers[from..];
        let mut end = 0;
        if let [power] = powers {
            // The usual case, with few branches. The loop also passes on the rest of hopefuls,
            // which is zero.
            let part = share.of(*power);
            for &candidate in elected.iter().chain(hopefuls) {
                let (used, rest) = kept.split(candidate as usize).of(part);
                give(&mut self.votes, candidate as usize, used, weight);
                below[end] = rest;
                end += usize::from(rest != 0);
            }
        } else {
            self.parts.clear();
            self.parts.extend(powers.iter().map(|&power| share.of(power)));
            for &candidate in elected {
                let split = kept.split(candidate as usize);
                let (mut all, mut nothing) = (0, 0);
                let below = &mut below[end..][..self.parts.len()];
                for (below, &part) in below.iter_mut().zip(&self.parts) {
                    let (used, rest) = split.of(part);
                    all += used;
                    *below = rest;
                    nothing += usize::from(rest == 0);
                }
                end += below.len() - nothing;
                if nothing > 0 {
                    leave_out_nothing(below);
                }
                give(&mut self.votes, candidate as usize, all, weight);
            }
            let hopeful = self.parts.iter().sum();
            for &candidate in hopefuls {
                give(&mut self.votes, candidate as usize, hopeful, weight);
            }
        }
        self.ends[depth + 2] = to + end;
        end > 0
    }
}

/// Visits the nodes of `above`, with weight 0, and then the nodes of `range`. Calls `run` with the
/// depth, the ranks and the weight of each node. If `run` returns false, skips the nodes below that
/// node.
#[inline(always)]
pub(super) fn walk<S: Rank>(
    tree: &Trie<S>,
    range: Range<usize>,
    above: &[u32],
    mut run: impl FnMut(usize, &[S], u64) -> bool,
) {
    let Range { start: mut at, end } = range;
    for &node in above {
        let (node, ranks) = tree.node(node as usize);
        if !run(node.depth(), ranks, 0) {
            at = node.next();
            break;
        }
    }
    while at < end {
        let (node, ranks) = tree.node(at);
        at = if run(node.depth(), ranks, node.weight()) { at + 1 } else { node.next() };
    }
}

/// A share of a power, truncated.
#[inline(always)]
fn part(power: u32, share: u32) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // a product of two numbers up to one is up to one
    let part = (u64::from(power) * u64::from(share) / u64::from(ONE)) as u32;
    part
}

/// Adds votes to a candidate. The votes of all ballots, in billionths, fit in a word, so no sum
/// overflows.
#[inline(always)]
fn give(votes: &mut [u64], candidate: usize, used: u32, weight: u64) {
    votes[candidate] += u64::from(used) * weight;
}

/// Moves the powers above zero to the front.
#[cold]
fn leave_out_nothing(powers: &mut [u32]) {
    let mut end = 0;
    for at in 0..powers.len() {
        powers[end] = powers[at];
        end += usize::from(powers[end] != 0);
    }
}

/// A divisor, in a form in which a division is a multiplication. Real divisions would take most of
/// the time of a distribution.
#[derive(Clone, Copy)]
struct Share {
    factor: u64,
    shift: u32,
}

impl Share {
    /// Rounds the factor up. For a power below 2^30, the rounding adds less than `1 / equals` to
    /// the result. Truncating the result removes this error. Zero equals divide nothing.
    #[inline(always)]
    fn among(equals: usize) -> Self {
        let equals = equals.max(1) as u64;
        let shift = 32 + equals.ilog2();
        Self { factor: (1 << shift) / equals + 1, shift }
    }

    #[inline(always)]
    fn of(self, power: u32) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // a part is no more than the whole
        let part = ((u64::from(power) * self.factor) >> self.shift) as u32;
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_quotients() {
        for equals in 1..=64 {
            for power in (0..2000).chain(ONE - 2000..=ONE).chain((0..ONE).step_by(999_983)) {
                let share = Share::among(equals as usize).of(power);
                assert_eq!(share, power / equals, "{power} / {equals}");
            }
        }
    }
}
