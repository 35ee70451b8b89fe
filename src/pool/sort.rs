//! A parallel stable sort: std's sort on pieces of the slice, then rounds of merges between the slice and a buffer.
//!
//! Elements need not be `Sync`: each is looked at by one thread at a time. So the calling thread finds the places where merges
//! are cut (co-ranking) before the workers begin, and hands out parts that have nothing in common.

#![allow(unsafe_code)] // moves elements bitwise between the slice and the buffer

use std::{
    array,
    hint::select_unpredictable,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ops::Range,
    ptr,
};

use super::Pool;
use crate::sync::{Mutex, lock};

/// Shorter slices are sorted by the calling thread.
const SHORTEST: usize = 8 * 1024;
/// Merges are not cut into shorter parts.
const SHORTEST_PART: usize = 4 * 1024;
/// Of each merge round there are so many parts a worker, so that who is late leaves some to others.
const PARTS_A_WORKER: usize = 4;
/// An ascending slice up to this length is recognised without waking anybody.
const RECOGNISED_ALONE: usize = 128 * 1024;

/// Sorts `items` by the order `is_less`. `serial` is std's stable sort by the same order.
pub(crate) fn sort<T: Send>(
    pool: &Pool,
    items: &mut [T],
    serial: impl Fn(&mut [T]) + Sync,
    is_less: impl Fn(&T, &T) -> bool + Sync,
) {
    if items.len() < SHORTEST || size_of::<T>() == 0 || pool.num_threads() == 1 {
        return serial(items);
    }
    if !is_one_run(items, &is_less) {
        let pieces = pool.num_threads().next_power_of_two() * 2;
        sort_pieces(pool, items, pieces, &serial, &is_less);
    }
}

/// Whether `items` are in order, after reversing them if they were strictly descending.
fn is_one_run<T>(items: &mut [T], is_less: &impl Fn(&T, &T) -> bool) -> bool {
    let descends = is_less(&items[1], &items[0]);
    // Ascending pieces of longer slices are soon sorted, in parallel. Descending ones would end in the wrong places.
    let limit = if descends { items.len() } else { items.len().min(RECOGNISED_ALONE) };
    let is_run = items[..limit].windows(2).all(|pair| is_less(&pair[1], &pair[0]) == descends);
    if is_run && descends {
        items.reverse();
    }
    is_run && limit == items.len()
}

/// Sorts pieces of `items` in parallel, and merges them.
fn sort_pieces<T: Send>(
    pool: &Pool,
    items: &mut [T],
    pieces: usize,
    serial: &(impl Fn(&mut [T]) + Sync),
    is_less: &(impl Fn(&T, &T) -> bool + Sync),
) {
    let mut runs: Vec<usize> = shares(items.len(), pieces).collect();
    in_parallel(pool, split(items, &runs), serial);
    join_ordered(items, &mut runs, is_less);
    if runs.len() == 1 {
        return;
    }
    let mut buffer = Vec::with_capacity(items.len());
    let mut sides = Sides::new(items, &mut buffer);
    while runs.len() > 1 {
        sides.merge_pairs(pool, &runs, is_less);
        runs = runs.chunks(2).map(|pair| pair.iter().sum()).collect();
        join_ordered(sides.full(), &mut runs, is_less);
    }
    sides.go_home(pool);
}

/// The lengths of `count` parts of `len`, which differ by one at most.
fn shares(len: usize, count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |i| len / count + usize::from(i < len % count))
}

/// Cuts `items` into slices of these lengths.
fn split<'a, T>(mut items: &'a mut [T], lengths: &[usize]) -> Vec<&'a mut [T]> {
    lengths.iter().map(|&len| take(&mut items, len)).collect()
}

/// Takes the first `len` items off a slice.
#[allow(clippy::mut_mut)] // as `split_off_mut` has it
fn take<'a, T>(items: &mut &'a mut [T], len: usize) -> &'a mut [T] {
    items.split_off_mut(..len).expect("a part is no longer than the whole")
}

/// Makes one run of neighbours that need no merging.
fn join_ordered<T>(items: &[T], runs: &mut Vec<usize>, is_less: &impl Fn(&T, &T) -> bool) {
    let mut joined: Vec<usize> = Vec::with_capacity(runs.len());
    let mut end = 0;
    for &run in &*runs {
        match joined.last_mut() {
            Some(last) if !is_less(&items[end], &items[end - 1]) => *last += run,
            _ => joined.push(run),
        }
        end += run;
    }
    *runs = joined;
}

