//! A loop inside an item of another loop. The inner loop runs alone on its thread, and should cost
//! hardly more than the plain loop.

use std::{hint::black_box, time::Instant};

use rangesteal::Pool;

use crate::{
    race::{Race, Turn},
    row::{Cell, Row, Unit},
    runner::Runner,
    who::Who,
};

const ITEMS: usize = 64;
/// The number of inner loops per item.
const CALLS: usize = 2000;

/// An inner loop on a pool, or the plain one.
type Inner = fn(Option<&Pool>);

fn for_each(pool: Option<&Pool>) {
    let f = |i: usize| _ = black_box(i);
    match pool {
        Some(pool) => pool.on(0..16).for_each(f),
        None => (0..16).for_each(f),
    }
}

fn map_collect(pool: Option<&Pool>) {
    let results = match pool {
        Some(pool) => pool.on(0..16).map(black_box).collect(),
        None => (0..16).map(black_box).collect(),
    };
    black_box::<Vec<usize>>(results);
}

fn grow(pool: Option<&Pool>) {
    black_box(match pool {
        Some(pool) => pool.grow([black_box(1)]).fold_unordered(|| 0, |sum, item, _| sum + item, |a, b| a + b),
        None => black_box(1),
    });
}

/// The time of an inner loop inside the items of a loop on `outer`, in nanoseconds on one thread.
fn turn(outer: &Pool, inner: Inner, pool: Option<&Pool>) -> Turn {
    let begin = Instant::now();
    outer.on(0..ITEMS).for_each(|_| (0..CALLS).for_each(|_| inner(pool)));
    let threads = outer.num_threads() as f64;
    let nanos = begin.elapsed().as_secs_f64() * 1e9 * threads / (ITEMS * CALLS) as f64;
    Turn { nanos, cpu: 0.0, switches: 0.0 }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let forms: [(&str, Inner, f64); 3] = [
        ("on(0..16).for_each", for_each, 20.0),
        ("map_collect of 16", map_collect, 55.0),
        ("grow([x])", grow, 120.0),
    ];
    let one = Pool::builder().num_threads(1).build().expect("a pool");
    let mut rows = Vec::new();
    for (threads, outer) in [(1, &one), (runner.threads, pool)] {
        for (name, inner, bar) in forms {
            let race = Race::interleaved(&[Who::Plain, Who::Rangesteal], runner.rounds.max(10), |_, who| {
                Some(turn(outer, inner, (who != Who::Plain).then_some(outer)))
            });
            let row = Row::of(
                &race,
                format!("{name} inside an item, {threads} threads: a call"),
                Unit::Nanos,
                Some(bar),
            );
            let cell = Cell {
                figure: race.nanos_of(Who::Rangesteal),
                ..Cell::measured(&race, Who::Rangesteal, Unit::Nanos)
            };
            rows.push(Row { cells: vec![(Who::Rangesteal, cell)], ..row }.without_cost());
        }
    }
    rows
}
