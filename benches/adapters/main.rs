//! Adapters of parallel iterators, compiled twice from the same source: with rayon and with the
//! drop-in.
//!
//! `cargo bench --bench adapters [-- WORD]` runs the rows whose names contain the word, with two
//! threads, in interleaved turns. Figures are median times relative to the plain loop, and in the
//! last column least times. Target: at most 1.05 times rayon's time.
//!
//! With `--both`, loops of both pools run in turn in one process, instead of the rows.

#![allow(clippy::cast_possible_truncation, reason = "small numbers, or bits that do not matter")]
#![allow(
    clippy::needless_pass_by_value,
    clippy::trivially_copy_pass_by_ref,
    reason = "closures of iterators"
)]

use std::{
    env,
    sync::LazyLock,
    time::{Duration, Instant},
};

/// A loop and its result.
type Run = Box<dyn Fn() -> u64 + Send + Sync>;

/// A row: its name, the plain loop, and the parallel one.
struct Row {
    name: &'static str,
    plain: fn() -> Run,
    parallel: fn() -> Run,
}

/// The rows. Here the crate `rayon` is the real one or the drop-in.
macro_rules! rows_with {
    ($name:ident, $krate:ident) => {
        mod $name {
            use $krate as rayon;
            include!("rows.rs");
        }
    };
}
rows_with!(with_rayon, rayon);
rows_with!(with_drop_in, rangesteal_rayon);

const THREADS: usize = 2;
const ROUNDS: usize = 21;
/// The least length of a turn.
const TURN: Duration = Duration::from_millis(10);

/// Numbers that look random.
static NUMBERS: LazyLock<Vec<u32>> = LazyLock::new(|| (0..10_000_000).map(|i| mix(i) as u32).collect());
/// Words of 1 to 8 letters, some of which are not ASCII. A line has some ten words.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let letters: Vec<char> = "etaoinshrdlué".chars().collect();
    let word = |i: u64| {
        (0..=mix(i) % 8).map(|at| letters[mix(8 * i + at) as usize % letters.len()]).collect::<String>()
    };
    let words = (0..1_500_000).map(|i| word(i) + if mix(i).is_multiple_of(11) { "\n" } else { " " });
    words.collect::<Vec<String>>().concat()
});

/// Mixes the bits of a number. The sum of some million results fits into 64 bits.
fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) >> 24
}

/// The time of a call of `run`, in seconds.
fn turn(run: impl Fn() -> u64, expected: Option<u64>) -> f64 {
    let (begin, mut calls) = (Instant::now(), 0.0);
    while begin.elapsed() < TURN {
        let made = run();
        assert!(expected.is_none_or(|expected| made == expected), "a wrong result");
        calls += 1.0;
    }
    begin.elapsed().as_secs_f64() / calls
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

fn least(times: &[f64]) -> f64 {
    times.iter().copied().fold(f64::INFINITY, f64::min)
}

/// A loop of the real rayon.
fn loop_of_rayon(pool: &rayon::ThreadPool, count: u64) -> u64 {
    use rayon::prelude::*;
    pool.install(|| (0..count).into_par_iter().map(mix).reduce(|| 0, u64::wrapping_add))
}

/// The same loop of the drop-in.
fn loop_of_drop_in(pool: &rangesteal_rayon::ThreadPool, count: u64) -> u64 {
    use rangesteal_rayon::prelude::*;
    pool.install(|| (0..count).into_par_iter().map(mix).reduce(|| 0, u64::wrapping_add))
}

/// Loops of both pools in one process: of each pool alone, and in turn. Prints microseconds.
fn both(theirs: &rayon::ThreadPool, ours: &rangesteal_rayon::ThreadPool) {
    println!("| items | rayon alone | in turn | drop-in alone | in turn |\n|---|---|---|---|---|");
    for count in [20_000, 100_000, 1_000_000] {
        let (by_rayon, by_drop_in) = (|| loop_of_rayon(theirs, count), || loop_of_drop_in(ours, count));
        let mut times = [const { Vec::new() }; 4];
        for _ in 0..ROUNDS {
            times[0].push(turn(by_rayon, None));
            times[2].push(turn(by_drop_in, None));
            let (begin, mut in_turn, mut calls) = (Instant::now(), [0.0; 2], 0.0);
            while begin.elapsed() < 2 * TURN {
                let runs: [&dyn Fn() -> u64; 2] = [&by_rayon, &by_drop_in];
                for (time, run) in in_turn.iter_mut().zip(runs) {
                    let begin = Instant::now();
                    std::hint::black_box(run());
                    *time += begin.elapsed().as_secs_f64();
                }
                calls += 1.0;
            }
            times[1].push(in_turn[0] / calls);
            times[3].push(in_turn[1] / calls);
        }
        let times = times.map(|times| format!("{:.0}", median(times) * 1e6)).join(" | ");
        println!("| {count} | {times} |");
    }
}

fn main() {
    let word = env::args().skip(1).find(|argument| !argument.starts_with("--")).unwrap_or_default();
    let theirs = rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("a pool");
    let ours = rangesteal_rayon::ThreadPoolBuilder::new().num_threads(THREADS).build().expect("a pool");
    if env::args().any(|argument| argument == "--both") {
        return both(&theirs, &ours);
    }
    println!(
        "| loop | plain | rayon | drop-in | drop-in : rayon | of least times |\n|---|---|---|---|---|---|"
    );
    let rows = with_rayon::ROWS.iter().zip(with_drop_in::ROWS);
    for (by_rayon, by_drop_in) in rows.filter(|(row, _)| row.name.contains(&word)) {
        assert_eq!(by_rayon.name, by_drop_in.name);
        let (plain, rayons, drop_ins) = ((by_rayon.plain)(), (by_rayon.parallel)(), (by_drop_in.parallel)());
        // The name says if a loop may choose its items.
        let expected = Some(plain()).filter(|_| !by_rayon.name.contains("any"));
        let mut times = [const { Vec::new() }; 3];
        for _ in 0..ROUNDS {
            times[0].push(turn(&plain, expected));
            times[1].push(turn(|| theirs.install(&rayons), expected));
            times[2].push(turn(|| ours.install(&drop_ins), expected));
        }
        let [_, least_of_rayon, least_of_drop_in] = times.each_ref().map(|times| least(times));
        let [plain, theirs, ours] = times.map(median);
        println!(
            "| {} | {:.0} µs | {:.2} | {:.2} | {:.2} | {:.2} |",
            by_rayon.name,
            plain * 1e6,
            theirs / plain,
            ours / plain,
            ours / theirs,
            least_of_drop_in / least_of_rayon
        );
    }
}
