//! k-means clustering over ranks: floating-point sums with the same bits on any number of ranks and
//! threads.
//!
//! ```text
//! cargo build --release -p ranks
//! mpirun -n 2 --map-by slot:PE=8 target/release/kmeans
//! ```
//! Every rank has whole blocks of the points (`share`). The threads of the rank's pool add up its
//! points (`reproducible_part`). The result of a rank is a few nodes of a tree. All ranks gather
//! these nodes and combine them. So all ranks move the centres equally, and stop in the same round.

use std::{error::Error, process::ExitCode, time::Instant};

use clap::Parser;
use mpi::topology::SimpleCommunicator;
use rangesteal::{Pool, reproducible::share};
use ranks::{
    exchange::{self, Told, add, rank, ranks},
    figures::{Medians, Round, fingerprint, random},
    launch,
    shares::imbalance,
};

/// The number of clusters.
const K: usize = 9;

type Point = [f64; 2];

/// For each cluster: the sums of the coordinates of its points, and their count.
type Sums = [f64; 3 * K];

/// Finds nine clusters of points, on all ranks
#[derive(Debug, Parser)]
#[command(name = "kmeans")]
struct Options {
    /// Number of points on all ranks
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    points: usize,
    /// Largest number of rounds
    #[arg(long, value_name = "N", default_value_t = 100)]
    rounds: usize,
    /// Computes on one rank, as one loop over all points, without parts, for comparison
    #[arg(long)]
    alone: bool,
    /// This rank panics in its third round: for `check`
    #[arg(long, value_name = "RANK", hide = true)]
    panic_on: Option<usize>,
}

/// A point around one of nine places.
fn point(index: usize) -> Point {
    let around = |place: usize, seed: usize| {
        let random = |i: usize| random((index * 6 + seed + i) as u64);
        [0.0, 2.0, 4.0][place] + random(0) + random(1) + random(2) - 1.5
    };
    [around(index % 3, 0), around(index / 3 % 3, 3)]
}

/// Adds a point to the cluster of its nearest centre.
fn with_point(mut sums: Sums, point: &Point, centres: &[Point; K]) -> Sums {
    let mut nearest = (0, f64::MAX);
    for (i, centre) in centres.iter().enumerate() {
        let distance = (centre[0] - point[0]).powi(2) + (centre[1] - point[1]).powi(2);
        if distance < nearest.1 {
            nearest = (i, distance);
        }
    }
    let cluster = &mut sums[3 * nearest.0..][..3];
    cluster[0] += point[0];
    cluster[1] += point[1];
    cluster[2] += 1.0;
    sums
}

fn kmeans(world: &SimpleCommunicator, options: &Options) -> Result<(), Box<dyn Error>> {
    let (len, rank, ranks) = (options.points, rank(world), ranks(world));
    if options.alone && ranks > 1 {
        return Err("--alone is for one rank".into());
    }
    let pool = Pool::new()?;
    let mine = share(len, rank, ranks);
    let points: Vec<_> = pool.on(mine.clone()).map(point).collect();
    // All centres start around the first place, far from the result.
    let mut centres: [Point; K] = std::array::from_fn(|i| point(9 * i));
    let mut rounds = Vec::new();
    for round in 0..options.rounds {
        assert!(round != 2 || options.panic_on != Some(rank), "rank {rank} panics, as it was told to");
        let begin = Instant::now();
        let (none, fold) = (|| [0.0; 3 * K], |sums, point: &Point| with_point(sums, point, &centres));
        let (loops, Told { sums, times }) = if options.alone {
            let sums = pool.on(&points).reproducible().fold(none, fold, add);
            (begin.elapsed(), Told { sums, times: vec![1.0] })
        } else {
            let part = pool.on(&points).reproducible_part(mine.start, len).fold(none, fold, add);
            let loops = begin.elapsed();
            (loops, exchange::sums(world, len, part, loops)?)
        };
        let next = std::array::from_fn(|i| {
            let count = sums[3 * i + 2].max(1.0);
            [sums[3 * i] / count, sums[3 * i + 1] / count]
        });
        rounds.push(Round::behind(begin, loops, imbalance(&times)));
        if next == centres {
            break;
        }
        centres = next;
    }
    if rank == 0 {
        let (threads, made) = (pool.num_threads(), rounds.len());
        println!("kmeans: {len} points, {made} rounds, {ranks} ranks x {threads} threads");
        println!("{}", Medians(&rounds));
        println!("fingerprint {:016x}", fingerprint(centres.as_flattened()));
    }
    Ok(())
}

fn main() -> ExitCode {
    launch::run(kmeans)
}
