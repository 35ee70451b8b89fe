//! How long it takes until the last of many sleeping threads begins: threads that sleep on
//! condition variables, woken one by one and as a tree, beside loops of rangesteal and of rayon.
//! All items sleep, so that the number of CPUs does not matter much.

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
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use clap::Parser;
use rangesteal::Pool;
use rayon::iter::{IndexedParallelIterator, IntoParallelIterator, ParallelIterator};

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

fn main() {
    let Options { rounds, .. } = Options::parse();
    let cpus = machine::cpus(&machine::mask()).len();
    println!("{cpus} CPUs, {rounds} rounds; µs from the call until the last begins: median (minimum)");
    println!("{:>8} {}", "sleepers", NAMES.map(|name| format!("{name:>18}")).concat());
    for sleepers in [63, 127] {
        let cells = measure(sleepers, rounds).map(|times| {
            let least = times.iter().copied().fold(f64::INFINITY, f64::min);
            format!("{:>18}", format!("{:.0} ({least:.0})", race::median(times.into_iter())))
        });
        println!("{sleepers:>8} {}", cells.concat());
    }
}
