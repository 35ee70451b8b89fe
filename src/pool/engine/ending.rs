//! How a loop ends: its reasons to stop before the last item, and its result.

use std::{
    any::Any,
    convert::Infallible,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::PoisonError,
};

use super::body::Stop;
use crate::sync::{Mutex, lock};

/// The payload of a panic.
pub(crate) type Panic = Box<dyn Any + Send>;

/// Where a loop stops before its last index.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopAt {
    pub(crate) at: usize,
    /// Indices from this one on are no longer needed: 0 if no index is needed, and `at` otherwise.
    pub(crate) needed_end: usize,
}

impl StopAt {
    /// A stop at `at`. The indices before `at` are still needed.
    pub(crate) fn there(at: usize) -> Self {
        Self { at, needed_end: at }
    }

    /// Whether this stop counts, of this one and another.
    fn is_before(self, other: Self) -> bool {
        (self.needed_end, self.at) < (other.needed_end, other.at)
    }
}

/// The first stop of a loop, with the value or the panic that has stopped it. A loop that stops at
/// an index still folds all items before it, so its first stop does not depend on the schedule.
/// (A search for any match needs no other item, so this one does.)
pub(crate) struct FirstStop<Z>(Mutex<Option<(StopAt, Result<Z, Panic>)>>);

impl<Z> FirstStop<Z> {
    /// No stop is noted yet.
    pub(crate) fn none() -> Self {
        Self(Mutex::new(None))
    }

    /// Notes a stop. If there are now two, drops the one that does not count.
    pub(crate) fn note(&self, stop: StopAt, found: Result<Z, Panic>) {
        let mut first = lock(&self.0);
        let later = match &*first {
            Some((before, _)) if !stop.is_before(*before) => Some((stop, found)),
            _ => first.replace((stop, found)),
        };
        drop(first); // no lock is held while user code drops a value
        discard(later);
    }

    /// The index at which the loop has stopped.
    pub(crate) fn at(&self) -> Option<usize> {
        lock(&self.0).as_ref().map(|(stop, _)| stop.at)
    }

    /// Whether the loop, which has ended, has stopped.
    pub(crate) fn is_noted(&mut self) -> bool {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// The outcome of a loop that has not folded all items. A panic is passed on, even if the loop
    /// was cancelled. If the loop was cancelled, a found value is dropped.
    pub(crate) fn into_outcome<A>(self, is_cancelled: bool) -> Outcome<A, Z> {
        match self.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, Err(panic))) => resume_unwind(panic),
            Some((_, Ok(found))) if !is_cancelled => Outcome::Stopped(found),
            found => {
                discard(found);
                Outcome::Cancelled
            }
        }
    }
}

/// How a loop has ended, and its result. A loop that has panicked has no outcome.
#[derive(Debug)]
pub(crate) enum Outcome<A, Z> {
    Through(A),
    /// The loop has stopped with this value. If several values were found, this is the value at the
    /// lowest index.
    Stopped(Z),
    Cancelled,
}

impl<A, Z> Outcome<A, Z> {
    /// The outcome of the plain loop.
    #[inline]
    pub(crate) fn of(folded: Result<A, Stop<Z>>) -> Self {
        match folded {
            Ok(made) => Self::Through(made),
            Err(Stop { found, .. }) => Self::Stopped(found),
        }
    }

    /// Maps the result of a loop that has folded all items.
    #[inline]
    pub(crate) fn map<B>(self, make: impl FnOnce(A) -> B) -> Outcome<B, Z> {
        match self {
            Self::Through(made) => Outcome::Through(make(made)),
            Self::Stopped(found) => Outcome::Stopped(found),
            Self::Cancelled => Outcome::Cancelled,
        }
    }

    /// The result, or the value at which the loop has stopped; `None` if the loop was cancelled.
    #[inline]
    pub(crate) fn ended(self) -> Option<Result<A, Z>> {
        match self {
            Self::Through(made) => Some(Ok(made)),
            Self::Stopped(found) => Some(Err(found)),
            Self::Cancelled => None,
        }
    }
}

impl<A, Z> Outcome<Option<A>, Z> {
    /// The outcome of a loop that has a result even without items. Without items the result is
    /// `init()`.
    #[inline]
    pub(crate) fn or(self, init: impl FnOnce() -> A) -> Outcome<A, Z> {
        self.map(|made| match made {
            Some(made) => made,
            None => init(),
        })
    }
}

impl<A> Outcome<A, Infallible> {
    /// The result of a loop that cannot stop early; `None` if the loop was cancelled.
    #[inline]
    pub(crate) fn through(self) -> Option<A> {
        match self {
            Self::Through(made) => Some(made),
            Self::Cancelled => None,
        }
    }
}

/// Drops a value that is no longer needed. A panic of the drop is not passed on: the caller of a
/// loop gets at most one panic.
pub(crate) fn discard<T>(value: T) {
    if mem::needs_drop::<T>() {
        attempt(|| drop(value));
    }
}

/// Runs `drops`, which drops values that are no longer needed. A panic is not passed on.
pub(crate) fn attempt(drops: impl FnOnce()) {
    let Err(payload) = catch_unwind(AssertUnwindSafe(drops)) else { return };
    // The drop of the payload may panic, too. The payload of that panic is forgotten: its drop may
    // panic again, without end.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        mem::forget(payload);
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{panic::panic_any, sync::Arc};

    use super::*;

    /// The drop of this value panics with a payload that has the second part.
    struct Bad(Option<Arc<()>>, fn(Arc<()>));

    impl Drop for Bad {
        fn drop(&mut self) {
            if let Some(part) = self.0.take() {
                (self.1)(part);
            }
        }
    }

    /// Of a search for any match no item is needed after a match. Of two matches, the one at the
    /// lower index counts.
    #[test]
    fn the_first_stop_counts_whatever_the_order_of_the_stops() {
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let first = FirstStop::none();
            for (at, needed_end) in order.map(|stop| [(9, 9), (7, 0), (3, 0), (5, 5)][stop]) {
                first.note(StopAt { at, needed_end }, Ok(at));
            }
            assert_eq!(first.at(), Some(3));
            assert!(matches!(first.into_outcome::<()>(false), Outcome::Stopped(3)));
        }
    }

    #[test]
    fn the_payload_of_a_discarded_panic_is_dropped() {
        let counted = Arc::new(());
        discard(Bad(Some(Arc::clone(&counted)), |part| panic_any(part)));
        assert_eq!(Arc::strong_count(&counted), 1, "the payload is still there");
        // The drop of the payload panics, too.
        let again = |part| panic_any(Bad(Some(part), |part| panic_any(part)));
        discard(Bad(Some(Arc::clone(&counted)), again));
        assert_eq!(Arc::strong_count(&counted), 2, "the last payload is forgotten");
    }
}
