//! The merge sort: std's sort on pieces of the slice, then rounds of merges between the slice and a
//! buffer, all in parallel.
//!
//! Elements need not be `Sync`, because at any moment only one thread accesses an element. To
//! ensure this, the calling thread finds the cuts of the merges (co-ranking) before the workers
//! begin. Each worker then receives disjoint parts.

#![allow(unsafe_code)] // moves elements bitwise between the slice and the buffer

use std::{
    array,
    mem::{self, MaybeUninit},
    ops::Range,
    ptr,
};

use super::{
    chain::IntoChain,
    comparator::{ByIndex, Comparator, by_index, last_part},
    interleave::{MergePart, take},
    on::On,
};
use crate::{
    pool::engine::executor::Executor,
    sync::{Mutex, lock},
};

/// In items: the shortest piece that is sorted on its own.
pub(super) const SHORTEST_PIECE: usize = 2 * 1024;
/// In items. Shorter slices are cut into at most one piece per worker, where the number of workers
/// is rounded up to a power of two.
const MANY_ITEMS: usize = 1 << 18;
/// In items: the shortest part of a merge.
const SHORTEST_PART: usize = 4 * 1024;
/// Parts per worker in each merge round, and in the pass for the least or the greatest item. There
/// are several parts per worker, so that other workers can take over parts of a late worker.
pub(super) const PARTS_A_WORKER: usize = 4;
/// In items: the shortest merge that is cut into four quarters whose steps are interleaved.
const LONG: usize = 512;

/// The number of pieces into which a sort cuts `len` items: the number of workers, rounded up to a
/// power of two.
///
/// For many items the number of merge rounds is rounded up to an even number. After an odd number
/// of rounds all items would be in the buffer and would have to be moved back. A further merge
/// round costs no more than the move, and the pieces that std sorts are shorter. For items with
/// few distinct keys there is no gain.
pub(super) fn pieces(executor: &Executor, len: usize) -> usize {
    let long_enough = (len / SHORTEST_PIECE).max(1).ilog2();
    let rounds = executor.workers.next_power_of_two().ilog2();
    let rounds = if len < MANY_ITEMS { rounds } else { rounds.next_multiple_of(2) };
    1 << rounds.min(long_enough)
}

/// Sorts pieces of `items` in parallel, and merges them.
#[track_caller]
pub(super) fn sort_pieces<T: Send>(
    executor: &Executor,
    items: &mut [T],
    pieces: usize,
    order: &dyn Comparator<T>,
) {
    let runs: Vec<usize> = shares(items.len(), pieces).collect();
    in_parallel(executor, split(items, &runs), &|piece| order.sort(piece));
    merge_runs(executor, items, runs, order);
}

/// Merges sorted runs of these lengths, which make up `items`.
#[track_caller]
pub(super) fn merge_runs<T: Send>(
    executor: &Executor,
    items: &mut [T],
    mut runs: Vec<usize>,
    order: &dyn Comparator<T>,
) {
    join_ordered(&by_index(items, order), &mut runs);
    if runs.len() == 1 {
        return;
    }
    let disordered = disordered(&by_index(items, order), &mut runs);
    let items = &mut items[disordered];
    let mut buffer = Vec::with_capacity(items.len());
    let mut sides = Sides::new(items, &mut buffer);
    while runs.len() > 1 || sides.away {
        sides.merge_pairs(executor, &runs, order);
        runs = runs.chunks(2).map(|pair| pair.iter().sum()).collect();
        join_ordered(&by_index(sides.full, order), &mut runs);
    }
}

/// Divides `len` items into `count` parts, and returns the lengths of the parts. The lengths differ
/// by at most one.
pub(super) fn shares(len: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| len / count + usize::from(i < len % count))
}

/// Cuts `items` into slices of these `lengths`.
pub(super) fn split<'a, T>(mut items: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    lengths.iter().map(|&len| take(&mut items, len)).collect()
}

