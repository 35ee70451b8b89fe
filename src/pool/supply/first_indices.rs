//! Items that begin before all others: the items that waited in the previous call of the loop.

use crossbeam_utils::CachePadded;

use super::shared_cursor::advance;
use crate::sync::AtomicUsize;

/// Indices of a loop that all workers claim first, one by one. A worker that later claims a range
/// skips these indices in it. So each of these items begins once (case 15).
#[derive(Debug)]
pub(crate) struct FirstIndices {
    /// In ascending order.
    indices: Vec<usize>,
    /// The number of claimed indices. Relaxed: only its modification order counts.
    next: CachePadded<AtomicUsize>,
}

impl FirstIndices {
    /// Makes the list of first indices from `indices`, which must be in ascending order.
    pub(crate) fn new(indices: Vec<usize>) -> Self {
        debug_assert!(indices.is_sorted());
        Self { indices, next: CachePadded::default() }
    }

    /// Claims the next index, if one is left.
    #[inline(always)]
    pub(crate) fn claim(&self) -> Option<usize> {
        let at = advance(&self.next, |next| (next < self.indices.len()).then_some(next + 1))?;
        Some(self.indices[at])
    }

    /// The distance from `index` to the next first index: 0 if `index` is a first index,
    /// `usize::MAX` if no first index follows.
    #[inline(always)]
    pub(crate) fn distance(&self, index: usize) -> usize {
        let next = self.indices.partition_point(|&early| early < index);
        self.indices.get(next).map_or(usize::MAX, |early| early - index)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn each_is_claimed_once_and_seen_from_before() {
        let early = FirstIndices::new(vec![2, 3, 7]);
        assert_eq!([0, 2, 3, 4, 7, 8].map(|index| early.distance(index)), [2, 0, 0, 3, 0, usize::MAX]);
        assert_eq!([(); 5].map(|()| early.claim()), [Some(2), Some(3), Some(7), None, None]);
        let none = FirstIndices::new(Vec::new());
        assert_eq!((none.distance(0), none.claim()), (usize::MAX, None));
    }
}
