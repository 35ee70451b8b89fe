//! rangesteal and its rivals: `cargo bench --bench versus -- --help`. Needs Linux.

#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a program that estimates"
)]

mod asleep;
mod beside;
mod burner;
mod callers;
mod chains;
mod cold;
mod compiled;
mod contended;
mod distances;
mod emit;
mod errors;
mod few;
mod foreign;
mod groups;
mod host;
mod idle;
mod joins;
mod launch;
mod loops;
mod machine;
mod mixed;
mod naps;
mod nested;
mod offsets;
mod other;
mod ours;
mod partial;
mod peers;
mod picture;
mod plain;
mod planes;
mod race;
mod random;
mod results;
mod rival;
mod rivals;
#[allow(dead_code, reason = "some of it is for the other tables")]
mod row;
mod rows;
mod runner;
mod scans;
mod scene;
mod several;
mod slices;
mod sorts;
mod starved;
mod table;
mod thefts;
mod trips;
mod turn;
#[allow(dead_code, reason = "some of it is for the other tables")]
mod who;
mod windows;
mod work;
mod young;

use std::{path::PathBuf, thread};

use clap::{Parser, Subcommand, builder::PossibleValuesParser};
use rangesteal::Pool;

/// Runs loops as the plain iterator, with rangesteal and with its rivals. Checks that the results
/// agree, and prints one table.
#[derive(Parser)]
struct Options {
    /// How often each loop is measured.
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Groups of rows to measure, such as a,c,cold. All by default.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = PossibleValuesParser::new(groups::names()))]
    rows: Vec<String>,
    /// Workers of each executor. One per CPU by default.
    #[arg(long, value_name = "N", env = "RANGESTEAL_NUM_THREADS")]
    threads: Option<usize>,
    /// Only the plain loop and rangesteal.
    #[arg(long)]
    alone: bool,
    /// Also writes the table to a file, as text for programs.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Draws the table into benches/results/, and writes it there as text.
    #[arg(long)]
    picture: bool,
    /// The argument that cargo passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    part: Option<Part>,
}

/// Commands that run in a process of their own.
#[derive(Subcommand)]
enum Part {
    /// Keeps a CPU busy until standard input ends.
    #[command(hide = true)]
    Burn { cpu: usize },
    #[command(hide = true)]
    Idle(idle::Idle),
    /// Runs loops until standard input ends.
    #[command(hide = true)]
    Beside { way: beside::Way },
}

fn main() {
    let options = Options::parse();
    match options.part {
        Some(Part::Burn { cpu }) => return burner::burn(cpu),
        Some(Part::Idle(idle)) => return idle.run(),
        Some(Part::Beside { way }) => return beside::run(way),
        None => {}
    }
    let threads = options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let runner = runner::Runner::new(options.rounds as usize, threads, options.alone);
    let measure = |pool: &Pool| {
        let table = groups::run(pool, runner, &options.rows);
        if let Some(path) = options.record {
            table.write(&path).expect("the file can be written");
        }
        if options.picture {
            let path = picture::draw(&table).expect("benches/results can be written");
            table.write(&path.with_extension("tsv")).expect("benches/results can be written");
            println!("{}", path.display());
        }
    };
    Pool::builder().num_threads(threads).scope(measure).expect("a pool");
}
