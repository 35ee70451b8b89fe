//! The report of a loop, made on request, and the loop's line in the log.

use std::{fmt, panic::Location, time::Duration};

use super::{journal::Tally, times::Times, why_alone::Alone};
use crate::clock::time;

/// The report of a loop, worker by worker. [`On::report`](crate::On::report) fills it in.
///
/// ```
/// use rangesteal::{Pool, RunReport};
///
/// let pool = Pool::builder().num_threads(2).build()?;
/// let mut report = RunReport::default();
/// let sum = pool.on(0..100_000).report(&mut report).map(f64::from).sum::<f64>();
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
    /// The time from the call to its return. On wasm32-unknown-unknown, which has no clock, this
    /// time and all other times are zero.
    pub wall: Duration,
    /// Why the loop ran on the calling thread alone; `None` if it was shared.
    pub alone: Option<Alone>,
    /// How many workers were idle when the loop was shared; 0 if it was not shared. The loop may
    /// have used fewer helpers.
    pub idle: usize,
    /// How long the calling thread worked alone before it shared the loop. In the first call of a
    /// loop over many items, this is a few microseconds, or the time of the first item if the first
    /// item takes longer. Zero if the loop was not shared.
    pub begun_alone: Duration,
    /// The workers of the loop, including workers that came too late. The first worker is always
    /// the calling thread. If the loop ran on the calling thread alone, this is the only worker.
    pub workers: Vec<WorkerReport>,
    /// The waits of a loop whose items wait; `None` for all other loops.
    pub waits: Option<WaitReport>,
}

/// The work of one worker in a loop.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct WorkerReport {
    /// Items that this worker has folded. If a loop stops early, all items of the worker's last
    /// claim are counted.
    pub items: usize,
    /// Runs of neighbouring items: one run at the start, and one more run for each theft.
    pub runs: usize,
    /// Ranges that this worker has stolen.
    pub thefts: usize,
    /// Ranges that were stolen from this worker.
    pub thefts_suffered: usize,
    /// Thefts that this worker tried without success.
    pub thefts_failed: usize,
    /// The time that the worker's runs took. Between its runs a worker is busy with stealing.
    pub working: Duration,
    /// The time from the call to the worker's first item. If the worker came too late and got no
    /// item, this is the whole time of the loop.
    pub waiting_to_start: Duration,
    /// The time from the worker's last item to the return of the call.
    pub waiting_at_end: Duration,
}

/// The waits of a loop whose items wait: see [`On::waiting`](crate::On::waiting). If the workers
/// sleep for long although the limit of items in flight is reached, the loop needs a higher limit.
/// If the workers sleep while fewer items are in flight, the loop needs more items, or a faster
/// service for its items to wait for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitReport {
    /// Items that were not done when they were first polled.
    pub waited: usize,
    /// How often items were polled.
    pub polls: usize,
    /// How often the worker that polled an item was not the worker of the item's last poll.
    pub resumed_elsewhere: usize,
    /// The most items that were in flight at the same time. An item is in flight from its begin
    /// until it is done. The number may be a little too high, because workers reserve several slots
    /// for items at once.
    pub most_in_flight: usize,
    /// How long workers slept because no item could be polled, added up over all workers.
    pub asleep: Duration,
}

impl WaitReport {
    /// Adds the waits of another worker.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { waited, polls, resumed_elsewhere, most_in_flight, asleep } = other;
        self.waited += waited;
        self.polls += polls;
        self.resumed_elsewhere += resumed_elsewhere;
        self.most_in_flight = self.most_in_flight.max(most_in_flight);
        self.asleep += asleep;
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waited, polls, resumed_elsewhere, most_in_flight, asleep } = self;
        write!(
            f,
            "{waited} items waited, {polls} polls, {resumed_elsewhere} of them elsewhere, \
             {most_in_flight} items in flight at most, asleep for {asleep:.1?}"
        )
    }
}

impl RunReport {
    /// The report of a loop that took the time `wall`. Before the loop was shared, the calling
    /// thread alone folded `items` items, which took the time `before`.
    pub(crate) fn new(
        wall: Duration,
        (items, before): (usize, Duration),
        shared: Result<&Times, Alone>,
    ) -> Self {
        let absent = [Tally::default()];
        let tallies = shared.map_or(&absent[..], |times| &times.tallies);
        let mut workers: Vec<_> =
            tallies.iter().map(|tally| WorkerReport::new(wall, before, tally)).collect();
        if items > 0 {
            let caller = &mut workers[0];
            if caller.runs == 0 {
                caller.runs = 1;
                caller.waiting_at_end = wall.saturating_sub(before);
            }
            caller.items = caller.items.saturating_add(items);
            caller.working += before;
            caller.waiting_to_start = Duration::ZERO;
        }
        let begun_alone = if shared.is_ok() { before } else { Duration::ZERO };
        Self { wall, alone: shared.err(), idle: 0, begun_alone, workers, waits: None }
    }

