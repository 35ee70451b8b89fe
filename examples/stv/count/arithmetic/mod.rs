//! Arithmetic: the numbers of votes, quotas and keep factors.
//!
//! The count is generic over [`Arithmetic`]. Each kind of number has its own rules for
//! rounding, for reaching the quota, and for giving up.

mod bigfixed9;
mod fixed9;
mod float64;
mod rational;

pub use bigfixed9::BigFixed9;
pub use fixed9::Fixed9;
pub use float64::Float64;
pub use rational::Approx;
pub use rational::Exact;

use std::fmt;
use stv_ballots::Integer;

/// A kind of number to count with. Operations that can fail return an error. Nothing wraps around
/// and nothing panics.
pub trait Arithmetic: Clone + PartialOrd + fmt::Display + fmt::Debug + Send + Sync {
    /// The name of this arithmetic in the transcript.
    const DESCRIPTION: &'static str;
    /// Whether sums do not depend on the order of additions.
    const SUMS_IN_ANY_ORDER: bool = true;
    /// The conversion to machine words, if distributions in machine words give the same digits.
    const WORDS: Option<Words<Self>> = None;

    fn zero() -> Self;
    fn one() -> Self;
    /// The smallest step. The quota includes one such step, so that at most as many candidates as
    /// there are seats can reach the quota.
    fn epsilon() -> Self;
    fn is_zero(&self) -> bool;
    /// Whether a candidate with these votes is elected at this quota.
    fn reaches(&self, quota: &Self) -> bool;

    /// Whether this sum of votes and residual is the number of all ballots. An arithmetic that
    /// rounds sums overrides this function, to allow for its rounding error.
    fn balances(&self, ballots: &Self) -> bool {
        self == ballots
    }

    fn plus(&self, other: &Self) -> Result<Self, Fault>;
    fn minus(&self, other: &Self) -> Result<Self, Fault>;
    fn times(&self, other: &Self) -> Result<Self, Fault>;
    /// A product rounded up, for cases in which rounding down would lower votes below the quota.
    fn times_up(&self, other: &Self) -> Result<Self, Fault>;
    /// A quotient rounded up, for keep factors.
    fn over_up(&self, divisor: &Self) -> Result<Self, Fault>;
    /// An exact whole multiple, such as the weight of a ballot.
    fn times_whole(&self, factor: &Integer) -> Result<Self, Fault>;
    /// The quotient by a number of parts, which is positive.
    fn over_whole(&self, parts: &Integer) -> Result<Self, Fault>;
}

/// Conversions for kinds that round every product down to billionths, and whose sums are exact.
#[derive(Debug, Clone, Copy)]
pub struct Words<A> {
    /// The number in billionths, if it lies between zero and one.
    pub(crate) billionths: fn(&A) -> Option<u32>,
    pub(crate) from_billionths: fn(u128) -> Result<A, Fault>,
}

/// The reason why an operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The result does not fit in the arithmetic's numbers.
    Overflow,
    /// The result is beyond the largest floating-point number.
    Infinite,
    /// A keep factor has too many digits for the count to finish.
    Unwieldy,
    /// A division by zero votes.
    DivisionByZero,
    /// Some ballots were not counted exactly once.
    Incomplete,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Overflow => {
                "overflow: fixed9 ends at 9223372036.854775807 votes and this election needs more; count it with --arithmetic bigfixed9"
            }
            Self::Infinite => {
                "overflow: float64 ends at 1.8e308 votes and this election needs more; count it with --arithmetic bigfixed9"
            }
            Self::Unwieldy => {
                "a keep factor has come to more than 78,000 digits, and every iteration multiplies them; count with --arithmetic approx"
            }
            Self::Incomplete => "a distribution did not count every ballot exactly once; this is a bug of this program, please report it",
            Self::DivisionByZero => {
                "an elected candidate was left without any vote, so that no keep factor exists; stop iterating earlier with a smaller --omega-exponent"
            }
        })
    }
}

impl std::error::Error for Fault {}
