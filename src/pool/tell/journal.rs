//! The notes of a worker in a shared loop. Each seat has a journal in the times of the loop. A
//! worker that enters the loop again continues the journal of its seat.

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

/// The work of one worker in a shared loop.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// When the worker began and ended, in nanoseconds since the begin of the loop. Both times are
    /// infinite if the worker found nothing to do. Not known while the worker is inside.
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

/// The notes of all visits to one seat of a shared loop.
#[derive(Debug)]
pub(crate) struct Journal {
    /// The number of the loop among those with these journals.
    pub(super) number: u64,
    worker: usize,
    units: Units,
    /// When the visit began.
    begun: Instant,
    /// How many items and runs the earlier visits had.
    before: (usize, usize),
    /// From the begin of the first visit with a run to the end of the last run.
    pub(super) span: Option<Range<Instant>>,
    /// The open run, if there is one.
    run: Option<(NotedRun, OpenPieces)>,
    pub(super) tally: Tally,
    /// The victim of each of the worker's thefts.
    pub(super) victims: Vec<usize>,
    pub(super) marks: Vec<Mark>,
    /// `None` if not measured.
    pub(super) usage: Option<Usage>,
    /// For a timeline: notes the progress of a run; and the runs so far.
    tick: Option<Tick>,
    pub(super) noted: Vec<NotedRun>,
    /// The visits so far, if a trace is being taken.
    pub(super) parts: Vec<WorkerPart>,
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
    /// The journal of `worker`, which has not come yet. The begin of its visit replaces `now`.
    pub(super) fn new(worker: usize, now: Instant) -> Self {
        Self {
            number: 0,
            worker,
            units: Units::Items,
            begun: now,
            before: (0, 0),
            span: None,
            run: None,
            tally: Tally::default(),
            victims: Vec::new(),
            marks: Vec::new(),
            usage: None,
            tick: None,
            noted: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// The worker comes now, into the loop with this `number`.
    pub(super) fn come(&mut self, number: u64, units: Units, tick: Option<Tick>) {
        if self.number != number {
            (self.number, self.units, self.tick) = (number, units, tick);
            (self.span, self.tally, self.usage) = (None, Tally::default(), None);
        }
        (self.begun, self.run) = (Instant::now(), None);
        self.before = (self.tally.items, self.tally.runs);
    }

    /// The worker leaves. It has tried `failed` thefts without success, and has `used` a CPU, if
    /// that was measured. `is_traced` says whether a trace is being taken.
    pub(crate) fn leave(&mut self, failed: usize, used: Option<Usage>, is_traced: bool) {
        self.tally.failed += failed;
        if let Some(used) = used {
            self.usage.get_or_insert_default().add(used);
        }
        if is_traced {
            self.add_part();
        }
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

    /// The worker has folded `items` items in this visit, counted one by one.
    pub(crate) fn count(&mut self, items: usize) {
        self.tally.items = self.before.0.saturating_add(items);
    }

    /// For a trace: adds the visit of the worker, which leaves now.
    #[cold]
    #[inline(never)]
    fn add_part(&mut self) {
        let (thread, span) = (thread::current().id(), (self.begun, Instant::now()));
        let (items, is_empty) =
            (self.tally.items - self.before.0, self.before == (self.tally.items, self.tally.runs));
        self.parts.push(WorkerPart { seat: self.worker, thread, span, items, is_empty });
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
        let Self { tally, begun, .. } = self;
        self.span.get_or_insert(*begun..span.end).end = span.end;
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
