//! Items of two sources in turn.

#![allow(unsafe_code)] // a source requests items of other sources when its own items are requested

use std::{convert::Infallible, ops::Range};

use super::{
    chain::{Chain, Each, Source, base, begins_a_chain, itself},
    kernel::Claim,
    state::Stateless,
};

/// Items of two sources in turn, then the items that are left of the longer source. Made by
/// [`On::in_turn`](crate::On::in_turn).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct InTurn<A, B> {
    a: A,
    b: B,
    turns: Alternation,
}

/// The source of each item.
#[derive(Clone, Copy, Debug)]
struct Alternation {
    /// The number of items.
    count: usize,
    /// The number of items before which the two sources take turns.
    alternate: usize,
    is_a_longer: bool,
}

impl Alternation {
    /// Whether the item at an index is one of the first source.
    #[inline(always)]
    fn is_of_a(self, index: usize) -> bool {
        if index < self.alternate { index.is_multiple_of(2) } else { self.is_a_longer }
    }

    /// The numbers of items of the two sources before an index.
    #[inline(always)]
    fn before(self, index: usize) -> (usize, usize) {
        let of_a = if index < self.alternate {
            index.div_ceil(2)
        } else if self.is_a_longer {
            index - self.alternate / 2
        } else {
            self.alternate / 2
        };
        (of_a, index - of_a)
    }

    /// The ranges of the two sources that have the items of `range`.
    #[inline(always)]
    fn ranges(self, range: Range<usize>) -> (Range<usize>, Range<usize>) {
        let ((a, b), (a_end, b_end)) = (self.before(range.start), self.before(range.end));
        (a..a_end, b..b_end)
    }
}

impl<A: Source, B: Source> InTurn<A, B> {
    /// If `ends_early`, ends as soon as a source has no item for its turn.
    ///
    /// # Panics
    /// If a `usize` cannot hold the number of items.
    #[track_caller]
    pub(crate) fn new(a: A, b: B, ends_early: bool) -> Self {
        let (first, second) = (a.count(), b.count());
        let (is_a_longer, less) = (first > second, first.min(second));
        let more = if ends_early { usize::from(is_a_longer) } else { first.max(second) - less };
        let count = less.checked_mul(2).and_then(|alternate| alternate.checked_add(more));
        let count = count.expect("at most `usize::MAX` items");
        Self { a, b, turns: Alternation { count, alternate: 2 * less, is_a_longer } }
    }

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// As for [`Source::items`].
    #[inline(always)]
    unsafe fn in_turn(
        &self,
        range: Range<usize>,
    ) -> ItemsInTurn<
        impl ExactSizeIterator<Item = A::Item> + DoubleEndedIterator,
        impl ExactSizeIterator<Item = B::Item> + DoubleEndedIterator,
    > {
        let (of_a, of_b) = self.turns.ranges(range.clone());
        // If a source panics, the items of the other one are dropped.
        // SAFETY: as the caller promises, since each index here stands for one index of one source.
        let a = unsafe { Claim::new(&self.a, of_a) };
        // SAFETY: as the caller promises, likewise.
        let b = unsafe { self.b.items(of_b) };
        let a = a.items();
        let a_is_next = range.start.is_multiple_of(2);
        ItemsInTurn { a, b, a_is_next, end: range.end, turns: self.turns }
    }
}

begins_a_chain!([A: Source, B: Source<Item = A::Item>] InTurn<A, B>, A::Item);

impl<A: Source, B: Source<Item = A::Item>> Source for InTurn<A, B> {
    fn count(&self) -> usize {
        self.turns.count
    }

    fn address(&self) -> usize {
        self.a.address() ^ self.b.address().rotate_left(usize::BITS / 2)
    }

    type Ledger<'s>
        = (A::Ledger<'s>, B::Ledger<'s>)
    where
        Self: 's;

