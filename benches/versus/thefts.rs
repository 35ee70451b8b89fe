//! How often is stolen, when the same loop runs again and again?

use std::{thread, time::Duration};

use rangesteal::{Pool, Stealing};

use crate::{
    loops::Items,
    machine,
    race::median,
    runner::{MANY, Runner, Who},
    table::{Cell, Row, Unit},
    work::work,
};

const ROUNDS: usize = 50;

/// Thefts of each round of a loop on a new pool. The same costs, but new memory each time.
fn thefts(
    runner: &Runner,
    workers: usize,
    stealing: Stealing,
    rounds: usize,
    costs: &[u64],
    item: fn(u64) -> u64,
) -> Vec<f64> {
    let _freed = machine::Freed::to(&runner.mask); // the new threads would inherit the CPU of this one
    let costs = costs.to_vec();
    let measure = |pool: &Pool| {
        let mut round = |_| {
            let before = pool.thefts();
            pool.map_reduce(&costs, |cost| item(*cost), u64::wrapping_add);
            (pool.thefts() - before) as f64
        };
        (0..rounds).map(&mut round).collect()
    };
    Pool::builder().num_threads(workers).stealing(stealing).scope(measure).expect("a pool")
}

/// Sleeps instead of working, so that more workers than CPUs are truly parallel.
fn sleep(micros: u64) -> u64 {
    thread::sleep(Duration::from_micros(micros));
    micros
}

pub(crate) fn rows(runner: &Runner) -> Vec<Row> {
    let repetitions = (runner.rounds / 12).clamp(1, 5);
    let growing = Items::growing(1500, 20_000_000);
    let naps: Vec<u64> = (0..400).map(|i| i * 1000 / 400).collect();
    let again = |name: String, workers, costs: &[u64], item| {
        let runs: Vec<_> = (0..repetitions)
            .map(|_| thefts(runner, workers, Stealing::Largest, ROUNDS, costs, item))
            .map(|rounds| (rounds[0], median(rounds[1..].iter().copied())))
            .collect();
        let ratio = median(runs.iter().map(|(first, later)| later / first.max(1.0)));
        let reference = format!("{:.0}", median(runs.iter().map(|(first, _)| *first)));
        row(name, reference, ratio)
    };
    let first_rounds = |stealing| {
        let one = |_| thefts(runner, MANY, stealing, 1, &naps, sleep)[0];
        median((0..=2 * repetitions).map(one))
    };
    let neighbour = first_rounds(Stealing::Neighbour);
    vec![
        again("thefts, rounds 2..50 to round 1, 2 workers".into(), 2, growing.links(), work),
        again(format!("thefts, rounds 2..50 to round 1, {MANY} workers"), MANY, &naps, sleep),
        row(
            format!("thefts, Largest to Neighbour, {MANY} workers"),
            format!("{neighbour:.0}"),
            first_rounds(Stealing::Largest) / neighbour.max(1.0),
        ),
    ]
}

fn row(name: String, reference: String, ratio: f64) -> Row {
    let cells = vec![(Who::Rangesteal, Cell { figure: ratio, least: None, cost: None })];
    Row { letter: 'k', name, reference, unit: Unit::Ratio, bar: Some(0.2), cells }
}
