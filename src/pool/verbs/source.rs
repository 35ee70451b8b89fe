//! Sources: shared slices, exclusive slices, and ranges of integers.

#![allow(unsafe_code)] // gives the items of an exclusive slice to several threads

use std::{
    marker::PhantomData,
    mem,
    ops::{Range, RangeInclusive},
    ptr::NonNull,
    slice,
};

use super::{
    chain::{Chain, Each, IntoChain, Source, base, begins_a_chain, itself, nothing_is_noted, sealed::Sealed},
    kernel::Claim,
    pieces::{Pieces, Shared},
    state::Stateless,
};
use crate::pool::tell::units::Blocks;

impl<'a, T> Chain for &'a [T] {
    type Item = &'a T;
    base!();
}

impl<T> Each for &[T] {}

itself!(['a, T] &'a [T]);

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

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = &'a T> + DoubleEndedIterator {
        // Not `Claim::each_backward`: if the item's address were computed from its index, LLVM
        // would make the indices of `enumerate` from the addresses, one by one.
        let part = &self[range];
        (0..part.len()).map(move |from_end| {
            // SAFETY: *inside*: `from_end` is less than the length.
            unsafe { part.get_unchecked(part.len() - 1 - from_end) }
        })
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> &'a T {
        // SAFETY: *inside*: as the caller promises.
        unsafe { self.get_unchecked(index) }
    }
}

impl<'a, T> Pieces for &'a [T] {
    type Piece = &'a [T];

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> &'a [T] {
        // Unchecked: a loop over windows requests a piece for each item.
        // SAFETY: *inside*: as the caller promises.
        unsafe { self.get_unchecked(range) }
    }

    #[inline(always)]
    unsafe fn blocks<const EXACT: bool>(
        &self,
        blocks: Range<usize>,
        size: usize,
        len: usize,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        BlocksOf::<_, EXACT>::new(unsafe { self.piece(Blocks { size, len }.items(blocks)) }, size)
    }
}

/// A shared or exclusive slice.
trait AnySlice: Default {
    fn len(&self) -> usize;

    /// The items before index `at`, and the others. `None` if there are fewer than `at` items.
    fn cut(self, at: usize) -> Option<(Self, Self)>;
}

impl<T> AnySlice for &[T] {
    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }

    #[inline(always)]
    fn cut(self, at: usize) -> Option<(Self, Self)> {
        self.split_at_checked(at)
    }
}

impl<T> AnySlice for &mut [T] {
    #[inline(always)]
    fn len(&self) -> usize {
        (**self).len()
    }

    #[inline(always)]
    fn cut(self, at: usize) -> Option<(Self, Self)> {
        self.split_at_mut_checked(at)
    }
}

/// Blocks of `size` items of a slice. The last one may be shorter, unless `EXACT`. In contrast to
/// std's iterators, no block from the back takes a division.
struct BlocksOf<P, const EXACT: bool> {
    left: P,
    size: usize,
    /// The number of items of the last block that is left.
    last: usize,
}

impl<P: AnySlice, const EXACT: bool> BlocksOf<P, EXACT> {
    #[inline(always)]
    fn new(all: P, size: usize) -> Self {
        let last = match all.len() % size {
            0 => size,
            rest => rest,
        };
        Self { left: all, size, last: if EXACT { size } else { last } }
    }
}

impl<P: AnySlice, const EXACT: bool> Iterator for BlocksOf<P, EXACT> {
    type Item = P;

    #[inline(always)]
    fn next(&mut self) -> Option<P> {
        // (A branch, which the CPU predicts. With the lesser of the two lengths, the CPU would
        // compute the beginnings of the blocks one after the other.)
        let left = mem::take(&mut self.left);
        if left.len() < self.size {
            return if EXACT || left.len() == 0 { None } else { Some(left) };
        }
        let (first, left) = left.cut(self.size)?;
        self.left = left;
        Some(first)
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.left.len().div_ceil(self.size);
        (len, Some(len))
    }
}

impl<P: AnySlice, const EXACT: bool> DoubleEndedIterator for BlocksOf<P, EXACT> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<P> {
        let last = if EXACT { self.size } else { mem::replace(&mut self.last, self.size) };
        let at = self.left.len().checked_sub(last)?;
        let (left, last) = mem::take(&mut self.left).cut(at)?;
        self.left = left;
        Some(last)
    }
}

