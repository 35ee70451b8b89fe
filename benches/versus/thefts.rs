//! The number of thefts in repeated rounds of the same loop.

use std::{thread, time::Duration};

use rangesteal::Pool;

use crate::{
    machine,
    race::median,
    row::{Cell, Row, Unit},
    runner::Runner,
    who::{MANY, Who},
    work::{links, work},
};

const ROUNDS: usize = 50;

/// Thefts of each of the [`ROUNDS`] rounds of a loop on a new pool, over a new copy of `costs`.
fn thefts(runner: &Runner, workers: usize, costs: &[u64], item: fn(u64) -> u64) -> Vec<f64> {
    let _freed = machine::Freed::to(&runner.mask); // the new threads would inherit the CPU of this one
    let costs = costs.to_vec();
    let measure = |pool: &Pool| {
        let mut round = |_| {
            let before = pool.thefts();
            pool.map_reduce(&costs, |cost| item(*cost), u64::wrapping_add);
            (pool.thefts() - before) as f64
        };
        (0..ROUNDS).map(&mut round).collect()
    };
    Pool::builder().num_threads(workers).scope(measure).expect("a pool")
}

/// The items sleep instead of computing, so that more workers than CPUs can run in parallel.
fn sleep(micros: u64) -> u64 {
    if micros > 0 {
        thread::sleep(Duration::from_micros(micros));
    }
    micros
}

/// Unbalanced slices: costs that grow with the index, costs that fall with the index, and the heavy
/// items of row `f`. `unit` is the mean cost of the first slice.
fn unbalanced(unit: u64) -> [Vec<u64>; 3] {
    let growing: Vec<u64> = (0..1000).map(|i| 2 * unit * i / 1000).collect();
    let falling = growing.iter().rev().copied().collect();
    let heavy = (0..10_000).map(|i| if (3333..3397).contains(&i) { 4 * unit } else { 0 }).collect();
    [growing, falling, heavy]
}

pub(crate) fn rows(runner: &Runner) -> Vec<Row> {
    let repetitions = (runner.rounds / 12).clamp(1, 5);
    let again = |workers, slices: &[Vec<u64>], item: fn(u64) -> u64| {
        let (mut first, mut later) = (0.0, 0.0);
        for costs in slices {
            let runs: Vec<_> = (0..repetitions).map(|_| thefts(runner, workers, costs, item)).collect();
            first += median(runs.iter().map(|rounds| rounds[0]));
            later += median(runs.iter().flat_map(|rounds| rounds[1..].iter().copied()));
        }
        Row {
            name: format!("thefts in rounds 2..50 to round 1, {workers} workers"),
            reference: format!("{first:.0}"),
            unit: Unit::Ratio,
            bar: Some(0.2),
            cells: vec![(Who::Rangesteal, Cell::of(later / first.max(1.0)))],
        }
    };
    vec![again(2, &unbalanced(links(12_500)), work), again(MANY, &unbalanced(500), sleep)]
}