/// Joins neighbouring runs into one run if together they are in order.
fn join_ordered(is_less: ByIndex<'_>, runs: &mut Vec<usize>) {
    let mut joined: Vec<usize> = Vec::with_capacity(runs.len());
    let mut end = 0;
    for &run in &*runs {
        match joined.last_mut() {
            Some(last) if !is_less(end, end - 1) => *last += run,
            _ => joined.push(run),
        }
        end += run;
    }
    *runs = joined;
}

/// Returns the range of the items that must be merged, and shortens the first and the last of
/// `runs` to this range. The range excludes the items at the beginning that are not greater than
/// any item of a later run. The range also excludes the items at the end that are not less than any
/// item of an earlier run. There must be at least two runs. No run may be in order with the next
/// run.
fn disordered(is_less: ByIndex<'_>, runs: &mut [usize]) -> Range<usize> {
    let (mut least, mut greatest) = (runs[0], runs[0] - 1);
    let mut end = runs[0];
    for run in &runs[1..] {
        if is_less(end, least) {
            least = end;
        }
        if is_less(greatest, end - 1) {
            greatest = end - 1;
        }
        end += run;
    }
    let last = end - runs[runs.len() - 1];
    let before = last_part(runs[0] - 1, |place| !is_less(least, place));
    let behind = last + 1; // the first item of the last run is less than the greatest one
    let until = behind + last_part(end - behind, |place| is_less(behind + place, greatest));
    runs[0] -= before;
    runs[runs.len() - 1] = until - last;
    before..until
}

/// Calls `work` once with each job, in parallel. Returns the results in the order of the jobs.
#[track_caller]
pub(super) fn in_parallel<J: Send, R: Send>(
    executor: &Executor,
    jobs: Vec<J>,
    work: &(dyn Fn(J) -> R + Sync),
) -> Vec<R> {
    let cells: Vec<_> = jobs.into_iter().map(|job| Mutex::new((Some(job), None))).collect();
    each_below(executor, cells.len(), &|place| {
        let job = lock(&cells[place]).0.take();
        let result = work(job.expect("a job is done once"));
        lock(&cells[place]).1 = Some(result);
    });
    cells.iter().map(|cell| lock(cell).1.take().expect("a loop has left out a job")).collect()
}

/// Calls `work` with each number below `end`, in parallel. All sorts use this one loop, so the loop
/// is compiled once.
#[inline(never)]
#[track_caller]
fn each_below(executor: &Executor, end: usize, work: &(dyn Fn(usize) + Sync)) {
    On::new(executor, (0..end).into_chain()).jobs(work);
}

/// The slice and a buffer of the same length. One of the two holds all elements. Dropping this
/// moves the elements back to the slice.
pub(super) struct Sides<'a, T> {
    full: &'a mut [T],
    spare: &'a mut [MaybeUninit<T>],
    /// Whether the buffer holds the elements.
    away: bool,
}

impl<'a, T: Send> Sides<'a, T> {
    /// For each `i`, moves the element at place `order[i].1` to place `i`. If the drop of a key
    /// panics, the slice stays unchanged.
    #[track_caller]
    pub(super) fn arrange<K: Send>(&mut self, executor: &Executor, order: Vec<(K, usize)>) {
        let elements = Elements(self.full);
        let moves = On::new(executor, (&mut *self.spare).into_chain()).zip(order);
        moves.for_each(|(to, (_, place))| elements.copy(place, to));
        self.exchange();
    }

    pub(super) fn new(items: &'a mut [T], buffer: &'a mut Vec<T>) -> Self {
        let spare = &mut buffer.spare_capacity_mut()[..items.len()];
        Self { full: items, spare, away: false }
    }

    /// Merges the first run with the second run, the third with the fourth, and so on. The results
    /// go to the other of the two buffers.
    #[track_caller]
    fn merge_pairs(&mut self, executor: &Executor, runs: &[usize], order: &dyn Comparator<T>) {
        let part = (self.full.len() / (executor.workers * PARTS_A_WORKER)).max(SHORTEST_PART);
        in_parallel(executor, parts(self.full, self.spare, runs, part, order), &|part| part.merge(order));
        self.exchange();
    }

