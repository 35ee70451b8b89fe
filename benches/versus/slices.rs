//! What slices want besides loops: items at given indices, partitions, selections.

#![allow(unsafe_code)] // the loop of rayon's users for items at given indices
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // indices

use std::{cell::RefCell, marker::PhantomData};

use rangesteal::{Pool, source::Permutation};
use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::{
    random::Random,
    rival::{Loop, Rival, Written},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
};

/// Runs the loop on the same data in each call.
struct Restored<W: Written> {
    work: W,
    data: W::Data,
    copy: RefCell<W::Data>,
}

impl<W: Written<Data: Clone>> Restored<W> {
    fn new(work: W, data: W::Data) -> Self {
        Self { work, copy: RefCell::new(data.clone()), data }
    }
}

impl<W: Written<Data: Clone>> Loop for Restored<W> {
    type Output = W::Output;

    fn prepare(&self, _: &mut impl Rival) {
        self.copy.borrow_mut().clone_from(&self.data);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<W::Output> {
        rival.written(&self.work, &mut self.copy.borrow_mut())
    }
}

/// Adds to the items at given indices.
struct Scatter<'i>(Permutation<'i>);

/// A pointer that rayon's threads may share: this is what its users write.
struct Cells(*mut u64);

// SAFETY: each thread writes to indices of its own.
unsafe impl Sync for Cells {}

impl Cells {
    /// # Safety
    /// `index` lies within the slice, and no other thread has it.
    unsafe fn add(&self, index: usize, x: u64) {
        // SAFETY: as the caller promises.
        let cell = unsafe { self.0.add(index) };
        // SAFETY: as the caller promises.
        unsafe { *cell += x };
    }
}

impl Written for Scatter<'_> {
    type Data = Vec<u64>;
    type Output = u64;

    fn plain(&self, values: &mut Vec<u64>) -> u64 {
        for (x, index) in (0..).zip(self.0.indices()) {
            values[*index] += x;
        }
        values[0]
    }

    fn ours(&self, pool: &Pool, values: &mut Vec<u64>) -> u64 {
        pool.on_mut(values).at(&self.0).enumerate().for_each(|(x, value)| *value += x as u64);
        values[0]
    }

    fn rayon(&self, values: &mut Vec<u64>) -> Option<u64> {
        let cells = Cells(values.as_mut_ptr());
        let cells = &cells;
        self.0.indices().par_iter().enumerate().for_each(|(x, index)| {
            // SAFETY: the indices are distinct, and less than the length.
            unsafe { cells.add(*index, x as u64) };
        });
        Some(values[0])
    }
}

/// Checks that indices are distinct.
struct Check;

impl Written for Check {
    type Data = Vec<usize>;
    type Output = bool;

    fn plain(&self, indices: &mut Vec<usize>) -> bool {
        let mut seen = vec![false; indices.len()];
        indices.iter().all(|index| !std::mem::replace(&mut seen[*index], true))
    }

    fn ours(&self, pool: &Pool, indices: &mut Vec<usize>) -> bool {
        pool.permutation(&*indices, indices.len()).is_ok()
    }
}

/// Partitions by a bit.
struct Part<T, F: Fn(&T) -> bool>(F, PhantomData<fn(&T)>);

fn part<T, F: Fn(&T) -> bool>(test: F) -> Part<T, F> {
    Part(test, PhantomData)
}

impl<T: Send, F: Fn(&T) -> bool + Sync> Written for Part<T, F> {
    type Data = Vec<T>;
    type Output = usize;

    fn plain(&self, items: &mut Vec<T>) -> usize {
        let mut passed = 0;
        for at in 0..items.len() {
            let passes = (self.0)(&items[at]);
            items.swap(passed, at);
            passed += usize::from(passes);
        }
        passed
    }

    fn ours(&self, pool: &Pool, items: &mut Vec<T>) -> usize {
        pool.partition_in_place(items, &self.0)
    }
}

/// Selects the item at a part of the length.
struct Select(f64);

impl Written for Select {
    type Data = Vec<u32>;
    type Output = u32;

    fn plain(&self, items: &mut Vec<u32>) -> u32 {
        let index = (items.len() as f64 * self.0) as usize;
        *items.select_nth_unstable(index).1
    }

    fn ours(&self, pool: &Pool, items: &mut Vec<u32>) -> u32 {
        let index = (items.len() as f64 * self.0) as usize;
        *pool.select_nth_unstable(items, index).1
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let mut random = Random::default();
    let numbers: Vec<u32> = (0..10_000_000).map(|_| random.draw()).collect();
    let mut shuffled: Vec<usize> = (0..numbers.len()).collect();
    shuffled.sort_by_cached_key(|index| numbers[*index]);
    let mut rows = Vec::new();
    macro_rules! row {
        ($name:expr, $bar:expr, $work:expr, $data:expr) => {
            row!($name, $bar, $work, $data, Pace::LONG)
        };
        ($name:expr, $bar:expr, $work:expr, $data:expr, $pace:expr) => {
            let race = runner.race(pool, &runner.few(), $pace, &Restored::new($work, $data));
            rows.push(Row::of(&race, $name, Unit::Ratio, Some($bar)));
        };
    }
    let places = pool.permutation(&shuffled, shuffled.len()).expect("distinct indices");
    row!("scatter to 10M u64 in random order", 0.60, Scatter(places), vec![0; shuffled.len()]);
    let near: Vec<usize> = (0..numbers.len()).map(|i| i ^ 5).collect();
    let places = pool.permutation(&near, near.len()).expect("distinct indices");
    row!("scatter to 10M u64 nearby", 0.75, Scatter(places), vec![0; near.len()]);
    row!("check of 10M distinct indices", 0.60, Check, shuffled);
    // A partition in order takes as long as one of items in no order: it has no branch.
    for (len, calls) in [(30, 3000), (1000, 1000), (30_000, 30), (1_000_000, 1), (10_000_000, 1)] {
        let (name, bar) = (format!("partition of {len} u32"), if len < 100_000 { 1.05 } else { 0.60 });
        row!(name, bar, part(|x| x % 2 == 0), numbers[..len].to_vec(), Pace::calls(calls));
    }
    row!("partition of 10M u32, 1 % pass", 0.60, part(|x| x % 100 == 0), numbers.clone());
    let mut in_order = numbers.clone();
    in_order.sort_unstable();
    row!("partition of 10M u32 in order", 0.75, part(|x: &u32| x >> 30 == 1), in_order);
    let large: Vec<[u64; 16]> = numbers[..1_000_000].iter().map(|x| [u64::from(*x); 16]).collect();
    row!("partition of 1M items of 128 bytes", 0.75, part(|x: &[u64; 16]| x[0] < 1 << 31), large);
    for (name, at, len) in [
        ("median of 10M u32", 0.5, 10_000_000),
        ("least hundredth of 10M u32", 0.01, 10_000_000),
        ("median of 100k u32", 0.5, 100_000),
    ] {
        row!(name, 0.60, Select(at), numbers[..len].to_vec());
    }
    rows
}
