//! The source of the rectangles of a matrix.

#![allow(unsafe_code)] // requests each rectangle once

use std::ops::Range;

use super::{
    chain::{Chain, Each, Source, base, begins_a_chain, itself, nothing_is_noted},
    source::Exclusive,
    state::Stateless,
};

/// Cuts a matrix into rectangles of `rows` rows and `columns` columns, for a loop that changes the
/// cells. Each item of the loop is a [`Tile`]. The matrix is stored row by row; a row has `width`
/// cells. The last tiles of a row or a column are smaller if the numbers do not divide evenly.
///
/// A loop over [`chunks`](crate::On::chunks) of whole rows is simpler, and usually as fast. Tiles
/// are for loops that also read along columns, such as a transposition. The cells of a tile, and
/// the cells that the loop reads for them, fit in a cache.
///
/// ```
/// use rangesteal::{Pool, source};
///
/// // Transposes a matrix of 2 rows and 3 columns.
/// let (pool, matrix, mut transposed) = (Pool::new()?, [1, 2, 3, 4, 5, 6], [0; 6]);
/// pool.on(source::tiles(&mut transposed, 2, [2, 2])).for_each(|mut tile| {
///     let (rows, columns) = (tile.rows(), tile.columns());
///     for (row, cells) in rows.zip(tile.cells()) {
///         for (column, cell) in columns.clone().zip(cells) {
///             *cell = matrix[3 * column + row];
///         }
///     }
/// });
/// assert_eq!(transposed, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), rangesteal::BuildError>(())
/// ```
///
/// # Panics
/// If `width`, `rows` or `columns` is 0, or if the last row has fewer than `width` cells.
#[track_caller]
pub fn tiles<T>(matrix: &mut [T], width: usize, [rows, columns]: [usize; 2]) -> Tiles<'_, T> {
    assert!(width > 0 && rows > 0 && columns > 0, "tiles: a row and a tile have at least one cell");
    let len = matrix.len();
    assert!(len.is_multiple_of(width), "tiles: {len} cells are no matrix whose rows have {width} cells");
    Tiles { height: len / width, width, rows, columns, cells: Exclusive::new(matrix) }
}

/// The rectangles of a matrix, row by row. Made by [`tiles`].
#[doc(hidden)]
#[derive(Debug)]
pub struct Tiles<'a, T> {
    cells: Exclusive<'a, T>,
    height: usize,
    width: usize,
    rows: usize,
    columns: usize,
}

impl<T> Tiles<'_, T> {
    /// The number of tiles side by side.
    fn in_a_row(&self) -> usize {
        self.width.div_ceil(self.columns)
    }
}

/// A rectangle of a matrix, which a closure may change. Made by [`tiles`], which has an example.
#[derive(Debug)]
pub struct Tile<'a, T> {
    /// All cells of the matrix. This tile may request only the cells of its rectangle.
    cells: Exclusive<'a, T>,
    width: usize,
    rows: Range<usize>,
    columns: Range<usize>,
}

impl<T> Tile<'_, T> {
    /// The rows of the matrix in which the tile lies.
    #[must_use]
    pub fn rows(&self) -> Range<usize> {
        self.rows.clone()
    }

    /// The columns of the matrix in which the tile lies.
    #[must_use]
    pub fn columns(&self) -> Range<usize> {
        self.columns.clone()
    }

    /// The cells of the tile, row by row.
    #[inline(always)]
    pub fn cells(&mut self) -> impl ExactSizeIterator<Item = &mut [T]> + DoubleEndedIterator {
        let Self { cells, width, rows, columns } = self;
        rows.clone().map(|row| -> &mut [T] {
            let first = row * *width;
            // SAFETY: *once*: 1. only this tile requests these cells (`Tiles::items`); 2. the
            // result borrows from this tile exclusively, and no two rows share a cell.
            unsafe { cells.part(first + columns.start..first + columns.end) }
        })
    }
}

begins_a_chain!(['a, T] Tiles<'a, T>, Tile<'a, T>);

impl<'a, T> Source for Tiles<'a, T> {
    nothing_is_noted!();

    fn count(&self) -> usize {
        self.height.div_ceil(self.rows) * self.in_a_row()
    }

    fn address(&self) -> usize {
        self.cells.address()
    }

    #[inline(always)]
    unsafe fn items(
        &self,
        range: Range<usize>,
    ) -> impl ExactSizeIterator<Item = Tile<'a, T>> + DoubleEndedIterator {
        range.map(|index| {
            let in_a_row = self.in_a_row();
            let part = |number: usize, size: usize, len: usize| {
                let first = number * size;
                first..first.saturating_add(size).min(len)
            };
            Tile {
                // SAFETY: *once*: each index is requested once, as the caller promises; a tile
                // requests only its own cells, and no two tiles share a cell.
                cells: unsafe { self.cells.alias() },
                width: self.width,
                rows: part(index / in_a_row, self.rows, self.height),
                columns: part(index % in_a_row, self.columns, self.width),
            }
        })
    }
}