    /// Call this when all elements have been moved to the spare buffer.
    fn exchange(&mut self) {
        let full = ptr::from_mut(mem::take(&mut self.full)) as *mut [MaybeUninit<T>];
        let spare = ptr::from_mut(mem::take(&mut self.spare)) as *mut [T];
        // SAFETY: *whole*: 1. all places of the buffer hold elements now; 2. `MaybeUninit<T>` has
        // the layout of `T`; 3. the buffer is borrowed for the lifetime of the result.
        self.full = unsafe { &mut *spare };
        // SAFETY: 1. `MaybeUninit<T>` has the layout of `T`; 2. the buffer is borrowed for the
        // lifetime of the result. When the caller's borrow of the slice ends, the slice holds all
        // elements, since the drop of this `Sides` has moved them back.
        self.spare = unsafe { &mut *full };
        self.away = !self.away;
    }
}

impl<T> Drop for Sides<'_, T> {
    fn drop(&mut self) {
        if self.away {
            copy(self.full, self.spare);
        }
    }
}

/// Elements of which only the bits are copied.
struct Elements<'a, T>(&'a [T]);

// SAFETY: this type gives no access to an element; only the bits are copied. `T: Send` permits
// another thread to use each copy.
unsafe impl<T: Send> Sync for Elements<'_, T> {}

impl<T> Elements<'_, T> {
    fn copy(&self, place: usize, to: &mut MaybeUninit<T>) {
        // SAFETY: each of the two references is to one element. The two elements do not overlap,
        // since one reference is exclusive.
        unsafe { ptr::copy_nonoverlapping(&raw const self.0[place], to.as_mut_ptr(), 1) };
    }
}

/// Moves `from` to `to`, bitwise.
fn copy<T>(from: &[T], to: &mut [MaybeUninit<T>]) {
    assert!(from.len() == to.len());
    // SAFETY: 1. both have the same length, as just checked; 2. `to` is borrowed exclusively, so
    // the two do not overlap.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr().cast(), from.len()) };
}

/// Cuts the merges of a round into parts of about `part` elements each.
fn parts<'a, T>(
    mut full: &'a mut [T],
    mut spare: &'a mut [MaybeUninit<T>],
    runs: &[usize],
    part: usize,
    order: &dyn Comparator<T>,
) -> Vec<MergePart<'a, T>> {
    let mut parts = Vec::new();
    for pair in runs.chunks(2) {
        let len = pair.iter().sum();
        let mut rest = MergePart {
            left: take(&mut full, pair[0]),
            right: take(&mut full, len - pair[0]),
            to: spare.split_off_mut(..len).expect("both sides are as long"),
        };
        let count = len.div_ceil(part);
        parts.extend(shares(len, count).map(|len| rest.take(len, order)));
    }
    parts
}

impl<T> MergePart<'_, T> {
    /// Splits off the elements that become the first `len` elements of the merge.
    fn take(&mut self, len: usize, order: &dyn Comparator<T>) -> Self {
        let lefts = co_rank(len, self.left, self.right, order);
        Self {
            left: take(&mut self.left, lefts),
            right: take(&mut self.right, len - lefts),
            to: self.to.split_off_mut(..len).expect("there are as many places as elements"),
        }
    }

    /// Moves all elements to their places, bitwise. The source stays unchanged until the round is
    /// over, so a panic loses no element. No element is compared after it has been moved, so if a
    /// comparison changes an element through interior mutability, the change is part of what is
    /// moved.
    fn merge(mut self, order: &dyn Comparator<T>) {
        if self.is_disjoint(order) {
            self.copy();
        } else if self.to.len() < LONG {
            order.merge(array::from_mut(&mut self));
            self.copy();
        } else {
            let mut lengths = shares(self.to.len(), 4);
            let mut quarters: [_; 4] = array::from_fn(|_| self.take(lengths.next().unwrap_or(0), order));
            order.merge_four(&mut quarters);
            for rest in quarters {
                rest.merge(order);
            }
        }
    }

    /// Whether the sides need no merge, because one side goes before the other as a whole. If the
    /// right side goes before the left side, swaps the sides.
    fn is_disjoint(&mut self, order: &dyn Comparator<T>) -> bool {
        let ([first, ..], [.., last]) = (&*self.left, &*self.right) else {
            return true;
        };
        if order.is_less(last, first) {
            mem::swap(&mut self.left, &mut self.right);
            return true;
        }
        !order.is_less(&self.right[0], &self.left[self.left.len() - 1])
    }

    /// Moves the left side, and then the right side.
    fn copy(self) {
        let (left, right) = self.to.split_at_mut(self.left.len());
        copy(self.left, left);
        copy(self.right, right);
    }
}

