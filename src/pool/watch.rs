//! Handles by which other threads follow a loop, or end it: they look at its ranges, the workers do not look at them.

use std::{
    fmt, mem,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use super::{
    fork::Process,
    planted::{Bug, is_planted},
    range::Ranges,
    units::Units,
};
use crate::sync::{Mutex, lock};

/// Ends loops from any thread.
///
/// A loop with this option ([`On::cancel`](crate::On::cancel)) returns `Err(Cancelled)` if the token has been cancelled before the
/// loop was over, whatever it had done by then. Cancelling takes the remaining items away from all workers; nobody looks at a flag
/// per item. When [`cancel`](Self::cancel) returns, no worker of a shared loop claims another item; claims in flight end first: of
/// one item; of 8 where items take less than 128 ns each, as measured on those before them; of 64 where they take less than 2 ns;
/// of one block where these were asked for ([`On::grain`](crate::On::grain), [`On::reproducible`](crate::On::reproducible)). A loop that runs
/// on the calling thread alone looks at the token every 8 items or blocks, a search for the first between blocks of at most a
/// sixteenth of what it has looked at.
///
/// Clones are the same token. Once cancelled, it stays so.
///
/// ```
/// use rangesteal::{CancelToken, Cancelled, Pool};
///
/// let pool = Pool::new()?;
/// let token = CancelToken::new();
/// let items: Vec<u32> = (0..1000).collect();
/// let sum = pool.on(&items).cancel(&token).map_reduce(|x| *x, |a, b| a + b);
/// assert_eq!(sum, Ok(Some(499_500)));
///
/// let ended = pool.on(&items).cancel(&token).for_each(|x| if *x == 700 { token.cancel() });
/// assert_eq!(ended, Err(Cancelled));
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CancelToken(Arc<Cancel>);

#[derive(Debug, Default)]
struct Cancel {
    /// In others no lock is touched, and no loop is shared that has this token.
    process: Process,
    /// Written under the lock. Release and Acquire: what was done before cancelling has happened for who finds it cancelled.
    cancelled: AtomicBool,
    /// The ranges of the rounds under way.
    rounds: Mutex<Vec<Arc<Ranges>>>,
}

impl CancelToken {
    /// A token that is not cancelled.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends all loops that have this token, now and from now on. Takes some microseconds a loop under way.
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
        let rounds = lock(&self.0.rounds);
        raise();
        rounds.iter().for_each(|ranges| ranges.cut(0));
    }

    /// Whether it has been cancelled.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.cancelled.load(Ordering::Acquire) // partner: `cancel`
    }

    /// A round begins, dealt but not yet published.
    fn enter(&self, ranges: &Arc<Ranges>) {
        let missed = is_planted(Bug::LooksBeforeItTells) && !self.is_cancelled();
        let mut rounds = lock(&self.0.rounds);
        if self.is_cancelled() && !missed {
            ranges.cut(0);
        }
        rounds.push(Arc::clone(ranges));
    }

    /// It has ended: from here on its ranges are not to be cut.
    fn leave(&self, ranges: &Arc<Ranges>) {
        let mut rounds = lock(&self.0.rounds);
        if let Some(at) = rounds.iter().position(|other| Arc::ptr_eq(other, ranges))
            && !is_planted(Bug::StaysWithToken)
        {
            rounds.swap_remove(at);
        }
    }
}

/// A loop has been ended by a [`CancelToken`], whose documentation has an example. It will never say more than that, so results
/// can be compared with it: `assert_eq!(result, Err(Cancelled))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancelled;

impl fmt::Display for Cancelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the loop was cancelled before it was done")
    }
}

impl std::error::Error for Cancelled {}

/// Tells any thread how many items are done, of all loops that have this option ([`On::progress`](crate::On::progress)).
///
/// It costs the workers nothing: who asks looks at their ranges, for which it locks them for a moment. (In a search for the first, workers count the blocks they claim.) The count
/// never falls. It takes claimed items for done, so it can be ahead by a claim a worker, or, in a loop on the calling thread alone,
/// by some microseconds of items; a loop that stops early counts as done.
/// Items are what the closures are given: with [`chunks`](crate::On::chunks), chunks.
///
/// Clones are the same handle.
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
    /// In others no lock is touched, and no loop is shared that has this handle.
    process: Process,
    /// Items that are done, but for those of the rounds under way. Changed together with these, under their lock; or by a loop that
    /// runs alone. A count: orders nothing.
    items: AtomicUsize,
    rounds: Mutex<Vec<Underway>>,
    /// The most that has been told so far.
    told: AtomicUsize,
}

/// A round under way.
#[derive(Debug)]
struct Underway {
    ranges: Arc<Ranges>,
    units: usize,
    items: usize,
}

