//! Sources and rayon's producers, each made of the other. A [`Portion`] is a part of a source; its
//! owner splits it, and requests its items. [`InParts`] is the source of anything that is split
//! into parts.

#![allow(unsafe_code)] // the owner of a portion requests its items

use std::{fmt, ops::Range};

use super::{
    chain::{Chain, Each, Source, base, begins_a_chain, itself, nothing_is_noted},
    state::Stateless,
};
use crate::sync::{Mutex, lock};

/// The right to request the items of a range of a source, once. No claim log has these items, so
/// the source drops them unless they are requested.
#[doc(hidden)]
pub struct Portion<'s, S> {
    source: &'s S,
    range: Range<usize>,
}

/// Calls `work` with all items of `source`.
#[doc(hidden)]
#[allow(clippy::needless_pass_by_value, reason = "its items are moved out")]
pub fn portioned<S: Source, R>(source: S, work: impl FnOnce(Portion<'_, S>) -> R) -> R {
    let range = 0..source.count();
    work(Portion { source: &source, range })
}

impl<S> fmt::Debug for Portion<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Portion").field(&self.range).finish()
    }
}

impl<'s, S: Source> Portion<'s, S> {
    /// The number of items.
    #[must_use]
    #[allow(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.range.len()
    }

    /// The first `len` items, and the other items.
    ///
    /// # Panics
    /// If there are fewer than `len` items.
    #[must_use]
    pub fn split_at(self, len: usize) -> (Self, Self) {
        assert!(len <= self.len(), "split_at({len}) of {} items", self.len());
        let Range { start, end } = self.range;
        let middle = start + len;
        (Self { source: self.source, range: start..middle }, Self { source: self.source, range: middle..end })
    }

    /// The items. Dropping the iterator drops the items that are left, if they are owned.
    #[inline(always)]
    #[must_use]
    pub fn items(self) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator + use<'s, S> {
        let Self { source, range } = self;
        let mut ledger = source.ledger();
        source.note(&mut ledger, range.clone());
        // SAFETY: *once*, *inside*: 1. a portion lies within the source, and `range` has just been
        // noted; 2. the only portions of a source are the one that `portioned` makes and its
        // parts, which share no index; 3. this portion is gone.
        Noted { items: unsafe { source.items(range) }, _ledger: ledger }
    }
}

/// Items, and the claim log that has them. The log is handed in after the items are gone.
struct Noted<I, L> {
    items: I,
    _ledger: L,
}

impl<I: Iterator, L> Iterator for Noted<I, L> {
    type Item = I::Item;

    #[inline(always)]
    fn next(&mut self) -> Option<I::Item> {
        self.items.next()
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.items.size_hint()
    }

    #[inline(always)]
    fn fold<A, F: FnMut(A, I::Item) -> A>(self, acc: A, f: F) -> A {
        let Self { items, _ledger } = self;
        items.fold(acc, f)
    }
}

impl<I: DoubleEndedIterator, L> DoubleEndedIterator for Noted<I, L> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<I::Item> {
        self.items.next_back()
    }
}

impl<I: ExactSizeIterator, L> ExactSizeIterator for Noted<I, L> {}

/// Something that is split into parts: rayon's producer.
#[doc(hidden)]
pub trait Splittable: Send + Sized {
    /// The type of an item.
    type Item;
    /// The items of a part.
    type Items: ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator;

    /// The first `len` items, and the other items.
    fn split_at(self, len: usize) -> (Self, Self);

    /// The items.
    fn into_items(self) -> Self::Items;
}

/// The source of the items of `P`. Each claim splits its part off under a lock. A part may have
/// more or fewer items than it says, since `P` is safe code of another crate.
#[doc(hidden)]
pub struct InParts<P> {
    len: usize,
    left: Mutex<Left<P>>,
}

/// What no claim has taken yet.
struct Left<P> {
    /// The parts, in order, each with its first index and the index behind it. No two of them are
    /// neighbours.
    parts: Vec<(Range<usize>, P)>,
    /// A part without items. `None` while it is split.
    nothing: Option<P>,
}

impl<P: Splittable> InParts<P> {
    /// The source of `all`, which has `len` items.
    pub fn new(all: P, len: usize) -> Self {
        let (nothing, all) = all.split_at(0);
        Self { len, left: Mutex::new(Left { parts: vec![(0..len, all)], nothing: Some(nothing) }) }
    }

    /// Splits off the part of `range`, whose items are all left.
    fn split_off(&self, range: &Range<usize>) -> P {
        let mut left = lock(&self.left);
        if range.is_empty() {
            let (one, other) = left.nothing.take().expect("a part without items").split_at(0);
            left.nothing = Some(other);
            return one;
        }
        let is_behind = |(part, _): &(Range<usize>, P)| part.start > range.start;
        let at = left.parts.iter().position(is_behind).unwrap_or(left.parts.len());
        let at = at.checked_sub(1).expect("a part that is left");
        let (Range { start, end }, mut part) = left.parts.remove(at);
        assert!(range.end <= end, "a part that is left");
        if range.end < end {
            let behind;
            (part, behind) = part.split_at(range.end - start);
            left.parts.insert(at, (range.end..end, behind));
        }
        if start < range.start {
            let before;
            (before, part) = part.split_at(range.start - start);
            left.parts.insert(at, (start..range.start, before));
        }
        part
    }
}

impl<P> fmt::Debug for InParts<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("InParts").field("len", &self.len).finish_non_exhaustive()
    }
}

begins_a_chain!([P: Splittable] InParts<P>, P::Item);

impl<P: Splittable> Source for InParts<P> {
    nothing_is_noted!();

    const IS_PARTED: bool = true;

    fn count(&self) -> usize {
        self.len
    }

    /// The same number for all of them, since the address of the items is not known.
    fn address(&self) -> usize {
        0
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = P::Item> + DoubleEndedIterator {
        self.split_off(&range).into_items()
    }

    /// Splits each block off, because the items of a part may be faster than those that `take`
    /// counts.
    #[inline(always)]
    unsafe fn own_blocks<R>(
        &self,
        range: Range<usize>,
        make: impl Fn(P::Item) -> R,
    ) -> impl FnMut(usize, bool) -> Vec<R> {
        let (mut left, mut count) = (Some(self.split_off(&range)), range.len());
        move |len, is_first| {
            if len == 0 {
                return Vec::new();
            }
            let mut block = left.take().expect("what the last split has left");
            if len < count {
                let (first, second) = block.split_at(if is_first { len } else { count - len });
                let rest;
                (block, rest) = if is_first { (first, second) } else { (second, first) };
                left = Some(rest);
            }
            count -= len;
            block.into_items().map(&make).collect()
        }
    }
}
