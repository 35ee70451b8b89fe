//! The tally: each distribution of all ballots is one parallel loop. The pool is used only by this
//! module, its submodules, and the module `crew`, which prepares the ballots. Only the submodule
//! `rival` uses rayon.

use crate::{
    arithmetic::{Arithmetic, Fault, Words},
    crew::Crew,
    election::Election,
    error::CountError,
    events::Listener,
    layout::{self, Kept, Layout, Sums},
    meek::{self, Distribute, Length, Rule},
    ranks::Ranks,
    spread::{KeepFactor, Votes},
};
use clap::ValueEnum as _;
use rangesteal::{PerWorker, Pinning, Pool};
use std::{
    fmt,
    num::NonZeroUsize,
    time::{Duration, Instant},
};

pub(crate) mod in_order;
#[cfg(any(test, feature = "rayon"))]
mod rival;
mod together;

use together::Together;

/// The threads that distribute the ballots.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Parallel {
    /// One thread, a plain loop
    No,
    /// The threads of rayon
    #[cfg(any(test, feature = "rayon"))]
    Rayon,
    /// The threads of this crate's pool
    Pool,
}

/// The threads of a count.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Threads {
    pub(crate) parallel: Parallel,
    /// The number of threads. `None` stands for all threads of the machine.
    pub(crate) number: Option<NonZeroUsize>,
    /// Whether each thread of the pool, the caller included, stays on its own CPU. `None` stands
    /// for the default of the pool.
    pub(crate) pinning: Option<Pinning>,
}

