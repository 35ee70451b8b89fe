//! `MapReduceFib`: all items wait equally long, and then compute equally much.

use std::time::Duration;

use crate::{
    entrants::Entrants,
    item::{Item, Work},
    load::Load,
    race::Race,
    row::{Cell, Row, Unit},
    who::Who,
};

const OURS: [Who; 2] = [Who::Rangesteal, Who::Control];

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let few = if entrants.is_full { 5000 } else { 1000 };
    let loops = [(20, 5000), (30, few)].map(|(n, items)| [1, 50, 100].map(|millis| (n, items, millis)));
    loops.into_iter().flatten().flat_map(|(n, items, millis)| of(entrants, n, items, millis)).collect()
}

fn of(entrants: &Entrants<'_>, n: u32, items: u64, millis: u64) -> Vec<Row> {
    let wait = Duration::from_millis(millis);
    let items = (0..items).map(|number| Item::new(number, Work::NONE, wait, Work::Fib(n)));
    let load = Load::new(items).of_equal_items();
    let woken = [(Who::WokenByTokio, "tokio"), (Who::WokenByAsyncIo, "async-io")];
    let woken = if millis == 1 { &woken[..] } else { &[] };
    let more: Vec<Who> = woken.iter().map(|(who, _)| *who).collect();
    let race = load.race(entrants, &more);
    let name = format!("{} x {millis} ms, then fib {n}", load.items.len());
    let mut rows = vec![
        load.row_of_sum(entrants, &race, &name, 1.10),
        beside_rivals(&race, format!("{name}, relative to the faster rival")),
        cpu(&race, format!("{name}: CPU time")),
    ];
    rows.extend(woken.iter().map(|(who, timer)| {
        let cells = vec![(Who::Rangesteal, Cell::measured(&race, *who, Unit::Ratio))];
        let name = format!("{name}, woken by {timer}");
        Row { name, reference: String::new(), unit: Unit::Ratio, bar: None, cells }
    }));
    rows
}

/// The time of rangesteal relative to that of the faster rival.
fn beside_rivals(race: &Race, name: String) -> Row {
    let (best, nanos) = [Who::Tokio, Who::AsyncExecutor]
        .map(|who| (who, race.nanos_of(who)))
        .into_iter()
        .min_by(|(_, one), (_, other)| one.total_cmp(other))
        .expect("two rivals");
    let cells = OURS.map(|who| (who, Cell::of(race.nanos_of(who) / nanos)));
    Row { name, reference: best.name().to_owned(), unit: Unit::Ratio, bar: Some(1.0), cells: cells.into() }
}

/// CPU time relative to the work of the items.
fn cpu(race: &Race, name: String) -> Row {
    let cells = race.others().filter(|who| who.column() == *who).map(|who| (who, Cell::of(race.cpu(who))));
    Row { name, reference: String::new(), unit: Unit::Ratio, bar: Some(1.05), cells: cells.collect() }
}
