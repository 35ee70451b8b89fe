//! The notes of a worker in a round. Each worker has its own journal. When the worker leaves, the
//! worker hands its journal over.

use std::{ops::Range, thread, time::Duration};

use super::{
    trace::{
        notes::{Closeup, Tick},
        scene::WorkerPart,
    },
    units::Units,
};
use crate::clock::{Instant, nanos};

/// The cost of neighbouring items: the index of the first item, and the nanoseconds of all items up
/// to the next mark.
pub(crate) type Mark = (usize, f32);

/// The work of one worker in a round.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// When the worker began and ended, in nanoseconds since the begin of the round. Both times are
    /// infinite if the worker found nothing to do.
    pub(crate) span: Range<f32>,
    /// How long the worker's runs took, in nanoseconds.
    pub(crate) working: f32,
    /// The number of indices that the worker folded, and the number of items that these indices
    /// stand for.
    pub(crate) indices: usize,
    pub(crate) items: usize,
    pub(crate) runs: usize,
    /// How many ranges the worker has stolen, how many of its thefts failed, and how many ranges
    /// other workers have stolen from this worker.
    pub(crate) thefts: usize,
    pub(crate) failed: usize,
    pub(crate) suffered: usize,
}

impl Default for Tally {
    fn default() -> Self {
        let span = f32::INFINITY..f32::INFINITY;
        Self { span, working: 0.0, indices: 0, items: 0, runs: 0, thefts: 0, failed: 0, suffered: 0 }
    }
}

impl Tally {
    /// Adds the work of another visit of the same worker.
    fn add(&mut self, more: &Self) {
        if more.span.start.is_finite() {
            self.span = self.span.start.min(more.span.start)..more.span.end;
        }
        self.working += more.working;
        self.indices += more.indices;
        self.items = self.items.saturating_add(more.items);
        self.runs += more.runs;
        self.thefts += more.thefts;
        self.failed += more.failed;
        self.suffered += more.suffered;
    }
}

/// The times of a round in nanoseconds: the sum of its workers' journals.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// How long the items took, in pieces of neighbouring items.
    pub(crate) marks: Vec<Mark>,
    /// The work of each worker, in worker order.
    pub(crate) tallies: Vec<Tally>,
    /// The CPU time and context switches of all workers together; `None` if not measured.
    pub(crate) usage: Option<Usage>,
    /// Notes the progress of runs; `None` if no timeline is wanted.
    pub(crate) tick: Option<Tick>,
    /// For a timeline: the items that each worker gets at the start, and the runs.
    pub(crate) dealt: Vec<Range<usize>>,
    pub(crate) noted: Vec<NotedRun>,
    /// The visits of the workers, each from arriving to leaving; empty if no trace is being taken.
    pub(crate) parts: Vec<WorkerPart>,
    /// Memory for the journals of workers that come, in worker order: a worker writes where it
    /// wrote in the last round, so this memory stays in its cache.
    pub(crate) journals: Vec<Option<Box<Journal>>>,
}

impl Times {
    /// Empty times for a round of `workers` workers. Uses the memory of `self` again. If
    /// `measures_usage` is set, the workers measure their CPU time.
    #[allow(clippy::unnecessary_box_returns, reason = "the box is used again")]
    pub(crate) fn of(mut self: Box<Self>, workers: usize, measures_usage: bool) -> Box<Self> {
        self.marks.clear();
        self.tallies.clear();
        self.tallies.resize(workers, Tally::default());
        self.parts.clear();
        self.usage = measures_usage.then(Usage::default);
        self
    }

    /// Whether all workers have ended at nearly the same moment: the difference is a small part of
    /// the round's time.
    pub(crate) fn are_balanced(&self) -> bool {
        const SMALL: f32 = 1.0 / 32.0;
        let last = self.length();
        self.tallies.iter().all(|tally| (last - tally.span.end).abs() <= last * SMALL)
    }

