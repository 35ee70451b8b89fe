//! Loops over slices beyond those of iterators: items at given indices, partitions, selections,
//! merges, groups, histograms.

#![allow(clippy::trivially_copy_pass_by_ref)] // closures of loops over slices
#![allow(unsafe_code)] // the loop of rayon's users for items at given indices
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)] // indices

use std::{cell::RefCell, collections::HashMap, hint::black_box, marker::PhantomData};

use rangesteal::{Pool, source, source::Permutation};
use rayon::{
    iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator},
    slice::{ParallelSlice, ParallelSliceMut},
};

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

/// Selects the item whose index is this part of the length.
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

/// Merges two sorted runs, which meet at an index.
struct Merge(usize);

impl Written for Merge {
    type Data = Vec<u32>;
    type Output = [u32; 3];

    fn plain(&self, items: &mut Vec<u32>) -> [u32; 3] {
        items.sort_by(u32::cmp); // std's stable sort finds both runs
        three(items)
    }

    fn ours(&self, pool: &Pool, items: &mut Vec<u32>) -> [u32; 3] {
        pool.merge(items, self.0);
        three(items)
    }

    fn rayon(&self, items: &mut Vec<u32>) -> Option<[u32; 3]> {
        items.par_sort();
        Some(three(items))
    }
}

fn three(items: &[u32]) -> [u32; 3] {
    [items[0], items[items.len() / 2], items[items.len() - 1]]
}

/// The greatest price of each key, in the order of the keys. The plain loop has a hash map.
struct Groups;

type Sale = (u32, u32);

impl Written for Groups {
    type Data = Vec<Sale>;
    type Output = Vec<Sale>;

    fn plain(&self, sales: &mut Vec<Sale>) -> Vec<Sale> {
        let mut dearest = HashMap::new();
        for (key, price) in &*sales {
            let greatest = dearest.entry(*key).or_insert(0);
            *greatest = u32::max(*greatest, *price);
        }
        let mut dearest: Vec<Sale> = dearest.into_iter().collect();
        dearest.sort_unstable();
        dearest
    }

    fn ours(&self, pool: &Pool, sales: &mut Vec<Sale>) -> Vec<Sale> {
        pool.sort_unstable_by_key(sales, |sale| sale.0);
        pool.on(&*sales).chunk_by(|a, b| a.0 == b.0).map(dearest).collect()
    }

    fn rayon(&self, sales: &mut Vec<Sale>) -> Option<Vec<Sale>> {
        sales.par_sort_unstable_by_key(|sale| sale.0);
        Some(sales.par_chunk_by(|a, b| a.0 == b.0).map(dearest).collect())
    }
}

/// The first item of each run of equal items.
struct Dedup;

impl Written for Dedup {
    type Data = Vec<u32>;
    type Output = (usize, u32);

    fn plain(&self, items: &mut Vec<u32>) -> (usize, u32) {
        items.dedup();
        (items.len(), items[items.len() / 2])
    }

    fn ours(&self, pool: &Pool, items: &mut Vec<u32>) -> (usize, u32) {
        let is_first = |i: &usize| *i == 0 || items[*i] != items[*i - 1];
        let first: Vec<u32> = pool.on(0..items.len()).filter(is_first).map(|i| items[i]).collect();
        (first.len(), first[first.len() / 2])
    }
}

/// The sum of the prices of each key, in a hash map.
struct Sums;

type Totals = HashMap<u32, u64>;

fn add_sale(mut totals: Totals, sale: &Sale) -> Totals {
    *totals.entry(sale.0).or_insert(0) += u64::from(sale.1);
    totals
}

fn add_totals(mut totals: Totals, others: Totals) -> Totals {
    for (key, total) in others {
        *totals.entry(key).or_insert(0) += total;
    }
    totals
}

impl Written for Sums {
    type Data = Vec<Sale>;
    type Output = Totals;

    fn plain(&self, sales: &mut Vec<Sale>) -> Totals {
        sales.iter().fold(Totals::new(), add_sale)
    }

    fn ours(&self, pool: &Pool, sales: &mut Vec<Sale>) -> Totals {
        pool.on(&*sales).fold(Totals::new, add_sale, add_totals)
    }

    fn rayon(&self, sales: &mut Vec<Sale>) -> Option<Totals> {
        Some(sales.par_iter().fold(Totals::new, add_sale).reduce(Totals::new, add_totals))
    }
}

fn dearest(group: &[Sale]) -> Sale {
    group.iter().copied().max_by_key(|sale| sale.1).expect("groups have items")
}

/// The number of items of each kind. The counts are in a box, since a step of `fold` moves them.
struct Histogram;

type Counts = Box<[u32; 256]>;

fn count(mut counts: Counts, x: &u32) -> Counts {
    counts[(x >> 24) as usize] += 1;
    counts
}

#[allow(clippy::needless_pass_by_value, reason = "as a reduction is called")]
fn add(mut counts: Counts, others: Counts) -> Counts {
    counts.iter_mut().zip(*others).for_each(|(count, other)| *count += other);
    counts
}

impl Written for Histogram {
    type Data = Vec<u32>;
    type Output = Counts;

    fn plain(&self, items: &mut Vec<u32>) -> Counts {
        items.iter().fold(Counts::new([0; 256]), count)
    }

    fn ours(&self, pool: &Pool, items: &mut Vec<u32>) -> Counts {
        pool.on(&*items).fold(|| Counts::new([0; 256]), count, add)
    }