impl Underway {
    fn done(&self) -> usize {
        let done = self.units.saturating_sub(self.ranges.left());
        let items = self.items as u128 * done as u128 / (self.units.max(1)) as u128;
        usize::try_from(items).unwrap_or(self.items)
    }
}

impl Progress {
    /// A handle of nothing done yet.
    ///
    /// ```
    /// assert_eq!(rangesteal::Progress::new().done(), 0);
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Items done so far. Looks once at the range of each worker.
    #[must_use]
    pub fn done(&self) -> usize {
        let rounds = self.0.process.is_current().then(|| lock(&self.0.rounds));
        let underway: usize = rounds.iter().flat_map(|rounds| rounds.iter()).map(Underway::done).sum();
        let done = self.0.items.load(Ordering::Relaxed).wrapping_add(underway);
        drop(rounds);
        done.max(self.0.told.fetch_max(done, Ordering::Relaxed))
    }

    fn add(&self, items: usize) {
        self.0.items.fetch_add(items, Ordering::Relaxed);
    }
}

/// The handles that follow one loop.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watch<'a> {
    pub(crate) cancel: Option<&'a CancelToken>,
    pub(crate) progress: Option<&'a Progress>,
}

impl Watch<'_> {
    /// Whether anybody does.
    #[inline(always)]
    pub(crate) fn is_on(self) -> bool {
        self.cancel.is_some() || self.progress.is_some()
    }

    /// Whether the handles are of this process. Others may have been locked when it was forked.
    pub(crate) fn is_current(self) -> bool {
        self.cancel.is_none_or(|token| token.0.process.is_current())
            && self.progress.is_none_or(|progress| progress.0.process.is_current())
    }

    pub(crate) fn is_cancelled(self) -> bool {
        self.cancel.is_some_and(CancelToken::is_cancelled)
    }

    /// The calling thread, alone, has done some items.
    pub(crate) fn done(self, items: usize) {
        if let Some(progress) = self.progress {
            progress.add(items);
        }
    }

    /// A round begins, dealt but not yet published.
    pub(crate) fn enter(self, ranges: &Arc<Ranges>, units: Units<'_>, round: std::ops::Range<usize>) {
        if let Some(progress) = self.progress
            && !matches!(units, Units::Searchers(_))
        {
            let ranges = Arc::clone(ranges);
            let (units, items) = (round.len(), units.items(round));
            lock(&progress.0.rounds).push(Underway { ranges, units, items });
        }
        if let Some(token) = self.cancel {
            token.enter(ranges);
        }
    }

    /// It has ended.
    pub(crate) fn leave(self, ranges: &Arc<Ranges>) {
        if let Some(token) = self.cancel {
            token.leave(ranges);
        }
        if let Some(progress) = self.progress {
            let mut rounds = lock(&progress.0.rounds);
            if let Some(at) = rounds.iter().position(|other| Arc::ptr_eq(&other.ranges, ranges)) {
                progress.add(mem::take(&mut rounds.swap_remove(at).items));
            }
        }
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;
    use crate::pool::{fence::Fence, range::Stealing, units::Blocks};

    fn ranges() -> Arc<Ranges> {
        Arc::new(Ranges::new(2, Fence::Symmetric, Stealing::Largest))
    }

    #[test]
    fn progress_is_what_has_been_claimed() {
        let (progress, ranges) = (Progress::new(), ranges());
        let watch = Watch { cancel: None, progress: Some(&progress) };
        let blocks = Units::Blocks(Blocks { size: 3, len: 29 });
        for before in [0, 29] {
            ranges.deal(0..10, &[5]);
            watch.enter(&ranges, blocks, 0..10);
            assert_eq!(progress.done(), before);
            let (mut owner, first) = ranges.enter(0);
            assert_eq!((first, progress.done()), (Some(0), before + 2), "a block is 2.9 items on average");
            assert_eq!((owner.settle(3), progress.done()), (1..4, before + 11));
            watch.leave(&ranges);
            assert_eq!(progress.done(), before + 29, "all, whatever was left");
        }
    }

    #[test]
    fn a_token_cuts_the_rounds_that_it_knows() {
        let (token, ranges) = (CancelToken::new(), ranges());
        let watch = Watch { cancel: Some(&token), progress: None };
        let enter = || {
            ranges.deal(0..10, &[5]);
            watch.enter(&ranges, Units::Items, 0..10);
            ranges.left()
        };
        assert_eq!(enter(), 10);
        watch.leave(&ranges);
        assert_eq!(enter(), 10);
        token.cancel();
        assert_eq!(ranges.left(), 0);
        watch.leave(&ranges);
        assert_eq!(enter(), 0, "one that begins later");
        watch.leave(&ranges);
        ranges.deal(0..10, &[5]);
        token.cancel();
        assert_eq!(ranges.left(), 10, "another loop's");
    }
}
