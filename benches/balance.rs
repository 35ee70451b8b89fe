//! Does the load balance down to single items? Even and uneven costs, and heavy items in a row.

#![allow(missing_docs)]

mod side_by_side;

use paralight::iter::{ExactParallelSourceExt, IntoExactParallelRefSource, ParallelIteratorExt};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use side_by_side::{Rivals, run, work};

fn row(rivals: &mut Rivals<'_>, name: &str, bar: f64, costs: &[u64]) {
    let cost = |cost: &u64| work(*cost);
    let sum = |a, b| a + b;
    rivals.row(
        name,
        Some(bar),
        &mut [
            ("plain", &mut |_| costs.iter().map(cost).fold(0, sum)),
            ("rangesteal", &mut |rivals| rivals.pool.map_reduce(costs, cost, sum).unwrap_or(0)),
            ("rayon", &mut |rivals| {
                rivals.rayon.install(|| IntoParallelRefIterator::par_iter(costs).map(cost).reduce(|| 0, sum))
            }),
            ("paralight", &mut |rivals| {
                let items = IntoExactParallelRefSource::par_iter(costs);
                items.with_thread_pool(&mut rivals.paralight).map(cost).reduce(|| 0, sum)
            }),
        ],
    );
}

/// `len` items of no cost, but for `count` items of `nanos` from `first` on.
fn heavy(len: usize, first: usize, count: usize, nanos: u64) -> Vec<u64> {
    let run = first..first + count;
    (0..len).map(|i| if run.contains(&i) { nanos } else { 0 }).collect()
}

fn main() {
    run("Does the load balance?", |rivals| {
        row(rivals, "40k items of 100 ns", 0.51, &vec![100; 40_000]);
        row(rivals, "cost growing, 1.5k items", 0.51, &(0..1500).map(|i| i * 4).collect::<Vec<_>>());
        row(rivals, "cost falling, 1.5k items", 0.51, &(0..1500).rev().map(|i| i * 4).collect::<Vec<_>>());
        for (place, first) in [("start", 0), ("third", 3333), ("odd place", 7001), ("end", 9936)] {
            row(rivals, &format!("64 x 50 µs in a row at {place}"), 0.52, &heavy(10_000, first, 64, 50_000));
        }
        row(rivals, "16 x 200 µs in a row in 100k", 0.60, &heavy(100_000, 61_234, 16, 200_000));
        let mut first = vec![2_000; 1001];
        first[0] = 2_000_000;
        row(rivals, "first item as heavy as the others", 0.52, &first);
    });
}
