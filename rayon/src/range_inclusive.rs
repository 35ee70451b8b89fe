//! Ranges of integers and of characters, with their end.

use std::ops::RangeInclusive;

use rangesteal::{options::Stateless, source, source::Chain};

use crate::{
    iter::{
        Backward, End, IndexedEnd, IndexedParallelIterator, IntoParallelIterator, ParallelIterator, Unindexed,
    },
    range::{Number, char_at, chars},
};

/// The integers, or characters, of a range.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Iter<T>(RangeInclusive<T>);

impl<T: NumberInclusive> IntoParallelIterator for RangeInclusive<T> {
    type Iter = Iter<T>;
    type Item = T;

    fn into_par_iter(self) -> Iter<T> {
        Iter(self)
    }
}

impl<T> crate::absent::IsOfThisCrate for Iter<T> {}

impl<T: NumberInclusive> ParallelIterator for Iter<T> {
    type Item = T;

    #[track_caller]
    fn run<E: End<T>>(self, end: E) -> E::Out {
        T::run(self.0, false, end)
    }

    #[track_caller]
    fn run_backward<E: End<T>>(self, end: E) -> E::Out {
        T::run(self.0, true, end)
    }

    fn opt_len(&self) -> Option<usize> {
        T::known_len(&self.0)
    }
}

impl<T: CountedInclusive> IndexedParallelIterator for Iter<T> {
    #[track_caller]
    fn run_indexed<E: IndexedEnd<T>>(self, end: E) -> E::Out {
        T::run_indexed(self.0, end)
    }

    fn len(&self) -> usize {
        T::known_len(&self.0).expect("it is counted")
    }
}

/// An integer or a character.
#[doc(hidden)]
pub trait NumberInclusive: Sized + Send {
    /// Gives the chain of a range to `end`, in reverse if that is asked for.
    #[track_caller]
    fn run<E: End<Self>>(range: RangeInclusive<Self>, is_backward: bool, end: E) -> E::Out;

    /// How many there are in a range, if a `usize` can count them.
    fn known_len(range: &RangeInclusive<Self>) -> Option<usize>;
}

/// An integer or a character of whose ranges each has an index.
#[doc(hidden)]
pub trait CountedInclusive: NumberInclusive {
    /// Gives the source of a range to `end`.
    #[track_caller]
    fn run_indexed<E: IndexedEnd<Self>>(range: RangeInclusive<Self>, end: E) -> E::Out;
}

macro_rules! counted {
    ($($number:ty, |$range:ident| $source:expr, $len:expr;)+) => {$(
        impl NumberInclusive for $number {
            #[track_caller]
            fn run<E: End<Self>>(range: RangeInclusive<Self>, is_backward: bool, end: E) -> E::Out {
                if is_backward {
                    Self::run_indexed(range, Backward(end))
                } else {
                    Self::run_indexed(range, Unindexed(end))
                }
            }

            fn known_len($range: &RangeInclusive<Self>) -> Option<usize> {
                Some(if $range.is_empty() { 0 } else { $len })
            }
        }

        impl CountedInclusive for $number {
            #[track_caller]
            fn run_indexed<E: IndexedEnd<Self>>($range: RangeInclusive<Self>, end: E) -> E::Out {
                end.source($source)
            }
        }
    )+};
}

counted! {
    u8, |range| source(range), range.end().abs_diff(*range.start()) as usize + 1;
    i8, |range| source(range), range.end().abs_diff(*range.start()) as usize + 1;
    u16, |range| source(range), range.end().abs_diff(*range.start()) as usize + 1;
    i16, |range| source(range), range.end().abs_diff(*range.start()) as usize + 1;
    u32, |range| source(range), range.end().abs_diff(*range.start()) as usize + 1;
    i32, |range| source(range), range.end().abs_diff(*range.start()) as usize + 1;
    char,
        |range| {
            let (first, count) = (*range.start(), if range.is_empty() { 0 } else { chars(*range.start(), u32::from(*range.end()) + 1) });
            source(0..count).map(move |index| char_at(first, index))
        },
        chars(*range.start(), u32::from(*range.end()) + 1) as usize;
}

macro_rules! uncounted {
    ($($int:ty)+) => {$(
        impl NumberInclusive for $int {
            #[track_caller]
            fn run<E: End<Self>>(range: RangeInclusive<Self>, is_backward: bool, end: E) -> E::Out {
                if NumberInclusive::known_len(&range).is_some() {
                    return if is_backward { end.chain(source(range).rev()) } else { end.chain(source(range)) };
                }
                // All but the last, then the last: one more than can be counted.
                let (first, last) = range.into_inner();
                Number::run(first..last, is_backward, WithLast { last, is_backward, end })
            }

            fn known_len(range: &RangeInclusive<Self>) -> Option<usize> {
                if range.is_empty() {
                    return Some(0);
                }
                usize::try_from(range.end().abs_diff(*range.start())).ok()?.checked_add(1)
            }
        }

        impl Next for $int {
            fn next(self) -> Self {
                self.wrapping_add(1)
            }
        }
    )+};
}

uncounted!(u64 i64 u128 i128 usize isize);

/// An integer that has a next one.
trait Next: Copy + PartialEq + Send + Sync {
    fn next(self) -> Self;
}

/// Waits for a chain of all integers but the last. The item before the last makes two.
struct WithLast<T, E> {
    last: T,
    is_backward: bool,
    end: E,
}

impl<T: Next, E: End<T>> End<T> for WithLast<T, E> {
    type Out = E::Out;

    #[track_caller]
    fn chain<C>(self, chain: C) -> E::Out
    where
        C: Chain<Item = T, State = Stateless> + Sync,
    {
        let Self { last, is_backward, end } = self;
        end.chain(source(chain).flat_map(move |item: T| {
            let also = (item.next() == last).then_some(last);
            let pair = if is_backward { [also, Some(item)] } else { [Some(item), also] };
            pair.into_iter().flatten()
        }))
    }
}
