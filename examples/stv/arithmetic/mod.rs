//! Arithmetic: the numbers that votes, quotas and keep factors are made of.
//!
//! The count is written once, over [`Arithmetic`]; each kind of number decides for itself how it
//! rounds, what it calls reaching the quota, and when it gives up.

mod bigfixed9;
mod fixed9;
mod float64;
mod integer;
mod rational;

pub(crate) use bigfixed9::BigFixed9;
pub(crate) use fixed9::Fixed9;
pub(crate) use float64::Float64;
pub(crate) use integer::Integer;
pub(crate) use rational::{Approx, Exact};

use std::fmt;

/// A kind of number to count with. Every operation that can fail says so in its result: nothing
/// wraps around and nothing panics.
pub(crate) trait Arithmetic: Clone + PartialOrd + fmt::Display + fmt::Debug + Send + Sync {
    /// The name of this arithmetic in the transcript.
    const DESCRIPTION: &'static str;
    /// Whether a sum does not depend on the order of additions.
    const SUMS_IN_ANY_ORDER: bool = true;
    /// How to count whole distributions in machine words, if that gives the same digits.
    const WORDS: Option<Words<Self>> = None;

    fn zero() -> Self;
    fn one() -> Self;
    /// The smallest step, added to the quota so that no more candidates than seats can reach it.
    fn epsilon() -> Self;
    fn is_zero(&self) -> bool;
    /// Whether a candidate with these votes is elected at this quota.
    fn reaches(&self, quota: &Self) -> bool;

    /// Whether votes and residual, this sum, are all the ballots. Arithmetics that round their sums
    /// override this with the error they can make.
    fn balances(&self, ballots: &Self) -> bool {
        self == ballots
    }

    fn plus(&self, other: &Self) -> Result<Self, Fault>;
    fn minus(&self, other: &Self) -> Result<Self, Fault>;
    fn times(&self, other: &Self) -> Result<Self, Fault>;
    /// A product rounded up, where rounding down would take a vote below the quota.
    fn times_up(&self, other: &Self) -> Result<Self, Fault>;
    /// A quotient rounded up, for keep factors.
    fn over_up(&self, divisor: &Self) -> Result<Self, Fault>;
    /// A whole multiple, such as the weight of a ballot; exact.
    fn times_whole(&self, factor: &Integer) -> Result<Self, Fault>;
    /// A share among `parts`, which is positive.
    fn over_whole(&self, parts: &Integer) -> Result<Self, Fault>;

    /// Writes the number for another rank.
    fn write(&self, out: &mut Vec<u8>);
    /// Reads what another rank has written, and takes it away.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

/// For kinds that round every product down to billionths, and whose sums are exact.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Words<A> {
    /// The number, if it lies between zero and one.
    pub(crate) billionths: fn(&A) -> Option<u32>,
    pub(crate) from_billionths: fn(u128) -> Result<A, Fault>,
}

/// Why an operation has no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The result does not fit in the arithmetic's numbers.
    Overflow,
    /// The result is beyond the largest floating-point number.
    Infinite,
    /// A keep factor has more digits than the count could finish with.
    Unwieldy,
    /// A quotient by zero votes.
    DivisionByZero,
    /// Not every ballot was counted once.
    Incomplete,
    /// Another rank has ended: see `ranks`.
    Elsewhere,
}

impl Fault {
    const ALL: [Self; 6] = [
        Self::Overflow,
        Self::Infinite,
        Self::Unwieldy,
        Self::DivisionByZero,
        Self::Incomplete,
        Self::Elsewhere,
    ];

    /// Its number, from 1, by which other ranks know it.
    pub(crate) fn number(self) -> u8 {
        self as u8 + 1
    }

    pub(crate) fn from_number(number: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|fault| fault.number() == number)
    }
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
            Self::Elsewhere => "another rank has ended the count",
            Self::DivisionByZero => {
                "an elected candidate was left without any vote, so that no keep factor exists; stop iterating earlier with a smaller --omega-exponent"
            }
        })
    }
}

impl std::error::Error for Fault {}
