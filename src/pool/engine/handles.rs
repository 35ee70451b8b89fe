//! Handles for other threads: they end a loop or show its progress. The handles read the ranges of
//! the loop. The workers of a loop over ranges do not read the handles. A search reads its token
//! between blocks, and a loop over a list that grows checks after each item whether it is over.

use std::{
    fmt,
    ops::Range,
    ptr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use crate::{
    pool::{
        supply::{range::Ranges, wake_queues::WakeQueues, worker_counts::WorkerCounts},
        team::fork::Process,
        tell::units::Units,
    },
    sync::{Mutex, lock},
};

/// Ends loops from any thread.
///
/// A loop with this option ([`On::cancel`](crate::On::cancel)) returns `Err(Cancelled)` if the
/// token was cancelled before the loop was over, even if some items were already done. Cancelling
/// takes the remaining items away from all workers, so workers need not read a flag for each item.
/// After [`cancel`](Self::cancel) has returned, no worker of a shared loop claims another item.
/// Workers still finish the items that they have claimed.
///
/// The size of a claim depends on the time per item, as measured on earlier items. If the last
/// call over the same slice is known, a claim took at most some 2.5 µs in that call.
/// Otherwise a claim has 512 items if an item takes less than 0.25 ns, 64 if an item takes less
/// than 16 ns and large claims have proved faster, 8 if an item takes less than 128 ns, and one
/// item otherwise. In a loop with blocks ([`On::grain`](crate::On::grain),
/// [`On::reproducible`](crate::On::reproducible)), a claim is always one block. A loop on the
/// calling thread alone reads the token after every 8 items or blocks, or after 64 or 512 if those
/// just before took less than 16 ns or 1 ns each. A loop over a list that grows
/// ([`Grow::cancel`](crate::Grow::cancel)) reads the token after each item. A search from the front
/// (`find`, `any`) reads the token between blocks. A block of a search has at most a sixteenth of
/// the number of items already searched.
///
/// All clones act as one token. A cancelled token stays cancelled.
///
/// ```
/// use rangesteal::{CancelToken, Cancelled, Pool};
///
/// let pool = Pool::new()?;
/// let token = CancelToken::new();
/// let items: Vec<u32> = (0..1000).collect();
/// let sum = pool.on(&items).cancel(&token).copied().reduce(|a, b| a + b);
/// assert_eq!(sum, Ok(Some(499_500)));
///
/// let ended = pool.on(&items).cancel(&token).for_each(|x| if *x == 700 { token.cancel() });
/// assert_eq!(ended, Err(Cancelled));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Cancel>);

#[derive(Debug, Default)]
pub(crate) struct Cancel {
    /// The process in which the token was made. A forked child does not touch the token's locks,
    /// and shares no loop with this token.
    process: Process,
    /// Written under the lock. Release and Acquire: a thread that finds the token cancelled sees
    /// all writes made before the cancelling.
    cancelled: AtomicBool,
    /// What ends the running loops of the token.
    ends: Mutex<Vec<Arc<dyn End>>>,
}

/// Ends a loop.
pub(crate) trait End: Send + Sync {
    /// Ends the loop: its workers begin no further item.
    fn end(&self);
}

/// Without the fields, whose `Debug` would be in each program.
impl fmt::Debug for dyn End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("End")
    }
}

/// The ranges of a shared loop.
impl End for Ranges {
    fn end(&self) {
        self.truncate(0);
    }
}

/// A list that grows.
impl End for WorkerCounts {
    fn end(&self) {
        self.close();
    }
}

/// Items that wait.
impl End for WakeQueues {
    fn end(&self) {
        self.stop_at(0);
    }
}

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all running loops and all later loops that have this token. This call takes some
    /// microseconds for each running loop. This call also takes locks, so a signal handler must not
    /// make it. A signal handler can set a flag instead, and a thread can read the flag and cancel.
    ///
    /// ```
    /// let token = rangesteal::CancelToken::new();
    /// assert!(!token.is_cancelled());
    /// token.cancel();
    /// assert!(token.clone().is_cancelled());
    /// ```
    pub fn cancel(&self) {
        let raise = || self.0.cancelled.store(true, Ordering::Release); // partner: `is_cancelled`
        if !self.0.process.is_current() {
            return raise();
        }
        let ends = lock(&self.0.ends);
        raise();
        ends.iter().for_each(|end| end.end());
    }

    /// Whether this token has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire) // partner: `cancel`
    }
}

/// The error of a loop that a [`CancelToken`] has ended. [`CancelToken`] has an example. This type
/// will never have fields, so results can be compared with it: `assert_eq!(result,
/// Err(Cancelled))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the loop was cancelled before it was done")
    }
}

impl std::error::Error for Cancelled {}

