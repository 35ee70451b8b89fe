//! Everybody who runs the programs.

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

/// By how much results may differ, relative to the largest: sums are added in other orders.
const ROUNDING: f64 = 1e-9;

/// Those that are not ours, and what the machine has.
pub(crate) struct Rivals {
    pub(crate) threads: usize,
    /// The CPUs of this process before any thread was pinned.
    pub(crate) mask: CpuSet,
    rayon: rayon::ThreadPool,
    pub(crate) openmp: Option<(OpenMp, PathBuf)>,
    control: Pool,
}

impl Rivals {
    /// To be called before any pool has pinned this thread.
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

    /// Runs a program by all, and checks that they agree.
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

    /// Leaves nothing behind that would disturb the next.
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
            // The whole program: from a thread that is none of its own, each loop would wake one up
            // and wait for it.
            Who::Rayon => self.rayon.install(|| program.turn(rounds, By::Rayon)),
            Who::OpenMp => openmp_turn(program, rounds, &openmp?.0, self.threads, &self.mask),
            Who::PlainCpp => program.turn(rounds, By::OpenMp(&openmp?.0, 1)),
            Who::PassiveOpenMp => {
                let _freed = Freed::to(&self.mask); // the child inherits it
                passive::turn(&openmp?.1, name, points, rounds, self.threads)
            }
            _ => return None, // of other benches
        };
        machine::settle();
        Some(turn)
    }
}

/// Threads that spin are started right before the turn, untimed, and end with it.
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
