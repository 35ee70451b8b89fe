//! A search for the first match, or for any: all workers go through the slice from the front
//! together.
//!
//! If the slice were dealt in halves, the second worker would search in vain for the first match if
//! that lies in the first half. A search for any match would end sooner where one lies just behind
//! the middle, and later where one lies just before it: from the front it always takes half of the
//! plain loop's time.

use std::{
    ops::Range,
    panic::{AssertUnwindSafe, catch_unwind},
};

use super::{
    accumulator::{Accumulate, Lend},
    ending::{Earliest, Panic, discard},
    handles::Watch,
    inputs::Inside,
    round_log::RoundLog,
};
use crate::pool::{
    protocol::{arena::Turn, barrier::Offer, range::Claims, shared_cursor::SharedCursor, threads::Threads},
    record::{journal::Times, units::Units},
};

/// A search that all workers make together from the front.
pub(crate) struct Search<'a> {
    front: SharedCursor,
    watch: Watch<'a>,
    course: RoundLog,
}

impl<'a> Search<'a> {
    /// A search through `range`, the rest of a slice, by `workers` workers.
    pub(crate) fn new(range: Range<usize>, workers: usize, watch: Watch<'a>, course: RoundLog) -> Self {
        Self { front: SharedCursor::new(range, workers), watch, course }
    }

    pub(crate) fn run(
        self,
        (threads, turn): (&Threads, &Turn<'_>),
        offer: Offer,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> (Times, Earliest<Option<Panic>>) {
        // From here to the end nothing unwinds: all user code runs inside `work`, which catches
        // panics.
        let work = |me| others.lend(me, &mut |acc| self.work(me, acc));
        threads.share(turn, offer, &work, || self.work(0, own));
        self.course.into_inner()
    }

    /// What worker `me` does from coming to leaving. Never unwinds. After a panic the worker does
    /// not go on: every block before has been claimed by a worker that is still active.
    fn work(&self, me: usize, acc: &mut dyn Accumulate) {
        let _inside = Inside::new();
        let mut visit = self.course.visit(me, Units::Items);
        let (mut items, mut last) = (0, 0);
        let searched = catch_unwind(AssertUnwindSafe(|| {
            while let Some(block) = self.front.claim() {
                (items, last) = (items + block.len(), block.start);
                self.watch.done(block.len());
                if self.watch.is_cancelled() {
                    break;
                }
                if let Err(halt) = acc.take(&mut Claims::of(block)) {
                    self.front.close();
                    discard(visit.stop.note(halt.place, None));
                    break;
                }
            }
            acc.leave();
        }));
        if let Err(panic) = searched {
            self.front.close();
            discard(visit.stop.note(last, Some(panic)));
            acc.lose();
        }
        visit.journal.searched(items, last + 1);
        self.course.leave(visit, 0);
    }
}
