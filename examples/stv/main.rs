//! `stv` counts elections by the Single Transferable Vote, Meek's method, with every distribution of the ballots a loop on all cores.
//!
//! ```text
//! cargo run --release --example stv -- --input examples/stv/sample.blt meek
//! ```
//! A file for each thing; the files call downwards only:
//!
//! | file | owns |
//! |---|---|
//! | `cli` | the command line |
//! | `generate`, `random` | synthetic elections, their random numbers |
//! | `tally` | distributions as parallel loops, on the pool or on rayon |
//! | `pinning` | the option of that name, shared with another example |
//! | `meek` | the rounds of the count |
//! | `transcript` | what is printed |
//! | `standing` | where a count stands |
//! | `layout` | the ballots as trees of common beginnings, and how votes go down them |
//! | `spread` | how one ballot spreads over its candidates |
//! | `blt` | the ballot file |
//! | `election` | candidates, seats and ballots in memory |
//! | `arithmetic` | the numbers that are counted with |
//! | `error` | why a count stops early |
//! | `corpus` | recorded counts of real elections, where there are any (tests only) |

mod arithmetic;
mod blt;
mod cli;
#[cfg(test)]
mod corpus;
mod election;
mod error;
mod generate;
mod layout;
mod meek;
#[path = "../pinning/mod.rs"]
mod pinning;
mod random;
mod spread;
mod standing;
mod tally;
mod transcript;

use std::process::ExitCode;

fn main() -> ExitCode {
    match cli::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) if error::reader_is_gone(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("stv: {failure}");
            ExitCode::FAILURE
        }
    }
}
