//! Sources that are made of other sources: pairs of items, pieces of items, the items in reverse
//! order, or a selection of the items.

#![allow(unsafe_code)] // a source requests items of other sources when its own items are requested
#![allow(non_snake_case)] // in the macro for tuples, a value has the name of its type

use std::{
    error::Error,
    fmt, iter,
    ops::{Deref, Range},
};

use super::{
    chain::{
        Chain, Each, IntoChain, Source, SourceItem, WorkerOf, base, begins_a_chain, behind, itself, made_of,
        nothing_is_noted,
    },
    kernel::Claim,
    pieces::{InVectors, Pieces, Shared},
    state::Stateless,
};
use crate::pool::tell::units::Blocks;

/// Two sources of equal length in step. Made by [`On::zip`](crate::On::zip).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Zip<A, B>(pub(super) A, pub(super) B);

impl<A: Source, B: Source> Zip<A, B> {
    /// `call` is the call in the user's code, for the panic's message.
    #[track_caller]
    pub(crate) fn new(call: &str, a: A, b: B) -> Self {
        let (first, second) = (a.count(), b.count());
        assert!(
            first == second,
            "{call}: {first} and {second} items; `zip_shortest` ends with the shorter one"
        );
        Self(a, b)
    }
}

begins_a_chain!([A: Source, B: Source] Zip<A, B>, (A::Item, B::Item));

impl<A: Source, B: Source> Source for Zip<A, B> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn address(&self) -> usize {
        self.0.address() ^ self.1.address().rotate_left(usize::BITS / 2)
    }

    type Ledger<'s>
        = (A::Ledger<'s>, B::Ledger<'s>)
    where
        Self: 's;

    #[inline(always)]
    fn ledger(&self) -> Self::Ledger<'_> {
        (self.0.ledger(), self.1.ledger())
    }

    #[inline(always)]
    fn note(&self, (a, b): &mut Self::Ledger<'_>, range: Range<usize>) {
        self.0.note(a, range.clone());
        self.1.note(b, range);
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // If a source panics, the items of the other one are dropped.
        // SAFETY: as the caller promises, since the first source has the same length.
        let a = unsafe { Claim::new(&self.0, range.clone()) };
        // SAFETY: as the caller promises, since the second source has the same length.
        let b = unsafe { self.1.items(range) };
        a.items().zip(b)
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // If a source panics, the items of the other one are dropped.
        // SAFETY: as the caller promises, since the first source has the same length.
        let a = unsafe { Claim::new(&self.0, range.clone()) };
        // SAFETY: as the caller promises, since the second source has the same length.
        let b = unsafe { self.1.items_backward(range) };
        a.items_backward().zip(b)
    }

    const IS_PARTED: bool = A::IS_PARTED || B::IS_PARTED;
    const DROPS_ITEMS: bool = A::DROPS_ITEMS || B::DROPS_ITEMS;

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> Self::Item {
        // If the first item panics, the second one is dropped.
        // SAFETY: as the caller promises, since the second source has the same length.
        let b = unsafe { Claim::new(&self.1, index..index + 1) };
        // SAFETY: as the caller promises, since the first source has the same length.
        let a = unsafe { self.0.item(index) };
        (a, b.item())
    }
}

impl<A: Pieces, B: Pieces> Pieces for Zip<A, B> {
    type Piece = (A::Piece, B::Piece);

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // If the first piece panics, the items of the second one are dropped.
        // SAFETY: as the caller promises, since the second source has the same length.
        let second = unsafe { Claim::new(&self.1, range.clone()) };
        // SAFETY: as the caller promises, since the first source has the same length.
        let first = unsafe { self.0.piece(range) };
        (first, second.piece())
    }
}

