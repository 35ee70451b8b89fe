//! Made-up data, and what is told about a run.

use std::{
    fmt,
    time::{Duration, Instant},
};

/// A number from 0 to below 1 for each index, the same on every rank and platform (`SplitMix64`):
/// so each rank makes the data of its share, and no other. With all the bits that fit, or sums of
/// thousands would be exact, and the same in any order.
#[must_use]
pub fn random(index: u64) -> f64 {
    let mixed = index.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    as_f64((mixed ^ (mixed >> 31)) >> 11) / 2_f64.powi(53)
}

/// A count as a number to compute with.
#[must_use]
#[expect(clippy::cast_precision_loss, reason = "at most 2^53")]
pub fn as_f64(count: u64) -> f64 {
    count as f64
}

/// A number for the bits of a result: two results have the same only if they are the same.
/// (FNV-1a, word by word; what has another number differs.)
pub fn fingerprint<'a>(result: impl IntoIterator<Item = &'a f64>) -> u64 {
    let step = |hash: u64, x: &f64| (hash ^ x.to_bits()).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    result.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

/// The value in the middle; of none, 0.
#[must_use]
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// What one round took on this rank, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its loops.
    pub loops: f64,
    /// The exchange, and the wait for ranks that were slower.
    pub exchange: f64,
    /// How long the slowest rank computed, relative to the mean of all.
    pub imbalance: f64,
}

impl Round {
    /// Of a round that ends now, whose loops took that long from its beginning on.
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
