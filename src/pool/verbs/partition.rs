//! Partitions a slice in place: items that pass a test go to its front, the others to its back.
//!
//! The calling thread partitions a sample at the front. The rest is cut at the place where, by that
//! sample, the partition will end. Both sides are cut into as many pieces. Each job is a *pair*: a
//! piece of the left side and a piece of the right side. A worker moves the items of a pair that
//! pass to the left piece, as long as there is room. So nearly all items are then on their side. At
//! last the items that are not are swapped.

#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // estimates

use std::{iter, mem, ops::Range};

use super::merge::{in_parallel, shares, split};
use crate::{
    clock::{Instant, nanos},
    pool::{call::executor::Executor, policy::prices::CLEARLY},
};

/// In bytes: a partition moves items above this size only if they are on the wrong side.
const SMALL_ITEM: usize = 64;
/// In items: the first block that the calling thread partitions. Slices up to this length are not
/// timed.
const FIRST_BLOCK: usize = 8;
/// Each further block is longer by this factor, until the rest is worth sharing.
const LONGER: usize = 8;
/// In items: the sample, which is the first three blocks.
const SAMPLE: usize = FIRST_BLOCK * (1 + LONGER + LONGER * LONGER);
/// Pairs per worker, so that other workers can take over pairs of a late worker.
const PAIRS_A_WORKER: usize = 16;
/// In items: the longest pieces that are swapped by one job.
const LONGEST_SWAP: usize = 1 << 16;

/// Partitions two slices as if the second one were behind the first one. Returns the numbers of
/// items at the front of each slice that pass the test. So items pass in the second slice only if
/// all items pass in the first one.
pub(super) type Pair<'p, T> = &'p (dyn Fn(&mut [T], &mut [T]) -> [usize; 2] + Sync + 'p);

/// Moves items that pass `test` to the front, and returns their number. Calls `test` once with each
/// item.
#[track_caller]
pub(crate) fn partition_in_place<T: Send>(
    executor: &Executor,
    items: &mut [T],
    test: impl Fn(&T) -> bool + Sync,
) -> usize {
    partition(executor, items, &|left, right| pair(left, right, &test))
}

/// Partitions `items` by the test of `pair`, and returns the number of items that pass.
#[track_caller]
pub(super) fn partition<T: Send>(executor: &Executor, items: &mut [T], pair: Pair<'_, T>) -> usize {
    let len = items.len();
    if len <= FIRST_BLOCK {
        return pair(items, &mut [])[0];
    }
    let begun = Instant::now();
    let (mut passed, mut done, mut block) = (0, 0, FIRST_BLOCK);
    loop {
        let end = len.min(done + block);
        if end <= SAMPLE {
            // Takes the sample from all over the slice.
            (done..end).for_each(|i| items.swap(i, i * (len / SAMPLE).max(1)));
        }
        let [more, _] = pair(&mut items[done..end], &mut []);
        // The items that pass change places with as many of those before the block that do not.
        let moved = more.min(done - passed);
        let (before, block_items) = items.split_at_mut(done);
        before[passed..passed + moved].swap_with_slice(&mut block_items[more - moved..more]);
        (passed, done, block) = (passed + more, end, block * LONGER);
        if done == len {
            return passed;
        }
        let rest = nanos(begun.elapsed()) / done as f32 * (len - done) as f32;
        if rest > 2.0 * CLEARLY * executor.prices().help(false) && executor.is_free() {
            break;
        }
    }
    let rest = &mut items[done..];
    let left = (rest.len() as f64 * (passed as f64 / done as f64)) as usize;
    let pairs = executor.workers() * PAIRS_A_WORKER;
    let lengths: Vec<usize> = shares(left, pairs).chain(shares(rest.len() - left, pairs)).collect();
    let mut passing = vec![[0; 2]; pairs];
    let mut pieces = split(rest, &lengths);
    let right = pieces.split_off(pairs);
    let jobs = iter::zip(iter::zip(pieces, right), &mut passing).collect();
    in_parallel(executor, jobs, &|((left, right), passing)| *passing = pair(left, right));
    let passing = passing.iter().map(|[left, _]| *left).chain(passing.iter().map(|[_, right]| *right));
    let pieces = iter::once((done, passed)).chain(iter::zip(lengths, passing));
    swap_misplaced(executor, items, &pieces.collect::<Vec<_>>())
}

/// Moves the items that pass to the front, and returns their number. The slice is cut into
/// `pieces`: their lengths, and the numbers of items at the front of each that pass.
#[track_caller]
fn swap_misplaced<T: Send>(executor: &Executor, items: &mut [T], pieces: &[(usize, usize)]) -> usize {
    let passed: usize = pieces.iter().map(|(_, passing)| *passing).sum();
    let (mut failing, mut passing, mut first) = (Vec::new(), Vec::new(), 0);
    for (len, passes) in pieces {
        let (middle, end) = (first + passes, first + len);
        failing.push(middle..end.min(passed));
        passing.push(first.max(passed) - passed..middle.max(passed) - passed);
        first = end;
    }
    let (front, back) = items.split_at_mut(passed);
    let (mut failing, mut passing) = (parts(front, failing), parts(back, passing));
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
        _ => in_parallel(executor, jobs, &swap),
    }
    passed
}

