//! The times of a shared loop, and where its workers write them: a page for each worker. The
//! calling thread gathers the pages when all workers have left.
//!
//! A page is used loop after loop, and only its worker uses it while a loop runs. So its cache
//! lines move only twice in a loop: to the calling thread at the end, and back when the worker
//! leaves the next loop. (When all workers wrote to one place, some ten lines moved between two
//! workers, most of them before the calling thread could go on. A loop of 22 µs took 0.2 µs
//! longer.)

use std::{ops::Range, sync::PoisonError};

use crossbeam_utils::CachePadded;

use super::{
    journal::{Journal, Mark, NotedRun, Tally, Usage},
    trace::{notes::Tick, scene::WorkerPart},
};
use crate::sync::{Mutex, lock};

/// The times of a shared loop in nanoseconds: the sum of its workers' journals.
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
    /// Where the workers write until they leave.
    pub(crate) pages: Pages,
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
        self.usage = measures_usage.then(Usage::default);
        self.pages.begin(workers);
        self
    }

    /// Adds what the workers have written. All of them have left.
    pub(crate) fn gather(&mut self) {
        let Self { marks, tallies, usage, noted, parts, pages, .. } = self;
        for (worker, page) in pages.of_loop() {
            tallies[worker].add(&page.tally);
            for victim in page.victims.drain(..) {
                tallies[victim].suffered += 1;
            }
            marks.append(&mut page.marks);
            noted.append(&mut page.noted);
            parts.append(&mut page.parts);
            if let Some(used) = page.usage {
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

/// The pages of the workers of a loop.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The number of the loop among those with these pages.
    number: u64,
    pages: Vec<CachePadded<Mutex<Page>>>,
}

impl Pages {
    /// A loop of `workers` workers begins.
    fn begin(&mut self, workers: usize) {
        self.number += 1;
        if self.pages.len() < workers {
            self.pages.resize_with(workers, CachePadded::default);
        }
    }

    /// `worker` comes. Returns memory for its journal.
    pub(crate) fn journal(&self, worker: usize) -> Option<Box<Journal>> {
        lock(&self.pages[worker]).journal.take()
    }

    /// Adds the journal of a worker that leaves now. `usage` is the worker's usage, if its usage
    /// was measured. `is_traced` says whether a trace is being taken.
    pub(crate) fn add(&self, journal: Box<Journal>, usage: Option<Usage>, is_traced: bool) {
        let part = is_traced.then(|| journal.part());
        let mut page = lock(&self.pages[journal.worker]);
        page.add(self.number, journal, usage);
        page.parts.extend(part);
    }

    /// The pages of the workers that have come in this loop. All of them have left.
    fn of_loop(&mut self) -> impl Iterator<Item = (usize, &mut Page)> {
        let Self { number, pages } = self;
        let pages = pages.iter_mut().map(|page| page.get_mut().unwrap_or_else(PoisonError::into_inner));
        pages.enumerate().filter(|(_, page)| page.number == *number)
    }
}

/// The notes of one worker in a loop: the sum of its visits.
#[derive(Debug, Default)]
struct Page {
    /// The number of the loop of these notes.
    number: u64,
    tally: Tally,
    victims: Vec<usize>,
    marks: Vec<Mark>,
    usage: Option<Usage>,
    noted: Vec<NotedRun>,
    parts: Vec<WorkerPart>,
    /// Memory for the journal of the next visit.
    journal: Option<Box<Journal>>,
}

impl Page {
    /// Adds a visit in the loop with this `number`.
    fn add(&mut self, number: u64, mut journal: Box<Journal>, usage: Option<Usage>) {
        if self.number != number {
            (self.number, self.tally, self.usage) = (number, Tally::default(), None);
        }
        let Journal { ref mut tally, ref mut victims, ref mut marks, ref mut noted, .. } = *journal;
        tally.thefts = victims.len();
        self.tally.add(tally);
        self.victims.append(victims);
        self.marks.append(marks);
        self.noted.append(noted);
        if let Some(used) = usage {
            self.usage.get_or_insert_default().add(used);
        }
        self.journal = Some(journal);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::{super::units::Units, *};
    use crate::clock::Instant;

    /// A helper visits a loop twice, and does not come to the next loop. A page adds up the
    /// visits of its loop, and none of an earlier one.
    #[test]
    fn a_page_has_the_visits_of_one_loop() {
        let visit = |times: &Times, worker, items| {
            let memory = times.pages.journal(worker);
            let mut journal = Journal::new(memory, worker, Units::Items, Instant::now(), None);
            journal.begin(0, None);
            journal.end(items);
            times.pages.add(journal, None, false);
        };
        let mut times = Box::<Times>::default().of(2, false);
        for (worker, items) in [(0, 3), (1, 4), (1, 5)] {
            visit(&times, worker, items);
        }
        times.gather();
        let items = |times: &Times| [0, 1].map(|worker| times.tallies[worker].items);
        assert_eq!((items(&times), times.runs(), times.marks.len()), ([3, 9], 3, 3));
        let mut next = times.of(2, false);
        visit(&next, 0, 7);
        next.gather();
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
