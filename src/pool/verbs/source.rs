//! What a loop runs over: slices, shared or exclusive, index ranges, and combinations of these.

#![allow(unsafe_code)] // hands out the items of an exclusive slice one by one, on several threads

use std::{
    marker::PhantomData,
    ops::{Range, RangeInclusive},
    ptr::NonNull,
    slice,
};

use super::{
    chain::{Chain, Each, IntoChain, Makes, sealed::Sealed},
    state::Stateless,
};
use crate::pool::record::units::Blocks;

/// What a loop runs over, and what its closures are given.
///
/// | source | item |
/// |---|---|
/// | `&[T]` (and `&Vec<T>`, `&[T; N]`) | `&T` |
/// | `&mut [T]` (and `&mut Vec<T>`, `&mut [T; N]`) | `&mut T` |
/// | `Vec<T>`, `Box<[T]>`, `[T; N]` ([`Owned`](crate::source::Owned)), or a part of a `Vec` ([`drain`](crate::source::drain)) | `T` |
/// | a range of integers `T` ([`Integers`](crate::source::Integers)) | `T` |
/// | a tuple of sources, or [`On::zip`](crate::On::zip) ([`Zip`](crate::source::Zip)) | a tuple of their items |
/// | [`Chunks<S>`](crate::source::Chunks), made by [`On::chunks`](crate::On::chunks) | `&[T]`, `&mut [T]`, `Vec<T>`, `Range<T>`, or tuples of these |
/// | [`Windows<S>`](crate::source::Windows), made by [`On::windows`](crate::On::windows) | `&[T]` or `Range<T>` |
/// | [`Copied<S>`](crate::source::Copied), made by [`On::copied`](crate::On::copied) | `T` instead of `&T` |
/// | [`Part<S>`](crate::source::Part), [`Rev<S>`](crate::source::Rev), [`StepBy<S>`](crate::source::StepBy), made by `take`, `skip`, `rev` and `step_by` | `S::Item` |
///
/// Sealed: it cannot be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "no loop runs over `{Self}`",
    note = "pass `&slice`, `&mut slice`, a `Vec` or an array by value (of items that are `Send`), or a range of `usize` such as `0..n`"
)]
pub trait Source: Chain<State = Stateless> {
    /// How many items there are.
    fn count(&self) -> usize;

    /// A number that tells this source from others. The pool uses it to remember what a loop over
    /// the source cost.
    #[doc(hidden)]
    fn address(&self) -> usize;

    /// What a worker notes of its claims: nothing, unless items are moved out.
    #[doc(hidden)]
    type Ledger<'s>
    where
        Self: 's;

    /// For a worker that begins.
    #[doc(hidden)]
    fn ledger(&self) -> Self::Ledger<'_>;

    /// Notes that the items of `range` are claimed: they will be requested, and never again.
    #[doc(hidden)]
    fn note(&self, ledger: &mut Self::Ledger<'_>, range: Range<usize>);

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// 1. `range` lies within `0..self.count()`. 2. No index is requested twice. 3. `range` has
    ///    been noted, in a ledger of this source.
    #[doc(hidden)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator;
}

/// A source whose neighbouring items can be given out as one piece, so that it can be cut into
/// [`Chunks`](crate::source::Chunks). Sealed, as [`Source`] is.
pub trait Pieces: Source {
    /// Neighbouring items.
    type Piece;

    /// The items at the indices of `range`, as one piece.
    ///
    /// # Safety
    /// As for [`Source::items`].
    #[doc(hidden)]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece;

    /// The items at the indices of `range`, in pieces of `size` items; the last may be shorter.
    ///
    /// # Safety
    /// As for [`Source::items`].
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        let blocks = Blocks { size, len: range.len() };
        (0..blocks.count()).map(move |block| {
            let items = blocks.items(block..block + 1);
            // SAFETY: no two blocks have an index in common, and each is had once, as promised.
            unsafe { self.piece(range.start + items.start..range.start + items.end) }
        })
    }
}

