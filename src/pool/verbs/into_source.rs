//! What can be turned into a source.

use std::mem::MaybeUninit;

use super::{
    owned::Owned,
    source::{Chunks, Exclusive, Pieces, Source, Zip},
};

/// What can be turned into a [`Source`]: slices, vectors and arrays by reference, shared or
/// exclusive; vectors, boxed slices and arrays by value; and index ranges.
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
    note = "pass `&slice`, `&mut slice`, a `Vec` or an array by value (of items that are `Send`), or a range of `usize` such as `0..n`"
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

/// Pieces of `items` of `size` items each, as [`On::chunks`](crate::On::chunks): to go through
/// pieces of two sizes in step.
///
/// ```
/// use rangesteal::{Pool, source};
///
/// let (pool, pixels, mut rows) = (Pool::new()?, [1, 2, 3, 4, 5, 6], [0; 4]);
/// let loops = pool.on(source::chunks(&mut rows, 2)).zip(source::chunks(&pixels, 3));
/// loops.for_each(|(ends, row)| ends.copy_from_slice(&[row[0], row[2]]));
/// assert_eq!(rows, [1, 3, 4, 6]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// # Panics
/// If `size` is 0.
pub fn chunks<S: IntoSource<Source: Pieces>>(items: S, size: usize) -> Chunks<S::Source> {
    Chunks::new(items.into_source(), size)
}

/// Two sources of equal length in step, as [`On::zip`](crate::On::zip): for a library that returns
/// what a loop can run over.
///
/// ```
/// use rangesteal::{Pool, source::{self, Source}};
///
/// fn numbered(names: &[String]) -> impl Source<Item = (usize, &String)> {
///     source::zip(1..names.len() + 1, names)
/// }
///
/// let (pool, names) = (Pool::new()?, [String::from("Ann"), String::from("Bob")]);
/// let lines = pool.on(numbered(&names)).map_collect(|(i, name)| format!("{i} {name}"));
/// assert_eq!(lines, ["1 Ann", "2 Bob"]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// # Panics
/// If the two have different lengths.
pub fn zip<A: IntoSource, B: IntoSource>(a: A, b: B) -> Zip<A::Source, B::Source> {
    Zip::new(a.into_source(), b.into_source())
}

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
pub fn chunks_exact<S: IntoSource<Source: Pieces>>(
    items: S,
    size: usize,
) -> (Chunks<S::Source>, <S::Source as Pieces>::Piece) {
    Chunks::with_remainder(items.into_source(), size)
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

impl<'a, T: Sync> IntoSource for &'a Box<[T]> {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

impl<'a, T: Send> IntoSource for &'a mut Box<[T]> {
    type Source = Exclusive<'a, T>;

    fn into_source(self) -> Exclusive<'a, T> {
        Exclusive::new(self)
    }
}

impl<'a, T: Sync, const N: usize> IntoSource for &'a [T; N] {
    type Source = &'a [T];

    fn into_source(self) -> &'a [T] {
        self
    }
}

/// The items themselves: see [`Owned`].
impl<T: Send> IntoSource for Vec<T> {
    type Source = Owned<Self>;

    fn into_source(self) -> Owned<Self> {
        Owned::vec(self)
    }
}

/// The items themselves: see [`Owned`].
impl<T: Send> IntoSource for Box<[T]> {
    type Source = Owned<Vec<T>>;

    fn into_source(self) -> Owned<Vec<T>> {
        Owned::vec(self.into_vec())
    }
}

/// The items themselves: see [`Owned`].
impl<T: Send, const N: usize> IntoSource for [T; N] {
    type Source = Owned<MaybeUninit<Self>>;

    fn into_source(self) -> Owned<MaybeUninit<Self>> {
        Owned::array(self)
    }
}
