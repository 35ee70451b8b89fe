//! `bigfixed9`: nine decimal places like `fixed9`, without a limit.

use super::{Arithmetic, Fault, Fixed9, Words, fixed9::SCALE};
use num_bigint::BigUint;
use std::fmt;
use stv_ballots::Integer;

/// A number of billionths.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BigFixed9(Integer);

const SCALE_INTEGER: Integer = Integer::Word(SCALE);
const STEP: Integer = Integer::Word(1);

impl Arithmetic for BigFixed9 {
    const DESCRIPTION: &'static str = Fixed9::DESCRIPTION;
    const WORDS: Option<Words<Self>> = Some(Words {
        billionths: |number| Fixed9(number.0.word()?).billionths(),
        from_billionths: |number| Ok(Self(Integer::from(number))),
    });

    fn zero() -> Self {
        Self(Integer::Word(0))
    }

    #[inline]
    fn one() -> Self {
        Self(SCALE_INTEGER)
    }

    fn epsilon() -> Self {
        Self(STEP)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.0 == Integer::Word(0)
    }

    fn reaches(&self, quota: &Self) -> bool {
        self >= quota
    }

    #[inline]
    fn plus(&self, other: &Self) -> Result<Self, Fault> {
        Ok(Self(self.0.plus(&other.0)))
    }

    #[inline]
    fn minus(&self, other: &Self) -> Result<Self, Fault> {
        Ok(Self(self.0.minus(&other.0)))
    }

    #[inline]
    fn times(&self, other: &Self) -> Result<Self, Fault> {
        // A count spends most of its time here. Nearly all numbers fit in a word, as in `fixed9`.
        if let (Integer::Word(left), Integer::Word(right)) = (&self.0, &other.0)
            && let Ok(product) = Fixed9(*left).times(&Fixed9(*right))
        {
            return Ok(Self(Integer::Word(product.0)));
        }
        Ok(Self(self.0.times(&other.0).over(&SCALE_INTEGER)))
    }

    fn times_up(&self, other: &Self) -> Result<Self, Fault> {
        let product = self.0.times(&other.0);
        Ok(Self(product.plus(&SCALE_INTEGER).minus(&STEP).over(&SCALE_INTEGER)))
    }

    fn over_up(&self, divisor: &Self) -> Result<Self, Fault> {
        if divisor.is_zero() {
            return Err(Fault::DivisionByZero);
        }
        let dividend = self.0.times(&SCALE_INTEGER);
        Ok(Self(dividend.plus(&divisor.0).minus(&STEP).over(&divisor.0)))
    }

    #[inline]
    fn times_whole(&self, factor: &Integer) -> Result<Self, Fault> {
        Ok(Self(self.0.times(factor)))
    }

    #[inline]
    fn over_whole(&self, parts: &Integer) -> Result<Self, Fault> {
        Ok(Self(self.0.over(parts)))
    }
}

impl fmt::Display for BigFixed9 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Integer::Word(word) => Fixed9(*word).fmt(f),
            Integer::Big(big) => {
                let sign = if self.0 < Integer::Word(0) { "-" } else { "" };
                let scale = BigUint::from(SCALE.unsigned_abs());
                // Pads a string, since the formatter of `BigUint` does not pad in every release.
                let fraction = (big.magnitude() % &scale).to_string();
                write!(f, "{sign}{}.{fraction:0>9}", big.magnitude() / &scale)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SEVEN: Integer = Integer::Word(7);

    fn whole(digits: &str) -> BigFixed9 {
        BigFixed9::one().times_whole(&Integer::from_digits(digits).unwrap()).unwrap()
    }

    fn steps(number: i64) -> BigFixed9 {
        BigFixed9(Integer::Word(number))
    }

    /// `fixed9` and `bigfixed9` agree if nothing overflows. Other tests check the roundings of
    /// `fixed9` by hand.
    #[test]
    fn agrees_with_fixed9_where_that_does_not_overflow() {
        let samples = [
            0,
            1,
            2,
            3,
            333_333_333,
            500_000_000,
            SCALE - 1,
            SCALE,
            SCALE + 1,
            7 * SCALE + 5,
            -3,
            i64::MAX / 3,
        ];
        for left in samples {
            for right in samples {
                let (small, big) = ((Fixed9(left), Fixed9(right)), (steps(left), steps(right)));
                let same = |small: Result<Fixed9, Fault>, big: Result<BigFixed9, Fault>| match small {
                    Ok(small) => assert_eq!(small.to_string(), big.unwrap().to_string(), "{left} {right}"),
                    Err(Fault::Overflow) => {
                        assert!(matches!(big.unwrap().0, Integer::Big(_)), "{left} {right}");
                    }
                    Err(fault) => assert_eq!(big, Err(fault)),
                };
                same(small.0.plus(&small.1), big.0.plus(&big.1));
                same(small.0.minus(&small.1), big.0.minus(&big.1));
                same(small.0.times(&small.1), big.0.times(&big.1));
                same(small.0.times_up(&small.1), big.0.times_up(&big.1));
                same(small.0.over_up(&small.1), big.0.over_up(&big.1));
                same(small.0.over_whole(&SEVEN), big.0.over_whole(&SEVEN));
                same(small.0.times_whole(&Integer::Word(right)), big.0.times_whole(&Integer::Word(right)));
                assert_eq!(small.0.reaches(&small.1), big.0.reaches(&big.1));
            }
        }
    }

    #[test]
    fn counts_beyond_a_machine_word() {
        let votes = whole("100000000000000000000").plus(&steps(5)).unwrap();
        assert_eq!(votes.to_string(), "100000000000000000000.000000005");
        assert_eq!(BigFixed9::zero().minus(&votes).unwrap().to_string(), "-100000000000000000000.000000005");
        assert_eq!(
            votes.over_whole(&Integer::Word(3)).unwrap().to_string(),
            "33333333333333333333.333333335"
        );
        assert_eq!(votes.over_up(&votes), Ok(BigFixed9::one()));
        assert_eq!(votes.times_up(&steps(1)).unwrap().to_string(), "100000000000.000000001");
    }
}
