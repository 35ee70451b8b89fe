//! Ranges of integers and of characters, with their end.

use std::ops::RangeInclusive;

use rangesteal::{options::Stateless, source, source::Chain};

use crate::{
    iter::{End, IndexedParallelIterator, IntoParallelIterator, ParallelIterator},
    range::{char_at, chars},
    sources::begins,
};

/// The integers, or characters, of a range.
#[derive(Clone, Debug)]
#[must_use = "an iterator runs nothing: its last method does"]
pub struct Iter<T>(RangeInclusive<T>);

impl<T> IntoParallelIterator for RangeInclusive<T>
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
        begins!([] Iter<$int> => $int, |self| source(self.0), |self| {
            let (first, last) = (*self.0.start(), *self.0.end());
            if self.0.is_empty() { 0 } else { last.abs_diff(first) as usize + 1 }
        });
    )+};
}

indexed!(u8 i8 u16 i16 u32 i32);

macro_rules! unindexed {
    ($($int:ty)+) => {$(
        impl ParallelIterator for Iter<$int> {
            type Item = $int;

            fn run<E: End<$int>>(self, end: E) -> E::Out {
                if self.opt_len().is_some() {
                    return end.chain(source(self.0));
                }
                // All but the last, then the last: one more than can be counted.
                let (first, last) = self.0.into_inner();
                let but_last = (first..last).into_par_iter();
                but_last.run(WithLast { last, end })
            }

            fn opt_len(&self) -> Option<usize> {
                if self.0.is_empty() {
                    return Some(0);
                }
                usize::try_from(self.0.end().abs_diff(*self.0.start())).ok()?.checked_add(1)
            }
        }
    )+};
}

unindexed!(u64 i64 u128 i128 usize isize);

/// A chain of all integers but the last, of which the last item makes two.
struct WithLast<T, E> {
    last: T,
    end: E,
}

impl<T: Next, E: End<T>> End<T> for WithLast<T, E> {
    type Out = E::Out;

    fn chain<C>(self, chain: C) -> E::Out
    where
        C: Chain<Item = T, State = Stateless> + Sync,
    {
        let last = self.last;
        self.end.chain(source(chain).flat_map(move |item: T| {
            let also = (item.next() == last).then_some(last);
            std::iter::once(item).chain(also)
        }))
    }
}

/// An integer that has a next one.
trait Next: Copy + PartialEq + Send + Sync {
    fn next(self) -> Self;
}

macro_rules! next {
    ($($int:ty)+) => {$(
        impl Next for $int {
            fn next(self) -> Self {
                self.wrapping_add(1)
            }
        }
    )+};
}

next!(u64 i64 u128 i128 usize isize);

begins!([] Iter<char> => char,
    |self| {
        let (first, count) = (*self.0.start(), IndexedParallelIterator::len(&self));
        source(0..count).map(move |index| char_at(first, index as u32))
    },
    |self| if self.0.is_empty() { 0 } else { chars(*self.0.start(), u32::from(*self.0.end()) + 1) });
