//! How a loop ends: its reasons to stop before the last item, and its result.

use std::{
    any::Any,
    convert::Infallible,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::body::Stop;

/// The payload of a panic.
pub(crate) type Panic = Box<dyn Any + Send>;

/// A value noted at an index of the slice. If several values are noted, only the value at the first
/// index is kept. A loop that stops at an index still folds all items before it. So the first index
/// does not depend on the schedule.
pub(crate) struct Earliest<T>(Option<(usize, T)>);

/// The first stop of a loop: the first index whose item is not needed, the index at which the loop
/// has stopped, and the payload if it has stopped because of a panic.
pub(crate) type FirstStop = Earliest<(usize, Option<Panic>)>;

impl<T> Earliest<T> {
    pub(crate) const NONE: Self = Self(None);

    /// Notes a value at `index`. If there are now two values, returns the later one, which does not
    /// count. The caller must drop this value while it holds no lock.
    pub(crate) fn note(&mut self, index: usize, noted: T) -> Option<T> {
        match &self.0 {
            Some((before, _)) if index >= *before => Some(noted),
            _ => self.0.replace((index, noted)).map(|(_, noted)| noted),
        }
    }

    /// Adds the value that another worker has noted. If there are now two values, returns the later
    /// one, which does not count. The caller must drop this value while it holds no lock.
    pub(crate) fn merge(&mut self, other: Self) -> Option<T> {
        other.0.and_then(|(index, noted)| self.note(index, noted))
    }

    /// Whether nothing was noted.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The value that was noted at the first index.
    pub(crate) fn into_noted(self) -> Option<T> {
        self.0.map(|(_, noted)| noted)
    }
}

impl FirstStop {
    /// Adds a stop. `panic` is its payload if it is a panic.
    pub(crate) fn add(&mut self, Stop { at, needed_end, .. }: Stop, panic: Option<Panic>) {
        discard(self.note(needed_end, (at, panic)));
    }

    /// The index at which the loop has stopped.
    pub(crate) fn at(&self) -> Option<usize> {
        self.0.as_ref().map(|&(_, (at, _))| at)
    }

    /// How a loop has ended, given that `self` is its first stop. The loop counts as cancelled if
    /// its token is cancelled and the loop has not panicked.
    pub(crate) fn into_ended(self, is_cancelled: bool) -> Result<Outcome, Panic> {
        match self.into_noted() {
            Some((_, Some(panic))) => Err(panic),
            _ if is_cancelled => Ok(Outcome::Cancelled),
            Some((_, None)) => Ok(Outcome::Stopped(())),
            None => Ok(Outcome::Through(())),
        }
    }
}

/// How a loop has ended, and its result. `Outcome<(), ()>` has no values, because the values are
/// stored elsewhere. A loop that has panicked has a [`Panic`] instead of an outcome.
#[derive(Debug)]
pub(crate) enum Outcome<A = (), Z = ()> {
    Through(A),
    /// The loop has stopped with this value. If several values were found, this is the value at the
    /// lowest index, or any of them if the loop needs no other item.
    Stopped(Z),
    Cancelled,
}

impl Outcome {
    /// The outcome of a loop that has not folded all items. `found` is the value that was found
    /// first, if any value was found. If the loop has stopped, `found` is the result. If the loop
    /// was cancelled, `found` is dropped. Passes a panic on.
    pub(crate) fn of_early_end<A, Z>(ended: Result<Self, Panic>, found: Option<Z>) -> Outcome<A, Z> {
        match (ended, found) {
            (Ok(Self::Stopped(())), Some(found)) => Outcome::Stopped(found),
            (Ok(Self::Stopped(())), None) => unreachable!("it has stopped where something was found"),
            (Err(panic), found) => {
                discard(found);
                resume_unwind(panic)
            }
            (Ok(Self::Through(()) | Self::Cancelled), found) => {
                discard(found);
                Outcome::Cancelled
            }
        }
    }
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

    /// Of a search for any match no item is needed after the first match. The pool learns how far
    /// the search went.
    #[test]
    fn the_first_stop_says_where_the_loop_has_stopped() {
        let mut first = FirstStop::NONE;
        for (at, needed_end) in [(9, 9), (7, 0), (3, 0), (5, 5)] {
            first.add(Stop { at, needed_end, found: () }, None);
        }
        assert_eq!(first.at(), Some(7));
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
