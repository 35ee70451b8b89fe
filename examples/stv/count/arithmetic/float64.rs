//! `float64`: the processor's floating-point numbers. Sums depend on their order, so parallel code
//! must keep to one order.

use super::{Arithmetic, Fault};
use std::fmt;
use stv_ballots::Integer;

#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Float64(f64);

fn finite(value: f64) -> Result<Float64, Fault> {
    if value.is_finite() { Ok(Float64(value)) } else { Err(Fault::Infinite) }
}

/// The nearest double. Of two equally near doubles, the even one.
fn nearest(number: &Integer) -> f64 {
    match number.word() {
        #[expect(clippy::cast_precision_loss, reason = "this arithmetic is known to round")]
        Some(word) => word as f64,
        // Parsing digits rounds once, like the conversion of a word.
        None => number.to_string().parse().expect("digits are a number"),
    }
}

impl Arithmetic for Float64 {
    const DESCRIPTION: &'static str = "64-bit floating-point arithmetic";
    const SUMS_IN_ANY_ORDER: bool = false;

    fn zero() -> Self {
        Self(0.0)
    }

    #[inline]
    fn one() -> Self {
        Self(1.0)
    }

    fn epsilon() -> Self {
        Self(0.0)
    }

    #[inline]
    fn is_zero(&self) -> bool {
        self.0 == 0.0
    }

    fn reaches(&self, quota: &Self) -> bool {
        self > quota
    }

    /// The error of an addition is at most 1.1e-16 of the sum. So a tolerance of 1e-9 allows some
    /// millions of additions.
    fn balances(&self, ballots: &Self) -> bool {
        (self.0 - ballots.0).abs() <= ballots.0 * 1e-9
    }

    #[inline]
    fn plus(&self, other: &Self) -> Result<Self, Fault> {
        finite(self.0 + other.0)
    }

    #[inline]
    fn minus(&self, other: &Self) -> Result<Self, Fault> {
        finite(self.0 - other.0)
    }

    #[inline]
    fn times(&self, other: &Self) -> Result<Self, Fault> {
        finite(self.0 * other.0)
    }

    fn times_up(&self, other: &Self) -> Result<Self, Fault> {
        self.times(other)
    }

    fn over_up(&self, divisor: &Self) -> Result<Self, Fault> {
        if divisor.is_zero() { Err(Fault::DivisionByZero) } else { finite(self.0 / divisor.0) }
    }

    #[inline]
    fn times_whole(&self, factor: &Integer) -> Result<Self, Fault> {
        finite(self.0 * nearest(factor))
    }

    fn over_whole(&self, parts: &Integer) -> Result<Self, Fault> {
        finite(self.0 / nearest(parts))
    }
}

impl fmt::Display for Float64 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_those_of_doubles() {
        let (tenth, third) = (Float64(0.1), Float64(1.0 / 3.0));
        assert_eq!(tenth.plus(&Float64(0.2)).unwrap().to_string(), "0.30000000000000004");
        assert_eq!(Float64(0.3).minus(&tenth).unwrap().to_string(), "0.19999999999999998");
        assert_eq!(tenth.times(&tenth).unwrap().to_string(), "0.010000000000000002");
        assert_eq!(tenth.times_up(&tenth), tenth.times(&tenth), "nothing is rounded up");
        assert_eq!(Float64::one().over_up(&Float64(3.0)), Ok(third));
        assert_eq!(Float64::one().over_whole(&Integer::Word(3)), Ok(third));
        assert!(!tenth.reaches(&tenth) && third.reaches(&tenth));
        assert_eq!(Float64(7.0).to_string(), "7");
    }

    #[test]
    fn large_weights_are_rounded_to_the_nearest() {
        let times = |digits| Float64::one().times_whole(&Integer::from_digits(digits).unwrap());
        assert_eq!(times("9007199254740993"), Ok(Float64(9_007_199_254_740_992.0)));
        assert_eq!(times("36893488147419103232"), Ok(Float64(36_893_488_147_419_103_232.0)));
        assert_eq!(times(&"9".repeat(400)), Err(Fault::Infinite));
    }

    #[test]
    fn what_has_no_result_is_a_fault() {
        assert_eq!(Float64(f64::MAX).plus(&Float64(f64::MAX)), Err(Fault::Infinite));
        assert_eq!(Float64(1.0).over_up(&Float64(0.0)), Err(Fault::DivisionByZero));
    }
}
