//! The cursor of a search or of a loop in order: workers claim blocks of a part of the slice from
//! the front of the part.
//!
//! A block is small compared to the number of items before it. So when a match is found, few items
//! behind the match have been tested. Nothing is stolen, because no worker owns a range. No item
//! depends on a worker that comes late or never.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use crate::sync::{AtomicUsize, Ordering};

/// The number of items before a block is at least this number times the size of the block, for each
/// worker.
pub(crate) const EIGHT_TIMES: usize = 8;

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

    /// A cursor for each of `searchers` equal parts of `items`. A block is as large as if there
    /// were one cursor.
    pub(crate) fn parts(items: Range<usize>, searchers: usize, smallest: usize) -> (Self, Box<[Self]>) {
        let whole = Self::new(items.clone(), searchers, smallest);
        let begin = |part: usize| items.start + items.len() / searchers * part;
        let part = |part: usize| {
            let end = if part + 1 == searchers { items.end } else { begin(part + 1) };
            Self { next: CachePadded::new(AtomicUsize::new(begin(part))), end, ..whole }
        };
        (part(0), (1..searchers).map(part).collect())
    }

    /// Claims the next block, of at most `most` items or the minimum. `None` if no item is left.
    pub(crate) fn claim(&self, most: usize) -> Option<Range<usize>> {
        let behind = |start: usize| {
            let block = (start / self.divisor).min(most).clamp(self.smallest, self.largest);
            (start < self.end).then(|| start + block.min(self.end - start))
        };
        let start = advance(&self.next, behind)?;
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
            while let Some(block) = front.claim(usize::MAX) {
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
        let blocks: Vec<_> = std::iter::from_fn(|| front.claim(usize::MAX)).collect();
        assert_eq!(blocks, [0..300, 300..600, 600..900, 900..1000]);
    }

    #[test]
    fn parts_have_all_items_and_the_blocks_of_one_cursor() {
        for (items, searchers) in [(3..5000, 2), (1000..100_000, 3), (0..2, 4), (7..usize::MAX, 64)] {
            let (first, others) = SharedCursor::parts(items.clone(), searchers, 1);
            assert_eq!(others.len() + 1, searchers);
            let (whole, mut next) = (SharedCursor::new(items.clone(), searchers, 1), items.start);
            for part in [&first].into_iter().chain(&others) {
                assert_eq!((part.divisor, part.largest), (whole.divisor, whole.largest));
                while let Some(block) = part.claim(usize::MAX) {
                    assert_eq!(block.start, next);
                    next = block.end;
                }
            }
            assert_eq!(next, items.end);
        }
    }

    #[test]
    fn a_claim_takes_at_most_as_many_items_as_asked_for() {
        let cursor = SharedCursor::new(1000..100_000, 2, 3);
        assert_eq!(
            [5, 0, usize::MAX].map(|most| cursor.claim(most).map(|block| block.len())),
            [Some(5), Some(3), Some(63)]
        );
    }

    #[test]
    fn a_closed_search_claims_nothing() {
        let front = SharedCursor::new(0..usize::MAX, 2, 1);
        assert_eq!(front.claim(usize::MAX), Some(0..1));
        front.close();
        assert_eq!(front.claim(usize::MAX), None);
        let end = SharedCursor::new(usize::MAX - 1..usize::MAX, 1, 1);
        assert_eq!((end.claim(1), end.claim(1)), (Some(usize::MAX - 1..usize::MAX), None));
    }
}