impl Threads {
    /// Runs `work` with the threads of the pool.
    pub(crate) fn together<R>(self, work: impl FnOnce(Crew<'_>) -> R) -> Result<R, CountError> {
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

/// The time and the loops of the count.
#[derive(Debug)]
pub(crate) struct Effort {
    ranks: usize,
    parallel: Parallel,
    threads: usize,
    length: Length,
    thefts: Option<u64>,
    elapsed: Duration,
}

/// Counts the election by Meek's method on these threads and on the threads of the other ranks.
pub(crate) fn count<A: Arithmetic, L: Listener<A> + Send>(
    election: &Election,
    rule: Rule,
    threads: Threads,
    ranks: &dyn Ranks,
    listener: &mut L,
) -> Result<Effort, CountError> {
    let together = Together::new(ranks);
    together.end(count_share::<A, L>(election, rule, threads, &together, listener))
}

/// Counts on this rank. If the count fails, the caller sends the error to the other ranks.
fn count_share<A: Arithmetic, L: Listener<A> + Send>(
    election: &Election,
    rule: Rule,
    threads: Threads,
    together: &Together<'_>,
    listener: &mut L,
) -> Result<Effort, CountError> {
    let start = Instant::now();
    let parallel = threads.parallel;
    let mut count = |distribute: &mut Distribute<'_, A>| {
        let mut everywhere = |keep: &[KeepFactor<A>]| {
            let found = distribute(keep);
            // If sums depend on their order, the ranks have already exchanged their votes.
            if A::SUMS_IN_ANY_ORDER { together.sum(found) } else { found }
        };
        meek::count(election, rule, &mut everywhere, listener)
    };
    let (threads, length, thefts) = match parallel {
        Parallel::No => {
            let mut words = InWords::of(election, Crew::ALONE);
            let mut sums = Sums::new(election.candidates.len());
            let length = count(&mut |keep| {
                InWords::distribute(&mut words, keep, |words| words.serially(&mut sums))
                    .unwrap_or_else(|| serially(together, election, keep))
            })?;
            InWords::audit(words.as_ref(), |keep| serially(together, election, keep))?;
            (1, length, None)
        }
        #[cfg(any(test, feature = "rayon"))]
        Parallel::Rayon => rival::scope(threads.number, |number| {
            let mut words = InWords::of(election, Crew::ALONE);
            let length = count(&mut |keep| {
                InWords::distribute(&mut words, keep, InWords::on_rayon)
                    .unwrap_or_else(|| rival::on_rayon(election, keep))
            })?;
            InWords::audit(words.as_ref(), |keep| rival::on_rayon(election, keep))?;
            Ok::<_, CountError>((number, length, None))
        })??,
        Parallel::Pool => threads.scope(|pool| {
            let mut words = InWords::of(election, Crew::of(pool));
            let mut sums = pool.per_worker(|_| Sums::new(election.candidates.len()));
            let length = count(&mut |keep| {
                InWords::distribute(&mut words, keep, |words| words.on_pool(pool, &mut sums))
                    .unwrap_or_else(|| on_pool(together, pool, election, keep))
            })?;
            InWords::audit(words.as_ref(), |keep| on_pool(together, pool, election, keep))?;
            Ok::<_, CountError>((pool.num_threads(), length, Some(pool.thefts())))
        })??,
    };
    let elapsed = start.elapsed();
    let ranks = together.number();
    Ok(Effort { ranks, parallel, threads, length, thefts, elapsed })
}

fn serially<A: Arithmetic>(
    together: &Together<'_>,
    election: &Election,
    keep: &[KeepFactor<A>],
) -> Result<Votes<A>, Fault> {
    let ballots = &election.ballots;
    if !A::SUMS_IN_ANY_ORDER {
        return in_order::serially(together, ballots, keep);
    }
    ballots
        .records()
        .iter()
        .try_fold(Votes::none(keep.len()), |votes, &ballot| votes.with(ballot, ballots, keep))
}

fn on_pool<A: Arithmetic>(
    together: &Together<'_>,
    pool: &Pool,
    election: &Election,
    keep: &[KeepFactor<A>],
) -> Result<Votes<A>, Fault> {
    let ballots = &election.ballots;
    let records = pool.on(ballots.records());
    if !A::SUMS_IN_ANY_ORDER {
        return in_order::on_pool(together, records, ballots, keep);
    }
    records.fold(
        || Ok(Votes::none(keep.len())),
        |votes: Result<Votes<A>, Fault>, &ballot| votes?.with(ballot, ballots, keep),
        |left, right| left?.plus(&right?),
    )
}

/// The layout for distributions in machine words. Nearly all distributions of decimals use this
/// layout.
struct InWords<A> {
    layout: Layout,
    words: Words<A>,
    kept: Kept,
    /// The keep factors and the votes of the last distribution.
    last: Option<(Vec<KeepFactor<A>>, Votes<A>)>,
}

impl<A: Arithmetic> InWords<A> {
    fn of(election: &Election, crew: Crew<'_>) -> Option<Self> {
        let words = A::WORDS?;
        let layout = Layout::of(election, crew)?;
        log::debug!("{} ballots as {}", election.ballots.records().len(), layout.size());
        Some(Self { layout, words, kept: Kept::default(), last: None })
    }

    /// Makes one distribution. Returns `None` if a keep factor is above one. An elected candidate
    /// below the quota can have such a factor.
    fn distribute(
        this: &mut Option<Self>,
        keep: &[KeepFactor<A>],
        distribute: impl FnOnce(&Self) -> Result<Votes<A>, Fault>,
    ) -> Option<Result<Votes<A>, Fault>> {
        let this = this.as_mut()?;
        if !layout::keep(&mut this.kept, keep, this.words.billionths) {
            return None;
        }
        let votes = distribute(this);
        this.last = votes.as_ref().ok().map(|votes| (keep.to_vec(), votes.clone()));
        Some(votes)
    }

    /// Checks the last distribution by counting it again, ballot by ballot. The code for single
    /// ballots shares only the arithmetic with the trees.
    fn audit(
        this: Option<&Self>,
        ballot_by_ballot: impl FnOnce(&[KeepFactor<A>]) -> Result<Votes<A>, Fault>,
    ) -> Result<(), CountError> {
        let Some((keep, votes)) = this.and_then(|this| this.last.as_ref()) else { return Ok(()) };
        if ballot_by_ballot(keep)? == *votes { Ok(()) } else { Err(CountError::Disagreement) }
    }

    fn votes(&self, sums: &Sums) -> Result<Votes<A>, Fault> {
        self.layout.votes(sums, self.words.from_billionths)
    }

    fn serially(&self, sums: &mut Sums) -> Result<Votes<A>, Fault> {
        sums.clear();
        self.layout.chunks().iter().for_each(|chunk| self.layout.distribute(chunk, &self.kept, sums));
        self.votes(sums)
    }

    /// Every worker adds up the votes of its chunks. Sums of integers are the same in any order.
    fn on_pool(&self, pool: &Pool, sums: &mut PerWorker<Sums>) -> Result<Votes<A>, Fault> {
        sums.iter_mut().for_each(Sums::clear);
        let chunks = pool.on(self.layout.chunks());
        chunks.with_kept(sums).for_each(|(sums, chunk)| self.layout.distribute(chunk, &self.kept, sums));
        let mut parts = sums.iter_mut();
        let Some(sum) = parts.next() else { return Ok(Votes::none(self.layout.candidates())) };
        parts.for_each(|part| sum.add(part));
        self.votes(sum)
    }
}

impl fmt::Display for Effort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |number: u64| if number == 1 { "" } else { "s" };
        let parallel = self.parallel.to_possible_value();
        let parallel = parallel.as_ref().map_or("", |value| value.get_name());
        if self.ranks > 1 {
            write!(f, "{} ranks of ", self.ranks)?;
        }
        write!(f, "{} thread{} ({parallel}), ", self.threads, plural(self.threads as u64))?;
        write!(
            f,
            "{} distribution{}, ",
            self.length.distributions,
            plural(self.length.distributions as u64)
        )?;
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
        ranks::Alone,
        transcript::Transcript,
    };

