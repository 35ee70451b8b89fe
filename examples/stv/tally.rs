//! The tally: a distribution of all ballots is one parallel loop. The only file that knows the pool and rayon.

use crate::{
    arithmetic::{Arithmetic, Fault},
    election::{Ballot, Election},
    error::CountError,
    events::Listener,
    meek::{self, Distribute, Rule},
    spread::{KeepFactor, Votes},
};
use rangesteal::{Pinning, Pool, Stealing};
use rayon::prelude::*;
use std::{
    fmt,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

mod in_order;

/// Who distributes the ballots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Parallel {
    /// One thread, a plain loop
    No,
    /// The threads of rayon
    Rayon,
    /// The threads of this crate's pool
    Pool,
}

/// The threads of a count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads {
    pub(crate) parallel: Parallel,
    /// As many as the machine has if not given.
    pub(crate) number: Option<NonZeroUsize>,
    /// Whether the threads of the pool, this one included, stay on CPUs of their own.
    pub(crate) pinning: Pinning,
    /// Whether an idle thread of the pool takes work from a busy one.
    pub(crate) stealing: bool,
}

/// What the count took.
#[derive(Debug)]
pub(crate) struct Effort {
    parallel: Parallel,
    threads: usize,
    distributions: usize,
    thefts: Option<u64>,
    elapsed: Duration,
}

/// Counts the election by Meek's method on these threads.
pub(crate) fn count<A: Arithmetic, L: Listener<A> + Send>(
    election: &Election,
    rule: Rule,
    threads: Threads,
    listener: &mut L,
) -> Result<Effort, CountError> {
    let start = Instant::now();
    let parallel = threads.parallel;
    let mut count = |distribute: &mut Distribute<'_, A>| meek::count(election, rule, distribute, listener);
    let (threads, distributions, thefts) = match parallel {
        Parallel::No => (1, count(&mut |keep| serially(election, keep))?, None),
        Parallel::Rayon => {
            let number = threads.number.map_or(0, NonZeroUsize::get); // 0: rayon decides
            let rayon = rayon::ThreadPoolBuilder::new().num_threads(number).build();
            let rayon = rayon.map_err(|error| CountError::Threads(error.to_string()))?;
            // The whole count runs inside rayon's threads, where starting a loop costs it least.
            let distributions = rayon.install(|| count(&mut |keep| on_rayon(election, keep)))?;
            (rayon.current_num_threads(), distributions, None)
        }
        Parallel::Pool => {
            let mut builder = Pool::builder().pinning(threads.pinning);
            if let Some(number) = threads.number {
                builder = builder.num_threads(number.get());
            }
            if !threads.stealing {
                builder = builder.stealing(Stealing::Off);
            }
            // This thread is a worker too, pinned as they are as long as the count lasts.
            let counted = builder.scope(|pool| {
                log::debug!("{}", pool.placement());
                let distributions = count(&mut |keep| on_pool(pool, election, keep))?;
                Ok::<_, CountError>((pool.num_threads(), distributions, Some(pool.thefts())))
            });
            counted.map_err(|error| CountError::Threads(error.to_string()))??
        }
    };
    let elapsed = start.elapsed();
    Ok(Effort { parallel, threads, distributions, thefts, elapsed })
}

fn serially<A: Arithmetic>(election: &Election, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
    let ballots = &election.ballots;
    if !A::SUMS_IN_ANY_ORDER {
        return in_order::serially(ballots, keep);
    }
    ballots
        .records()
        .iter()
        .try_fold(Votes::none(keep.len()), |votes, ballot| votes.with(ballot, ballots, keep))
}

fn on_rayon<A: Arithmetic>(election: &Election, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
    let ballots = &election.ballots;
    if !A::SUMS_IN_ANY_ORDER {
        return in_order::on_rayon(ballots, keep);
    }
    let none = || Votes::none(keep.len());
    let parts = ballots
        .records()
        .par_iter()
        .try_fold(none, |votes: Votes<A>, ballot| votes.with(ballot, ballots, keep));
    parts.try_reduce(none, |left, right| left.plus(&right))
}

