//! Sorts slices in which few items are out of order. These items, the outliers, are taken out,
//! sorted, and put back at their correct places. That takes about *n* comparisons and two moves of
//! each item, while a sort takes *n* log *n* comparisons.
//!
//! This is drop-merge sort (Emil Ernerfeldt, 2017), made stable and parallel.
//!
//! All other items are *staying* items. An outlier *goes back* if a staying item before it is
//! greater. An outlier *goes on* if a staying item behind it is less. There is one list for each of
//! the two kinds. Among equal items, outliers that go on come first in the slice, then staying
//! items, then outliers that go back. (Assume that an outlier that goes back came before an equal
//! outlier that goes on. Then a greater staying item would come before a lesser staying item, so
//! the staying items would not be in order.) So the merge is stable without the original index of
//! each outlier.

#![allow(unsafe_code)] // moves items bitwise: out of the slice, within the slice, and back

use std::{
    iter, mem,
    ops::Range,
    ptr,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::{
    comparator::{Comparator, Indexed, Items},
    merge::{in_parallel, pieces, shares, sort_pieces, split},
};
use crate::pool::{call::executor::Executor, policy::site::GOLDEN};

/// A sample of this many pairs of neighbours, from all over the slice, is compared first.
const PAIRS_SAMPLED: usize = 512;
/// A slice of `n` items has few outliers if their number is at most `n / (8 * workers)`. The number
/// of workers matters because one thread alone takes the outliers out and puts them back, while all
/// workers would take part in a sort.
const ONE_IN_A_WORKER: usize = 8;
/// A part of `n` items has few outliers if their number is at most `n / 8`. This fraction may be
/// larger than the fraction for the whole slice, since outliers may be close together.
const ONE_IN_A_PART: usize = 8;
/// In items: if this many consecutive items are less than the last staying item, the search checks
/// whether the last staying item is the outlier.
const STREAK: usize = 8;
/// In items: where two parts meet, the search adds fewer outliers than this, or gives up.
const MEETING: usize = 64;
/// Parts per worker of the search for outliers.
const SEARCHES_A_WORKER: usize = 4;
/// In items: if there are fewer outliers than this, the calling thread sorts them alone.
const SORTED_ALONE: usize = 1 << 14;

/// Sorts `items` stably and returns true if there are few outliers. Otherwise leaves `items`
/// unchanged and returns false.
#[track_caller]
pub(super) fn sort_outliers<T: Send>(
    executor: &Executor,
    items: &mut [T],
    order: &dyn Comparator<T>,
) -> bool {
    let most = items.len() / (ONE_IN_A_WORKER * executor.workers());
    if !seem_few(&Items { items, order }, most) {
        return false;
    }
    let Some(places) = places(executor, items, most, order) else { return false };
    let mut hole = Hole::new(items);
    hole.take_out(&places, order);
    for out in &mut hole.out {
        if out.len() < SORTED_ALONE {
            order.sort(out);
        } else {
            let pieces = pieces(executor, out.len());
            sort_pieces(executor, out, pieces, order);
        }
    }
    hole.fill(order);
    true
}

/// Whether few pairs of neighbours in a sample are out of order. The limit is two thirds of the
/// fraction that `most` outliers are of all items. The margin of one third makes it less likely
/// that a slice with too many outliers passes. The sampled places are spread over the slice at
/// irregular distances, since the data may have a regular pattern.
fn seem_few(items: &dyn Indexed, most: usize) -> bool {
    let places = (0..PAIRS_SAMPLED as u64).map(|i| below(i.wrapping_mul(GOLDEN), items.len() - 1));
    let found = places.filter(|&place| items.is_less(place + 1, place)).count();
    3 * found * items.len() <= 2 * most * PAIRS_SAMPLED
}

/// Scales `number` from the range of `u64` to `0..end`.
#[allow(clippy::cast_possible_truncation, reason = "less than `end`")]
fn below(number: u64, end: usize) -> usize {
    ((u128::from(number) * end as u128) >> u64::BITS) as usize
}

/// The indices of the outliers, in ascending order. `None` if there are more than `most`, or if the
/// search takes too long.
#[track_caller]
fn places<T: Send>(
    executor: &Executor,
    items: &mut [T],
    most: usize,
    order: &dyn Comparator<T>,
) -> Option<Vec<usize>> {
    let parts: Vec<usize> = shares(items.len(), executor.workers() * SEARCHES_A_WORKER).collect();
    let mut found: Vec<Option<Vec<usize>>> = vec![None; parts.len()];
    // Only one worker accesses each part, since items need not be `Sync`.
    let jobs = iter::zip(split(items, &parts), &mut found).collect();
    let given_up = AtomicBool::new(false); // Relaxed: a hint
    in_parallel(executor, jobs, &|(part, found): (&mut [T], &mut Option<Vec<usize>>)| {
        if !given_up.load(Relaxed) {
            *found = places_in(part, most.min(part.len() / ONE_IN_A_PART), order);
            given_up.fetch_or(found.is_none(), Relaxed);
        }
    });
    places_of_all(&Items { items, order }, most, parts, found)
}

/// Joins the indices that were `found` in each of the `parts`, and returns them as [`places`] does.
fn places_of_all(
    items: &dyn Indexed,
    most: usize,
    parts: Vec<usize>,
    found: Vec<Option<Vec<usize>>>,
) -> Option<Vec<usize>> {
    let (mut all, mut begin) = (Vec::new(), 0);
    for (part, found) in iter::zip(parts, found) {
        let mut found = found?;
        for place in &mut found {
            *place += begin;
        }
        meet(items, &mut all, &mut found, begin..begin + part)?;
        all.append(&mut found);
        begin += part;
    }
    (all.len() <= most).then_some(all)
}

/// The indices of the outliers of one part, in ascending order. `None` if there are more than
/// `most`, or if the search takes too long.
///
/// If an item is less than the last staying item, either the item is an outlier, or the last
/// staying item is an outlier, perhaps together with some items before it. At first the lesser item
/// counts as the outlier. After a streak of 8 (16, 32, ...) such lesser items, the search counts
/// the staying items that are greater than the whole streak. If these are fewer than the streak's
/// items, the greater items become the outliers instead, and the items of the streak are examined
/// again.
fn places_in<T>(items: &[T], most: usize, order: &dyn Comparator<T>) -> Option<Vec<usize>> {
    let mut out: Vec<usize> = Vec::new();
    let mut last = None; // the last staying item
    // `begin` is the first index of the streak, whose items are all less than `last`. `streak` is
    // the length at which the search checks whether `last` is an outlier.
    let (mut begin, mut streak) = (0, STREAK);
    let (mut at, mut again) = (0, 0);
    while at < items.len() {
        match last {
            Some(last) if order.is_less(&items[at], &items[last]) => out.push(at),
            _ => {
                at += order.run(&items[at..], false) - 1;
                (last, begin, streak) = (Some(at), at + 1, STREAK);
            }
        }
        at += 1;
        if at - begin == streak
            && let Some(end) = last
        {
            again += streak;
            streak *= 2;
            if let Some(stays) = without_few_greater(&Items { items, order }, &out, end, begin..at) {
                let first = stays.map_or(0, |stays| stays + 1);
                let [kept, before] = [first, begin].map(|end| out.partition_point(|out| *out < end));
                out.truncate(kept);
                out.extend(first..begin);
                // Indices that were removed earlier are copied again. There are many of them only
                // if repeated comparisons of the same items give different results.
                again += (before - kept).saturating_sub(4 * (at - begin)) / STREAK;
                (last, at, streak) = (stays, begin, STREAK);
                again -= STREAK; // the items that become outliers are counted already
            }
        }
        if out.len() > most || again > items.len() / 8 {
            return None;
        }
    }
    Some(out)
}

/// Returns the last item that would stay if all staying items that are greater than all of `next`
/// became outliers. Returns `Some(None)` if no item would stay. Returns `None` if there are more
/// such greater items than items in `next`, or if they are far apart. An item is a staying item if
/// its index is not in `out`. The item at `last` is known to be greater and is not compared again.
/// So the search ends even if the order is inconsistent.
#[expect(clippy::option_option, reason = "not many, and one is left")]
fn without_few_greater(
    items: &dyn Indexed,
    out: &[usize],
    last: usize,
    next: Range<usize>,
) -> Option<Option<usize>> {
    let greater = |a, b| if items.is_less(b, a) { a } else { b };
    let (mut many, mut out) =
        (next.len(), out[..out.partition_point(|out| *out < last)].iter().rev().peekable());
    let near = last.saturating_sub(4 * many);
    let greatest = next.reduce(greater)?;
    for place in (near..=last).rev() {
        if out.next_if_eq(&&place).is_some() {
            continue;
        }
        if place < last && !items.is_less(greatest, place) {
            return Some(Some(place));
        }
        many = many.checked_sub(1)?;
    }
    if near == 0 { Some(None) } else { None }
}

/// The last index below `end` that is not in `out`.
fn before(out: &[usize], end: usize) -> Option<usize> {
    let out = &out[..out.partition_point(|out| *out < end)];
    let gone = iter::zip(out.iter().rev(), (0..end).rev()).take_while(|(out, place)| *out == place).count();
    (end - gone).checked_sub(1)
}

/// Adds outliers where a part meets the items before it, so that the staying items are in order.
/// The staying items of the part are not in `found`; the staying items before the part are not in
/// `all`. There are two candidates: the first items of the part that are less than the last item
/// before the part; and the last items before the part that are greater than the first item of the
/// part. The smaller group becomes outliers. Returns `None` if both groups have `MEETING` items or
/// more.
fn meet(items: &dyn Indexed, all: &mut Vec<usize>, found: &mut Vec<usize>, part: Range<usize>) -> Option<()> {
    let mut before = iter::successors(before(all, part.start), |place| before(all, *place)).peekable();
    let mut behind = part.filter(|place| found.binary_search(place).is_err()).peekable();
    let (Some(&last), Some(&next)) = (before.peek(), behind.peek()) else { return Some(()) };
    let less: Vec<usize> = behind.take_while(|place| items.is_less(*place, last)).take(MEETING).collect();
    let greater: Vec<usize> = before.take_while(|place| items.is_less(next, *place)).take(MEETING).collect();
    let (out, few) = if less.len() <= greater.len() { (found, less) } else { (all, greater) };
    if few.len() == MEETING {
        return None;
    }
    out.extend(few);
    out.sort_unstable();
    Some(())
}

/// A slice from which outliers are taken out. The staying items come first, then the hole. The
/// items behind the hole are not yet examined or, later, already in their final places. Dropping a
/// `Hole` moves the outliers back into the hole, so that the slice holds all items.
struct Hole<'a, T> {
    items: &'a mut [T],
    /// The number of staying items before the hole.
    stay: usize,
    /// The outliers that go on, and the outliers that go back. The hole has one place for each of
    /// them. This is an array because an index needs no branch: the kind of an outlier is
    /// practically random, so a branch would often be mispredicted.
    out: [Vec<T>; 2],
}

