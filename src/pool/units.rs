//! What an index of a round stands for: an item, a block of items, or a worker's part in a search.

use std::ops::Range;

use crossbeam_utils::CachePadded;

use super::planted::{Bug, is_planted};
use crate::sync::{AtomicUsize, Ordering};

/// What the indices of a round stand for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Units<'a> {
    Items,
    Blocks(Blocks),
    Searchers(&'a Front),
}

impl Units<'_> {
    /// How many items `units` were.
    pub(crate) fn items(self, units: Range<usize>) -> usize {
        match self {
            Self::Items => units.len(),
            Self::Blocks(blocks) => blocks.items(units).len(),
            Self::Searchers(front) => units.map(|searcher| front.items(searcher)).sum(),
        }
    }

    /// How many indices of the slice `units` were.
    pub(crate) fn indices(self, units: Range<usize>) -> usize {
        match self {
            Self::Items | Self::Blocks(_) => units.len(),
            Self::Searchers(_) => self.items(units),
        }
    }

    /// The items that `units` were; of searchers, as many, and about where their last ones were.
    pub(crate) fn span(self, units: Range<usize>) -> Range<usize> {
        match self {
            Self::Items => units,
            Self::Blocks(blocks) => blocks.items(units),
            Self::Searchers(front) => {
                let end = units.clone().map(|searcher| front.place(searcher) + 1).max().unwrap_or(0);
                end.saturating_sub(self.items(units))..end
            }
        }
    }

    /// Where in the slice the last claim of a unit lies, be it of the unit itself or in it.
    pub(crate) fn place(self, unit: usize) -> usize {
        match self {
            Self::Items | Self::Blocks(_) => unit,
            Self::Searchers(front) => front.place(unit),
        }
    }

    /// Nothing at or behind `place` is needed any more: where the ranges of a round end then.
    pub(crate) fn end(self, place: usize) -> usize {
        match self {
            Self::Items | Self::Blocks(_) => place,
            Self::Searchers(front) => {
                front.close();
                0
            }
        }
    }
}

/// Blocks of equal size, but for the last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Blocks {
    /// Items a block, at least one.
    pub(crate) size: usize,
    /// Items altogether.
    pub(crate) len: usize,
}

impl Blocks {
    /// How many there are.
    pub(crate) fn count(self) -> usize {
        self.len.div_ceil(self.size)
    }

    /// The items of some of them.
    #[inline(always)]
    pub(crate) fn items(self, blocks: Range<usize>) -> Range<usize> {
        let item = |block: usize| self.len.min(block.saturating_mul(self.size));
        item(blocks.start)..item(blocks.end)
    }
}

/// Where a search has got to: all workers together go through the slice from the front, block by block.
///
/// A block is small against what lies before it, so when something is found little has been looked at in vain. Nothing is to be stolen here,
/// since nobody owns anything; a worker that comes late, or never, is not missed.
///
/// Relaxed throughout: that no block is claimed twice follows from the order of changes of `next` alone, and nothing is published
/// through it; the other numbers are read by whoever wrote them, or after the round.
#[derive(Debug)]
pub(crate) struct Front {
    next: CachePadded<AtomicUsize>,
    end: usize,
    /// All blocks under way together are so many times smaller than what lies before them.
    smaller: usize,
    /// Items a block, at most.
    largest: usize,
    searchers: Box<[CachePadded<Searcher>]>,
}

/// What one of them has done: where its last block lies, and how many items it has had.
#[derive(Debug, Default)]
struct Searcher {
    place: AtomicUsize,
    items: AtomicUsize,
}

impl Front {
    /// Of `items`, the rest of a slice of which all before has been searched.
    pub(crate) fn new(items: Range<usize>, searchers: usize) -> Self {
        const EIGHT_TIMES: usize = 8;
        /// So many blocks has each searcher of a long slice, so that all end together.
        const BLOCKS: usize = 128;
        Self {
            next: CachePadded::new(AtomicUsize::new(items.start)),
            end: items.end,
            smaller: EIGHT_TIMES * searchers,
            largest: (items.len() / (BLOCKS * searchers)).max(1),
            searchers: (0..searchers).map(|_| CachePadded::default()).collect(),
        }
    }

    /// The next block, for one of them; none if the search is over.
    pub(crate) fn claim(&self, searcher: usize) -> Option<Range<usize>> {
        let behind = |start: usize| {
            let block = (start / self.smaller).clamp(1, self.largest);
            (start < self.end).then(|| start + block.min(self.end - start))
        };
        if is_planted(Bug::ClaimsInTwoSteps) {
            let start = self.next.load(Ordering::Relaxed);
            self.next.store(behind(start)?, Ordering::Relaxed);
            return Some(start..behind(start)?);
        }
        let start = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, behind).ok()?;
        let block = start..behind(start)?;
        let Searcher { place, items } = &*self.searchers[searcher];
        place.store(block.start, Ordering::Relaxed);
        items.store(items.load(Ordering::Relaxed) + block.len(), Ordering::Relaxed);
        Some(block)
    }

    /// Ends the search: no block is claimed from now on.
    fn close(&self) {
        self.next.fetch_max(self.end, Ordering::Relaxed);
    }

    /// Of one that has claimed something.
    fn place(&self, searcher: usize) -> usize {
        self.searchers[searcher].place.load(Ordering::Relaxed)
    }

    fn items(&self, searcher: usize) -> usize {
        self.searchers[searcher].items.load(Ordering::Relaxed)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn blocks_cover_the_items() {
        for len in 0..40 {
            for size in 1..12 {
                let blocks = Blocks { size, len };
                let items: Vec<usize> = (0..blocks.count()).flat_map(|b| blocks.items(b..b + 1)).collect();
                assert!(items.into_iter().eq(0..len) && blocks.items(0..blocks.count()) == (0..len));
            }
        }
        let all = Blocks { size: 2, len: usize::MAX };
        assert_eq!(all.items(all.count() - 1..all.count()), usize::MAX - 1..usize::MAX);
        assert!(Blocks { size: 1 << (usize::BITS - 1), ..all }.items(2..2).is_empty());
    }

    #[test]
    fn a_search_goes_from_the_front_in_small_blocks() {
        for (items, searchers) in [(0..0, 1), (0..1, 2), (5..6, 3), (3..5000, 2), (1000..100_000, 4)] {
            let front = Front::new(items.clone(), searchers);
            let mut next = items.start;
            for turn in 0.. {
                let Some(block) = front.claim(turn % searchers) else { break };
                assert_eq!(block.start, next);
                assert!(!block.is_empty() && block.len() <= 1.max(block.start / (8 * searchers)));
                next = block.end;
            }
            assert_eq!(next, items.end);
            assert_eq!(Units::Searchers(&front).items(0..searchers), items.len());
        }
    }

    #[test]
    fn a_closed_search_claims_nothing() {
        let front = Front::new(0..usize::MAX, 2);
        assert_eq!(front.claim(1), Some(0..1));
        assert_eq!((Units::Searchers(&front).end(0), front.claim(0)), (0, None));
        let end = Front::new(usize::MAX - 1..usize::MAX, 1);
        assert_eq!((end.claim(0), end.claim(0)), (Some(usize::MAX - 1..usize::MAX), None));
        assert_eq!(Units::Searchers(&end).place(0), usize::MAX - 1);
    }
}