    fn rayon(&self, items: &mut Vec<u32>) -> Option<Counts> {
        let none = || Counts::new([0; 256]);
        Some(items.par_iter().fold(none, count).reduce(none, add))
    }
}

/// The side of a square matrix.
const SIDE: usize = 8000;

/// Transposes a matrix by tiles. The reference is the same pool by bands of whole rows.
struct Transpose<'p> {
    by_bands: &'p Pool,
    matrix: Vec<f32>,
    /// The side of a tile. Both loops have tiles of this size.
    tile: usize,
}

fn transpose(matrix: &[f32], row: usize, first: usize, cells: &mut [f32]) {
    for (column, cell) in (first..).zip(cells) {
        *cell = matrix[column * SIDE + row];
    }
}

impl Written for Transpose<'_> {
    type Data = Vec<f32>;
    type Output = [f32; 2];

    fn plain(&self, out: &mut Vec<f32>) -> [f32; 2] {
        let Self { by_bands, matrix, tile } = self;
        by_bands.on_mut(out).chunks(tile * SIDE).enumerate().for_each(|(band, rows)| {
            for first in (0..SIDE).step_by(*tile) {
                for (row, cells) in (band * tile..).zip(rows.chunks_mut(SIDE)) {
                    transpose(matrix, row, first, &mut cells[first..SIDE.min(first + tile)]);
                }
            }
        });
        [out[1], out[SIDE * SIDE - 2]]
    }

    fn ours(&self, pool: &Pool, out: &mut Vec<f32>) -> [f32; 2] {
        pool.on(source::tiles(out, SIDE, [self.tile; 2])).for_each(|mut tile| {
            let (rows, first) = (tile.rows(), tile.columns().start);
            for (row, cells) in rows.zip(tile.cells()) {
                transpose(&self.matrix, row, first, cells);
            }
        });
        [out[1], out[SIDE * SIDE - 2]]
    }
}

/// The means of 5 by 5 cells, by tiles. The reference is the same pool by whole rows. A tile also
/// reads the two rows above and the two rows below its own. A loop over whole rows finds these rows
/// in the cache.
struct Blur<'p>(&'p Pool, Vec<f32>);

/// The means of cells of a row that is no border. `first` is the column of the first cell.
fn blur(image: &[f32], row: usize, first: usize, cells: &mut [f32]) {
    let (first, skipped) = (first.max(2), first.max(2) - first);
    let width = cells.len().saturating_sub(skipped).min(SIDE - 2 - first);
    let cells = &mut cells[skipped..skipped + width];
    cells.fill(0.0);
    for above in row - 2..=row + 2 {
        let line = &image[above * SIDE + first - 2..][..width + 4];
        for (cell, window) in cells.iter_mut().zip(line.windows(5)) {
            *cell += window.iter().sum::<f32>() / 25.0;
        }
    }
}

impl Written for Blur<'_> {
    type Data = Vec<f32>;
    type Output = [f32; 2];

    fn plain(&self, out: &mut Vec<f32>) -> [f32; 2] {
        self.0.on_mut(out).chunks(SIDE).enumerate().for_each(|(row, cells)| {
            if (2..SIDE - 2).contains(&row) {
                blur(&self.1, row, 0, cells);
            }
        });
        [out[SIDE * 2 + 2], out[SIDE * SIDE / 2 + 7]]
    }

    fn ours(&self, pool: &Pool, out: &mut Vec<f32>) -> [f32; 2] {
        pool.on(source::tiles(out, SIDE, [64, 1000])).for_each(|mut tile| {
            let (rows, first) = (tile.rows(), tile.columns().start);
            for (row, cells) in rows.zip(tile.cells()) {
                if (2..SIDE - 2).contains(&row) {
                    blur(&self.1, row, first, cells);
                }
            }
        });
        [out[SIDE * 2 + 2], out[SIDE * SIDE / 2 + 7]]
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
    // The partition has no branch, so items in order take as long as items in no order.
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
    for (name, middle) in [("halves", 5_000_000), ("hundredths", 9_900_000)] {
        let mut runs = numbers.clone();
        runs[..middle].sort_unstable();
        runs[middle..].sort_unstable();
        row!(format!("merge of 10M u32 that meet at {name}"), 0.60, Merge(middle), runs);
    }
    for keys in [100, 1_000_000] {
        let sales = numbers.iter().map(|x| (x % keys, x >> 8)).collect();
        row!(format!("group by {keys} keys, 10M, to a hash map"), 1.05, Groups, sales);
    }
    let sales = numbers.iter().map(|x| (x % 100, x >> 8)).collect();
    row!("sums of 10M by 100 keys", 0.60, Sums, sales);
    let mut repeated: Vec<u32> = numbers.iter().map(|x| x % 4_000_000).collect();
    repeated.sort_unstable();
    row!("first items of 10M u32 without repetitions", 1.05, Dedup, repeated);
    let image: Vec<f32> = numbers.iter().cycle().take(SIDE * SIDE).map(|x| *x as f32).collect();
    let transpose = Transpose { by_bands: pool, matrix: image.clone(), tile: black_box(64) };
    row!("transposition by tiles, to bands", 1.05, transpose, vec![0.0; SIDE * SIDE]);
    row!("blur by tiles, to bands", 1.05, Blur(pool, image), vec![0.0; SIDE * SIDE]);
    row!("histogram of 10M u32, 256 kinds", 0.60, Histogram, numbers.clone());
    row!("histogram of 10k u32, 256 kinds", 1.05, Histogram, numbers[..10_000].to_vec(), Pace::calls(100));
    rows
}
