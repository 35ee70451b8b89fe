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
    pool::{call::executor::Executor, policy::prices::AT_FIRST},
};

/// In items: the size of the blocks whose items are tested without a branch per item.
const BLOCK: usize = 128;
/// In items: the first block that the calling thread partitions. Slices up to this length are not
/// timed.
const FIRST_TESTED: usize = 8;
/// Each further block of the calling thread is longer by this factor, until the rest is worth
/// sharing.
const BLOCK_GROWTH: usize = 8;
/// In items: the sample, which is the first three blocks.
const SAMPLE: usize = FIRST_TESTED * (1 + BLOCK_GROWTH + BLOCK_GROWTH * BLOCK_GROWTH);
/// The rest is shared if the calling thread alone would take this many times the cost of help for
/// it. (100 µs if help costs 20 µs; 50 µs of work took 1.5 to 2.2 times as long shared.)
const WORTH: f32 = 5.0;
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
    if len <= FIRST_TESTED {
        return pair(items, &mut [])[0];
    }
    let (begun, step) = (Instant::now(), len / SAMPLE);
    let (mut passed, mut done, mut block) = (0, 0, FIRST_TESTED);
    loop {
        let end = len.min(done + block);
        if end <= SAMPLE && step > 1 {
            // Takes the sample from all over the slice.
            (done..end).for_each(|i| items.swap(i, i * step));
        }
        let [more, _] = pair(&mut items[done..end], &mut []);
        // The items that pass change places with as many of those before the block that do not.
        let moved = more.min(done - passed);
        let (before, block_items) = items.split_at_mut(done);
        before[passed..passed + moved].swap_with_slice(&mut block_items[more - moved..more]);
        (passed, done, block) = (passed + more, end, block * BLOCK_GROWTH);
        if done == len {
            return passed;
        }
        let (spent, help) = (nanos(begun.elapsed()), executor.prices().help(false));
        let rest = spent / done as f32 * (len - done) as f32;
        if spent > AT_FIRST * help && rest > WORTH * help && executor.is_free() {
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
///
/// As in `BlockQuicksort` (Edelkamp and Weiss, ESA 2016): the items of a block at the front and of a
/// block at the back are tested without a branch, since the results are practically random. Then
/// those that are on the wrong side change places.
#[inline(always)]
pub(super) fn pair<T>(left: &mut [T], right: &mut [T], test: impl Fn(&T) -> bool) -> [usize; 2] {
    let middle = left.len();
    let mut untested = [left, right];
    let (mut front, mut back, mut passed) = (Block::new(), Block::new(), 0);
    loop {
        if front.is_done() {
            let Some(items) = take_first(&mut untested) else { break };
            passed += items.len();
            front.find(items, false, &test);
            passed -= front.end;
        }
        if back.is_done() {
            let Some(items) = take_last(&mut untested) else { break };
            back.find(items, true, &test);
            passed += back.end;
        }
        front.swap(&mut back);
    }
    // At most one of the two blocks has items on the wrong side. All items before the front block
    // pass, and those behind the back block do not.
    front.move_to_back();
    back.move_to_front();
    [passed.min(middle), passed.max(middle) - middle]
}

/// Takes a block from the front of two slices.
fn take_first<'a, T>(slices: &mut [&'a mut [T]; 2]) -> Option<&'a mut [T]> {
    let slice = slices.iter_mut().find(|slice| !slice.is_empty())?;
    let size = slice.len().min(BLOCK);
    let (block, rest) = mem::take(slice).split_at_mut(size);
    *slice = rest;
    Some(block)
}

/// Takes a block from the back of two slices.
fn take_last<'a, T>(slices: &mut [&'a mut [T]; 2]) -> Option<&'a mut [T]> {
    let slice = slices.iter_mut().rev().find(|slice| !slice.is_empty())?;
    let size = slice.len().saturating_sub(BLOCK);
    let (rest, block) = mem::take(slice).split_at_mut(size);
    *slice = rest;
    Some(block)
}

/// Neighbouring items, and the offsets of those that are on the wrong side.
struct Block<'a, T> {
    items: &'a mut [T],
    offsets: [u8; BLOCK],
    /// The offsets at these places are of items that are still on the wrong side.
    next: usize,
    end: usize,
}

impl<'a, T> Block<'a, T> {
    fn new() -> Self {
        Self { items: &mut [], offsets: [0; BLOCK], next: 0, end: 0 }
    }

    fn is_done(&self) -> bool {
        self.next == self.end
    }

    /// Finds the items for which the result of `test` is `wanted`.
    #[inline(never)]
    fn find(&mut self, items: &'a mut [T], wanted: bool, test: &impl Fn(&T) -> bool) {
        (self.next, self.end) = (0, 0);
        for (offset, item) in items.iter().enumerate().take(BLOCK) {
            self.offsets[self.end % BLOCK] = offset as u8;
            self.end += usize::from(test(item) == wanted);
        }
        self.items = items;
    }

    /// Swaps as many items of the wrong side as both blocks have.
    fn swap(&mut self, other: &mut Self) {
        let ours = &self.offsets[self.next..self.end];
        let others = &other.offsets[other.next..other.end];
        for (one, two) in iter::zip(ours, others) {
            mem::swap(&mut self.items[usize::from(*one)], &mut other.items[usize::from(*two)]);
        }
        let swapped = ours.len().min(others.len());
        self.next += swapped;
        other.next += swapped;
    }

    /// Moves the items of the wrong side to the back of the block.
    fn move_to_back(&mut self) {
        let mut end = self.items.len();
        for offset in self.offsets[self.next..self.end].iter().rev() {
            end -= 1;
            self.items.swap(usize::from(*offset), end);
        }
    }

    /// Moves the items of the wrong side to the front of the block.
    fn move_to_front(&mut self) {
        for (to, offset) in self.offsets[self.next..self.end].iter().enumerate() {
            self.items.swap(to, usize::from(*offset));
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{super::merge::tests::items, *};

    #[test]
    fn two_slices_are_partitioned_as_if_they_were_one() {
        let len = if cfg!(miri) { 20 } else { 3 * BLOCK + 5 };
        for (whole, left) in (0..=len).flat_map(|whole| [(whole, whole / 3), (whole, 0), (whole, whole)]) {
            for keys in [1, 2, 3, 100] {
                let mut given = items(whole, keys, left as u64);
                let passes = |item: &(u64, usize)| item.0 < keys / 2;
                let expected = given.iter().filter(|item| passes(item)).count();
                let (one, two) = given.split_at_mut(left);
                let passed = pair(one, two, passes);
                assert_eq!(passed, [expected.min(left), expected.max(left) - left]);
                assert!(given[..expected].iter().all(passes));
                let mut places: Vec<usize> = given.iter().map(|item| item.1).collect();
                places.sort_unstable();
                assert!(places.into_iter().eq(0..whole));
            }
        }
    }
}
