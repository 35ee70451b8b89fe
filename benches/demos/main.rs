//! Programs written for rayon, compiled twice from the same source: with rayon and with the
//! drop-in.
//!
//! `cargo bench --bench demos [-- WORD]` runs the programs whose names contain the word, with two
//! threads, in interleaved turns. Figures are median times relative to the drop-in on one thread.

#![allow(clippy::cast_precision_loss)] // small numbers

use std::{env, time::Instant};

/// The programs. Here the crate `rayon` is the real one or the drop-in.
macro_rules! programs_with {
    ($name:ident, $krate:ident) => {
        mod $name {
            use $krate as rayon;
            include!("programs.rs");
        }
    };
}
programs_with!(with_rayon, rayon);
programs_with!(with_drop_in, rangesteal_rayon);

const THREADS: usize = 2;
const ROUNDS: usize = 21;
/// The least length of a turn, in seconds.
const TURN: f64 = 0.01;

/// The time of a call of `run`, in seconds.
fn turn(mut run: impl FnMut() -> u64, expected: u64) -> f64 {
    let (begin, mut calls) = (Instant::now(), 0.0);
    while begin.elapsed().as_secs_f64() < TURN {
        assert_eq!(run(), expected, "a wrong result");
        calls += 1.0;
    }
    begin.elapsed().as_secs_f64() / calls
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn main() {
    let word = env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let theirs = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("a pool");
    let drop_in = |threads| {
        let pool = rangesteal_rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("a pool")
    };
    let (ours, alone) = (drop_in(THREADS), drop_in(1));
    println!("| program | one thread | rayon | drop-in | drop-in : rayon |\n|---|---|---|---|---|");
    let programs = with_rayon::PROGRAMS.iter().zip(with_drop_in::PROGRAMS);
    for (by_rayon, by_drop_in) in programs.filter(|(program, _)| program.name.contains(&word)) {
        assert_eq!(by_rayon.name, by_drop_in.name);
        let (rayons, drop_ins) = ((by_rayon.make)(), (by_drop_in.make)());
        let expected = alone.install(&*drop_ins);
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            times[0].push(turn(|| alone.install(&*drop_ins), expected));
            times[1].push(turn(|| theirs.install(&*rayons), expected));
            times[2].push(turn(|| ours.install(&*drop_ins), expected));
        }
        let [alone, theirs, ours] = times.map(median);
        println!(
            "| {} | {:.0} µs | {:.2} | {:.2} | {:.2} |",
            by_rayon.name,
            alone * 1e6,
            theirs / alone,
            ours / alone,
            ours / theirs
        );
    }
}
