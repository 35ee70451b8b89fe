//! What one loop did when.

use std::{iter, ops::Range, time::Duration};

use crate::pool::record::alone::Alone;

/// What one loop did when. All times count from its call.
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
    /// The items that were dealt to each worker; the first worker is the calling thread. The
    /// calling thread has folded the items before these alone. In a search, whose workers take
    /// turns, all ranges are empty.
    pub dealt: Vec<Range<usize>>,
    /// What was folded when and by which worker, in the order in which the runs ended.
    pub runs: Vec<Run>,
    /// The slowest items, the slowest first; [`Slow`] says how exactly they are known. Empty for a
    /// search that was shared.
    pub slowest: Vec<Slow>,
}

/// Neighbouring items folded by one worker between two thefts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// The worker that folded them; 0 is the calling thread.
    pub worker: usize,
    /// The items of the run. For a search, only their number is exact; they are placed about where
    /// the last ones were.
    pub items: Range<usize>,
    /// When the run began.
    pub begin: Duration,
    /// When the run ended. Between its runs, a worker looks for something to steal.
    pub end: Duration,
    /// The theft with which the run began, if it began with one.
    pub theft: Option<Theft>,
    /// How far the run had got, and when: the item that came next, and the time. A few hundred
    /// ticks at most.
    pub ticks: Vec<(usize, Duration)>,
}

/// A range that was stolen at the begin of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theft {
    /// The worker that was robbed.
    pub victim: usize,
    /// The items that were taken. Other workers may have stolen some of them since.
    pub items: Range<usize>,
}

/// Neighbouring items that took long, as many as lie between two readings of the clock. This is one
/// item if those before it took longer than some 20 µs each. Otherwise it is as many as would take
/// some 10 µs if they took as long as those before, even if a single one of them has taken nearly
/// all of the time.
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

impl Timeline {
    /// When a worker had no item: before its first run; between its runs, while it looked for
    /// something to steal; and after its last run, while it waited for the others.
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
        let runs = self.runs.iter().filter(move |run| run.worker == worker);
        let ends = iter::once(Duration::ZERO).chain(runs.clone().map(|run| run.end));
        let begins = runs.map(|run| run.begin).chain([self.wall]);
        ends.zip(begins).map(|(end, begin)| end..begin).filter(|wait| !wait.is_empty())
    }

    /// How many items were folded.
    pub(super) fn items(&self) -> usize {
        self.runs.iter().map(|run| run.items.len()).sum()
    }

    /// The worker that the items of a run were dealt to; the worker of the run if they were dealt
    /// to none.
    pub(super) fn owner(&self, run: &Run) -> usize {
        self.dealt.iter().position(|dealt| dealt.contains(&run.items.start)).unwrap_or(run.worker)
    }
}
