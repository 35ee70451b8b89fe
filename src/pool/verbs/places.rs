//! Collecting in order: the worker that claims an item writes the item's result once, into its
//! final place.

#![allow(unsafe_code)] // writes into the spare capacity of a Vec from several threads

use std::{
    convert::Infallible,
    iter,
    marker::PhantomData,
    mem::{self, MaybeUninit},
    ops::Range,
    ptr::{self, NonNull},
};

use super::{
    chain::Source,
    kernel::{Claim, Index},
};
use crate::pool::engine::{
    body::Stop,
    ending::{Outcome, discard},
};

/// A `Vec` of `len` results, which the loop `fold` writes to their final places.
///
/// # Panics
/// If the loop goes through although it has not written all results.
pub(crate) fn in_place<R, Z>(
    len: usize,
    fold: impl for<'a> FnOnce(&'a ResultPlaces<'a, R>) -> Outcome<Written<'a, R>, Z>,
) -> Outcome<Vec<R>, Z> {
    let mut results = Vec::new();
    append_in_place(&mut results, len, fold).map(|()| results)
}

/// Appends `len` results, which the loop `fold` writes to their final places. If the loop does not
/// go through, appends none.
///
/// # Panics
/// If the loop goes through although it has not written all results.
pub(crate) fn append_in_place<R, Z>(
    results: &mut Vec<R>,
    len: usize,
    fold: impl for<'a> FnOnce(&'a ResultPlaces<'a, R>) -> Outcome<Written<'a, R>, Z>,
) -> Outcome<(), Z> {
    results.reserve(len);
    let places = ResultPlaces { room: results.spare_capacity_mut().into(), vec: PhantomData };
    fold(&places).map(|written| {
        assert!(
            ptr::eq(written.places, &raw const places) && written.range == (0..len),
            "a loop has left out an item"
        );
        mem::forget(written);
        // SAFETY: *whole*: 1. `len` more results have been reserved; 2. all of them have been
        // written, as just checked.
        unsafe { results.set_len(results.len() + len) };
    })
}

/// Two vectors of `len` results each, which the loop `fold` writes to their final places.
pub(crate) fn in_two_places<A, B>(
    len: usize,
    fold: impl for<'a, 'b> FnOnce(
        &'a ResultPlaces<'a, A>,
        &'b ResultPlaces<'b, B>,
    ) -> Outcome<(Written<'a, A>, Written<'b, B>), Infallible>,
) -> Option<(Vec<A>, Vec<B>)> {
    let mut firsts = None;
    let seconds = in_place(len, |second| {
        let mut others = None;
        let written = in_place(len, |first| {
            fold(first, second).map(|(written, other)| {
                others = Some(other);
                written
            })
        });
        firsts = written.through();
        others.map_or(Outcome::Cancelled, Outcome::Through)
    });
    firsts.zip(seconds.through())
}

/// The spare capacity of a `Vec`, shared by all workers. Only `append_in_place` makes this value,
/// while it borrows the `Vec`.
pub(crate) struct ResultPlaces<'a, R> {
    room: NonNull<[MaybeUninit<R>]>,
    vec: PhantomData<&'a mut Vec<R>>,
}

// SAFETY: 1. a shared `ResultPlaces` gives no access to a result; 2. `Written` moves values of `R`
// into it, and drops them, on any thread, hence `R: Send`.
unsafe impl<R: Send> Sync for ResultPlaces<'_, R> {}

/// A contiguous range of written results. Dropping this drops the results.
pub(crate) struct Written<'a, R> {
    places: &'a ResultPlaces<'a, R>,
    range: Range<usize>,
}

impl<'a, R> Written<'a, R> {
    pub(crate) fn none(places: &'a ResultPlaces<'a, R>) -> Self {
        Self { places, range: 0..0 }
    }

    /// Writes `map(item)` for each claimed item, behind the results already written.
    #[inline(always)]
    pub(crate) fn extend<S: Source>(self, items: Claim<'_, S>, map: impl FnMut(S::Item) -> R) -> Self {
        // SAFETY: *once*: 1. and 2. `range` is the range of a claim.
        unsafe { self.write_some::<S>(items.range(), items.items().map(map)) }
    }

    /// As [`extend`](Self::extend), but stops when `map` fails.
    #[inline(always)]
    pub(crate) fn try_extend<S: Source, Z>(
        self,
        items: Claim<'_, S>,
        mut map: impl FnMut(S::Item) -> Result<R, Z>,
    ) -> Result<Self, Stop<Z>> {
        let range = items.range();
        let mut error = None;
        let results = items.items().map_while(|item| map(item).map_err(|found| error = Some(found)).ok());
        // SAFETY: *once*: 1. and 2. `range` is the range of a claim.
        let written = unsafe { self.write_some::<S>(range, results) };
        match error {
            None => Ok(written),
            Some(found) => Err(Stop::there(written.range.end, found)),
        }
    }

