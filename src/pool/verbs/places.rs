//! Ordered collecting: every result is written once, into its final place, by the worker that
//! claimed the item.

#![allow(unsafe_code)] // writes into the spare room of a Vec from several threads

use std::{
    iter,
    marker::PhantomData,
    mem,
    ops::Range,
    ptr::{self, NonNull},
};

use super::{
    chain::Source,
    kernel::{Claim, Index},
};
use crate::pool::call::body::Stop;

/// A `Vec` of `len` results, which `fold` writes at their final places; or why it has not.
///
/// # Panics
/// If `fold` has left out any result.
pub(crate) fn in_place<R, X>(
    len: usize,
    fold: impl for<'a> FnOnce(&'a ResultPlaces<'a, R>) -> Result<Written<'a, R>, X>,
) -> Result<Vec<R>, X> {
    let mut results = Vec::new();
    append_in_place(&mut results, len, fold).map(|()| results)
}

/// Appends `len` results, which `fold` writes at their final places; or tells why it has not, and
/// appends none.
///
/// # Panics
/// If `fold` has left out any result.
pub(crate) fn append_in_place<R, X>(
    results: &mut Vec<R>,
    len: usize,
    fold: impl for<'a> FnOnce(&'a ResultPlaces<'a, R>) -> Result<Written<'a, R>, X>,
) -> Result<(), X> {
    results.reserve(len);
    let places = ResultPlaces::new(results);
    let written = fold(&places)?;
    assert!(
        ptr::eq(written.places, &raw const places) && written.range == (0..len),
        "a loop has left out an item"
    );
    mem::forget(written);
    // SAFETY: *whole*: 1. there is room for as many more; 2. all of it has been written, as just
    // checked.
    unsafe { results.set_len(results.len() + len) };
    Ok(())
}

/// Two of them, of the same length; none if `fold` returns none.
pub(crate) fn in_two_places<A, B>(
    len: usize,
    fold: impl for<'a, 'b> FnOnce(
        &'a ResultPlaces<'a, A>,
        &'b ResultPlaces<'b, B>,
    ) -> Option<(Written<'a, A>, Written<'b, B>)>,
) -> Option<(Vec<A>, Vec<B>)> {
    let mut firsts = Err(());
    let seconds = in_place(len, |second| {
        let mut others = Err(());
        firsts = in_place(len, |first| {
            let (written, other) = fold(first, second).ok_or(())?;
            others = Ok(other);
            Ok(written)
        });
        others
    });
    firsts.ok().zip(seconds.ok())
}

/// The spare room of a `Vec`, shared by all workers.
pub(crate) struct ResultPlaces<'a, R> {
    base: NonNull<R>,
    capacity: usize,
    room: PhantomData<&'a mut [R]>,
}

// SAFETY: 1. a shared `ResultPlaces` gives no access to a result; 2. `Written` moves values of `R`
// in and drops them there, from any thread, hence `R: Send`.
unsafe impl<R: Send> Sync for ResultPlaces<'_, R> {}

impl<'a, R> ResultPlaces<'a, R> {
    fn new(results: &'a mut Vec<R>) -> Self {
        let room = results.spare_capacity_mut();
        Self { capacity: room.len(), base: NonNull::from(room).cast(), room: PhantomData }
    }
}

/// Results that lie next to each other, all written. Dropping this drops the results.
pub(crate) struct Written<'a, R> {
    places: &'a ResultPlaces<'a, R>,
    range: Range<usize>,
}

impl<'a, R> Written<'a, R> {
    pub(crate) fn none(places: &'a ResultPlaces<'a, R>) -> Self {
        Self { places, range: 0..0 }
    }

    /// Writes what `map` makes of claimed items behind the results written before, if any.
    #[inline(always)]
    pub(crate) fn extend<S: Source>(self, items: Claim<'_, S>, map: impl FnMut(S::Item) -> R) -> Self {
        let range = items.range();
        // SAFETY: *once*: 1. and 2. it is a claim; 3. there are as many items as indices.
        unsafe { self.write(range, items.items().map(map)) }
    }

    /// The same, until `map` fails.
    #[inline(always)]
    pub(crate) fn try_extend<S: Source, Z>(
        self,
        items: Claim<'_, S>,
        mut map: impl FnMut(S::Item) -> Result<R, Z>,
    ) -> Result<Self, Stop<Z>> {
        let range = items.range();
        let (mut at, mut error) = (range.start, None);
        let results = items.items().map_while(|item| match map(item) {
            Ok(result) => {
                at += 1;
                Some(result)
            }
            Err(found) => {
                error = Some(found);
                None
            }
        });
        // SAFETY: *once*: 1. and 2. it is a claim; 3. there are no more results than indices.
        let written = unsafe { self.write(range, results) };
        match error {
            None => Ok(written),
            Some(found) => Err(Stop::there(at, found)),
        }
    }

    /// Writes results for `range`, which follow those written before, if any.
    ///
    /// # Safety
    /// 1. Nobody else ever writes at an index of `range`. 2. `range.start <= range.end`. 3. There
    ///    are no more `results` than indices in `range`.
    #[inline(always)]
    unsafe fn write(mut self, range: Range<usize>, results: impl Iterator<Item = R>) -> Self {
        if self.range.is_empty() {
            self.range = range.start..range.start;
        }
        assert!(self.range.end == range.start && range.end <= self.places.capacity);
        // SAFETY: *inside*: 1. `range.end` is at most the capacity, as just checked; 2.
        // `range.start` is not behind it, as promised.
        let mut place = unsafe { self.places.base.add(range.start) };
        results.for_each(|value| {
            // SAFETY: *once*: 1. it is a place of `range`, since there are no more results, as
            // promised; 2. nobody else writes here, as promised; 3. nobody reads before the loop is
            // over.
            unsafe { place.write(value) };
            // SAFETY: this was a place of `range`, as above, and that ends within the capacity.
            place = unsafe { place.add(1) };
            self.range.end += 1;
        });
        self
    }

    /// Writes one result, behind those written before, if any.
    #[inline(always)]
    pub(crate) fn put(self, index: Index, result: R) -> Self {
        let at = index.spend();
        // SAFETY: *once*: 1. who has the `Index` has the only right to this place; 2. and 3. one
        // result for one index.
        unsafe { self.write(at..at + 1, iter::once(result)) }
    }

    /// Joins two neighbours.
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

/// Writes both results for each of the claimed items, each behind those written before.
#[inline(always)]
pub(crate) fn extend_both<'a, 'b, S: Source, A, B>(
    (mut firsts, mut seconds): (Written<'a, A>, Written<'b, B>),
    items: Claim<'_, S>,
    mut map: impl FnMut(S::Item) -> (A, B),
) -> (Written<'a, A>, Written<'b, B>) {
    for (at, item) in items.numbered() {
        let (a, b) = map(item);
        // SAFETY: *once*: 1. and 2. it is claimed; 3. one result for one index.
        firsts = unsafe { firsts.write(at..at + 1, iter::once(a)) };
        // SAFETY: *once*: likewise.
        seconds = unsafe { seconds.write(at..at + 1, iter::once(b)) };
    }
    (firsts, seconds)
}

impl<R> Drop for Written<'_, R> {
    fn drop(&mut self) {
        // SAFETY: *inside*: `range` lies within the capacity.
        let first = unsafe { self.places.base.add(self.range.start) };
        let written = NonNull::slice_from_raw_parts(first, self.range.len());
        // SAFETY: all of `range` has been written, here or by a run that joined, and nothing else
        // drops it.
        unsafe { written.drop_in_place() };
    }
}
