//! Places queens on a chessboard so that no queen attacks another: loops over a list that grows.
//!
//! ```text
//! cargo run --release --example queens [side]
//! ```
//!
//! An item is a board with queens in its first rows. The closure feeds the list with all boards
//! that have one more queen. The program does not say which branches of the search are large, or
//! which are too small to be shared. The parallel loops are in `count_by_rangesteal` and in
//! `find_by_rangesteal`. `find_by_rangesteal` is a search: its closure returns the found board as
//! an error, which ends the loop.

#[expect(dead_code, reason = "the size has bounds here")]
mod side_by_side;

use std::{env, iter, process::ExitCode};

use rangesteal::{BuildError, Feed, Pool, RunReport};
use rayon::{iter::walk_tree_postfix, prelude::*};

/// The board, and the random columns with which each row begins.
struct Rules {
    side: u32,
    is_endless: bool, // an attack that leaves the board returns at the opposite edge
    first: Vec<u32>,
}

impl Rules {
    fn new(side: u32, is_endless: bool, seed: u64) -> Self {
        let mut random = side_by_side::random(seed);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the side")]
        let mut column = || (random() * f64::from(side)) as u32;
        Self { side, is_endless, first: (0..=side).map(|_| u32::MAX << column()).collect() }
    }
}

/// Queens in the first rows. The board keeps the columns of the first N rows. A count needs no
/// columns, so N is 0.
#[derive(Clone, Copy)]
struct Board<const N: usize> {
    queens: [u8; N],
    rows: u32,
    /// The attacked columns of the next row, one bit per column: straight ahead, and along both
    /// diagonals.
    ahead: u32,
    left: u32,
    right: u32,
}

impl<const N: usize> Board<N> {
    const EMPTY: Self = Self { queens: [0; N], rows: 0, ahead: 0, left: 0, right: 0 };

    /// The boards with an additional queen in the next row, on each column that is not attacked.
    fn next(self, &Rules { side, is_endless, ref first }: &Rules) -> impl Iterator<Item = Self> {
        let (all, first) = (u32::MAX >> (32 - side), first[self.rows as usize]);
        let mut free = all & !(self.ahead | self.left | self.right);
        iter::from_fn(move || {
            let choice = if free & first == 0 { free } else { free & first };
            let queen = choice & choice.wrapping_neg(); // its lowest bit
            free ^= queen;
            let (mut queens, left, right) = (self.queens, self.left | queen, self.right | queen);
            let place = queen.trailing_zeros().to_le_bytes()[0];
            queens.get_mut(self.rows as usize).into_iter().for_each(|kept| *kept = place);
            let (l, r) = if is_endless { (left >> (side - 1), right << (side - 1)) } else { (0, 0) };
            let (left, right) = (((left << 1) | l) & all, ((right >> 1) | r) & all);
            let (rows, ahead) = (self.rows + 1, self.ahead | queen);
            (queen != 0).then_some(Self { queens, rows, ahead, left, right })
        })
    }
}

fn count_plain(board: Board<0>, rules: &Rules) -> u64 {
    u64::from(board.rows == rules.side) + board.next(rules).map(|next| count_plain(next, rules)).sum::<u64>()
}

fn count_by_rayon(rules: &Rules) -> u64 {
    let boards = walk_tree_postfix(Board::<0>::EMPTY, |board| board.next(rules));
    boards.map(|board| u64::from(board.rows == rules.side)).sum()
}

fn count_by_rangesteal(pool: &Pool, rules: &Rules, report: &mut RunReport) -> u64 {
    let fold = |found, board: Board<0>, feed: &Feed<'_, _>| {
        feed.extend(board.next(rules));
        found + u64::from(board.rows == rules.side)
    };
    pool.grow([Board::EMPTY]).report(report).fold_unordered(|| 0, fold, |a, b| a + b)
}

fn find_by_rangesteal(pool: &Pool, rules: &Rules, report: &mut RunReport) -> Option<Board<32>> {
    let search = pool.grow([Board::EMPTY]).report(report).try_for_each(|board, feed| {
        feed.extend(board.next(rules));
        if board.rows == rules.side { Err(board) } else { Ok(()) }
    });
    search.err()
}

fn print(board: Board<32>, side: u32) {
    println!();
    for (row, queen) in (0..side).zip(board.queens) {
        let square = |column| {
            let ground = if (row + column) % 2 == 0 { '░' } else { ' ' };
            [if column == u32::from(queen) { '♛' } else { ground }, ground]
        };
        println!("  {}", (0..side).flat_map(square).collect::<String>());
    }
}

fn main() -> Result<ExitCode, BuildError> {
    let Ok(side @ 1..=16) = env::args().nth(1).map_or(Ok(14), |side| side.parse()) else {
        eprintln!("queens: the side is a number from 1 to 16. 14 takes seconds, 16 takes minutes.");
        return Ok(ExitCode::from(2));
    };
    let (pool, mut report) = (Pool::new()?, RunReport::default());
    let rules = &Rules::new(side, false, 0);
    println!("In how many ways can {side} queens share {side} x {side} squares, none attacking another?\n");
    side_by_side::compare(
        [
            ("plain", &|| count_plain(Board::EMPTY, rules)),
            ("rayon", &|| count_by_rayon(rules)),
            ("rangesteal", &|| count_by_rangesteal(&pool, rules, &mut RunReport::default())),
        ],
        |found| format!("{found} ways"),
        |a, b| a == b,
    );
    count_by_rangesteal(&pool, rules, &mut report);
    println!("\nOnce more by rangesteal, an item a board: {report}");

    let rules = &Rules::new(31, true, 1);
    println!("One way for 31 queens on an endless board: whoever leaves it comes back at the opposite edge.");
    println!("The list has no order: so which way is found, and when, differs from time to time.\n");
    let found = [(); 5].map(|()| {
        let found = find_by_rangesteal(&pool, rules, &mut report);
        println!("  found in {:.1?}, after about {} boards", report.wall, report.items());
        found
    });
    print(found[4].expect("there are, unless 2 or 3 divides the side"), rules.side);
    Ok(ExitCode::SUCCESS)
}

#[test]
fn all_versions_find_the_known_numbers() -> Result<(), BuildError> {
    let pool = Pool::builder().num_threads(3).build()?;
    for (is_endless, known) in [(false, [2, 10, 4, 40, 92, 352]), (true, [0, 10, 0, 28, 0, 0])] {
        for (side, ways) in (4..).zip(known) {
            let rules = &Rules::new(side, is_endless, 1);
            assert_eq!([count_plain(Board::EMPTY, rules), count_by_rayon(rules)], [ways; 2]);
            assert_eq!(count_by_rangesteal(&pool, rules, &mut RunReport::default()), ways);
            assert_eq!(find_by_rangesteal(&pool, rules, &mut RunReport::default()).is_some(), ways > 0);
        }
    }
    Ok(())
}