fn on_pool<A: Arithmetic>(
    pool: &Pool,
    election: &Election,
    keep: &[KeepFactor<A>],
) -> Result<Votes<A>, Fault> {
    let ballots = &election.ballots;
    if !A::SUMS_IN_ANY_ORDER {
        return in_order::on_pool(pool, ballots, keep);
    }
    pool.fold_reduce(
        ballots.records(),
        || Ok(Votes::none(keep.len())),
        |votes: Result<Votes<A>, Fault>, ballot: &Ballot| votes?.with(ballot, ballots, keep),
        |left, right| left?.plus(&right?),
    )
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        let parallel = match self.parallel {
            Parallel::No => "no",
            Parallel::Rayon => "rayon",
            Parallel::Pool => "pool",
        };
        write!(f, "{} thread{} ({parallel}), ", self.threads, plural(self.threads as u64))?;
        write!(f, "{} distribution{}, ", self.distributions, plural(self.distributions as u64))?;
        if let Some(thefts) = self.thefts {
            write!(f, "{thefts} theft{}, ", plural(thefts))?;
        }
        write!(f, "{:.3} s", self.elapsed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::{BigFixed9, Fixed9, Integer},
        blt,
        transcript::Transcript,
    };

    fn election(lines: &str) -> Election {
        let text = format!("4 2\n{lines}\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"");
        blt::read("test", text.as_bytes()).unwrap()
    }

    fn threads(parallel: Parallel, number: usize) -> Threads {
        Threads { parallel, number: NonZeroUsize::new(number), pinning: Pinning::default(), stealing: true }
    }

    #[test]
    fn transcripts_do_not_depend_on_the_threads() {
        let line = |ballot: usize| {
            let [a, b, c] = [ballot, ballot / 3 + 1, ballot / 7 + 2].map(|number| number % 4 + 1);
            let rest = match (a == b, b == c || a == c) {
                (true, _) => String::new(),
                (_, true) => format!(" {b}"),
                _ if ballot.is_multiple_of(5) => format!("={b} {c}"),
                _ => format!(" {b} {c}"),
            };
            format!("{} {a}{rest} 0\n", 1 + ballot % 13)
        };
        let lines: Vec<String> = (0..500).map(line).collect();
        let election = election(&lines.concat());
        let transcript = |threads| {
            let mut out = Vec::new();
            let rule = Rule { omega_exponent: 6, force_positive_surplus: true };
            count::<BigFixed9, _>(&election, rule, threads, &mut Transcript::new(&mut out, String::new()))
                .unwrap();
            String::from_utf8(out).unwrap()
        };
        let serial = transcript(threads(Parallel::No, 1));
        assert!(serial.contains("Action: Count Complete"));
        for parallel in [Parallel::Rayon, Parallel::Pool] {
            for number in [1, 2, 3, 8] {
                assert_eq!(transcript(threads(parallel, number)), serial, "{parallel:?} {number}");
            }
        }
    }

    /// The total is checked before the first distribution; should a sum overflow all the same, the loops say so and do not panic.
    #[test]
    fn an_overflow_inside_a_loop_is_an_error() {
        let mut election = election("1 1 0\n1 2 0\n1 1 2 0");
        election.ballots.push(Integer::Word(i64::MAX), &[(1, 0)]);
        let keep: Vec<KeepFactor<Fixed9>> = vec![KeepFactor::all(); 4];
        let pool = Pool::builder().num_threads(2).build().unwrap();
        assert_eq!(serially(&election, &keep), Err(Fault::Overflow));
        assert_eq!(on_rayon(&election, &keep), Err(Fault::Overflow));
        assert_eq!(on_pool(&pool, &election, &keep), Err(Fault::Overflow));
    }

    #[test]
    fn an_overflow_between_parts_is_an_error() {
        let mut part = Votes::<Fixed9>::none(1);
        part.of[0] = Fixed9::one().times_whole(&Integer::Word(9_000_000_000)).unwrap();
        assert_eq!(part.clone().plus(&part), Err(Fault::Overflow));
        part.of[0] = Fixed9::zero();
        part.exhausted = Fixed9::one().times_whole(&Integer::Word(9_000_000_000)).unwrap();
        assert_eq!(part.clone().plus(&part), Err(Fault::Overflow));
    }

    #[test]
    fn the_effort_is_one_line() {
        let effort = Effort {
            parallel: Parallel::Pool,
            threads: 2,
            distributions: 153,
            thefts: Some(412),
            elapsed: Duration::from_micros(12_600),
        };
        assert_eq!(effort.to_string(), "2 threads (pool), 153 distributions, 412 thefts, 0.013 s");
        let effort = Effort {
            parallel: Parallel::No,
            threads: 1,
            distributions: 1,
            thefts: None,
            elapsed: Duration::ZERO,
        };
        assert_eq!(effort.to_string(), "1 thread (no), 1 distribution, 0.000 s");
    }
}
