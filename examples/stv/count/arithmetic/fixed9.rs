//! `fixed9`: nine decimal places in a 64-bit integer. A number that does not fit is a fault.

use super::{Arithmetic, Fault, Words};
use std::fmt;
use stv_ballots::Integer;

/// The number of steps of 0.000000001 in one.
pub(super) const SCALE: i64 = 1_000_000_000;

/// A number of billionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fixed9(pub(super) i64);

impl Fixed9 {
    pub(crate) fn from_part(billionths: u32) -> Self {
        Self(i64::from(billionths))
    }

    /// The number, if it lies between zero and one.
    pub(crate) fn billionths(self) -> Option<u32> {
        u32::try_from(self.0).ok().filter(|&number| i64::from(number) <= SCALE)
    }
}

fn fixed(value: Option<i64>) -> Result<Fixed9, Fault> {
    value.map(Fixed9).ok_or(Fault::Overflow)
}

fn narrow(value: i128) -> Result<Fixed9, Fault> {
    fixed(i64::try_from(value).ok())
}

impl Arithmetic for Fixed9 {
    const DESCRIPTION: &'static str = "fixed-point decimal arithmetic (9 places)";
    const WORDS: Option<Words<Self>> = Some(Words {
        billionths: |number| number.billionths(),
        from_billionths: |number| fixed(i64::try_from(number).ok()),
    });

    fn zero() -> Self {
        Self(0)
    }

    #[inline]
    fn one() -> Self {
        Self(SCALE)
    }

    fn epsilon() -> Self {
        Self(1)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.0 == 0
    }

    fn reaches(&self, quota: &Self) -> bool {
        self >= quota
    }

    #[inline]
    fn plus(&self, other: &Self) -> Result<Self, Fault> {
        fixed(self.0.checked_add(other.0))
    }

    #[inline]
    fn minus(&self, other: &Self) -> Result<Self, Fault> {
        fixed(self.0.checked_sub(other.0))
    }

    #[inline]
    fn times(&self, other: &Self) -> Result<Self, Fault> {
        // The factors of a ballot are at most one, so nearly every product fits in 64 bits. In 64
        // bits, a division by a constant takes a tenth of its time in 128 bits.
        match self.0.checked_mul(other.0) {
            Some(product) => Ok(Self(product / SCALE)),
            None => narrow(i128::from(self.0) * i128::from(other.0) / i128::from(SCALE)),
        }
    }

    fn times_up(&self, other: &Self) -> Result<Self, Fault> {
        let scale = i128::from(SCALE);
        narrow((i128::from(self.0) * i128::from(other.0) + scale - 1) / scale)
    }

    fn over_up(&self, divisor: &Self) -> Result<Self, Fault> {
        if divisor.0 == 0 {
            return Err(Fault::DivisionByZero);
        }
        let divisor = i128::from(divisor.0);
        narrow((i128::from(self.0) * i128::from(SCALE) + divisor - 1) / divisor)
    }

    #[inline]
    fn times_whole(&self, factor: &Integer) -> Result<Self, Fault> {
        fixed(factor.word().and_then(|factor| self.0.checked_mul(factor)))
    }

    fn over_whole(&self, parts: &Integer) -> Result<Self, Fault> {
        // If the number of parts does not fit in a word, each part is smaller than the smallest
        // step.
        Ok(Self(parts.word().map_or(0, |parts| self.0 / parts)))
    }
}

impl fmt::Display for Fixed9 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (magnitude, scale) = (self.0.unsigned_abs(), SCALE.unsigned_abs());
        write!(f, "{sign}{}.{:09}", magnitude / scale, magnitude % scale)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HALF: Fixed9 = Fixed9(500_000_000);
    const STEP: Fixed9 = Fixed9(1);
    const MOST: Fixed9 = Fixed9(i64::MAX);

    #[test]
    fn products_are_truncated_or_rounded_up() {
        assert_eq!(STEP.times(&HALF), Ok(Fixed9(0)));
        assert_eq!(STEP.times_up(&HALF), Ok(STEP));
        assert_eq!(Fixed9(3).times(&HALF), Ok(Fixed9(1)));
        assert_eq!(Fixed9(3).times_up(&HALF), Ok(Fixed9(2)));
        assert_eq!(Fixed9(4).times_up(&HALF), Ok(Fixed9(2)), "an exact product is not rounded");
        assert_eq!(Fixed9(-3).times(&HALF), Ok(Fixed9(-1)), "truncated towards zero");
    }

    #[test]
    fn intermediate_products_have_128_bits() {
        assert_eq!(MOST.times(&HALF), Ok(Fixed9(i64::MAX / 2)));
        assert_eq!(MOST.times_up(&Fixed9::one()), Ok(MOST));
        assert_eq!(MOST.over_up(&MOST), Ok(Fixed9::one()));
    }

    #[test]
    fn quotients_round_up_and_shares_down() {
        let three = Fixed9(3 * SCALE);
        assert_eq!(Fixed9::one().over_up(&three), Ok(Fixed9(333_333_334)));
        assert_eq!(three.over_up(&three), Ok(Fixed9::one()));
        assert_eq!(Fixed9::one().over_whole(&Integer::Word(3)), Ok(Fixed9(333_333_333)));
        assert_eq!(MOST.over_whole(&Integer::from(u64::MAX)), Ok(Fixed9(0)));
        assert_eq!(MOST.over_whole(&Integer::Word(i64::MAX)), Ok(STEP));
        assert_eq!(STEP.over_up(&Fixed9::zero()), Err(Fault::DivisionByZero));
    }

    #[test]
    fn what_does_not_fit_is_an_overflow() {
        assert_eq!(MOST.plus(&STEP), Err(Fault::Overflow));
        assert_eq!(Fixed9(i64::MIN).minus(&STEP), Err(Fault::Overflow));
        assert_eq!(MOST.times(&Fixed9(SCALE + 1)), Err(Fault::Overflow));
        assert_eq!(MOST.over_up(&HALF), Err(Fault::Overflow));
        assert_eq!(
            Fixed9::one().times_whole(&Integer::Word(9_223_372_036)),
            Ok(Fixed9(9_223_372_036_000_000_000))
        );
        assert_eq!(Fixed9::one().times_whole(&Integer::Word(9_223_372_037)), Err(Fault::Overflow));
        let huge = Integer::from_digits("18446744073709551616").unwrap();
        assert_eq!(STEP.times_whole(&huge), Err(Fault::Overflow));
    }

    #[test]
    fn nine_places_are_printed() {
        assert_eq!(Fixed9(0).to_string(), "0.000000000");
        assert_eq!(Fixed9(-1).to_string(), "-0.000000001");
        assert_eq!(Fixed9(12 * SCALE + 34).to_string(), "12.000000034");
        assert_eq!(Fixed9(i64::MIN).to_string(), "-9223372036.854775808");
    }
}
