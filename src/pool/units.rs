//! What an index of a round stands for: an item, a block of items, or a block of a slice that all workers go through from the
//! front.

use std::{ops::Range, sync::Arc};

/// What the indices of a round stand for. Not looked at while items are folded, but for where a loop stops.
#[derive(Clone, Debug)]
pub(crate) enum Units {
    Items,
    Blocks(Blocks),
    Stripes(Arc<Stripes>),
}

impl Units {
    /// How many items `units` are.
    pub(crate) fn items(&self, units: Range<usize>) -> usize {
        match self {
            Self::Items => units.len(),
            Self::Blocks(blocks) => blocks.items(units).len(),
            Self::Stripes(stripes) => units.map(|unit| stripes.items(unit).len()).sum(),
        }
    }

    /// How many indices of the slice `units` are.
    pub(crate) fn indices(&self, units: Range<usize>) -> usize {
        match self {
            Self::Items | Self::Blocks(_) => units.len(),
            Self::Stripes(_) => self.items(units),
        }
    }

    /// Which unit it is, from the front of the slice.
    pub(crate) fn place(&self, unit: usize) -> usize {
        match self {
            Self::Items | Self::Blocks(_) => unit,
            Self::Stripes(stripes) => stripes.place(unit),
        }
    }

    /// The end of a range with that `last` unit if nothing at or behind `place` is needed any more.
    pub(crate) fn limit(&self, last: usize, place: usize) -> usize {
        match self {
            Self::Items | Self::Blocks(_) => place,
            Self::Stripes(stripes) => stripes.limit(last, place),
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
        blocks.start * self.size..self.len.min(blocks.end.saturating_mul(self.size))
    }
}

/// Blocks dealt like cards: block `b` is in stripe `b % workers`. Who goes through a stripe goes through the whole slice with wide
/// steps, so all workers together work from the front.
///
/// The first blocks are single items, the later ones small against what lies before them: when something is found, little behind
/// it has been looked at in vain.
#[derive(Debug)]
pub(crate) struct Stripes {
    /// Where the blocks begin, and the end of the last.
    starts: Vec<usize>,
    workers: usize,
    /// Units a stripe. The last ones can be empty.
    each: usize,
}

impl Stripes {
    /// As many stripes of `items` as workers.
    pub(crate) fn new(items: Range<usize>, workers: usize) -> Self {
        /// So small are the blocks of all workers together against what lies before them,
        const IN_VAIN: usize = 8;
        /// and so many has each worker at least of a long slice, so that there is something to steal.
        const AT_LEAST: usize = 128;
        let largest = (items.len() / (AT_LEAST * workers)).max(1);
        let mut starts = vec![items.start];
        let mut start = items.start;
        while start < items.end {
            let block = ((start - items.start) / (IN_VAIN * workers)).clamp(1, largest);
            start += block.min(items.end - start);
            starts.push(start);
        }
        let each = (starts.len() - 1).div_ceil(workers);
        Self { starts, workers, each }
    }

    /// Units in all stripes together.
    pub(crate) fn count(&self) -> usize {
        self.each * self.workers
    }

    fn place(&self, unit: usize) -> usize {
        unit % self.each * self.workers + unit / self.each
    }

    /// The items of a unit.
    pub(crate) fn items(&self, unit: usize) -> Range<usize> {
        let (place, last) = (self.place(unit), self.starts.len() - 1);
        self.starts[place.min(last)]..self.starts[(place + 1).min(last)]
    }

    fn limit(&self, last: usize, place: usize) -> usize {
        let stripe = last / self.each;
        stripe * self.each + place.saturating_sub(stripe).div_ceil(self.workers).min(self.each)
    }
}

#[cfg(all(test, not(loom)))]
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
    }

    #[test]
    fn stripes_cover_the_items_from_the_front() {
        for (items, workers) in [(0..1, 2), (5..6, 3), (3..50, 2), (0..1000, 4), (1000..100_000, 3)] {
            let stripes = Stripes::new(items.clone(), workers);
            let mut units: Vec<usize> = (0..stripes.count()).collect();
            units.sort_by_key(|&unit| stripes.place(unit));
            assert!(units.iter().flat_map(|&unit| stripes.items(unit)).eq(items.clone()));
            for (place, &unit) in units.iter().enumerate() {
                assert_eq!(stripes.place(unit), place);
                let block = stripes.items(unit);
                let done = block.start - items.start.min(block.start);
                assert!(block.len() <= 1.max(done / (8 * workers)));
            }
        }
        assert!((256..600).contains(&Stripes::new(0..8 << 20, 2).count()));
    }

    #[test]
    fn stripes_are_cut_before_the_place() {
        for (items, workers) in [(0..9, 1), (0..10, 2), (0..300, 3), (0..3, 5)] {
            let stripes = Arc::new(Stripes::new(items, workers));
            let units = Units::Stripes(Arc::clone(&stripes));
            for place in 0..=stripes.count() {
                for unit in 0..stripes.count() {
                    let limit = units.limit(unit, place);
                    assert_eq!(unit < limit, units.place(unit) < place, "unit {unit}, cut at {place}");
                    let stripe = unit / stripes.each * stripes.each;
                    assert!((stripe..=stripe + stripes.each).contains(&limit));
                }
            }
        }
    }
}
