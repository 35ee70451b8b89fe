//! Sources made of sources: items in step, in pieces, in reverse, or some of them.

#![allow(unsafe_code)] // asks other sources for their items, as it is asked for its own

use std::ops::Range;

use super::{
    chain::{Chain, Each, IntoChain, Makes, sealed::Sealed},
    on::On,
    source::{Pieces, Shared, Source, base, noted_by, nothing_is_noted},
    state::Stateless,
};
use crate::pool::record::units::Blocks;

/// Sources of equal length in step: two to eight. Made by [`On::zip`](crate::On::zip) and of
/// tuples.
///
/// ```
/// # let pool = rangesteal::Pool::new()?;
/// let (mass, speed, mut energy) = ([2.0, 4.0], [3.0, 1.0], [0.0; 2]);
/// pool.on((&mass, &speed, &mut energy)).for_each(|(m, v, e)| *e = m * v * v / 2.0);
/// assert_eq!(energy, [9.0, 2.0]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Zip<T>(T);

impl<A: Source, B: Source> Zip<(A, B)> {
    #[track_caller]
    pub(crate) fn new(a: A, b: B) -> Self {
        check_lengths(&[a.count(), b.count()]);
        Self((a, b))
    }
}

impl<A: Source, B: Source> Zip<(Part<A>, Part<B>)> {
    /// As many pairs as the shorter one has items.
    pub(crate) fn shortest(a: A, b: B) -> Self {
        let count = a.count().min(b.count());
        Self((Part::new(a, 0..count), Part::new(b, 0..count)))
    }
}

/// # Panics
/// Unless all are the same.
#[track_caller]
fn check_lengths(counts: &[usize]) {
    if let Some(other) = counts.iter().find(|count| **count != counts[0]) {
        panic!("zip: {} and {other} items; `.take(n)` makes them equal", counts[0]);
    }
}

