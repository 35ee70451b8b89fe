//! The number of ways to place 13 queens on a board of 13 x 13 so that no queen attacks another
//! one. Each item is a board, as in the benchmark of Lace (van Dijk and van de Pol, 2014).

use std::hint::black_box;

use rangesteal::Pool;
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use crate::{
    entrants::Entrants,
    row::{Row, Unit},
    task::Task,
};

/// The column of the queen of each occupied row.
type Columns = [i8; 16];

#[derive(Clone, Copy)]
struct Board {
    /// The number of occupied rows.
    rows: i8,
    columns: Columns,
}

const SIZE: i8 = 13;
const SOLUTIONS: u64 = 73_712;

/// Whether no queen above attacks the queen of `row`.
#[inline(never)] // one copy of the code for all entrants
fn is_safe(columns: &Columns, row: usize) -> bool {
    let queen = columns[row];
    columns[..row].iter().enumerate().all(|(above, column)| {
        let rows = (row - above) as i8;
        queen != *column && (queen - column).abs() != rows
    })
}

impl Board {
    fn is_full(&self) -> bool {
        self.rows == SIZE
    }

    /// The board with a queen in the next row, if that queen is safe there.
    #[inline]
    fn with(&self, column: i8) -> Option<Self> {
        let Self { rows, mut columns } = *self;
        let row = rows as usize;
        columns[row] = column;
        is_safe(&columns, row).then_some(Self { rows: rows + 1, columns })
    }
}

fn plain(board: &Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    (0..SIZE).filter_map(|column| board.with(column)).map(|next| plain(&next)).sum()
}

fn grow(pool: &Pool, board: Board) -> u64 {
    pool.grow([board]).fold_unordered(
        || 0,
        |found, board, feed| {
            if board.is_full() {
                return found + 1;
            }
            feed.extend((0..SIZE).filter_map(|column| board.with(column)));
            found
        },
        |a, b| a + b,
    )
}

fn rayon(board: &Board) -> u64 {
    if board.is_full() {
        return 1;
    }
    (0..SIZE).into_par_iter().filter_map(|column| board.with(column)).map(|next| rayon(&next)).sum()
}

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let board = black_box(Board { rows: 0, columns: [0; 16] });
    let task =
        Task::plain(|| plain(&board)).grow(|pool| grow(pool, board)).rayon(|| rayon(&board)).gives(SOLUTIONS);
    vec![Row::of(&task.race(entrants), "13, each board an item", Unit::Ratio, Some(0.53))]
}
