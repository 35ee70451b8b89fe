//! `stv` counts elections by the Single Transferable Vote, Meek's method. Every distribution of the
//! ballots is a loop on all cores.
//!
//! ```text
//! cargo run --release --example stv -- meek examples/stv/sample.blt
//! ```
//! This package joins three others: `ballots` reads the file, `count` counts, and `page` presents
//! the result. Each file here calls only files further down in this table:
//!
//! | file | owns |
//! |---|---|
//! | `cli`, `help` | the command line and its help |
//! | `check` | summaries of ballot files, and their mistakes |
//! | `convert` | a ballot file in plain form, or in another format |
//! | `verify` | the comparison of a result with a new count |
//! | `page` | the page of a JSON result |
//! | `output` | the outputs of a count, and who listens to it |
//! | `input` | the sources of ballot files |
//! | `reading`, `kinds`, `pinning` | options of several commands |
//! | `unwritten` | errors of standard output |

mod check;
mod cli;
mod convert;
mod help;
mod input;
mod kinds;
mod output;
mod page;
#[path = "../pinning/mod.rs"]
mod pinning;
mod reading;
mod unwritten;
mod verify;

use std::process::ExitCode;

/// Runs the command line.
#[must_use]
pub fn run() -> ExitCode {
    match cli::run() {
        Ok(code) => code,
        Err(failure) if unwritten::reader_is_gone(&*failure) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("stv: {failure}");
            ExitCode::FAILURE
        }
    }
}
