//! Traces range stealing: a slice with 64 heavy items at one end, run in one block for each worker
//! (a static split) and with stealing.
//!
//! ```sh
//! cargo run --release --example timeline -- loops.json
//! profiling/timeline loops.json >loops.svg
//! ```
//!
//! The items sleep instead of computing, so the picture shows four workers on any number of CPUs.

use rangesteal::{Pool, Trace};
use std::{env, error::Error, fs, thread, time::Duration};

const ITEMS: usize = 1024;
const HEAVY: usize = 64;
const WORKERS: usize = 4;

fn item(number: usize) {
    let micros = if number < ITEMS - HEAVY { 20 } else { 2000 };
    thread::sleep(Duration::from_micros(micros));
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut trace = Trace::new();
    let pool = Pool::builder().num_threads(WORKERS).build()?;
    pool.for_each(&[0; 64], |_| item(0)); // so that all workers are awake
    pool.on(0..ITEMS).grain(ITEMS / WORKERS).trace(trace.titled("Static split")).for_each(item);
    pool.on(0..ITEMS).trace(trace.titled("Range stealing")).for_each(item);
    let file = env::args_os().nth(1).unwrap_or_else(|| "loops.json".into());
    fs::write(file, trace.chrome().to_string())?;
    for timeline in trace.timelines() {
        println!("{}: {:.1?}, the slowest items", timeline.title, timeline.wall);
        for slow in timeline.slowest.iter().take(3) {
            println!("  {:?} by worker {}: {:.1?}", slow.items, slow.worker, slow.took);
        }
    }
    Ok(())
}
