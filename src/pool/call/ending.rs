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

/// What was noted at a place in the slice. If it is noted at several places, the first one counts.
/// A loop still folds everything before a place where it stops, so that place is the same whatever
/// the schedule.
pub(crate) struct Earliest<T>(Option<(usize, T)>);

impl<T> Earliest<T> {
    pub(crate) const NONE: Self = Self(None);

    /// Notes something at `place`. Returns what does not count, which the caller drops when it
    /// holds no lock.
    pub(crate) fn note(&mut self, place: usize, noted: T) -> Option<T> {
        match &self.0 {
            Some((before, _)) if !steps::is_earlier(place, *before) => Some(noted),
            _ => self.0.replace((place, noted)).map(|(_, noted)| noted),
        }
    }

    /// Adds what another worker has noted. Returns what does not count, which the caller drops when
    /// it holds no lock.
    pub(crate) fn merge(&mut self, other: Self) -> Option<T> {
        other.0.and_then(|(place, noted)| self.note(place, noted))
    }

    /// The first place where something was noted.
    pub(crate) fn place(&self) -> Option<usize> {
        self.0.as_ref().map(|&(place, _)| place)
    }

    /// What was noted at the first place.
    pub(crate) fn into_noted(self) -> Option<T> {
        self.0.map(|(_, noted)| noted)
    }
}

/// Where a loop stops before its last item, with the payload if that is a panic.
pub(crate) type FirstStop = Earliest<Option<Panic>>;

impl FirstStop {
    /// Whether nothing has stopped the loop.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    /// How a loop with this stop has ended.
    pub(crate) fn how(self, is_cancelled: bool) -> How {
        match self.into_noted() {
            Some(Some(panic)) => How::Panic(panic),
            _ if is_cancelled => How::Cancelled,
            Some(None) => How::Stopped,
            None => How::Through,
        }
    }
}

/// Whether a stop at `place` comes first in the slice.
#[inline(always)]
pub(crate) fn is_earlier(place: usize, before: usize) -> bool {
    place < before
}

/// Whether a worker goes on after a panic: always, since perhaps no other worker is there to fold
/// the items before it.
#[inline(always)]
pub(crate) fn goes_on_after(_panic: &Panic) -> bool {
    true
}

/// How a loop has ended.
pub(crate) enum How {
    Through,
    /// Something was found.
    Stopped,
    Cancelled,
    Panic(Panic),
}

impl How {
    /// The outcome of a loop that has not gone through. `found` is what was found first, if
    /// anything was; it does not count if the loop has ended in another way.
    pub(crate) fn short_of_the_end<A, Z>(self, found: Option<Z>) -> Outcome<A, Z> {
        match (self, found) {
            (Self::Stopped, Some(found)) => Outcome::Stopped(found),
            (Self::Stopped, None) => unreachable!("it has stopped where something was found"),
            (Self::Panic(panic), found) => {
                discard(found);
                resume_unwind(panic)
            }
            (_, found) => {
                discard(found);
                Outcome::Cancelled
            }
        }
    }
}

/// What a loop returns.
#[derive(Debug)]
pub(crate) enum Outcome<A, Z> {
    Through(A),
    /// It has stopped where this was found; if several were found, the one with the lowest index.
    Stopped(Z),
    Cancelled,
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

    /// Maps the result of a loop that went through.
    #[inline(always)]
    pub(crate) fn map<B>(self, make: impl FnOnce(A) -> B) -> Outcome<B, Z> {
        match self {
            Self::Through(made) => Outcome::Through(make(made)),
            Self::Stopped(found) => Outcome::Stopped(found),
            Self::Cancelled => Outcome::Cancelled,
        }
    }

    /// The result or what the loop has stopped at; none if it was cancelled.
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
    /// The result of a loop that nothing stops; none if it was cancelled.
    #[inline(always)]
    pub(crate) fn through(self) -> Option<A> {
        match self {
            Self::Through(made) => Some(made),
            Self::Cancelled => None,
        }
    }
}

/// Drops a value that is not needed any more. If the drop panics, that panic is not passed on: the
/// caller gets at most one.
pub(crate) fn discard<T>(value: T) {
    if mem::needs_drop::<T>()
        && let Err(payload) = catch_unwind(AssertUnwindSafe(|| drop(value)))
    {
        mem::forget(payload); // its own drop may panic as well
    }
}
