//! The tally distributes all ballots at given keep factors. Each distribution is one parallel loop.
//!
//! Two loops can distribute the ballots. The first loop takes the trees of `layout`, in chunks. It
//! needs numbers that fit in machine words, and nearly all distributions use it. The second loop
//! takes the ballots one by one. It has the other distributions, and the check of the last one.
//!
//! Only this file, `tally/in_order.rs` and `crew.rs` use the pool.

use crate::{
    arithmetic::{Arithmetic, Fault, Words},
    crew::Crew,
    error::CountError,
    events::Listener,
    layout::{self, Kept, Layout, Sums},
    meek::{self, Length, Rule},
    spread::{KeepFactor, Votes},
};
use rangesteal::{PerWorker, Pinning, Pool};
use std::{num::NonZeroUsize, time::Instant};
use stv_ballots::{Ballots, Election};

mod effort;
pub(crate) mod in_order;
mod plain;

pub use effort::Effort;
use plain::Plain;

stv_ballots::named! {
    /// The threads that distribute the ballots.
    Parallel {
        /// One thread, a plain loop
        No = "no",
        /// The threads of this crate's pool
        Pool = "pool",
    }
}

/// The votes of some of the ballots.
pub type Part<A> = Result<Votes<A>, Fault>;

/// The two loops that distribute the ballots.
pub trait Loops {
    /// The threads that lay the ballots out.
    fn crew(&self) -> Crew<'_> {
        Crew::ALONE
    }

    /// Distributes the chunks of the layout. The sums are integers, and the same in any order.
    fn chunks(&mut self, layout: &Layout, kept: &Kept) -> &Sums;

    /// Distributes the ballots one by one.
    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A>;
}

/// The loops on the pool.
struct OnPool<'a> {
    pool: &'a Pool,
    /// The votes that each worker has counted.
    sums: PerWorker<Sums>,
}

impl<'a> OnPool<'a> {
    fn new(pool: &'a Pool, election: &Election) -> Self {
        Self { pool, sums: pool.per_worker(|_| Sums::new(election.candidates.len())) }
    }
}

impl Loops for OnPool<'_> {
    fn crew(&self) -> Crew<'_> {
        Crew::of(self.pool)
    }

    fn chunks(&mut self, layout: &Layout, kept: &Kept) -> &Sums {
        self.sums.iter_mut().for_each(Sums::clear);
        let chunks = self.pool.on(layout.chunks()).with_kept(&mut self.sums);
        chunks.for_each(|(sums, chunk)| layout.distribute(chunk, kept, sums));
        let mut parts = self.sums.iter_mut();
        let sum = parts.next().expect("a pool has at least one worker");
        parts.for_each(|part| sum.add(part));
        sum
    }

    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
        let records = self.pool.on(ballots.records());
        if !A::SUMS_IN_ANY_ORDER {
            return in_order::on_pool(records, ballots, keep);
        }
        records.fold(
            || Ok(Votes::none(keep.len())),
            |votes: Part<A>, &ballot| votes?.with(ballot, ballots, keep),
            |left, right| left?.plus(&right?),
        )
    }
}

/// Counts the election by Meek's method with these loops.
pub fn count_with<A: Arithmetic, L: Listener<A>>(
    election: &Election,
    rule: Rule,
    loops: &mut impl Loops,
    listener: &mut L,
) -> Result<Length, CountError> {
    let mut tally = Tally::of(election, loops);
    let length = meek::count(election, rule, &mut |keep| tally.distribute(keep), listener)?;
    tally.audit()?;
    Ok(length)
}

/// The ballots and the loops that distribute them.
struct Tally<'a, A, E> {
    ballots: &'a Ballots,
    loops: &'a mut E,
    in_words: Option<InWords<A>>,
}

/// The layout for distributions in machine words.
struct InWords<A> {
    layout: Layout,
    words: Words<A>,
    kept: Kept,
    /// The keep factors and the votes of the last distribution that was counted in words, unless
    /// it failed.
    last: Option<(Vec<KeepFactor<A>>, Votes<A>)>,
}

impl<'a, A: Arithmetic, E: Loops> Tally<'a, A, E> {
    fn of(election: &'a Election, loops: &'a mut E) -> Self {
        let layout = A::WORDS.and_then(|words| Some((words, Layout::of(election, loops.crew())?)));
        let in_words = layout.map(|(words, layout)| {
            log::debug!("{} ballots as {}", election.ballots.records().len(), layout.size());
            InWords { layout, words, kept: Kept::default(), last: None }
        });
        Self { ballots: &election.ballots, loops, in_words }
    }

    fn distribute(&mut self, keep: &[KeepFactor<A>]) -> Part<A> {
        // A keep factor above one does not fit. An elected candidate below the quota may have one.
        if let Some(InWords { layout, words, kept, last }) = &mut self.in_words
            && layout::keep(kept, keep, words.billionths)
        {
            let sums = self.loops.chunks(layout, kept);
            let votes = layout.votes(sums, words.from_billionths);
            *last = votes.as_ref().ok().map(|votes| (keep.to_vec(), votes.clone()));
            return votes;
        }
        self.loops.ballots(self.ballots, keep)
    }

