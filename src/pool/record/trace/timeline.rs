//! The timeline of one loop.

use std::{ops::Range, panic::Location, time::Duration};

use crate::{pool::record::why_alone::Alone, sorted::sort};

/// The timeline of one loop. All times count from the loop's call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timeline {
    /// The title of the loop, from [`Trace::titled`](crate::Trace::titled).
    pub title: String,
    /// When the loop was called, counted from the call of the first loop of the trace.
    pub called: Duration,
    /// The time from the call to its return.
    pub wall: Duration,
    /// Why the loop ran on the calling thread alone; `None` if it was shared.
    pub alone: Option<Alone>,
    /// The items that each worker got at the start; the first worker is the calling thread. The
    /// calling thread has folded all earlier items alone. In a search, whose workers take turns,
    /// all ranges are empty.
    pub dealt: Vec<Range<usize>>,
    /// The runs of all workers, in the order in which they ended.
    pub runs: Vec<Run>,
    /// The slowest items, the slowest first. [`Slow`] says how exactly they are known. Empty for a
    /// search that was shared.
    pub slowest: Vec<Slow>,
    /// Loops that items of this loop called, and loops that items of those loops called, in the
    /// order in which they began. If there were more than a thousand, these are the thousand
    /// longest. Only loops that were worth sharing are here: those that were shared, by any pool,
    /// and those that found no worker idle until their end. A short loop does not check whether it
    /// is traced.
    pub inner: Vec<InnerLoop>,
}

/// Neighbouring items that one worker folded between two thefts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// The worker that folded them; 0 is the calling thread.
    pub worker: usize,
    /// The items of the run. For a search, only their number is exact. Their place is about that of
    /// the last ones.
    pub items: Range<usize>,
    /// When the run began.
    pub begin: Duration,
    /// When the run ended. Between its runs, a worker searches for something to steal.
    pub end: Duration,
    /// The theft with which the run began, if it began with one.
    pub theft: Option<Theft>,
    /// The progress of the run: the next item, and the time. A few hundred ticks at most.
    pub ticks: Vec<(usize, Duration)>,
}

/// A range that was stolen at the begin of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theft {
    /// The worker from which the range was stolen.
    pub victim: usize,
    /// The items that were stolen. Other workers may have stolen some of them since.
    pub items: Range<usize>,
}

/// Neighbouring items that took long: all items between two readings of the clock. This is one item
/// if the items before it took longer than some 20 µs each. Otherwise the clock is read after about
/// 10 µs, as estimated from the items before. Even then a single item may have taken nearly all of
/// the time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slow {
    /// The worker that folded them.
    pub worker: usize,
    /// The items.
    pub items: Range<usize>,
    /// The time that all of them took together.
    pub took: Duration,
}

/// A loop that an item of a traced loop called, or an item of such a loop.
///
/// ```
/// # use std::time::Duration;
/// use rangesteal::{Pool, Trace};
///
/// let pool = Pool::builder().num_threads(3).build()?;
/// let mut trace = Trace::new();
/// pool.on(0..2).trace(&mut trace).for_each(|_| {
///     pool.on(0..50).for_each(|_| std::thread::sleep(Duration::from_micros(100)));
/// });
/// let timeline = &trace.timelines()[0];
/// assert!(timeline.inner.len() <= 2);
/// for inner in &timeline.inner {
///     println!("{} had {} items and {} helpers", inner.at, inner.items, inner.helpers.len());
///     assert!(inner.items == 50 && inner.begin <= inner.end && inner.end <= timeline.wall);
/// }
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InnerLoop {
    /// The loop's place in the program.
    pub at: &'static Location<'static>,
    /// How many loops are around it: 1 if an item of the timeline's loop called it, 2 if an item of
    /// such a loop called it, and so on.
    pub depth: usize,
    /// The worker that called it. [`Helper::worker`] says how workers are numbered.
    pub worker: usize,
    /// When the loop was called.
    pub begin: Duration,
    /// When the loop was over.
    pub end: Duration,
    /// How many items were folded, by all workers together.
    pub items: usize,
    /// The workers that helped: one entry for each visit of a worker that found something to do.
    /// Empty if no worker was idle.
    pub helpers: Vec<Helper>,
}

