//! `stv` counts elections by the Single Transferable Vote, Meek's method, with every distribution
//! of the ballots a loop on all cores.
//!
//! ```text
//! cargo run --release --example stv -- --input examples/stv/sample.blt meek
//! ```
//! A file for each thing; the files call downwards only:
//!
//! | file | owns |
//! |---|---|
//! | `cli`, `help` | the command line, and what its help says |
//! | `check` | what is in a ballot file, and what is wrong with it |
//! | `convert` | a ballot file in plain form |
//! | `output` | what is written: the formats, the page, the trace, the progress bar |
//! | `generate`, `random` | synthetic elections, their random numbers |
//! | `tally` | distributions as parallel loops, on the pool or on rayon; `in_order` where sums depend on their order |
//! | `pinning` | the option of that name, shared with another example |
//! | `meek` | the rounds of the count |
//! | `plurality` | block voting, to compare with |
//! | `transcript` | what is printed |
//! | `events` | what happens in a count, told to those who listen |
//! | `standing` | where a count stands |
//! | `layout` | the ballots as trees of common beginnings, and how votes go down them |
//! | `spread` | how one ballot spreads over its candidates; `equalize` another way for equal ranks |
//! | `input` | where a ballot file comes from |
//! | `blt` | the ballot file |
//! | `election` | candidates, seats and ballots in memory |
//! | `arithmetic` | the numbers that are counted with |
//! | `error` | why a count stops early |
//! | `corpus` | recorded counts of real elections, where there are any (tests only) |

mod arithmetic;
mod blt;
mod check;
mod cli;
mod convert;
#[cfg(test)]
mod corpus;
mod election;
mod error;
mod events;
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
