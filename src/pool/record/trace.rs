//! What loops did when, worker by worker: recorded on request, to be drawn.

mod chrome;
pub(crate) mod notes;
pub(crate) mod scene;
mod svg;
pub(crate) mod timeline;

use std::fmt;

use timeline::Timeline;

use crate::clock::Instant;

/// What loops did when. Each loop that is given a trace with [`On::trace`](crate::On::trace) adds a
/// [`Timeline`] to it.
///
/// It can be drawn ([`svg`](Self::svg)), opened in a profiler ([`chrome`](Self::chrome)), or read.
/// It keeps all of its loops: a kilobyte for a short one, and up to six for each run of a long one.
/// If a million loops run, trace only some of them, or begin a new trace now and then.
///
/// Loops that are called inside items of a traced loop are in its timeline, too, with the workers
/// that help them ([`Timeline::inner`]), unless they are too short to be shared. A loop inside that
/// has a trace of its own is in both.
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
    /// Makes what hears of loops inside items.
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

    /// What each loop did, in the order of the calls. ([`Trace`] has an example.)
    #[must_use]
    pub fn timelines(&self) -> &[Timeline] {
        &self.timelines
    }

    /// A picture, to be written to a file. It has a panel for each loop, all on one scale of time.
    /// A panel has a lane for each worker; its runs have the colour of the worker that their items
    /// were dealt to, and each theft has an arrow. A loop inside an item is a bar in the run of the
    /// item, and a bar of the same colour in the lane of each worker that helps it. (Loops in loops
    /// in items are narrower bars; deeper ones than three are left out.) If there are more than
    /// eight loops, the picture shows the last eight.
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
    /// Profiler and `chrome://tracing` open, with all loops one after the other. Loops inside items
    /// lie beneath the items that called them, as `inner loop`, and as `help` where other workers
    /// helped them.
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
