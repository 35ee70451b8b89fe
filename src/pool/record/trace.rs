//! Traces: the timelines of loops, worker by worker, recorded on request.

mod chrome;
pub(crate) mod notes;
pub(crate) mod scene;
mod svg;
pub(crate) mod timeline;

use std::fmt;

use notes::{Recorder, Tracer};
use timeline::Timeline;

use crate::clock::Instant;

/// The timelines of loops. Each loop with the option [`On::trace`](crate::On::trace) adds a
/// [`Timeline`] to its trace.
///
/// [`svg`](Self::svg) draws a trace, and [`chrome`](Self::chrome) writes it for a profiler. A
/// program can also read the timelines. A trace keeps all of its loops: a short loop takes a
/// kilobyte, and a long loop takes up to six kilobytes for each run. In a program that calls a
/// million loops, trace only some of the loops, or begin a new trace from time to time.
///
/// The timeline of a loop also contains the inner loops that its items call, and the workers that
/// help these inner loops ([`Timeline::inner`]). Inner loops that are too short to be shared are
/// left out. An inner loop with its own trace is in both traces.
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
    /// Makes a scene, which notes the loops inside items.
    pub(crate) scene: scene::Make,
    pub(crate) tracer: &'static dyn Tracer,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            timelines: Vec::new(),
            title: String::new(),
            begin: None,
            scene: scene::make,
            tracer: &Recorder,
        }
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

    /// A picture of the trace, as the text of a file. The picture has a panel for each loop. All
    /// panels have the same scale of time. A panel has a lane for each worker. The colour of a run
    /// shows which worker got the run's items at the start. Each theft has an arrow. A loop inside
    /// an item has a bar in the run of that item, and a bar of the same colour in the lane of each
    /// worker that helps this loop. (Deeper loops have narrower bars. Loops more than three levels
    /// deep are left out.) If the trace has more than eight loops, the picture shows the last
    /// eight.
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

    /// The trace for profilers: JSON in the [trace event format]. Perfetto, the Firefox Profiler
    /// and `chrome://tracing` open this format. The loops of the trace follow each other. A loop
    /// inside an item is an event `inner loop` beneath that item, and an event `help` in the lane
    /// of each worker that helped.
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
