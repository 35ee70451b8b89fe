//! `exact` and `approx`: fractions of whole numbers without limit.
//!
//! A fraction is reduced in two cases: a keep factor, because many operations use it, and a number
//! to print. In between, a distribution adds thousands of fractions. The denominators of these
//! fractions are products of the denominators of a few keep factors, so one denominator divides the
//! other. One division then finds the common denominator of a sum. Reducing every sum would cost a
//! greatest common divisor.

use super::{Arithmetic, Fault};
use num_bigint::{BigInt, Sign};
use num_integer::Integer as _;
use std::{borrow::Cow, cmp::Ordering, fmt};
use stv_ballots::Integer;

/// Fractions without rounding. Every iteration multiplies the number of digits of the keep factors,
/// so `exact` suits elections with few seats and rounds.
pub type Exact = Rational<false>;

/// Only keep factors are rounded, up to six decimals.
pub type Approx = Rational<true>;

/// The denominator of the keep factors of `approx`.
const MILLION: u32 = 1_000_000;

/// The most bits of the denominator of a keep factor. The numerator has no more bits. With keep
/// factors of this size a distribution takes seconds, and the next distribution takes many times
/// longer.
const MOST_BITS: u64 = 1 << 18;

/// Equal numbers may have different numerators and denominators, since most fractions are not
/// reduced.
#[derive(Debug, Clone)]
pub struct Rational<const ROUNDED: bool> {
    numerator: BigInt,
    /// Always positive.
    denominator: BigInt,
}

impl<const ROUNDED: bool> Rational<ROUNDED> {
    fn whole(number: u32) -> Self {
        Self { numerator: BigInt::from(number), denominator: BigInt::from(1) }
    }

    fn is_one(&self) -> bool {
        self.numerator == self.denominator
    }

    fn reduced(&self) -> Self {
        let divisor = self.numerator.gcd(&self.denominator);
        Self { numerator: &self.numerator / &divisor, denominator: &self.denominator / &divisor }
    }

    /// Both numerators over a common denominator, and that denominator.
    fn over_common<'a>(&'a self, other: &'a Self) -> [Cow<'a, BigInt>; 3] {
        let (left, right) = (&self.denominator, &other.denominator);
        if left == right {
            return [&self.numerator, &other.numerator, left].map(Cow::Borrowed);
        }
        if left < right {
            let [second, first, common] = other.over_common(self);
            return [first, second, common];
        }
        let (factor, rest) = left.div_rem(right);
        if rest.sign() == Sign::NoSign {
            let second = &other.numerator * factor;
            return [Cow::Borrowed(&self.numerator), Cow::Owned(second), Cow::Borrowed(left)];
        }
        let divisor = left.gcd(right);
        let (left_factor, right_factor) = (right / &divisor, left / &divisor);
        let common = left * &left_factor;
        [&self.numerator * left_factor, &other.numerator * right_factor, common].map(Cow::Owned)
    }
}

impl<const ROUNDED: bool> Arithmetic for Rational<ROUNDED> {
    const DESCRIPTION: &'static str = if ROUNDED {
        "exact rational arithmetic with rounding of keep factors (6 decimal places)"
    } else {
        "exact rational arithmetic"
    };

    fn zero() -> Self {
        Self::whole(0)
    }

    fn one() -> Self {
        Self::whole(1)
    }

    fn epsilon() -> Self {
        Self::zero()
    }

    fn is_zero(&self) -> bool {
        self.numerator.sign() == Sign::NoSign
    }

    fn reaches(&self, quota: &Self) -> bool {
        self > quota
    }

    fn plus(&self, other: &Self) -> Result<Self, Fault> {
        let [left, right, denominator] = self.over_common(other);
        Ok(Self { numerator: &*left + &*right, denominator: denominator.into_owned() })
    }

    fn minus(&self, other: &Self) -> Result<Self, Fault> {
        let [left, right, denominator] = self.over_common(other);
        Ok(Self { numerator: &*left - &*right, denominator: denominator.into_owned() })
    }

    fn times(&self, other: &Self) -> Result<Self, Fault> {
        // The usual case: most ballots reach a hopeful with a power of one, and the hopeful keeps
        // all of it.
        if other.is_one() {
            return Ok(self.clone());
        }
        if self.is_one() {
            return Ok(other.clone());
        }
        Ok(Self {
            numerator: &self.numerator * &other.numerator,
            denominator: &self.denominator * &other.denominator,
        })
    }

    fn times_up(&self, other: &Self) -> Result<Self, Fault> {
        self.times(other)
    }

    fn over_up(&self, divisor: &Self) -> Result<Self, Fault> {
        if divisor.is_zero() {
            return Err(Fault::DivisionByZero);
        }
        let (mut numerator, mut denominator) =
            (&self.numerator * &divisor.denominator, &self.denominator * &divisor.numerator);
        if denominator.sign() == Sign::Minus {
            (numerator, denominator) = (-numerator, -denominator);
        }
        if ROUNDED {
            let millionths = (numerator * MILLION).div_ceil(&denominator);
            return Ok(Self { numerator: millionths, denominator: BigInt::from(MILLION) });
        }
        let quotient = Self { numerator, denominator }.reduced();
        if quotient.denominator.bits() > MOST_BITS { Err(Fault::Unwieldy) } else { Ok(quotient) }
    }

    fn times_whole(&self, factor: &Integer) -> Result<Self, Fault> {
        let numerator = match factor.word() {
            Some(1) => self.numerator.clone(),
            Some(word) => &self.numerator * word,
            None => &self.numerator * factor.to_big(),
        };
        Ok(Self { numerator, denominator: self.denominator.clone() })
    }

    fn over_whole(&self, parts: &Integer) -> Result<Self, Fault> {
        let denominator = match parts.word() {
            Some(word) => &self.denominator * word,
            None => &self.denominator * parts.to_big(),
        };
        Ok(Self { numerator: self.numerator.clone(), denominator })
    }
}

