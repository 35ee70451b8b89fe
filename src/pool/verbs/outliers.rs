//! Sorts slices in which few items are out of order. These items, the outliers, are taken out,
//! sorted, and put back at their correct places. That takes about *n* comparisons and two moves of
//! each item, while a sort takes *n* log *n* comparisons.
//!
//! The search is that of Cook and Kim ("Best sorting algorithm for nearly sorted lists",
//! Communications of the ACM 23(11), 1980), made parallel. Where two runs meet and are not in
//! order, the last item of the first run and the first item of the second run become candidates.
//! One of these two candidates must be taken out, so there are at most twice as many candidates as
//! items that must be taken out. A candidate that is in order between its neighbours stays after
//! all.
//!
//! The items that are not outliers are *staying* items. An outlier *goes back* if a staying item
//! before it is greater. An outlier *goes on* if a staying item behind it is less. There is one
//! list for each of the two kinds. Among equal items, outliers that go on come first in the slice,
//! then staying items, then outliers that go back. (Assume that an outlier that goes back came
//! before an equal outlier that goes on. Then a greater staying item would come before a lesser
//! staying item, so the staying items would not be in order.) So the merge is stable without the
//! original index of each outlier.

#![allow(unsafe_code)] // moves items bitwise: out of the slice, within the slice, and back

use std::{iter, mem, ops::Range, ptr};

use super::{
    comparator::{ByIndex, Comparator, by_index},
    merge::{in_parallel, shares, split},
};
use crate::pool::{engine::executor::Executor, policy::site::GOLDEN};

/// A sample of this many pairs of neighbours, from all over the slice, is compared first.
const PAIRS_SAMPLED: usize = 512;
/// A slice of `n` items has few outliers if there are at most `n / (8 * workers)` pairs of
/// candidates. The number of workers matters because one thread alone takes the outliers out and
/// puts them back, while all workers would take part in a sort.
const ONE_IN_A_WORKER: usize = 8;
/// A part of `n` items has few outliers if there are at most `n / 8` pairs of candidates. This
/// fraction is larger than the fraction for the whole slice, since outliers may be close together.
const ONE_IN_A_PART: usize = 8;
/// Parts per worker of the search for outliers.
const SEARCHES_A_WORKER: usize = 4;

/// Sorts `items` stably and returns true if there are few outliers. Otherwise leaves `items`
/// unchanged and returns false.
#[track_caller]
pub(super) fn sort_outliers<T: Send>(
    executor: &Executor,
    items: &mut [T],
    order: &dyn Comparator<T>,
) -> bool {
    let most = items.len() / (ONE_IN_A_WORKER * executor.workers);
    if !seem_few(&by_index(items, order), items.len(), most) {
        return false;
    }
    let Some(runs) = staying_runs(executor, items, most, order) else { return false };
    let mut hole = Hole::new(items);
    hole.take_out(&runs, order);
    hole.out.iter_mut().for_each(|out| order.sort(out));
    hole.fill(order);
    true
}

/// Whether few pairs of neighbours in a sample are out of order. The sampled places are spread over
/// the slice at irregular distances, since the data may have a regular pattern.
#[allow(clippy::cast_possible_truncation, reason = "any of the bits will do")]
fn seem_few(is_less: ByIndex<'_>, len: usize, most: usize) -> bool {
    let places = (0..PAIRS_SAMPLED).map(|i| i.wrapping_mul(GOLDEN as usize) % (len - 1));
    let found = places.filter(|&place| is_less(place + 1, place)).count();
    found * len <= most * PAIRS_SAMPLED
}

/// The staying items and no candidates, as runs. `None` if there are more than `most` pairs of
/// candidates.
#[track_caller]
fn staying_runs<T: Send>(
    executor: &Executor,
    items: &mut [T],
    most: usize,
    order: &dyn Comparator<T>,
) -> Option<Vec<Range<usize>>> {
    let parts: Vec<usize> = shares(items.len(), executor.workers * SEARCHES_A_WORKER).collect();
    // Only one worker accesses each part, since items need not be `Sync`.
    let found = in_parallel(executor, split(items, &parts), &|part: &mut [T]| {
        runs_in(part, part.len() / ONE_IN_A_PART, order)
    });
    let found: Vec<_> = found.into_iter().collect::<Option<_>>()?;
    let mut end = 0;
    let runs = iter::zip(parts, found).flat_map(|(part, runs)| {
        let begin = end;
        end += part;
        runs.into_iter().map(move |run| begin + run.start..begin + run.end)
    });
    in_order(&by_index(items, order), runs, most)
}

