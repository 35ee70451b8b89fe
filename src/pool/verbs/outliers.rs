//! Sorts slices in which all items but a few are in order: the few, outliers, are taken out,
//! sorted, and put back where they belong. That takes some *n* comparisons and two moves of each
//! item, where a sort takes *n* log *n*.
//!
//! The idea is that of drop-merge sort (Emil Ernerfeldt, 2017), here stably and by several workers.
//!
//! A outlier *goes back* if an item before it that stays is greater. It *goes on* if an item
//! behind it that stays is less. The two kinds are kept in two lists. Of equal items, those that go
//! on come first in the slice, then those that stay, then those that go back. (If one that goes
//! back came before an equal one that goes on, a greater item would stay before a lesser one.) So
//! the merge is stable without knowing where each outlier has been.

#![allow(unsafe_code)] // moves items bitwise: out of the slice, within it, and back

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

/// Pairs of neighbours that are looked at, all over the slice, before anything else.
const PAIRS_SAMPLED: usize = 512;
/// There are few outliers if they are at most one item in so many for each worker: one thread
/// takes them out and puts them back, while all workers would sort.
const ONE_IN_A_WORKER: usize = 8;
/// A part of the slice has few outliers if they are at most one item in so many. That may be more
/// than in the whole slice, since they may be together.
const ONE_IN_A_PART: usize = 8;
/// In items: if so many neighbours are less than the last item that stays, perhaps that one does
/// not belong there, and not they.
const STREAK: usize = 8;
/// In items: where two parts meet, fewer outliers than this are few.
const MEETING: usize = 64;
/// Parts per worker in which outliers are looked for.
const SEARCHES_A_WORKER: usize = 4;
/// In items: fewer outliers are sorted by the calling thread.
const SORTED_ALONE: usize = 1 << 14;

/// Sorts `items` stably if there are few outliers; otherwise leaves them as they are and returns
/// false.
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

/// Whether few of some neighbours are out of order: at most two thirds as many as `most` would
/// make, so that this is hardly ever wrong where there are more. They are all over the slice, and
/// at no regular distance, which a pattern may have, too.
fn seem_few(items: &dyn Indexed, most: usize) -> bool {
    let places = (0..PAIRS_SAMPLED as u64).map(|i| below(i.wrapping_mul(GOLDEN), items.len() - 1));
    let found = places.filter(|&place| items.is_less(place + 1, place)).count();
    3 * found * items.len() <= 2 * most * PAIRS_SAMPLED
}

/// As much of `end` as `number` is of the largest one.
#[allow(clippy::cast_possible_truncation, reason = "less than `end`")]
fn below(number: u64, end: usize) -> usize {
    ((u128::from(number) * end as u128) >> u64::BITS) as usize
}

/// Where the outliers are, in ascending order; none if they are more than `most`.
#[track_caller]
fn places<T: Send>(
    executor: &Executor,
    items: &mut [T],
    most: usize,
    order: &dyn Comparator<T>,
) -> Option<Vec<usize>> {
    let parts: Vec<usize> = shares(items.len(), executor.workers() * SEARCHES_A_WORKER).collect();
    let mut found: Vec<Option<Vec<usize>>> = vec![None; parts.len()];
    // Each part is one worker's alone, since items need not be `Sync`.
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

/// The same of all parts, of which these have been `found`.
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

/// Where the outliers of one part are, in ascending order; none if they are more than `most`, or
/// it takes long to tell them.
///
/// What is less than the last item that stays is a outlier, or that item is, and some before it.
/// This is told by what comes next: if all of the next 8 (16, 32, ...) are less, and so few of
/// those that stay are greater than all of these, those few go, and the others are looked at again.
fn places_in<T>(items: &[T], most: usize, order: &dyn Comparator<T>) -> Option<Vec<usize>> {
    let mut out: Vec<usize> = Vec::new();
    let mut last = None; // of those that stay
    // Where those begin that were all less than it, and how many these may be until that is asked.
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
                // Places that went before are copied again: many only if the order answers a
                // question differently the second time.
                again += (before - kept).saturating_sub(4 * (at - begin)) / STREAK;
                (last, at, streak) = (stays, begin, STREAK);
                again -= STREAK; // what goes is counted already
            }
        }
        if out.len() > most || again > items.len() / 8 {
            return None;
        }
    }
    Some(out)
}

/// What would be the `last` item that stays, if those did not that are greater than all of the
/// `next`; none if these are as many as the next, or far apart. What stays is what is not in `out`.
/// The last one is known to be greater, and is not asked again, so that no order makes this
/// endless.
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

/// The last place before `end` that is not among the places `out`.
fn before(out: &[usize], end: usize) -> Option<usize> {
    let out = &out[..out.partition_point(|out| *out < end)];
    let gone = iter::zip(out.iter().rev(), (0..end).rev()).take_while(|(out, place)| *out == place).count();
    (end - gone).checked_sub(1)
}

/// Makes what stays of a part, without the places `found`, meet in order what stays before it,
/// without the places `all`: the few that are less than the last one there go, or the few there
/// that are greater than the first one here. None if both are more than a few.
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

