//! Counts of workers in a loop over a list that grows: those that have work, those that search for
//! some, and those that have gone.
//!
//! A worker that has found nothing for a while leaves the loop, so that the end of the loop never
//! waits for a sleeping worker. `gone` records that, and the worker is called back when items
//! appear. The counts are hints: a worker that is not called back only costs speed, and the loop
//! ends when all workers inside have left.

use crate::sync::{AtomicUsize, Ordering};

/// Padding before and behind the counts, so that no other data shares their cache lines. The
/// aligned memory of `CachePadded` takes longer to allocate.
type Padding = [u64; 16];

/// Counts of workers. Relaxed, since each word stands alone, and nothing is published through it.
#[derive(Debug, Default)]
#[repr(C)] // in this order
pub(crate) struct WorkerCounts {
    _before: Padding,
    /// The number of workers that search now, plus [`CLOSED`](Self::CLOSED) if the loop has
    /// stopped. Owners read this word after each item, and show all their items if it is not 0.
    searchers: AtomicUsize,
    /// The number of workers that have gone and were not called back. The fences of case 10 order
    /// this word.
    gone: AtomicUsize,
    /// The number of workers that have items, or may get some.
    busy: AtomicUsize,
    _behind: Padding,
}

impl WorkerCounts {
    /// The loop has stopped: no item is taken any more.
    const CLOSED: usize = 1 << (usize::BITS - 1);

    /// Whether no worker searches and the loop runs.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.searchers.load(Ordering::Relaxed) == 0
    }

    /// A worker begins to search.
    pub(crate) fn begin_search(&self) {
        self.searchers.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker ends its search.
    pub(crate) fn end_search(&self) {
        self.searchers.fetch_sub(1, Ordering::Relaxed);
    }

    /// Stops the loop.
    pub(crate) fn close(&self) {
        self.searchers.fetch_or(Self::CLOSED, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.searchers.load(Ordering::Relaxed) & Self::CLOSED != 0
    }

    /// A worker has items from now on, or may get some.
    pub(crate) fn begin_work(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// The worker has no items.
    pub(crate) fn end_work(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether no worker inside has items, or the loop has stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0 || self.is_closed()
    }

    /// A worker leaves the loop.
    pub(crate) fn go(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }

    /// Decrements the count of gone workers, because a worker comes back or is called back. Returns
    /// whether the count was above 0.
    pub(crate) fn come_back(&self) -> bool {
        let less_one = |gone: usize| gone.checked_sub(1);
        self.gone.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one).is_ok()
    }

    pub(crate) fn has_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) != 0
    }
}