/// So many sources in step: `$nested` is what iterators zipped one by one give.
macro_rules! in_step {
    ([$($S:ident $a:ident $i:tt),+], $first:ident $(. $rest:ident)+, $nested:pat) => {
        impl<$($S: Source),+> Chain for Zip<($($S,)+)> {
            type Item = ($($S::Item,)+);
            base!();
        }

        impl<$($S: Source),+> Each for Zip<($($S,)+)> {}

        impl<$($S),+> Sealed for Zip<($($S,)+)> {}

        impl<$($S: Source),+> Source for Zip<($($S,)+)> {
            fn count(&self) -> usize {
                self.0.0.count()
            }

            fn address(&self) -> usize {
                0 $(^ self.0.$i.address().rotate_left(32 * $i + $i / 2))+
            }

            type Ledger<'s>
                = ($($S::Ledger<'s>,)+)
            where
                Self: 's;

            #[inline(always)]
            fn ledger(&self) -> Self::Ledger<'_> {
                ($(self.0.$i.ledger(),)+)
            }

            #[inline(always)]
            fn note(&self, ledger: &mut Self::Ledger<'_>, range: Range<usize>) {
                $(self.0.$i.note(&mut ledger.$i, range.clone());)+
            }

            #[inline(always)]
            unsafe fn items(
                &self,
                range: Range<usize>,
            ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator {
                // SAFETY: as promised, since all have as many items.
                $(let $a = unsafe { self.0.$i.items(range.clone()) };)+
                $first$(.zip($rest))+.map(|$nested| ($($a,)+))
            }
        }

        impl<$($S: Pieces),+> Pieces for Zip<($($S,)+)> {
            type Piece = ($($S::Piece,)+);

            #[inline(always)]
            unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
                // SAFETY: as promised, since all have as many items.
                ($(unsafe { self.0.$i.piece(range.clone()) },)+)
            }

            #[inline(always)]
            unsafe fn pieces(
                &self,
                range: Range<usize>,
                size: usize,
            ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
                // SAFETY: as promised, since all have as many items.
                $(let $a = unsafe { self.0.$i.pieces(range.clone(), size) };)+
                $first$(.zip($rest))+.map(|$nested| ($($a,)+))
            }
        }

        impl<$($S: IntoChain<Chain: Source>),+> IntoChain for ($($S,)+) {
            type Chain = Zip<($($S::Chain,)+)>;

            #[track_caller]
            fn into_chain(self) -> Self::Chain {
                let sources = ($(self.$i.into_chain(),)+);
                check_lengths(&[$(sources.$i.count()),+]);
                Zip(sources)
            }
        }
    };
}

in_step!([A a 0, B b 1], a.b, (a, b));
in_step!([A a 0, B b 1, C c 2], a.b.c, ((a, b), c));
in_step!([A a 0, B b 1, C c 2, D d 3], a.b.c.d, (((a, b), c), d));
in_step!([A a 0, B b 1, C c 2, D d 3, F f 4], a.b.c.d.f, ((((a, b), c), d), f));
in_step!([A a 0, B b 1, C c 2, D d 3, F f 4, G g 5], a.b.c.d.f.g, (((((a, b), c), d), f), g));
in_step!(
    [A a 0, B b 1, C c 2, D d 3, F f 4, G g 5, H h 6],
    a.b.c.d.f.g.h,
    ((((((a, b), c), d), f), g), h)
);
in_step!(
    [A a 0, B b 1, C c 2, D d 3, F f 4, G g 5, H h 6, I i 7],
    a.b.c.d.f.g.h.i,
    (((((((a, b), c), d), f), g), h), i)
);

/// Pieces of a source, of equal size; the last may be shorter. Made by
/// [`On::chunks`](crate::On::chunks), which has an example.
#[derive(Debug)]
pub struct Chunks<S> {
    source: S,
    blocks: Blocks,
}

impl<S: Pieces> Chunks<S> {
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "chunks: a chunk has at least one item");
        Self { blocks: Blocks { size, len: source.count() }, source }
    }

    /// Of this size, all of them; the items that are left over are in none.
    pub(crate) fn exact(source: S, size: usize) -> Self {
        let Self { source, blocks } = Self::new(source, size);
        Self { source, blocks: Blocks { len: blocks.len - blocks.len % size, ..blocks } }
    }

    /// The same, and the items that are left over.
    pub(crate) fn with_remainder(source: S, size: usize) -> (Self, S::Piece) {
        let chunks = Self::exact(source, size);
        let (source, left) = (&chunks.source, chunks.blocks.len..chunks.source.count());
        source.note(&mut source.ledger(), left.clone());
        // SAFETY: 1. they lie within the source; 2. they are in no piece; 3. they have just been
        // noted.
        let rest = unsafe { source.piece(left) };
        (chunks, rest)
    }
}

impl<S: Pieces> Chain for Chunks<S> {
    type Item = S::Piece;
    base!();
}

impl<S: Pieces> Each for Chunks<S> {}

impl<S> Sealed for Chunks<S> {}

impl<S: Pieces> Source for Chunks<S> {
    fn count(&self) -> usize {
        self.blocks.count()
    }

    fn address(&self) -> usize {
        self.source.address()
    }

    noted_by!(source, self, range => self.blocks.items(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: no two blocks have an index in common, and each is had at most once, as promised.
        unsafe { self.source.pieces(self.blocks.items(range), self.blocks.size) }
    }
}

/// All pieces of so many neighbouring items, which overlap. Made by
/// [`On::windows`](crate::On::windows), which has an example.
#[derive(Debug)]
pub struct Windows<S> {
    source: S,
    size: usize,
}

impl<S: Shared> Windows<S> {
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "windows: a window has at least one item");
        Self { source, size }
    }
}

impl<S: Shared> Chain for Windows<S> {
    type Item = S::Piece;
    base!();
}

impl<S: Shared> Each for Windows<S> {}

impl<S> Sealed for Windows<S> {}

