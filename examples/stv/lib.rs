//! `stv` counts elections by the Single Transferable Vote, Meek's method. Every distribution of the
//! ballots is a loop on all cores.
//!
//! ```text
//! cargo run --release --example stv -- --input examples/stv/sample.blt meek
//! ```
//! Each file calls only files further down in this table:
//!
//! | file | owns |
//! |---|---|
//! | `cli`, `help` | the command line and its help |
//! | `check` | summaries of ballot files, and their mistakes |
//! | `convert` | a ballot file in plain form, or in another format |
//! | `verify` | the comparison of a result with a new count |
//! | `output` | the outputs: formats, page, trace, progress bar |
//! | `generate`, `random` | synthetic elections and their random numbers |
//! | `crew` | the threads that prepare the count: one thread, or those of a pool |
//! | `tally` | distributions as parallel loops on the pool; `rival` has them on rayon; `in_order` adds numbers whose sum depends on the order |
//! | `pinning` | the option of that name, shared with another example |
//! | `meek` | the rounds of the count |
//! | `ties` | the rules that decide ties |
//! | `plurality` | block voting, for comparison |
//! | `transcript` | the printed transcript |
//! | `events` | the events of a count, for its listeners |
//! | `standing` | the state of a count |
//! | `layout` | the ballots as trees of common beginnings, and the distribution on these |
//! | `spread` | the distribution of one ballot; `equalize` has the rule for equal ranks |
//! | `input` | the sources of ballot files |
//! | `formats` | ballot files of all formats, recognised by their contents |
//! | `blt` | the BLT format |
//! | `reading` | the user's options for reading ballot files |
//! | `warnings` | warnings, with a limit for each kind |
//! | `election` | candidates, seats and ballots in memory |
//! | `arithmetic` | the kinds of numbers |
//! | `error` | the reasons why a count stops early |
//! | `corpus` | recorded counts of real elections, if they are there (tests only) |

mod arithmetic;
mod blt;
mod check;
mod cli;
mod convert;
#[cfg(test)]
mod corpus;
mod crew;
mod election;
mod error;
mod events;
mod formats;
mod generate;
mod help;
mod input;
mod layout;
mod meek;
mod output;
#[path = "../pinning/mod.rs"]
mod pinning;
mod plurality;
mod random;
mod reading;
mod spread;
mod standing;
mod tally;
mod ties;
mod transcript;
mod verify;
mod warnings;

use std::process::ExitCode;

/// Runs the command line.
#[must_use]
pub fn run() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(failure) if error::reader_is_gone(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("stv: {failure}");
            ExitCode::FAILURE
        }
    }
}