    /// How long the round took, until the last worker ended.
    pub(crate) fn length(&self) -> f32 {
        let ends = self.tallies.iter().map(|tally| tally.span.end);
        ends.filter(|end| end.is_finite()).fold(0.0, f32::max)
    }

    /// How many runs there were.
    pub(crate) fn runs(&self) -> usize {
        self.tallies.iter().map(|tally| tally.runs).sum()
    }

    /// How many indices of the slice were folded.
    pub(crate) fn indices(&self) -> usize {
        self.tallies.iter().map(|tally| tally.indices).sum()
    }

    /// How long all items took together.
    pub(crate) fn work(&self) -> f32 {
        self.tallies.iter().map(|tally| tally.working).sum()
    }

    /// How many items were folded.
    pub(crate) fn items(&self) -> usize {
        self.tallies.iter().fold(0, |sum, tally| sum.saturating_add(tally.items))
    }

    /// Adds the visit of a worker that leaves now.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_part(&mut self, journal: &Journal) {
        let (thread, span) = (thread::current().id(), (journal.begun, Instant::now()));
        let Journal { worker: seat, tally: Tally { items, runs, .. }, .. } = *journal;
        self.parts.push(WorkerPart { seat, thread, span, items, is_empty: items == 0 && runs == 0 });
    }

    /// Memory for the journal of `worker`, which comes.
    pub(crate) fn journal(&mut self, worker: usize) -> Option<Box<Journal>> {
        self.journals.get_mut(worker)?.take()
    }

    /// Adds the journal of a worker that leaves, and keeps the journal's memory. `failed` is the
    /// number of thefts that the worker tried without success. `usage` is the worker's usage, if
    /// its usage was measured.
    pub(crate) fn add(&mut self, mut journal: Box<Journal>, failed: usize, usage: Option<Usage>) {
        let Journal { worker, ref mut tally, ref mut victims, ref mut marks, ref mut noted, .. } = *journal;
        (tally.thefts, tally.failed) = (victims.len(), failed);
        self.tallies[worker].add(tally);
        for victim in victims.drain(..) {
            self.tallies[victim].suffered += 1;
        }
        self.marks.append(marks);
        self.noted.append(noted);
        if worker >= self.journals.len() {
            self.journals.resize_with(worker + 1, || None);
        }
        self.journals[worker] = Some(journal);
        if let Some(used) = usage {
            self.usage.get_or_insert_default().add(used);
        }
    }
}

/// The CPU time of a thread, and the number of its voluntary context switches. `naps` is this
/// number: how often the thread has slept or waited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Usage {
    pub(crate) cpu: Duration,
    pub(crate) naps: u64,
}

impl Usage {
    pub(crate) fn add(&mut self, other: Self) {
        self.cpu += other.cpu;
        self.naps += other.naps;
    }

    /// The usage since `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        let cpu = self.cpu.saturating_sub(before.cpu);
        Self { cpu, naps: self.naps.saturating_sub(before.naps) }
    }
}

/// The notes of one worker in a round.
#[derive(Debug)]
pub(crate) struct Journal {
    worker: usize,
    units: Units,
    /// When the round began, and when the worker began.
    round: Instant,
    begun: Instant,
    /// The open run, if there is one.
    run: Option<(NotedRun, OpenPieces)>,
    tally: Tally,
    /// The victim of each of the worker's thefts.
    victims: Vec<usize>,
    marks: Vec<Mark>,
    /// For a timeline: notes the progress of a run; and the runs so far.
    tick: Option<Tick>,
    noted: Vec<NotedRun>,
}

/// Neighbouring indices that a worker folds between two thefts.
#[derive(Debug)]
pub(crate) struct NotedRun {
    pub(crate) worker: usize,
    pub(crate) indices: Range<usize>,
    pub(crate) span: Range<Instant>,
    pub(crate) theft: Option<TheftNote>,
    /// For a timeline: the progress of the run.
    pub(crate) closeup: Option<Box<Closeup>>,
}

