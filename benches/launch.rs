//! What does starting a loop cost? Loops too short to share, back to back and with serial work between.

#![allow(missing_docs)]

mod side_by_side;

use std::hint::black_box;

use paralight::iter::{ExactParallelSourceExt, IntoExactParallelRefSource, ParallelIteratorExt};
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use side_by_side::{Rivals, run, work};

/// Calls a row's loop `calls` times, with `gap` nanoseconds of serial work before each.
fn again(
    rivals: &mut Rivals<'_>,
    calls: usize,
    gap: u64,
    mut call: impl FnMut(&mut Rivals<'_>) -> u64,
) -> u64 {
    (0..calls)
        .map(|_| {
            work(gap);
            call(rivals)
        })
        .sum()
}

fn main() {
    run("What does starting a loop cost?", |rivals| {
        let two = [1u64, 2];
        let thousands: Vec<u64> = (0..16_384).collect();
        for (name, items, calls, gap, bar) in [
            ("2 items, 1000 calls", &two[..], 1000, 0, None),
            ("2 items, 100 calls, 20 µs between", &two, 100, 20_000, Some(1.0)),
            ("2 items, 10 calls, 1 ms between", &two, 10, 1_000_000, Some(1.0)),
            ("16k numbers in cache, 10 calls", &thousands, 10, 0, Some(1.06)),
        ] {
            rivals.row(
                name,
                bar,
                &mut [
                    ("plain", &mut |rivals| again(rivals, calls, gap, |_| black_box(items).iter().sum())),
                    ("rangesteal", &mut |rivals| {
                        again(rivals, calls, gap, |rivals| {
                            rivals.pool.map_reduce(black_box(items), |x| *x, |a, b| a + b).unwrap_or(0)
                        })
                    }),
                    ("rayon", &mut |rivals| {
                        again(rivals, calls, gap, |rivals| {
                            rivals
                                .rayon
                                .install(|| IntoParallelRefIterator::par_iter(black_box(items)).sum::<u64>())
                        })
                    }),
                    ("paralight", &mut |rivals| {
                        again(rivals, calls, gap, |rivals| {
                            let items = IntoExactParallelRefSource::par_iter(black_box(items));
                            items
                                .with_thread_pool(&mut rivals.paralight)
                                .map(|x| *x)
                                .reduce(|| 0, |a, b| a + b)
                        })
                    }),
                ],
            );
        }
    });
}
