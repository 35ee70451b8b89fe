//! Parallel iterators over a [`Range`] of integers or characters.

use std::ops::{Bound, Range, RangeBounds};

use rangesteal::source;

use crate::iter::{self, Before, End, FlatMapIterBy, IndexedEnd, plumbing::UnindexedConsumer};

/// Declares the common parts of `Range` and `RangeInclusive`: the iterator `Iter` and two traits.
/// Every type of numbers implements the trait `Number`. If no range of a type is longer than
/// `usize::MAX`, the type also implements `Counted`.
macro_rules! range_iter {
    ($range:ident) => {
        /// An iterator over the integers, or characters, of a range.
        #[derive(Clone, Debug)]
        #[must_use = "an iterator runs nothing: its last method does"]
        pub struct Iter<T>($range<T>);

        impl<T: Number> $crate::iter::IntoParallelIterator for $range<T> {
            type Iter = Iter<T>;
            type Item = T;

            fn into_par_iter(self) -> Iter<T> {
                Iter(self)
            }
        }
        impl<T: Number> $crate::iter::ParallelIterator for Iter<T> {
            type Item = T;

            fn drive_unindexed<C>(self, consumer: C) -> C::Result
            where
                C: $crate::iter::plumbing::UnindexedConsumer<T>,
            {
                T::drive(self.0, consumer)
            }

            #[track_caller]
            fn rs_run<E: End<T>>(self, end: E) -> E::Out {
                T::run::<false, E>(self.0, end)
            }

            #[track_caller]
            fn rs_run_backward<E: End<T>>(self, end: E) -> E::Out {
                T::run::<true, E>(self.0, end)
            }

            fn opt_len(&self) -> Option<usize> {
                T::known_len(&self.0)
            }
        }

        impl<T: Counted> $crate::iter::IndexedParallelIterator for Iter<T> {
            $crate::iter::indexed_by_bridge!();

            #[track_caller]
            fn rs_run_indexed<E: IndexedEnd<T>>(self, end: E) -> E::Out {
                T::rs_run_indexed(self.0, end)
            }

            fn len(&self) -> usize {
                T::known_len(&self.0).expect("the length of a counted range is known")
            }
        }

        /// An integer or a character. (One implementation of the iterator for all types lets the
        /// compiler infer the type.)
        #[doc(hidden)]
        pub trait Number: Sized + Send {
            /// Gives the chain of a range to `end`. If `BACKWARD`, the chain is in reverse. (The
            /// compiler compiles both loops of a condition that it learns only when the program
            /// runs.)
            #[track_caller]
            fn run<const BACKWARD: bool, E: End<Self>>(range: $range<Self>, end: E) -> E::Out;

            /// Gives the items of a range to a consumer.
            fn drive<C>(range: $range<Self>, consumer: C) -> C::Result
            where
                C: $crate::iter::plumbing::UnindexedConsumer<Self>;

            /// The length of a range, if a `usize` can hold it.
            fn known_len(range: &$range<Self>) -> Option<usize>;
        }

        /// An integer or a character. Each item of a range of this type has an index.
        #[doc(hidden)]
        pub trait Counted: Number {
            /// Gives the source of a range to `end`.
            #[track_caller]
            fn rs_run_indexed<E: IndexedEnd<Self>>(range: $range<Self>, end: E) -> E::Out;
        }
    };
}
pub(crate) use range_iter;

/// Implements `Number` and `Counted` for types of numbers. The arguments are the source of a range
/// and the length of the range.
macro_rules! counted {
    ($range_type:ident [$($number:ty)+], |$range:ident| $source:expr, $len:expr) => {$(
        impl Number for $number {
            #[track_caller]
            fn run<const BACKWARD: bool, E: End<Self>>(range: $range_type<Self>, end: E) -> E::Out {
                if const { BACKWARD } {
                    Self::rs_run_indexed(range, $crate::iter::Backward(end, $crate::iter::ANY_LENGTH))
                } else {
                    Self::rs_run_indexed(range, $crate::iter::Unindexed(end, $crate::iter::ANY_LENGTH))
                }
            }

            fn drive<C>($range: $range_type<Self>, consumer: C) -> C::Result
            where
                C: $crate::iter::plumbing::UnindexedConsumer<Self>,
            {
                $crate::iter::drive($source, consumer)
            }

            fn known_len($range: &$range_type<Self>) -> Option<usize> {
                Some($len)
            }
        }

        impl Counted for $number {
            #[track_caller]
            fn rs_run_indexed<E: IndexedEnd<Self>>($range: $range_type<Self>, end: E) -> E::Out {
                end.source($source)
            }
        }
    )+};
}
pub(crate) use counted;

range_iter!(Range);

