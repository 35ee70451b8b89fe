//! How long it takes until the last of many sleeping threads begins: threads that sleep on
//! condition variables, woken one by one and as a tree, beside loops of rangesteal and of rayon.
//! All items sleep, so that the number of CPUs does not matter much. Then how long pools take that
//! are built for one short loop, beside threads that are started and joined.

#![allow(missing_docs, clippy::cast_precision_loss, reason = "a program that estimates")]

#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/machine.rs"]
mod machine;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/race.rs"]
mod race;
#[path = "../versus/random.rs"]
mod random;
mod sleepers;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/who.rs"]
mod who;

use std::{
    array,
    hint::black_box,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use rangesteal::Pool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, IntoParallelRefIterator, ParallelIterator};

use crate::{
    random::Random,
    sleepers::{Order, Sleepers},
};

/// Measures the time until the last of 63 and of 127 sleeping threads begins.
#[derive(Parser)]
struct Options {
    /// How often each entrant is measured.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// The argument that cargo passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// How long each thread sleeps after it has begun.
const ITEM: Duration = Duration::from_millis(10);

/// The time until the last item of a loop begins, in microseconds. The calling thread runs one of
/// the items.
fn last_item(run: impl FnOnce(&(dyn Fn(usize) + Sync))) -> f64 {
    let (call, last) = (Instant::now(), AtomicU64::new(0));
    run(&|_| {
        last.fetch_max(nanos_since(call), Ordering::Relaxed);
        thread::sleep(ITEM);
    });
    last.into_inner() as f64 / 1e3
}

fn nanos_since(begin: Instant) -> u64 {
    u64::try_from(begin.elapsed().as_nanos()).expect("a short time")
}

const NAMES: [&str; 4] = ["one by one", "a tree", "rangesteal", "rayon"];

/// The times of all entrants, in microseconds.
fn measure(sleepers: usize, rounds: u32) -> [Vec<f64>; NAMES.len()] {
    const WARM_UP: u32 = 5; // a pool learns that items sleep
    let workers = sleepers + 1;
    let pool = Pool::builder().num_threads(workers).build().expect("a pool");
    let rayon = rayon::ThreadPoolBuilder::new().num_threads(workers).build().expect("a pool of rayon's");
    let team = Sleepers::new(sleepers);
    let items: Vec<usize> = (0..workers).collect();
    let (mut times, mut random) = (array::from_fn(|_| Vec::new()), Random::default());
    let mut order: [usize; NAMES.len()] = array::from_fn(|which| which);
    for round in 0..WARM_UP + rounds {
        random.shuffle(&mut order);
        for which in order {
            let time = match NAMES[which] {
                "one by one" => team.wake(Order::OneByOne, ITEM),
                "a tree" => team.wake(Order::Tree, ITEM),
                "rangesteal" => last_item(|item| pool.for_each(&items, |nth| item(*nth))),
                _ => last_item(|item| {
                    rayon.install(|| (0..workers).into_par_iter().with_max_len(1).for_each(item));
                }),
            };
            if round >= WARM_UP {
                times[which].push(time);
            }
            machine::settle(); // all sleep again
        }
    }
    times
}

/// The times in which a pool is built, runs a loop of some microseconds and is dropped, in
/// microseconds: of rangesteal, and of rayon. Then the time in which the threads of such a pool of
/// rangesteal are started and joined.
fn built(threads: usize, rounds: u32) -> [Vec<f64>; 3] {
    let items: Vec<u64> = (0..1000).collect();
    let mut times = array::from_fn(|_| Vec::new());
    for _ in 0..rounds {
        for (which, times) in times.iter_mut().enumerate() {
            let begin = Instant::now();
            match which {
                0 => {
                    let pool = Pool::builder().num_threads(threads).build().expect("a pool");
                    black_box(pool.map_reduce(&items, |item| item % 7, |one, other| one + other));
                }
                1 => {
                    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                    let sum = || items.par_iter().map(|item| item % 7).sum::<u64>();
                    black_box(pool.expect("a pool of rayon's").install(sum));
                }
                _ => {
                    let started: Vec<_> = (1..threads).map(|_| thread::spawn(|| ())).collect();
                    for thread in started {
                        thread.join().expect("no panic");
                    }
                }
            }
            times.push(nanos_since(begin) as f64 / 1e3);
            machine::settle(); // the threads of rayon's pool end
        }
    }
    times
}

/// The median and the minimum.
fn cell(times: &[f64]) -> String {
    let least = times.iter().copied().fold(f64::INFINITY, f64::min);
    format!("{:>18}", format!("{:.0} ({least:.0})", race::median(times.iter().copied())))
}

fn main() {
    let Options { rounds, .. } = Options::parse();
    let cpus = machine::cpus(&machine::mask()).len();
    println!("{cpus} CPUs, {rounds} rounds; µs from the call until the last begins: median (minimum)");
    println!("{:>8} {}", "sleepers", NAMES.map(|name| format!("{name:>18}")).concat());
    for sleepers in [63, 127] {
        println!("{sleepers:>8} {}", measure(sleepers, rounds).map(|times| cell(&times)).concat());
    }
    println!("a pool is built, runs one loop, and is dropped");
    println!(
        "{:>8} {}",
        "threads",
        ["rangesteal", "rayon", "threads alone"].map(|name| format!("{name:>18}")).concat()
    );
    for threads in [1, 2, 4] {
        println!("{threads:>8} {}", built(threads, 5 * rounds).map(|times| cell(&times)).concat());
    }
}
