//! Notes for a timeline, written while a loop runs.

use std::{fmt, ops::Range, panic::RefUnwindSafe, time::Duration};

use super::timeline::{Run, Slow, Timeline};
use crate::{
    clock::Instant,
    pool::record::{units::Units, why_alone::Alone},
    sorted::sort,
};

/// The functions that record a traced loop. Only [`Trace`](super::Trace) has a direct pointer to
/// this code. So a program without traces does not contain this code.
pub(crate) trait Tracer: fmt::Debug + RefUnwindSafe + Sync {
    /// All indices before `next` are done at `now`.
    fn tick(&self, closeup: &mut Closeup, next: usize, now: Instant);

    /// Adds a run that has ended to the notes. The round began at `round`.
    fn add(&self, notes: &mut Notes, run: Run, closeup: Option<Closeup>, round: Instant, units: Units);

    /// Adds the notes of another worker.
    fn append(&self, notes: &mut Notes, other: Notes);

    /// The timeline of a call. `before` is the work of the calling thread alone. `alone` says why
    /// the call was not shared. `notes` are those of the shared part.
    fn timeline(
        &self,
        before: &mut Before,
        units: Units,
        alone: Option<Alone>,
        notes: Option<Box<Notes>>,
    ) -> Timeline;
}

/// The one [`Tracer`].
#[derive(Debug)]
pub(super) struct Recorder;

impl Tracer for Recorder {
    fn tick(&self, closeup: &mut Closeup, next: usize, now: Instant) {
        if next > closeup.next {
            closeup.slowest.see(0, closeup.next..next, now - closeup.since);
        }
        (closeup.next, closeup.since) = (next, now);
        if closeup.ticks.last().is_none_or(|last| now - last.1 >= closeup.apart) {
            closeup.ticks.push((next, now));
        }
        if closeup.ticks.len() >= Closeup::MOST_TICKS {
            let mut every_other = [false, true].into_iter().cycle();
            closeup.ticks.retain(|_| every_other.next().is_some_and(|kept| kept));
            closeup.apart *= 2;
        }
    }

    fn add(&self, notes: &mut Notes, mut run: Run, closeup: Option<Closeup>, round: Instant, units: Units) {
        if let Some(closeup) = closeup {
            closeup.end(&mut run, &mut notes.slowest, round, units);
        }
        notes.runs.push(run);
    }

    fn append(&self, notes: &mut Notes, other: Notes) {
        notes.runs.extend(other.runs);
        for Slow { worker, items, took } in other.slowest.found {
            notes.slowest.see(worker, items, took);
        }
    }

    fn timeline(
        &self,
        before: &mut Before,
        units: Units,
        alone: Option<Alone>,
        notes: Option<Box<Notes>>,
    ) -> Timeline {
        let notes = notes.map_or_else(|| Notes::new(&Self, Duration::ZERO), |notes| *notes);
        let Notes { begin, mut dealt, mut runs, mut slowest, .. } = notes;
        let is_search = alone.is_none() && dealt.iter().all(Range::is_empty);
        if dealt.is_empty() {
            dealt.push(0..0);
        }
        sort(&mut runs, &|a, b| a.end < b.end);
        for run in &mut runs {
            run.begin += begin;
            run.end += begin;
            run.ticks.iter_mut().for_each(|tick| tick.1 += begin);
        }
        if before.indices > 0 {
            let mut own = Run {
                worker: 0,
                items: units.items(0..before.indices),
                begin: Duration::ZERO,
                end: before.took,
                theft: None,
                ticks: Vec::new(),
            };
            if let Some(closeup) = before.closeup.take() {
                closeup.end(&mut own, &mut slowest, before.begin, units);
            }
            runs.insert(0, own);
        }
        if is_search {
            slowest = Slowest::default(); // the items that the caller searched alone say nothing about the rest
        }
        slowest.sort();
        Timeline {
            title: String::new(),
            called: Duration::ZERO,
            wall: Duration::ZERO,
            alone,
            dealt,
            runs,
            slowest: slowest.found,
            inner: Vec::new(),
        }
    }
}

/// The work of the calling thread alone, until the loop was shared or ended.
#[derive(Debug)]
pub(crate) struct Before {
    pub(crate) begin: Instant,
    pub(crate) indices: usize,
    /// The number of items, if the items were counted one by one.
    pub(crate) counted: Option<usize>,
    pub(crate) took: Duration,
    pub(crate) closeup: Option<Closeup>,
}

impl Before {
    /// No work, in a call that began at `begin`.
    pub(crate) fn nothing(begin: Instant) -> Self {
        Self { begin, indices: 0, counted: None, took: Duration::ZERO, closeup: None }
    }
}

/// The notes of a round for a timeline. The times in the notes count from the begin of the round.
#[derive(Debug)]
pub(crate) struct Notes {
    pub(crate) tracer: &'static dyn Tracer,
    /// The time from the call to the begin of the round.
    begin: Duration,
    pub(crate) dealt: Vec<Range<usize>>,
    pub(crate) runs: Vec<Run>,
    slowest: Slowest,
}

impl Notes {
    /// Empty notes of a round that begins at `begin`, counted from the call.
    pub(crate) fn new(tracer: &'static dyn Tracer, begin: Duration) -> Self {
        Self { tracer, begin, dealt: Vec::new(), runs: Vec::new(), slowest: Slowest::default() }
    }
}

/// The notes of a run, one at each reading of the clock.
#[derive(Debug)]
pub(crate) struct Closeup {
    tracer: &'static dyn Tracer,
    next: usize,
    since: Instant,
    ticks: Vec<(usize, Instant)>,
    /// The least time between two ticks.
    apart: Duration,
    slowest: Slowest,
}