impl<P: AnySlice, const EXACT: bool> ExactSizeIterator for BlocksOf<P, EXACT> {}

/// The source of a range of integers: of a [`RangeInclusive`] if `INCLUSIVE`, otherwise of a
/// [`Range`]. The pieces are ranges of the same kind.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Integers<T, const INCLUSIVE: bool = false> {
    first: T,
    len: usize,
}

/// An integer: `u8` to `u128`, `i8` to `i128`, `usize`, `isize`. Sealed.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "no loop runs over a range of `{Self}`",
    label = "no range of integers",
    note = "other ranges are collected into a `Vec` first"
)]
pub trait Integer: Sealed + Copy + PartialOrd + Send + Sync + TryInto<usize> {
    /// The number of integers from this integer to before `end`. `end` is at least this integer.
    /// `None` if the number does not fit into a `usize`.
    #[doc(hidden)]
    fn count_to(self, end: Self) -> Option<usize>;

    /// The range `1..=0`, which has no integers.
    #[doc(hidden)]
    const EMPTY: RangeInclusive<Self>;

    /// The integer `self + count`. Wraps around.
    #[doc(hidden)]
    #[must_use]
    fn forward(self, count: usize) -> Self;
}

macro_rules! integers {
    ($($int:ty)+) => {$(
        impl Sealed for $int {}

        impl Integer for $int {
            #[allow(clippy::reversed_empty_ranges, reason = "it is empty")]
            const EMPTY: RangeInclusive<Self> = 1..=0;

            fn count_to(self, end: Self) -> Option<usize> {
                usize::try_from(end.abs_diff(self)).ok()
            }

            #[inline(always)]
            #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "wraps")]
            fn forward(self, count: usize) -> Self {
                self.wrapping_add(count as Self)
            }
        }
    )+};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize);

impl<T: Integer, const INCLUSIVE: bool> Integers<T, INCLUSIVE> {
    /// The integers from `first` to before `end`, and `more` integers from `end` on.
    #[inline(always)]
    #[track_caller]
    fn new(first: T, end: T, is_empty: bool, more: usize) -> Self {
        let len = if is_empty { Some(0) } else { first.count_to(end).and_then(|len| len.checked_add(more)) };
        Self { first, len: len.expect("a range of at most `usize::MAX` integers") }
    }
}

impl<T: Integer> IntoChain for Range<T> {
    type Chain = Integers<T>;

    #[inline(always)]
    #[track_caller]
    fn into_chain(self) -> Integers<T> {
        Integers::new(self.start, self.end, self.is_empty(), 0)
    }
}

impl<T: Integer> IntoChain for RangeInclusive<T> {
    type Chain = Integers<T, true>;

    #[inline(always)]
    #[track_caller]
    fn into_chain(self) -> Integers<T, true> {
        Integers::new(*self.start(), *self.end(), self.is_empty(), 1)
    }
}

begins_a_chain!([T: Integer, const INCLUSIVE: bool] Integers<T, INCLUSIVE>, T);

