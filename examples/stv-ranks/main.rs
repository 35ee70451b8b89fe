//! `stv-ranks` counts one election on several machines: `stv` with MPI between its ranks.
//!
//! ```text
//! cargo build --release -p stv-ranks
//! mpirun -n 2 --map-by slot:PE=8 --bind-to core target/release/stv-ranks meek ballots.blt
//! ```
//! The library `stv` has the whole count. This program only connects its ranks.

use std::{
    panic::{self, AssertUnwindSafe},
    process::ExitCode,
};

use mpi::{
    Count, Threading,
    datatype::PartitionMut,
    topology::SimpleCommunicator,
    traits::{Communicator, CommunicatorCollectives},
};
use stv::Ranks;

/// The ranks of one `mpirun`. A process that `mpirun` has not started is the only rank.
struct Mpi {
    rank: usize,
    number: usize,
}

impl Ranks for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn number(&self) -> usize {
        self.number
    }

    /// Gathers the lengths of all messages first, and then the messages.
    fn gather(&self, said: &[u8]) -> Vec<Vec<u8>> {
        let world = SimpleCommunicator::world();
        let mut lengths = vec![0_u64; self.number];
        world.all_gather_into(&(said.len() as u64), &mut lengths);
        let lengths: Vec<usize> =
            lengths.into_iter().map(|length| usize::try_from(length).expect("it fits into memory")).collect();
        let count = |bytes: usize| Count::try_from(bytes).expect("all together say less than 2 GiB");
        let begins = lengths.iter().scan(0, |end, length| {
            let begin = *end;
            *end += length;
            Some(count(begin))
        });
        let begins: Vec<Count> = begins.collect();
        let counts: Vec<Count> = lengths.iter().copied().map(count).collect();
        let mut heard = vec![0_u8; lengths.iter().sum()];
        world.all_gather_varcount_into(said, &mut PartitionMut::new(&mut heard[..], counts, begins));
        let mut rest = &heard[..];
        let mut next = |length| {
            let (message, behind) = rest.split_at(length);
            rest = behind;
            message.to_vec()
        };
        lengths.into_iter().map(&mut next).collect()
    }
}

fn main() -> ExitCode {
    // Only the counting thread calls MPI, and the main thread is the counting thread.
    let Some((universe, Threading::Funneled | Threading::Serialized | Threading::Multiple)) =
        mpi::initialize_with_threading(Threading::Funneled)
    else {
        eprintln!("stv-ranks: this MPI allows no threads");
        return ExitCode::FAILURE;
    };
    let world = universe.world();
    let number = |number: Count| usize::try_from(number).expect("ranks are counted from 0");
    let ranks = Mpi { rank: number(world.rank()), number: number(world.size()) };
    // A rank that panics prints its message. Then it aborts the other ranks, which would wait for
    // it.
    let Ok(code) = panic::catch_unwind(AssertUnwindSafe(|| stv::run(&ranks))) else { world.abort(101) };
    // mpirun ends all ranks when one exits with an error. The barrier lets all of them finish their
    // output first.
    world.barrier();
    code
}