/// Of a source that is the first of a chain: it makes its own items, and has no state.
macro_rules! base {
    () => {
        type Source = Self;
        type State = Stateless;
        const MAKES: Makes = Makes::One;

        #[inline(always)]
        fn begin(&self) -> &Self {
            self
        }

        #[inline(always)]
        fn states(&self) -> &Stateless {
            &Stateless
        }

        #[inline(always)]
        fn push<Acc, Z>(
            &self,
            state: &mut (),
            item: Self::Item,
            acc: Acc,
            mut next: impl FnMut(&mut (), Acc, Self::Item) -> Result<Acc, Z>,
        ) -> Result<Acc, Z> {
            next(state, acc, item)
        }
    };
}
pub(super) use base;

/// Of a source that lends its items, or counts: nothing need be noted.
macro_rules! nothing_is_noted {
    () => {
        type Ledger<'s>
            = ()
        where
            Self: 's;

        #[inline(always)]
        fn ledger(&self) {}

        #[inline(always)]
        fn note(&self, (): &mut (), _: Range<usize>) {}
    };
}
pub(super) use nothing_is_noted;

/// Of a source of items of another: that notes what its own indices stand for.
macro_rules! noted_by {
    ($source:tt, $self:ident, $range:ident => $there:expr) => {
        type Ledger<'s>
            = S::Ledger<'s>
        where
            Self: 's;

        #[inline(always)]
        fn ledger(&self) -> S::Ledger<'_> {
            self.$source.ledger()
        }

        #[inline(always)]
        fn note(&$self, ledger: &mut S::Ledger<'_>, $range: Range<usize>) {
            $self.$source.note(ledger, $there);
        }
    };
}
pub(super) use noted_by;

impl<'a, T> Chain for &'a [T] {
    type Item = &'a T;
    base!();
}

impl<T> Each for &[T] {}

impl<T> Sealed for &[T] {}

impl<'a, T> Source for &'a [T] {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.len()
    }

    fn address(&self) -> usize {
        self.as_ptr().addr()
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = &'a T> + DoubleEndedIterator {
        self[range].iter()
    }
}

impl<'a, T> Pieces for &'a [T] {
    type Piece = &'a [T];

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> &'a [T] {
        &self[range]
    }
}

/// The source of a range of integers.
#[derive(Clone, Debug)]
pub struct Integers<T> {
    first: T,
    len: usize,
}

/// An integer: `u8` to `u128`, `i8` to `i128`, `usize`, `isize`. Sealed.
pub trait Integer: Sealed + Copy + PartialOrd + Send + Sync {
    /// How many integers there are from this one to `last`, and none if that is less; nothing if
    /// there are more than a `usize` can count.
    #[doc(hidden)]
    fn count_to(self, last: Self) -> Option<usize>;

    /// The integer so many behind this one. It wraps around.
    #[doc(hidden)]
    fn forward(self, count: usize) -> Self;

    /// A number that tells it from others.
    #[doc(hidden)]
    fn number(self) -> usize;
}

macro_rules! integers {
    ($($int:ty)+) => {$(
        impl Sealed for $int {}

        impl Integer for $int {
            fn count_to(self, last: Self) -> Option<usize> {
                if self > last {
                    return Some(0);
                }
                usize::try_from(last.abs_diff(self)).ok()?.checked_add(1)
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "wraps")]
            fn forward(self, count: usize) -> Self {
                self.wrapping_add(count as Self)
            }

            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "any number")]
            fn number(self) -> usize {
                self as usize
            }
        }
    )+};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl<T: Integer> IntoChain for Range<T> {
    type Chain = Integers<T>;

    #[inline(always)]
    #[track_caller]
    fn into_chain(self) -> Integers<T> {
        let with_end = self.start.count_to(self.end);
        let len = if self.start < self.end { with_end.map(|len| len - 1) } else { Some(0) };
        Integers { first: self.start, len: len.expect(TOO_MANY) }
    }
}

impl<T: Integer> IntoChain for RangeInclusive<T> {
    type Chain = Integers<T>;

    #[inline(always)]
    #[track_caller]
    fn into_chain(self) -> Integers<T> {
        let len = if self.is_empty() { Some(0) } else { self.start().count_to(*self.end()) };
        Integers { first: *self.start(), len: len.expect(TOO_MANY) }
    }
}

const TOO_MANY: &str = "a range of at most `usize::MAX` integers";

impl<T: Integer> Chain for Integers<T> {
    type Item = T;
    base!();
}

impl<T: Integer> Each for Integers<T> {}

