//! Running totals in place.

use std::cell::RefCell;

use rangesteal::Pool;

use crate::{
    random::Random,
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
};

/// Scans the same items again and again.
struct Scans<T, O> {
    items: Vec<T>,
    op: O,
    copy: RefCell<Vec<T>>,
}

impl<T: Clone + PartialEq + Send + Sync, O: Fn(&T, &T) -> T + Sync> Loop for Scans<T, O> {
    type Output = Vec<T>;

    fn prepare(&self, _: &mut impl Rival) {
        self.copy.borrow_mut().clone_from(&self.items);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<T>> {
        let mut items = self.copy.take();
        rival.scan(&mut items, &self.op)?;
        Some(items)
    }
}

type Matrix = [u64; 4];

/// The product of two by two matrices modulo a prime.
fn product(a: &Matrix, b: &Matrix) -> Matrix {
    const PRIME: u64 = 1_000_000_007;
    let cell = |row: usize, column: usize| (a[row] * b[column] + a[row + 1] * b[column + 2]) % PRIME;
    [cell(0, 0), cell(0, 1), cell(2, 0), cell(2, 1)]
}

/// The sum and the greatest sum of a suffix: `(max, +)`.
fn best(a: &(i64, i64), b: &(i64, i64)) -> (i64, i64) {
    (a.0 + b.0, b.1.max(a.1 + b.0))
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let mut random = Random::default();
    let mut numbers =
        |len: usize, below: u32| -> Vec<u64> { (0..len).map(|_| u64::from(random.draw() % below)).collect() };
    let four = |x: u64| [x % 1000, x % 77, x % 13 + 1, x % 5];
    let matrices: Vec<Matrix> = numbers(1_000_000, u32::MAX).into_iter().map(four).collect();
    let steps: Vec<(i64, i64)> = numbers(1_000_000, 2001)
        .into_iter()
        .map(|x| (x.cast_signed() - 1000, x.cast_signed() - 1000))
        .collect();
    let degrees: Vec<usize> = numbers(4_000_000, 30).into_iter().map(|x| x as usize).collect();
    let mut rows = Vec::new();
    macro_rules! row {
        ($name:expr, $bar:expr, $items:expr, $op:expr) => {
            let scans = Scans { items: $items, op: $op, copy: RefCell::default() };
            let race = runner.race(pool, &runner.few(), Pace::LONG, &scans);
            rows.push(Row::of(&race, $name, Unit::Ratio, Some($bar)));
        };
    }
    row!("scan: 1M matrices", 0.70, matrices, product);
    row!("scan: 1M (max, +)", 0.70, steps, best);
    row!("scan: 4M degrees", 0.75, degrees, |a: &usize, b: &usize| a + b);
    for len in [2, 30, 1000, 30_000, 1_000_000, 10_000_000] {
        row!(format!("scan: sums of {len} u64"), 1.05, numbers(len, 1000), |a: &u64, b: &u64| a + b);
    }
    rows
}