    #[inline(always)]
    fn ledger(&self) -> Self::Ledger<'_> {
        (self.a.ledger(), self.b.ledger())
    }

    #[inline(always)]
    fn note(&self, (a, b): &mut Self::Ledger<'_>, range: Range<usize>) {
        let (of_a, of_b) = self.turns.ranges(range);
        self.a.note(a, of_a);
        self.b.note(b, of_b);
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = A::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { self.in_turn(range) }
    }

    const FINDS_FASTER: bool = true;
    const IS_PARTED: bool = A::IS_PARTED || B::IS_PARTED;
    const DROPS_ITEMS: bool = A::DROPS_ITEMS || B::DROPS_ITEMS;
}

/// The items of the two sources in some range of indices.
struct ItemsInTurn<A, B> {
    a: A,
    b: B,
    /// Whether it is the turn of `a`. If one of the two has no items left, the other one is longer.
    /// (A flag that changes with each item lets the compiler unroll a loop into pairs.)
    a_is_next: bool,
    /// The index behind the last item.
    end: usize,
    turns: Alternation,
}

impl<T, A, B> Iterator for ItemsInTurn<A, B>
where
    A: ExactSizeIterator<Item = T>,
    B: ExactSizeIterator<Item = T>,
{
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        self.a_is_next = !self.a_is_next;
        if self.a_is_next {
            self.b.next().or_else(|| self.a.next())
        } else {
            self.a.next().or_else(|| self.b.next())
        }
    }

    /// In pairs, without a branch per item that chooses the source of the item.
    #[inline(always)]
    fn find_map<R, F: FnMut(T) -> Option<R>>(&mut self, mut find: F) -> Option<R> {
        let Self { a, b, .. } = self;
        let mut a_is_next = self.a_is_next;
        loop {
            if a_is_next {
                let Some(item) = a.next() else { break };
                if let Some(found) = find(item) {
                    self.a_is_next = false;
                    return Some(found);
                }
            }
            a_is_next = true;
            let Some(item) = b.next() else { break };
            if let Some(found) = find(item) {
                self.a_is_next = true;
                return Some(found);
            }
        }
        for item in a.chain(b) {
            if let Some(found) = find(item) {
                return Some(found);
            }
        }
        None
    }

    #[inline(always)]
    fn fold<Acc, F: FnMut(Acc, T) -> Acc>(mut self, acc: Acc, mut step: F) -> Acc {
        let mut held = Some(acc);
        let None = self.find_map(|item| -> Option<Infallible> {
            held = held.take().map(|acc| step(acc, item));
            None
        });
        held.expect("each step returns it")
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.a.len() + self.b.len();
        (left, Some(left))
    }
}

impl<T, A, B> DoubleEndedIterator for ItemsInTurn<A, B>
where
    A: ExactSizeIterator<Item = T> + DoubleEndedIterator,
    B: ExactSizeIterator<Item = T> + DoubleEndedIterator,
{
    #[inline(always)]
    fn next_back(&mut self) -> Option<T> {
        self.end = self.end.wrapping_sub(1); // wraps if there is no item
        if self.turns.is_of_a(self.end) {
            self.a.next_back().or_else(|| self.b.next_back())
        } else {
            self.b.next_back().or_else(|| self.a.next_back())
        }
    }
}

impl<T, A, B> ExactSizeIterator for ItemsInTurn<A, B>
where
    A: ExactSizeIterator<Item = T>,
    B: ExactSizeIterator<Item = T>,
{
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_go_on_behind_the_one_that_is_found() {
        let (a, b) = ([0, 1, 2], [10, 11, 12, 13, 14]);
        let all = [0, 10, 1, 11, 2, 12, 13, 14];
        for begin in 0..=all.len() {
            let source = InTurn::new(&a[..], &b[..], false);
            for wanted in &all[begin..] {
                // SAFETY: each source is new, and its items are requested once.
                let mut items = unsafe { source.in_turn(begin..all.len()) };
                assert_eq!(items.find_map(|item| (item == wanted).then_some(*item)), Some(*wanted));
                let behind = all.iter().position(|item| item == wanted).expect("it is there") + 1;
                let (left, expected) = (items.collect::<Vec<_>>(), all[behind..].iter().collect::<Vec<_>>());
                assert_eq!(left, expected, "from {begin}, behind {wanted}");
            }
        }
    }
}