impl<T: Integer, const INCLUSIVE: bool> Source for Integers<T, INCLUSIVE> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.len
    }

    fn address(&self) -> usize {
        self.first.try_into().unwrap_or(usize::MAX)
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator {
        let first = self.first;
        range.map(move |index| first.forward(index))
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { Claim::new(self, range) }.each_backward()
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> T {
        self.first.forward(index)
    }
}

/// The source of the indices of another source: see [`On::enumerate`](crate::On::enumerate). (With
/// [`Integers`] from 0 on instead, the compiler would add the first integer to each index.)
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct Indices(pub(super) usize);

begins_a_chain!([] Indices, usize);

impl Source for Indices {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.0
    }

    fn address(&self) -> usize {
        0
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator {
        range
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { Claim::new(self, range) }.each_backward()
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> usize {
        index
    }
}

impl Pieces for Indices {
    type Piece = Range<usize>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Range<usize> {
        range
    }
}

/// The end of a piece is at most the end of the whole range, so it does not wrap around.
impl<T: Integer> Pieces for Integers<T> {
    type Piece = Range<T>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Range<T> {
        self.first.forward(range.start)..self.first.forward(range.end)
    }
}

/// A piece is inclusive: a piece that ends with the largest integer of the type has no exclusive
/// end.
impl<T: Integer> Pieces for Integers<T, true> {
    type Piece = RangeInclusive<T>;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> RangeInclusive<T> {
        if range.is_empty() {
            return T::EMPTY;
        }
        self.first.forward(range.start)..=self.first.forward(range.end - 1)
    }
}

/// The source of `&mut [T]`. Each item is given to one worker, which may change it.
#[derive(Debug)]
pub struct Exclusive<'a, T> {
    base: NonNull<T>,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: *once*: 1. a shared `Exclusive` gives each item to one thread, since each index is
// requested at most once (`Source::items`); 2. this may be any thread, hence `T: Send`.
unsafe impl<T: Send> Sync for Exclusive<'_, T> {}
// SAFETY: `Exclusive` is an exclusive reference to items, and such a reference is `Send` if the
// items are.
unsafe impl<T: Send> Send for Exclusive<'_, T> {}

impl<'a, T> Exclusive<'a, T> {
    pub(crate) fn new(items: &'a mut [T]) -> Self {
        Self { len: items.len(), base: NonNull::from(items).cast(), slice: PhantomData }
    }

    /// A second `Exclusive` of the same slice.
    ///
    /// # Safety
    /// An index that was requested from one of the two is requested from the other only when no
    /// reference to its item is left.
    #[inline(always)]
    pub(super) unsafe fn alias(&self) -> Self {
        Self { ..*self }
    }

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// An index is requested again only when no reference to its item is left.
    #[inline(always)]
    pub(super) unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: *inside*: `range` lies within the slice, as just checked.
        let first = unsafe { self.base.add(range.start) };
        // SAFETY: *once*, *inside*: 1. all of `range` lies within the slice; 2. the slice is
        // borrowed exclusively for `'a`; 3. no index is requested a second time, as the caller
        // promises, so no other reference to these items exists.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), range.len()) }
    }
}

impl<'a, T> Chain for Exclusive<'a, T> {
    type Item = &'a mut T;
    base!();
}

impl<T> Each for Exclusive<'_, T> {}

itself!(['a, T] Exclusive<'a, T>);

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
        // SAFETY: as the caller promises.
        unsafe { self.part(range) }.iter_mut()
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = &'a mut T> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        let part = Exclusive::new(unsafe { self.part(range) });
        (0..part.len).map(move |from_end| {
            // SAFETY: *once*, *inside*: 1. `from_end` is less than the length; 2. the consumer of a
            // range has each number once (see `Claim::each_backward`).
            unsafe { Lent::at(&part, part.len - 1 - from_end) }
        })
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> &'a mut T {
        // SAFETY: as the caller promises.
        unsafe { Lent::at(self, index) }
    }
}

impl<'a, T> Pieces for Exclusive<'a, T> {
    type Piece = &'a mut [T];

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: as the caller promises.
        unsafe { self.part(range) }
    }

    #[inline(always)]
    unsafe fn blocks<const EXACT: bool>(
        &self,
        blocks: Range<usize>,
        size: usize,
        len: usize,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        BlocksOf::<_, EXACT>::new(unsafe { self.piece(Blocks { size, len }.items(blocks)) }, size)
    }
}

/// A source that lends the items of a slice, by shared or exclusive reference. Sealed, as
/// [`Source`] is.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not lend the items of a slice",
    note = "`at` and `chunk_by` follow `on(&v)` or `on(&mut v)` directly"
)]
pub trait Lent: Pieces {
    /// An item of the slice.
    type Element;

    /// The slice.
    #[doc(hidden)]
    fn slice(&mut self) -> &[Self::Element];

    /// The item at `index`.
    ///
    /// # Safety
    /// As for [`Source::items`]: `index` is less than `self.count()`, and is requested once.
    #[doc(hidden)]
    unsafe fn at(&self, index: usize) -> Self::Item;
}

impl<T> Lent for &[T] {
    type Element = T;

    fn slice(&mut self) -> &[T] {
        self
    }

    #[inline(always)]
    unsafe fn at(&self, index: usize) -> Self::Item {
        // SAFETY: *inside*: as the caller promises.
        unsafe { self.get_unchecked(index) }
    }
}

