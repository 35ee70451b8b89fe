//! Notes for a timeline, written while a loop runs.

use std::{ops::Range, time::Duration};

use super::timeline::{Run, Slow, Timeline};
use crate::{
    clock::Instant,
    pool::record::{units::Units, why_alone::Alone},
    sorted::sort,
};

impl Timeline {
    /// The timeline of a call. `before` is the work of the calling thread alone. `round` has the
    /// notes of the shared part, or the reason why the call was not shared.
    pub(crate) fn new(before: &mut Before, units: Units, round: Result<Notes, Alone>) -> Self {
        let alone = round.as_ref().err().copied();
        let Notes { begin, mut dealt, mut runs, mut slowest } = round.unwrap_or_default();
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
        Self {
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

/// The notes of a round for a timeline. Its times count from the begin of the round.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The time from the call to the begin of the round.
    pub(crate) begin: Duration,
    pub(crate) dealt: Vec<Range<usize>>,
    pub(crate) runs: Vec<Run>,
    pub(crate) slowest: Slowest,
}

impl Notes {
    /// A run has ended.
    pub(crate) fn add(&mut self, mut run: Run, closeup: Option<Closeup>, round: Instant, units: Units) {
        if let Some(closeup) = closeup {
            closeup.end(&mut run, &mut self.slowest, round, units);
        }
        self.runs.push(run);
    }

    /// Adds the notes of another worker.
    pub(crate) fn append(&mut self, other: Self) {
        self.runs.extend(other.runs);
        for Slow { worker, items, took } in other.slowest.found {
            self.slowest.see(worker, items, took);
        }
    }
}

/// The notes of a run, one at each reading of the clock.
#[derive(Debug)]
pub(crate) struct Closeup {
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

    pub(crate) fn new(first: usize, begin: Instant) -> Self {
        let (ticks, slowest) = (Vec::new(), Slowest::default());
        Self { next: first, since: begin, ticks, apart: Self::APART, slowest }
    }

    /// All indices before `next` are done at `now`.
    pub(crate) fn tick(&mut self, next: usize, now: Instant) {
        if next > self.next {
            self.slowest.see(0, self.next..next, now - self.since);
        }
        (self.next, self.since) = (next, now);
        if self.ticks.last().is_none_or(|last| now - last.1 >= self.apart) {
            self.ticks.push((next, now));
        }
        if self.ticks.len() >= Self::MOST_TICKS {
            let mut every_other = [false, true].into_iter().cycle();
            self.ticks.retain(|_| every_other.next().is_some_and(|kept| kept));
            self.apart *= 2;
        }
    }

    /// All indices before `next` are done. Does nothing if these indices are already noted. (A loop
    /// that stops early may stop between two readings of the clock, and then they are not noted.)
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
        let mut closeup = Closeup::new(10, begin);
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
        let mut closeup = Closeup::new(0, begin);
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
        let mut closeup = Closeup::new(0, begin);
        closeup.tick(4, begin + early);
        closeup.tick_last(4, begin + late); // this item is already noted
        let mut before = Before { begin, indices: 10, counted: None, took: late, closeup: Some(closeup) };
        let slow = Slow { worker: 3, items: 10..11, took: 2 * late };
        let round = Notes {
            begin: late,
            dealt: vec![10..20, 20..30],
            runs: vec![run()],
            slowest: Slowest { found: vec![slow], ..Slowest::default() },
        };
        let timeline = Timeline::new(&mut before, Units::Items, Ok(round));
        let spans: Vec<_> = timeline.runs.iter().map(|run| (run.items.clone(), run.begin..run.end)).collect();
        let end = Duration::from_secs(1) + late;
        assert_eq!(spans, [(0..10, Duration::ZERO..late), (10..100_010, late..end)]);
        assert_eq!(timeline.runs[0].ticks, [(4, early)]);
        let slowest: Vec<_> = timeline.slowest.iter().map(|slow| slow.items.clone()).collect();
        assert_eq!((timeline.alone, slowest), (None, vec![10..11, 0..4]));
    }
}
