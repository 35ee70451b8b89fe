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
    Arithmetic, Chunk, Fixed9, KeepFactor, Kept, Layout, Loops, Part, Rule, Sums, Transcript, Votes,
    by_halves, count_with,
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
    let length = pool.install(|| {
        count_with::<Fixed9, _>(&election, rule, &mut OnRayon::new(&election), &mut transcript)
    })?;
    let (threads, elapsed) = (pool.current_num_threads(), start.elapsed().as_secs_f64());
    eprintln!("{threads} threads (rayon), {} distributions, {elapsed:.3} s", length.distributions);
    Ok(())
}

/// The loops on rayon's threads.
struct OnRayon {
    candidates: usize,
    sums: Sums,
}

impl OnRayon {
    fn new(election: &Election) -> Self {
        let candidates = election.candidates.len();
        Self { candidates, sums: Sums::new(candidates) }
    }
}

impl Loops for OnRayon {
    fn chunks(&mut self, layout: &Layout, kept: &Kept) -> &Sums {
        let none = || Sums::new(self.candidates);
        let part = |mut sums: Sums, chunk: &Chunk| {
            layout.distribute(chunk, kept, &mut sums);
            sums
        };
        let sum = |mut left: Sums, right: Sums| {
            left.add(&right);
            left
        };
        self.sums = layout.chunks().par_iter().fold(none, part).reduce(none, sum);
        &self.sums
    }

    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
        if !A::SUMS_IN_ANY_ORDER {
            return in_order(ballots, keep);
        }
        let none = || Votes::none(keep.len());
        let parts = ballots
            .records()
            .par_iter()
            .try_fold(none, |votes: Votes<A>, &ballot| votes.with(ballot, ballots, keep));
        parts.try_reduce(none, |left, right| left.plus(&right))
    }
}

/// A distribution for sums that depend on their order.
fn in_order<A: Arithmetic>(ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
    by_halves(ballots, keep, |left, right| rayon::join(left, right).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use stv_count::{BigFixed9, Fault, Float64, Parallel, Threads};

    fn election(name: &str, text: &str) -> Election {
        stv_ballots::parse(name, text.as_bytes()).unwrap()
    }

    fn transcript(count: impl FnOnce(Rule, &mut Transcript<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        let rule = Rule { omega_exponent: 6, force_positive_surplus: true, backwards: false };
        count(rule, &mut Transcript::new(&mut out, String::new()));
        String::from_utf8(out).unwrap()
    }

    fn same<A: Arithmetic>(election: &Election) {
        let plain = Threads { parallel: Parallel::No, number: None, pinning: None };
        let wanted = transcript(|rule, out| {
            stv_count::count::<A, _>(election, rule, plain, out).unwrap();
        });
        assert!(wanted.contains("Action: Count Complete"));
        for number in [1, 2, 3] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(number).build().unwrap();
            let found = transcript(|rule, out| {
                let count = || count_with::<A, _>(election, rule, &mut OnRayon::new(election), out);
                pool.install(count).unwrap();
            });
            assert_eq!(found, wanted, "{number} threads");
        }
    }

    #[test]
    fn transcripts_are_those_of_the_plain_loop() {
        let mut sample = election("sample", include_str!("../../examples/stv/sample.blt"));
        for equal_ranks in [EqualRanks::AllOrders, EqualRanks::AsDroop] {
            sample.ballots.equal_ranks = equal_ranks;
            same::<Fixed9>(&sample);
            same::<BigFixed9>(&sample);
            same::<Float64>(&sample);
        }
    }

    #[test]
    fn an_overflow_inside_a_loop_is_an_error() {
        let election = election("test", "2 1\n9223372036854775807 1 0\n1 2 0\n0\n\"A\"\n\"B\"\n\"T\"");
        let found = OnRayon::new(&election)
            .ballots::<Fixed9>(&election.ballots, &[KeepFactor::all(), KeepFactor::all()]);
        assert_eq!(found, Err(Fault::Overflow));
    }
}
