//! The tally distributes all ballots at given keep factors. Each distribution is one loop.
//!
//! Two loops can distribute the ballots. The first loop takes the trees of `layout`, in chunks. It
//! needs numbers that fit in machine words, and nearly all distributions use it. The second loop
//! takes the ballots one by one. It has the other distributions, and the recount of the last one.

use crate::{
    arithmetic::{Arithmetic, Fault, Words},
    crew::{Crew, Parallel},
    error::CountError,
    events::Listener,
    layout::{Factors, Layout, Sums},
    meek::{self, Rule},
    spread::{KeepFactor, Votes},
};
use plain::PlainLoops;
use pool::PoolLoops;
use std::{
    fmt,
    time::{Duration, Instant},
};
use stv_ballots::{Ballots, Election, plural};

pub(crate) mod in_order;
mod plain;
mod pool;

/// The two loops that distribute the ballots of one election.
pub trait Loops {
    /// The threads that lay the ballots out.
    fn crew(&self) -> Crew<'_> {
        Crew::ALONE
    }

    /// Distributes the chunks of the layout.
    fn chunks(&mut self, layout: &Layout, factors: &Factors) -> &Sums;

    /// Distributes the ballots one by one.
    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault>;
}

/// Counts the election by Meek's method with these threads.
pub fn count<A: Arithmetic, L: Listener<A>>(
    election: &Election,
    rule: Rule,
    crew: Crew<'_>,
    listener: &mut L,
) -> Result<Effort, CountError> {
    let start = Instant::now();
    let before = crew.thefts();
    let distributions = match crew.pool() {
        None => count_with(election, rule, PlainLoops::new(election), listener)?,
        Some(pool) => count_with(election, rule, PoolLoops::new(pool, election), listener)?,
    };
    let thefts = crew.thefts().zip(before).map(|(after, before)| after - before);
    Ok(Effort { threads: crew.threads(), distributions, thefts, elapsed: start.elapsed() })
}

/// Counts the election by Meek's method with these loops. Returns the number of distributions.
pub fn count_with<A: Arithmetic, L: Listener<A>>(
    election: &Election,
    rule: Rule,
    loops: impl Loops,
    listener: &mut L,
) -> Result<u64, CountError> {
    let mut tally = Tally::of(election, loops);
    meek::count(election, rule, &mut |keep| tally.distribute(keep), listener)?;
    tally.recount()?;
    Ok(tally.distributions)
}

/// The ballots and the loops that distribute them.
struct Tally<'a, A, L> {
    ballots: &'a Ballots,
    loops: L,
    in_words: Option<(Layout, Words<A>)>,
    distributions: u64,
    /// The keep factors and the votes of the last distribution in words.
    last: Option<(Vec<KeepFactor<A>>, Votes<A>)>,
}

impl<'a, A: Arithmetic, L: Loops> Tally<'a, A, L> {
    fn of(election: &'a Election, loops: L) -> Self {
        let ballots = &election.ballots;
        let in_words = A::WORDS.and_then(|words| Some((Layout::of(election, loops.crew())?, words)));
        if let Some((layout, _)) = &in_words {
            let (ballots, chunks) = (ballots.all().len(), layout.chunks().len());
            log::debug!("{ballots} ballots as {}, in {chunks} chunks", layout.size());
        }
        Self { ballots, loops, in_words, distributions: 0, last: None }
    }

    fn distribute(&mut self, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
        self.distributions += 1;
        if let Some((layout, words)) = &self.in_words {
            // A keep factor above one does not fit. An elected candidate below the quota may have
            // one.
            if let Some(factors) = Factors::of(keep, words.billionths, self.distributions) {
                let votes = layout.votes(self.loops.chunks(layout, &factors), words.from_billionths)?;
                self.last = Some((keep.to_vec(), votes.clone()));
                return Ok(votes);
            }
        }
        self.loops.ballots(self.ballots, keep)
    }

    /// Counts the last distribution in words again, ballot by ballot. That code shares the
    /// arithmetic with the trees, and `spread::shares`: if this function gives equals the wrong
    /// shares, both are wrong.
    fn recount(&self) -> Result<(), CountError> {
        let Some((keep, votes)) = &self.last else { return Ok(()) };
        let again = self.loops.ballots(self.ballots, keep)?;
        if again == *votes { Ok(()) } else { Err(CountError::Disagreement) }
    }
}

/// The time and the loops of a count, in words.
#[derive(Debug)]
pub struct Effort {
    threads: usize,
    distributions: u64,
    /// `None` without a pool.
    thefts: Option<u64>,
    elapsed: Duration,
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parallel = if self.thefts.is_some() { Parallel::Pool } else { Parallel::No };
        write!(f, "{} ({parallel}), ", plural(self.threads, "thread"))?;
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        write!(f, "{}, ", plural(number(self.distributions), "distribution"))?;
        if let Some(thefts) = self.thefts {
            write!(f, "{}, ", plural(number(thefts), "theft"))?;
        }
        write!(f, "{:.3} s", self.elapsed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arithmetic::Fixed9;
    use rangesteal::Pool;
    use stv_ballots::Integer;

    fn election(lines: &str) -> Election {
        let text = format!("4 2\n{lines}\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"");
        stv_ballots::parse("test", text.as_bytes()).unwrap()
    }

    #[test]
    fn a_distribution_that_other_code_does_not_confirm_is_found_out() {
        let election = election("3 1=2 3 0\n2 2 1 0");
        let keep: Vec<KeepFactor<Fixed9>> = vec![KeepFactor::all(); 4];
        let one_by_one = PlainLoops::new(&election).ballots(&election.ballots, &keep);
        let mut tally = Tally::of(&election, PlainLoops::new(&election));
        assert_eq!(tally.distribute(&keep), one_by_one);
        assert!(tally.recount().is_ok());
        let (_, votes) = tally.last.as_mut().unwrap();
        votes.of.swap(0, 1);
        assert!(tally.recount().unwrap_err().to_string().contains("the last votes are others"));
    }

    /// The count checks the total before the first distribution. If a sum overflows nevertheless,
    /// the loops return an error and do not panic.
    #[test]
    fn an_overflow_inside_a_loop_is_an_error() {
        let mut election = election("1 1 0\n1 2 0\n1 1 2 0");
        election.ballots.push(Integer::Word(i64::MAX), &[(1, 0)]);
        let keep: Vec<KeepFactor<Fixed9>> = vec![KeepFactor::all(); 4];
        let pool = Pool::builder().num_threads(2).build().unwrap();
        let ballots = &election.ballots;
        assert_eq!(PlainLoops::new(&election).ballots(ballots, &keep), Err(Fault::Overflow));
        assert_eq!(PoolLoops::new(&pool, &election).ballots(ballots, &keep), Err(Fault::Overflow));
    }
}
