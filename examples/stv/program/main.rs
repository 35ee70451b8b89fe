//! `stv`, the program: see the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    stv::run(&stv::Alone)
}