/// Runs `work` once with each of the jobs.
fn in_parallel<J: Send>(pool: &Pool, jobs: Vec<J>, work: impl Fn(J) + Sync) {
    let cells: Vec<Mutex<Option<J>>> = jobs.into_iter().map(|job| Mutex::new(Some(job))).collect();
    pool.for_each(&cells, |cell| {
        let job = lock(cell).take();
        work(job.expect("a job is done once"));
    });
    assert!(cells.iter().all(|cell| lock(cell).is_none()), "a loop has left out a job");
}

/// The slice and the buffer, as long as the slice. One of them holds all elements; when dropped, it is the slice.
struct Sides<'a, T> {
    full: &'a mut [MaybeUninit<T>],
    spare: &'a mut [MaybeUninit<T>],
    /// The buffer is the full one.
    away: bool,
}

impl<'a, T: Send> Sides<'a, T> {
    fn new(items: &'a mut [T], buffer: &'a mut Vec<T>) -> Self {
        let spare = &mut buffer.spare_capacity_mut()[..items.len()];
        let full = ptr::from_mut(items) as *mut [MaybeUninit<T>];
        // SAFETY: 1. `MaybeUninit<T>` lies in memory as `T` does; 2. `items` is borrowed as long as `full` is; 3. whoever has
        // `items` again finds elements: this is dropped before, and then the slice is full.
        Self { full: unsafe { &mut *full }, spare, away: false }
    }

    fn full(&self) -> &[T] {
        // SAFETY: this side holds elements, all of them.
        unsafe { self.full.assume_init_ref() }
    }

    /// Merges the first run with the second, the third with the fourth, ... into the other side.
    fn merge_pairs(&mut self, pool: &Pool, runs: &[usize], is_less: &(impl Fn(&T, &T) -> bool + Sync)) {
        let part = self.part(pool);
        // SAFETY: this side holds elements, all of them.
        let full = unsafe { self.full.assume_init_mut() };
        in_parallel(pool, parts(full, self.spare, runs, part, is_less), |part| part.merge(is_less));
        self.turn();
    }

    /// Moves all elements into the slice.
    fn go_home(mut self, pool: &Pool) {
        if self.away {
            let part = self.part(pool);
            let parts = self.full.chunks_mut(part).zip(self.spare.chunks_mut(part)).collect();
            in_parallel(pool, parts, |(from, to)| copy(from, to));
            self.turn();
        }
    }

    /// How long the parts of a round are.
    fn part(&self, pool: &Pool) -> usize {
        (self.full.len() / (pool.num_threads() * PARTS_A_WORKER)).max(SHORTEST_PART)
    }

    /// All elements have been moved to the other side.
    fn turn(&mut self) {
        mem::swap(&mut self.full, &mut self.spare);
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

/// Moves `from` to `to`, bitwise.
fn copy<T>(from: &[MaybeUninit<T>], to: &mut [MaybeUninit<T>]) {
    assert!(from.len() == to.len());
    // SAFETY: 1. both are as long as just checked; 2. `to` is borrowed exclusively, so they do not overlap.
    unsafe { ptr::copy_nonoverlapping(from.as_ptr(), to.as_mut_ptr(), from.len()) };
}

/// Cuts the merges of a round into parts of about that length.
fn parts<'a, T>(
    mut full: &'a mut [T],
    mut spare: &'a mut [MaybeUninit<T>],
    runs: &[usize],
    part: usize,
    is_less: &impl Fn(&T, &T) -> bool,
) -> Vec<Part<'a, T>> {
    let mut parts = Vec::new();
    for pair in runs.chunks(2) {
        let len = pair.iter().sum();
        let mut rest = Part {
            left: take(&mut full, pair[0]),
            right: take(&mut full, len - pair[0]),
            to: spare.split_off_mut(..len).expect("both sides are as long"),
        };
        let count = len.div_ceil(part);
        parts.extend(shares(len, count).map(|len| rest.take(len, is_less)));
    }
    parts
}

/// Two neighbouring runs, and where to merge them.
struct Part<'a, T> {
    left: &'a mut [T],
    right: &'a mut [T],
    to: &'a mut [MaybeUninit<T>],
}

