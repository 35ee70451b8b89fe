//! How a program begins and ends on all ranks: no rank is left waiting for one that has gone.

use std::{
    error::Error,
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use clap::Parser;
use mpi::{
    Threading,
    topology::SimpleCommunicator,
    traits::{Communicator, CommunicatorCollectives},
};

/// Runs a program, once on each rank, with the options of the command line.
///
/// Options that cannot be read end all ranks with one message, for all have the same. An error or a
/// panic may be on one rank alone, while the others wait for it: it aborts them.
#[must_use]
pub fn run<O: Parser>(
    program: impl FnOnce(&SimpleCommunicator, &O) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    // The calling thread alone speaks MPI; those of the pool run loops.
    let Some((universe, Threading::Funneled | Threading::Serialized | Threading::Multiple)) =
        mpi::initialize_with_threading(Threading::Funneled)
    else {
        eprintln!("this MPI allows no threads");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let options = match O::try_parse() {
        Ok(options) => options,
        Err(message) => {
            if world.rank() == 0 {
                // Nobody is left to be told that this has failed.
                let _ = message.print();
            }
            // The first rank that exits with an error ends the others: not before the message.
            world.barrier();
            return ExitCode::from(u8::try_from(message.exit_code()).unwrap_or(1));
        }
    };
    match panic::catch_unwind(AssertUnwindSafe(|| program(&world, &options))) {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(error)) => {
            eprintln!("rank {}: {error}", world.rank());
            world.abort(1)
        }
        // The message is written before the panic arrives here.
        Err(_) => world.abort(101),
    }
}
