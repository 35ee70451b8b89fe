//! Shows whether the address of a loop matters. Measures the sum of row `b` of `versus` and the
//! plain loop. `benches/padding/eight` builds this program eight times, with its code at different
//! addresses.

#![allow(missing_docs, clippy::cast_precision_loss, reason = "a program that estimates")]

#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/machine.rs"]
mod machine;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/race.rs"]
mod race;
#[path = "../versus/random.rs"]
mod random;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/who.rs"]
mod who;

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use rangesteal::Pool;

use crate::{
    race::{Race, Turn},
    who::Who,
};

const LENGTHS: [usize; 2] = [16_384, 60_000];
const ROUNDS: usize = 40;
const WARM_UP_ROUNDS: usize = 5;

#[inline(never)]
fn plain(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |sum, x| sum.wrapping_add(*x))
}

#[inline(never)]
fn ours(pool: &Pool, numbers: &[u64]) -> u64 {
    pool.map_reduce(numbers, |x| *x, u64::wrapping_add).unwrap_or(0)
}

/// The number of calls in a turn, with a pause before each.
fn race(pool: &Pool, numbers: &[u64], calls: u32, pause: Option<Duration>) -> Race {
    Race::interleaved(&[Who::Plain, Who::Rangesteal], WARM_UP_ROUNDS + ROUNDS, |round, who| {
        let mut nanos = 0.0;
        for _ in 0..calls {
            pause.into_iter().for_each(thread::sleep);
            let begin = Instant::now();
            black_box(match who {
                Who::Plain => plain(black_box(numbers)),
                _ => ours(pool, black_box(numbers)),
            });
            nanos += begin.elapsed().as_secs_f64() * 1e9;
        }
        if pause.is_none() {
            machine::settle();
        }
        let turn = Turn { nanos: nanos / f64::from(calls), cpu: 0.0, switches: 0.0 };
        (round >= WARM_UP_ROUNDS).then_some(turn)
    })
}

/// Prints a line for each loop: its length, its name, its ratio to the plain loop's time (median of
/// the rounds, and of the minima), and the plain loop's time in microseconds.
fn main() {
    let parks = Pool::builder().num_threads(2).build().expect("a pool");
    let spins = Pool::builder().num_threads(2).spin_before_park(Duration::from_micros(50));
    let spins = spins.build().expect("a pool");
    for len in LENGTHS {
        let numbers: Vec<u64> = (0..len as u64).collect();
        assert_eq!(plain(&numbers), ours(&parks, &numbers));
        let cold = Some(Duration::from_millis(1));
        for (how, pool, calls, pause) in
            [("parking", &parks, 100, None), ("spinning", &spins, 100, None), ("cold", &parks, 5, cold)]
        {
            let race = race(pool, &numbers, calls, pause);
            let (ratio, least) = race.ratio(Who::Rangesteal);
            println!("{len}\t{how}\t{ratio:.3}\t{least:.3}\t{:.1}", race.nanos() / 1e3);
        }
    }
}
