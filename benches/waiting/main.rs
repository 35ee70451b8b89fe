//! Loops whose items wait, compared with blocked threads and executors of tasks:
//! `cargo bench --bench waiting -- --help`. Needs Linux.

#![allow(
    missing_docs,
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a program that estimates"
)]

// Shared by both tables.
#[path = "../versus/host.rs"]
mod host;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/machine.rs"]
mod machine;
#[path = "../versus/picture.rs"]
mod picture;
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
#[path = "../versus/table.rs"]
mod table;
#[allow(dead_code, reason = "some of it is for versus only")]
#[path = "../versus/who.rs"]
mod who;
#[path = "../versus/work.rs"]
mod work;

mod entrants;
mod groups;
mod idle;
mod item;
mod load;
mod mrf;
mod none;
mod ours;
mod rivals;
mod shapes;
mod timer;
mod turns;

use std::thread;

use clap::{Parser, builder::PossibleValuesParser};
use rangesteal::Pool;

/// Runs loops whose items wait and compute, with rangesteal and with its rivals. Checks that the
/// results agree, and prints one table, relative to a lower bound.
#[derive(Parser)]
struct Options {
    /// How often each loop is measured.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Groups of rows to measure, such as mrf,uneven. All by default.
    #[arg(long, value_name = "GROUPS", value_delimiter = ',', value_parser = PossibleValuesParser::new(groups::names()))]
    rows: Vec<String>,
    /// Workers of each executor. One per CPU by default.
    #[arg(long, value_name = "N", env = "RANGESTEAL_NUM_THREADS")]
    threads: Option<usize>,
    /// Five times as many items in the rows whose items take 2 ms.
    #[arg(long)]
    full: bool,
    /// Draws the table into benches/results/, and writes it there as text.
    #[arg(long)]
    picture: bool,
    /// The argument that cargo passes to every bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() {
    let options = Options::parse();
    let threads = options.threads.unwrap_or_else(|| thread::available_parallelism().map_or(1, usize::from));
    // Before a pool pins this thread: a new thread inherits the mask of its parent.
    let rivals = entrants::Rivals::new(threads);
    let measure = |pool: &Pool| {
        let entrants = entrants::Entrants::new(pool, rivals, options.rounds as usize, options.full);
        let table = groups::run(&entrants, &options.rows);
        if options.picture {
            let path = picture::draw(&table).expect("benches/results can be written");
            table.write(&path.with_extension("tsv")).expect("benches/results can be written");
            println!("{}", path.display());
        }
    };
    Pool::builder().num_threads(threads).scope(measure).expect("a pool");
}
