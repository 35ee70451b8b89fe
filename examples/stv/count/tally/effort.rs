//! The time and the loops of a count, in words.

use super::Parallel;
use crate::meek::Length;
use std::{fmt, time::Duration};

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
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        let distributions = self.length.distributions;
        write!(f, "{} thread{} ({}), ", self.threads, plural(self.threads as u64), self.parallel)?;
        write!(f, "{distributions} distribution{}, ", plural(distributions as u64))?;
        if let Some(thefts) = self.thefts {
            write!(f, "{thefts} theft{}, ", plural(thefts))?;
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