/// As [`staying_runs`], on one thread.
fn runs_in<T>(items: &[T], most: usize, order: &dyn Comparator<T>) -> Option<Vec<Range<usize>>> {
    let mut end = 0;
    let runs = iter::from_fn(|| {
        let begin = end;
        let rest = items.get(begin..).filter(|rest| !rest.is_empty())?;
        end += order.run(rest, false);
        Some(begin..end)
    });
    in_order(&by_index(items, order), runs, most)
}

/// Shortens `runs` until together they are in order. Where two neighbouring runs are not in order,
/// the last item of the first run and the first item of the second run become candidates. `None` if
/// there are more than `most` such pairs.
fn in_order(
    is_less: ByIndex<'_>,
    runs: impl Iterator<Item = Range<usize>>,
    mut most: usize,
) -> Option<Vec<Range<usize>>> {
    let mut ordered: Vec<Range<usize>> = Vec::new();
    for mut run in runs {
        while !run.is_empty()
            && let Some(last) = ordered.last_mut()
            && is_less(run.start, last.end - 1)
        {
            most = most.checked_sub(1)?;
            (last.end, run.start) = (last.end - 1, run.start + 1);
            if last.start == last.end {
                ordered.pop();
            }
        }
        ordered.extend((!run.is_empty()).then_some(run));
    }
    Some(ordered)
}

