//! Appends the items that a stage makes to a vector. Short arrays and items that a test keeps are
//! appended faster than by [`Vec::extend`].

#![allow(unsafe_code)] // writes into the spare room of a Vec

use std::{mem, ops::Range, ptr};

/// In items: an array that is no longer is appended item by item.
const SHORT_ARRAY: usize = 8;

/// In items: the length of the array, if `I` iterates over a short one: its size is that of two
/// indices and the items. Otherwise a guess, which only chooses the faster way.
const fn in_array<I: Iterator>() -> usize {
    let inside = size_of::<I>().saturating_sub(size_of::<Range<usize>>());
    match inside.checked_div(size_of::<I::Item>()) {
        Some(len) if len < SHORT_ARRAY => len,
        _ => SHORT_ARRAY,
    }
}

/// Appends what `open` makes of each item. Of iterators that have no more items than a [short
/// array](in_array), `next` returns each: the compiler unrolls this loop over an array, whose items
/// then stay in registers. `extend` may call a function, which copies the array in memory.
#[inline(always)]
pub(super) fn extend_by<I: Iterator, T>(to: &mut Vec<T>, items: I, mut open: impl FnMut(I::Item) -> T) {
    let (least, most) = items.size_hint();
    if least > const { in_array::<I>() } || most != Some(least) {
        return to.extend(items.map(open));
    }
    to.reserve(least);
    let first = to.as_mut_ptr();
    let (mut len, room) = (to.len(), to.len() + least);
    for item in items {
        let item = open(item);
        if len == room {
            to.push(item); // the iterator has more items than it said
            continue;
        }
        // SAFETY: *inside*: there is room for `least` more items, and fewer have been written.
        let place = unsafe { first.add(len) };
        // SAFETY: likewise.
        unsafe { place.write(item) };
        len += 1;
        // SAFETY: the vector had `len - 1` items, and one more has just been written.
        unsafe { to.set_len(len) };
    }
}

/// Appends the items that are paired with `true`. `T` must not need a drop. No branch depends on
/// the `bool`: each item is written, and the next item overwrites an item that is paired with
/// `false`.
#[inline(always)]
pub(crate) fn extend_sifted<T>(kept: &mut Vec<T>, items: impl ExactSizeIterator<Item = (T, bool)>) {
    assert!(!mem::needs_drop::<T>());
    let most = items.len();
    kept.reserve(most);
    let room = kept.spare_capacity_mut();
    let mut count = 0;
    items.take(most).for_each(|(item, stays)| {
        // SAFETY: there is room for `most` items; the count is below `most`, since it grows at most
        // once per item and at most `most` items come.
        unsafe { room.get_unchecked_mut(count) }.write(item);
        count += usize::from(stays);
    });
    // SAFETY: 1. `count` is at most the number of places written; 2. all places below `count` have
    // been written, since `count` grows by at most one per write.
    unsafe { kept.set_len(kept.len() + count) };
}

/// Appends the items that are paired with `true` to the first vector, and the other items to the
/// second. `T` must not need a drop. No branch depends on the `bool`: each item is written to both
/// vectors, and later overwritten in one of them.
#[inline(always)]
pub(crate) fn extend_parted<T>([yes, no]: [&mut Vec<T>; 2], items: impl ExactSizeIterator<Item = (T, bool)>) {
    assert!(!mem::needs_drop::<T>());
    let most = items.len();
    yes.reserve(most);
    no.reserve(most);
    let (room, other) = (yes.spare_capacity_mut(), no.spare_capacity_mut());
    let mut counts = [0, 0];
    items.take(most).for_each(|(item, is_first)| {
        // SAFETY: there is room for `most` items; the count is below `most`, since it grows at most
        // once per item and at most `most` items come.
        let place = unsafe { room.get_unchecked_mut(counts[0]) };
        // SAFETY: likewise.
        let another = unsafe { other.get_unchecked_mut(counts[1]) };
        // SAFETY: only one of an item's two copies is used, since one of the counts does not grow.
        place.write(unsafe { ptr::read(&raw const item) });
        another.write(item);
        counts[0] += usize::from(is_first);
        counts[1] += usize::from(!is_first);
    });
    // SAFETY: `counts[0]` places have been written, one behind another.
    unsafe { yes.set_len(yes.len() + counts[0]) };
    // SAFETY: likewise.
    unsafe { no.set_len(no.len() + counts[1]) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        array,
        panic::{AssertUnwindSafe, catch_unwind},
        slice,
        sync::Arc,
    };

    use super::*;

    /// An iterator that says that it has `said` items.
    struct Says<I> {
        items: I,
        said: usize,
    }

    impl<I: Iterator> Iterator for Says<I> {
        type Item = I::Item;

        fn next(&mut self) -> Option<I::Item> {
            self.items.next()
        }

        fn size_hint(&self) -> (usize, Option<usize>) {
            (self.said, Some(self.said))
        }
    }

    #[test]
    fn all_items_of_an_iterator_are_appended_however_many_it_says() {
        for (count, said) in (0..12).flat_map(|count| (0..12).map(move |said| (count, said))) {
            let mut all = vec![usize::MAX];
            let items = Says { items: (0..count).collect::<Vec<_>>().into_iter(), said };
            extend_by(&mut all, items, |item| item);
            assert!(all[1..].iter().copied().eq(0..count), "{count} items, {said} said");
        }
    }

    #[test]
    fn of_a_short_array_that_panics_the_items_so_far_are_kept_and_all_are_dropped() {
        let counted = Arc::new(());
        for bad in 0..4 {
            let (mut kept, mut at) = (vec![counted.clone()], 0);
            let caught = catch_unwind(AssertUnwindSafe(|| {
                extend_by(&mut kept, [0; 3].map(|_| counted.clone()).into_iter(), |item| {
                    assert_ne!(at, bad, "at {at}");
                    at += 1;
                    item
                });
            }));
            assert_eq!((caught.is_err(), kept.len(), Arc::strong_count(&counted)), (bad < 3, 1 + at, 2 + at));
        }
        assert_eq!(Arc::strong_count(&counted), 1);
    }

    #[test]
    fn the_size_of_an_iterator_tells_a_short_array() {
        assert_eq!(in_array::<array::IntoIter<u32, 2>>(), 2);
        assert_eq!(in_array::<array::IntoIter<(u64, u64), 8>>(), 8);
        assert_eq!(in_array::<array::IntoIter<u8, 99>>(), SHORT_ARRAY);
        assert_eq!(in_array::<array::IntoIter<(), 3>>(), SHORT_ARRAY);
        assert_eq!((in_array::<slice::Iter<u8>>(), in_array::<Range<u64>>()), (0, 0), "`extend` is fast");
    }

    #[test]
    fn a_test_that_panics_leaves_what_was_kept_before() {
        let mut kept = vec![7];
        let bad = |i: i32| if i == 1000 { panic!("at {i}") } else { (i, i % 2 == 0) };
        extend_sifted(&mut kept, (0..10).map(bad));
        let caught = catch_unwind(AssertUnwindSafe(|| extend_sifted(&mut kept, (10..2000).map(bad))));
        assert!(caught.is_err() && kept == [7, 0, 2, 4, 6, 8]);
        let mut sides = (vec![7], Vec::new());
        extend_parted([&mut sides.0, &mut sides.1], (0..6).map(bad));
        let parted = AssertUnwindSafe(|| extend_parted([&mut sides.0, &mut sides.1], (6..2000).map(bad)));
        assert!(catch_unwind(parted).is_err());
        assert_eq!(sides, (vec![7, 0, 2, 4], vec![1, 3, 5]));
    }
}