/// The theft with which a run began: its victim, and the number of stolen indices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TheftNote {
    pub(crate) victim: usize,
    pub(crate) indices: usize,
}

impl Journal {
    /// The journal of `worker` in a round that began at `round`, in the `memory` of an earlier
    /// journal. The worker begins now.
    pub(crate) fn new(
        memory: Option<Box<Self>>,
        worker: usize,
        units: Units,
        round: Instant,
        tick: Option<Tick>,
    ) -> Box<Self> {
        let begun = Instant::now();
        if let Some(mut journal) = memory {
            (journal.worker, journal.units, journal.round, journal.begun) = (worker, units, round, begun);
            (journal.run, journal.tally, journal.tick) = (None, Tally::default(), tick);
            return journal;
        }
        Box::new(Self {
            worker,
            units,
            round,
            begun,
            run: None,
            tally: Tally::default(),
            victims: Vec::new(),
            marks: Vec::new(),
            tick,
            noted: Vec::new(),
        })
    }

    /// The worker begins a run. The time of its first run counts from the worker's begin. The time
    /// of any later run counts from now.
    #[inline(never)]
    pub(crate) fn begin(&mut self, first: usize, theft: Option<TheftNote>) -> Instant {
        let begin = if theft.is_none() { self.begun } else { Instant::now() };
        let closeup = self.tick.map(|tick| Box::new(Closeup::new(tick, first, begin)));
        let run = NotedRun { worker: self.worker, indices: first..first, span: begin..begin, theft, closeup };
        self.run = Some((run, OpenPieces::new(first, begin)));
        begin
    }

    /// The first item is done. Only a timeline needs this reading of the clock.
    pub(crate) fn tick(&mut self, next: usize) {
        if let Some((NotedRun { closeup: Some(closeup), .. }, _)) = &mut self.run {
            closeup.tick(next, Instant::now());
        }
    }

    /// All indices before `next` are done at `now`.
    pub(crate) fn mark(&mut self, next: usize, now: Instant) {
        let Some((run, pieces)) = &mut self.run else { return };
        if let Some(closeup) = &mut run.closeup {
            closeup.tick(next, now);
        }
        pieces.mark(next, now, &mut self.marks);
    }

    /// The run is over. All indices before `next` are folded.
    pub(crate) fn end(&mut self, next: usize) {
        let Some((mut run, pieces)) = self.run.take() else { return };
        (run.indices.end, run.span.end) = (next, pieces.end(&mut self.marks));
        self.add(run);
    }

    /// The worker has gone through `indices` indices since it began. The last index is `end - 1`.
    pub(crate) fn ran_search(&mut self, indices: usize, end: usize) {
        // A worker that comes after the end of a search counts as absent.
        if indices > 0 {
            let (indices, span) = (end.saturating_sub(indices)..end, self.begun..Instant::now());
            self.add(NotedRun { worker: self.worker, indices, span, theft: None, closeup: None });
        }
    }

    /// The worker has folded items that other items made: items of its own deque, or items stolen
    /// from `victim`.
    pub(crate) fn ran_made_items(&mut self, victim: Option<usize>, begin: Instant, end: Instant) {
        self.add_run(0, &(begin..end), victim);
    }

    /// The worker leaves a loop whose items wait. The worker has begun `items` items, has stolen
    /// from `victims`, and has slept for the time `asleep`.
    pub(crate) fn ran_async_items(&mut self, items: usize, victims: Vec<usize>, asleep: Duration) {
        self.add_run(items, &(self.begun..Instant::now()), None);
        let tally = &mut self.tally;
        tally.working = (tally.working - nanos(asleep)).max(0.0);
        tally.indices += items;
        tally.runs = victims.len() + usize::from(items > 0 && self.worker == 0);
        self.victims = victims;
    }

    /// The worker has folded `items` items, counted one by one.
    pub(crate) fn count(&mut self, items: usize) {
        self.tally.items = items;
    }

