//! The times of a shared loop, and where its workers write them: a journal for each worker. The
//! calling thread gathers the journals when all workers have left.
//!
//! A journal is used loop after loop, and only the worker in its seat uses it while a loop runs. So
//! its cache lines move only twice in a loop: to the calling thread at the end, and back when the
//! worker comes to the next loop. (When all workers wrote to one place, some ten lines moved
//! between two workers, most of them before the calling thread could go on. A loop of 22 µs took
//! 0.2 µs longer.)

use std::{ops::Range, sync::PoisonError};

use crossbeam_utils::CachePadded;

use super::{
    journal::{Journal, Mark, NotedRun, Tally, Usage},
    trace::{
        notes::Tick,
        scene::{SceneSpot, WorkerPart},
    },
    units::Units,
};
use crate::{
    clock::{Instant, nanos},
    sync::{Mutex, MutexGuard, lock},
};

/// The times of a shared loop in nanoseconds: the sum of its workers' journals.
#[derive(Debug, Default)]
pub(crate) struct Times {
    /// How long the items took, in pieces of neighbouring items.
    pub(crate) marks: Vec<Mark>,
    /// The work of each worker, in worker order.
    pub(crate) tallies: Vec<Tally>,
    /// Whether the workers measure their CPU time and context switches.
    pub(crate) measures_usage: bool,
    /// The CPU time and context switches of all workers together; `None` if not measured.
    pub(crate) usage: Option<Usage>,
    /// The loop's spot in a scene, if a trace is being taken there.
    pub(crate) spot: Option<SceneSpot>,
    /// Notes the progress of runs; `None` if no timeline is wanted.
    pub(crate) tick: Option<Tick>,
    /// For a timeline: the items that each worker gets at the start, and the runs.
    pub(crate) dealt: Vec<Range<usize>>,
    pub(crate) noted: Vec<NotedRun>,
    /// The visits of the workers, each from arriving to leaving; empty if no trace is being taken.
    pub(crate) parts: Vec<WorkerPart>,
    /// The number of the loop among those with these journals.
    pub(crate) number: u64,
    /// Where the workers write until they leave.
    pub(crate) journals: Vec<CachePadded<Mutex<Journal>>>,
}

/// The sums are compiled once: the compiler would unroll each of them wherever the policy uses it.
impl Times {
    /// Empty times for a loop of `workers` workers. Uses the memory of `self` again. If
    /// `measures_usage` is set, the workers measure their CPU time.
    #[allow(clippy::unnecessary_box_returns, reason = "the box is used again")]
    pub(crate) fn of(mut self: Box<Self>, workers: usize, measures_usage: bool) -> Box<Self> {
        self.marks.clear();
        self.tallies.clear();
        self.tallies.resize(workers, Tally::default());
        self.parts.clear();
        (self.measures_usage, self.usage, self.spot) = (measures_usage, None, SceneSpot::here());
        self.number += 1;
        let made = self.journals.len();
        if made < workers {
            let now = Instant::now();
            self.journals.extend((made..workers).map(|worker| Mutex::new(Journal::new(worker, now)).into()));
        }
        self
    }

