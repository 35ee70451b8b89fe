//! The order by which a slice is sorted, and the loops that compare many items.
//!
//! The loops are compiled once for each comparison function of a program, with the comparison
//! inline. The rest of a sort is compiled only once for each type of items, and uses a
//! [`Comparator`] to call these loops or to compare a few items.

use std::mem;

use super::interleave::{MergePart, interleave};

/// In items: the size of the blocks that are compared without a branch per pair.
const BLOCK: usize = 32;

/// An order of items.
pub(crate) trait Comparator<T>: Sync {
    /// Whether `a` goes before `b`.
    fn is_less(&self, a: &T, b: &T) -> bool;

    /// Sorts on the calling thread, with one of std's sorts.
    fn sort(&self, items: &mut [T]);

    /// The length of the run at the front of `items`. A run ascends or, if `descending`, strictly
    /// descends.
    fn run(&self, items: &[T], descending: bool) -> usize;

    /// The index at which `item` belongs among the sorted `items`: behind all equal items if
    /// `behind_equal`, otherwise before all equal items. If the index is near the end, the search
    /// takes fewer comparisons.
    fn insertion_point(&self, items: &[T], item: &T, behind_equal: bool) -> usize;

    /// Merges a part until one of its sides is empty.
    fn merge(&self, part: &mut [MergePart<'_, T>; 1]);

    /// Merges four parts in lockstep until one of them has an empty side.
    fn merge_four(&self, parts: &mut [MergePart<'_, T>; 4]);
}

/// Whether the item at the first index goes before the item at the second index. Code that needs
/// only such comparisons is compiled once for all types of items.
pub(super) type ByIndex<'a> = &'a dyn Fn(usize, usize) -> bool;

/// Compares the items of a slice by their indices: a [`ByIndex`].
pub(super) fn by_index<T>(items: &[T], order: &dyn Comparator<T>) -> impl Fn(usize, usize) -> bool {
    |a, b| order.is_less(&items[a], &items[b])
}

/// The order that `is_less` defines, with one of std's sorts by this order.
pub(crate) struct By<S, L> {
    sort: S,
    pub(super) is_less: L,
}

impl<S, L> By<S, L> {
    #[inline(always)]
    pub(crate) fn new<T>(sort: S, is_less: L) -> Self
    where
        S: Fn(&mut [T]),
        L: Fn(&T, &T) -> bool,
    {
        Self { sort, is_less }
    }
}

impl<T, S, L> Comparator<T> for By<S, L>
where
    S: Fn(&mut [T]) + Sync,
    L: Fn(&T, &T) -> bool + Sync,
{
    fn is_less(&self, a: &T, b: &T) -> bool {
        (self.is_less)(a, b)
    }

    fn sort(&self, items: &mut [T]) {
        (self.sort)(items);
    }

    fn run(&self, items: &[T], descending: bool) -> usize {
        let falls = |pair: &[T]| (self.is_less)(&pair[1], &pair[0]);
        // Types without a drop, such as numbers, are compared without a branch per pair.
        let side_by_side = !mem::needs_drop::<T>();
        let mut end = 1;
        while side_by_side
            && let Some(next) = items.get(end - 1..end + BLOCK)
            && let (any, all) = next.windows(2).fold((false, true), |(any, all), pair| {
                let falls = falls(pair);
                (any | falls, all & falls)
            })
            && if descending { all } else { !any }
        {
            end += BLOCK;
        }
        let last = items[end - 1..].windows(2).take_while(|pair| falls(pair) == descending);
        end + last.count()
    }

    fn insertion_point(&self, items: &[T], item: &T, behind_equal: bool) -> usize {
        last_part(items.len(), |index| {
            let (a, b) = if behind_equal { (item, &items[index]) } else { (&items[index], item) };
            (self.is_less)(a, b) != behind_equal
        })
    }

    fn merge(&self, part: &mut [MergePart<'_, T>; 1]) {
        interleave(part, &self.is_less);
    }

    fn merge_four(&self, parts: &mut [MergePart<'_, T>; 4]) {
        interleave(parts, &self.is_less);
    }
}

/// The partition point of `0..end`: the first index for which `goes_before` is false. The search
/// begins at the end, so a partition point near the end takes fewer calls.
pub(super) fn last_part(end: usize, goes_before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high, mut step) = (0, end, 1);
    while high > 0 {
        let index = high.saturating_sub(step);
        if goes_before(index) {
            low = index + 1;
            break;
        }
        (high, step) = (index, 2 * step);
    }
    while low < high {
        let middle = low.midpoint(high);
        if goes_before(middle) { low = middle + 1 } else { high = middle }
    }
    high
}

#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) mod tests {
    use std::{cell::Cell, cmp::Ordering};

    use super::*;

    /// The order that `is_less` defines, with std's stable sort by this order.
    pub(in super::super) fn by<T>(is_less: impl Fn(&T, &T) -> bool + Sync + Copy) -> impl Comparator<T> {
        let order = move |a: &T, b: &T| match (is_less(a, b), is_less(b, a)) {
            (true, _) => Ordering::Less,
            (_, true) => Ordering::Greater,
            _ => Ordering::Equal,
        };
        By::new(move |items: &mut [T]| items.sort_by(order), is_less)
    }

    #[test]
    fn runs_are_recognised() {
        let lengths: &[usize] =
            if cfg!(miri) { &[1, 2, 45] } else { &[1, 2, 8, 9, 31, 40, 41, 42, 64, 74, 100] };
        for &len in lengths {
            for end in 1..=len {
                let mut items: Vec<usize> = (1..=len).collect();
                items[end..].fill(0);
                let texts: Vec<String> = items.iter().map(|i| format!("{i:4}")).collect();
                assert_eq!(by(usize::lt).run(&items, false), end, "{end} of {len}");
                assert_eq!(by(String::lt).run(&texts, false), end, "{end} of {len}");
                let reversed = |a: &usize, b: &usize| b < a;
                assert_eq!(by(reversed).run(&items, true), end, "{end} of {len}");
            }
        }
        assert_eq!(by(usize::lt).run(&[3, 3, 2], false), 2);
        assert_eq!(by(usize::lt).run(&[3, 2, 2], true), 2);
    }

    #[test]
    fn an_item_has_an_insertion_point_before_and_behind_equal_ones() {
        let items: Vec<usize> = (0..40).map(|i| i / 4).collect();
        for key in 0..11 {
            assert_eq!(by(usize::lt).insertion_point(&items, &key, false), (4 * key).min(40));
            assert_eq!(by(usize::lt).insertion_point(&items, &key, true), (4 * key + 4).min(40));
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many comparisons of safe code")]
    fn the_search_from_the_end_finds_every_index() {
        for end in 0..70 {
            for index in 0..=end {
                let asked = Cell::new(0);
                let goes_before = |at: usize| {
                    asked.set(asked.get() + 1);
                    at < index
                };
                assert_eq!(last_part(end, goes_before), index);
                let far = (end - index + 1).ilog2();
                assert!(asked.get() <= 2 * far + 2, "{} for {index} of {end}", asked.get());
            }
        }
    }
}