impl<'a, T> Lent for Exclusive<'a, T> {
    type Element = T;

    fn slice(&mut self) -> &[T] {
        // SAFETY: 1. pointer and length are those of the slice; 2. `self` is borrowed exclusively,
        // so no loop has its items.
        unsafe { slice::from_raw_parts(self.base.as_ptr(), self.len) }
    }

    #[inline(always)]
    unsafe fn at(&self, index: usize) -> &'a mut T {
        debug_assert!(index < self.len);
        // SAFETY: *inside*: `index` lies within the slice, as the caller promises.
        let mut item = unsafe { self.base.add(index) };
        // SAFETY: *once*: 1. `index` is requested once, as the caller promises; 2. the slice is
        // borrowed exclusively for `'a`.
        unsafe { item.as_mut() }
    }
}

impl<T> Shared for &[T] {}
impl<T: Integer> Shared for Integers<T> {}
impl<T: Integer> Shared for Integers<T, true> {}
impl Shared for Indices {}

impl<'a, T> IntoChain for &'a mut [T] {
    type Chain = Exclusive<'a, T>;

    fn into_chain(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// Implements [`IntoChain`] for references that the compiler converts to a reference to a slice.
macro_rules! of_a_slice {
    ($slice:ty, $chain:ty: $($(#[$attribute:meta])* [$($generic:tt)*] $reference:ty;)+) => {$(
        $(#[$attribute])*
        impl<$($generic)*> IntoChain for $reference {
            type Chain = $chain;

            fn into_chain(self) -> $chain {
                <$slice>::into_chain(self)
            }
        }
    )+};
}

of_a_slice! {
    &'a [T], &'a [T]:
    ['a, T] &'a Vec<T>;
    ['a, T] &'a Box<[T]>;
    ['a, T, const N: usize] &'a [T; N];
    /// A parameter `items: &[T]`, passed as `&items`.
    ['a, T] &&'a [T];
    /// A parameter `items: &Vec<T>`, passed as `&items`.
    ['a, T] &&'a Vec<T>;
}

of_a_slice! {
    &'a mut [T], Exclusive<'a, T>:
    ['a, T] &'a mut Vec<T>;
    ['a, T] &'a mut Box<[T]>;
    ['a, T, const N: usize] &'a mut [T; N];
    /// A parameter `items: &mut [T]`, passed as `&mut items`.
    #[allow(clippy::mut_mut, reason = "a variable of this type is passed by `&mut`")]
    ['a, T] &'a mut &mut [T];
    /// A parameter `items: &mut Vec<T>`, passed as `&mut items`.
    #[allow(clippy::mut_mut, reason = "a variable of this type is passed by `&mut`")]
    ['a, T] &'a mut &mut Vec<T>;
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    /// Takes the blocks of `len` items from both ends, in an order that the bits of `turns` say.
    fn taken<const EXACT: bool>(len: usize, size: usize, turns: u32) -> Vec<Vec<usize>> {
        let items: Vec<usize> = (0..len).collect();
        let mut left = BlocksOf::<&[usize], EXACT>::new(&items, size);
        let (mut front, mut back) = (Vec::new(), Vec::new());
        for turn in 0.. {
            let count = left.len();
            let from_the_back = turns >> (turn % u32::BITS) & 1 == 1;
            let Some(block) = (if from_the_back { left.next_back() } else { left.next() }) else { break };
            assert_eq!(left.len(), count - 1);
            if from_the_back { &mut back } else { &mut front }.push(block.to_vec());
        }
        assert!(left.next().is_none() && left.next_back().is_none() && left.len() == 0);
        front.extend(back.into_iter().rev());
        front
    }

    #[test]
    fn blocks_from_both_ends() {
        for (len, size) in (0..20).flat_map(|len| (1..9).map(move |size| (len, size))) {
            let items: Vec<usize> = (0..len).collect();
            let exact = len - len % size;
            for turns in (0..64).chain([u32::MAX]) {
                assert!(taken::<false>(len, size, turns).iter().eq(items.chunks(size)));
                assert!(taken::<true>(exact, size, turns).iter().eq(items.chunks_exact(size)));
            }
        }
    }
}
