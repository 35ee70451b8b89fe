//! What the policy is given instead of fetching it: the time between two calls, and chance.

use std::{cell::Cell, time::Duration};

use crate::{
    clock::Instant,
    pool::policy::{
        launch::{Draw, Gap},
        site::GOLDEN,
    },
    sync::{AtomicU64, Ordering},
};

/// The time between calls, in a pool whose helpers stay awake for a while after a loop.
#[derive(Debug)]
pub(crate) struct Gaps {
    patience: Duration,
    /// When this was made, and how many nanoseconds later the last call was. Relaxed: it is a hint.
    made: Instant,
    last: AtomicU64,
}

impl Gaps {
    pub(crate) fn new(patience: Duration) -> Self {
        Self { patience, made: Instant::now(), last: AtomicU64::new(0) }
    }

    /// The gap before the call that begins now. None: helpers sleep at once.
    pub(crate) fn gap(&self) -> Option<Gap> {
        let Self { patience, made, .. } = *self;
        if patience.is_zero() {
            return None;
        }
        let now = made.elapsed();
        let now_nanos = u64::try_from(now.as_nanos()).unwrap_or(u64::MAX);
        let last = self.last.swap(now_nanos, Ordering::Relaxed);
        Some(Gap { between: now.saturating_sub(Duration::from_nanos(last)), patience })
    }
}

/// The next number of this thread.
///
/// This does not count calls: if short loops alternate, a fixed period would always hit the same
/// one. Multiples of the golden ratio spread evenly, and so does every second or third of them.
/// Each thread has its own sequence, since a word that all callers of a pool write would cost each
/// of them a cache miss.
#[inline(always)]
pub(crate) fn draw() -> Draw {
    thread_local!(static LAST: Cell<u64> = const { Cell::new(0) });
    LAST.with(|last| {
        last.set(last.get().wrapping_add(GOLDEN));
        Draw(last.get())
    })
}
