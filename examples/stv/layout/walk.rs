//! How the weight of many ballots goes down a tree, in machine words: the rules of `spread`, node
//! by node.

use super::{
    MOST_IN_SETS, ONE,
    groups::{Group, Groups, Shares},
    trie::{Rank, Trie},
};
use crate::{arithmetic::Fixed9, spread::KeepFactor};
use std::ops::Range;

/// The keep factors of a distribution, in billionths.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    keep: Vec<u32>,
    /// Who keeps anything.
    holders: u64,
    /// Who keeps something and passes something on.
    elected: u64,
    factors: Vec<KeepFactor<Fixed9>>,
    distribution: u64,
}

impl Kept {
    pub(super) fn clear(&mut self) {
        self.keep.clear();
        self.factors.clear();
        self.distribution += 1;
        (self.holders, self.elected) = (0, 0);
    }

    /// Says whether it is a keep factor.
    pub(super) fn push(&mut self, keep: u32) -> bool {
        // Sets are of the first 64 candidates, and only used if there are no more.
        let bit = 1_u64.checked_shl(self.keep.len().try_into().unwrap_or(u32::MAX)).unwrap_or(0);
        self.keep.push(keep);
        let Ok(factor) = KeepFactor::keeping(Fixed9::from_part(keep)) else { return false };
        self.factors.push(factor);
        if keep > 0 {
            self.holders |= bit;
        }
        if keep > 0 && keep < ONE {
            self.elected |= bit;
        }
        keep <= ONE
    }

    pub(super) fn factors(&self) -> &[KeepFactor<Fixed9>] {
        &self.factors
    }

    /// Its number, from 1.
    pub(super) fn distribution(&self) -> u64 {
        self.distribution
    }

    /// What a candidate keeps of this power, and what is passed on; both truncated.
    #[inline(always)]
    fn split(&self, power: u32, candidate: usize) -> (u32, u32) {
        let product = u64::from(power) * u64::from(self.keep[candidate]);
        let used = part(power, self.keep[candidate]);
        let exact = u64::from(used) * u64::from(ONE) == product;
        (used, power - used - u32::from(!exact))
    }
}

/// What a worker adds up, in billionths, and its place in a tree. Kept from loop to loop.
#[derive(Debug)]
pub(crate) struct Sums {
    votes: Vec<u128>,
    /// How many nodes these are the votes of: what no distribution may lose or count twice.
    pub(super) covered: usize,
    /// How much of each ballot has come to each depth: for strict ballots one power each, else the
    /// powers of its parts, depth after depth.
    powers: Vec<u32>,
    /// Where the powers of the depth before, then of each depth, end.
    ends: Vec<usize>,
    shares: Shares,
}

/// So many parts of a ballot go on together; if there are more, one lot after the other, for
/// memory's sake.
const LOT: usize = 4096;

impl Sums {
    pub(crate) fn new(candidates: usize) -> Self {
        Self {
            votes: vec![0; candidates],
            covered: 0,
            powers: Vec::new(),
            ends: Vec::new(),
            shares: Shares::default(),
        }
    }

    pub(crate) fn clear(&mut self) {
        self.votes.fill(0);
        self.covered = 0;
    }

    pub(crate) fn votes(&self) -> &[u128] {
        &self.votes
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (votes, more) in self.votes.iter_mut().zip(&other.votes) {
            *votes += more;
        }
        self.covered += other.covered;
    }

    /// Each candidate keeps a share of what the one before passed on.
    pub(super) fn strict(&mut self, tree: &Trie<u16>, range: Range<usize>, above: &[u32], kept: &Kept) {
        self.powers.resize(self.powers.len().max(self.votes.len() + 1), 0);
        self.powers[0] = ONE;
        walk(tree, range, above, |depth, ranks, weight| self.strict_run(depth, ranks, weight, kept));
    }

    /// The ranks of a node; whether anything is passed on to those below.
    #[inline(always)]
    fn strict_run(&mut self, depth: usize, ranks: &[u16], weight: u64, kept: &Kept) -> bool {
        let mut power = self.powers[depth];
        for &candidate in ranks {
            let (used, rest) = kept.split(power, usize::from(candidate));
            give(&mut self.votes, usize::from(candidate), used, weight);
            if rest == 0 {
                return false;
            }
            power = rest;
        }
        self.powers[depth + ranks.len()] = power;
        true
    }

    /// Every order of equals counts for an equal part: what all of them pass on goes to the next
    /// rank as a whole.
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

    /// The ranks of a node; whether anything is passed on to those below.
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

    /// Equals get equal parts, and what each passes on goes down on its own; a rank that nobody
    /// holds blocks the ballot.
    pub(super) fn shared<S: Rank + Into<u64>>(
        &mut self,
        tree: &Trie<S>,
        range: Range<usize>,
        above: &[u32],
        kept: &Kept,
    ) {
        self.powers.resize(self.powers.len().max(LOT), 0);
        self.powers[0] = ONE;
        self.ends.clear();
        self.ends.extend([0, 1]);
        for &node in above {
            let (node, ranks) = tree.node(node as usize);
            let mut ranks = (node.depth()..).zip(ranks);
            if !ranks.all(|(depth, &set)| self.rank(set.into(), depth, 0, kept)) {
                return self.shared_below(tree, node.next()..range.end, 0, kept);
            }
        }
        self.shared_below(tree, range, 0, kept);
    }