    /// Adds a run over existing items.
    fn add(&mut self, run: NotedRun) {
        self.tally.indices += run.indices.len();
        let items = self.units.items(run.indices.clone()).len();
        self.add_run(items, &run.span, run.theft.map(|theft| theft.victim));
        if self.tick.is_some() {
            self.noted.push(run);
        }
    }

    /// Adds a run of `items` items, which began with a theft from `victim`, if there is one.
    fn add_run(&mut self, items: usize, span: &Range<Instant>, victim: Option<usize>) {
        let Self { tally, begun, round, .. } = self;
        tally.span = nanos(*begun - *round)..nanos(span.end - *round);
        tally.working += nanos(span.end - span.start);
        tally.items = tally.items.saturating_add(items);
        tally.runs += 1;
        self.victims.extend(victim);
    }
}

/// The cost of a run, piece by piece.
#[derive(Debug)]
pub(crate) struct OpenPieces {
    begin: Instant,
    /// The current piece: its first index, its begin, and its duration up to the last reading of
    /// the clock.
    first: usize,
    since: Instant,
    lasted: Duration,
}

impl OpenPieces {
    /// The pieces of a run that begins with index `first`.
    pub(crate) fn new(first: usize, begin: Instant) -> Self {
        Self { begin, first, since: begin, lasted: Duration::ZERO }
    }

    /// All indices before `next` are done at `now`. A piece lasts a sixteenth of its run so far. So
    /// there are few pieces, and they are short in a short run.
    pub(crate) fn mark(&mut self, next: usize, now: Instant, marks: &mut Vec<Mark>) {
        const SHORTEST: Duration = Duration::from_micros(4);
        self.lasted = now - self.since;
        if self.lasted >= SHORTEST.max((now - self.begin) / 16) {
            marks.push((self.first, nanos(self.lasted)));
            (self.first, self.since, self.lasted) = (next, now, Duration::ZERO);
        }
    }

    /// The run has ended: adds the last mark, and returns the end time of the run.
    pub(crate) fn end(self, marks: &mut Vec<Mark>) -> Instant {
        let is_unmarked = self.since == self.begin && self.lasted.is_zero();
        let lasted = if is_unmarked { self.begin.elapsed() } else { self.lasted };
        if is_unmarked || !lasted.is_zero() {
            marks.push((self.first, nanos(lasted)));
        }
        self.since + lasted
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_balanced_when_all_end_together() {
        let round = |spans: &[Range<f32>]| Times {
            tallies: spans.iter().map(|span| Tally { span: span.clone(), ..Tally::default() }).collect(),
            ..Times::default()
        };
        assert!(round(&[0.0..1000.0, 500.0..990.0]).are_balanced());
        assert!(!round(&[0.0..1000.0, 0.0..900.0]).are_balanced());
        assert!(!round(&[0.0..1000.0, f32::INFINITY..f32::INFINITY]).are_balanced(), "somebody never came");
        assert!((round(&[0.0..1000.0, f32::INFINITY..f32::INFINITY]).length() - 1000.0).abs() < 1.0);
    }

    #[test]
    fn pieces_are_few_and_add_up() {
        let begin = Instant::now();
        let mut pieces = OpenPieces::new(10, begin);
        let mut marks = vec![(0, 7.0)];
        for step in 1..=10_000 {
            let now = begin + Duration::from_micros(1) * u32::try_from(step).unwrap();
            pieces.mark(10 + step, now, &mut marks);
        }
        assert_eq!(pieces.end(&mut marks), begin + Duration::from_millis(10));
        let nanos: f32 = marks.iter().skip(1).map(|(_, nanos)| nanos).sum();
        assert!((nanos - 10e6).abs() < 10.0, "{nanos}");
        assert!((20..200).contains(&marks.len()), "{}", marks.len());
        assert!(marks.is_sorted() && marks[1].0 == 10);
    }
}
