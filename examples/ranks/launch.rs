//! Starts and ends a program on all ranks, so that no rank waits for a rank that has ended.

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
/// Wrong options end all ranks with one message, since all ranks have the same options. An error or
/// a panic may occur on one rank alone, while the other ranks wait for it. The failed rank aborts
/// all ranks.
#[must_use]
pub fn run<O: Parser>(
    program: impl FnOnce(&SimpleCommunicator, &O) -> Result<(), Box<dyn Error>>,
) -> ExitCode {
    // Only the calling thread calls MPI. The threads of the pool run loops.
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
                // A failure to print cannot be reported to anyone.
                let _ = message.print();
            }
            // When the first rank exits with an error, mpirun ends the other ranks. So all ranks
            // wait here until the first rank has printed the message.
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
        // The panic hook has printed the message already.
        Err(_) => world.abort(101),
    }
}
