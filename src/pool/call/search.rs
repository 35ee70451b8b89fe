//! A search for the first match, or for any match. All workers claim blocks from the front of the
//! same slice.
//!
//! If each of two workers searched one half of the slice, a match in the first half would make the
//! second worker's search useless. With such halves, a search for any match would be faster than
//! this search if a match lies just behind the middle, and slower if a match lies just before the
//! middle. Two workers that search from the front always take half of the plain loop's time.

use std::panic::{AssertUnwindSafe, catch_unwind};

use super::{
    accumulator::{Accumulate, Lend},
    ending::{FirstStop, discard},
    handles::Watch,
    inputs::Inside,
    round_log::RoundLog,
};
use crate::pool::{
    protocol::{arena::Turn, barrier::Offer, range::Claims, shared_cursor::SharedCursor, threads::Threads},
    record::{journal::Times, units::Units},
};

/// A search. All its workers claim blocks from a shared cursor.
pub(crate) struct Search<'a> {
    /// At the front of the remaining part of a slice.
    pub(crate) cursor: SharedCursor,
    pub(crate) watch: Watch<'a>,
    pub(crate) units: Units,
    pub(crate) log: RoundLog,
}

impl Search<'_> {
    pub(crate) fn run(
        self,
        (threads, turn): (&Threads, &Turn<'_>),
        offer: Offer,
        own: &mut dyn Accumulate,
        others: &dyn Lend,
    ) -> (Times, FirstStop) {
        // From here on, nothing unwinds: user code runs only inside `work`, which catches panics.
        let work = |me| others.lend(me, &mut |acc| self.work(me, acc));
        threads.share(turn, offer, &work, || self.work(0, own));
        self.log.into_inner()
    }

    /// Runs worker `me` until it leaves. Never unwinds. After a panic the worker leaves: all blocks
    /// before the panic are already claimed, and other workers finish them.
    fn work(&self, me: usize, acc: &mut dyn Accumulate) {
        let _inside = Inside::new();
        let mut worker_log = self.log.enter(me, self.units);
        let (mut indices, mut last) = (0, 0..0);
        let searched = catch_unwind(AssertUnwindSafe(|| {
            while let Some(block) = self.cursor.claim() {
                (indices, last) = (indices + block.len(), block.clone());
                self.watch.done(self.units.items(block.clone()).len());
                if self.watch.is_cancelled() {
                    break;
                }
                if let Err(stop) = acc.take(&mut Claims::of(block)) {
                    self.cursor.close();
                    discard(worker_log.stop.note(stop.needed_end, None));
                    break;
                }
            }
            acc.leave();
        }));
        if let Err(panic) = searched {
            self.cursor.close();
            discard(worker_log.stop.note(last.start, Some(panic)));
            acc.abandon();
        }
        worker_log.journal.ran_search(indices, last.end);
        self.log.leave(&mut worker_log, 0);
    }
}
