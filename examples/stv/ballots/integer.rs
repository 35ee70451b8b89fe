//! Whole numbers without a limit, for weights, totals and the digits of `bigfixed9`. A number that
//! fits in a machine word takes one word.

use num_bigint::BigInt;
use std::{
    cmp::Ordering,
    fmt,
    ops::{Add, Div, Mul, Sub},
};

/// A whole number. `Big` only holds numbers that do not fit in a word, so equal numbers are equal
/// values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integer {
    /// A number of 64 bits.
    Word(i64),
    /// A number beyond 64 bits.
    Big(Box<BigInt>),
}

impl Default for Integer {
    fn default() -> Self {
        Self::Word(0)
    }
}

impl Integer {
    /// Parses a number made of ASCII digits only.
    pub fn from_digits(digits: &str) -> Option<Self> {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        match digits.parse() {
            Ok(word) => Some(Self::Word(word)),
            Err(_) => digits.parse().ok().map(Self::from_big),
        }
    }

    /// The number, if it fits in a machine word.
    #[inline]
    pub fn word(&self) -> Option<i64> {
        match self {
            Self::Word(word) => Some(*word),
            Self::Big(_) => None,
        }
    }

    /// The number as a `BigInt`.
    pub fn to_big(&self) -> BigInt {
        match self {
            Self::Word(word) => BigInt::from(*word),
            Self::Big(big) => BigInt::clone(big),
        }
    }

    pub(crate) fn from_big(big: BigInt) -> Self {
        match i64::try_from(&big) {
            Ok(word) => Self::Word(word),
            Err(_) => Self::Big(Box::new(big)),
        }
    }

    /// The sum.
    #[inline]
    pub fn plus(&self, other: &Self) -> Self {
        self.combine(other, i64::checked_add, BigInt::add)
    }

    /// The difference.
    #[inline]
    pub fn minus(&self, other: &Self) -> Self {
        self.combine(other, i64::checked_sub, BigInt::sub)
    }

    /// The product.
    #[inline]
    pub fn times(&self, other: &Self) -> Self {
        self.combine(other, i64::checked_mul, BigInt::mul)
    }

    /// The quotient, truncated; the divisor must not be zero.
    #[inline]
    pub fn over(&self, divisor: &Self) -> Self {
        self.combine(divisor, i64::checked_div, BigInt::div)
    }

    #[inline]
    fn combine(
        &self,
        other: &Self,
        words: impl FnOnce(i64, i64) -> Option<i64>,
        bigs: impl FnOnce(BigInt, BigInt) -> BigInt,
    ) -> Self {
        if let (Self::Word(left), Self::Word(right)) = (self, other)
            && let Some(word) = words(*left, *right)
        {
            return Self::Word(word);
        }
        self.combine_big(other, bigs)
    }

    /// Not inlined, so that the code for words is short enough to be inlined into the count.
    #[cold]
    #[inline(never)]
    fn combine_big(&self, other: &Self, bigs: impl FnOnce(BigInt, BigInt) -> BigInt) -> Self {
        Self::from_big(bigs(self.to_big(), other.to_big()))
    }
}

impl From<u64> for Integer {
    #[inline]
    fn from(number: u64) -> Self {
        Self::from(u128::from(number))
    }
}

impl From<u128> for Integer {
    fn from(number: u128) -> Self {
        match i64::try_from(number) {
            Ok(word) => Self::Word(word),
            Err(_) => Self::Big(Box::new(BigInt::from(number))),
        }
    }
}

impl Ord for Integer {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Word(left), Self::Word(right)) => left.cmp(right),
            _ => self.to_big().cmp(&other.to_big()),
        }
    }
}

impl PartialOrd for Integer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Integer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(word) => write!(f, "{word}"),
            Self::Big(big) => write!(f, "{big}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(digits: &str) -> Integer {
        Integer::from_digits(digits).unwrap()
    }

    #[test]
    fn only_digits_are_a_number() {
        assert_eq!(number("0042"), Integer::Word(42));
        for text in ["", "-1", "+1", "1.0", "1e3", "٣"] {
            assert_eq!(Integer::from_digits(text), None, "{text:?}");
        }
    }

    #[test]
    fn leaves_the_word_and_comes_back() {
        let (most, one) = (Integer::Word(i64::MAX), Integer::Word(1));
        let beyond = most.plus(&one);
        assert!(matches!(beyond, Integer::Big(_)));
        assert_eq!(beyond.to_string(), "9223372036854775808");
        assert_eq!(beyond, number("9223372036854775808"));
        assert_eq!(beyond.minus(&one), most, "what fits in a word is a word again");
        assert_eq!(Integer::Word(i64::MIN).over(&Integer::Word(-1)), beyond);
        assert_eq!(most.times(&most).over(&most), most);
        assert_eq!(Integer::from(u64::MAX), number("18446744073709551615"));
    }

    #[test]
    fn order_does_not_depend_on_the_representation() {
        let (word, big) = (Integer::Word(5), number("99999999999999999999"));
        let negative = Integer::Word(0).minus(&big);
        assert!(word < big && negative < word && negative < big);
    }
}