counted!(Range [u8 i8 u16 i16 u32 i32 usize isize], |range| source(range), range.len());
counted!(
    Range[char],
    |range| {
        let first = range.start;
        source(0..chars(first, u32::from(range.end))).map(move |index| char_at(first, index))
    },
    chars(range.start, u32::from(range.end)) as usize
);

/// If a range is longer than `usize::MAX`, an item of the chain is a block of this many integers.
/// If there are more such blocks than a `usize` counts, the blocks are longer.
const BLOCK: u128 = 1 << 20;

/// The number of blocks of `len` integers, and the number of integers of each block but the last.
fn blocks(len: u128) -> (usize, u128) {
    let each = BLOCK.max(len.div_ceil(usize::MAX as u128));
    (usize::try_from(len.div_ceil(each)).expect("a block is long enough"), each)
}

/// An integer of a type whose ranges may be longer than `usize::MAX`.
trait InBlocks: Sized {
    /// The number of blocks of a range, and each block.
    fn in_blocks(range: Range<Self>) -> (usize, impl Fn(usize) -> Range<Self> + Send + Sync);
}

macro_rules! uncounted {
    ($($int:ty, $unsigned:ty;)+) => {$(
        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "wraps")]
        impl InBlocks for $int {
            fn in_blocks(range: Range<Self>) -> (usize, impl Fn(usize) -> Range<Self> + Send + Sync) {
                let first = range.start;
                let len = u128::from(range.end.wrapping_sub(first) as $unsigned);
                let (blocks, each) = blocks(len);
                let block = move |block| {
                    let at = block as u128 * each;
                    first.wrapping_add(at as Self)..first.wrapping_add(len.min(at.saturating_add(each)) as Self)
                };
                (blocks, block)
            }
        }

        #[allow(clippy::cast_possible_truncation, clippy::cast_possible_wrap, clippy::cast_sign_loss, reason = "wraps")]
        impl Number for $int {
            #[track_caller]
            fn run<const BACKWARD: bool, E: End<Self>>(range: Range<Self>, end: E) -> E::Out {
                if Self::known_len(&range).is_some() {
                    return if const { BACKWARD } {
                        end.chain(source(range).rev())
                    } else {
                        end.chain(source(range))
                    };
                }
                if const { E::TAKES_ANY && !BACKWARD } {
                    // Few blocks are searched, so threads begin in different ones from the start.
                    return end.foreign(Iter(range));
                }
                let (blocks, block) = Self::in_blocks(range);
                if const { BACKWARD } {
                    end.chain(source(0..blocks).rev().flat_map(move |at| block(at).rev()))
                } else {
                    end.chain(source(0..blocks).flat_map(block))
                }
            }

            fn drive<C: UnindexedConsumer<Self>>(range: Range<Self>, consumer: C) -> C::Result {
                if Self::known_len(&range).is_some() {
                    return iter::drive(source(range), consumer);
                }
                let (blocks, block) = Self::in_blocks(range);
                iter::drive(source(0..blocks), Before(&FlatMapIterBy(block), consumer))
            }

            fn known_len(range: &Range<Self>) -> Option<usize> {
                if range.is_empty() {
                    return Some(0);
                }
                usize::try_from(range.end.wrapping_sub(range.start) as $unsigned).ok()
            }
        }
    )+};
}

uncounted! {
    u64, u64;
    i64, u64;
    u128, u128;
    i128, u128;
}

/// Surrogates are not characters. `BEHIND_SURROGATES` is the first code behind the surrogates.
/// `SURROGATES` is the number of surrogates.
const BEHIND_SURROGATES: u32 = 0xE000;
const SURROGATES: u32 = 0x800;

/// The character at an index of the characters from `first` on.
pub(crate) fn char_at(first: char, index: u32) -> char {
    let plain = u32::from(first) + index;
    let jumps = u32::from(first) < BEHIND_SURROGATES && plain >= BEHIND_SURROGATES - SURROGATES;
    char::from_u32(if jumps { plain + SURROGATES } else { plain }).expect("a character")
}

/// The number of characters from `first` up to, and excluding, the code `behind`.
pub(crate) fn chars(first: char, behind: u32) -> u32 {
    let count = behind.saturating_sub(u32::from(first));
    let jumps = u32::from(first) < BEHIND_SURROGATES && behind >= BEHIND_SURROGATES;
    if jumps { count - SURROGATES } else { count }
}

/// Converts a range bound into a range of indices below `len`.
///
/// # Panics
/// Panics if the range is not within `0..len`.
pub(crate) fn within(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let behind = |index: usize| index.checked_add(1).expect("the range lies within the items");
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => behind(before),
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => behind(last),
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end, "the range starts at {start}, but ends at {end}");
    assert!(end <= len, "the range ends at {end}, but there are {len} items");
    start..end
}