/// A slice from which outliers are taken out. The staying items come first, then the hole. The
/// items behind the hole are not yet examined or, later, already in their final places. Dropping a
/// `Hole` moves the outliers back into the hole, so that the slice holds all items.
struct Hole<'a, T> {
    items: &'a mut [T],
    /// The number of staying items before the hole.
    stay: usize,
    /// The outliers that go on, and the outliers that go back. The hole has one place for each
    /// outlier. This is an array because an index needs no branch: the kind of an outlier is
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

    /// Takes out the items between the `runs`, except items that are in order between their staying
    /// neighbours.
    fn take_out(&mut self, runs: &[Range<usize>], order: &dyn Comparator<T>) {
        let (mut begin, end) = (0, self.items.len());
        for run in runs.iter().cloned().chain(iter::once(end..end)) {
            for place in begin..run.start {
                self.move_to(place);
                let (item, last) = (&self.items[place], self.items[..self.stay].last());
                let goes_back = last.is_some_and(|last| order.is_less(item, last));
                let goes_on = self.items.get(run.start).is_some_and(|next| order.is_less(next, item));
                if goes_back | goes_on {
                    let out = &mut self.out[usize::from(goes_back)];
                    out.reserve(1);
                    // SAFETY: the place is right behind the hole, and belongs to the hole from here
                    // on. The list has capacity, so nothing panics before the list owns the item.
                    out.push(unsafe { ptr::read(item) });
                }
            }
            begin = run.end;
        }
        self.move_to(end);
    }

    /// Moves the hole to `place`: the items between the hole and `place` become staying items.
    fn move_to(&mut self, place: usize) {
        let end = self.stay + self.len();
        // SAFETY: the items move to the hole or to their own places, and the places that they leave
        // become the hole.
        unsafe { shift(self.items, end..place, self.stay) };
        self.stay += place - end;
    }

    /// Puts the sorted outliers at their correct places, the last outlier first.
    fn fill(mut self, order: &dyn Comparator<T>) {
        loop {
            let goes_back = match self.out.each_ref().map(|out| out.last()) {
                [Some(on), Some(back)] => !order.is_less(back, on),
                [_, back] => back.is_some(),
            };
            let kind = usize::from(goes_back);
            let Some(item) = self.out[kind].last() else { return };
            let place = order.insertion_point(&self.items[..self.stay], item, goes_back);
            // SAFETY: these staying items move to the end of the hole, which has one place for each
            // outlier. There they are in their final places.
            unsafe { shift(self.items, place..self.stay, place + self.len()) };
            self.stay = place;
            let Some(item) = self.out[kind].pop() else { return };
            // SAFETY: this place of the hole lies right before the moved items. The hole before
            // this place has one place for each outlier that is left.
            unsafe { ptr::write(&raw mut self.items[place + self.len()], item) };
        }
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

    fn candidates<T>(items: &[T], runs: &[Range<usize>]) -> usize {
        items.len() - runs.iter().map(ExactSizeIterator::len).sum::<usize>()
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

    /// The number of candidates found, and the comparisons per item, on one thread.
    fn comparisons(items: &[Item], most: usize) -> (Option<usize>, f64) {
        let asked = AtomicU32::new(0);
        let is_less = |a: &Item, b: &Item| {
            asked.fetch_add(1, Relaxed);
            by_key(a, b)
        };
        let found = runs_in(items, most, &by(&is_less)).map(|runs| candidates(items, &runs));
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

    /// The least number of items to take out so that the other items are in order.
    fn least(items: &[usize]) -> usize {
        let mut least_ends: Vec<usize> = Vec::new(); // of the ascending subsequences of each length
        for &item in items {
            match least_ends.partition_point(|end| *end <= item) {
                longest if longest == least_ends.len() => least_ends.push(item),
                len => least_ends[len] = item,
            }
        }
        items.len() - least_ends.len()
    }

    #[test]
    fn there_are_at_most_twice_as_many_candidates_as_necessary() {
        for seed in 0..if cfg!(miri) { 10 } else { 2000 } {
            let draw = |i: usize| (scatter((seed * 100 + i) as u64) >> 32) as usize;
            let (len, keys) = (draw(98) % 60, 1 + draw(99) % 60);
            let items: Vec<usize> =
                (0..len).map(|i| if draw(i).is_multiple_of(3) { draw(i + 1) % keys } else { i }).collect();
            let runs = runs_in(&items, len, &by(usize::lt)).expect("no limit");
            let staying: Vec<usize> = runs.iter().cloned().flat_map(|run| &items[run]).copied().collect();
            assert!(staying.is_sorted(), "{items:?}: {runs:?}");
            assert!(candidates(&items, &runs) <= 2 * least(&items), "{items:?}: {runs:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many comparisons of safe code")]
    fn a_sample_sees_every_pattern() {
        for period in [2, 3, 4, 5, 8, 30, 64, 256] {
            for len in [1 << 16, 100_000, 1_000_000] {
                let saw: Vec<usize> = (0..len).map(|i| i % period).collect();
                assert_eq!(
                    seem_few(&by_index(&saw, &by(usize::lt)), len, len / 16),
                    period > 16,
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
    fn wrong_runs_lose_nothing() {
        for runs in [&[2..3, 0..1][..], &[1..3, 2..4], &[0..2, 1..1, 2..4], &[5..6, 6..7], &[0..1, 1..5]] {
            let dropped = AtomicUsize::new(0);
            let mut items: Vec<_> = [3, 2, 1, 0].map(|key| Counted(key, &dropped)).into();
            let order = by(|a: &Counted<'_>, b: &Counted<'_>| a.0 < b.0);
            _ = catch_unwind(AssertUnwindSafe(|| Hole::new(&mut items).take_out(runs, &order)));
            let mut keys: Vec<_> = items.iter().map(|item| item.0).collect();
            keys.sort_unstable();
            assert_eq!((keys, dropped.load(Relaxed)), (vec![0, 1, 2, 3], 0), "{runs:?}");
        }
    }

    #[test]
    fn a_candidate_in_order_stays() {
        let mut items = [1, 9, 3, 4, 4, 2, 5, 0, 6];
        let mut hole = Hole::new(&mut items);
        hole.take_out(&[0..1, 6..7, 8..9], &by(i32::lt));
        assert_eq!(hole.out, [vec![9], vec![2, 0]]);
        assert_eq!(hole.items[..hole.stay], [1, 3, 4, 4, 5, 6]);
        hole.out[1].sort_unstable();
        hole.fill(&by(i32::lt));
        assert_eq!(items, [0, 1, 2, 3, 4, 4, 5, 6, 9]);
    }

    #[test]
    fn parts_meet_wherever_an_outlier_stands() {
        let executor = executor(2);
        let border = LEN / (executor.workers * SEARCHES_A_WORKER);
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