    /// Writes the `results` of a claim of `range` of a source `S`, at most one per item.
    ///
    /// # Safety
    /// 1. and 2. as for [`write`](Self::write).
    #[inline(always)]
    unsafe fn write_some<S: Source>(self, range: Range<usize>, results: impl Iterator<Item = R>) -> Self {
        if const { S::IS_PARTED } {
            let len = range.len();
            // SAFETY: 1. and 2. as the caller promises; 3. `take`.
            return unsafe { self.write(range, results.take(len)) };
        }
        // SAFETY: 1. and 2. as the caller promises; 3. a claim of a source that is not in parts has
        // as many items as indices.
        unsafe { self.write(range, results) }
    }

    /// Writes the results for `range`, behind the results already written.
    ///
    /// # Safety
    /// 1. No one else ever writes at an index of `range`. 2. `range.start <= range.end`. 3. There
    ///    are no more `results` than indices in `range`.
    #[inline(always)]
    unsafe fn write(self, range: Range<usize>, results: impl Iterator<Item = R>) -> Self {
        // SAFETY: 1. and 2. by the caller's contract.
        let mut next = unsafe { self.at(&range) };
        // SAFETY: by the caller's contract, there are no more results than indices.
        results.for_each(|value| unsafe { next.write(value) });
        next.written
    }

    /// The place of the first result for `range`, behind the results already written.
    ///
    /// # Safety
    /// 1. No one else ever writes at an index of `range`. 2. `range.start <= range.end`.
    #[inline(always)]
    unsafe fn at(mut self, range: &Range<usize>) -> NextPlace<'a, R> {
        if self.range.is_empty() {
            self.range = range.start..range.start;
        }
        assert!(self.range.end == range.start && range.end <= self.places.room.len());
        // SAFETY: *inside*: 1. `range.end` is at most the capacity, as just checked; 2.
        // `range.start <= range.end`, by the caller's contract.
        let place = unsafe { self.places.room.cast::<R>().add(range.start) };
        NextPlace { written: self, place }
    }

    /// Writes one result, behind the results already written.
    #[inline(always)]
    pub(crate) fn put(self, index: Index, result: R) -> Self {
        let at = index.spend();
        // SAFETY: *once*: 1. an `Index` is the only right to its place; 2. and 3. one result for
        // one index.
        unsafe { self.write(at..at + 1, iter::once(result)) }
    }

    /// Joins two neighbouring ranges.
    pub(crate) fn join(mut self, next: Self) -> Self {
        if self.range.is_empty() {
            return next;
        }
        assert!(self.range.end == next.range.start, "two runs of a loop do not meet");
        self.range.end = next.range.end;
        mem::forget(next);
        self
    }
}

/// Where the next result of a range is written. The checks of [`Written::at`] hold for all of them.
struct NextPlace<'a, R> {
    written: Written<'a, R>,
    place: NonNull<R>,
}

impl<R> NextPlace<'_, R> {
    /// Writes the next result.
    ///
    /// # Safety
    /// The range has an index that has no result yet.
    #[inline(always)]
    unsafe fn write(&mut self, value: R) {
        // SAFETY: *once*: by the contracts of the caller and of `at`, 1. the place belongs to the
        // range; 2. no one else writes to the place; 3. no one reads it before the loop is over.
        unsafe { self.place.write(value) };
        // SAFETY: the place was in the range, as above, and the range ends within the capacity.
        self.place = unsafe { self.place.add(1) };
        self.written.range.end += 1;
    }
}

/// Writes both results of each claimed item, each behind the results already written to the same
/// vector.
#[inline(always)]
pub(crate) fn extend_both<'a, 'b, S: Source, A, B>(
    (firsts, seconds): (Written<'a, A>, Written<'b, B>),
    items: Claim<'_, S>,
    mut map: impl FnMut(S::Item) -> (A, B),
) -> (Written<'a, A>, Written<'b, B>) {
    let range = items.range();
    // SAFETY: *once*: 1. and 2. `range` is the range of a claim.
    let mut next = unsafe { seconds.at(&range) };
    let firsts_of = items.items().map(|item| {
        let (a, b) = map(item);
        // SAFETY: `write_some` asks for at most one item for each index.
        unsafe { next.write(b) };
        a
    });
    // SAFETY: *once*: 1. and 2. `range` is the range of a claim.
    let firsts = unsafe { firsts.write_some::<S>(range, firsts_of) };
    (firsts, next.written)
}

/// The results of the range.
impl<R> AsMut<[R]> for Written<'_, R> {
    #[inline(always)]
    fn as_mut(&mut self) -> &mut [R] {
        // SAFETY: *inside*: `range` is within the capacity.
        let first = unsafe { self.places.room.cast().add(self.range.start) };
        let mut written = NonNull::slice_from_raw_parts(first, self.range.len());
        // SAFETY: *once*: 1. all of `range` has been written, as in `drop`; 2. no other `Written`
        // has an index of `range`, and this one is borrowed exclusively.
        unsafe { written.as_mut() }
    }
}

/// A panic of a result's drop is not passed on: the other results are dropped, too.
impl<R> Drop for Written<'_, R> {
    fn drop(&mut self) {
        for result in self.as_mut() {
            // SAFETY: all of `range` has been written, by this `Written` or by a `Written` that has
            // joined it. Nothing else drops these results.
            discard(unsafe { ptr::read(result) });
        }
    }
}
