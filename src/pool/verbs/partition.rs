//! Partitions a slice in place: items that pass a test go to the front, and the other items to the
//! back.
//!
//! The calling thread partitions items at the front until it knows that the rest is worth sharing.
//! A sample of the rest shows about which fraction of the items passes. The rest is divided at this
//! fraction into a left side and a right side. Each side is divided into the same number of pieces.
//! A job is a *pair* of a left and a right piece. A worker moves passing items of the pair to the
//! left piece while that piece has room. Afterwards nearly all items are on the correct side. The
//! last step swaps the items that are on the wrong side.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{iter, mem};

use super::{
    interleave::take,
    merge::{in_parallel, shares, split},
};
use crate::{
    clock::{Instant, Moment, nanos},
    pool::engine::executor::Executor,
};

/// In bytes: a partition moves items above this size only if they are on the wrong side.
const SMALL_ITEM: usize = 64;
/// In items: the first block that the calling thread partitions. Slices up to this length are not
/// timed.
const FIRST_TESTED: usize = 8;
/// Each further block of the calling thread is longer by this factor, until the rest is worth
/// sharing.
const BLOCK_GROWTH: usize = 8;
/// In items: the largest sample.
const LARGEST_SAMPLE: usize = 512;
/// The rest is shared if it would take the calling thread alone more than this many times the cost
/// of help. Shared work of half this limit takes 1.5 to 2.2 times as long.
const WORTH: f32 = 5.0;
/// Pairs per worker, so that other workers can take over pairs of a late worker.
const PAIRS_A_WORKER: usize = 16;
/// In items: the longest pieces that are swapped by one job.
const LONGEST_SWAP: usize = 1 << 16;