impl<'a, T> Hole<'a, T> {
    /// A hole of length 0 at the front.
    fn new(items: &'a mut [T]) -> Self {
        Self { items, stay: 0, out: [Vec::new(), Vec::new()] }
    }

    /// The number of places in the hole.
    fn len(&self) -> usize {
        self.out.iter().map(Vec::len).sum()
    }

    /// Takes out the items at `places`, which are in ascending order. If an item turns out to be in
    /// order between its staying neighbours, it stays.
    fn take_out(&mut self, places: &[usize], order: &dyn Comparator<T>) {
        for group in places.chunk_by(|a, b| a + 1 == *b) {
            let next = group[group.len() - 1] + 1;
            for &place in group {
                self.move_to(place);
                let (item, last) = (&self.items[place], self.items[..self.stay].last());
                let goes_back = last.is_some_and(|last| order.is_less(item, last));
                let goes_on = self.items.get(next).is_some_and(|next| order.is_less(next, item));
                if goes_back | goes_on {
                    self.take(goes_back);
                }
            }
        }
        self.move_to(self.items.len());
    }

    /// Moves the hole to `place`: the items between the two become staying items.
    fn move_to(&mut self, place: usize) {
        let end = self.stay + self.len();
        // SAFETY: the items move to the hole or to their own places, and the places that they leave
        // become the hole.
        unsafe { shift(self.items, end..place, self.stay) };
        self.stay += place - end;
    }

