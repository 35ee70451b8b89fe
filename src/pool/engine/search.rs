//! Loops whose workers claim blocks from the front of the same slice: searches for the first match
//! or for any match, and loops in order, such as scans.
//!
//! If each of two workers searched one half of the slice, a match in the first half would make the
//! second worker's search useless. Two workers that search from the front always take half of the
//! plain loop's time. But matches far behind would never be found in a slice that takes hours. So a
//! search for any match that lasts for [`AT_FRONT_NS`] goes on in parts: each worker searches a
//! part of its own, and the calling thread the first one. A worker whose part is searched comes to
//! the foremost part with items left.

use std::{iter, ops::Range};

use super::{
    accumulator::{Accumulate, Lend},
    ending::{Panic, StopAt},
    handles::Watch,
    loop_options::LoopOptions,
    plan::SharedPlan,
    visit::{Worker, visit},
    worker_log::WorkerLog,
};
use crate::{
    clock::{Instant, time},
    pool::{
        policy::{
            prices::{AT_FRONT_NS, smallest_block},
            site::Supply,
        },
        supply::{
            range::Claims,
            shared_cursor::{EIGHT_TIMES, SharedCursor},
        },
        team::{
            arena::Turn,
            barrier::{Offer, Reentry},
            job,
            threads::Threads,
        },
        tell::{journal::Journal, times::Times, units::Units},
    },
};

/// The items of a search, in parts with a cursor each.
struct Parts {
    first: SharedCursor,
    others: Box<[SharedCursor]>,
    /// When workers go to parts of their own.
    divide: Instant,
}

impl Parts {
    /// One part, for a search for the first match and for a loop in order.
    fn one(cursor: SharedCursor) -> Self {
        Self { first: cursor, others: Box::default(), divide: Instant::now() }
    }

    /// A part of `items` for each of the `searchers`.
    fn of_any(items: Range<usize>, searchers: usize, smallest: usize) -> Self {
        let (first, others) = SharedCursor::parts(items, searchers, smallest);
        Self { first, others, divide: Instant::now() + time(AT_FRONT_NS) }
    }

    /// Claims a block for worker `me`, which has claimed `indices` until now. `is_divided` says
    /// whether the worker has gone to its own part.
    fn claim(&self, me: usize, indices: usize, is_divided: &mut bool) -> Option<Range<usize>> {
        let any = |most| self.all().find_map(|part| part.claim(most));
        if self.others.is_empty() {
            return any(usize::MAX);
        }
        *is_divided = *is_divided || Instant::now() >= self.divide;
        if !*is_divided {
            return any(usize::MAX);
        }
        // Other workers learn of a match when they have searched their blocks.
        let most = indices / EIGHT_TIMES;
        self.all().nth(me).and_then(|own| own.claim(most)).or_else(|| any(most))
    }

    fn all(&self) -> impl Iterator<Item = &SharedCursor> {
        iter::once(&self.first).chain(&self.others)
    }

    fn close(&self) {
        self.all().for_each(SharedCursor::close);
    }
}

/// Runs a search over the indices that are `left`. Nothing unwinds: user code runs only inside
/// `work`, which catches panics. Only the options of a search refer to this function, so a program
/// without searches does not contain it.
#[inline(never)]
pub(crate) fn run(
    threads: &Threads,
    (plan, turn): (&SharedPlan, &Turn<'_>),
    left: &Range<usize>,
    options: &LoopOptions<'_>,
    times: &Times,
    own: &mut dyn Accumulate,
    partials: &dyn Lend,
) {
    let (supply, searchers) = (options.kind.supply, plan.workers);
    let smallest = smallest_block(supply, plan.pace, left.len() / searchers);
    let parts = if supply == Supply::Any {
        Parts::of_any(left.clone(), searchers, smallest)
    } else {
        Parts::one(SharedCursor::new(left.clone(), searchers, smallest))
    };
    let shared = SharedSearch { parts, watch: options.watch, units: options.units, times };
    let work = |me| partials.lend(me, &mut |acc| shared.work(me, acc));
    let offer = Offer { helpers: searchers - 1, reentry: Reentry::Once, polls: plan.polls };
    job::share(&threads.barrier, turn, offer, &work, || shared.work(0, own));
}

/// A search under way. Its workers claim blocks from shared cursors.
struct SharedSearch<'a> {
    parts: Parts,
    watch: Watch<'a>,
    units: Units,
    times: &'a Times,
}