impl Closeup {
    /// The most ticks of a run. When a run has this number of ticks, every second tick is dropped.
    const MOST_TICKS: usize = 256;
    const APART: Duration = Duration::from_micros(5);

    pub(crate) fn new(tracer: &'static dyn Tracer, first: usize, begin: Instant) -> Self {
        let (ticks, slowest) = (Vec::new(), Slowest::default());
        Self { tracer, next: first, since: begin, ticks, apart: Self::APART, slowest }
    }

    /// All indices before `next` are done at `now`.
    pub(crate) fn tick(&mut self, next: usize, now: Instant) {
        self.tracer.tick(self, next, now);
    }

    /// All indices before `next` are done. Does nothing if these indices are already noted. (If a
    /// loop stops early between two readings of the clock, its last indices are not noted yet.)
    pub(crate) fn tick_last(&mut self, next: usize, now: Instant) {
        if next > self.next {
            self.tick(next, now);
        }
    }

    /// The run is over.
    fn end(self, run: &mut Run, slowest: &mut Slowest, begin: Instant, units: Units) {
        run.ticks = self.ticks.iter().map(|&(next, at)| (units.items(0..next).end, at - begin)).collect();
        for slow in self.slowest.found {
            slowest.see(run.worker, units.items(slow.items), slow.took);
        }
    }
}

/// The slowest items so far.
#[derive(Debug, Default)]
pub(crate) struct Slowest {
    found: Vec<Slow>,
    /// Items are added only if they are slower than this.
    least: Duration,
}

impl Slowest {
    const MOST: usize = 16;

    fn see(&mut self, worker: usize, items: Range<usize>, took: Duration) {
        if took <= self.least {
            return;
        }
        if self.found.len() == Self::MOST {
            self.sort();
            self.found.pop();
        }
        self.found.push(Slow { worker, items, took });
        if self.found.len() == Self::MOST {
            self.least = self.found.iter().map(|slow| slow.took).min().unwrap_or_default();
        }
    }

    fn sort(&mut self) {
        sort(&mut self.found, &|a, b| (b.took, a.items.start) < (a.took, b.items.start));
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn run() -> Run {
        let (begin, end) = (Duration::ZERO, Duration::from_secs(1));
        Run { worker: 3, items: 10..100_010, begin, end, theft: None, ticks: Vec::new() }
    }

    #[test]
    fn of_many_ticks_few_are_kept_and_evenly() {
        let (begin, mut run, mut slowest) = (Instant::now(), run(), Slowest::default());
        let mut closeup = Closeup::new(&Recorder, 10, begin);
        for step in 1..=100_000_u32 {
            closeup.tick(10 + step as usize, begin + Duration::from_micros(2) * step);
        }
        closeup.end(&mut run, &mut slowest, begin, Units::Items);
        assert!(
            (Closeup::MOST_TICKS / 3..Closeup::MOST_TICKS).contains(&run.ticks.len()),
            "{}",
            run.ticks.len()
        );
        let mut last = (10, Duration::ZERO);
        let longest = run.end / 50; // the run takes 0.2 s and has more than a hundred ticks
        for &(next, at) in &run.ticks {
            assert_eq!(at, Duration::from_micros(2) * u32::try_from(next - 10).unwrap());
            assert!(next > last.0 && at < last.1 + longest, "{last:?}, {next} {at:?}");
            last = (next, at);
        }
    }

    #[test]
    fn the_slowest_are_found_wherever_they_are() {
        let begin = Instant::now();
        let (mut now, mut run, mut slowest) = (begin, run(), Slowest::default());
        let mut closeup = Closeup::new(&Recorder, 0, begin);
        for item in 0..1000_usize {
            now += Duration::from_nanos(if item % 50 == 7 { 1000 + item as u64 } else { 500 });
            closeup.tick(item + 1, now);
        }
        closeup.tick(1000, now + Duration::from_millis(1)); // no item is done since the last tick
        closeup.end(&mut run, &mut slowest, begin, Units::Items);
        slowest.sort();
        let found: Vec<_> =
            slowest.found.iter().map(|slow| (slow.worker, slow.items.clone(), slow.took)).collect();
        let heavy = (0..1000).rev().filter(|item| item % 50 == 7);
        let expected: Vec<_> = heavy
            .map(|item| (3, item..item + 1, Duration::from_nanos(1000 + item as u64)))
            .take(Slowest::MOST)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn what_was_done_alone_comes_first_and_the_round_begins_after_it() {
        let begin = Instant::now();
        let [early, late] = [5, 30].map(Duration::from_micros);
        let mut closeup = Closeup::new(&Recorder, 0, begin);
        closeup.tick(4, begin + early);
        closeup.tick_last(4, begin + late); // this item is already noted
        let mut before = Before { begin, indices: 10, counted: None, took: late, closeup: Some(closeup) };
        let slow = Slow { worker: 3, items: 10..11, took: 2 * late };
        let round = Notes {
            tracer: &Recorder,
            begin: late,
            dealt: vec![10..20, 20..30],
            runs: vec![run()],
            slowest: Slowest { found: vec![slow], ..Slowest::default() },
        };
        let timeline = Recorder.timeline(&mut before, Units::Items, None, Some(Box::new(round)));
        let spans: Vec<_> = timeline.runs.iter().map(|run| (run.items.clone(), run.begin..run.end)).collect();
        let end = Duration::from_secs(1) + late;
        assert_eq!(spans, [(0..10, Duration::ZERO..late), (10..100_010, late..end)]);
        assert_eq!(timeline.runs[0].ticks, [(4, early)]);
        let slowest: Vec<_> = timeline.slowest.iter().map(|slow| slow.items.clone()).collect();
        assert_eq!((timeline.alone, slowest), (None, vec![10..11, 0..4]));
    }
}