/// The parts of `items` at the indices of `ranges`, the last part first, without empty parts. The
/// ranges ascend.
fn parts<T>(mut items: &mut [T], ranges: Vec<Range<usize>>) -> Vec<&mut [T]> {
    let ranges = ranges.into_iter().rev().filter(|range| !range.is_empty());
    let part = |range: Range<usize>| {
        let (before, behind) = mem::take(&mut items).split_at_mut(range.start);
        items = before;
        &mut behind[..range.len()]
    };
    ranges.map(part).collect()
}

/// Partitions `left` and `right` by `test`: see [`Pair`].
#[inline(always)]
pub(super) fn pair<T>(left: &mut [T], right: &mut [T], test: impl Fn(&T) -> bool) -> [usize; 2] {
    if size_of::<T>() <= SMALL_ITEM {
        pair_of_small(left, right, test)
    } else {
        pair_of_large(left, right, test)
    }
}

/// Has no branch on the test, since its result is practically random.
#[inline(always)]
fn pair_of_small<T>(left: &mut [T], right: &mut [T], test: impl Fn(&T) -> bool) -> [usize; 2] {
    // Partitions the items from `first` on. Items before `first` do not pass.
    let sweep = |items: &mut [T], first: usize| {
        let mut passed = 0;
        for at in first..items.len() {
            let passes = test(&items[at]);
            items.swap(passed, at);
            passed += usize::from(passes);
        }
        passed
    };
    let mut passed = sweep(left, 0);
    let mut at = 0;
    while passed < left.len() && at < right.len() {
        let passes = test(&right[at]);
        mem::swap(&mut left[passed], &mut right[at]);
        passed += usize::from(passes);
        at += 1;
    }
    [passed, if passed < left.len() { 0 } else { sweep(right, at) }]
}

/// Does not write items that are on their side already.
#[inline(always)]
fn pair_of_large<T>(left: &mut [T], right: &mut [T], test: impl Fn(&T) -> bool) -> [usize; 2] {
    let (middle, mut passed, mut end) = (left.len(), 0, left.len() + right.len());
    loop {
        let passes = |at: usize| test(left.get(at).unwrap_or_else(|| &right[at - middle]));
        while passed < end && passes(passed) {
            passed += 1;
        }
        // Item `passed` does not pass.
        while passed + 1 < end && !passes(end - 1) {
            end -= 1;
        }
        if passed + 1 >= end {
            return [passed.min(middle), passed.max(middle) - middle];
        }
        end -= 1;
        match end.checked_sub(middle) {
            None => left.swap(passed, end),
            Some(other) if passed < middle => mem::swap(&mut left[passed], &mut right[other]),
            Some(other) => right.swap(passed - middle, other),
        }
        passed += 1;
    }
}
