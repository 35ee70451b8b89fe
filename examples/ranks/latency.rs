//! The time of an exchange between the ranks. A round of a program should be longer than an
//! exchange.
//!
//! ```text
//! cargo build --release -p ranks
//! mpirun -n 2 target/release/latency
//! ```

use std::{error::Error, process::ExitCode, time::Instant};

use clap::Parser;
use mpi::{collective::SystemOperation, topology::SimpleCommunicator, traits::CommunicatorCollectives};
use ranks::{
    exchange::{rank, ranks},
    figures::{as_f64, median},
    launch,
};

/// Measures all-reduces and all-gathers between the ranks
#[derive(Debug, Parser)]
#[command(name = "latency")]
struct Options {
    /// Number of measurements of each; the table has their medians
    #[arg(long, value_name = "N", default_value_t = 100)]
    times: u32,
    /// Number of calls per measurement, back to back
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    calls: u32,
}

/// The median time of a call, in microseconds.
fn micros(options: &Options, mut call: impl FnMut()) -> f64 {
    let mut measure = || {
        let begin = Instant::now();
        (0..options.calls).for_each(|_| call());
        begin.elapsed().as_secs_f64() * 1e6 / f64::from(options.calls)
    };
    measure(); // MPI connects at first use
    median((0..options.times).map(|_| measure()).collect())
}

fn latency(world: &SimpleCommunicator, options: &Options) -> Result<(), Box<dyn Error>> {
    let (rank, ranks) = (rank(world), ranks(world));
    if rank == 0 {
        println!("latency: {ranks} ranks, medians of {} times {} calls", options.times, options.calls);
        println!("{:>8}  {:>14}  {:>14}", "bytes", "all-reduce, µs", "all-gather, µs");
    }
    for bytes in [8, 64, 512, 4096, 16_384, 65_536] {
        let said = vec![as_f64(bytes); usize::try_from(bytes)? / 8];
        let mut sums = said.clone();
        let mut heard = said.repeat(ranks);
        let reduce = micros(options, || world.all_reduce_into(&said, &mut sums, SystemOperation::sum()));
        let gather = micros(options, || world.all_gather_into(&said, &mut heard));
        if rank == 0 {
            println!("{bytes:>8}  {reduce:>14.2}  {gather:>14.2}");
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    launch::run(latency)
}
