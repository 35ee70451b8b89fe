//! What a loop did: filled in on request, and logged.

use std::{fmt, time::Duration};

use super::times::{Tally, Times};

/// What a loop did, worker by worker; filled in by [`On::report`](crate::On::report).
///
/// ```
/// use rangesteal::{Pool, RunReport};
///
/// let pool = Pool::builder().num_threads(2).build()?;
/// let mut report = RunReport::default();
/// let sum = pool.on(0..100_000).report(&mut report).map_reduce(|i| i as f64, |a, b| a + b);
/// assert_eq!(report.items(), 100_000);
/// assert!(report.balance() > 0.0 && report.thefts() < 100_000);
/// for worker in &report.workers {
///     assert!(worker.working + worker.waiting_to_start <= 2 * report.wall);
/// }
/// println!("{report}");
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RunReport {
    /// From the call to its return. On wasm32-unknown-unknown, which has no clock, this and all other times are zero.
    pub wall: Duration,
    /// Why the loop ran on the calling thread alone; none if it was shared.
    pub alone: Option<Alone>,
    /// The workers that the loop was meant for; the first is the calling thread, wherever that runs. One, if the loop ran on that alone.
    pub workers: Vec<WorkerReport>,
}

/// Why a loop ran on the calling thread alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Alone {
    /// It was over, or expected to be over, before help would have paid.
    Short,
    /// The pool was busy with another loop.
    Busy,
    /// There is one worker for it, or one item, or none.
    OneWorker,
    /// Its token had been cancelled before it began.
    Cancelled,
}

/// What one worker did in a loop.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Items it has folded. Where a loop stops early, the rest of its last claim is counted as well.
    pub items: usize,
    /// Runs of neighbouring items: one, and one a theft.
    pub runs: usize,
    /// Ranges it has stolen.
    pub thefts: usize,
    /// Ranges that were stolen from it.
    pub thefts_suffered: usize,
    /// Attempts at a theft that brought nothing.
    pub thefts_failed: usize,
    /// Time in its runs; the rest is spent on stealing.
    pub working: Duration,
    /// From the call to its first item; all of the time if it came too late for any.
    pub waiting_to_start: Duration,
    /// From its last item to the return of the call.
    pub waiting_at_end: Duration,
}

impl RunReport {
    /// Of a loop of `wall`, in which the calling thread worked on so many `items` alone for a while `before` it was shared.
    pub(crate) fn new(
        wall: Duration,
        (items, before): (usize, Duration),
        round: Result<&Times, Alone>,
    ) -> Self {
        let tallies = round.map_or(&[][..], |times| &times.tallies);
        let mut workers: Vec<_> =
            tallies.iter().map(|tally| WorkerReport::new(wall, before, tally)).collect();
        if workers.is_empty() {
            workers.push(WorkerReport {
                waiting_at_end: wall.saturating_sub(before),
                ..WorkerReport::default()
            });
        }
        if items > 0 {
            let caller = &mut workers[0];
            if caller.runs == 0 {
                caller.runs = 1;
                caller.waiting_at_end = wall.saturating_sub(before);
            }
            caller.items += items;
            caller.working += before;
            caller.waiting_to_start = Duration::ZERO;
        }
        Self { wall, alone: round.err(), workers }
    }

    /// The call is over, after `wall`.
    pub(crate) fn end(&mut self, wall: Duration) {
        let more = wall.saturating_sub(self.wall);
        for worker in &mut self.workers {
            let came = worker.runs > 0;
            *(if came { &mut worker.waiting_at_end } else { &mut worker.waiting_to_start }) += more;
        }
        self.wall = wall;
    }

    /// A line for the log, and who did what if all is wanted.
    #[cold]
    #[inline(never)]
    pub(crate) fn log(&self) {
        log::debug!(
            "{} items in {:?} by {} workers, {} thefts, balance {:.3}",
            self.items(),
            self.wall,
            self.workers.len(),
            self.thefts(),
            self.balance(),
        );
        log::trace!("{self}");
    }

    /// Items folded by all workers. They are what the closures are given: with [`chunks`](crate::On::chunks), chunks.
    #[must_use]
    pub fn items(&self) -> usize {
        self.workers.iter().map(|worker| worker.items).sum()
    }

    /// Ranges stolen. (For these three, the example is at [`RunReport`].)
    #[must_use]
    pub fn thefts(&self) -> usize {
        self.workers.iter().map(|worker| worker.thefts).sum()
    }

    /// The mean working time of the workers, divided by the longest: 1 where all have worked equally long.
    #[must_use]
    pub fn balance(&self) -> f64 {
        let times = || self.workers.iter().map(|worker| worker.working.as_secs_f64());
        let longest = times().fold(0.0, f64::max);
        if longest == 0.0 {
            return 1.0;
        }
        #[allow(clippy::cast_precision_loss)] // fewer workers than that
        let count = self.workers.len() as f64;
        times().sum::<f64>() / count / longest
    }
}

impl WorkerReport {
    /// Of a worker of a round that began `before` after the call.
    fn new(wall: Duration, before: Duration, tally: &Tally) -> Self {
        let nanos = |nanos: f32| Duration::from_secs_f64(f64::from(nanos) * 1e-9);
        let Tally { ref span, working, items, runs, thefts, failed, suffered, .. } = *tally;
        let (start, end) = if span.start.is_finite() {
            (before + nanos(span.start), before + nanos(span.end))
        } else {
            (wall, wall)
        };
        Self {
            items,
            runs,
            thefts,
            thefts_suffered: suffered,
            thefts_failed: failed,
            working: nanos(working),
            waiting_to_start: start,
            waiting_at_end: wall.saturating_sub(end),
        }
    }
}

/// A table: a line a worker.
impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let time = |time: Duration| format!("{time:.1?}");
        let (items, thefts) = (self.items(), self.thefts());
        write!(f, "{items} items in {}, {thefts} thefts, balance {:.3}", time(self.wall), self.balance())?;
        writeln!(
            f,
            "{}",
            match self.alone {
                None => "",
                Some(Alone::Short) => "; on the calling thread alone: short",
                Some(Alone::Busy) => "; on the calling thread alone: the pool was busy",
                Some(Alone::OneWorker) => "; on the calling thread alone: one worker",
                Some(Alone::Cancelled) => "; cancelled before it began",
            }
        )?;
        writeln!(
            f,
            "{:>6} {:>12} {:>6} {:>7} {:>8} {:>7} {:>9} {:>9} {:>9}",
            "worker", "items", "runs", "thefts", "suffered", "failed", "working", "to start", "at end",
        )?;
        for (number, worker) in self.workers.iter().enumerate() {
            writeln!(
                f,
                "{number:>6} {:>12} {:>6} {:>7} {:>8} {:>7} {:>9} {:>9} {:>9}",
                worker.items,
                worker.runs,
                worker.thefts,
                worker.thefts_suffered,
                worker.thefts_failed,
                time(worker.working),
                time(worker.waiting_to_start),
                time(worker.waiting_at_end),
            )?;
        }
        Ok(())
    }
}
