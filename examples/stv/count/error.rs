//! The reasons why a count stops before its end. The messages say how to go on.

use crate::arithmetic::Fault;
use std::{error::Error, fmt, io};

#[derive(Debug)]
pub enum CountError {
    Arithmetic(Fault),
    TooManyElectable {
        round: usize,
        electable: usize,
        seats: usize,
    },
    /// The votes and the residual do not add up to all ballots. That is a fault of this program.
    Unbalanced {
        round: usize,
        found: String,
        ballots: String,
    },
    /// Two ways of counting give different votes. That is a fault of this program.
    Disagreement,
    /// The record is too large. `everybody` says whether the record has all candidates at every
    /// step, instead of only changes.
    TooLarge {
        round: usize,
        everybody: bool,
    },
    /// A warning, which is an error with `--strict`.
    Strict(String),
    Transcript(io::Error),
    Threads(String),
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic(fault) => fault.fmt(f),
            Self::TooManyElectable { round, electable, seats } => write!(
                f,
                "round {round}: {electable} candidates reach the quota, but only {seats} seat(s) are left; \
                 this comes from rounding, mostly of ballots with equal ranks; count with --arithmetic approx"
            ),
            Self::Unbalanced { round, found, ballots } => write!(
                f,
                "round {round}: votes and residual are {found}, but there are {ballots} ballots; \
                 this is a fault of the program: do not use the result, and report it"
            ),
            Self::Disagreement => f.write_str(
                "counted again, ballot by ballot, the last votes are others; \
                 this is a fault of the program: do not use the result, and report it",
            ),
            Self::TooLarge { round, everybody: true } => write!(
                f,
                "round {round}: everybody's votes at every step are more than a gigabyte; \
                 write only what changes with --record changes and without --html, or the transcript, which has no limit"
            ),
            Self::TooLarge { round, everybody: false } => write!(
                f,
                "round {round}: what changes from step to step is more than a gigabyte; write the transcript, which has no limit"
            ),
            Self::Strict(warning) => write!(f, "{warning}; with --strict that is an error"),
            Self::Transcript(error) => write!(f, "cannot write the transcript: {error}"),
            Self::Threads(error) => {
                write!(f, "cannot start the threads: {error}; try fewer with --num-threads, or --parallel no")
            }
        }
    }
}

impl Error for CountError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Transcript(error) => Some(error),
            _ => None,
        }
    }
}

impl From<Fault> for CountError {
    fn from(fault: Fault) -> Self {
        Self::Arithmetic(fault)
    }
}

impl From<io::Error> for CountError {
    fn from(error: io::Error) -> Self {
        Self::Transcript(error)
    }
}
