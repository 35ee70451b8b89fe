//! `stv` counts elections by the Single Transferable Vote, Meek's method, with every distribution
//! of the ballots a loop on all cores.
//!
//! ```text
//! cargo run --release --example stv -- --input examples/stv/sample.blt meek
//! ```
//! It is a library so that two programs can be made of it: `program`, and `../stv-ranks`, which
//! counts on several machines and needs MPI for that.
//!
//! A file for each thing; the files call downwards only:
//!
//! | file | owns |
//! |---|---|
//! | `cli`, `help` | the command line, and what its help says |
//! | `check` | what is in a ballot file, and what is wrong with it |
//! | `convert` | a ballot file in plain form, or in another format |
//! | `verify` | a result, compared with a new count |
//! | `output` | what is written: the formats, the page, the trace, the progress bar |
//! | `generate`, `random` | synthetic elections, their random numbers |
//! | `crew` | who prepares the count, one thread or those of a pool |
//! | `tally` | distributions as parallel loops, on the pool or, in `rival`, on rayon; `in_order` where sums depend on their order |
//! | `ranks`, `wire` | what processes that count together say to each other, and in which bytes |
//! | `pinning` | the option of that name, shared with another example |
//! | `meek` | the rounds of the count |
//! | `ties` | what decides a tie |
//! | `plurality` | block voting, to compare with |
//! | `transcript` | what is printed |
//! | `events` | what happens in a count, told to those who listen |
//! | `standing` | where a count stands |
//! | `layout` | the ballots as trees of common beginnings, and how votes go down them |
//! | `spread` | how one ballot spreads over its candidates; `equalize` another way for equal ranks |
//! | `input` | where a ballot file comes from |
//! | `formats` | ballot files of all formats, by what is in them |
//! | `blt` | the ballot file |
//! | `reading` | what the user says of how ballot files are read |
//! | `warnings` | how often the same is told |
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
mod ranks;
mod reading;
mod spread;
mod standing;
mod tally;
mod ties;
mod transcript;
mod verify;
mod warnings;
mod wire;

pub use ranks::{Alone, Ranks};

use std::process::ExitCode;

/// Does what the command line says, together with the other ranks, if there are any. Of what they
/// all would say, the first one says it.
#[must_use]
pub fn run(ranks: &dyn Ranks) -> ExitCode {
    match cli::run(ranks) {
        Ok(code) => code,
        Err(failure) if error::reader_is_gone(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            if ranks.rank() == 0 {
                eprintln!("stv: {failure}");
            }
            ExitCode::FAILURE
        }
    }
}
