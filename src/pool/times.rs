//! What took how long in a round: noted by its workers, read when it is over.

use std::{ops::Range, time::Duration};

use super::{
    affinity::Usage,
    estimate::nanos,
    trace::{Closeup, Notes},
};
use crate::clock::Instant;

/// Neighbouring items and what they took: the index of the first, and nanoseconds for all up to the next mark.
pub(crate) type Mark = (usize, f32);

/// What a worker has done in a round.
#[derive(Clone, Debug)]
pub(crate) struct Tally {
    /// When it has begun and when it has ended, in nanoseconds since the round has begun; never, if it found nothing to do.
    pub(crate) span: Range<f32>,
    /// What its runs took.
    pub(crate) working: f32,
    /// Indices of the slice folded, and the items that they stand for.
    pub(crate) indices: usize,
    pub(crate) items: usize,
    pub(crate) runs: usize,
    /// Ranges it has stolen, attempts that brought nothing, and ranges stolen from it.
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

/// What took how long in a round, in nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// What the items took.
    pub(crate) marks: Vec<Mark>,
    /// What each worker has done.
    pub(crate) tallies: Vec<Tally>,
    /// What all workers together have used; none, if not measured.
    pub(crate) usage: Option<Usage>,
    /// What a timeline needs; none, if nobody wants one.
    pub(crate) notes: Option<Notes>,
}

impl Times {
    /// Whether all workers have ended at the same moment, but for a small part of the round.
    pub(crate) fn are_balanced(&self) -> bool {
        const SMALL: f32 = 1.0 / 32.0;
        let ends = || self.tallies.iter().map(|tally| tally.span.end);
        let (first, last) = (ends().fold(f32::INFINITY, f32::min), ends().fold(0.0, f32::max));
        last.is_finite() && last - first <= last * SMALL
    }

    /// How long the round was: until the last worker has ended.
    pub(crate) fn length(&self) -> f32 {
        let ends = self.tallies.iter().map(|tally| tally.span.end);
        ends.filter(|end| end.is_finite()).fold(0.0, f32::max)
    }

    /// How many indices of the slice were folded.
    pub(crate) fn indices(&self) -> usize {
        self.tallies.iter().map(|tally| tally.indices).sum()
    }

    /// What all items took together.
    pub(crate) fn work(&self) -> f32 {
        self.marks.iter().map(|(_, nanos)| nanos).sum()
    }
}

/// Records what a run costs, piece by piece.
#[derive(Debug)]
pub(crate) struct Pieces {
    begin: Instant,
    marks: Vec<Mark>,
    /// The current piece: where and when it began, and how long it has lasted at the last look.
    first: usize,
    since: Instant,
    lasted: Duration,
    closeup: Option<Closeup>,
}

impl Pieces {
    /// A run that begins with item `first`.
    pub(crate) fn new(first: usize, begin: Instant) -> Self {
        Self { begin, marks: Vec::new(), first, since: begin, lasted: Duration::ZERO, closeup: None }
    }

    /// The same, for a timeline.
    pub(crate) fn closely(first: usize, begin: Instant) -> Self {
        Self { closeup: Some(Closeup::new(first, begin)), ..Self::new(first, begin) }
    }

    /// What was seen for a timeline.
    pub(crate) fn take_closeup(&mut self) -> Option<Closeup> {
        self.closeup.take()
    }

    /// The first item is done: a look that only a timeline wants.
    pub(crate) fn look_closely(&mut self, next: usize) {
        if let Some(closeup) = &mut self.closeup {
            closeup.look(next, Instant::now());
        }
    }

    /// All items before `next` are done. A piece lasts a sixteenth of its run so far, so pieces are few, and short where the
    /// run is.
    pub(crate) fn look(&mut self, next: usize, now: Instant) {
        const SHORTEST: Duration = Duration::from_micros(4);
        if let Some(closeup) = &mut self.closeup {
            closeup.look(next, now);
        }
        self.lasted = now - self.since;
        if self.lasted >= SHORTEST.max((now - self.begin) / 16) {
            self.marks.push((self.first, nanos(self.lasted)));
            (self.first, self.since, self.lasted) = (next, now, Duration::ZERO);
        }
    }

    /// When the run began.
    pub(crate) fn begin(&self) -> Instant {
        self.begin
    }

    /// The run has ended: adds its marks to `marks`, and returns when that was.
    pub(crate) fn end(self, marks: &mut Vec<Mark>) -> Instant {
        let never_looked = self.marks.is_empty() && self.lasted.is_zero();
        let lasted = if never_looked { self.begin.elapsed() } else { self.lasted };
        marks.extend(self.marks);
        if never_looked || !lasted.is_zero() {
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
        let mut pieces = Pieces::new(10, begin);
        for step in 1..=10_000 {
            pieces.look(10 + step, begin + Duration::from_micros(1) * u32::try_from(step).unwrap());
        }
        let mut marks = vec![(0, 7.0)];
        assert_eq!(pieces.end(&mut marks), begin + Duration::from_millis(10));
        let nanos: f32 = marks.iter().skip(1).map(|(_, nanos)| nanos).sum();
        assert!((nanos - 10e6).abs() < 10.0, "{nanos}");
        assert!((20..200).contains(&marks.len()), "{}", marks.len());
        assert!(marks.is_sorted() && marks[1].0 == 10);
    }
}
