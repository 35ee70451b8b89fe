//! Which workers take part in a loop whose items wait: the calling thread alone, until the work
//! that is left is worth the price of help.
//!
//! Only work counts, not the time that passes: an item that waits occupies no thread. So a loop
//! whose items wait and hardly compute stays on the calling thread, even if it takes long.

use std::time::Duration;

use super::prices::CLEARLY;
use crate::clock::nanos;

/// The costs of the polls so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollCosts {
    /// The number of polls.
    pub(crate) count: usize,
    /// In nanoseconds: the assumed cost of a poll, until one is measured.
    expected: f32,
}

impl PollCosts {
    /// Before the first poll. `expected` is the cost of an item in nanoseconds, if known.
    pub(crate) fn new(expected: Option<f32>) -> Self {
        Self { count: 0, expected: expected.unwrap_or(0.0) }
    }

    /// The average cost of a poll in nanoseconds. All polls so far have cost `work`.
    fn each(self, work: Duration) -> f32 {
        if self.count == 0 { self.expected } else { nanos(work) / self.count as f32 }
    }

    /// The expected cost of `left` polls in nanoseconds. All polls so far have cost `work`.
    pub(crate) fn cost(self, left: usize, work: Duration) -> f32 {
        left as f32 * self.each(work)
    }

    /// Whether `left` polls are worth the price of help, which is `help` nanoseconds. All polls so
    /// far have cost `work`.
    ///
    /// Before the first poll, the expected cost of a single poll must justify a wake-up. After the
    /// first poll, all polls so far must together have cost as much as help: the first polls take
    /// longer than others, and a few more polls show the usual cost.
    pub(crate) fn are_worth_sharing(self, left: usize, work: Duration, help: f32) -> bool {
        let left = match self.count {
            0 => left.min(1),
            _ if nanos(work) < help => 0,
            _ => left,
        };
        self.cost(left, work) >= CLEARLY * help
    }

    /// The least number of polls that are worth sharing, at least one.
    pub(crate) fn worth_sharing(self, work: Duration, help: f32) -> usize {
        (CLEARLY * help / self.each(work)).ceil().max(1.0) as usize
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn help_is_worth_what_is_left_to_compute() {
        let mut polls = PollCosts::new(None);
        let is_shared = |polls: PollCosts, left, micros| {
            polls.are_worth_sharing(left, Duration::from_micros(micros), 20e3)
        };
        assert!(!is_shared(polls, usize::MAX, 0), "nothing is known");
        assert!(is_shared(PollCosts::new(Some(1e6)), 1, 0), "it was long the last time");
        assert!(!is_shared(PollCosts::new(Some(1e3)), usize::MAX, 0), "what it costs is soon known");
        polls.count = 10;
        assert!(!is_shared(polls, 2, 100), "20 µs");
        assert!(is_shared(polls, 3, 100), "30 µs");
        assert_eq!(polls.worth_sharing(Duration::from_micros(100), 20e3), 3);
        assert_eq!(polls.worth_sharing(Duration::from_millis(100), 20e3), 1);
        assert_eq!(polls.worth_sharing(Duration::ZERO, 20e3), usize::MAX);
    }
}