/// Three to eight sources of equal length in step. Made of tuples. `S` is a [`Zip`] of a source and
/// a further `Zip`, and so on.
///
/// ```
/// # let pool = rangesteal::Pool::new()?;
/// let (mass, speed, mut energy) = ([2.0, 4.0], [3.0, 1.0], [0.0; 2]);
/// pool.on((&mass, &speed, &mut energy)).for_each(|(m, v, e)| *e = m * v * v / 2.0);
/// assert_eq!(energy, [9.0, 2.0]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct InStep<C, const N: usize> {
    chain: C,
}

/// Nested pairs with `N` values in all.
#[doc(hidden)]
pub trait Nested<const N: usize> {
    /// The values in one tuple.
    type Flat;

    #[doc(hidden)]
    fn flat(self) -> Self::Flat;
}

itself!([C, const N: usize] InStep<C, N> where Self: Chain);

impl<C: Source<Item: Nested<N>>, const N: usize> Chain for InStep<C, N> {
    type Item = <C::Item as Nested<N>>::Flat;
    const MAKES_ONE: bool = true;
    behind!(|self, next, state, acc, item| next(state, acc, item.flat()));
}

impl<C: Source<Item: Nested<N>>, const N: usize> Each for InStep<C, N> {}

impl<S: Source<Item: Nested<N>>, const N: usize> Source for InStep<S, N> {
    made_of!(chain);
}

impl<S: Pieces<Item: Nested<N>, Piece: Nested<N>>, const N: usize> Pieces for InStep<S, N> {
    type Piece = <S::Piece as Nested<N>>::Flat;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: as the caller promises.
        unsafe { self.chain.piece(range) }.flat()
    }
}

impl<A: IntoChain<Chain: Source>, B: IntoChain<Chain: Source>> IntoChain for (A, B) {
    type Chain = Zip<A::Chain, B::Chain>;

    #[track_caller]
    fn into_chain(self) -> Self::Chain {
        Zip::new("a tuple", self.0.into_chain(), self.1.into_chain())
    }
}

/// Nested pairs: `((a, b), c)` of `a, b, c`.
macro_rules! nested {
    ($all:tt) => { $all };
    ($pair:tt, $next:tt $(, $rest:tt)*) => { nested!(($pair, $next) $(, $rest)*) };
}

/// The type of nested pairs of sources.
macro_rules! zipped {
    ($all:ty) => { $all };
    ($zip:ty, $next:ty $(, $rest:ty)*) => { zipped!(Zip<$zip, $next> $(, $rest)*) };
}

/// Implements [`IntoChain`] for a tuple of sources.
macro_rules! in_step {
    ($count:literal: $($S:ident),+) => {
        impl<$($S),+> Nested<$count> for nested!($($S),+) {
            type Flat = ($($S),+);

            #[inline(always)]
            fn flat(self) -> Self::Flat {
                let nested!($($S),+) = self;
                ($($S),+)
            }
        }

        impl<$($S: IntoChain<Chain: Source>),+> IntoChain for ($($S),+) {
            type Chain = InStep<zipped!($($S::Chain),+), $count>;

            #[track_caller]
            fn into_chain(self) -> Self::Chain {
                let ($($S),+) = self;
                InStep { chain: nested!($($S),+).into_chain() }
            }
        }
    };
}

in_step!(3: A, B, C);
in_step!(4: A, B, C, D);
in_step!(5: A, B, C, D, E);
in_step!(6: A, B, C, D, E, F);
in_step!(7: A, B, C, D, E, F, G);
in_step!(8: A, B, C, D, E, F, G, H);

/// Pieces of a source, of equal size. The last piece may be shorter, unless `EXACT`. Made
/// by [`On::chunks`](crate::On::chunks) and [`On::chunks_exact`](crate::On::chunks_exact), which
/// have examples.
#[doc(hidden)]
#[derive(Debug)]
pub struct Chunks<S, const EXACT: bool = false> {
    source: S,
    blocks: Blocks,
}

