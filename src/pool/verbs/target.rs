//! Appending items to a vector at their final places, by whoever knows these places: rayon's
//! consumers of a known number of items.

#![allow(unsafe_code)] // writes into the spare capacity of a Vec from several threads

use std::{fmt, marker::PhantomData, mem, ptr, ptr::NonNull};

use crate::pool::engine::ending::discard;

/// Appends `len` items to a vector. `write` writes them, and returns the whole target.
///
/// # Panics
/// If the result of `write` is not the whole target, with all items written.
#[doc(hidden)]
pub fn append_to_target<T>(
    to: &mut Vec<T>,
    len: usize,
    write: impl for<'v> FnOnce(Target<'v, T>) -> Target<'v, T>,
) {
    to.reserve(len);
    let first = NonNull::from(to.spare_capacity_mut()).cast();
    let written = write(Target { first, len, written: 0, vec: PhantomData });
    assert!(
        written.first == first && written.written == len,
        "expected {len} total writes, but got {}",
        written.written
    );
    mem::forget(written);
    // SAFETY: *whole*: 1. `len` more items have been reserved; 2. that many have been written
    // behind one another from the first place on, as just checked.
    unsafe { to.set_len(to.len() + len) };
}

/// Neighbouring places in the spare capacity of a vector, for one writer. The first places have
/// been written. Dropping this drops the items in them.
#[doc(hidden)]
pub struct Target<'v, T> {
    first: NonNull<T>,
    len: usize,
    written: usize,
    vec: PhantomData<&'v mut [T]>,
}

// SAFETY: a `Target` is an exclusive reference to places and owns the items in them, and both are
// `Send` if the items are.
unsafe impl<T: Send> Send for Target<'_, T> {}

impl<T> fmt::Debug for Target<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Target").field("len", &self.len).field("written", &self.written).finish()
    }
}

impl<T> Target<'_, T> {
    /// The first `len` places, and the other places.
    ///
    /// # Panics
    /// If there are fewer than `len` places, or if an item has been written.
    #[must_use]
    pub fn split_at(self, len: usize) -> (Self, Self) {
        assert!(len <= self.len && self.written == 0, "split_at({len}) of {self:?}");
        let (vec, written) = (PhantomData, 0);
        // SAFETY: *inside*: `len` is at most the number of places, as just checked.
        let middle = unsafe { self.first.add(len) };
        (
            Self { first: self.first, len, written, vec },
            Self { first: middle, len: self.len - len, written, vec },
        )
    }

    /// Writes the next item.
    ///
    /// # Panics
    /// If all places have been written.
    #[inline(always)]
    pub fn push(&mut self, item: T) {
        assert!(self.written < self.len, "too many values pushed to consumer");
        // SAFETY: *inside*: `written` is less than the number of places, as just checked.
        let place = unsafe { self.first.add(self.written) };
        // SAFETY: *once*: 1. the place belongs to this target alone, since `split_at` gives it to
        // one of two parts; 2. it has not been written, since places are written in order.
        unsafe { place.write(item) };
        self.written += 1;
    }

    /// Moves all items of a vector to the next places.
    ///
    /// # Panics
    /// If there are fewer places.
    pub fn append(&mut self, mut items: Vec<T>) {
        let count = items.len();
        assert!(count <= self.len - self.written, "too many values pushed to consumer");
        // SAFETY: *inside*: as in `push`.
        let place = unsafe { self.first.add(self.written) };
        // SAFETY: 1. `count` items can be read, and `count` places can be written, as just checked;
        // 2. the places are exclusive, so they do not overlap the vector.
        unsafe { ptr::copy_nonoverlapping(items.as_ptr(), place.as_ptr(), count) };
        // SAFETY: all items have been moved out.
        unsafe { items.set_len(0) };
        self.written += count;
    }

    /// Joins the target with the next one, if all places between the written ones are written.
    /// Otherwise drops the items of the next one.
    #[must_use]
    pub fn join(mut self, next: Self) -> Self {
        // SAFETY: *inside*: the address behind the last place is that of a place, or of the end of
        // the vector's memory.
        let end = unsafe { self.first.add(self.len) };
        if self.written == self.len && end == next.first {
            self.len += next.len;
            self.written += next.written;
            mem::forget(next);
        }
        self
    }
}

impl<T> Drop for Target<'_, T> {
    /// A panic of an item's drop is not passed on: the other items are dropped, too.
    fn drop(&mut self) {
        if !mem::needs_drop::<T>() {
            return;
        }
        for at in 0..self.written {
            // SAFETY: *inside*: `written` is at most the number of places.
            let place = unsafe { self.first.add(at) };
            // SAFETY: the place has been written, and nothing else reads it.
            discard(unsafe { place.read() });
        }
    }
}