impl<S: Shared> Source for Windows<S> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        let items = self.source.count();
        if items < self.size { 0 } else { items - self.size + 1 }
    }

    fn address(&self) -> usize {
        self.source.address()
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: 1. the last window ends with the source; 2. items of a shared source may be had
        // any number of times.
        range.map(|first| unsafe { self.source.piece(first..first + self.size) })
    }
}

/// Neighbouring items of a source, and no others. Made by [`On::take`](crate::On::take) and
/// [`On::skip`](crate::On::skip), which have examples.
#[derive(Debug)]
pub struct Part<S> {
    source: S,
    first: usize,
    len: usize,
}

impl<S: Source> Part<S> {
    /// As much of `range` as there is.
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

impl<S: Source> Chain for Part<S> {
    type Item = S::Item;
    base!();
}

impl<S: Source> Each for Part<S> {}

impl<S> Sealed for Part<S> {}

impl<S: Source> Source for Part<S> {
    fn count(&self) -> usize {
        self.len
    }

    fn address(&self) -> usize {
        self.source.address().wrapping_add(self.first)
    }

    noted_by!(source, self, range => self.in_source(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as promised, since an index here stands for one of the source.
        unsafe { self.source.items(self.in_source(range)) }
    }
}

impl<S: Pieces> Pieces for Part<S> {
    type Piece = S::Piece;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> S::Piece {
        // SAFETY: as promised, since an index here stands for one of the source.
        unsafe { self.source.piece(self.in_source(range)) }
    }

    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: as promised, since an index here stands for one of the source.
        unsafe { self.source.pieces(self.in_source(range), size) }
    }
}

impl<S: Shared> Shared for Part<S> {}

/// The items of a source, the last one first. Made by [`On::rev`](crate::On::rev), which has an
/// example.
#[derive(Debug)]
pub struct Rev<S>(S);

impl<S: Source> Rev<S> {
    pub(crate) fn new(source: S) -> Self {
        Self(source)
    }

    fn in_source(&self, range: Range<usize>) -> Range<usize> {
        let len = self.0.count();
        len - range.end..len - range.start
    }
}

impl<S: Source> Chain for Rev<S> {
    type Item = S::Item;
    base!();
}

impl<S: Source> Each for Rev<S> {}

impl<S> Sealed for Rev<S> {}

impl<S: Source> Source for Rev<S> {
    fn count(&self) -> usize {
        self.0.count()
    }

    fn address(&self) -> usize {
        !self.0.address()
    }

    noted_by!(0, self, range => self.in_source(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as promised, since an index here stands for one of the source.
        unsafe { self.0.items(self.in_source(range)) }.rev()
    }
}

/// The first of each so many items of a source. Made by [`On::step_by`](crate::On::step_by), which
/// has an example.
#[derive(Debug)]
pub struct StepBy<S> {
    source: S,
    blocks: Blocks,
}

impl<S: Source> StepBy<S> {
    pub(crate) fn new(source: S, size: usize) -> Self {
        assert!(size > 0, "step_by: a step goes on by at least one item");
        Self { blocks: Blocks { size, len: source.count() }, source }
    }
}

impl<S: Source> Chain for StepBy<S> {
    type Item = S::Item;
    base!();
}

impl<S: Source> Each for StepBy<S> {}

impl<S> Sealed for StepBy<S> {}

impl<S: Source> Source for StepBy<S> {
    fn count(&self) -> usize {
        self.blocks.count()
    }

    fn address(&self) -> usize {
        self.source.address() ^ self.blocks.size
    }

