//! Who works in a loop whose items wait: one thread, as long as it is not in arrears with so much
//! work that help would pay.
//!
//! What counts is work, not time: an item that waits costs nobody anything meanwhile. So a loop
//! whose items wait and hardly compute stays on the calling thread, however long it takes.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::time::Duration;

use super::prices::{CLEARLY, Prices};
use crate::clock::nanos;

/// How many helpers are to be woken for `work` nanoseconds.
pub(crate) fn helpers(prices: &Prices, work: f32) -> usize {
    prices.most_helpers(work) as usize
}

/// What polls have cost so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PollCosts {
    /// How many there were.
    pub(crate) count: usize,
    /// In nanoseconds: the time of one, until one is measured.
    expected: f32,
}

impl PollCosts {
    /// Before the first one: an item is expected to cost so much, in nanoseconds.
    pub(crate) fn new(expected: Option<f32>) -> Self {
        Self { count: 0, expected: expected.unwrap_or(0.0) }
    }

    /// In nanoseconds: what one costs, if all until now have cost `work`.
    fn each(self, work: Duration) -> f32 {
        if self.count == 0 { self.expected } else { nanos(work) / self.count as f32 }
    }

    /// In nanoseconds: what `left` polls cost. All until now have cost `work`.
    pub(crate) fn cost(self, left: usize, work: Duration) -> f32 {
        left as f32 * self.each(work)
    }

    /// Whether `left` polls are worth the price of `help`, in nanoseconds. All have cost `work`.
    /// Before the first, one alone must be; and then, help must have been worth it for what is
    /// done: the first ones take longer than others, and the next few show what they cost.
    pub(crate) fn are_worth_sharing(self, left: usize, work: Duration, help: f32) -> bool {
        let left = match self.count {
            0 => left.min(1),
            _ if nanos(work) < help => 0,
            _ => left,
        };
        self.cost(left, work) >= CLEARLY * help
    }

    /// From how many on they are worth it, at least one.
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