impl SharedSearch<'_> {
    fn work(&self, me: usize, acc: &mut dyn Accumulate) {
        let mut worker = Searcher { shared: self, me, indices: 0, last: 0..0, is_divided: false };
        visit(Some(self.times), (me, self.units), &mut worker, acc);
    }
}

/// A worker of a search.
struct Searcher<'w> {
    shared: &'w SharedSearch<'w>,
    me: usize,
    /// How many indices the worker has claimed, and its last block.
    indices: usize,
    last: Range<usize>,
    /// Whether the worker has gone to its own part.
    is_divided: bool,
}

impl Worker for Searcher<'_> {
    /// Reads the token before each block, and the clock only to divide the search.
    fn work(&mut self, acc: &mut dyn Accumulate, _: &mut WorkerLog<'_>) {
        let SharedSearch { parts, watch, units, .. } = self.shared;
        while let Some(block) = parts.claim(self.me, self.indices, &mut self.is_divided) {
            (self.indices, self.last) = (self.indices + block.len(), block.clone());
            watch.done(units.items(block.clone()).len());
            if watch.is_raised() {
                return;
            }
            if acc.take(&mut Claims::of(block)).is_err() {
                return parts.close();
            }
        }
    }

    /// The worker leaves: all blocks before the panic are already claimed, and other workers finish
    /// them.
    fn end_at_panic(&mut self, panic: Panic, acc: &mut dyn Accumulate) -> bool {
        self.shared.parts.close();
        acc.abandon(StopAt::there(self.last.start), panic);
        false
    }

    fn leave(&mut self, journal: Option<&mut Journal>) -> usize {
        if let Some(journal) = journal {
            journal.ran_search(self.indices, self.last.end);
        }
        0
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Claims blocks for workers 0 and 1 in turn until no item is left: the claimed blocks of each.
    fn claimed(parts: &Parts) -> [Vec<Range<usize>>; 2] {
        let mut blocks = [const { Vec::new() }; 2];
        let mut ways = [(0, false); 2];
        loop {
            let left = [0, 1].map(|me| {
                let (indices, is_divided) = &mut ways[me];
                let block = parts.claim(me, *indices, is_divided)?;
                *indices += block.len();
                blocks[me].push(block);
                Some(())
            });
            if left == [None; 2] {
                return blocks;
            }
        }
    }

    #[test]
    fn workers_divide_the_items_after_a_while_at_the_front() {
        let hour = Duration::from_secs(3600);
        for (wait, parts_of_1) in [(hour, 0), (Duration::ZERO, 1)] {
            let mut parts = Parts::of_any(100..1100, 2, 1);
            parts.divide = Instant::now() + wait;
            let [of_0, of_1] = claimed(&parts);
            assert_eq!((of_0[0].start, of_1[0].start), [(100, 103), (100, 600)][parts_of_1]);
            let mut all = [&of_0[..], &of_1].concat();
            all.sort_by_key(|block| block.start);
            assert!(
                all.is_sorted_by(|a, b| a.end == b.start)
                    && (all[0].start, all.last().unwrap().end) == (100, 1100)
            );
        }
    }

    #[test]
    fn a_search_for_any_match_is_soon_divided() {
        let begin = Instant::now();
        let parts = Parts::of_any(0..1000, 2, 1);
        let front = parts.divide - begin;
        assert!(front > Duration::ZERO, "it begins at the front");
        std::thread::sleep(Duration::from_millis(100));
        let mut is_divided = false;
        parts.claim(1, 0, &mut is_divided);
        assert!(is_divided, "it is at the front for {front:?}");
    }

    #[test]
    fn a_worker_without_a_part_goes_to_the_foremost_part() {
        let mut parts = Parts::of_any(0..1000, 2, 1);
        parts.divide = Instant::now();
        let mut is_divided = false;
        while parts.claim(1, 0, &mut is_divided).is_some_and(|block| block.end < 1000) {}
        assert_eq!(parts.claim(1, 10, &mut is_divided), Some(0..1));
        assert_eq!(parts.claim(2, 10, &mut is_divided), Some(1..2), "a worker of a larger number");
        parts.close();
        assert_eq!(parts.claim(0, 10, &mut is_divided), None);
    }

    #[test]
    fn a_block_is_small_beside_what_the_worker_has_searched() {
        let mut parts = Parts::of_any(0..usize::MAX, 2, 1);
        parts.divide = Instant::now();
        for indices in [0, 80, 8_000_000] {
            let block = parts.claim(1, indices, &mut true).expect("items are left");
            assert_eq!(block.len(), (indices / 8).max(1));
        }
    }
}