/// Partitions a left and a right slice as if the right one were behind the left one. The `usize`
/// argument is the number of items at the front of the left slice that are known not to pass. These
/// items are not tested. Returns, for each slice, the number of items that pass, which are then at
/// the front of the slice. The right slice has such items only if all items of the left slice pass.
type Pair<'p, T> = &'p (dyn Fn([&mut [T]; 2], usize) -> [usize; 2] + Sync + 'p);

/// An order by which slices are partitioned at a pivot: whether one item is less than another.
pub(crate) trait AtPivot<T>: Sync {
    /// Partitions a [`Pair`]. Items that are less than the pivot pass. If `equal_too`, items that
    /// are equal to the pivot pass, too.
    fn pair(&self, pivot: &T, equal_too: bool, slices: [&mut [T]; 2], failed: usize) -> [usize; 2];
}

impl<T, L: Fn(&T, &T) -> bool + Sync> AtPivot<T> for L {
    fn pair(&self, pivot: &T, equal_too: bool, slices: [&mut [T]; 2], failed: usize) -> [usize; 2] {
        if equal_too {
            pair(slices, failed, |item| !self(pivot, item))
        } else {
            pair(slices, failed, |item| self(item, pivot))
        }
    }
}

/// Partitions `items` at a pivot, and returns the number of items that pass.
#[track_caller]
pub(super) fn partition_at<T: Send + Sync>(
    executor: &Executor,
    items: &mut [T],
    order: &dyn AtPivot<T>,
    pivot: &T,
    equal_too: bool,
) -> usize {
    partition(executor, items, &|slices, failed| order.pair(pivot, equal_too, slices, failed))
}

/// Moves items that pass `test` to the front, and returns their number. Calls `test` once with each
/// item.
#[track_caller]
pub(crate) fn partition_in_place<T: Send>(
    executor: &Executor,
    items: &mut [T],
    test: impl Fn(&T) -> bool + Sync,
) -> usize {
    partition(executor, items, &|slices, failed| pair(slices, failed, &test))
}

/// Partitions `items` by the test of `pair`, and returns the number of items that pass.
#[track_caller]
fn partition<T: Send>(executor: &Executor, items: &mut [T], pair: Pair<'_, T>) -> usize {
    let len = items.len();
    let begun = (len > FIRST_TESTED).then(|| (Instant::now(), Moment::now()));
    let (mut passed, mut tested, mut block) = (0, 0, FIRST_TESTED);
    let mut test_up_to = |items: &mut [T], end: usize| {
        let [more, _] = pair([&mut items[passed..end], &mut []], tested - passed);
        (passed, tested) = (passed + more, end);
        (passed, more)
    };
    let pace = loop {
        let end = len.min(block);
        let (passed, _) = test_up_to(items, end);
        let Some((begun, moment)) = begun.filter(|_| end < len) else { return passed };
        if Moment::now().is_long_after(moment, 1e3) {
            let (pace, help) = (nanos(begun.elapsed()) / end as f32, executor.prices.help(false));
            if pace * (len - end) as f32 > WORTH * help && executor.is_free() {
                break pace / help;
            }
        }
        block = block.saturating_mul(BLOCK_GROWTH);
    };
    // A sample takes no longer than help.
    let size = LARGEST_SAMPLE.min(len - block).min((1.0 / pace) as usize);
    sample(&mut items[block..], size);
    let (passed, of_sample) = test_up_to(items, block + size);
    let part = (of_sample + 1) as f64 / (size + 2) as f64; // Laplace's rule of succession
    share(executor, items, pair, [passed, block + size], part)
}

/// Moves a sample of `size` items from all over the slice to its front.
pub(super) fn sample<T>(items: &mut [T], size: usize) {
    let step = items.len() / size.max(1);
    (0..size).for_each(|i| items.swap(i, i * step));
}

/// Shares the items from index `tested` on. The items before this index have been tested, and
/// `passed` of them have passed. `part` is the estimated fraction of the remaining items that pass.
#[track_caller]
fn share<T: Send>(
    executor: &Executor,
    items: &mut [T],
    pair: Pair<'_, T>,
    [passed, tested]: [usize; 2],
    part: f64,
) -> usize {
    let rest = &mut items[tested..];
    let left = (rest.len() as f64 * part) as usize;
    let pairs = executor.workers * PAIRS_A_WORKER;
    let lengths: Vec<usize> = shares(left, pairs).chain(shares(rest.len() - left, pairs)).collect();
    let mut left = split(rest, &lengths);
    let right = left.split_off(pairs);
    let jobs = iter::zip(left, right).collect();
    let passing = in_parallel(executor, jobs, &|(left, right)| pair([left, right], 0));
    let passing = passing.iter().map(|[left, _]| *left).chain(passing.iter().map(|[_, right]| *right));
    let pieces = iter::once((tested, passed)).chain(iter::zip(lengths, passing));
    swap_misplaced(executor, items, &pieces.collect::<Vec<_>>())
}

/// Moves the items that pass to the front, and returns their number. The slice is cut into pieces.
/// `pieces` has the length of each piece, and the number of items that pass, which are at the front
/// of the piece.
#[track_caller]
fn swap_misplaced<T: Send>(executor: &Executor, items: &mut [T], pieces: &[(usize, usize)]) -> usize {
    let passed: usize = pieces.iter().map(|(_, passing)| *passing).sum();
    // The items on the wrong side: those before the border that do not pass, and those behind it
    // that pass.
    let (mut failing, mut passing, mut rest, mut before) = (Vec::new(), Vec::new(), items, passed);
    for &(len, passes) in pieces {
        let (pass, fail) = take(&mut rest, len).split_at_mut(passes);
        let (_, misplaced) = pass.split_at_mut(before.min(passes));
        passing.push(misplaced);
        before = before.saturating_sub(passes);
        let (misplaced, _) = fail.split_at_mut(before.min(len - passes));
        before -= misplaced.len();
        failing.push(misplaced);
    }
    let mut jobs = Vec::new();
    while let (Some(one), Some(other)) = (failing.pop(), passing.pop()) {
        let len = one.len().min(other.len()).min(LONGEST_SWAP);
        let ((one, rest), (other, others)) = (one.split_at_mut(len), other.split_at_mut(len));
        failing.extend((!rest.is_empty()).then_some(rest));
        passing.extend((!others.is_empty()).then_some(others));
        jobs.push((one, other));
    }
    let swap = |(one, other): (&mut [T], &mut [T])| one.swap_with_slice(other);
    match jobs.iter().map(|(one, _)| one.len()).sum() {
        0..=LONGEST_SWAP => jobs.into_iter().for_each(swap),
        _ => drop(in_parallel(executor, jobs, &swap)),
    }
    passed
}

/// Partitions the slices by `test`: see [`Pair`].
#[inline(always)]
fn pair<T>(slices: [&mut [T]; 2], failed: usize, test: impl Fn(&T) -> bool) -> [usize; 2] {
    if size_of::<T>() <= SMALL_ITEM {
        pair_of_small(slices, failed, test)
    } else {
        pair_of_large(slices, failed, test)
    }
}

/// Lomuto's partition: each item is swapped with the first item that does not pass. There is no
/// branch on the test, since its result is practically random.
#[inline(always)]
fn pair_of_small<T>([left, right]: [&mut [T]; 2], failed: usize, test: impl Fn(&T) -> bool) -> [usize; 2] {
    let sweep = |items: &mut [T], failed: usize| {
        let mut passed = 0;
        for at in failed..items.len() {
            let passes = test(&items[at]);
            items.swap(passed, at);
            passed += usize::from(passes);
        }
        passed
    };
    let mut passed = sweep(left, failed);
    let mut at = 0;
    while passed < left.len() && at < right.len() {
        let passes = test(&right[at]);
        mem::swap(&mut left[passed], &mut right[at]);
        passed += usize::from(passes);
        at += 1;
    }
    [passed, if passed < left.len() { 0 } else { sweep(right, at) }]
}

/// Hoare's partition: does not write items that are already on the correct side.
#[inline(always)]
fn pair_of_large<T>([left, right]: [&mut [T]; 2], failed: usize, test: impl Fn(&T) -> bool) -> [usize; 2] {
    let middle = left.len();
    let (failed, left) = left.split_at_mut(failed);
    let (mut failed, mut rest, mut passed) = (failed.iter_mut(), left.iter_mut().chain(right), 0);
    loop {
        let fails = |item: &&mut T| {
            let passes = test(item);
            passed += usize::from(passes);
            !passes
        };
        let Some(one) = failed.next().or_else(|| rest.find(fails)) else { break };
        let Some(other) = rest.rfind(|item| test(item)) else { break };
        mem::swap(one, other);
        passed += 1;
    }
    [passed.min(middle), passed.max(middle) - middle]
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{super::merge::tests::items, *};

    #[test]
    fn two_slices_are_partitioned_as_if_they_were_one() {
        let len = if cfg!(miri) { 9 } else { 40 };
        for (whole, left) in (0..=len).flat_map(|whole| (0..=whole).map(move |left| (whole, left))) {
            for (keys, large) in [1, 2, 3, 100].into_iter().flat_map(|keys| [(keys, false), (keys, true)]) {
                let mut given = items(whole, keys, left as u64);
                let passes = |item: &(u64, usize)| item.0 < keys / 2;
                let expected = given.iter().filter(|item| passes(item)).count();
                let failed = given[..left].iter().take_while(|item| !passes(item)).count();
                let slices = given.split_at_mut(left).into();
                let passed = if large {
                    pair_of_large(slices, failed, passes)
                } else {
                    pair_of_small(slices, failed, passes)
                };
                assert_eq!(passed, [expected.min(left), expected.max(left) - left]);
                assert!(given[..expected].iter().all(passes));
                let mut places: Vec<usize> = given.iter().map(|item| item.1).collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..whole));
            }
        }
    }
}