impl<S: Pieces, const EXACT: bool> Chunks<S, EXACT> {
    /// If `EXACT`, the items that remain at the end are in no piece.
    #[track_caller]
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "chunks: a chunk has at least one item");
        let len = source.count();
        Self { blocks: Blocks { size, len: if EXACT { len - len % size } else { len } }, source }
    }
}

begins_a_chain!([S: Pieces, const EXACT: bool] Chunks<S, EXACT>, S::Piece);

impl<S: Pieces, const EXACT: bool> Source for Chunks<S, EXACT> {
    fn count(&self) -> usize {
        self.blocks.count()
    }

    made_of!(source, self, range => self.blocks.items(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        let Blocks { size, len } = self.blocks;
        // SAFETY: *once*: no two blocks share an index, and each block is requested at most once,
        // as the caller promises.
        unsafe { self.source.blocks::<EXACT>(range, size, len) }
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> S::Piece {
        // SAFETY: *once*: likewise.
        unsafe { self.source.piece(self.blocks.items(index..index + 1)) }
    }
}

/// All pieces of `size` neighbouring items, which overlap. Made by
/// [`On::windows`](crate::On::windows), which has an example.
#[doc(hidden)]
#[derive(Debug)]
pub struct Windows<S> {
    source: S,
    size: usize,
}

impl<S: Shared> Windows<S> {
    #[track_caller]
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "windows: a window has at least one item");
        Self { source, size }
    }
}

begins_a_chain!([S: Shared] Windows<S>, S::Piece);

impl<S: Shared> Source for Windows<S> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.source.count().checked_sub(self.size).map_or(0, |others| others + 1)
    }

    fn address(&self) -> usize {
        self.source.address()
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: 1. the last window ends with the source; 2. items of a shared source may be
        // requested any number of times.
        range.map(|first| unsafe { self.source.piece(first..first + self.size) })
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { Claim::new(self, range) }.each_backward()
    }
}

/// The `len` items of a source from index `first` on. Made by [`On::take`](crate::On::take) and
/// [`On::skip`](crate::On::skip), which have examples.
#[doc(hidden)]
#[derive(Debug)]
pub struct Subrange<S> {
    source: S,
    first: usize,
    len: usize,
}

impl<S: Source> Subrange<S> {
    /// The part of `range` that lies within the source.
    pub(crate) fn new(source: S, range: Range<usize>) -> Self {
        let end = range.end.min(source.count());
        let first = range.start.min(end);
        Self { source, first, len: end - first }
    }

    fn in_source(&self, range: Range<usize>) -> Range<usize> {
        assert!(range.start <= range.end && range.end <= self.len);
        self.first + range.start..self.first + range.end
    }
}

begins_a_chain!([S: Source] Subrange<S>, S::Item);

impl<S: Source> Source for Subrange<S> {
    fn count(&self) -> usize {
        self.len
    }

