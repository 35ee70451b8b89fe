//! Made-up data, and the figures of a run.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// A number from 0 to below 1 for each index, the same on every rank and platform (`SplitMix64`).
/// So each rank makes only the data of its share. The number uses all bits that fit. With fewer
/// bits, the sum of thousands of numbers would be exact, and would not depend on the order.
#[must_use]
pub fn random(index: u64) -> f64 {
    let mixed = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    as_f64((mixed ^ (mixed >> 31)) >> 11) / 2_f64.powi(53)
}

/// A count as a floating-point number.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
pub fn as_f64(count: u64) -> f64 {
    count as f64
}

/// A fingerprint of the bits of a result (FNV-1a, word by word). Results with different
/// fingerprints differ.
pub fn fingerprint<'a>(result: impl IntoIterator<Item = &'a f64>) -> u64 {
    let step = |hash: u64, x: &f64| (hash ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    result.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The median. 0 without values.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The times of one round on this rank, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// The time of its loops.
    pub loops: f64,
    /// The time of the exchange, including the wait for slower ranks.
    pub exchange: f64,
    /// The computing time of the slowest rank, relative to the mean of all ranks.
    pub imbalance: f64,
}

impl Round {
    /// The times of a round that ends now. The loops come first in the round, and take the time
    /// `loops`.
    #[must_use]
    pub fn behind(begin: Instant, loops: Duration, imbalance: f64) -> Self {
        let (whole, loops) = (begin.elapsed().as_secs_f64(), loops.as_secs_f64());
        Self { loops, exchange: whole - loops, imbalance }
    }
}

/// The medians of some rounds.
#[derive(Clone, Copy, Debug)]
pub struct Medians<'a>(pub &'a [Round]);

impl fmt::Display for Medians<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |value: fn(&Round) -> f64| median(self.0.iter().map(value).collect());
        let whole = of(|round| round.loops + round.exchange) * 1e3;
        let (loops, exchange) = (of(|round| round.loops) * 1e3, of(|round| round.exchange) * 1e3);
        let imbalance = of(|round| round.imbalance);
        write!(
            f,
            "{whole:.3} ms a round, loops {loops:.3}, exchange and waiting {exchange:.3}, imbalance {imbalance:.2}"
        )
    }
}

#[test]
fn a_median_is_in_the_middle() {
    assert_eq!(median(vec![]).to_bits(), 0);
    assert_eq!(median(vec![3.0, 1.0, 2.0]).to_bits(), 2_f64.to_bits());
}

#[test]
fn a_fingerprint_shows_the_least_bit_and_the_order() {
    let one = [1.0, 2.0];
    for other in [[1.0, 2.0_f64.next_up()], [2.0, 1.0], [-1.0, 2.0]] {
        assert_ne!(fingerprint(&one), fingerprint(&other), "{other:?}");
    }
}
