//! Distributes the weight of many ballots down a tree, in machine words, by the rules of `spread`.

use super::{
    ONE,
    factors::Factors,
    groups::{Group, Groups},
    sums::Scratch,
    trie::{Cut, Node, Rank, Trie},
};

/// Counts strict ballots. Each candidate keeps a share of the power that the previous candidate
/// passed on.
pub(super) fn strict(
    tree: &Trie<u16>,
    cut: &Cut,
    factors: &Factors,
    Scratch { powers, .. }: &mut Scratch,
    votes: &mut [u64],
) {
    walk(tree, cut, powers, |candidate, power, weight| {
        let candidate = usize::from(candidate);
        let (used, rest) = factors.split(candidate).of(power);
        give(votes, candidate, used, weight);
        rest
    });
}

/// Counts ballots with equal ranks. Every order of equals counts for an equal part of the ballot.
/// All power that a rank passes on goes to the next rank as a whole.
pub(super) fn grouped(
    (tree, groups): (&Trie<Group>, &Groups),
    cut: &Cut,
    factors: &Factors,
    Scratch { powers, shares }: &mut Scratch,
    votes: &mut [u64],
) {
    shares.make_room(groups);
    walk(tree, cut, powers, |group, power, weight| {
        let (members, passed_on) = shares.of(group, groups, factors);
        for (candidate, share) in members {
            give(votes, candidate, times(power, share), weight);
        }
        times(power, passed_on)
    });
}

/// Visits the nodes above a cut, with weight 0, and then the nodes of the cut. `count` counts a
/// rank of ballots with this weight, to which this power comes. It returns the power that the rank
/// passes on. If that is zero, the rest of the node and the nodes below are skipped.
///
/// `powers` has the power that comes to each depth of the path to the present node.
#[inline(always)]
fn walk<S: Rank>(
    tree: &Trie<S>,
    Cut { nodes, above }: &Cut,
    powers: &mut [u32],
    mut count: impl FnMut(S, u32, u64) -> u32,
) {
    powers[0] = ONE;
    let mut passes_on = |node: &Node, ranks: &[S], weight: u64| {
        let mut power = powers[node.depth()];
        for &rank in ranks {
            power = count(rank, power, weight);
            if power == 0 {
                return false;
            }
        }
        powers[node.depth() + ranks.len()] = power;
        true
    };
    let mut at = nodes.start;
    for &above in above {
        let (node, ranks) = tree.node(above);
        if !passes_on(node, ranks, 0) {
            at = node.next();
            break;
        }
    }
    while at < nodes.end {
        let (node, ranks) = tree.node(at);
        at = if passes_on(node, ranks, node.weight()) { at + 1 } else { node.next() };
    }
}

/// A share of a power, truncated.
#[inline(always)]
fn times(power: u32, share: u32) -> u32 {
    #[allow(clippy::cast_possible_truncation)] // a product of two numbers up to one is up to one
    let product = (u64::from(power) * u64::from(share) / u64::from(ONE)) as u32;
    product
}

/// Adds votes to a candidate. The votes of all ballots, in billionths, fit in a word, so no sum
/// overflows.
#[inline(always)]
fn give(votes: &mut [u64], candidate: usize, used: u32, weight: u64) {
    votes[candidate] += u64::from(used) * weight;
}