/// The visit of a worker to an inner loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Helper {
    /// The worker's number in the loop of the timeline. Workers that were never in that loop have
    /// the next numbers, from the length of [`Timeline::dealt`] on.
    pub worker: usize,
    /// How many items the worker folded.
    pub items: usize,
    /// When the worker came.
    pub begin: Duration,
    /// When the worker left.
    pub end: Duration,
}

impl Timeline {
    /// The times when a worker had nothing to do: before its first run; between its runs, while it
    /// searched for something to steal; and after its last run, while it waited for the others. A
    /// worker that helps an inner loop does not wait, even if it helps inside a run that waits for
    /// the helpers of an inner loop.
    ///
    /// ```
    /// # use std::time::Duration;
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut trace = rangesteal::Trace::new();
    /// pool.on(0..500).trace(&mut trace).for_each(|_| ());
    /// let timeline = &trace.timelines()[0];
    /// let waited: Duration = timeline.waits(0).map(|wait| wait.end - wait.start).sum();
    /// assert!(waited <= timeline.wall);
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn waits(&self, worker: usize) -> impl Iterator<Item = Range<Duration>> + '_ {
        let runs = self.runs.iter().filter(|run| run.worker == worker).map(|run| (run.begin, run.end));
        let helpers = self.inner.iter().flat_map(|inner| &inner.helpers);
        let helped =
            helpers.filter(|helper| helper.worker == worker).map(|helper| (helper.begin, helper.end));
        let mut works: Vec<_> = runs.chain(helped).chain([(self.wall, self.wall)]).collect();
        sort(&mut works, |a, b| a.0 < b.0);
        // A worker also helps inside a run, while it waits for the end of a loop that an item of
        // the run has called. So the end of all earlier work counts, not the end of the last piece
        // of work.
        let mut end = Duration::ZERO;
        let waits = works.into_iter().map(move |(begin, its_end)| {
            let wait = end..begin;
            end = end.max(its_end);
            wait
        });
        waits.filter(|wait| !wait.is_empty())
    }

    /// How many workers the loop and its inner loops had.
    pub(super) fn workers(&self) -> usize {
        let helpers = self.inner.iter().flat_map(|inner| &inner.helpers).map(|helper| helper.worker);
        let all = self.inner.iter().map(|inner| inner.worker).chain(helpers);
        all.map(|worker| worker + 1).fold(self.dealt.len(), usize::max)
    }

    /// How many items were folded.
    pub(super) fn items(&self) -> usize {
        self.runs.iter().map(|run| run.items.len()).sum()
    }

    /// The worker that got the items of a run at the start; the worker of the run if no worker got
    /// them.
    pub(super) fn owner(&self, run: &Run) -> usize {
        self.dealt.iter().position(|dealt| dealt.contains(&run.items.start)).unwrap_or(run.worker)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worker 0 helps a loop inside its own inner loop while it waits for the end of that one.
    #[test]
    fn help_inside_a_run_is_no_wait() {
        let at = Duration::from_millis;
        let run = |begin, end| Run {
            worker: 0,
            items: 0..1,
            begin: at(begin),
            end: at(end),
            theft: None,
            ticks: Vec::new(),
        };
        let inner = |depth, worker, begin, end, helpers| InnerLoop {
            at: Location::caller(),
            depth,
            worker,
            begin: at(begin),
            end: at(end),
            items: 9,
            helpers,
        };
        let help = |worker, begin, end| Helper { worker, items: 1, begin: at(begin), end: at(end) };
        let timeline = Timeline {
            title: String::new(),
            called: Duration::ZERO,
            wall: at(10),
            alone: None,
            dealt: vec![0..1, 1..2],
            runs: vec![run(1, 6)],
            slowest: Vec::new(),
            inner: vec![
                inner(1, 0, 2, 6, vec![help(2, 2, 6)]),
                inner(2, 2, 2, 6, vec![help(0, 4, 5), help(0, 8, 9)]),
            ],
        };
        let waits: Vec<_> = timeline.waits(0).collect();
        assert_eq!(waits, [at(0)..at(1), at(6)..at(8), at(9)..at(10)]);
    }
}
