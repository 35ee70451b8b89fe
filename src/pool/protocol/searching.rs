//! Who has work, who looks for some and who has gone, in a loop over a list that grows.
//!
//! A worker that has found nothing for a while leaves the loop, as from any other, so that the end
//! of the loop waits for nobody who sleeps. It leaves word, and is called back when there is
//! something. The counts are hints: who is missed comes late, and the loop ends all the same when
//! all who are inside have left.

use crate::sync::{AtomicUsize, Ordering};

/// No other data lies in the cache lines of what is between two of these. (`CachePadded` would make
/// each list ask for aligned memory, which takes the allocator 60 ns longer.)
type Padding = [u64; 16];

/// Counts of workers. Relaxed, except where something else is said: each word stands alone, and
/// nothing is published through it.
#[derive(Debug)]
#[repr(C)] // in this order
pub(crate) struct Searching {
    _before: Padding,
    /// How many workers look for something at this moment; and [`CLOSED`](Self::CLOSED). Owners
    /// look at it after each item, and show all that they have.
    looking: AtomicUsize,
    /// How many workers have gone, and have not been called back.
    gone: AtomicUsize,
    /// How many workers may have items, or get some.
    busy: AtomicUsize,
    _behind: Padding,
}

impl Searching {
    /// Nothing is taken any more: the loop has stopped.
    const CLOSED: usize = 1 << (usize::BITS - 1);

    pub(crate) fn new() -> Self {
        let zero = || AtomicUsize::new(0);
        Self { _before: [0; 16], looking: zero(), gone: zero(), busy: zero(), _behind: [0; 16] }
    }

    /// Whether nobody looks for anything, and the loop has not stopped.
    #[inline(always)]
    pub(crate) fn is_quiet(&self) -> bool {
        self.looking.load(Ordering::Relaxed) == 0
    }

    /// A worker begins to look for something.
    pub(crate) fn look(&self) {
        self.looking.fetch_add(1, Ordering::Relaxed);
    }

    /// A worker looks no more.
    pub(crate) fn look_away(&self) {
        self.looking.fetch_sub(1, Ordering::Relaxed);
    }

    /// The loop has stopped.
    pub(crate) fn close(&self) {
        self.looking.fetch_or(Self::CLOSED, Ordering::Relaxed);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.looking.load(Ordering::Relaxed) & Self::CLOSED != 0
    }

    /// A worker may have items from now on, or get some.
    pub(crate) fn begin(&self) {
        self.busy.fetch_add(1, Ordering::Relaxed);
    }

    /// It has none.
    pub(crate) fn end(&self) {
        self.busy.fetch_sub(1, Ordering::Relaxed);
    }

    /// Whether nobody who is inside has items, or the loop has stopped.
    pub(crate) fn is_over(&self) -> bool {
        self.busy.load(Ordering::Relaxed) == 0 || self.is_closed()
    }

    /// A worker goes.
    pub(crate) fn go(&self) {
        self.gone.fetch_add(1, Ordering::Relaxed);
    }

    /// Takes one from the count of those that have gone: it comes back, or is called. Returns
    /// whether there was one.
    pub(crate) fn come(&self) -> bool {
        let less_one = |gone: usize| gone.checked_sub(1);
        self.gone.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less_one).is_ok()
    }

    pub(crate) fn has_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed) != 0
    }
}