/// A slice from which outliers are taken out. The first items stay. Behind them is the hole. What
/// lies behind it has not been looked at yet, or is in its final place already. When this is
/// dropped, the outliers are moved back into the hole, so that the slice holds all items.
struct Hole<'a, T> {
    items: &'a mut [T],
    /// How many items stay, before the hole.
    stay: usize,
    /// The outliers that go on, and those that go back: one for each place of the hole.
    /// (Which of the two a outlier is, is as good as random: there is no branch on it.)
    out: [Vec<T>; 2],
}

impl<'a, T> Hole<'a, T> {
    /// Nothing has been taken out.
    fn new(items: &'a mut [T]) -> Self {
        Self { items, stay: 0, out: [Vec::new(), Vec::new()] }
    }

    /// How many places there are in the hole.
    fn len(&self) -> usize {
        self.out.iter().map(Vec::len).sum()
    }

    /// Takes out the items at `places`, which are in ascending order. Those that are in order
    /// between their neighbours that stay, stay as well.
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

    /// Moves the hole: what lies behind it and before `place` stays.
    fn move_to(&mut self, place: usize) {
        let end = self.stay + self.len();
        // SAFETY: they go to the hole and to where they have been, and what is left is the hole.
        unsafe { shift(self.items, end..place, self.stay) };
        self.stay += place - end;
    }

    /// Takes out the item behind the hole.
    fn take(&mut self, goes_back: bool) {
        let place = self.stay + self.len();
        let out = &mut self.out[usize::from(goes_back)];
        out.reserve(1);
        // SAFETY: the place belongs to the hole from here on: nothing panics until the list has the
        // item, since it has room.
        out.push(unsafe { ptr::read(&raw const self.items[place]) });
    }

    /// Puts the outliers, which are in order, where they belong: the last one first.
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

    /// Puts the last one of those that go back, or on, before the items that stay from `place` on,
    /// which come to their final places.
    fn put(&mut self, goes_back: bool, place: usize) {
        let Some(item) = self.out[usize::from(goes_back)].pop() else { return };
        let left = self.len();
        // SAFETY: these items stay, and go to the end of the hole, which has one place more than
        // outliers are left.
        unsafe { shift(self.items, place..self.stay, place + left + 1) };
        // SAFETY: a place of the hole, as it is now, right before those; as many are left before it
        // as outliers are.
        unsafe { ptr::write(&raw mut self.items[place + left], item) };
        self.stay = place;
    }
}

impl<T> Drop for Hole<'_, T> {
    fn drop(&mut self) {
        let out = mem::take(&mut self.out).into_iter().flatten();
        for (place, item) in iter::zip(self.stay.., out) {
            // SAFETY: the hole is behind what stays, and has a place for each outlier.
            unsafe { ptr::write(&raw mut self.items[place], item) };
        }
    }
}

/// Moves items within a slice, bitwise.
///
/// # Safety
/// What they come to lie on is the caller's, who has read or moved it before, or among them; and
/// where they came from is used no more.
unsafe fn shift<T>(items: &mut [T], from: Range<usize>, to: usize) {
    let len = items[from.clone()].len();
    assert!(len <= items[to..].len());
    let start = items.as_mut_ptr();
    // SAFETY: in the slice, as just checked.
    let source = unsafe { start.add(from.start) };
    // SAFETY: the same.
    let target = unsafe { start.add(to) };
    // SAFETY: 1. as many are in the slice from there on; 2. they may overlap.
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

    /// A key, and a number that makes each item another one; in a box, so that one that is lost or
    /// there twice is noticed by Miri.
    type Item = Box<(usize, usize)>;

    fn by_key(a: &Item, b: &Item) -> bool {
        a.0 < b.0
    }

    /// Items whose keys ascend, each of them `equal` times, but for one in `one_in`, which is
    /// anything.
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

    /// Ascending, but for `len` neighbours at `place`, whose keys are near `key`.
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

    /// Comparisons an item, of one thread.
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
    fn it_is_given_up_in_few_comparisons() {
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

    /// Eight items seem to be less than the first, and none of them when that is asked again.
    #[test]
    fn an_order_that_lies_in_time_ends() {
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
    fn what_is_not_is_left_as_it_is() {
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
            // std's sorts may panic at such an order, and say so.
            let sorted = catch_unwind(AssertUnwindSafe(|| sort_outliers(&executor, &mut items, &by(&lies))));
            taken_out += usize::from(sorted.unwrap_or(false));
            assert!(is_complete(&items), "{seed}");
        }
        assert!(taken_out > 0);
    }

    /// A key, and a count of those that have been dropped.
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
    fn what_is_in_order_stays_although_it_was_taken_for_a_straggler() {
        let mut items = [1, 9, 3, 4, 4, 2, 5, 0, 6];
        let mut hole = Hole::new(&mut items);
        hole.take_out(&[1, 2, 3, 4, 5, 7], &by(i32::lt));
        assert_eq!(hole.out, [vec![9], vec![2, 0]]);
        assert_eq!(hole.items[..hole.stay], [1, 3, 4, 4, 5, 6]);
        hole.out[1].sort_unstable();
        hole.fill(&by(i32::lt));
        assert_eq!(items, [0, 1, 2, 3, 4, 4, 5, 6, 9]);
    }

    /// The order says of each large item that it is not greater than the small ones behind it, and
    /// that it is when it is asked again. So items go one by one, from the last large one back.
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
    fn parts_meet_wherever_a_straggler_stands() {
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
