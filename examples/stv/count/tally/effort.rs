//! The time and the loops of a count, in words.

use super::Parallel;
use crate::meek::Length;
use std::{fmt, time::Duration};
use stv_ballots::plural;

/// The time and the loops of the count.
#[derive(Debug)]
pub struct Effort {
    pub(super) parallel: Parallel,
    pub(super) threads: usize,
    pub(super) length: Length,
    pub(super) thefts: Option<u64>,
    pub(super) elapsed: Duration,
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({}), ", plural(self.threads, "thread"), self.parallel)?;
        write!(f, "{}, ", plural(self.length.distributions, "distribution"))?;
        if let Some(thefts) = self.thefts {
            write!(f, "{}, ", plural(usize::try_from(thefts).unwrap_or(usize::MAX), "theft"))?;
        }
        write!(f, "{:.3} s", self.elapsed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effort_is_one_line() {
        let effort = Effort {
            parallel: Parallel::Pool,
            threads: 2,
            length: Length { rounds: 9, distributions: 153 },
            thefts: Some(412),
            elapsed: Duration::from_micros(12_600),
        };
        assert_eq!(effort.to_string(), "2 threads (pool), 153 distributions, 412 thefts, 0.013 s");
        let effort = Effort {
            parallel: Parallel::No,
            threads: 1,
            length: Length { rounds: 0, distributions: 1 },
            thefts: None,
            elapsed: Duration::ZERO,
        };
        assert_eq!(effort.to_string(), "1 thread (no), 1 distribution, 0.000 s");
    }
}