impl<T> Sealed for Integers<T> {}

impl<T: Integer> Source for Integers<T> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.len
    }

    fn address(&self) -> usize {
        self.first.number()
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator {
        let first = self.first;
        range.map(move |index| first.forward(index))
    }
}

/// A piece is a range. (It wraps around behind the largest integer, and is empty then.)
impl<T: Integer> Pieces for Integers<T> {
    type Piece = Range<T>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Range<T> {
        self.first.forward(range.start)..self.first.forward(range.end)
    }
}

/// The source of `&mut [T]`: a slice whose items are each given to one worker, which may change
/// them.
#[derive(Debug)]
pub struct Exclusive<'a, T> {
    base: NonNull<T>,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: 1. a shared `Exclusive` gives each item to one thread, since each index is had at most
// once (`Source::items`); 2. that thread may be any, hence `T: Send`.
unsafe impl<T: Send> Sync for Exclusive<'_, T> {}
// SAFETY: it is an exclusive reference to items, which may be sent if they may.
unsafe impl<T: Send> Send for Exclusive<'_, T> {}

impl<'a, T> Exclusive<'a, T> {
    pub(crate) fn new(items: &'a mut [T]) -> Self {
        Self { len: items.len(), base: NonNull::from(items).cast(), slice: PhantomData }
    }

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// No index is requested twice.
    #[inline(always)]
    unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: `range` lies within the slice, as just checked.
        let first = unsafe { self.base.add(range.start) };
        // SAFETY: 1. so does all of it; 2. the slice is borrowed exclusively for `'a`; 3. no index
        // of it is had a second time, as promised, so there is no other reference to these items.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), range.len()) }
    }
}

impl<'a, T> Chain for Exclusive<'a, T> {
    type Item = &'a mut T;
    base!();
}

impl<T> Each for Exclusive<'_, T> {}

impl<T> Sealed for Exclusive<'_, T> {}

impl<'a, T> Source for Exclusive<'a, T> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.len
    }

    fn address(&self) -> usize {
        self.base.addr().get()
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = &'a mut T> + DoubleEndedIterator {
        // SAFETY: as promised.
        unsafe { self.part(range) }.iter_mut()
    }
}

impl<'a, T> Pieces for Exclusive<'a, T> {
    type Piece = &'a mut [T];

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: as promised.
        unsafe { self.part(range) }
    }
}

/// A source whose items may be given out any number of times. Sealed, as [`Source`] is.
pub trait Shared: Pieces {}

impl<T> Shared for &[T] {}
impl<T: Integer> Shared for Integers<T> {}

impl<'a, T> IntoChain for &'a mut [T] {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

impl<'a, T> IntoChain for &'a mut Vec<T> {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

impl<'a, T, const N: usize> IntoChain for &'a mut [T; N] {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// A parameter `items: &mut [T]`, passed as `&mut items`.
#[allow(clippy::mut_mut, reason = "that is what it is")]
impl<'a, T> IntoChain for &'a mut &mut [T] {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// A parameter `items: &mut Vec<T>`, passed as `&mut items`.
#[allow(clippy::mut_mut, reason = "that is what it is")]
impl<'a, T> IntoChain for &'a mut &mut Vec<T> {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// A parameter `items: &[T]`, passed as `&items`.
impl<'a, T> IntoChain for &&'a [T] {
    type Chain = &'a [T];

    fn into_chain(self) -> &'a [T] {
        self
    }
}

/// A parameter `items: &Vec<T>`, passed as `&items`.
impl<'a, T> IntoChain for &&'a Vec<T> {
    type Chain = &'a [T];

    fn into_chain(self) -> &'a [T] {
        self
    }
}

impl<'a, T> IntoChain for &'a Vec<T> {
    type Chain = &'a [T];

    fn into_chain(self) -> &'a [T] {
        self
    }
}

impl<'a, T> IntoChain for &'a Box<[T]> {
    type Chain = &'a [T];

    fn into_chain(self) -> &'a [T] {
        self
    }
}

impl<'a, T> IntoChain for &'a mut Box<[T]> {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

impl<'a, T, const N: usize> IntoChain for &'a [T; N] {
    type Chain = &'a [T];

    fn into_chain(self) -> &'a [T] {
        self
    }
}
