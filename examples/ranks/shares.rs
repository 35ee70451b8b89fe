//! The items of each rank. Shares have equal lengths at first, and equal computing times once the
//! ranks have measured. No rank steals from another, since the items lie on their ranks. In an
//! iterative algorithm the next round costs as much as the last one, so the boundaries can move
//! between rounds.
//!
//! The ranks exchange their computing times, and all ranks draw the same conclusion. No result
//! depends on the boundaries, so times may differ from run to run.

use std::{mem, ops::Range};

use rangesteal::reproducible::{block, share};

use crate::figures::as_f64;

/// A round is unfair if the time of the slowest rank is more than the mean time of all ranks, times
/// this number.
pub const UNFAIR: f64 = 1.1;
/// The boundaries move after this number of unfair rounds in a row. If the last move has not
/// helped, this number doubles. Otherwise items that cannot be divided evenly would move again and
/// again.
const PATIENCE: usize = 3;
/// The boundaries move only if the slowest rank is expected to gain a twentieth of its time, since
/// a move costs time.
const WORTHWHILE: f64 = 0.95;
/// With each correction, this part of the learnt costs is spread evenly. Otherwise a block that
/// once cost nothing would always have an estimate of zero.
const FORGOTTEN: f64 = 0.1;

/// The time of the slowest rank, divided by the mean time of all ranks. This ratio is 1 if all
/// ranks take the same time.
///
/// ```
/// assert_eq!(ranks::shares::imbalance(&[1.0, 3.0]), 1.5);
/// ```
#[must_use]
pub fn imbalance(times: &[f64]) -> f64 {
    let fair = mean(times);
    if fair > 0.0 { most(times) / fair } else { 1.0 }
}

fn mean(times: &[f64]) -> f64 {
    times.iter().sum::<f64>() / as_f64(times.len() as u64)
}