    fn election(lines: &str) -> Election {
        let text = format!("4 2\n{lines}\n0\n\"A\" \"B\" \"C\" \"D\" \"T\"");
        blt::read("test", text.as_bytes()).unwrap()
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
            count::<BigFixed9, _>(
                &election,
                rule,
                threads,
                &Alone,
                &mut Transcript::new(&mut out, String::new()),
            )
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

    #[test]
    fn a_distribution_that_other_code_does_not_confirm_is_found_out() {
        let election = election("3 1=2 3 0\n2 2 1 0");
        let keep: Vec<KeepFactor<Fixed9>> = vec![KeepFactor::all(); 4];
        let mut words = InWords::of(&election, Crew::ALONE);
        let mut sums = Sums::new(4);
        let votes = InWords::distribute(&mut words, &keep, |words| words.serially(&mut sums));
        assert_eq!(votes, Some(serially(&Together::new(&Alone), &election, &keep)));
        let audit = |words: &Option<InWords<Fixed9>>| {
            InWords::audit(words.as_ref(), |keep| serially(&Together::new(&Alone), &election, keep))
                .map_err(|error| error.to_string())
        };
        assert_eq!(audit(&words), Ok(()));
        let (_, votes) = words.as_mut().unwrap().last.as_mut().unwrap();
        votes.of.swap(0, 1);
        assert!(audit(&words).unwrap_err().contains("the last votes are others"));
    }

    /// The count checks the total before the first distribution. If a sum overflows nevertheless,
    /// the loops return an error and do not panic.
    #[test]
    fn an_overflow_inside_a_loop_is_an_error() {
        let mut election = election("1 1 0\n1 2 0\n1 1 2 0");
        election.ballots.push(Integer::Word(i64::MAX), &[(1, 0)]);
        let keep: Vec<KeepFactor<Fixed9>> = vec![KeepFactor::all(); 4];
        let pool = Pool::builder().num_threads(2).build().unwrap();
        assert_eq!(serially(&Together::new(&Alone), &election, &keep), Err(Fault::Overflow));
        assert_eq!(rival::on_rayon(&election, &keep), Err(Fault::Overflow));
        assert_eq!(on_pool(&Together::new(&Alone), &pool, &election, &keep), Err(Fault::Overflow));
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
            ranks: 1,
            parallel: Parallel::Pool,
            threads: 2,
            length: Length { rounds: 9, distributions: 153 },
            thefts: Some(412),
            elapsed: Duration::from_micros(12_600),
        };
        assert_eq!(effort.to_string(), "2 threads (pool), 153 distributions, 412 thefts, 0.013 s");
        let effort = Effort {
            ranks: 1,
            parallel: Parallel::No,
            threads: 1,
            length: Length { rounds: 0, distributions: 1 },
            thefts: None,
            elapsed: Duration::ZERO,
        };
        assert_eq!(effort.to_string(), "1 thread (no), 1 distribution, 0.000 s");
    }
}