/// Tells any thread how many items are done, summed over all loops that have this option
/// ([`On::progress`](crate::On::progress)).
///
/// A progress handle costs the workers nothing: the thread that calls [`done`](Self::done) locks
/// the workers' ranges for a moment and reads them. (In a search from the front, workers count the
/// blocks that they claim.) The count never falls. Claimed items count as done, so the count can be
/// too high by one claim per worker. In a loop on the calling thread alone, the count can be too
/// high by the items of some microseconds. All items of a loop that stops early count as done. An
/// item is one argument of the closure: with [`chunks`](crate::On::chunks), a chunk.
///
/// All clones act as one handle.
///
/// ```
/// use rangesteal::{Pool, Progress};
///
/// let pool = Pool::new()?;
/// let progress = Progress::new();
/// for round in 1..=3 {
///     pool.on(0..1000).progress(&progress).for_each(|_| assert!(progress.done() <= round * 1000));
///     assert_eq!(progress.done(), round * 1000);
/// }
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Progress(Arc<Done>);

#[derive(Debug, Default)]
struct Done {
    /// The process in which the handle was made. A forked child does not touch the handle's locks,
    /// and shares no loop with this handle.
    process: Process,
    /// The number of done items, without the items of running loops. A shared loop changes this
    /// number together with `underway`, while it holds the lock of `underway`. A loop that runs
    /// alone changes only this number. A count: orders nothing.
    items: AtomicUsize,
    underway: Mutex<Vec<Underway>>,
    /// The largest count that `done` has returned so far.
    largest: AtomicUsize,
}

/// A shared loop that is running.
#[derive(Debug)]
struct Underway {
    ranges: Arc<Ranges>,
    /// The queues of waiting items; `None` unless this is a loop whose items wait.
    queues: Option<Arc<WakeQueues>>,
    units: usize,
    items: usize,
}

impl Underway {
    fn done(&self) -> usize {
        let wait = self.queues.as_ref().map_or(0, |queues| queues.under_way().0);
        let done = self.units.saturating_sub(self.ranges.left()).saturating_sub(wait);
        let items = self.items as u128 * done as u128 / (self.units.max(1)) as u128;
        usize::try_from(items).unwrap_or(self.items)
    }
}

impl Progress {
    /// A handle whose count is 0.
    ///
    /// ```
    /// assert_eq!(rangesteal::Progress::new().done(), 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// How many items are done so far. Reads the range of each worker once.
    #[must_use]
    pub fn done(&self) -> usize {
        let underway = self.0.process.is_current().then(|| lock(&self.0.underway));
        let shared: usize = underway.iter().flat_map(|loops| loops.iter()).map(Underway::done).sum();
        let done = self.0.items.load(Ordering::Relaxed).wrapping_add(shared);
        drop(underway);
        done.max(self.0.largest.fetch_max(done, Ordering::Relaxed))
    }
}

/// The handles that follow one loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch<'a> {
    pub(crate) cancel: Option<&'a CancelToken>,
    /// Whether a loop that the token ends has a result: that of the items that are done.
    pub(crate) keeps_result: bool,
    pub(crate) progress: Option<&'a Progress>,
}