impl<const ROUNDED: bool> Ord for Rational<ROUNDED> {
    fn cmp(&self, other: &Self) -> Ordering {
        let [left, right, _] = self.over_common(other);
        left.cmp(&right)
    }
}

impl<const ROUNDED: bool> PartialOrd for Rational<ROUNDED> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<const ROUNDED: bool> PartialEq for Rational<ROUNDED> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<const ROUNDED: bool> Eq for Rational<ROUNDED> {}

impl<const ROUNDED: bool> fmt::Display for Rational<ROUNDED> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { numerator, denominator } = self.reduced();
        if denominator == BigInt::from(1) {
            write!(f, "{numerator}")
        } else {
            write!(f, "{numerator}/{denominator}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio<const ROUNDED: bool>(numerator: i64, denominator: i64) -> Rational<ROUNDED> {
        Rational { numerator: BigInt::from(numerator), denominator: BigInt::from(denominator) }
    }

    #[test]
    fn sums_and_products_are_exact() {
        let samples = [(0, 1), (1, 1), (1, 3), (-1, 3), (5, 6), (3, 4), (7, 12), (-7, 1), (10, 24)];
        for (a, b) in samples {
            for (c, d) in samples {
                let (left, right) = (ratio::<false>(a, b), ratio(c, d));
                assert_eq!(left.plus(&right), Ok(ratio(a * d + c * b, b * d)), "{left} {right}");
                assert_eq!(left.minus(&right), Ok(ratio(a * d - c * b, b * d)), "{left} {right}");
                assert_eq!(left.times(&right), Ok(ratio(a * c, b * d)), "{left} {right}");
                assert_eq!(left.times_up(&right), left.times(&right));
                assert_eq!(left < right, a * d < c * b, "{left} {right}");
                assert_eq!(left.reaches(&right), left > right, "who has just the quota is not elected");
                let quotient = left.over_up(&right);
                if c == 0 {
                    assert_eq!(quotient, Err(Fault::DivisionByZero));
                } else {
                    assert_eq!(quotient.unwrap().times(&right), Ok(left), "{a}/{b} {right}");
                }
            }
        }
    }

    #[test]
    fn approx_rounds_keep_factors_up_and_nothing_else() {
        let keep = |a, b, c, d| ratio::<true>(a, b).over_up(&ratio(c, d)).unwrap().to_string();
        assert_eq!(keep(1, 3, 1, 1), "166667/500000", "333334 millionths");
        assert_eq!(keep(1, 1, 3, 2), "666667/1000000");
        assert_eq!(keep(1, 2, 1, 1), "1/2", "what has six decimals is not rounded");
        assert_eq!(keep(1, 1_000_000_000, 7, 1), "1/1000000", "never down to nothing");
        assert_eq!(ratio::<true>(1, 7).times_up(&ratio(1, 7)).unwrap().to_string(), "1/49");
        assert_eq!(ratio::<true>(1, 1).over_whole(&Integer::Word(7)).unwrap().to_string(), "1/7");
        assert_eq!(ratio::<false>(1, 3).over_up(&ratio(1, 1)).unwrap().to_string(), "1/3");
        assert_eq!(ratio::<false>(1, 3).over_up(&ratio(-1, 1)).unwrap().to_string(), "-1/3");
    }

    #[test]
    fn fractions_are_printed_reduced() {
        for (numerator, denominator, text) in
            [(0, 5, "0"), (6, 3, "2"), (6, 4, "3/2"), (-6, 4, "-3/2"), (-4, 2, "-2")]
        {
            assert_eq!(ratio::<false>(numerator, denominator).to_string(), text);
        }
    }

    #[test]
    fn keep_factors_that_would_never_end_are_a_fault() {
        let small = |bits| Exact { numerator: BigInt::from(1), denominator: BigInt::from(1) << bits };
        assert!(small(MOST_BITS - 1).over_up(&Exact::one()).is_ok());
        assert_eq!(small(MOST_BITS).over_up(&Exact::one()), Err(Fault::Unwieldy));
        let reducible = Exact { numerator: BigInt::from(3) << MOST_BITS, ..small(MOST_BITS) };
        assert_eq!(reducible.over_up(&Exact::one()), Ok(ratio(3, 1)), "what counts is the reduced fraction");
    }

    #[test]
    fn no_number_is_too_large() {
        let huge = Integer::from_digits("100000000000000000000").unwrap();
        let votes = Exact::one().times_whole(&huge).unwrap();
        assert_eq!(votes.plus(&ratio(1, 2)).unwrap().to_string(), "200000000000000000001/2");
        assert_eq!(votes.over_whole(&huge), Ok(Exact::one()));
        assert_eq!(votes.over_up(&votes), Ok(Exact::one()));
    }
}
