//! OpenMP with threads that sleep after a loop. The library reads its wait policy from the
//! environment when it is loaded, and a process loads only one copy of the library. So each turn is
//! a process of its own.

use std::{
    env,
    fmt::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use clap::Args;

use crate::{entrants, groups, machine, openmp::OpenMp, race::Turn};

/// A turn in a process of its own.
#[derive(Args)]
pub(crate) struct Passive {
    library: PathBuf,
    program: String,
    points: usize,
    rounds: usize,
    threads: usize,
}

impl Passive {
    /// Prints the time of the turn, and the bits of the result.
    pub(crate) fn run(&self) {
        let openmp = OpenMp::open(&self.library).expect("the parent has loaded it");
        let mask = machine::mask();
        machine::pin(machine::cpus(&mask)[0]); // the pool pins the parent's thread in the same way
        let program = groups::program(&self.program, self.points);
        let (result, turn) = entrants::openmp_turn(&*program, self.rounds, &openmp, self.threads, &mask);
        let mut text = String::new();
        for figure in [turn.nanos, turn.cpu, turn.switches].iter().chain(&result) {
            _ = writeln!(text, "{}", figure.to_bits());
        }
        print!("{text}");
    }
}

/// Runs the turn in a child process.
pub(crate) fn turn(
    library: &Path,
    name: &str,
    points: usize,
    rounds: usize,
    threads: usize,
) -> (Vec<f64>, Turn) {
    let mut child = Command::new(env::current_exe().expect("this program"));
    child.arg("passive").arg(library).arg(name);
    child.args([points, rounds, threads].map(|number| number.to_string()));
    let output = child.env("OMP_WAIT_POLICY", "passive").stderr(Stdio::inherit()).output().expect("a child");
    let text = String::from_utf8(output.stdout).expect("numbers");
    let mut figures = text.lines().map(|line| f64::from_bits(line.parse().expect("a number")));
    let mut next = || figures.next().expect("a turn of the child");
    let turn = Turn { nanos: next(), cpu: next(), switches: next() };
    (figures.collect(), turn)
}
