//! `stv`, the program. The library beside it has all of the code.

use std::process::ExitCode;

fn main() -> ExitCode {
    stv::run()
}