    /// `worker` comes now. It holds the lock of its journal until it leaves.
    pub(crate) fn journal(&self, worker: usize, units: Units) -> MutexGuard<'_, Journal> {
        let mut journal = lock(&self.journals[worker]);
        journal.come(self.number, units, self.tick);
        journal
    }

    /// Adds what the workers have written in the loop, which began at `begin`. All of them have
    /// left.
    pub(crate) fn gather(&mut self, begin: Instant) {
        let Self { marks, tallies, usage, noted, parts, number, journals, .. } = self;
        self.spot = None;
        let journals = journals.iter_mut().map(|it| it.get_mut().unwrap_or_else(PoisonError::into_inner));
        for (worker, journal) in journals.enumerate().filter(|(_, journal)| journal.number == *number) {
            let suffered = tallies[worker].suffered;
            let span = journal.span.clone().map(|span| nanos(span.start - begin)..nanos(span.end - begin));
            let span = span.unwrap_or(f32::INFINITY..f32::INFINITY);
            let thefts = journal.victims.len();
            tallies[worker] = Tally { span, thefts, suffered, ..journal.tally.clone() };
            for victim in journal.victims.drain(..) {
                tallies[victim].suffered += 1;
            }
            marks.append(&mut journal.marks);
            noted.append(&mut journal.noted);
            parts.append(&mut journal.parts);
            if let Some(used) = journal.usage {
                usage.get_or_insert_default().add(used);
            }
        }
    }

    /// Whether all workers have ended at nearly the same moment: the difference is a small part of
    /// the loop's time.
    pub(crate) fn are_balanced(&self) -> bool {
        const SMALL: f32 = 1.0 / 32.0;
        let last = self.length();
        self.tallies.iter().all(|tally| (last - tally.span.end).abs() <= last * SMALL)
    }

    /// How long the loop took, until the last worker ended.
    #[inline(never)]
    pub(crate) fn length(&self) -> f32 {
        let ends = self.tallies.iter().map(|tally| tally.span.end);
        ends.filter(|end| end.is_finite()).fold(0.0, f32::max)
    }

    /// How many runs there were.
    #[inline(never)]
    pub(crate) fn runs(&self) -> usize {
        self.tallies.iter().map(|tally| tally.runs).sum()
    }

    /// How many indices of the slice were folded.
    #[inline(never)]
    pub(crate) fn indices(&self) -> usize {
        self.tallies.iter().map(|tally| tally.indices).sum()
    }

    /// How long all items took together.
    #[inline(never)]
    pub(crate) fn work(&self) -> f32 {
        self.tallies.iter().map(|tally| tally.working).sum()
    }

    /// How many items were folded.
    #[inline(never)]
    pub(crate) fn items(&self) -> usize {
        self.tallies.iter().fold(0, |sum, tally| sum.saturating_add(tally.items))
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// A helper visits a loop twice, and does not come to the next loop. A journal adds up the
    /// visits to its loop, and none to an earlier one.
    #[test]
    fn a_journal_has_the_visits_to_one_loop() {
        let begin = Instant::now();
        let visit = |times: &Times, worker, items| {
            let mut journal = times.journal(worker, Units::Items);
            journal.begin(0, None);
            journal.end(items);
            journal.leave(1, None, true);
        };
        let mut times = Box::<Times>::default().of(2, false);
        for (worker, items) in [(0, 3), (1, 4), (1, 5)] {
            visit(&times, worker, items);
        }
        times.gather(begin);
        let items = |times: &Times| [0, 1].map(|worker| times.tallies[worker].items);
        assert_eq!((items(&times), times.runs(), times.marks.len()), ([3, 9], 3, 3));
        assert_eq!(times.parts.iter().map(|part| part.items).collect::<Vec<_>>(), [3, 4, 5], "a visit each");
        assert_eq!(times.tallies[1].failed, 2);
        let mut next = times.of(2, false);
        visit(&next, 0, 7);
        next.gather(begin);
        assert_eq!((items(&next), next.runs(), next.marks.len()), ([7, 0], 1, 1));
    }

    #[test]
    fn a_loop_is_balanced_when_all_end_together() {
        let times = |spans: &[Range<f32>]| Times {
            tallies: spans.iter().map(|span| Tally { span: span.clone(), ..Tally::default() }).collect(),
            ..Times::default()
        };
        assert!(times(&[0.0..1000.0, 500.0..990.0]).are_balanced());
        assert!(!times(&[0.0..1000.0, 0.0..900.0]).are_balanced());
        assert!(!times(&[0.0..1000.0, f32::INFINITY..f32::INFINITY]).are_balanced(), "somebody never came");
        assert!((times(&[0.0..1000.0, f32::INFINITY..f32::INFINITY]).length() - 1000.0).abs() < 1.0);
    }
}