    made_of!(source, self, range => self.in_source(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: *inside*: as the caller promises, since each index here stands for one index of
        // the source.
        unsafe { self.source.items(self.in_source(range)) }
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises, likewise.
        unsafe { self.source.items_backward(self.in_source(range)) }
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> S::Item {
        // SAFETY: as the caller promises, likewise.
        unsafe { self.source.item(self.first + index) }
    }
}

impl<S: Pieces> Pieces for Subrange<S> {
    type Piece = S::Piece;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> S::Piece {
        // SAFETY: as the caller promises, since each index here stands for one index of the source.
        unsafe { self.source.piece(self.in_source(range)) }
    }
}

impl<S: Shared> Shared for Subrange<S> {}

/// The items of a source in reverse order. Made by [`On::rev`](crate::On::rev), which has an
/// example.
#[doc(hidden)]
#[derive(Debug)]
pub struct Rev<S>(pub(super) S);

impl<S: Source> Rev<S> {
    fn in_source(&self, range: Range<usize>) -> Range<usize> {
        let len = self.0.count();
        len - range.end..len - range.start
    }
}

begins_a_chain!([S: Source] Rev<S>, S::Item);

impl<S: Source> Source for Rev<S> {
    fn count(&self) -> usize {
        self.0.count()
    }

    made_of!(0, self, range => self.in_source(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises, since each index here stands for one index of the source.
        unsafe { self.0.items_backward(self.in_source(range)) }
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises, likewise.
        unsafe { self.0.items(self.in_source(range)) }
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> S::Item {
        // SAFETY: as the caller promises, likewise.
        unsafe { self.0.item(self.0.count() - 1 - index) }
    }
}

impl<S: Source> InVectors for Rev<S> {}

/// The first item of each block of a source. Made by [`On::step_by`](crate::On::step_by), which has
/// an example.
#[doc(hidden)]
#[derive(Debug)]
pub struct StepBy<S> {
    source: S,
    blocks: Blocks,
}

impl<S: Source> StepBy<S> {
    #[track_caller]
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "step_by: a step is at least one item");
        Self { blocks: Blocks { size, len: source.count() }, source }
    }
}

begins_a_chain!([S: Source] StepBy<S>, S::Item);

impl<S: Source> Source for StepBy<S> {
    fn count(&self) -> usize {
        self.blocks.count()
    }

    made_of!(source, self, range => self.blocks.items(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        let items_of = |blocks| self.blocks.items(blocks);
        // SAFETY: *once*: no two blocks share an index, and each index is requested once, as the
        // caller promises.
        let blocks = unsafe { Claim::of_blocks(&self.source, range, items_of) };
        // The first item of each block. (With `Iterator::step_by` over the iterator of `map(f)`,
        // `f` would also be called for items that are left out.)
        blocks.map(Claim::first)
    }

    #[inline(always)]
    unsafe fn own_items_backward(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        unsafe { Claim::new(self, range) }.each_backward()
    }

    #[inline(always)]
    unsafe fn own_item(&self, index: usize) -> S::Item {
        // SAFETY: *once*: no two blocks share an index, and each block is requested at most once,
        // as the caller promises.
        unsafe { Claim::new(&self.source, self.blocks.items(index..index + 1)) }.first()
    }
}

impl<S: Source> InVectors for StepBy<S> {}

/// Neighbouring pieces of a source, with any lengths. Made by [`pieces`](crate::source::pieces) and
/// [`On::chunk_by`](crate::On::chunk_by). `O` is `&[usize]` or `Vec<usize>`, which have the same
/// offsets on each call of `deref`.
#[doc(hidden)]
#[derive(Debug)]
pub struct Cuts<S, O> {
    source: S,
    offsets: O,
}

impl<S: Pieces, O: Deref<Target = [usize]>> Cuts<S, O> {
    /// Piece `i` begins at offset `i` and ends before offset `i + 1`.
    #[track_caller]
    pub(crate) fn new(source: S, offsets: O) -> Self {
        let of = &*offsets;
        if let Some(at) = of.windows(2).position(|pair| pair[0] > pair[1]) {
            panic!("pieces: offset {at} is {}, and the next one is {}", of[at], of[at + 1]);
        }
        let (last, len) = (of.last().copied().unwrap_or(0), source.count());
        assert!(last <= len, "pieces: the last offset is {last}, and there are {len} items");
        Self { source, offsets }
    }

    fn in_source(&self, range: Range<usize>) -> Range<usize> {
        match self.offsets.get(range.start..=range.end) {
            Some(&[first, .., end]) => first..end,
            _ => 0..0,
        }
    }
}

begins_a_chain!([S: Pieces, O: Deref<Target = [usize]>] Cuts<S, O>, S::Piece);

impl<S: Pieces, O: Deref<Target = [usize]>> Source for Cuts<S, O> {
    fn count(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    made_of!(source, self, range => self.in_source(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: *once*: 1. the last offset lies within the source; 2. offsets do not decrease, so
        // no two pieces share an index, and each piece is requested once, as the caller promises;
        // 3. the claim of a piece has noted its items.
        unsafe { self.source.pieces(range, |pieces| self.in_source(pieces)) }
    }
}

/// An error of an item, with the index of that item. Made by [`On::located`](crate::On::located).
///
/// ```
/// use std::error::Error;
///
/// fn parse(pool: &rangesteal::Pool, words: &[&str]) -> Result<Vec<u32>, Box<dyn Error>> {
///     let numbers = pool.on(words).map(|word| word.parse::<u32>()).located();
///     Ok(numbers.collect::<Result<_, _>>()?)
/// }
///
/// let error = parse(&rangesteal::Pool::new()?, &["7", "x"]).unwrap_err();
/// assert_eq!(error.to_string(), "item 1: invalid digit found in string");
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At<E> {
    /// The index of the item.
    pub index: usize,
    /// The error of the item.
    pub error: E,
}

impl<E: fmt::Display> fmt::Display for At<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "item {}: {}", self.index, self.error)
    }
}

/// The message contains the message of the item's error, so [`source`](Error::source) returns the
/// source of the item's error.
impl<E: Error> Error for At<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.error.source()
    }
}

