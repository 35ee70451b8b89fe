//! The cost of a loop whose items all wait. This cost consists of the cost of the call and the cost
//! of the time in which all items wait.

use std::{thread, time::Duration};

use crate::{
    entrants::Entrants,
    item::{Item, Work},
    load::Load,
    machine,
    race::{Race, Turn, median},
    row::{Cell, Row, Unit},
    turns::{self, turn},
    who::Who,
};

const WAIT: Duration = Duration::from_secs(2);
/// The time until all items have begun, and the length of the time after that, in which all items
/// wait.
const BEGUN: Duration = Duration::from_millis(200);
const NOTHING: Duration = Duration::from_millis(1600);
/// A round takes two seconds for each entrant.
const MOST_ROUNDS: usize = 3;

pub(crate) fn rows(entrants: &Entrants<'_>) -> Vec<Row> {
    let load = Load::new((0..50).map(|number| Item::new(number, Work::NONE, WAIT, Work::NONE)));
    let who = [Who::Rangesteal, Who::Control, Who::Tokio, Who::AsyncExecutor, Who::Unordered, Who::Threads];
    let call = |who| turn(|| entrants.run(who, &load, None));
    let between = |who| {
        thread::scope(|scope| {
            let nanos = scope.spawn(nanos_between);
            let (result, turn) = call(who);
            (result, Turn { cpu: nanos.join().expect("two clocks"), ..turn })
        })
    };
    let race = |measure: &dyn Fn(Who) -> (Option<u64>, Turn)| {
        turns::race(entrants.rounds.min(MOST_ROUNDS), &who, |who| {
            let _freed = entrants.freed_for(who);
            measure(who)
        })
    };
    vec![
        row("50 x 2 s: CPU time of the call", &race(&call), 0.5),
        row("50 x 2 s: CPU time while nothing happens", &race(&between), 0.05),
    ]
}

/// CPU time of all other threads while all items wait.
fn nanos_between() -> f64 {
    thread::sleep(BEGUN);
    let before = machine::cpu_nanos_elsewhere();
    thread::sleep(NOTHING);
    machine::cpu_nanos_elsewhere() - before
}

fn row(name: &str, race: &Race, bar: f64) -> Row {
    let millis = |who| median(race.turns(who).iter().map(|turn| turn.cpu)) / 1e6;
    let cells = race.entrants.iter().map(|(who, _)| (*who, Cell::of(millis(*who)))).collect();
    Row { name: name.to_owned(), reference: String::new(), unit: Unit::Millis, bar: Some(bar), cells }
}
