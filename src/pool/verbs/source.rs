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
/// | `Range<usize>` | `usize` |
/// | [`Zip<A, B>`](Zip), made by [`On::zip`](crate::On::zip) | `(A::Item, B::Item)` |
/// | [`Chunks<S>`](Chunks), made by [`On::chunks`](crate::On::chunks) | `&[T]`, `&mut [T]`, `Range<usize>`, or pairs of these |
/// | [`Windows<S>`](Windows), made by [`On::windows`](crate::On::windows) | `&[T]` or `Range<usize>` |
/// | [`Copied<S>`](Copied), made by [`On::copied`](crate::On::copied) | `T` instead of `&T` |
///
/// Sealed: it cannot be implemented elsewhere.
#[diagnostic::on_unimplemented(
    message = "no loop runs over `{Self}`",
    note = "pass `&slice`, `&mut slice`, or a range of `usize` such as `0..n`; for more, `zip` and `chunks`"
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

    /// The items at the indices of `range`.
    ///
    /// # Safety
    /// 1. `range` lies within `0..self.count()`. 2. No index is requested twice.
    #[doc(hidden)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Self::Item>;
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
}

/// What can be turned into a [`Source`]: slices, vectors and arrays by reference, shared or
/// exclusive, and index ranges.
///
/// ```
/// use rangesteal::{Pool, source::{IntoSource, Source}};
///
/// /// Of a slice, an index range, or whatever else.
/// fn count(pool: &Pool, items: impl IntoSource) -> usize {
///     pool.on(items).fold_reduce(|| 0, |count, _| count + 1, |a, b| a + b)
/// }
///
/// let pool = Pool::new()?;
/// assert_eq!(count(&pool, 0..10) + count(&pool, &[1, 2]), 12);
/// assert_eq!((&[1, 2, 3]).into_source().count(), 3);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// Not sealed: you can implement it for a type of yours that holds a slice.
///
/// ```
/// use rangesteal::{Pool, source::{Exclusive, IntoSource}};
///
/// struct Matrix { cells: Vec<f64> }
///
/// impl<'a> IntoSource for &'a Matrix {
///     type Source = &'a [f64];
///
///     fn into_source(self) -> &'a [f64] {
///         &self.cells
///     }
/// }
///
/// impl<'a> IntoSource for &'a mut Matrix {
///     type Source = Exclusive<'a, f64>;
///
///     fn into_source(self) -> Exclusive<'a, f64> {
///         (&mut self.cells).into_source()
///     }
/// }
///
/// let (pool, mut matrix) = (Pool::new()?, Matrix { cells: vec![1.0; 6] });
/// pool.on(&mut matrix).for_each(|cell| *cell += 1.0);
/// assert_eq!(pool.on(&matrix).chunks(3).map_collect(|row| row.iter().sum::<f64>()), [6.0, 6.0]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "no loop runs over `{Self}`",
    note = "pass `&slice`, `&mut slice`, or a range of `usize` such as `0..n`; for more, `zip` and `chunks`"
)]
pub trait IntoSource {
    /// The source that it becomes.
    type Source: Source;

    /// Turns it into a source.
    fn into_source(self) -> Self::Source;
}

impl<S: Source> IntoSource for S {
    type Source = S;

    fn into_source(self) -> S {
        self
    }
}

impl<'a, T: Sync> Source for &'a [T] {
    type Item = &'a T;

    fn count(&self) -> usize {
        self.len()
    }

    fn address(&self) -> usize {
        self.as_ptr().addr()
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = &'a T> {
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
    type Item = usize;

    fn count(&self) -> usize {
        self.len()
    }

    fn address(&self) -> usize {
        self.start
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = usize> {
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
    fn new(items: &'a mut [T]) -> Self {
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
    type Item = &'a mut T;

    fn count(&self) -> usize {
        self.len
    }

    fn address(&self) -> usize {
        self.base.addr().get()
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = &'a mut T> {
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

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = Self::Item> {
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
}

impl<S: Pieces> Source for Chunks<S> {
    type Item = S::Piece;

    fn count(&self) -> usize {
        self.blocks.count()
    }

    fn address(&self) -> usize {
        self.source.address()
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = S::Piece> {
        // SAFETY: no two blocks have an index in common, and each is had at most once, as promised.
        range.map(|block| unsafe { self.source.piece(self.blocks.items(block..block + 1)) })
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
    type Item = S::Piece;

    fn count(&self) -> usize {
        let items = self.source.count();
        if items < self.size { 0 } else { items - self.size + 1 }
    }

    fn address(&self) -> usize {
        self.source.address()
    }

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = S::Piece> {
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

    #[inline(always)]
    unsafe fn items(&self, range: Range<usize>) -> impl ExactSizeIterator<Item = T> {
        // SAFETY: as promised.
        unsafe { self.0.items(range) }.copied()
    }
}

impl<'a, T: Send> IntoSource for &'a mut [T] {
    type Source = Exclusive<'a, T>;

    fn into_source(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

impl<'a, T: Send> IntoSource for &'a mut Vec<T> {
    type Source = Exclusive<'a, T>;

    fn into_source(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

impl<'a, T: Send, const N: usize> IntoSource for &'a mut [T; N] {
    type Source = Exclusive<'a, T>;

    fn into_source(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// A parameter `items: &mut [T]`, passed as `&mut items`.
#[allow(clippy::mut_mut, reason = "that is what it is")]
impl<'a, T: Send> IntoSource for &'a mut &mut [T] {
    type Source = Exclusive<'a, T>;

    fn into_source(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// A parameter `items: &mut Vec<T>`, passed as `&mut items`.
#[allow(clippy::mut_mut, reason = "that is what it is")]
impl<'a, T: Send> IntoSource for &'a mut &mut Vec<T> {
    type Source = Exclusive<'a, T>;

    fn into_source(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

/// A parameter `items: &[T]`, passed as `&items`.
impl<'a, T: Sync> IntoSource for &&'a [T] {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

/// A parameter `items: &Vec<T>`, passed as `&items`.
impl<'a, T: Sync> IntoSource for &&'a Vec<T> {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Sync> IntoSource for &'a Vec<T> {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Sync, const N: usize> IntoSource for &'a [T; N] {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

mod sealed {
    pub trait Sealed {}
    impl<T> Sealed for &[T] {}
    impl Sealed for std::ops::Range<usize> {}
    impl<T> Sealed for super::Exclusive<'_, T> {}
    impl<A, B> Sealed for super::Zip<A, B> {}
    impl<S> Sealed for super::Chunks<S> {}
    impl<S> Sealed for super::Copied<S> {}
    impl<S> Sealed for super::Windows<S> {}
}