fn most(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

/// The division of a number of items into a share for each rank. Boundaries lie between
/// [blocks](rangesteal::reproducible::block), as parts of a reproducible result require.
#[derive(Clone, Debug)]
pub struct Shares {
    len: usize,
    /// The first block of each share, and the end of the last share.
    bounds: Vec<usize>,
    /// The estimated cost of each block.
    costs: Vec<f64>,
    /// The number of unfair rounds in a row.
    unfair: usize,
    /// The number of unfair rounds in a row after which the boundaries move.
    patience: usize,
    /// The imbalance at the last decision about a move, or infinity after a fair round.
    before: f64,
    /// The least time of each rank in the present row of unfair rounds.
    quickest: Vec<f64>,
}

impl Shares {
    /// Equal shares.
    ///
    /// # Panics
    /// If there are no ranks.
    #[must_use]
    pub fn new(len: usize, ranks: usize) -> Self {
        assert!(ranks > 0, "items need a rank that has them");
        let bounds = (0..ranks).map(|rank| share(len, rank, ranks).start).chain([len]);
        let bounds = bounds.map(|item| item.div_ceil(block(len))).collect();
        let costs = vec![1.0; len.div_ceil(block(len))];
        Self {
            len,
            bounds,
            costs,
            unfair: 0,
            patience: PATIENCE,
            before: f64::INFINITY,
            quickest: Vec::new(),
        }
    }

    /// The items of a rank.
    ///
    /// # Panics
    /// If `rank` is not below the number of ranks.
    #[must_use]
    pub fn of(&self, rank: usize) -> Range<usize> {
        let item = |bound: usize| (bound * block(self.len)).min(self.len);
        item(self.bounds[rank])..item(self.bounds[rank + 1])
    }

    /// The number of items of each rank.
    #[must_use]
    pub fn lengths(&self) -> Vec<usize> {
        (0..self.ranks()).map(|rank| self.of(rank).len()).collect()
    }

    fn ranks(&self) -> usize {
        self.bounds.len() - 1
    }

    /// Records a round: the computing time of each rank, without waits. Returns whether the
    /// boundaries have moved, so that every rank has to load its new share.
    pub fn learn(&mut self, times: &[f64]) -> bool {
        if imbalance(times) < UNFAIR {
            (self.unfair, self.patience, self.before) = (0, PATIENCE, f64::INFINITY);
            return false;
        }
        if self.unfair == 0 {
            self.quickest = times.to_vec();
        }
        self.unfair += 1;
        for (quickest, time) in self.quickest.iter_mut().zip(times) {
            *quickest = quickest.min(*time);
        }
        if self.unfair < self.patience {
            return false;
        }
        self.unfair = 0;
        // The fastest round is the best measure of a share's cost: disturbances only make a round
        // slower.
        let times = mem::take(&mut self.quickest);
        if imbalance(&times) > WORTHWHILE * self.before {
            self.patience *= 2;
        }
        self.before = imbalance(&times);
        self.correct(&times);
        let bounds = self.fair_bounds();
        let is_worthwhile = most(&self.expected(&bounds)) < WORTHWHILE * most(&times);
        if is_worthwhile {
            self.bounds = bounds;
        }
        is_worthwhile
    }

    /// Corrects the costs of a share's blocks, so that their sum is the share's time. Within the
    /// share the costs keep their proportions, except for a part of the time that is spread evenly.
    /// At first all blocks have equal costs. Later the proportions come from earlier boundaries.
    fn correct(&mut self, times: &[f64]) {
        for (bounds, time) in self.bounds.windows(2).zip(times) {
            let costs = &mut self.costs[bounds[0]..bounds[1]];
            let all = costs.iter().sum::<f64>();
            let even = time / as_f64(costs.len() as u64);
            for cost in costs {
                let kept = if all > 0.0 { *cost / all * time } else { even };
                *cost = (1.0 - FORGOTTEN) * kept + FORGOTTEN * even;
            }
        }
    }

    /// Boundaries of shares with equal costs. If a share would begin within a block, the block
    /// belongs to the share that contains its middle.
    fn fair_bounds(&self) -> Vec<usize> {
        let ranks = self.ranks();
        let fair = self.costs.iter().sum::<f64>() / as_f64(ranks as u64);
        let (mut bounds, mut before, mut end) = (vec![0], 0.0, fair);
        for (block, cost) in self.costs.iter().enumerate() {
            while bounds.len() < ranks && before + cost / 2.0 >= end {
                bounds.push(block);
                end += fair;
            }
            before += cost;
        }
        bounds.resize(ranks, self.costs.len());
        bounds.push(self.costs.len());
        bounds
    }

    /// The expected computing time of each rank with these boundaries.
    fn expected(&self, bounds: &[usize]) -> Vec<f64> {
        bounds.windows(2).map(|bounds| self.costs[bounds[0]..bounds[1]].iter().sum()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::random;

    const ROUNDS: usize = 200;

    /// The computing time of each rank, with some `noise`. `before` gives the time of all items
    /// before an index.
    fn times(shares: &Shares, before: &impl Fn(usize) -> f64, mut noise: impl FnMut() -> f64) -> Vec<f64> {
        let time = |share: Range<usize>| before(share.end) - before(share.start);
        (0..shares.ranks()).map(|rank| time(shares.of(rank)) * (1.0 + noise())).collect()
    }

    /// The imbalance of each round, and the rounds in which the boundaries moved.
    fn learn(
        shares: &mut Shares,
        before: impl Fn(usize) -> f64,
        mut noise: impl FnMut() -> f64,
    ) -> (Vec<f64>, Vec<usize>) {
        let (mut imbalances, mut moves) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            imbalances.push(imbalance(&times(shares, &before, || 0.0)));
            if shares.learn(&times(shares, &before, &mut noise)) {
                moves.push(round);
            }
        }
        (imbalances, moves)
    }

    /// A noise of at most 5 %.
    fn five_percent(seed: u64) -> impl FnMut() -> f64 {
        let mut index = seed << 32;
        move || {
            index += 1;
            0.1 * random(index) - 0.05
        }
    }

    /// A power law: the first items take most of the time.
    fn power_law(len: usize, power: f64) -> impl Fn(usize) -> f64 {
        move |item| (as_f64(item as u64) / as_f64(len as u64)).powf(power)
    }

    #[test]
    fn shares_are_a_partition_between_blocks_whatever_the_times() {
        for (seed, len) in [0, 1, 2, 63, 64, 65, 1000, 16_385, 300_001].into_iter().enumerate() {
            for ranks in [1, 2, 3, 4, 7, 64] {
                let mut shares = Shares::new(len, ranks);
                for round in 0..30 {
                    let mut end = 0;
                    for rank in 0..ranks {
                        let share = shares.of(rank);
                        assert_eq!(share.start, end, "{len} items, {ranks} ranks, rank {rank}");
                        let is_cut = share.end == len || share.end.is_multiple_of(block(len));
                        assert!(is_cut, "{share:?} of {len} items");
                        end = share.end;
                    }
                    assert_eq!(end, len, "{ranks} ranks");
                    assert_eq!(shares.lengths().iter().sum::<usize>(), len);
                    // Times between zero and a second.
                    let index = |rank| ((seed * 100 + ranks) * 100 + round) * 100 + rank;
                    let times =
                        (0..ranks).map(|rank| (2.0 * random(index(rank) as u64) - 1.0).max(0.0).powi(8));
                    shares.learn(&times.collect::<Vec<_>>());
                }
            }
        }
    }

    #[test]
    fn shares_are_equal_at_first() {
        for (len, ranks) in [(1000, 3), (300_001, 4), (5, 8)] {
            let shares = Shares::new(len, ranks);
            for rank in 0..ranks {
                assert_eq!(shares.of(rank), share(len, rank, ranks));
            }
        }
    }

    #[test]
    fn a_few_moves_make_a_power_law_fair() {
        for (power, most_moves) in [(0.5, 3), (0.25, 9)] {
            for ranks in [2, 3, 4] {
                let law = power_law(200_000, power);
                let (imbalances, moves) = learn(&mut Shares::new(200_000, ranks), law, || 0.0);
                let (first, last) = (imbalances[0], imbalances[ROUNDS - 1]);
                println!("power {power}, {ranks} ranks: {first:.2} to {last:.2} by moves after {moves:?}");
                assert!(first > 1.4 && last < UNFAIR, "power {power}, {ranks} ranks: {first} to {last}");
                assert!(moves.len() <= most_moves, "power {power}, {ranks} ranks: {moves:?}");
            }
        }
    }

    #[test]
    fn noise_alone_moves_nothing() {
        for seed in 0..50 {
            let (_, moves) =
                learn(&mut Shares::new(100_000, 4), |item| as_f64(item as u64), five_percent(seed));
            assert!(moves.is_empty(), "{moves:?}");
        }
    }

    #[test]
    fn with_noise_the_boundaries_come_to_rest() {
        for seed in 0..50 {
            let law = power_law(100_000, 0.5);
            let (imbalances, moves) = learn(&mut Shares::new(100_000, 3), law, five_percent(seed));
            assert!(imbalances[ROUNDS - 1] < UNFAIR + 0.05, "{imbalances:?}");
            assert!(moves.len() <= 5, "{moves:?}");
            // Each move is an improvement: no boundary moves back and forth.
            assert!(imbalances.windows(2).all(|pair| pair[1] < pair[0] + 0.02), "{imbalances:?}");
        }
    }

    #[test]
    fn a_block_that_outweighs_all_others_does_not_go_to_and_fro() {
        for heavy in [0, 12_345, 50_000, 99_999] {
            let before = |item| as_f64(item as u64) + if item > heavy { 1e6 } else { 0.0 };
            let (_, moves) = learn(&mut Shares::new(100_000, 2), before, five_percent(1));
            let late = moves.iter().filter(|&&round| round >= ROUNDS / 2).count();
            assert!(late <= 1, "item {heavy}: {moves:?}");
        }
    }

    #[test]
    fn what_was_free_may_become_dear() {
        let mut shares = Shares::new(100_000, 2);
        learn(&mut shares, |item| as_f64(item.min(32_000) as u64), || 0.0);
        let (imbalances, _) = learn(&mut shares, |item| as_f64(item.max(32_000) as u64), || 0.0);
        assert!(imbalances[ROUNDS - 1] < UNFAIR, "{imbalances:?}");
    }

    #[test]
    fn one_slow_round_moves_nothing() {
        let mut shares = Shares::new(100_000, 2);
        let fair = [1.0, 1.0];
        for times in [[9.0, 1.0], [9.0, 1.0], fair, [9.0, 1.0], [1.0, 9.0], [9.0, 9.0]] {
            assert!(!shares.learn(&times));
        }
        // Each rank was slow in one round only, so the boundaries stay.
        for (times, moves) in [([9.0, 1.0], false), ([1.0, 9.0], false), ([9.0, 1.0], false)] {
            assert_eq!(shares.learn(&times), moves);
        }
        for (times, moves) in [([9.0, 1.0], false), ([8.0, 1.0], false), ([9.0, 1.0], true)] {
            assert_eq!(shares.learn(&times), moves);
        }
        // Half of the items took eight ninths of the time.
        assert!(shares.of(0).len().abs_diff(50_000 * 9 / 16) < block(100_000), "{:?}", shares.of(0));
    }
}