    noted_by!(source, self, range => self.blocks.items(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as promised: no two blocks have an index in common, and each is had at most once.
        unsafe { self.source.items(self.blocks.items(range)) }.step_by(self.blocks.size)
    }
}

/// Neighbouring pieces of a source, of any lengths. Made by [`pieces`](crate::source::pieces) and
/// [`On::chunk_by`](crate::On::chunk_by).
#[derive(Debug)]
pub struct Cuts<S, O> {
    source: S,
    offsets: O,
}

impl<S: Pieces, O: Offsets> Cuts<S, O> {
    /// Piece `i` lies between the offsets `i` and `i + 1`.
    #[track_caller]
    pub(crate) fn new(source: S, offsets: O) -> Self {
        let of = offsets.offsets();
        if let Some(at) = of.windows(2).position(|pair| pair[0] > pair[1]) {
            panic!("pieces: offset {at} is {}, and the next one is {}", of[at], of[at + 1]);
        }
        let (last, len) = (of.last().copied().unwrap_or(0), source.count());
        assert!(last <= len, "pieces: the last offset is {last}, and there are {len} items");
        Self { source, offsets }
    }

    fn in_source(&self, range: Range<usize>) -> Range<usize> {
        match self.offsets.offsets().get(range.start..=range.end) {
            Some(&[first, .., end]) => first..end,
            _ => 0..0,
        }
    }
}

/// What holds offsets and gives out the same ones each time. Sealed.
pub trait Offsets: Sealed + Sync {
    /// The offsets.
    #[doc(hidden)]
    fn offsets(&self) -> &[usize];
}

impl Offsets for &[usize] {
    fn offsets(&self) -> &[usize] {
        self
    }
}

impl Offsets for Vec<usize> {
    fn offsets(&self) -> &[usize] {
        self
    }
}

impl Sealed for Vec<usize> {}

impl<S: Pieces, O: Offsets> Chain for Cuts<S, O> {
    type Item = S::Piece;
    base!();
}

impl<S: Pieces, O: Offsets> Each for Cuts<S, O> {}

impl<S, O> Sealed for Cuts<S, O> {}

impl<S: Pieces, O: Offsets> Source for Cuts<S, O> {
    fn count(&self) -> usize {
        self.offsets.offsets().len().saturating_sub(1)
    }

    fn address(&self) -> usize {
        self.source.address()
    }

    noted_by!(source, self, range => self.in_source(range));

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        range.map(|piece| {
            // SAFETY: 1. the last offset lies within the source; 2. offsets do not decrease, so no
            // two pieces have an index in common, and each is had once, as promised; 3. so noted.
            unsafe { self.source.piece(self.in_source(piece..piece + 1)) }
        })
    }
}

impl<C: Each> Each for On<C> {}

impl<S: Source> Source for On<S> {
    fn count(&self) -> usize {
        self.chain.count()
    }

    fn address(&self) -> usize {
        self.chain.address()
    }

    noted_by!(chain, self, range => range);

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = S::Item> + DoubleEndedIterator {
        // SAFETY: as promised.
        unsafe { self.chain.items(range) }
    }
}

impl<S: Pieces> Pieces for On<S> {
    type Piece = S::Piece;

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> S::Piece {
        // SAFETY: as promised.
        unsafe { self.chain.piece(range) }
    }

    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = S::Piece> + DoubleEndedIterator {
        // SAFETY: as promised.
        unsafe { self.chain.pieces(range, size) }
    }
}

impl<S: Shared> Shared for On<S> {}

/// Pieces of `items` of exactly `size` items each, and the remainder.
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
pub fn chunks_exact<S: IntoChain<Chain: Pieces>>(
    items: S,
    size: usize,
) -> (Chunks<S::Chain>, <S::Chain as Pieces>::Piece) {
    Chunks::with_remainder(items.into_chain(), size)
}

/// Disjoint pieces of `items`: piece `i` begins at `offsets[i]` and ends before `offsets[i + 1]`.
/// So there is one piece less than offsets. They are checked here, in one pass; nothing is
/// allocated.
///
/// ```
/// use rangesteal::{Pool, source};
///
/// // A matrix by compressed rows: each row has as many values as it needs.
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
/// If an offset is less than the one before it, or the last is greater than the number of items.
#[track_caller]
pub fn pieces<S: IntoChain<Chain: Pieces>>(items: S, offsets: &[usize]) -> Cuts<S::Chain, &[usize]> {
    Cuts::new(items.into_chain(), offsets)
}