    /// Checks the last distribution in words by counting it again, ballot by ballot. That code
    /// shares the arithmetic with the trees, and `spread::shares`: if this function gives equals
    /// the wrong shares, both are wrong.
    fn audit(&self) -> Result<(), CountError> {
        let last = self.in_words.as_ref().and_then(|in_words| in_words.last.as_ref());
        let Some((keep, votes)) = last else { return Ok(()) };
        let again = self.loops.ballots(self.ballots, keep)?;
        if again == *votes { Ok(()) } else { Err(CountError::Disagreement) }
    }
}

/// The threads of a count.
#[derive(Debug, Clone, Copy)]
pub struct Threads {
    pub parallel: Parallel,
    /// The number of threads. `None` stands for `RANGESTEAL_NUM_THREADS`, or without this variable
    /// for all threads of the machine.
    pub number: Option<NonZeroUsize>,
    /// Whether each thread of the pool, the caller included, stays on its own CPU. `None` stands
    /// for the default of the pool.
    pub pinning: Option<Pinning>,
}

impl Threads {
    /// Runs `work` with the threads of the pool.
    pub fn together<R>(self, work: impl FnOnce(Crew<'_>) -> R) -> Result<R, CountError> {
        self.scope(|pool| work(Crew::of(pool)))
    }

    /// Runs `work` with a pool. Until `work` returns, the calling thread is a worker of the pool,
    /// and is pinned like the other workers.
    fn scope<R>(self, work: impl FnOnce(&Pool) -> R) -> Result<R, CountError> {
        let mut builder = Pool::builder();
        if let Some(pinning) = self.pinning {
            builder = builder.pinning(pinning);
        }
        if let Some(number) = self.number {
            builder = builder.num_threads(number.get());
        }
        let worked = builder.scope(|pool| {
            log::debug!("{}", pool.placement());
            work(pool)
        });
        worked.map_err(|error| CountError::Threads(error.to_string()))
    }
}

/// Counts the election by Meek's method on these threads.
pub fn count<A: Arithmetic, L: Listener<A> + Send>(
    election: &Election,
    rule: Rule,
    threads: Threads,
    listener: &mut L,
) -> Result<Effort, CountError> {
    let (start, parallel) = (Instant::now(), threads.parallel);
    let (threads, length, thefts) = match parallel {
        Parallel::No => (1, count_with(election, rule, &mut Plain::new(election), listener)?, None),
        Parallel::Pool => threads.scope(|pool| {
            let length = count_with(election, rule, &mut OnPool::new(pool, election), listener)?;
            Ok::<_, CountError>((pool.num_threads(), length, Some(pool.thefts())))
        })??,
    };
    Ok(Effort { parallel, threads, length, thefts, elapsed: start.elapsed() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arithmetic::{BigFixed9, Fixed9},
        transcript::Transcript,
    };
    use stv_ballots::Integer;

    fn election(lines: &str) -> Election {
        let text = format!("4 2\n{lines}\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"");
        stv_ballots::parse("test", text.as_bytes()).unwrap()
    }

    fn threads(parallel: Parallel, number: usize) -> Threads {
        Threads { parallel, number: NonZeroUsize::new(number), pinning: None }
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
            let rule = Rule { omega_exponent: 6, force_positive_surplus: true, backwards: false };
            count::<BigFixed9, _>(&election, rule, threads, &mut Transcript::new(&mut out, String::new()))
                .unwrap();
            String::from_utf8(out).unwrap()
        };
        let serial = transcript(threads(Parallel::No, 1));
        assert!(serial.contains("Action: Count Complete"));
        for number in [1, 2, 3, 8] {
            assert_eq!(transcript(threads(Parallel::Pool, number)), serial, "{number}");
        }
    }

    #[test]
    fn a_distribution_that_other_code_does_not_confirm_is_found_out() {
        let election = election("3 1=2 3 0\n2 2 1 0");
        let keep: Vec<KeepFactor<Fixed9>> = vec![KeepFactor::all(); 4];
        let mut plain = Plain::new(&election);
        let one_by_one = plain.ballots(&election.ballots, &keep);
        let mut tally = Tally::of(&election, &mut plain);
        assert_eq!(tally.distribute(&keep), one_by_one);
        assert!(tally.audit().is_ok());
        let (_, votes) = tally.in_words.as_mut().unwrap().last.as_mut().unwrap();
        votes.of.swap(0, 1);
        assert!(tally.audit().unwrap_err().to_string().contains("the last votes are others"));
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
        assert_eq!(Plain::new(&election).ballots(ballots, &keep), Err(Fault::Overflow));
        assert_eq!(OnPool::new(&pool, &election).ballots(ballots, &keep), Err(Fault::Overflow));
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
}
