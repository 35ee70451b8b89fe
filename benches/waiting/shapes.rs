//! Loops with other patterns of waits: only some items, several waits per item, or short waits.

use std::time::Duration;

use crate::{
    entrants::Entrants,
    item::{Item, Work},
    load::Load,
    row::Row,
    work::links,
};

/// Work of this many microseconds.
fn micros(micros: u64) -> Work {
    Work::Links(links(1000 * micros))
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The row of a loop with a fixed bar, a multiple of the lower bound.
fn row(entrants: &Entrants<'_>, name: &str, bar: f64, load: &Load) -> Vec<Row> {
    vec![load.row(entrants, &load.race(entrants, &[]), name, bar)]
}

pub(crate) fn uneven(entrants: &Entrants<'_>) -> Vec<Row> {
    let work = micros(1000);
    let after = |number| if number < 500 { work } else { Work::NONE };
    let items = (0..1000).map(|number| Item::new(number, Work::NONE, millis(10), after(number)));
    row(entrants, "1000 x 10 ms, then 1 ms in the first half", 1.08, &Load::new(items))
}

pub(crate) fn limit(entrants: &Entrants<'_>) -> Vec<Row> {
    let work = micros(20);
    let items = (0..5000).map(|number| Item::new(number, Work::NONE, millis(5), work));
    row(entrants, "5000 x 5 ms, then 20 µs, 100 at a time", 1.08, &Load::new(items).with_limit(100))
}

pub(crate) fn chain(entrants: &Entrants<'_>) -> Vec<Row> {
    let work = micros(20);
    let item = |number| Item { steps: 5, ..Item::new(number, Work::NONE, millis(2), work) };
    row(entrants, "2000 x 2 ms, then 20 µs, five times", 1.2, &Load::new((0..2000).map(item)))
}

pub(crate) fn short(entrants: &Entrants<'_>) -> Vec<Row> {
    let (wait, work) = (Duration::from_micros(50), micros(2));
    let items = (0..20_000).map(|number| Item::new(number, Work::NONE, wait, work));
    row(entrants, "20k x 50 µs, then 2 µs", 1.4, &Load::new(items))
}

pub(crate) fn prepost(entrants: &Entrants<'_>) -> Vec<Row> {
    let work = micros(100);
    let items = (0..2000).map(|number| Item::new(number, work, millis(50), work));
    row(entrants, "2000 x 50 ms, 100 µs before and 100 µs then", 1.12, &Load::new(items))
}

/// Which items wait is unknown until the loop has run once.
pub(crate) fn one(entrants: &Entrants<'_>) -> Vec<Row> {
    let (less, more) = (micros(40), micros(80));
    let waits = |number| number % 100 == 50;
    let wait = |number, time| if waits(number) { millis(time) } else { Duration::ZERO };
    let once = move |number| Item::new(number, Work::NONE, wait(number, 100), less);
    let chain = move |number| {
        let (steps, work) = if waits(number) { (4, less) } else { (1, more) };
        Item { steps, ..Item::new(number, Work::NONE, wait(number, 40), work) }
    };
    let (once, chain) = (|| Load::new((0..5000).map(once)), || Load::new((0..5000).map(chain)));
    let loops: [(&str, &dyn Fn() -> Load); 2] = [
        ("5000 x 40 µs, one in 100 waits 100 ms", &once),
        ("5000 x 80 µs, one in 100 four times 40 ms, then 40 µs", &chain),
    ];
    let rows = |(name, load): (&str, &dyn Fn() -> Load)| {
        let (first, again) = (load().run_by_new_pools(), load());
        let race = first.race(entrants, &[]);
        let name_of_first = format!("{name}, at first");
        let first = first.row_of_sum(entrants, &race, &name_of_first, 1.05);
        let again = again.row(entrants, &again.race(entrants, &[]), &format!("{name}, again"), 1.05);
        [first, Row { bar: None, ..again }]
    };
    loops.into_iter().flat_map(rows).collect()
}
