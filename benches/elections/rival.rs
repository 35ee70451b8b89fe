//! The election count on the threads of rayon. `profiling/` shows it beside the count on the pool.
//! The transcript is the same.
//!
//! ```text
//! cargo run --release --example stv-rayon -- examples/stv/sample.blt --num-threads 2
//! ```

use clap::Parser;
use rayon::prelude::*;
use std::{
    error::Error,
    fs::File,
    io::{self, BufWriter},
    path::PathBuf,
    time::Instant,
};
use stv_ballots::{Ballots, Election, EqualRanks, Reading};
use stv_count::{
    Arithmetic, Chunk, Factors, Fault, Fixed9, KeepFactor, Layout, Loops, Rule, Sums, Transcript, Votes,
    count_with, in_order,
};

/// Counts an election by Meek's method with fixed9 on rayon's threads, and prints the transcript
#[derive(Debug, Parser)]
struct Arguments {
    /// The ballot file
    file: PathBuf,
    /// Number of threads; 0: all threads of the machine
    #[arg(long, default_value_t = 0)]
    num_threads: usize,
    /// Count equal ranks as in Droop
    #[arg(long)]
    as_droop: bool,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = Arguments::parse();
    let name = arguments.file.display().to_string();
    let mut election = stv_ballots::read(&name, &mut File::open(&arguments.file)?, Reading::default())?;
    let mut package = "Implementation: rangesteal".to_owned();
    if arguments.as_droop {
        election.ballots.equal_ranks = EqualRanks::AsDroop;
        package += " (equal ranks as in Droop)";
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(arguments.num_threads).build()?;
    let start = Instant::now();
    let rule = Rule { omega_exponent: 6, force_positive_surplus: false, backwards: false };
    let mut transcript = Transcript::new(BufWriter::new(io::stdout()), package);
    // On a thread of rayon, starting a loop is cheapest.
    let distributions = pool
        .install(|| count_with::<Fixed9, _>(&election, rule, RayonLoops::new(&election), &mut transcript))?;
    let (threads, elapsed) = (pool.current_num_threads(), start.elapsed().as_secs_f64());
    eprintln!("{threads} threads (rayon), {distributions} distributions, {elapsed:.3} s");
    Ok(())
}

/// The loops on rayon's threads.
struct RayonLoops {
    candidates: usize,
    sums: Sums,
}

impl RayonLoops {
    fn new(election: &Election) -> Self {
        let candidates = election.candidates.len();
        Self { candidates, sums: Sums::new(candidates) }
    }
}

impl Loops for RayonLoops {
    fn chunks(&mut self, layout: &Layout, factors: &Factors) -> &Sums {
        let none = || Sums::new(self.candidates);
        let part = |mut sums: Sums, chunk: &Chunk| {
            layout.distribute(chunk, factors, &mut sums);
            sums
        };
        let sum = |mut left: Sums, right: Sums| {
            left.add(&right);
            left
        };
        self.sums = layout.chunks().par_iter().fold(none, part).reduce(none, sum);
        &self.sums
    }

    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
        if !A::SUMS_IN_ANY_ORDER {
            return in_order(ballots, keep); // the program counts with fixed9 only
        }
        let none = || Votes::none(keep.len());
        let parts = ballots
            .all()
            .par_iter()
            .try_fold(none, |votes: Votes<A>, &ballot| votes.with(ballot, ballots, keep));
        parts.try_reduce(none, |left, right| left.plus(&right))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stv_count::Crew;

    fn election(name: &str, text: &str) -> Election {
        stv_ballots::parse(name, text.as_bytes()).unwrap()
    }

    fn transcript(count: impl FnOnce(Rule, &mut Transcript<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        let rule = Rule { omega_exponent: 6, force_positive_surplus: true, backwards: false };
        count(rule, &mut Transcript::new(&mut out, String::new()));
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn transcripts_are_those_of_the_plain_loop() {
        let mut sample = election("sample", include_str!("../../examples/stv/sample.blt"));
        for equal_ranks in [EqualRanks::AllOrders, EqualRanks::AsDroop] {
            sample.ballots.equal_ranks = equal_ranks;
            let wanted = transcript(|rule, out| {
                stv_count::count::<Fixed9, _>(&sample, rule, Crew::ALONE, out).unwrap();
            });
            assert!(wanted.contains("Action: Count Complete"));
            let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
            let found = transcript(|rule, out| {
                let count = || count_with::<Fixed9, _>(&sample, rule, RayonLoops::new(&sample), out);
                pool.install(count).unwrap();
            });
            assert_eq!(found, wanted);
        }
    }

    #[test]
    fn an_overflow_inside_a_loop_is_an_error() {
        let election = election("test", "2 1\n9223372036854775807 1 0\n1 2 0\n0\n\"A\"\n\"B\"\n\"T\"");
        let found = RayonLoops::new(&election)
            .ballots::<Fixed9>(&election.ballots, &[KeepFactor::all(), KeepFactor::all()]);
        assert_eq!(found, Err(Fault::Overflow));
    }
}
