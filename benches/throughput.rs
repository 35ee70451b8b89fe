//! What does claiming cost where items are nearly free? Sums from memory, and results collected in order.

#![allow(missing_docs)]

mod side_by_side;

use std::hint::black_box;

use paralight::iter::{ExactParallelSourceExt, IntoExactParallelRefSource, ParallelIteratorExt};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use side_by_side::run;

fn main() {
    run("What does claiming cost?", |rivals| {
        let sum = |a: u64, b: u64| a + b;
        let numbers: Vec<u64> = (0..10_000_000).collect();
        let numbers = &numbers[..];
        let (front, back) = numbers.split_at(numbers.len() / 2);
        rivals.row(
            "sum of 10M u64 from memory",
            None,
            &mut [
                ("plain", &mut |_| black_box(numbers).iter().sum::<u64>()),
                ("rangesteal", &mut |rivals| {
                    rivals.pool.map_reduce(black_box(numbers), |x| *x, sum).unwrap_or(0)
                }),
                ("two halves", &mut |rivals| {
                    rivals.rayon.install(|| {
                        let (a, b) = rayon::join(
                            || black_box(front).iter().sum::<u64>(),
                            || black_box(back).iter().sum::<u64>(),
                        );
                        a + b
                    })
                }),
                ("rayon", &mut |rivals| {
                    rivals.rayon.install(|| IntoParallelRefIterator::par_iter(black_box(numbers)).sum())
                }),
                ("paralight", &mut |rivals| {
                    let items = IntoExactParallelRefSource::par_iter(black_box(numbers));
                    items.with_thread_pool(&mut rivals.paralight).map(|x| *x).reduce(|| 0, sum)
                }),
            ],
        );
        let hash =
            |x: &u64| (0..7).fold(*x, |hash, _| (hash ^ hash >> 29).wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let items = &numbers[..300_000];
        rivals.row(
            "collect of 300k in order",
            Some(0.515),
            &mut [
                ("plain", &mut |_| items.iter().map(hash).collect::<Vec<u64>>()),
                ("rangesteal", &mut |rivals| rivals.pool.map_collect(items, hash)),
                ("rayon", &mut |rivals| {
                    rivals.rayon.install(|| IntoParallelRefIterator::par_iter(items).map(hash).collect())
                }),
            ],
        );
    });
}