impl<T> Part<'_, T> {
    /// Takes off what the first `len` elements are merged of.
    fn take(&mut self, len: usize, is_less: &impl Fn(&T, &T) -> bool) -> Self {
        let lefts = co_rank(len, self.left, self.right, is_less);
        Self {
            left: take(&mut self.left, lefts),
            right: take(&mut self.right, len - lefts),
            to: self.to.split_off_mut(..len).expect("there are as many places as elements"),
        }
    }

    /// Moves all elements to their places. Those they come from stay what they are until the round is over, and nobody compares
    /// an element that has been moved: a panic loses nothing, and what a comparison does to an element is moved with it.
    fn merge(mut self, is_less: &impl Fn(&T, &T) -> bool) {
        // The steps of one merge wait for each other, those of several do not: with four, 0.5 ns an element instead of 1.6.
        let mut lengths = shares(self.to.len(), 4);
        let mut merges: [_; 4] =
            array::from_fn(|_| Merge::new(self.take(lengths.next().unwrap_or(0), is_less)));
        loop {
            let steps = merges.iter().map(Merge::steps).fold(usize::MAX, usize::min);
            if steps == 0 {
                break;
            }
            for _ in 0..steps {
                for merge in &mut merges {
                    // SAFETY: each of the merges had so many steps.
                    unsafe { merge.step(is_less) };
                }
            }
        }
        for merge in merges {
            merge.finish(is_less);
        }
    }
}

/// How many of the first `len` elements, when `left` and `right` are merged stably, come from `left`.
fn co_rank<T>(len: usize, left: &[T], right: &[T], is_less: &impl Fn(&T, &T) -> bool) -> usize {
    let (mut low, mut high) = (len.saturating_sub(right.len()), len.min(left.len()));
    while low < high {
        let middle = low.midpoint(high);
        // Of equals the left one comes first.
        if is_less(&right[len - middle - 1], &left[middle]) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// A merge under way. From `to` on there are as many places as there are elements left on both sides.
struct Merge<'a, T> {
    left: Range<*const T>,
    right: Range<*const T>,
    to: *mut T,
    part: PhantomData<Part<'a, T>>,
}

impl<'a, T> Merge<'a, T> {
    fn new(part: Part<'a, T>) -> Self {
        let Part { left, right, to } = part;
        assert!(left.len() + right.len() == to.len());
        let (left, right) = (left.as_ptr_range(), right.as_ptr_range());
        Self { left, right, to: to.as_mut_ptr().cast(), part: PhantomData }
    }

    /// After so many steps at the soonest one side is empty.
    fn steps(&self) -> usize {
        len(&self.left).min(len(&self.right))
    }

    /// Moves the least element.
    ///
    /// # Safety
    /// Neither side is empty.
    #[inline(always)]
    unsafe fn step(&mut self, is_less: &impl Fn(&T, &T) -> bool) {
        let Self { left: Range { start: left, .. }, right: Range { start: right, .. }, to, .. } = self;
        // SAFETY: 1. there is an element, as promised; 2. this merge has it to itself.
        let l = unsafe { &**left };
        // SAFETY: 1. there is an element, as promised; 2. this merge has it to itself.
        let r = unsafe { &**right };
        let is_right = is_less(r, l);
        let from = select_unpredictable(is_right, *right, *left);
        // SAFETY: 1. there is a place for each element that is left; 2. it is on the other side of the round.
        unsafe { to.copy_from_nonoverlapping(from, 1) };
        // SAFETY: one place is filled.
        *to = unsafe { to.add(1) };
        // SAFETY: there was an element.
        *left = unsafe { left.add(usize::from(!is_right)) };
        // SAFETY: there was an element.
        *right = unsafe { right.add(usize::from(is_right)) };
    }

    /// Moves all that is left.
    fn finish(mut self, is_less: &impl Fn(&T, &T) -> bool) {
        loop {
            let steps = self.steps();
            if steps == 0 {
                break;
            }
            for _ in 0..steps {
                // SAFETY: there were so many elements on either side.
                unsafe { self.step(is_less) };
            }
        }
        // One of the sides is empty.
        for side in [self.left, self.right] {
            // SAFETY: 1. there is a place for each element that is left; 2. they are on the other side of the round.
            unsafe { self.to.copy_from_nonoverlapping(side.start, len(&side)) };
            // SAFETY: these places are filled.
            self.to = unsafe { self.to.add(len(&side)) };
        }
    }
}

/// How many elements there are.
fn len<T>(side: &Range<*const T>) -> usize {
    // SAFETY: 1. both ends are of one slice, the end not before the start; 2. `T` is not zero-sized.
    unsafe { side.end.offset_from_unsigned(side.start) }
}