    /// Takes out the item right behind the hole.
    fn take(&mut self, goes_back: bool) {
        let place = self.stay + self.len();
        let out = &mut self.out[usize::from(goes_back)];
        out.reserve(1);
        // SAFETY: from here on the place belongs to the hole. The list has capacity, so nothing
        // panics before the list owns the item.
        out.push(unsafe { ptr::read(&raw const self.items[place]) });
    }

    /// Puts the sorted outliers at their correct places, the last outlier first.
    fn fill(mut self, order: &dyn Comparator<T>) {
        loop {
            let goes_back = match self.out.each_ref().map(|out| out.last()) {
                [Some(on), Some(back)] => !order.is_less(back, on),
                [None, None] => return,
                [_, back] => back.is_some(),
            };
            let Some(item) = self.out[usize::from(goes_back)].last() else { return };
            let place = order.place(&self.items[..self.stay], item, goes_back);
            self.put(goes_back, place);
        }
    }

    /// Puts the last outlier of one kind before the staying items from `place` on. These staying
    /// items move to their final places.
    fn put(&mut self, goes_back: bool, place: usize) {
        let Some(item) = self.out[usize::from(goes_back)].pop() else { return };
        let left = self.len();
        // SAFETY: these staying items move to the end of the hole, which has one place more than
        // the outliers that are left.
        unsafe { shift(self.items, place..self.stay, place + left + 1) };
        // SAFETY: this place of the hole lies right before the moved items. The hole before this
        // place has one place for each outlier that is left.
        unsafe { ptr::write(&raw mut self.items[place + left], item) };
        self.stay = place;
    }
}