    /// The call has ended after the time `wall`.
    pub(crate) fn end(&mut self, wall: Duration) {
        let more = wall.saturating_sub(self.wall);
        for worker in &mut self.workers {
            let came = worker.runs > 0;
            *(if came { &mut worker.waiting_at_end } else { &mut worker.waiting_to_start }) += more;
        }
        self.wall = wall;
    }

    /// Logs one line at level debug, and the whole report at level trace.
    #[cold]
    #[inline(never)]
    pub(crate) fn log(&self, at: &Location<'_>) {
        log::debug!(
            "{at}: {} items in {:?} by {} workers, {} thefts, balance {}",
            self.items(),
            self.wall,
            self.workers.len(),
            self.thefts(),
            decimal(self.balance(), 3),
        );
        log::trace!("{self}");
    }

    /// How many items all workers have folded. An item is one argument of the closure: with
    /// [`chunks`](crate::On::chunks), a chunk.
    #[must_use]
    #[inline(never)]
    pub fn items(&self) -> usize {
        self.workers.iter().fold(0, |sum, worker| sum.saturating_add(worker.items))
    }

    /// How many ranges were stolen. ([`RunReport`] has an example.)
    #[must_use]
    #[inline(never)]
    pub fn thefts(&self) -> usize {
        self.workers.iter().map(|worker| worker.thefts).sum()
    }

    /// The mean working time of the workers, divided by the longest: 1 if all workers have worked
    /// equally long.
    #[must_use]
    #[inline(never)]
    pub fn balance(&self) -> f64 {
        let times = || self.workers.iter().map(|worker| worker.working.as_secs_f64());
        let longest = times().fold(0.0, f64::max);
        if longest == 0.0 {
            return 1.0;
        }
        #[allow(clippy::cast_precision_loss)] // the number of workers is small
        let count = self.workers.len() as f64;
        times().sum::<f64>() / count / longest
    }
}

/// Writes a non-negative number with `places` decimal digits. The code of std that prints
/// floating-point numbers would add 20 KB to a program.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "positive, and saturates")]
#[inline(never)]
pub(super) fn decimal(number: f64, places: usize) -> String {
    let parts: u32 = [1, 10, 100, 1000][places];
    let all = (number * f64::from(parts) + 0.5) as u64;
    format!("{}.{:0places$}", all / u64::from(parts), all % u64::from(parts))
}

impl WorkerReport {
    /// The report of one worker of a shared loop. The loop began when the time `before` had passed
    /// since the call.
    fn new(wall: Duration, before: Duration, tally: &Tally) -> Self {
        let Tally { ref span, working, items, runs, thefts, failed, suffered, .. } = *tally;
        let (start, end) = if span.start.is_finite() {
            (before + time(span.start), before + time(span.end))
        } else {
            (wall, wall)
        };
        Self {
            items,
            runs,
            thefts,
            thefts_suffered: suffered,
            thefts_failed: failed,
            working: time(working),
            waiting_to_start: start,
            waiting_at_end: wall.saturating_sub(end),
        }
    }
}

