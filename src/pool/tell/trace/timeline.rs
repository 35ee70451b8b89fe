//! The timeline of one loop.

use std::{ops::Range, panic::Location, time::Duration};

use crate::{pool::tell::why_alone::Alone, sorted::sort};

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
    /// The items that each worker got when the loop was shared. The first worker is the calling
    /// thread. The calling thread folded all earlier items alone, before the loop was shared. In a
    /// search all ranges are empty, because its workers take turns.
    pub dealt: Vec<Range<usize>>,
    /// The runs of all workers, in the order in which they ended.
    pub runs: Vec<Run>,
    /// The slowest items, in order, the slowest first. [`Slow`] says how exact they are. Empty for
    /// a shared search.
    pub slowest: Vec<Slow>,
    /// The inner loops: loops that items of this loop called, and loops that items of inner loops
    /// called. The inner loops are in the order in which they began. If there were more than a
    /// thousand inner loops, the list has the thousand longest. The list has only loops that were
    /// worth sharing: loops that a pool shared, and loops that found no idle worker until their
    /// end. Short loops are missing, because a short loop does not check whether it is traced.
    pub inner: Vec<InnerLoop>,
}

/// Neighbouring items that one worker folded between two thefts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// The worker that folded these items; 0 is the calling thread.
    pub worker: usize,
    /// The items of the run. In a search only the number of items is exact. The range of a search
    /// is near the last items that the worker searched.
    pub items: Range<usize>,
    /// When the run began.
    pub begin: Duration,
    /// When the run ended. Between its runs, a worker searches for items to steal.
    pub end: Duration,
    /// The theft with which the run began; `None` if the run did not begin with a theft.
    pub theft: Option<Theft>,
    /// The progress of the run: pairs of the next item and the time. A run has a few hundred ticks
    /// at most.
    pub ticks: Vec<(usize, Duration)>,
}

/// The theft with which a run began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theft {
    /// The worker from which the range was stolen.
    pub victim: usize,
    /// The stolen items. Later, other workers may have stolen some of these items again.
    pub items: Range<usize>,
}

/// Neighbouring items that took long: all items between two readings of the clock. If the preceding
/// items took longer than some 20 µs each, this is a single item. If the preceding items were
/// faster, the clock is read after about 10 µs, as estimated from these items. If there are several
/// items here, one of them may have taken nearly all of the time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slow {
    /// The worker that folded these items.
    pub worker: usize,
    /// The items.
    pub items: Range<usize>,
    /// The time that all of these items took together.
    pub took: Duration,
}

/// An inner loop. An item of a traced loop, or an item of another inner loop, has called this loop.
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
    /// How many loops are around this loop. The depth is 1 if an item of the timeline's loop called
    /// this loop, 2 if an item of a loop of depth 1 called it, and so on.
    pub depth: usize,
    /// The worker that called the loop. [`Helper::worker`] says how workers are numbered.
    pub worker: usize,
    /// When the loop was called.
    pub begin: Duration,
    /// When the loop was over.
    pub end: Duration,
    /// How many items all workers together folded.
    pub items: usize,
    /// The visits of workers that helped: one entry for each visit in which the worker found work.
    /// Empty if no worker was idle.
    pub helpers: Vec<Helper>,
}

/// The visit of a worker to an inner loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Helper {
    /// The worker's number in the loop of the timeline. Workers that were never in the timeline's
    /// loop have the next numbers, beginning with the length of [`Timeline::dealt`].
    pub worker: usize,
    /// How many items the worker folded.
    pub items: usize,
    /// When the worker came.
    pub begin: Duration,
    /// When the worker left.
    pub end: Duration,
}

impl Timeline {
    /// The times when a worker had nothing to do. A worker waits before its first run. A worker
    /// waits between its runs, while it searches for a victim. After its last run, a worker waits
    /// for the other workers. Time in which the worker helps an inner loop does not count as a
    /// wait.
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
        let runs = self.runs.iter().map(|run| (run.worker, run.begin, run.end));
        let helpers = self.inner.iter().flat_map(|inner| &inner.helpers);
        let all = runs.chain(helpers.map(|helper| (helper.worker, helper.begin, helper.end)));
        let all = all.chain([(worker, self.wall, self.wall)]);
        let mut works: Vec<_> = all.filter(|work| work.0 == worker).collect();
        sort(&mut works, &|a, b| a.1 < b.1);
        // A visit as a helper may lie inside a run: an item of the run has called a loop, and the
        // worker helps another loop until the called loop ends. So a wait begins at the latest end
        // of all earlier pieces of work, and not at the end of the piece that began last.
        let mut end = Duration::ZERO;
        let waits = works.into_iter().map(move |(_, begin, its_end)| {
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

    /// The worker that got the items of a run at the start. If no worker got these items at the
    /// start, the worker of the run.
    pub(super) fn owner(&self, run: &Run) -> usize {
        self.dealt.iter().position(|dealt| dealt.contains(&run.items.start)).unwrap_or(run.worker)
    }
}

/// A number of things, such as "1 item" or "2 items".
pub(super) fn counted(number: usize, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {thing}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Worker 0 calls an inner loop and waits for its end. Meanwhile the worker helps a loop inside
    /// that inner loop.
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
