//! The keep factors of a distribution, in machine words.

use super::ONE;
use crate::{
    arithmetic::{Arithmetic, Fixed9},
    spread::KeepFactor,
};

/// The keep factors of a distribution, in billionths.
#[derive(Debug)]
pub struct Factors {
    splits: Vec<Split>,
    keep: Vec<KeepFactor<Fixed9>>,
    distribution: u64,
}

impl Factors {
    /// The factors of the distribution with this number, which is above zero and differs from the
    /// numbers of all other distributions of the count. `billionths` converts a factor. Returns
    /// `None` if a factor is not between zero and one.
    pub(crate) fn of<A: Arithmetic>(
        keep: &[KeepFactor<A>],
        billionths: fn(&A) -> Option<u32>,
        distribution: u64,
    ) -> Option<Self> {
        let billionths = keep.iter().map(|factor| billionths(factor.kept()));
        let billionths: Vec<u32> = billionths.collect::<Option<_>>()?;
        let splits = billionths.iter().map(|&keep| Split::keeping(keep)).collect();
        let keep = billionths.into_iter().map(|keep| KeepFactor::keeping(Fixed9::from_part(keep)).ok());
        Some(Self { splits, keep: keep.collect::<Option<_>>()?, distribution })
    }

    pub(super) fn keep(&self) -> &[KeepFactor<Fixed9>] {
        &self.keep
    }

    pub(super) fn distribution(&self) -> u64 {
        self.distribution
    }

    #[inline(always)]
    pub(super) fn split(&self, candidate: usize) -> Split {
        self.splits[candidate]
    }
}
/// The parts that a candidate keeps and passes on, in units of 2^-63. A product then replaces a
/// division by a billion.
#[derive(Debug, Clone, Copy)]
pub(super) struct Split {
    keep: u64,
    pass: u64,
}

impl Split {
    /// Rounds the factors up. For a power of at most one, the rounding adds less than 10^-18 to a
    /// result. The exact result is a multiple of 10^-18, so truncating to billionths removes this
    /// error.
    fn keeping(keep: u32) -> Self {
        let factor = |part: u32| {
            let factor = (u128::from(part) << 63).div_ceil(u128::from(ONE));
            u64::try_from(factor).expect("a part of 2^63")
        };
        Self { keep: factor(keep), pass: factor(ONE - keep) }
    }

    /// The kept part of this power, and the part that is passed on, both truncated.
    #[inline(always)]
    pub(super) fn of(self, power: u32) -> (u32, u32) {
        let part = |factor: u64| {
            #[allow(clippy::cast_possible_truncation)] // a part is no more than the power
            let part = ((u128::from(power) * 2 * u128::from(factor)) >> 64) as u32;
            part
        };
        (part(self.keep), part(self.pass))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_are_products() {
        let few = || (0..300).chain(ONE - 300..=ONE).chain((0..ONE).step_by(9_999_991));
        for keep in few() {
            let split = Split::keeping(keep);
            for power in few() {
                let part = |of: u32| u64::from(power) * u64::from(of) / u64::from(ONE);
                let (used, rest) = split.of(power);
                assert_eq!([used, rest].map(u64::from), [part(keep), part(ONE - keep)], "{power} * {keep}");
            }
        }
    }
}
