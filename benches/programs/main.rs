//! Programs of many short rounds, compared with the plain programs, rayon and OpenMP:
//! `cargo bench --bench programs -- --help`. Needs Linux.

#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a program that estimates"
)]

// Shared by the tables
#[path = "../versus/compiled.rs"]
mod compiled;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/host.rs"]
mod host;
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

mod bars;
mod bp;
mod cg;
mod em;
mod entrants;
mod groups;
mod kmeans;
mod matrix;
mod openmp;
mod pagerank;
mod passive;
mod program;
mod rates;
mod stencil;
mod turn;
mod uniform;
mod web;

use std::thread;

use clap::{
    Parser, Subcommand,
    builder::{PossibleValuesParser, RangedU64ValueParser},
};
use rangesteal::Pool;

/// Runs programs as plain loops, with rangesteal, rayon and OpenMP. Checks that the results agree,
/// and prints the number of rounds per second.
#[derive(Parser)]
struct Options {
    /// How often each program is measured.
    #[arg(long, value_name = "N", default_value_t = 15, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Programs to measure, such as k-means,EM. All by default.
    #[arg(long, value_name = "PROGRAMS", value_delimiter = ',', value_parser = PossibleValuesParser::new(groups::NAMES))]
    rows: Vec<String>,
    /// Numbers of points.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [500, 1_000, 2_000, 5_000, 20_000], value_parser = RangedU64ValueParser::<usize>::new().range(9..))]
    points: Vec<usize>,
    /// Workers of each executor. One per CPU by default.
    #[arg(long, value_name = "N", env = "RANGESTEAL_NUM_THREADS")]
    threads: Option<usize>,
    /// The argument that cargo passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// Commands that run in a process of their own.
#[derive(Subcommand)]
enum Part {
    #[command(hide = true)]
    Passive(passive::Passive),
}

fn main() {
    let options = Options::parse();
    if let Some(Part::Passive(passive)) = options.part {
        return passive.run();
    }
    let threads = options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    // Before a pool pins this thread: a new thread inherits the mask of its parent.
    let rivals = entrants::Rivals::new(threads);
    let measure =
        |pool: &Pool| groups::run(pool, &rivals, options.rounds as usize, &options.rows, &options.points);
    Pool::builder().num_threads(threads).scope(measure).expect("a pool");
}
