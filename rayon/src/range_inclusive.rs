//! Parallel iterators over a [`RangeInclusive`] of integers or characters.

use std::ops::RangeInclusive;

use rangesteal::{
    On,
    options::{Fresh, OnPool},
    source,
    source::Chain,
};

use crate::{
    iter::{self, Before, End, IndexedEnd, Stage, Then, plumbing::UnindexedConsumer},
    range::{self, char_at, chars, counted, range_iter},
};

range_iter!(RangeInclusive);

counted!(RangeInclusive [u8 i8 u16 i16 u32 i32], |range| source(range), if range.is_empty() {
    0
} else {
    range.end().abs_diff(*range.start()) as usize + 1
});
counted!(
    RangeInclusive[char],
    |range| {
        let first = *range.start();
        source(0..char_count(&range)).map(move |index| char_at(first, index))
    },
    char_count(range) as usize
);

/// The number of characters in a range.
fn char_count(range: &RangeInclusive<char>) -> u32 {
    if range.is_empty() { 0 } else { chars(*range.start(), u32::from(*range.end()) + 1) }
}

macro_rules! uncounted {
    ($($int:ty)+) => {$(
        impl Number for $int {
            #[track_caller]
            fn run<const BACKWARD: bool, E: End<Self>>(range: RangeInclusive<Self>, end: E) -> E::Out {
                if Number::known_len(&range).is_some() {
                    return if const { BACKWARD } {
                        end.chain(source(range).rev())
                    } else {
                        end.chain(source(range))
                    };
                }
                // Without its last item, the range is a `Range`. The last item is added behind this
                // `Range`.
                let (first, last) = range.into_inner();
                range::Number::run::<BACKWARD, _>(first..last, Then(WithLast { last, is_backward: BACKWARD }, end))
            }

            fn drive<C: UnindexedConsumer<Self>>(range: RangeInclusive<Self>, consumer: C) -> C::Result {
                if Number::known_len(&range).is_some() {
                    return iter::drive(source(range), consumer);
                }
                let (first, last) = range.into_inner();
                let stage = WithLast { last, is_backward: false };
                range::Number::drive(first..last, Before(&stage, consumer))
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

/// An integer with a successor.
trait Next: Copy + PartialEq + Send + Sync {
    fn next(self) -> Self;
}

/// The stage behind a chain of all integers except the last one. When the loop reaches the
/// second-to-last integer, the stage yields both this integer and the last integer.
struct WithLast<T> {
    last: T,
    is_backward: bool,
}

impl<T: Next> WithLast<T> {
    /// The integer, and the last one if that is the next one.
    fn pair(&self, item: T) -> impl Iterator<Item = T> + use<T> {
        let also = (item.next() == self.last).then_some(self.last);
        let pair = if self.is_backward { [also, Some(item)] } else { [Some(item), also] };
        pair.into_iter().flatten()
    }
}

impl<T: Next> Stage<T> for WithLast<T> {
    type Made = T;
    const ONE_AT_MOST: bool = false;

    #[inline(always)]
    fn feed<A>(&self, item: T, acc: A, next: impl FnMut(A, T) -> Result<A, A>) -> Result<A, A> {
        self.pair(item).try_fold(acc, next)
    }

    fn behind<'p, C, G, W>(
        &self,
        on: On<C, OnPool<'p>>,
    ) -> On<impl Chain<Item = T, State = Fresh<G>> + Sync, OnPool<'p>>
    where
        C: Chain<Item = T, State = Fresh<G>> + Sync,
        G: Fn(usize) -> W + Sync,
    {
        on.flat_map(|(_, item): (_, T)| self.pair(item))
    }
}