/// How many of the first `len` elements of the stable merge of `left` and `right` come from `left`.
fn co_rank<T>(len: usize, left: &[T], right: &[T], order: &dyn Comparator<T>) -> usize {
    let (mut low, mut high) = (len.saturating_sub(right.len()), len.min(left.len()));
    while low < high {
        let middle = low.midpoint(high);
        // If two elements are equal, the left one comes first.
        if order.is_less(&right[len - middle - 1], &left[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

#[cfg(all(test, not(any(loom, shuttle))))]
pub(super) mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{super::comparator::tests::by, *};
    use crate::{
        pool::{builder::PoolBuilder, policy::site::scatter},
        sync::{AtomicUsize, Ordering},
    };

    /// A key, and a place, which no comparison uses.
    pub(in super::super) type Item = (u64, usize);

    fn by_key(a: &Item, b: &Item) -> bool {
        a.0 < b.0
    }

    /// Items with many ties, at pseudorandom places.
    pub(in super::super) fn items(len: usize, keys: u64, seed: u64) -> Vec<Item> {
        let key = |i: usize| scatter(seed << 32 | i as u64) % keys;
        (0..len).map(|i| (key(i), i)).collect()
    }

    fn sorted(items: &[Item]) -> Vec<Item> {
        let mut items = items.to_vec();
        items.sort_by_key(|item| item.0);
        items
    }

    /// Two sorted runs, one behind the other.
    fn two_runs(left: usize, right: usize, keys: u64, seed: u64) -> Vec<Item> {
        let mut runs = items(left + right, keys, seed);
        runs[..left].sort_unstable();
        runs[left..].sort_unstable();
        runs
    }

    /// An executor with `threads` threads. Under Miri it has one thread, since Miri does not
    /// support all system calls of a shared loop.
    pub(in super::super) fn executor(threads: usize) -> Executor {
        let threads = if cfg!(miri) { 1 } else { threads };
        let builder = PoolBuilder::default().num_threads(threads);
        builder.assemble_here(None).expect("a pool")
    }

    fn by_pieces(
        executor: &Executor,
        items: &mut [Item],
        pieces: usize,
        is_less: impl Fn(&Item, &Item) -> bool + Sync,
    ) {
        sort_pieces(executor, items, pieces, &by(&is_less));
    }

    #[test]
    fn every_cut_gives_the_stable_merge() {
        for seed in 0..if cfg!(miri) { 1 } else { 300 } {
            for (left, right) in (0..36).map(|i| (i / 6, i % 6)) {
                let runs = two_runs(left, right, 4, seed);
                let merged = sorted(&runs);
                for len in 0..=left + right {
                    let lefts = co_rank(len, &runs[..left], &runs[left..], &by(by_key));
                    let mut cut = [&runs[..lefts], &runs[left..left + len - lefts]].concat();
                    cut.sort_by_key(|item| item.0);
                    assert_eq!(cut, merged[..len], "{runs:?}: {lefts} of {len}");
                }
            }
        }
    }

    #[test]
    fn parts_make_the_stable_merge() {
        let lengths: &[usize] = if cfg!(miri) { &[0, 600] } else { &[0, 1, 2, 40, 600, 3000] };
        for (&left, &right) in lengths.iter().flat_map(|left| lengths.iter().map(move |right| (left, right)))
        {
            for (part, keys) in [(1, 3), (7, 50), (2000, 2), (2000, 30), (9000, u64::MAX)] {
                let mut runs = two_runs(left, right, keys, 1);
                let merged = sorted(&runs);
                let mut to = Vec::with_capacity(runs.len());
                let places = &mut to.spare_capacity_mut()[..merged.len()];
                for part in parts(&mut runs, places, &[left, right], part, &by(by_key)) {
                    part.merge(&by(by_key));
                }
                // SAFETY: the parts have filled all places.
                unsafe { to.set_len(merged.len()) };
                assert_eq!(to, merged, "{left}, {right}: parts of {part}, {keys} keys");
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "many items, few of them merged")]
    fn disjoint_runs_are_not_compared_one_by_one() {
        for exchanged in [false, true] {
            let mut runs: Vec<Item> = (0..10_000).map(|i| (i, 0)).collect();
            if exchanged {
                runs.rotate_left(5000);
            }
            let compared = AtomicUsize::new(0);
            let mut to = Vec::with_capacity(runs.len());
            let places = &mut to.spare_capacity_mut()[..10_000];
            let is_less = |a: &Item, b: &Item| {
                compared.fetch_add(1, Ordering::Relaxed);
                a < b
            };
            let order = by(&is_less);
            for part in parts(&mut runs, places, &[5000, 5000], 3000, &order) {
                part.merge(&order);
            }
            let compared = compared.load(Ordering::Relaxed);
            assert!(compared < 200, "{compared} comparisons");
        }
    }

    #[test]
    fn only_what_is_in_disorder_is_merged() {
        let executor = executor(2);
        let mut items: Vec<Item> = (0..400).map(|i| (i, 0)).collect();
        items[190..210].reverse();
        let mut runs = vec![200, 200];
        items[..200].sort_unstable();
        items[200..].sort_unstable();
        assert_eq!(disordered(&by_index(&items, &by(by_key)), &mut runs), 190..210);
        assert_eq!(runs, [10, 10]);
        by_pieces(&executor, &mut items, 2, by_key);
        assert!(items.is_sorted());
    }

    #[test]
    fn any_number_of_pieces_is_merged() {
        for threads in 1..=if cfg!(miri) { 1 } else { 3 } {
            let executor = executor(threads);
            for pieces in (1..=8).step_by(if cfg!(miri) { 3 } else { 1 }) {
                for (len, keys) in [(8, 2), (9, 100), (30, 5), (64, 1), (301, 20), (1500, 300)] {
                    if cfg!(miri) && len > 400 {
                        continue;
                    }
                    let given = items(len, keys, len as u64);
                    let mut items = given.clone();
                    by_pieces(&executor, &mut items, pieces, by_key);
                    assert_eq!(items, sorted(&given), "{len} items in {pieces} pieces");
                }
            }
        }
    }

    #[test]
    fn a_panic_loses_nothing() {
        let executor = executor(2);
        for pieces in (1..=8).step_by(if cfg!(miri) { 3 } else { 1 }) {
            let given = items(40, 10, 1);
            let mut struck = true;
            let mut at = 0;
            while struck {
                let left = AtomicUsize::new(at);
                let mut items = given.clone();
                struck = catch_unwind(AssertUnwindSafe(|| {
                    by_pieces(&executor, &mut items, pieces, |a, b| {
                        assert!(left.fetch_sub(1, Ordering::Relaxed) != 0, "as asked for");
                        a.0 < b.0
                    });
                }))
                .is_err();
                items.sort_by_key(|item| item.1);
                assert_eq!(items, given, "{pieces} pieces, panic at comparison {at}");
                at += if cfg!(miri) { 71 } else { 1 };
            }
            assert!(at > 40);
        }
    }

    #[test]
    fn an_order_that_is_none_loses_nothing() {
        let executor = executor(2);
        for (seed, pieces) in
            (0..if cfg!(miri) { 1 } else { 200 }).flat_map(|seed| [(seed, 2), (seed, 5), (seed, 8)])
        {
            let given = items(1000, 10, 1);
            let asked = AtomicUsize::new(seed);
            let mut items = given.clone();
            let _ = catch_unwind(AssertUnwindSafe(|| {
                by_pieces(&executor, &mut items, pieces, |_, _| {
                    let asked = asked.fetch_add(1, Ordering::Relaxed);
                    (asked as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 60 & 1 == 0
                });
            }));
            items.sort_by_key(|item| item.1);
            assert_eq!(items, given, "{pieces} pieces, seed {seed}");
        }
    }
}
