//! Ranges of integers and of characters, without their end.

use std::ops::{Bound, Range, RangeBounds};

use rangesteal::source;

use crate::{
    iter::{End, IntoParallelIterator, ParallelIterator},
    sources::begins,
};

/// The integers, or characters, of a range.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Iter<T>(pub(crate) Range<T>);

impl<T> IntoParallelIterator for Range<T>
where
    Iter<T>: ParallelIterator,
{
    type Iter = Iter<T>;
    type Item = <Iter<T> as ParallelIterator>::Item;

    fn into_par_iter(self) -> Iter<T> {
        Iter(self)
    }
}

macro_rules! indexed {
    ($($int:ty)+) => {$(
        begins!([] Iter<$int> => $int, |self| source(self.0), |self| self.0.len());
    )+};
}

indexed!(u8 i8 u16 i16 u32 i32 usize isize);

/// So many integers of a range that is too long to be counted are one item of the chain.
const BLOCK: u128 = 1 << 32;

macro_rules! unindexed {
    ($($int:ty, $unsigned:ty;)+) => {$(
        impl ParallelIterator for Iter<$int> {
            type Item = $int;

            fn run<E: End<$int>>(self, end: E) -> E::Out {
                if self.opt_len().is_some() {
                    return end.chain(source(self.0));
                }
                let (first, behind) = (self.0.start, self.0.end);
                let len = u128::from(behind.wrapping_sub(first) as $unsigned);
                let blocks = usize::try_from(len.div_ceil(BLOCK)).expect("at most 2^96 integers");
                end.chain(source(0..blocks).flat_map(move |block| {
                    let at = block as u128 * BLOCK;
                    let end = len.min(at + BLOCK);
                    first.wrapping_add(at as $int)..first.wrapping_add(end as $int)
                }))
            }

            fn opt_len(&self) -> Option<usize> {
                if self.0.is_empty() {
                    return Some(0);
                }
                usize::try_from(self.0.end.wrapping_sub(self.0.start) as $unsigned).ok()
            }
        }
    )+};
}

unindexed! {
    u64, u64;
    i64, u64;
    u128, u128;
    i128, u128;
}

/// Surrogates are no characters: the first behind them, and how many there are.
const BEHIND_SURROGATES: u32 = 0xE000;
const SURROGATES: u32 = 0x800;

/// The characters from `first` on, by index.
pub(crate) fn char_at(first: char, index: u32) -> char {
    let plain = u32::from(first) + index;
    let jumps = u32::from(first) < BEHIND_SURROGATES && plain >= BEHIND_SURROGATES - SURROGATES;
    char::from_u32(if jumps { plain + SURROGATES } else { plain }).expect("a character")
}

/// How many characters there are from `first` to before the code `behind`.
pub(crate) fn chars(first: char, behind: u32) -> usize {
    let count = behind.saturating_sub(u32::from(first));
    let jumps = u32::from(first) < BEHIND_SURROGATES && behind >= BEHIND_SURROGATES;
    (if jumps { count - SURROGATES } else { count }) as usize
}

begins!([] Iter<char> => char,
    |self| {
        let (first, count) = (self.0.start, chars(self.0.start, u32::from(self.0.end)));
        source(0..count).map(move |index| char_at(first, index as u32))
    },
    |self| chars(self.0.start, u32::from(self.0.end)));

/// A range of indices within `len`.
///
/// # Panics
/// If it is not within.
pub(crate) fn within(range: impl RangeBounds<usize>, len: usize) -> Range<usize> {
    let start = match range.start_bound() {
        Bound::Included(&start) => start,
        Bound::Excluded(&before) => before + 1,
        Bound::Unbounded => 0,
    };
    let end = match range.end_bound() {
        Bound::Included(&last) => last + 1,
        Bound::Excluded(&end) => end,
        Bound::Unbounded => len,
    };
    assert!(start <= end, "the range starts at {start}, but ends at {end}");
    assert!(end <= len, "the range ends at {end}, but there are {len} items");
    start..end
}
