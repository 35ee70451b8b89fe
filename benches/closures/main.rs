//! Closures of all sizes, run as the plain loop, with rangesteal and with rayon:
//! `cargo bench --bench closures -- --help`. Needs Linux.
//!
//! Each entrant of a cell is a function of its own with literal closures, as in a user's program.
//! In `versus` a trait stands between the closure and the loop. A compiler may optimise a closure
//! behind a trait differently.

#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::needless_for_each,
    clippy::redundant_closure_for_method_calls,
    reason = "a program that estimates, and closures as a user may write them"
)]

// Shared by both tables
#[path = "../versus/host.rs"]
mod host;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/machine.rs"]
mod machine;
#[allow(dead_code, reason = "some of it is for growing only")]
#[path = "../versus/race.rs"]
mod race;
#[path = "../versus/random.rs"]
mod random;
#[path = "../versus/results.rs"]
mod results;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/row.rs"]
mod row;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/table.rs"]
mod table;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/who.rs"]
mod who;

#[macro_use]
mod bodies;
#[macro_use]
mod verbs;

mod cell;
mod collects;
mod data;
mod eaches;
mod entrants;
mod reductions;
mod searches;

use std::{fs, path::PathBuf, thread, time::Instant};

use clap::Parser;
use rangesteal::Pool;

use crate::{
    cell::Cell,
    entrants::Entrants,
    host::Host,
    results::Results,
    table::{Reference, Table},
    who::Who,
};

/// Runs closures of all sizes as the plain iterator, with rangesteal and with rayon. Checks that
/// the results agree, and prints one table.
#[derive(Parser)]
struct Options {
    /// How often each loop is measured.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Cells whose names contain one of these words. All by default.
    #[arg(long, value_name = "WORDS", value_delimiter = ',')]
    rows: Vec<String>,
    /// The lengths of the slices.
    #[arg(long, value_name = "COUNTS", value_delimiter = ',', default_values_t = [300, 3_000, 300_000])]
    items: Vec<usize>,
    /// Workers of each executor. One per CPU by default.
    #[arg(long, value_name = "N", env = "RANGESTEAL_NUM_THREADS")]
    threads: Option<usize>,
    /// Also writes the table to a file, as text for programs.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// The argument that cargo passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

/// CPU time of all programs of the machine, in seconds.
fn busy() -> f64 {
    const TICKS: f64 = 100.0; // per second, on every current Linux
    let status = fs::read_to_string("/proc/stat").unwrap_or_default();
    let all = status.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = all.filter_map(|ticks| ticks.parse().ok()).collect();
    // user, nice, system, (idle, iowait,) irq, softirq: proc(5)
    [0, 1, 2, 5, 6].iter().filter_map(|at| ticks.get(*at)).sum::<f64>() / TICKS
}

/// All cells.
fn cells() -> Vec<Cell> {
    [reductions::cells(), eaches::cells(), collects::cells(), searches::cells()].concat()
}

fn main() {
    let options = Options::parse();
    let threads = options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    let rounds = options.rounds as usize;
    // Before a pool pins this thread: a new thread inherits the mask of its parent.
    let entrants = Entrants::new(rounds, threads);
    let host = Host::new("closures", entrants.cpus(), threads, rounds);
    let mut table = Table {
        reference: Reference::Plain,
        columns: vec![Who::Rangesteal, Who::Control, Who::Rayon],
        others: Results::of_other_hosts(&host),
        host,
        foreign: Vec::new(),
        rows: Vec::new(),
    };
    let is_wanted =
        |cell: &Cell| options.rows.is_empty() || options.rows.iter().any(|word| cell.name().contains(word));
    let (begin, before) = (Instant::now(), busy() - machine::cpu_nanos() / 1e9);
    let measure = |pool: &Pool| {
        table.print_head();
        for cell in cells().iter().filter(|cell| is_wanted(cell)) {
            for &items in &options.items {
                table.push(cell.verb, entrants.row(pool, cell, items));
            }
        }
        println!("{}", table.control());
        let missed = table.rows.iter().filter(|(_, row)| row.met() == Some(false)).count();
        println!("{missed} of {} rows miss their bar", table.rows.len());
        let others = busy() - machine::cpu_nanos() / 1e9 - before;
        println!(
            "Other programs took {:.0} % of a CPU meanwhile",
            100.0 * others / begin.elapsed().as_secs_f64()
        );
        if let Some(path) = options.record {
            table.write(&path).expect("the file can be written");
        }
    };
    Pool::builder().num_threads(threads).scope(measure).expect("a pool");
}
