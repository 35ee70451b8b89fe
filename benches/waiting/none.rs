//! Loops whose items could wait, but do not wait, compared with the plain loop.

use std::{hint::black_box, sync::Arc};

use crate::{
    entrants::Entrants,
    item::busy,
    ours,
    race::{Race, Turn},
    rivals,
    row::{Cell, Row, Unit},
    turns::{self, turn},
    who::Who,
    work::links,
};

const ALL: [Who; 9] = [
    Who::Plain,
    Who::Rangesteal,
    Who::Control,
    Who::On,
    Who::One,
    Who::Tokio,
    Who::AsyncExecutor,
    Who::Unordered,
    Who::Rayon,
];
/// Leaves out the entrants that take a thousand times as long.
const FAST: [Who; 5] = [Who::Plain, Who::Rangesteal, Who::Control, Who::On, Who::Rayon];

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let mut rows = add(entrants);
    rows.extend([(1_000_000, 20), (1_000_000, 100), (200_000, 1000)].map(|(len, nanos)| {
        let items = vec![links(nanos); len].into();
        let race = race(entrants, &FAST, &items, 1, busy);
        let plain = race.nanos() / len as f64;
        let bar = (0.75 * plain + 3.0) / plain;
        Row::of(&race, format!("{len} x {nanos} ns, relative to the plain loop"), Unit::Ratio, Some(bar))
    }));
    rows
}

/// Items that do nothing.
fn add(entrants: &Entrants<'_>) -> Vec<Row> {
    const LEN: u64 = 1_000_000;
    let mut race = race(entrants, &ALL, &(0..LEN).collect(), 10, |item| item ^ 5);
    for turn in race.entrants.iter_mut().flat_map(|(_, turns)| turns) {
        *turn = Turn { switches: turn.switches, ..per_part(turn, LEN as f64) };
    }
    let all = Row::of(&race, "1M items that add: more than the plain loop, an item", Unit::Nanos, None);
    let one = vec![(Who::Rangesteal, Cell::measured(&race, Who::One, Unit::Nanos))];
    let (name, reference) = (format!("{}, one worker", all.name), all.reference.clone());
    vec![all, Row { name, reference, unit: Unit::Nanos, bar: Some(5.0), cells: one }]
}

/// The time of one of `parts` equal parts of a turn.
fn per_part(turn: &Turn, parts: f64) -> Turn {
    Turn { nanos: turn.nanos / parts, cpu: turn.cpu / parts, switches: turn.switches / parts }
}

/// The first of `who` is the reference. A turn of a slow entrant has one call. All other turns have
/// `calls` calls.
fn race(
    entrants: &Entrants<'_>,
    who: &[Who],
    items: &Arc<[u64]>,
    calls: u32,
    run: impl Fn(u64) -> u64 + Copy + Send + Sync + 'static,
) -> Race {
    turns::race(entrants.rounds, who, |who| {
        let _freed = entrants.freed_for(who);
        let is_slow = matches!(who, Who::Tokio | Who::AsyncExecutor | Who::Unordered);
        let calls = if is_slow { 1 } else { calls };
        let call = || black_box(call(entrants, who, black_box(items), run));
        let (result, turn) = turn(|| (0..calls).fold(0, |_, _| call()));
        (result, per_part(&turn, f64::from(calls)))
    })
}

fn call(
    entrants: &Entrants<'_>,
    who: Who,
    items: &Arc<[u64]>,
    run: impl Fn(u64) -> u64 + Copy + Send + Sync + 'static,
) -> u64 {
    let (rivals, future) = (&entrants.rivals, move |item| async move { run(item) });
    match who {
        Who::Plain => items.iter().map(|item| run(*item)).fold(0, u64::wrapping_add),
        Who::On => entrants.pool(who).map_reduce(items, |item| run(*item), u64::wrapping_add).unwrap_or(0),
        Who::Rayon => rivals::rayon(&rivals.rayon, items, |item| run(*item)),
        Who::Tokio => rivals::tokio(&rivals.tokio, items, None, future),
        Who::AsyncExecutor => rivals::async_executor(&rivals.executor, items, None, future),
        Who::Unordered => rivals::unordered(items, None, future),
        _ => ours::at_once(entrants.pool(who), items, run),
    }
}