/// The items of a source. If an item is an error, the source adds the item's index to the error.
/// Made by [`On::located`](crate::On::located).
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Located<S>(pub(super) S);

begins_a_chain!([T, E, S: Source<Item = Result<T, E>>] Located<S>, Result<T, At<E>>);

impl<T, E, S: Source<Item = Result<T, E>>> Source for Located<S> {
    made_of!(0);

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
        // SAFETY: as the caller promises.
        let items = unsafe { self.0.items(range.clone()) };
        iter::zip(range, items).map(|(index, item)| item.map_err(|error| At { index, error }))
    }
}

/// Cuts `items` into pieces of exactly `size` items each. Returns the source of the pieces, and the
/// remaining items as one shorter piece, which may be empty.
///
/// ```
/// use rangesteal::{Pool, source};
///
/// let (pool, mut v) = (Pool::new()?, [1, 2, 3, 4, 5]);
/// let (pairs, rest) = source::chunks_exact(&mut v, 2);
/// pool.on(pairs).for_each(|pair| pair.swap(0, 1));
/// rest[0] = 0;
/// assert_eq!(v, [2, 1, 4, 3, 0]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// # Panics
/// If `size` is 0.
#[track_caller]
pub fn chunks_exact<S: IntoChain<Chain: Pieces>>(
    items: S,
    size: usize,
) -> (Chunks<S::Chain, true>, <S::Chain as Pieces>::Piece) {
    let chunks = Chunks::<_, true>::new(items.into_chain(), size);
    let (source, left) = (&chunks.source, chunks.blocks.len..chunks.source.count());
    source.note(&mut source.ledger(), left.clone());
    // SAFETY: *once*: 1. the remaining items lie within the source; 2. they are in no piece; 3.
    // they have just been noted.
    let rest = unsafe { source.piece(left) };
    (chunks, rest)
}