/// A table with one line per worker.
impl fmt::Display for RunReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (items, thefts, balance) = (self.items(), self.thefts(), decimal(self.balance(), 3));
        write!(f, "{items} items in {:.1?}, {thefts} thefts, balance {balance}", self.wall)?;
        match self.alone {
            None if self.begun_alone.is_zero() => Ok(()),
            None => write!(f, "; begun alone: {:.1?}", self.begun_alone),
            Some(why) => write!(f, "; on the calling thread alone: {}", why.label()),
        }?;
        f.write_str("\nworker        items   runs  thefts suffered  failed   working  to start    at end\n")?;
        for (number, worker) in self.workers.iter().enumerate() {
            let WorkerReport {
                items,
                runs,
                thefts,
                thefts_suffered: suffered,
                thefts_failed: failed,
                working,
                waiting_to_start,
                waiting_at_end,
            } = worker;
            writeln!(
                f,
                "{number:>6} {items:>12} {runs:>6} {thefts:>7} {suffered:>8} {failed:>7} {working:>9.1?} \
                 {waiting_to_start:>9.1?} {waiting_at_end:>9.1?}"
            )?;
        }
        self.waits.iter().try_for_each(|waits| writeln!(f, "{waits}"))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn times_and_counts_are_those_of_the_loop() {
        let thief = Tally {
            span: 1e6..6e6,
            working: 4e6,
            items: 30,
            runs: 2,
            thefts: 1,
            failed: 3,
            ..Tally::default()
        };
        let victim =
            Tally { span: 2e6..5e6, working: 3e6, items: 10, runs: 1, suffered: 1, ..Tally::default() };
        let times = Times { tallies: vec![thief, victim, Tally::default()], ..Times::default() };
        let mut report = RunReport::new(ms(20), (5, ms(10)), Ok(&times)); // 5 items in 10 ms before it was shared
        report.end(ms(21));
        let caller = WorkerReport {
            items: 35,
            runs: 2,
            thefts: 1,
            thefts_suffered: 0,
            thefts_failed: 3,
            working: ms(14),
            waiting_to_start: ms(0),
            waiting_at_end: ms(5),
        };
        let helper = WorkerReport {
            items: 10,
            runs: 1,
            thefts_suffered: 1,
            working: ms(3),
            waiting_to_start: ms(12),
            waiting_at_end: ms(6),
            ..WorkerReport::default()
        };
        let late = WorkerReport { waiting_to_start: ms(21), ..WorkerReport::default() };
        let workers = vec![caller, helper, late];
        assert_eq!(
            report,
            RunReport { wall: ms(21), alone: None, idle: 0, begun_alone: ms(10), workers, waits: None }
        );
        assert_eq!((report.items(), report.thefts()), (45, 1));
        assert!((report.balance() - 17.0 / 3.0 / 14.0).abs() < 1e-9, "{}", report.balance());
        let text = report.to_string();
        let [head, _, first, ..] = text.lines().collect::<Vec<_>>()[..] else { panic!("{text}") };
        assert_eq!(head, "45 items in 21.0ms, 1 thefts, balance 0.405; begun alone: 10.0ms");
        let columns = ["0", "35", "2", "1", "0", "3", "14.0ms", "0.0ns", "5.0ms"];
        assert_eq!(first.split_whitespace().collect::<Vec<_>>(), columns);
    }

    #[test]
    fn numbers_are_written_as_std_does() {
        for number in [0.0, 0.0004, 0.0006, 0.405, 0.9996, 1.0, 1.05, 12.345_6, 1e6] {
            assert_eq!(decimal(number, 3), format!("{number:.3}"));
            assert_eq!(decimal(number, 2), format!("{number:.2}"));
        }
    }

    #[test]
    fn a_caller_that_has_folded_everything_has_one_run() {
        let mut report = RunReport::new(ms(12), (7, ms(10)), Err(Alone::Short));
        report.end(ms(13));
        let worker = WorkerReport {
            items: 7,
            runs: 1,
            working: ms(10),
            waiting_at_end: ms(3),
            ..WorkerReport::default()
        };
        assert_eq!(
            report,
            RunReport {
                wall: ms(13),
                alone: Some(Alone::Short),
                workers: vec![worker],
                ..RunReport::default()
            }
        );
        assert!((report.balance() - 1.0).abs() < 1e-9);
    }

    #[test]
    fn a_worker_without_items_has_waited_all_the_time() {
        let mut report = RunReport::new(ms(12), (0, ms(0)), Err(Alone::OneWorker));
        report.end(ms(13));
        let worker = WorkerReport { waiting_to_start: ms(13), ..WorkerReport::default() };
        assert_eq!(
            report,
            RunReport {
                wall: ms(13),
                alone: Some(Alone::OneWorker),
                workers: vec![worker],
                ..RunReport::default()
            }
        );
        assert!((report.balance() - 1.0).abs() < 1e-9, "nobody has worked more than another");
    }

    #[test]
    fn times_and_counts_that_make_no_sense_are_reported_all_the_same() {
        let worker =
            |working| Tally { span: 5.0..f32::INFINITY, working, items: usize::MAX, ..Tally::default() };
        let tallies = vec![worker(-1.0), worker(f32::NAN), worker(f32::INFINITY)];
        let times = Times { tallies, ..Times::default() };
        let mut report = RunReport::new(ms(1), (7, ms(0)), Ok(&times));
        report.end(ms(0));
        assert_eq!(report.items(), usize::MAX);
        assert!(report.to_string().contains("items in 0.0ns"), "{report}");
    }

    #[test]
    fn the_work_of_the_caller_alone_is_a_run_if_the_caller_gets_no_other() {
        let late = Tally::default();
        let helper = Tally { span: 1e6..4e6, working: 3e6, items: 9, runs: 1, ..Tally::default() };
        let times = Times { tallies: vec![late, helper], ..Times::default() };
        let report = RunReport::new(ms(16), (5, ms(10)), Ok(&times));
        let caller = &report.workers[0];
        assert_eq!((caller.items, caller.runs, caller.working), (5, 1, ms(10)));
        assert_eq!((caller.waiting_to_start, caller.waiting_at_end), (ms(0), ms(6)));
    }
}
