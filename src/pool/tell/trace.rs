//! Traces: the timelines of loops, worker by worker, recorded on request.

mod chrome;
pub(crate) mod notes;
pub(crate) mod scene;
pub(crate) mod timeline;

use std::{fmt, mem, ops::Range, time::Duration};

use notes::{Before, Tick, add_slow};
use scene::{Hear, SceneSpot};
use timeline::{Run, Slow, Theft, Timeline};

use super::{
    journal::{NotedRun, TheftNote},
    times::Times,
    units::Units,
    why_alone::Alone,
};
use crate::{clock::Instant, sorted::sort};

/// The timelines of loops. Each loop with the option [`On::trace`](crate::On::trace) adds a
/// [`Timeline`] to its trace.
///
/// [`chrome`](Self::chrome) writes a trace as a file that profilers show and scripts draw. A
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
/// assert!(trace.chrome().to_string().contains("loop: growing costs"));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Trace {
    timelines: Vec<Timeline>,
    title: String,
    /// When the first loop was called.
    begin: Option<Instant>,
    // The functions that record a traced loop. Only `default` points to this code. So a program
    // without traces does not contain this code.
    pub(crate) tick: Tick,
    pub(crate) hear: Hear,
    pub(crate) timeline: fn(&mut Before, Units, Result<&mut Times, Alone>) -> Timeline,
}

impl Default for Trace {
    fn default() -> Self {
        Self {
            timelines: Vec::new(),
            title: String::new(),
            begin: None,
            tick: notes::tick,
            hear: scene::hear,
            timeline,
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

    /// The trace as a file: JSON in the [trace event format]. Perfetto, the Firefox Profiler and
    /// `chrome://tracing` open this file. The script `profiling/timeline` of this crate's
    /// repository draws it as a picture. The loops of the trace follow each other. A loop inside an
    /// item is an event `inner loop` beneath that item, and an event `help` in the lane of each
    /// worker that helped.
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

/// The timeline of a call. `before` is the work of the calling thread alone. `shared` has the times
/// of the shared loop that followed, or the reason why none followed.
fn timeline(before: &mut Before, units: Units, shared: Result<&mut Times, Alone>) -> Timeline {
    let Before { begin, indices, took, .. } = *before;
    let mut none = Times::default();
    let alone = shared.as_ref().err().copied();
    let times = shared.unwrap_or(&mut none);
    let mut dealt = mem::take(&mut times.dealt);
    if dealt.is_empty() {
        dealt.push(0..0);
    }
    let own = (indices > 0).then(|| NotedRun {
        worker: 0,
        indices: 0..indices,
        span: begin..begin + took,
        theft: None,
        closeup: before.closeup.take(),
    });
    let mut slowest = Vec::new();
    let run = |NotedRun { worker, indices, span, theft, closeup }| {
        let ticks = closeup.map(|closeup| {
            for Slow { items, took, .. } in closeup.slowest {
                add_slow(&mut slowest, Slow { worker, items: units.items(items), took });
            }
            closeup.ticks.into_iter().map(|(next, at)| (units.items(0..next).end, at - begin)).collect()
        });
        Run {
            worker,
            begin: span.start - begin,
            end: span.end - begin,
            theft: theft.map(|TheftNote { victim, indices: stolen }| Theft {
                victim,
                items: units.items(indices.start..indices.start + stolen),
            }),
            items: units.items(indices),
            ticks: ticks.unwrap_or_default(),
        }
    };
    let mut runs: Vec<_> = own.into_iter().chain(mem::take(&mut times.noted)).map(run).collect();
    sort(&mut runs, &|a, b| a.end < b.end);
    if alone.is_none() && dealt.iter().all(Range::is_empty) {
        slowest.clear(); // the items that the caller searched alone say nothing about the rest of a search
    }
    let inner = SceneSpot::here().map(|spot| spot.inner(begin, dealt.len(), &times.parts));
    Timeline {
        title: String::new(),
        called: Duration::ZERO,
        wall: Duration::ZERO,
        alone,
        dealt,
        runs,
        slowest,
        inner: inner.unwrap_or_default(),
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{notes::Closeup, *};

    #[test]
    fn what_was_done_alone_comes_first_and_the_shared_loop_begins_after_it() {
        let begin = Instant::now();
        let [early, late] = [5, 30].map(Duration::from_micros);
        let mut closeup = Closeup::new(notes::tick, 0, begin);
        closeup.tick(4, begin + early);
        closeup.tick_last(4, begin + late); // this item is already noted
        let mut before =
            Before { begin, indices: 10, counted: None, took: late, closeup: Some(Box::new(closeup)) };
        let end = Duration::from_secs(1);
        let mut closeup = Closeup::new(notes::tick, 10, begin + late);
        closeup.tick(11, begin + 3 * late);
        let indices = 10..100_010;
        let span = begin + late..begin + end;
        let run = NotedRun { worker: 3, indices, span, theft: None, closeup: Some(Box::new(closeup)) };
        let mut times = Times { dealt: vec![10..20, 20..30], noted: vec![run], ..Times::default() };
        let timeline = timeline(&mut before, Units::Items, Ok(&mut times));
        let spans: Vec<_> = timeline.runs.iter().map(|run| (run.items.clone(), run.begin..run.end)).collect();
        assert_eq!(spans, [(0..10, Duration::ZERO..late), (10..100_010, late..end)]);
        assert_eq!(timeline.runs[0].ticks, [(4, early)]);
        assert_eq!(timeline.runs[1].ticks, [(11, 3 * late)]);
        let slowest: Vec<_> = timeline.slowest.iter().map(|slow| (slow.worker, slow.items.clone())).collect();
        assert_eq!((timeline.alone, slowest), (None, vec![(3, 10..11), (0, 0..4)]));
    }
}