impl Watch<'_> {
    /// Whether any handle follows the loop.
    #[inline(always)]
    pub(crate) fn is_on(self) -> bool {
        self.cancel.is_some() || self.progress.is_some()
    }

    /// Whether the handles were made in this process. In a forked child, the locks of the parent's
    /// handles may be held for ever.
    pub(crate) fn is_current(self) -> bool {
        self.cancel.is_none_or(|token| token.0.process.is_current())
            && self.progress.is_none_or(|progress| progress.0.process.is_current())
    }

    /// Whether the token has ended the loop.
    pub(crate) fn is_raised(self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
    }

    /// Whether the token has ended the loop, which therefore has no result.
    pub(crate) fn is_cancelled(self) -> bool {
        !self.keeps_result && self.is_raised()
    }

    /// The handles that threads of this process may lock.
    fn current(self) -> Self {
        if self.is_current() { self } else { Self::default() }
    }

    /// A loop begins. From now on, cancelling the token calls `end`. Ends the loop if the token is
    /// already cancelled.
    pub(crate) fn begin_with(self, end: &Arc<impl End + 'static>) {
        if let Some(token) = self.current().cancel {
            let mut ends = lock(&token.0.ends);
            if token.is_cancelled() {
                end.end();
            }
            ends.push(Arc::clone(end) as _);
        }
    }

    /// The loop of [`begin_with`](Self::begin_with) has ended.
    pub(crate) fn end_with(self, end: &Arc<impl End>) {
        if let Some(CancelToken(token)) = self.current().cancel {
            lock(&token.ends).retain(|other| !ptr::addr_eq(Arc::as_ptr(other), Arc::as_ptr(end)));
        }
    }

    /// The calling thread, alone, has done `items` items.
    pub(crate) fn done(self, items: usize) {
        if let Some(Progress(progress)) = self.progress {
            progress.items.fetch_add(items, Ordering::Relaxed);
        }
    }

    /// A loop over `ranges` begins. Its ranges are partitioned but not yet published.
    pub(crate) fn begin(self, ranges: &Arc<Ranges>, units: Units, indices: Range<usize>) {
        self.begin_underway(ranges, None, units, indices);
    }

    /// A loop over `ranges` begins, whose items wait in `queues`. Its ranges are partitioned but
    /// not yet published.
    pub(crate) fn begin_waiting(
        self,
        ranges: &Arc<Ranges>,
        queues: &Arc<WakeQueues>,
        units: Units,
        indices: Range<usize>,
    ) {
        self.begin_underway(ranges, Some(queues), units, indices);
        self.begin_with(queues);
    }

    fn begin_underway(
        self,
        ranges: &Arc<Ranges>,
        queues: Option<&Arc<WakeQueues>>,
        units: Units,
        indices: Range<usize>,
    ) {
        if let Some(progress) = self.current().progress {
            let (ranges, queues) = (Arc::clone(ranges), queues.cloned());
            let (units, items) = (indices.len(), units.items(indices).len());
            lock(&progress.0.underway).push(Underway { ranges, queues, units, items });
        }
        self.begin_with(ranges);
    }

    /// The loop over `ranges`, whose items waited in `queues`, has ended. The loop had `len` items.
    pub(crate) fn end_waiting(self, ranges: &Arc<Ranges>, queues: &Arc<WakeQueues>, len: usize) {
        self.end_with(queues);
        self.end(ranges);
        self.done(if self.is_current() { 0 } else { len });
    }

    /// The loop over `ranges` has ended.
    pub(crate) fn end(self, ranges: &Arc<Ranges>) {
        self.end_with(ranges);
        if let Some(progress) = self.current().progress {
            let mut underway = lock(&progress.0.underway);
            if let Some(at) = underway.iter().position(|other| Arc::ptr_eq(&other.ranges, ranges)) {
                self.done(underway.swap_remove(at).items);
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::pool::{supply::Fence, tell::units::Blocks};

    fn ranges() -> Arc<Ranges> {
        Arc::new(Ranges::new(2, Fence::Symmetric))
    }

    #[test]
    fn progress_is_what_has_been_claimed() {
        let (progress, ranges) = (Progress::new(), ranges());
        let watch = Watch { progress: Some(&progress), ..Watch::default() };
        let blocks = Units::Blocks { blocks: Blocks { size: 3, len: 29 }, first_leaf: None };
        for before in [0, 29] {
            ranges.partition(0..10, &[5]);
            watch.begin(&ranges, blocks, 0..10);
            assert_eq!(progress.done(), before);
            let (mut owner, first) = ranges.enter(0);
            assert_eq!((first, progress.done()), (Some(0), before + 2), "a block is 2.9 items on average");
            assert_eq!((owner.resolve(3), progress.done()), (1..4, before + 11));
            watch.end(&ranges);
            assert_eq!(progress.done(), before + 29, "all, whatever was left");
        }
    }

    #[test]
    fn a_token_cuts_the_ranges_that_it_knows() {
        let (token, ranges) = (CancelToken::new(), ranges());
        let watch = Watch { cancel: Some(&token), ..Watch::default() };
        let enter = || {
            ranges.partition(0..10, &[5]);
            watch.begin(&ranges, Units::Items, 0..10);
            ranges.left()
        };
        assert_eq!(enter(), 10);
        watch.end(&ranges);
        assert_eq!(enter(), 10);
        token.cancel();
        assert_eq!(ranges.left(), 0);
        watch.end(&ranges);
        assert_eq!(enter(), 0, "one that begins later");
        watch.end(&ranges);
        ranges.partition(0..10, &[5]);
        token.cancel();
        assert_eq!(ranges.left(), 10, "another loop's");
    }

    #[test]
    fn a_token_ends_the_loops_that_it_knows() {
        let token = CancelToken::new();
        let watch = Watch { cancel: Some(&token), ..Watch::default() };
        let [early, over, late] = [(); 3].map(|()| Arc::<WorkerCounts>::default());
        watch.begin_with(&early);
        watch.begin_with(&over);
        watch.end_with(&over);
        token.cancel();
        assert!(early.is_closed());
        assert!(!over.is_closed(), "it ended before");
        watch.begin_with(&late);
        assert!(late.is_closed(), "it began after the token was cancelled");
    }
}