impl<T> Drop for Hole<'_, T> {
    fn drop(&mut self) {
        let out = mem::take(&mut self.out).into_iter().flatten();
        for (place, item) in iter::zip(self.stay.., out) {
            // SAFETY: the hole begins behind the staying items, and has one place for each outlier.
            unsafe { ptr::write(&raw mut self.items[place], item) };
        }
    }
}

/// Moves the items `from` to the places from `to` on, bitwise.
///
/// # Safety
/// The caller owns the items that are overwritten: the caller has read or moved them before, or
/// they are among the moved items. The places that the items leave are not used as items any more.
unsafe fn shift<T>(items: &mut [T], from: Range<usize>, to: usize) {
    let len = items[from.clone()].len();
    assert!(len <= items[to..].len());
    let start = items.as_mut_ptr();
    // SAFETY: the range is in the slice, as just checked.
    let source = unsafe { start.add(from.start) };
    // SAFETY: the target is in the slice, as just checked.
    let target = unsafe { start.add(to) };
    // SAFETY: 1. both ranges are in the slice, as just checked; 2. `copy` permits an overlap.
    unsafe { ptr::copy(source, target, len) };
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{
        panic::{AssertUnwindSafe, catch_unwind, panic_any},
        sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    };

    use super::{
        super::{comparator::tests::by, merge::tests::executor},
        *,
    };
    use crate::pool::policy::site::scatter;

    const LEN: usize = if cfg!(miri) { 400 } else { 3000 };

    /// A key, and a number that makes each item unique. The item is boxed, so that Miri notices an
    /// item that is lost or duplicated.
    type Item = Box<(usize, usize)>;

    fn by_key(a: &Item, b: &Item) -> bool {
        a.0 < b.0
    }

    /// Items with ascending keys, each of them `equal` times. One item in `one_in` has a random key
    /// instead.
    #[expect(clippy::cast_possible_truncation, reason = "less than LEN")]
    fn nearly(seed: usize, equal: usize, one_in: u64) -> Vec<Item> {
        let draw = |i: usize| scatter((seed * LEN + i) as u64);
        let key = |i| if draw(i).is_multiple_of(one_in) { (draw(i + LEN) % LEN as u64) as usize } else { i };
        (0..LEN).map(|i| Box::new((key(i) / equal, i))).collect()
    }

    fn is_complete(items: &[Item]) -> bool {
        let mut numbers: Vec<usize> = items.iter().map(|item| item.1).collect();
        numbers.sort_unstable();
        numbers.into_iter().eq(0..LEN)
    }

    #[test]
    fn what_is_nearly_in_order_is_sorted_stably() {
        let executor = executor(2);
        for seed in 0..if cfg!(miri) { 2 } else { 40 } {
            for equal in [1, 2, 7, 100, LEN] {
                let mut items = nearly(seed, equal, 60);
                let mut sorted = items.clone();
                sorted.sort_by_key(|item| item.0);
                assert!(sort_outliers(&executor, &mut items, &by(by_key)), "{seed} {equal}");
                assert!(items == sorted, "{seed} {equal}");
            }
        }
    }

    /// Ascending items, except `len` neighbours at `place`, whose keys are near `key`.
    fn with_a_block(place: usize, len: usize, key: usize) -> Vec<Item> {
        let mut items: Vec<Item> = (0..LEN).map(|i| Box::new((i + 100, i))).collect();
        for (nth, item) in items[place..place + len].iter_mut().enumerate() {
            item.0 = key + nth * 7 % 5;
        }
        items
    }

    #[test]
    fn outliers_may_be_neighbours() {
        let executor = executor(2);
        let lens: &[usize] = if cfg!(miri) { &[8, 15] } else { &[1, 7, 8, 9, 15, 16, 17, 30, 40] };
        for &len in lens {
            for place in [0, 1, LEN / 8 - 9, LEN / 2, LEN - 50, LEN - len] {
                for key in [0, LEN / 3, 2 * LEN] {
                    let mut items = with_a_block(place, len, key);
                    let mut sorted = items.clone();
                    sorted.sort_by_key(|item| item.0);
                    let few = sort_outliers(&executor, &mut items, &by(by_key));
                    assert!(few || len > 15 || cfg!(miri), "{len} at {place}, {key}");
                    assert!(!few || items == sorted, "{len} at {place}, {key}");
                }
            }
        }
    }

    /// The number of outliers found, and the comparisons per item, on one thread.
    fn comparisons(items: &[Item], most: usize) -> (Option<usize>, f64) {
        let asked = AtomicU32::new(0);
        let is_less = |a: &Item, b: &Item| {
            asked.fetch_add(1, Relaxed);
            by_key(a, b)
        };
        let found = places_in(items, most, &by(&is_less)).map(|places| places.len());
        (found, f64::from(asked.load(Relaxed)) / f64::from(u32::try_from(items.len()).unwrap()))
    }

    #[test]
    #[cfg_attr(miri, ignore = "many comparisons of safe code")]
    fn blocks_are_found_in_few_comparisons() {
        for len in [1, 8, 14, 40, 100] {
            for key in [0, 2 * LEN] {
                let (found, asked) = comparisons(&with_a_block(LEN / 2, len, key), LEN);
                assert!(found.is_some_and(|found| found <= 2 * len + 5), "{len}, {key}: {found:?}");
                assert!(asked < 1.4, "{len}, {key}: {asked}");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many comparisons of safe code")]
    fn the_search_is_given_up_after_few_comparisons() {
        let interleaved = |n: usize| (0..LEN).map(|i| Box::new((i / n + i % n * LEN, i))).collect();
        let pipe = (0..LEN).map(|i| Box::new((i.min(LEN - i), i))).collect();
        let teeth = |len: usize| (0..LEN).map(|i| Box::new((i % len, i))).collect();
        for items in
            [interleaved(2), interleaved(4), pipe, teeth(4), teeth(64), nearly(1, 1, 1), nearly(1, 1, 4)]
        {
            let (found, asked) = comparisons(&items, LEN / 16);
            assert!(found.is_none() && asked < 2.0, "{found:?}, {asked}");
        }
    }

    /// The order first says of eight items that they are less than the first item. When compared
    /// again, none of them is less.
    #[test]
    fn the_search_ends_although_the_order_lies() {
        let calls = AtomicUsize::new(0);
        let lies = |_: &Item, _: &Item| {
            let before = calls.fetch_add(1, Relaxed);
            assert!(before < 100 * LEN, "without end");
            !before.is_multiple_of(16) || before == 0
        };
        let _any = places_in(&nearly(1, 1, 60), LEN, &by(&lies));
    }

    #[test]
    #[cfg_attr(miri, ignore = "many comparisons of safe code")]
    fn a_sample_sees_every_pattern() {
        for period in [2, 3, 4, 5, 8, 16, 64, 256] {
            for len in [1 << 16, 100_000, 1_000_000] {
                let saw: Vec<usize> = (0..len).map(|i| i % period).collect();
                assert_eq!(
                    seem_few(&Items { items: &saw, order: &by(usize::lt) }, len / 16),
                    period > 30,
                    "{period}, {len}"
                );
            }
        }
    }

    #[test]
    fn disordered_items_are_left_as_they_are() {
        let executor = executor(2);
        let saw = |teeth: usize| (0..LEN).map(|i| Box::new((i * teeth % LEN, i))).collect();
        for mut items in [nearly(1, 1, 1), nearly(1, 1, 4), saw(3), saw(20), saw(LEN - 1)] {
            let before = items.clone();
            assert!(!sort_outliers(&executor, &mut items, &by(by_key)));
            assert!(items == before);
        }
    }

    #[test]
    fn a_comparison_that_panics_loses_nothing() {
        let executor = executor(2);
        let (mut panicked, mut nth) = (0, 0);
        loop {
            let mut items = nearly(3, 2, 60);
            let left = AtomicUsize::new(nth);
            let is_less =
                |a: &Item, b: &Item| match left.fetch_update(Relaxed, Relaxed, |left| left.checked_sub(1)) {
                    Ok(_) => by_key(a, b),
                    Err(_) => panic_any(()),
                };
            let ended =
                catch_unwind(AssertUnwindSafe(|| sort_outliers(&executor, &mut items, &by(&is_less))));
            assert!(is_complete(&items), "{nth}");
            if ended.is_ok() {
                break;
            }
            (panicked, nth) = (panicked + 1, nth + if cfg!(miri) { 97 } else { 3 });
        }
        assert!(panicked > 10, "{panicked}");
    }

    #[test]
    fn an_order_that_is_none_loses_nothing() {
        let executor = executor(2);
        let mut taken_out = 0;
        for seed in 0..if cfg!(miri) { 4 } else { 300 } {
            let mut items = nearly(seed, 3, 60);
            let calls = AtomicUsize::new(seed);
            let lies = |a: &Item, b: &Item| {
                let lie = scatter(calls.fetch_add(1, Relaxed) as u64).is_multiple_of(200);
                by_key(a, b) != lie
            };
            // As std documents, its sorts may panic with such an order.
            let sorted = catch_unwind(AssertUnwindSafe(|| sort_outliers(&executor, &mut items, &by(&lies))));
            taken_out += usize::from(sorted.unwrap_or(false));
            assert!(is_complete(&items), "{seed}");
        }
        assert!(taken_out > 0);
    }

    /// A key, and a counter of drops.
    struct Counted<'a>(u32, &'a AtomicUsize);

    impl Drop for Counted<'_> {
        fn drop(&mut self) {
            self.1.fetch_add(1, Relaxed);
        }
    }

    #[test]
    fn a_hole_at_places_that_are_wrong_loses_nothing() {
        for places in [&[2, 1][..], &[1, 1], &[1, 4], &[0, 1, 2, 3, 4]] {
            let dropped = AtomicUsize::new(0);
            let mut items: Vec<_> = [3, 2, 1, 0].map(|key| Counted(key, &dropped)).into();
            let order = by(|a: &Counted<'_>, b: &Counted<'_>| a.0 < b.0);
            let taken = AssertUnwindSafe(|| Hole::new(&mut items).take_out(places, &order));
            assert!(catch_unwind(taken).is_err(), "{places:?}");
            let mut keys: Vec<_> = items.iter().map(|item| item.0).collect();
            keys.sort_unstable();
            assert_eq!((keys, dropped.load(Relaxed)), (vec![0, 1, 2, 3], 0), "{places:?}");
        }
    }

    #[test]
    fn an_item_in_order_stays_although_it_was_taken_for_an_outlier() {
        let mut items = [1, 9, 3, 4, 4, 2, 5, 0, 6];
        let mut hole = Hole::new(&mut items);
        hole.take_out(&[1, 2, 3, 4, 5, 7], &by(i32::lt));
        assert_eq!(hole.out, [vec![9], vec![2, 0]]);
        assert_eq!(hole.items[..hole.stay], [1, 3, 4, 4, 5, 6]);
        hole.out[1].sort_unstable();
        hole.fill(&by(i32::lt));
        assert_eq!(items, [0, 1, 2, 3, 4, 4, 5, 6, 9]);
    }

    /// On the first comparison, the order says that a large item is not greater than the small
    /// items behind it. On the next comparison, the order says that the large item is greater. So
    /// the large items are removed one by one, beginning with the last.
    #[test]
    #[cfg_attr(miri, ignore = "many comparisons of safe code")]
    fn an_order_that_changes_its_mind_is_given_up_soon() {
        const LARGE: usize = 80_000;
        let items: Vec<usize> = (1..=LARGE).chain([0; 100]).collect();
        let (asked, last_denied) = (AtomicUsize::new(0), AtomicUsize::new(LARGE));
        let is_less = |a: &usize, b: &usize| {
            asked.fetch_add(1, Relaxed);
            if *a > 0 || *b == 0 || *b >= last_denied.load(Relaxed) {
                return a < b;
            }
            last_denied.store(*b, Relaxed);
            false
        };
        assert_eq!(places_in(&items, LARGE / 8, &by(&is_less)), None);
        let again = asked.load(Relaxed) - LARGE;
        assert!(again < LARGE / 4, "{again} questions behind the last large item");
    }

    #[test]
    fn parts_meet_wherever_an_outlier_stands() {
        let executor = executor(2);
        let border = LEN / (executor.workers() * SEARCHES_A_WORKER);
        for place in (border - 12..border + 12).step_by(if cfg!(miri) { 5 } else { 1 }) {
            for key in [0, LEN] {
                let mut items: Vec<Item> = (0..LEN).map(|i| Box::new((i + 1, i))).collect();
                items[place].0 = key;
                assert!(sort_outliers(&executor, &mut items, &by(by_key)), "{place} {key}");
                assert!(items.is_sorted_by_key(|item| item.0), "{place} {key}");
            }
        }
    }
}
