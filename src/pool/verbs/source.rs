//! What a loop runs over: slices, shared or exclusive, index ranges, and combinations of these.

#![allow(unsafe_code)] // hands out the items of an exclusive slice one by one, on several threads

use std::{marker::PhantomData, ops::Range, ptr::NonNull, slice};

use crate::pool::record::units::Blocks;

/// What a loop runs over, and what its closures are given.
///
/// | source | item |
/// |---|---|
/// | `&[T]` (and `&Vec<T>`, `&[T; N]`) | `&T` |
/// | `&mut [T]` (and `&mut Vec<T>`, `&mut [T; N]`) | `&mut T` |
/// | `Vec<T>`, `Box<[T]>`, `[T; N]` ([`Owned`](crate::source::Owned)), or a part of a `Vec` ([`drain`](crate::source::drain)) | `T` |
/// | `Range<usize>` | `usize` |
/// | [`Zip<A, B>`](Zip), made by [`On::zip`](crate::On::zip) | `(A::Item, B::Item)` |
/// | [`Chunks<S>`](Chunks), made by [`On::chunks`](crate::On::chunks) | `&[T]`, `&mut [T]`, `Vec<T>`, `Range<usize>`, or pairs of these |
/// | [`Windows<S>`](Windows), made by [`On::windows`](crate::On::windows) | `&[T]` or `Range<usize>` |
/// | [`Copied<S>`](Copied), made by [`On::copied`](crate::On::copied) | `T` instead of `&T` |
/// | [`Part<S>`](Part), [`Rev<S>`](Rev), [`StepBy<S>`](StepBy), made by `take`, `skip`, `rev` and `step_by` | `S::Item` |
///
/// Sealed: it cannot be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "no loop runs over `{Self}`",
    note = "pass `&slice`, `&mut slice`, a `Vec` or an array by value (of items that are `Send`), or a range of `usize` such as `0..n`"
)]
pub trait Source: sealed::Sealed + Sync {
    /// What the closures of a loop are given.
    type Item;

    /// How many items there are.
    fn count(&self) -> usize;

    /// A number that tells this source from others. The pool uses it to remember what a loop over
    /// the source cost.
    #[doc(hidden)]
    fn address(&self) -> usize;

    /// What a worker notes of its claims: nothing, unless items are moved out.
    #[doc(hidden)]
    type Ledger<'s>
    where
        Self: 's;

    /// For a worker that begins.
    #[doc(hidden)]
    fn ledger(&self) -> Self::Ledger<'_>;

    /// Notes that the items of `range` are claimed: they will be requested, and never again.
    #[doc(hidden)]
    fn note(&self, ledger: &mut Self::Ledger<'_>, range: Range<usize>);

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// 1. `range` lies within `0..self.count()`. 2. No index is requested twice. 3. `range` has
    ///    been noted, in a ledger of this source.
    #[doc(hidden)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Self::Item> + DoubleEndedIterator;
}

/// A source whose neighbouring items can be given out as one piece, so that it can be cut into
/// [`Chunks`]. Sealed, as [`Source`] is.
pub trait Pieces: Source {
    /// Neighbouring items.
    type Piece;

    /// The items at the indices of `range`, as one piece.
    ///
    /// # Safety
    /// As for [`Source::items`].
    #[doc(hidden)]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece;

    /// The items at the indices of `range`, in pieces of `size` items; the last may be shorter.
    ///
    /// # Safety
    /// As for [`Source::items`].
    #[doc(hidden)]
    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        let blocks = Blocks { size, len: range.len() };
        (0..blocks.count()).map(move |block| {
            let items = blocks.items(block..block + 1);
            // SAFETY: no two blocks have an index in common, and each is had once, as promised.
            unsafe { self.piece(range.start + items.start..range.start + items.end) }
        })
    }
}

/// Of a source that lends its items, or counts: nothing need be noted.
macro_rules! nothing_is_noted {
    () => {
        type Ledger<'s>
            = ()
        where
            Self: 's;

        #[inline(always)]
        fn ledger(&self) {}

        #[inline(always)]
        fn note(&self, (): &mut (), _: Range<usize>) {}
    };
}

/// Of a source of items of another: that notes what its own indices stand for.
macro_rules! noted_by {
    ($source:tt, $self:ident, $range:ident => $there:expr) => {
        type Ledger<'s>
            = S::Ledger<'s>
        where
            Self: 's;

        #[inline(always)]
        fn ledger(&self) -> S::Ledger<'_> {
            self.$source.ledger()
        }

        #[inline(always)]
        fn note(&$self, ledger: &mut S::Ledger<'_>, $range: Range<usize>) {
            $self.$source.note(ledger, $there);
        }
    };
}

impl<'a, T: Sync> Source for &'a [T] {
    nothing_is_noted!();

    type Item = &'a T;

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
}

impl<'a, T: Sync> Pieces for &'a [T] {
    type Piece = &'a [T];

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> &'a [T] {
        &self[range]
    }
}

impl Source for Range<usize> {
    nothing_is_noted!();

    type Item = usize;

    fn count(&self) -> usize {
        self.len()
    }

    fn address(&self) -> usize {
        self.start
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator {
        // The addition is checked, so that the compiler knows how many indices there are.
        let first = self.start + range.start;
        first..first.checked_add(range.len()).expect("no index beyond the last")
    }
}

impl Pieces for Range<usize> {
    type Piece = Self;

