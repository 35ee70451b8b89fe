//! The executors that run the programs.

use std::path::PathBuf;

use nix::sched::CpuSet;
use rangesteal::Pool;

use crate::{
    groups, machine,
    machine::Freed,
    openmp::OpenMp,
    passive,
    program::By,
    race::{Race, Turn},
    turn::Turns,
    who::Who,
};

/// The allowed difference of results, relative to the largest: entrants add sums in different
/// orders.
const ROUNDING: f64 = 1e-9;

/// The rivals' executors, and the features of the machine.
pub(crate) struct Rivals {
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    rayon: rayon::ThreadPool,
    pub(crate) openmp: Option<(OpenMp, PathBuf)>,
    control: Pool,
}

impl Rivals {
    /// Call this before any pool has pinned this thread.
    pub(crate) fn new(threads: usize) -> Self {
        let rayon = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let openmp = OpenMp::build().and_then(|path| Ok((OpenMp::open(&path)?, path)));
        Self {
            threads,
            mask: machine::mask(),
            rayon: rayon.build().expect("a pool of rayon's"),
            openmp: openmp.inspect_err(|error| println!("OpenMP is missing: {error}")).ok(),
            control: Pool::builder().num_threads(threads).build().expect("a pool"),
        }
    }

    pub(crate) fn columns(&self) -> Vec<Who> {
        let mut columns = vec![Who::Plain, Who::Rangesteal, Who::Control, Who::Rayon];
        if self.openmp.is_some() {
            columns.extend([Who::PassiveOpenMp, Who::OpenMp, Who::PlainCpp]);
        }
        columns
    }

    /// Runs a program with all entrants, and checks that they agree.
    pub(crate) fn race(&self, pool: &Pool, rounds: usize, name: &str, points: usize) -> Race {
        let program = groups::program(name, points);
        let rounds_a_turn = program.rounds_a_turn();
        let mut agreed: Option<Vec<f64>> = None;
        Race::interleaved(&self.columns(), 1 + rounds, |round, who| {
            let (result, turn) = self.turn(pool, &*program, rounds_a_turn, who, (name, points))?;
            let agreed = agreed.get_or_insert_with(|| result.clone());
            assert!(agree(agreed, &result), "{name}, {points} points: {who:?} disagrees");
            (round > 0).then_some(turn)
        })
    }

    /// Ends everything that would disturb the next program.
    fn turn(
        &self,
        pool: &Pool,
        program: &dyn Turns,
        rounds: usize,
        who: Who,
        (name, points): (&str, usize),
    ) -> Option<(Vec<f64>, Turn)> {
        let openmp = self.openmp.as_ref();
        let turn = match who {
            Who::Plain => program.turn(rounds, By::Plain),
            Who::Rangesteal => program.turn(rounds, By::Rangesteal(pool)),
            Who::Control => program.turn(rounds, By::Rangesteal(&self.control)),
            // The whole program runs on a thread of rayon. From a foreign thread, each loop would
            // have to wake a thread of rayon and wait for it.
            Who::Rayon => self.rayon.install(|| program.turn(rounds, By::Rayon)),
            Who::OpenMp => openmp_turn(program, rounds, &openmp?.0, self.threads, &self.mask),
            Who::PlainCpp => program.turn(rounds, By::OpenMp(&openmp?.0, 1)),
            Who::PassiveOpenMp => {
                let _freed = Freed::to(&self.mask); // the child inherits the mask
                passive::turn(&openmp?.1, name, points, rounds, self.threads)
            }
            _ => return None, // entrants of other benches
        };
        machine::settle();
        Some(turn)
    }
}

/// Starts the threads right before the turn, untimed, and ends them after the turn, since they
/// busy-wait.
pub(crate) fn openmp_turn(
    program: &dyn Turns,
    rounds: usize,
    openmp: &OpenMp,
    threads: usize,
    mask: &CpuSet,
) -> (Vec<f64>, Turn) {
    let by = By::OpenMp(openmp, threads);
    let there = Freed::to(&machine::elsewhere(mask, threads));
    program.touch(by);
    drop(there);
    let turn = program.turn(rounds, by);
    openmp.leave();
    turn
}

fn agree(one: &[f64], other: &[f64]) -> bool {
    let largest = one.iter().fold(0.0_f64, |largest, number| largest.max(number.abs()));
    let near = |(one, other): (&f64, &f64)| (one - other).abs() <= ROUNDING * largest;
    one.len() == other.len() && one.iter().zip(other).all(near)
}
