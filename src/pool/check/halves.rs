//! The simplest possible thief, for models and tests of the protocol.

use std::ops::Range;

use crate::pool::supply::range::{StealPolicy, VictimView};

/// Steals without watching the victim, and takes half of the number of its items.
pub(crate) struct Halves;

impl StealPolicy for Halves {
    fn victim(&mut self, others: &mut dyn Iterator<Item = (usize, usize)>) -> Option<usize> {
        others.max_by_key(|&(worker, left)| (left, worker)).map(|(worker, _)| worker)
    }

    fn pays(&mut self, _victim: VictimView<'_>) -> bool {
        true
    }

    fn middle(&mut self, _victim: usize, left: Range<usize>) -> Option<usize> {
        half(left)
    }
}

/// The middle index of the range.
#[allow(clippy::unnecessary_wraps, reason = "where a theft may begin")]
pub(crate) fn half(left: Range<usize>) -> Option<usize> {
    Some(left.start + left.len() / 2)
}
