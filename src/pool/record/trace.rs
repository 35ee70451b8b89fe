//! Traces: the timelines of loops, worker by worker, recorded on request.

mod chrome;
pub(crate) mod notes;
pub(crate) mod scene;
mod svg;
pub(crate) mod timeline;

use std::fmt;

use timeline::Timeline;

use crate::clock::Instant;

/// The timelines of loops. Each loop with the option [`On::trace`](crate::On::trace) adds a
/// [`Timeline`] to its trace.
///
/// A trace can be drawn ([`svg`](Self::svg)), opened in a profiler ([`chrome`](Self::chrome)), or
/// read. It keeps all of its loops: a kilobyte for a short loop, and up to six for each run of a
/// long one. If a million loops run, trace only some of them, or begin a new trace now and then.
///
/// The timeline of a loop also has the loops that its items call, with the workers that help them
/// ([`Timeline::inner`]), unless such an inner loop is too short to be shared. An inner loop that
/// has a trace of its own is in both traces.
///
/// ```
/// use rangesteal::{Pool, Trace};
///
/// let pool = Pool::builder().num_threads(2).build()?;
/// let mut trace = Trace::new();
/// let heavy_at_the_end = |i: usize| (0..i * i).fold(1, |a: usize, b| a.wrapping_mul(b | 1));
/// let loops = pool.on(0..300).trace(trace.titled("growing costs"));
/// loops.map(heavy_at_the_end).reduce(usize::wrapping_add);
///
/// let timeline = &trace.timelines()[0];
/// assert_eq!(timeline.runs.iter().map(|run| run.items.len()).sum::<usize>(), 300);
/// assert!(timeline.runs.iter().all(|run| run.begin <= run.end && run.end <= timeline.wall));
/// assert!(trace.svg().to_string().starts_with("<svg"));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    timelines: Vec<Timeline>,
    title: String,
    /// When the first loop was called.
    begin: Option<Instant>,
    /// Makes the scene that notes the loops inside items.
    pub(crate) scene: scene::Make,
}

impl Default for Trace {
    fn default() -> Self {
        Self { timelines: Vec::new(), title: String::new(), begin: None, scene: scene::make }
    }
}

impl Trace {
    /// An empty trace.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the title of all later loops.
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

    /// The timelines of the loops, in the order of the calls. ([`Trace`] has an example.)
    #[must_use]
    pub fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }

    /// A picture, to be written to a file. It has a panel for each loop, all on one scale of time.
    /// A panel has a lane for each worker. A run has the colour of the worker that got its items at
    /// the start, and each theft has an arrow. A loop inside an item is a bar in the run of the
    /// item, and a bar of the same colour in the lane of each worker that helps it. (Deeper loops
    /// are narrower bars; loops more than three deep are left out.) If there are more than eight
    /// loops, the picture shows the last eight.
    ///
    /// ```no_run
    /// # let trace = rangesteal::Trace::new();
    /// std::fs::write("loops.svg", trace.svg().to_string())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    #[must_use]
    pub fn svg(&self) -> impl fmt::Display + '_ {
        svg::Picture(&self.timelines)
    }

    /// The trace for profilers: JSON in the [trace event format] that Perfetto, the Firefox
    /// Profiler and `chrome://tracing` open. The loops follow each other. A loop inside an item
    /// lies beneath that item, as `inner loop`, and as `help` at each worker that helped it.
    ///
    /// ```no_run
    /// # let trace = rangesteal::Trace::new();
    /// // To be opened at ui.perfetto.dev:
    /// std::fs::write("loops.json", trace.chrome().to_string())?;
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// [trace event format]:
    /// https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU
    #[must_use]
    pub fn chrome(&self) -> impl fmt::Display + '_ {
        chrome::Events(&self.timelines)
    }

    /// Adds the `timeline` of a loop that was called at `begin`.
    pub(crate) fn add(&mut self, mut timeline: Timeline, begin: Instant) {
        timeline.called = begin - *self.begin.get_or_insert(begin);
        timeline.title.clone_from(&self.title);
        self.timelines.push(timeline);
    }
}
