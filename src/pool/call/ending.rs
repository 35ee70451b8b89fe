//! How a loop ends: what stops it before its last item, and what it returns.

#![allow(unused_qualifications)] // builds for models take the steps from `check`

use std::{
    any::Any,
    convert::Infallible,
    mem,
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
};

use super::body::Stop;
#[cfg(not(any(loom, shuttle, planted)))]
use crate::pool::call::ending as steps;
#[cfg(any(loom, shuttle, planted))]
use crate::pool::check::planted as steps;

/// The payload of a panic.
pub(crate) type Panic = Box<dyn Any + Send>;

/// A value that was noted at a place in the slice: of several, that of the first place. A loop
/// still folds all items before a place where it stops, so this place does not depend on the
/// schedule.
///
/// `Earliest<Option<Panic>>` is where a loop stops, with the payload if it stops by a panic.
pub(crate) struct Earliest<T>(Option<(usize, T)>);

impl<T> Earliest<T> {
    pub(crate) const NONE: Self = Self(None);

    /// Notes a value at `place`. Returns the value that does not count. The caller drops that value
    /// when it holds no lock.
    pub(crate) fn note(&mut self, place: usize, noted: T) -> Option<T> {
        match &self.0 {
            Some((before, _)) if !steps::is_earlier(place, *before) => Some(noted),
            _ => self.0.replace((place, noted)).map(|(_, noted)| noted),
        }
    }

    /// Adds what another worker has noted. Returns the value that does not count. The caller drops
    /// that value when it holds no lock.
    pub(crate) fn merge(&mut self, other: Self) -> Option<T> {
        other.0.and_then(|(place, noted)| self.note(place, noted))
    }

    /// Whether nothing was noted.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// The first place where something was noted.
    pub(crate) fn place(&self) -> Option<usize> {
        self.0.as_ref().map(|&(place, _)| place)
    }

    /// The value that was noted at the first place.
    pub(crate) fn into_noted(self) -> Option<T> {
        self.0.map(|(_, noted)| noted)
    }
}

impl Earliest<Option<Panic>> {
    /// How a loop has ended whose first stop is this. If the loop has not panicked and its token is
    /// cancelled, the loop was cancelled.
    pub(crate) fn into_ended(self, is_cancelled: bool) -> Result<Outcome, Panic> {
        match self.into_noted() {
            Some(Some(panic)) => Err(panic),
            _ if is_cancelled => Ok(Outcome::Cancelled),
            Some(None) => Ok(Outcome::Stopped(())),
            None => Ok(Outcome::Through(())),
        }
    }
}

/// Whether a stop at `place` comes before one at `before`.
#[inline(always)]
pub(crate) fn is_earlier(place: usize, before: usize) -> bool {
    place < before
}

/// Whether a worker goes on after a panic. It always does: perhaps no other worker is there to fold
/// the items before the panic.
#[inline(always)]
pub(crate) fn goes_on_after(_panic: &Panic) -> bool {
    true
}

/// How a loop has ended, and what it returns. Without type parameters, the values are stored
/// elsewhere. A loop that has panicked has a [`Panic`] instead of an outcome.
#[derive(Debug)]
pub(crate) enum Outcome<A = (), Z = ()> {
    Through(A),
    /// The loop has stopped where this value was found. If several values were found, this one has
    /// the lowest index.
    Stopped(Z),
    Cancelled,
}

impl Outcome {
    /// The outcome of a loop that has not folded all items. `found` was found first, if anything
    /// was found. It counts only if the loop has stopped; otherwise it is dropped. Passes a panic
    /// on.
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
    #[inline(always)]
    pub(crate) fn of(folded: Result<A, Stop<Z>>) -> Self {
        match folded {
            Ok(made) => Self::Through(made),
            Err(Stop { found, .. }) => Self::Stopped(found),
        }
    }

    /// Maps the result of a loop that has folded all items.
    #[inline(always)]
    pub(crate) fn map<B>(self, make: impl FnOnce(A) -> B) -> Outcome<B, Z> {
        match self {
            Self::Through(made) => Outcome::Through(make(made)),
            Self::Stopped(found) => Outcome::Stopped(found),
            Self::Cancelled => Outcome::Cancelled,
        }
    }

    /// The result, or the value at which the loop has stopped; `None` if the loop was cancelled.
    #[inline(always)]
    pub(crate) fn ended(self) -> Option<Result<A, Z>> {
        match self {
            Self::Through(made) => Some(Ok(made)),
            Self::Stopped(found) => Some(Err(found)),
            Self::Cancelled => None,
        }
    }
}

impl<A, Z> Outcome<Option<A>, Z> {
    /// The outcome of a loop that has a result even without items: that of `init`.
    #[inline(always)]
    pub(crate) fn or(self, init: impl FnOnce() -> A) -> Outcome<A, Z> {
        self.map(|made| match made {
            Some(made) => made,
            None => init(),
        })
    }
}

impl<A> Outcome<A, Infallible> {
    /// The result of a loop that nothing stops; `None` if it was cancelled.
    #[inline(always)]
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
    if mem::needs_drop::<T>()
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
    {
        mem::forget(payload); // its own drop may panic as well
    }
}
