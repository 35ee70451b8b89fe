//! What loops did when, worker by worker: recorded on request, to be drawn.

mod chrome;
mod notes;
mod svg;

use std::{fmt, iter, ops::Range, time::Duration};

use super::report::Alone;
use crate::clock::Instant;

pub(crate) use notes::{Before, Closeup, Notes};

/// What loops did when: each loop that is given one with [`On::trace`](crate::On::trace) adds a [`Timeline`].
///
/// It can be drawn ([`svg`](Self::svg)), opened in a profiler ([`chrome`](Self::chrome)), or read. It keeps all of its loops: a kilobyte of a
/// short one, and up to six for each run of a long one. Where a million loops run, give it to some of them, or begin a new one now and then.
///
/// ```
/// use rangesteal::{Pool, Trace};
///
/// let pool = Pool::builder().num_threads(2).build()?;
/// let mut trace = Trace::new();
/// let heavy_at_the_end = |i: usize| (0..i * i).fold(1, |a: usize, b| a.wrapping_mul(b | 1));
/// pool.on(0..300).trace(trace.titled("growing costs")).map_reduce(heavy_at_the_end, usize::wrapping_add);
///
/// let timeline = &trace.timelines()[0];
/// assert_eq!(timeline.runs.iter().map(|run| run.items.len()).sum::<usize>(), 300);
/// assert!(timeline.runs.iter().all(|run| run.begin <= run.end && run.end <= timeline.wall));
/// assert!(trace.svg().to_string().starts_with("<svg"));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Trace {
    timelines: Vec<Timeline>,
    title: String,
    /// When the first loop was called.
    begin: Option<Instant>,
}

/// What one loop did when. All times count from its call.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Timeline {
    /// As [`Trace::titled`] says.
    pub title: String,
    /// When it was called, after the first loop of the trace.
    pub called: Duration,
    /// From the call to its return.
    pub wall: Duration,
    /// Why it ran on the calling thread alone; none if it was shared.
    pub alone: Option<Alone>,
    /// The items that each worker was to begin with; the first is the calling thread. Items before these the calling thread has folded alone. Of
    /// a search, whose workers take turns, all are empty.
    pub dealt: Vec<Range<usize>>,
    /// What was folded when and by whom, in the order of the runs' ends.
    pub runs: Vec<Run>,
    /// The slowest items, the slowest first: [`Slow`] says how closely that is known. None of a search that was shared.
    pub slowest: Vec<Slow>,
}

/// Neighbouring items folded by one worker between two thefts.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Run {
    /// From 0, the calling thread.
    pub worker: usize,
    /// The items. Of a search: as many, and about where its last ones were.
    pub items: Range<usize>,
    /// When it began.
    pub begin: Duration,
    /// When it ended. What lies between the runs of a worker is its search for something to steal.
    pub end: Duration,
    /// If the run began with a theft.
    pub theft: Option<Theft>,
    /// How far it had got when: the item that came next. A few hundred at most.
    pub ticks: Vec<(usize, Duration)>,
}

/// A range that changed hands, when the run of its thief began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Theft {
    /// From whom.
    pub victim: usize,
    /// What was taken. Others may have stolen of it since.
    pub items: Range<usize>,
}

/// Neighbouring items that took long, as many as lie between two looks at the clock: one where those before it took longer than some 20 µs each,
/// otherwise some 10 µs' worth of such as those before, even if a single one of them has taken nearly all of the time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Slow {
    /// Who folded them.
    pub worker: usize,
    /// The items.
    pub items: Range<usize>,
    /// What all of them took together.
    pub took: Duration,
}

impl Trace {
    /// An empty one.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The loops from now on are called that.
    ///
    /// ```
    /// # let pool = rangesteal::Pool::new()?;
    /// let mut trace = rangesteal::Trace::new();
    /// pool.on(0..9).trace(trace.titled("distance")).for_each(|_| ());
    /// assert_eq!(trace.timelines()[0].title, "distance");
    /// # Ok::<(), rangesteal::BuildError>(())
    /// ```
    pub fn titled(&mut self, title: impl Into<String>) -> &mut Self {
        self.title = title.into();
        self
    }

    /// What each loop did, in the order of the calls. (The example is at [`Trace`].)
    #[must_use]
    pub fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }

    /// A picture, to be written to a file: a panel a loop, all on one scale of time; in it a lane a worker, in the colour of whoever
    /// was to have the items in the beginning, with an arrow for each theft. Of more than eight loops, the last eight.
    ///
    /// ```no_run
    /// # let trace = rangesteal::Trace::new();
    /// std::fs::write("loops.svg", trace.svg().to_string())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> impl fmt::Display + '_ {
        svg::Picture(self)
    }

    /// The same for profilers: JSON in the [trace event format] that Perfetto, the Firefox Profiler and `chrome://tracing` open, with all loops one
    /// after the other.
    ///
    /// ```no_run
    /// # let trace = rangesteal::Trace::new();
    /// std::fs::write("loops.json", trace.chrome().to_string())?; // to be opened at ui.perfetto.dev
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [trace event format]: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    #[must_use]
    pub fn chrome(&self) -> impl fmt::Display + '_ {
        chrome::Events(self)
    }

    /// A loop that was called at `begin` is over.
    pub(crate) fn add(&mut self, mut timeline: Timeline, begin: Instant) {
        timeline.called = begin - *self.begin.get_or_insert(begin);
        timeline.title.clone_from(&self.title);
        self.timelines.push(timeline);
    }
}

impl Timeline {
    /// When a worker was without an item: before its first run, between its runs, while it looked for something to steal, and after the last,
    /// while it waited for the others.
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

    /// How many were folded.
    fn items(&self) -> usize {
        self.runs.iter().map(|run| run.items.len()).sum()
    }

    /// Who was to fold the items of a run in the beginning; its worker, if they were nobody's.
    fn owner(&self, run: &Run) -> usize {
        self.dealt.iter().position(|dealt| dealt.contains(&run.items.start)).unwrap_or(run.worker)
    }
}