/// Cuts `items` into pieces: piece `i` begins at `offsets[i]` and ends before `offsets[i + 1]`. So
/// the number of pieces is the number of offsets minus one. The call checks the offsets in one
/// pass, in O(`offsets.len()`) time, and allocates nothing.
///
/// ```
/// use rangesteal::{Pool, source};
///
/// // A matrix with compressed rows, which differ in length.
/// let (pool, rows, mut values) = (Pool::new()?, [0, 2, 2, 5], [1.0, 3.0, 2.0, 2.0, 4.0]);
/// pool.on(source::pieces(&mut values, &rows)).for_each(|row| {
///     let sum: f64 = row.iter().sum();
///     row.iter_mut().for_each(|value| *value /= sum);
/// });
/// assert_eq!(values, [0.25, 0.75, 0.25, 0.25, 0.5]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// # Panics
/// If an offset is less than the offset before it, or if the last offset is greater than the number
/// of items.
#[track_caller]
pub fn pieces<S: IntoChain<Chain: Pieces>>(items: S, offsets: &[usize]) -> Cuts<S::Chain, &[usize]> {
    Cuts::new(items.into_chain(), offsets)
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{fmt::Debug, rc::Rc};

    use super::{
        super::source::{Exclusive, Indices},
        *,
    };

    /// Takes the items of a range in reverse, from both ends, in an order that the bits of `turns`
    /// say, and leaves `left` of them. They are those that `items` makes.
    fn check<S: Source<Item: Debug + PartialEq>>(what: &str, make: impl Fn() -> S) {
        let len = make().count();
        for (range, turns) in [0..len, 1..len, 0..len - 1]
            .into_iter()
            .flat_map(|r| [0, !0, 0b0100_1101].map(|t| (r.clone(), t)))
        {
            for left in 0..range.len() {
                let (source, all) = (make(), make());
                source.note(&mut source.ledger(), range.clone());
                all.note(&mut all.ledger(), range.clone());
                // SAFETY: the items are requested once, after they have been noted.
                let mut items = unsafe { source.items_backward(range.clone()) };
                // SAFETY: likewise.
                let forward = unsafe { all.items(range.clone()) };
                let mut expected: Vec<_> = forward.collect();
                for turn in 0..range.len() - left {
                    assert_eq!(items.len(), range.len() - turn, "{what}");
                    let (item, of) = match turns >> (turn % 32) & 1 {
                        0 => (items.next(), expected.pop()),
                        _ => (items.next_back(), Some(expected.remove(0))),
                    };
                    assert_eq!(item, of, "{what}, {range:?}, {turns:b}, item {turn}");
                }
            }
        }
    }

    #[test]
    fn items_backward_are_those_of_items_from_both_ends() {
        let numbers: Vec<usize> = (0..13).collect();
        let of = || &*numbers;
        check("a slice", of);
        check("a range", || (3..11_u8).into_chain());
        check("an inclusive range", || (3..=11_i64).into_chain());
        check("pairs", || Zip(of(), Rev(of())));
        check("numbered", || Zip(Indices(13), of()));
        check("numbered chunks", || Zip(Indices(5), Chunks::<_, false>::new(of(), 3)));
        check("a part", || Subrange::new(of(), 2..9));
        check("a reverse", || Rev(Zip(Indices(13), of())));
        check("windows", || Windows::new(of(), 4));
        check("steps", || StepBy::new(of(), 3));
        check("steps of a reverse", || StepBy::new(Rev(Zip(Indices(13), of())), 3));
    }

    /// Exclusive references to all items of a range, from both ends, exist at the same time.
    #[test]
    fn exclusive_items_backward_are_given_once() {
        let mut numbers = [0; 9];
        let all = Exclusive::new(&mut numbers);
        // SAFETY: the items are requested once; such a source notes nothing.
        let mut items = unsafe { all.items_backward(2..8) };
        let (last, first) = (items.next().expect("six"), items.next_back().expect("five"));
        items.enumerate().for_each(|(i, item)| *item = 20 + i);
        (*last, *first) = (1, 3);
        assert_eq!(numbers, [0, 0, 3, 23, 22, 21, 20, 1, 0]);
    }

    /// Each item is given once, or dropped once by what was left.
    #[test]
    fn owned_items_backward_are_dropped_once() {
        let all: Vec<_> = (0..9).map(Rc::new).collect();
        let made = || all.iter().map(Rc::clone).collect::<Vec<_>>().into_chain();
        let pairs = || Zip(made(), Indices(9));
        check("owned", made);
        check("owned pairs", pairs);
        check("owned pairs in reverse", || Rev(Zip(made(), Rev(made()))));
        check("a part of owned items", || Subrange::new(made(), 1..7));
        check("owned steps", || StepBy::new(made(), 2));
        check("owned steps of a reverse", || StepBy::new(Rev(made()), 4));
        assert!(all.iter().all(|item| Rc::strong_count(item) == 1));
    }
}
