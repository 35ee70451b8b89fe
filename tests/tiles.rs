//! The rectangles of a matrix: each cell is in one of them, whatever the schedule.

#![allow(clippy::cast_precision_loss)] // small numbers

use std::panic::{AssertUnwindSafe, catch_unwind};

use proptest::prelude::*;
use rangesteal::{Pool, source};

fn pool(threads: usize) -> Pool {
    Pool::builder().num_threads(threads).build().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(miri) { 8 } else { 300 }))]

    #[test]
    fn each_cell_is_in_one_tile(
        height in 0..30_usize,
        width in 1..30_usize,
        tile in [1..33_usize, 1..33_usize],
        threads in 1..4_usize,
    ) {
        let pool = pool(threads);
        let mut matrix = vec![0; height * width];
        for _ in 0..3 {
            pool.on(source::tiles(&mut matrix, width, tile)).enumerate().for_each(|(index, mut tile)| {
                let (rows, columns) = (tile.rows(), tile.columns());
                for (row, cells) in rows.zip(tile.cells()) {
                    assert_eq!(cells.len(), columns.len());
                    for (column, cell) in columns.clone().zip(cells) {
                        *cell += index * 1_000_000 + row * width + column;
                    }
                }
            });
        }
        let in_a_row = width.div_ceil(tile[1]);
        let expected = (0..height * width).map(|at| {
            let (row, column) = (at / width, at % width);
            3 * ((row / tile[0] * in_a_row + column / tile[1]) * 1_000_000 + at)
        });
        prop_assert!(matrix.iter().copied().eq(expected));
        let count = pool.on(source::tiles(&mut matrix, width, tile)).count();
        prop_assert_eq!(count, height.div_ceil(tile[0]) * in_a_row);
    }
}

#[test]
fn tiles_may_be_kept_and_read_in_any_order() {
    let pool = pool(3);
    let mut matrix: Vec<String> = (0..35).map(|i| i.to_string()).collect();
    let mut tiles: Vec<_> = pool.on(source::tiles(&mut matrix, 7, [2, 3])).rev().collect();
    assert_eq!(tiles.len(), 9);
    for tile in &mut tiles {
        for _ in 0..2 {
            tile.cells().rev().flatten().for_each(|cell| cell.push('!'));
        }
    }
    let mut corners: Vec<&mut String> = Vec::new();
    for tile in &mut tiles {
        corners.extend(tile.cells().last().and_then(|row| row.last_mut()));
    }
    for corner in &mut corners {
        corner.push('?');
    }
    assert_eq!(corners.len(), 9);
    drop(tiles);
    let with = |mark: &str| matrix.iter().filter(|cell| cell.ends_with(mark)).count();
    assert_eq!((with("!!"), with("!!?")), (26, 9));
}

#[test]
fn sizes_that_make_no_matrix_are_refused() {
    for (len, width, tile, message) in [
        (6, 0, [1, 1], "tiles: a row and a tile have at least one cell"),
        (6, 2, [0, 1], "tiles: a row and a tile have at least one cell"),
        (6, 2, [1, 0], "tiles: a row and a tile have at least one cell"),
        (7, 2, [1, 1], "tiles: 7 cells are no matrix whose rows have 2 cells"),
    ] {
        let mut cells = vec![0; len];
        let refused = catch_unwind(AssertUnwindSafe(|| {
            let _ = source::tiles(&mut cells, width, tile);
        }));
        let payload = refused.unwrap_err();
        let found = payload.downcast_ref::<String>().map(String::as_str);
        assert_eq!(found.or(payload.downcast_ref::<&str>().copied()), Some(message));
    }
    // One tile, however large it is said to be.
    let mut cells = [1; 6];
    let mut matrix = pool(2).on(source::tiles(&mut cells, 3, [usize::MAX; 2])).collect::<Vec<_>>();
    assert_eq!(matrix.len(), 1);
    assert_eq!((matrix[0].rows(), matrix[0].columns(), matrix[0].cells().len()), (0..2, 0..3, 2));
    let mut nothing: [u8; 0] = [];
    assert_eq!(pool(2).on(source::tiles(&mut nothing, 3, [1, 1])).count(), 0);
    let mut no_size = [(); 12];
    let pool = pool(2);
    let rows = pool.on(source::tiles(&mut no_size, 4, [2, 3])).map(|mut tile| tile.cells().len());
    assert_eq!(rows.sum::<usize>(), 6);
}

/// A blur of 5 by 5 cells by tiles gives the bits of the plain loop.
#[test]
fn a_blur_gives_the_bits_of_the_plain_loop() {
    let (height, width) = if cfg!(miri) { (9, 7) } else { (90, 70) };
    let image: Vec<f32> = (0..height * width).map(|i| (i * 7919 % 1009) as f32).collect();
    let blurred = |row: usize, column: usize| {
        let rows = row.saturating_sub(2)..(row + 3).min(height);
        let sum = |row: usize| {
            let columns = column.saturating_sub(2)..(column + 3).min(width);
            image[row * width..][columns].iter().sum::<f32>()
        };
        rows.map(sum).sum::<f32>() / 25.0
    };
    let mut by_tiles = vec![0.0; image.len()];
    pool(3).on(source::tiles(&mut by_tiles, width, [16, 16])).for_each(|mut tile| {
        let (rows, columns) = (tile.rows(), tile.columns());
        for (row, cells) in rows.zip(tile.cells()) {
            columns.clone().zip(cells).for_each(|(column, cell)| *cell = blurred(row, column));
        }
    });
    let plain = (0..image.len()).map(|at| blurred(at / width, at % width));
    assert!(by_tiles.iter().copied().eq(plain));
}
