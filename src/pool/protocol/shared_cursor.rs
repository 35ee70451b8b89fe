//! The cursor of a search for the first match: all workers claim blocks of the slice from the
//! front.
//!
//! A block is small compared to the number of items before it. So when a match is found, few items
//! behind the match have been tested. Nothing is stolen, because no worker owns a range. No item
//! depends on a worker that comes late or never.

#![allow(unused_qualifications)] // models use the steps of `check`

use std::ops::Range;

use crossbeam_utils::CachePadded;

#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::protocol::shared_cursor as steps;
use crate::sync::{AtomicUsize, Ordering};

/// The items that no worker has claimed.
///
/// `Relaxed` throughout: the modification order of `next` guarantees that no block is claimed
/// twice, and nothing is published through it.
#[derive(Debug)]
pub(crate) struct SharedCursor {
    next: CachePadded<AtomicUsize>,
    end: usize,
    /// `block ≤ start / divisor`, where `start` is the first item of the block.
    divisor: usize,
    /// The minimum number of items per block.
    smallest: usize,
    /// The maximum number of items per block.
    largest: usize,
}

impl SharedCursor {
    /// A search of `items`, the rest of a slice, in blocks of at least `smallest` items. All items
    /// before `items` have been searched.
    pub(crate) fn new(items: Range<usize>, searchers: usize, smallest: usize) -> Self {
        const EIGHT_TIMES: usize = 8;
        /// Blocks per worker in a long slice, so that all workers end together.
        const BLOCKS: usize = 128;
        Self {
            next: CachePadded::new(AtomicUsize::new(items.start)),
            end: items.end,
            divisor: EIGHT_TIMES * searchers,
            smallest,
            largest: (items.len() / (BLOCKS * searchers)).max(smallest),
        }
    }

    /// Claims the next block. `None` if the search is over.
    pub(crate) fn claim(&self) -> Option<Range<usize>> {
        let behind = |start: usize| {
            let block = (start / self.divisor).clamp(self.smallest, self.largest);
            (start < self.end).then(|| start + block.min(self.end - start))
        };
        let start = steps::advance(&self.next, behind)?;
        Some(start..behind(start)?)
    }

    /// Ends the search: no block is claimed from now on. All blocks before the match have been
    /// claimed, by workers that may still test them.
    pub(crate) fn close(&self) {
        self.next.fetch_max(self.end, Ordering::Relaxed);
    }
}

/// Sets `next` to the result of `behind`, in one atomic step. Returns the old value, or `None` if
/// `behind` returns `None`.
#[inline(always)]
pub(crate) fn advance(next: &AtomicUsize, behind: impl Fn(usize) -> Option<usize>) -> Option<usize> {
    next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, behind).ok()
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_search_goes_from_the_front_in_small_blocks() {
        let searches = [(0..0, 1), (0..1, 2), (5..6, 3), (3..5000, 2), (1000..100_000, 4)];
        for (items, searchers) in searches {
            let front = SharedCursor::new(items.clone(), searchers, 1);
            let mut next = items.start;
            while let Some(block) = front.claim() {
                assert_eq!(block.start, next);
                assert!(!block.is_empty() && block.len() <= 1.max(block.start / (8 * searchers)));
                next = block.end;
            }
            assert_eq!(next, items.end);
        }
    }

    #[test]
    fn blocks_have_at_least_as_many_items_as_asked_for() {
        let front = SharedCursor::new(0..1000, 2, 300);
        let blocks: Vec<_> = std::iter::from_fn(|| front.claim()).collect();
        assert_eq!(blocks, [0..300, 300..600, 600..900, 900..1000]);
    }

    #[test]
    fn a_closed_search_claims_nothing() {
        let front = SharedCursor::new(0..usize::MAX, 2, 1);
        assert_eq!(front.claim(), Some(0..1));
        front.close();
        assert_eq!(front.claim(), None);
        let end = SharedCursor::new(usize::MAX - 1..usize::MAX, 1, 1);
        assert_eq!((end.claim(), end.claim()), (Some(usize::MAX - 1..usize::MAX), None));
    }
}