    /// These nodes, the first one without the ranks that have been passed.
    fn shared_below<S: Rank + Into<u64>>(
        &mut self,
        tree: &Trie<S>,
        range: Range<usize>,
        mut passed: usize,
        kept: &Kept,
    ) {
        let Range { start: mut at, end } = range;
        while at < end {
            let (node, ranks) = tree.node(at);
            let next = node.next();
            at += 1;
            while let Some(&set) = ranks.get(passed) {
                let depth = node.depth() + passed;
                passed += 1;
                if !self.rank(set.into(), depth, node.weight(), kept) {
                    at = next;
                    break;
                }
                let (from, to) = (self.ends[depth + 1], self.ends[depth + 2]);
                if to - from > LOT && (passed < ranks.len() || at < next) {
                    let parts = self.powers[from..to].to_vec();
                    for lot in parts.chunks(LOT) {
                        self.powers[from..][..lot.len()].copy_from_slice(lot);
                        self.ends[depth + 2] = from + lot.len();
                        self.shared_below(tree, at - 1..next.min(end), passed, kept);
                    }
                    at = next;
                    break;
                }
            }
            passed = 0;
        }
    }

    /// One rank of all parts of a ballot; whether anything is passed on.
    #[inline(always)]
    fn rank(&mut self, set: u64, depth: usize, weight: u64, kept: &Kept) -> bool {
        let holders = set & kept.holders;
        let equals = holders.count_ones();
        let (from, to) = (self.ends[depth], self.ends[depth + 1]);
        if self.ends.len() < depth + 3 {
            self.ends.push(to);
        }
        let most = to + (to - from) * equals as usize;
        if self.powers.len() < most {
            self.powers.resize(2 * most, 0);
        }
        let share = SHARES[equals as usize];
        let (powers, below) = self.powers.split_at_mut(to);
        let powers = &mut powers[from..];
        let mut end = 0;
        if let [power] = powers {
            // The usual case, with as few branches as can be: hopefuls too pass on what is left,
            // which is nothing.
            let part = share.of(*power);
            for candidate in members(holders) {
                let (used, rest) = kept.split(part, candidate);
                give(&mut self.votes, candidate, used, weight);
                below[end] = rest;
                end += usize::from(rest != 0);
            }
        } else {
            let elected = holders & kept.elected;
            let hopeful = powers.iter().map(|&power| share.of(power)).sum();
            for candidate in members(elected) {
                let mut all = 0;
                for &mut power in &mut *powers {
                    let (used, rest) = kept.split(share.of(power), candidate);
                    all += used;
                    below[end] = rest;
                    end += usize::from(rest != 0);
                }
                give(&mut self.votes, candidate, all, weight);
            }
            for candidate in members(holders & !elected) {
                give(&mut self.votes, candidate, hopeful, weight);
            }
        }
        self.ends[depth + 2] = to + end;
        end > 0
    }
}

/// Goes down to these nodes by way of those above, which give nothing, and through them. `run` is
/// told depth, ranks and weight of each, and tells whether anything is passed on to those below it.
#[inline(always)]
fn walk<S: Rank>(
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

#[inline(always)]
fn give(votes: &mut [u128], candidate: usize, used: u32, weight: u64) {
    votes[candidate] += u128::from(used) * u128::from(weight);
}

/// A division that takes no longer than a product: by far most of the time would be spent on
/// dividing.
#[derive(Clone, Copy)]
struct Share {
    factor: u64,
    shift: u32,
}

impl Share {
    /// The factor is rounded up, which adds less than one in `parts` to the result of a power below
    /// 2^30: nothing, once truncated.
    const fn among(parts: u32) -> Self {
        let shift = 32 + parts.ilog2();
        Self { factor: (1 << shift) / parts as u64 + 1, shift }
    }

    #[inline(always)]
    fn of(self, power: u32) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // a part is no more than the whole
        let part = ((u64::from(power) * self.factor) >> self.shift) as u32;
        part
    }
}

/// For each number of equals; among none at all it is never used.
static SHARES: [Share; MOST_IN_SETS + 1] = {
    let mut shares = [Share::among(1); MOST_IN_SETS + 1];
    let mut parts = 1;
    while parts < shares.len() {
        #[allow(clippy::cast_possible_truncation)] // up to 64
        let share = Share::among(parts as u32);
        shares[parts] = share;
        parts += 1;
    }
    shares
};

fn members(mut set: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.wrapping_sub(1);
        (first < u64::BITS).then_some(first as usize)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_quotients() {
        for parts in 1..=64 {
            for power in (0..2000).chain(ONE - 2000..=ONE).chain((0..ONE).step_by(999_983)) {
                assert_eq!(SHARES[parts as usize].of(power), power / parts, "{power} / {parts}");
            }
        }
    }
}