    #[inline(always)]
    unsafe fn piece(&self, range: Self) -> Self {
        self.start + range.start..self.start + range.end
    }
}

/// The source of `&mut [T]`: a slice whose items are each given to one worker, which may change
/// them.
#[derive(Debug)]
pub struct Exclusive<'a, T> {
    base: NonNull<T>,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

// SAFETY: 1. a shared `Exclusive` gives each item to one thread, since each index is had at most
// once (`Source::items`); 2. that thread may be any, hence `T: Send`.
unsafe impl<T: Send> Sync for Exclusive<'_, T> {}
// SAFETY: it is an exclusive reference to items, which may be sent if they may.
unsafe impl<T: Send> Send for Exclusive<'_, T> {}

impl<'a, T> Exclusive<'a, T> {
    pub(crate) fn new(items: &'a mut [T]) -> Self {
        Self { len: items.len(), base: NonNull::from(items).cast(), slice: PhantomData }
    }

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// No index is requested twice.
    #[inline(always)]
    unsafe fn part(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: `range` lies within the slice, as just checked.
        let first = unsafe { self.base.add(range.start) };
        // SAFETY: 1. so does all of it; 2. the slice is borrowed exclusively for `'a`; 3. no index
        // of it is had a second time, as promised, so there is no other reference to these items.
        unsafe { slice::from_raw_parts_mut(first.as_ptr(), range.len()) }
    }
}

impl<'a, T: Send> Source for Exclusive<'a, T> {
    nothing_is_noted!();

    type Item = &'a mut T;

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
        // SAFETY: as promised.
        unsafe { self.part(range) }.iter_mut()
    }
}

impl<'a, T: Send> Pieces for Exclusive<'a, T> {
    type Piece = &'a mut [T];

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> &'a mut [T] {
        // SAFETY: as promised.
        unsafe { self.part(range) }
    }
}

/// Two sources of equal length in step. Made by [`On::zip`](crate::On::zip), which has an example.
#[derive(Debug)]
pub struct Zip<A, B>(A, B);

impl<A: Source, B: Source> Zip<A, B> {
    pub(crate) fn new(a: A, b: B) -> Self {
        assert_eq!(
            a.count(),
            b.count(),
            "two slices that are to be gone through in step have different lengths"
        );
        Self(a, b)
    }
}

impl<A: Source, B: Source> Source for Zip<A, B> {
    type Item = (A::Item, B::Item);

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
        // SAFETY: as promised, since the first has as many items.
        let a = unsafe { self.0.items(range.clone()) };
        // SAFETY: as promised, since the second has as many items.
        let b = unsafe { self.1.items(range) };
        a.zip(b)
    }
}

impl<A: Pieces, B: Pieces> Pieces for Zip<A, B> {
    type Piece = (A::Piece, B::Piece);

    #[inline(always)]
    unsafe fn piece(&self, range: Range<usize>) -> Self::Piece {
        // SAFETY: as promised, since the first has as many items.
        let a = unsafe { self.0.piece(range.clone()) };
        // SAFETY: as promised, since the second has as many items.
        let b = unsafe { self.1.piece(range) };
        (a, b)
    }

    #[inline(always)]
    unsafe fn pieces(
        &self,
        range: Range<usize>,
        size: usize,
    ) -> impl ExactSizeIterator<Item = Self::Piece> + DoubleEndedIterator {
        // SAFETY: as promised, since the first has as many items.
        let a = unsafe { self.0.pieces(range.clone(), size) };
        // SAFETY: as promised, since the second has as many items.
        let b = unsafe { self.1.pieces(range, size) };
        a.zip(b)
    }
}

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

impl<S: Pieces> Source for Chunks<S> {
    type Item = S::Piece;

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

/// A source whose items may be given out any number of times. Sealed, as [`Source`] is.
pub trait Shared: Pieces {}

impl<T: Sync> Shared for &[T] {}
impl Shared for Range<usize> {}

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

impl<S: Shared> Source for Windows<S> {
    nothing_is_noted!();

    type Item = S::Piece;

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

/// Copies of the items of a source. Made by [`On::copied`](crate::On::copied), which has an
/// example.
#[derive(Debug)]
pub struct Copied<S>(S);

impl<S> Copied<S> {
    pub(crate) fn new(source: S) -> Self {
        Self(source)
    }
}

impl<'a, T: Copy + 'a, S: Source<Item = &'a T>> Source for Copied<S> {
    type Item = T;

    fn count(&self) -> usize {
        self.0.count()
    }

    fn address(&self) -> usize {
        self.0.address()
    }

    noted_by!(0, self, range => range);

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = T> + DoubleEndedIterator {
        // SAFETY: as promised.
        unsafe { self.0.items(range) }.copied()
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

impl<S: Source> Source for Part<S> {
    type Item = S::Item;

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

impl<S: Source> Source for Rev<S> {
    type Item = S::Item;

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

impl<S: Source> Source for StepBy<S> {
    type Item = S::Item;

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

pub(super) mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for &[T] {}
    impl Sealed for std::ops::Range<usize> {}
    impl<T> Sealed for super::Exclusive<'_, T> {}
    impl<A, B> Sealed for super::Zip<A, B> {}
    impl<S> Sealed for super::Chunks<S> {}
    impl<S> Sealed for super::Copied<S> {}
    impl<S> Sealed for super::Windows<S> {}
    impl<S> Sealed for super::Part<S> {}
    impl<S> Sealed for super::Rev<S> {}
    impl<S> Sealed for super::StepBy<S> {}
}
