//! Running totals, in place and from a chain.

use std::cell::RefCell;

use rangesteal::Pool;

use crate::{
    rival::{Loop, Rival, Written},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
};

/// Scans the same items again and again. The items are neutral elements, so a scan does not change
/// them.
struct Scans<T, O> {
    items: RefCell<Vec<T>>,
    op: O,
}

impl<T: Clone + PartialEq + Send + Sync, O: Fn(&T, &T) -> T + Sync> Loop for Scans<T, O> {
    type Output = Option<T>;

    fn run(&self, rival: &mut impl Rival) -> Option<Option<T>> {
        let mut items = self.items.borrow_mut();
        rival.scan(&mut items, &self.op)?;
        Some(items.last().cloned())
    }
}

/// The first and the last neighbour of each node of a graph.
struct Nodes(Vec<(u32, u32)>);

fn degree((first, last): (u32, u32)) -> usize {
    (last - first) as usize
}

/// Writes offsets into a vector with enough capacity.
impl Written for Nodes {
    type Data = Vec<usize>;
    type Output = Option<usize>;

    fn plain(&self, offsets: &mut Vec<usize>) -> Option<usize> {
        offsets.clear();
        let mut edges = 0;
        offsets.extend(self.0.iter().map(|node| {
            edges += degree(*node);
            edges
        }));
        offsets.last().copied()
    }

    fn ours(&self, pool: &Pool, offsets: &mut Vec<usize>) -> Option<usize> {
        offsets.clear();
        pool.on(&self.0).copied().map(degree).inclusive_scan_into(offsets, |a, b| a + b);
        offsets.last().copied()
    }
}

/// Writes the offsets of the same nodes again and again.
struct Offsets(Nodes, RefCell<Vec<usize>>);

impl Loop for Offsets {
    type Output = Option<usize>;

    fn run(&self, rival: &mut impl Rival) -> Option<Option<usize>> {
        rival.written(&self.0, &mut self.1.borrow_mut())
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
    let mut rows = Vec::new();
    macro_rules! row {
        ($name:expr, $bar:expr, $calls:expr, $items:expr, $op:expr) => {
            let scans = Scans { items: RefCell::new($items), op: $op };
            let race = runner.race(pool, &runner.few(), Pace::calls($calls), &scans);
            rows.push(Row::of(&race, $name, Unit::Ratio, Some($bar)));
        };
    }
    row!("scan: 1M matrices", 0.70, 1, vec![[1, 0, 0, 1]; 1_000_000], product);
    row!("scan: 1M (max, +)", 0.70, 4, vec![(0, 0); 1_000_000], best);
    row!("scan: 4M degrees", 0.75, 1, vec![0; 4_000_000], |a: &usize, b: &usize| a.wrapping_add(*b));
    let lengths = [
        (2, 10_000),
        (30, 3000),
        (1000, 1000),
        (30_000, 100),
        (200_000, 20),
        (1_000_000, 4),
        (10_000_000, 1),
    ];
    for (len, calls) in lengths {
        let name = format!("scan: sums of {len} u64");
        row!(name, 1.05, calls, vec![0; len], |a: &u64, b: &u64| a.wrapping_add(*b));
    }
    for (len, calls) in [(1000, 1000), (4_000_000, 1)] {
        let nodes = Nodes((0..len).map(|node| (node, node + node % 9)).collect());
        let offsets = Offsets(nodes, RefCell::new(Vec::with_capacity(len as usize)));
        let race = runner.race(pool, &runner.few(), Pace::calls(calls), &offsets);
        let name = format!("scan: offsets of {len} nodes from a chain");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(if len > 1000 { 0.75 } else { 1.05 })));
    }
    rows
}
