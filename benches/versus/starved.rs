//! Loops while a busy program uses the CPU of a helper.

use std::thread;

use rangesteal::Pool;

use crate::{
    burner,
    loops::Items,
    machine::{self, Freed},
    plain::Plain,
    race::Race,
    row::{Cell, Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

/// The helper inherits a low priority from the thread that built the pool. The helper begins an
/// item, and loses its CPU before the end of the item.
pub(crate) fn lowered(runner: &Runner) -> Vec<Row> {
    let _burner = burner::start(&runner.mask);
    let (items, calls) = (Items::even(1000, 11_000), runner.rounds.max(10));
    let lowerings: [(&str, fn()); 2] = [("nice 19", machine::be_nice), ("SCHED_IDLE", machine::be_idle)];
    let row = |(how, lower): (&str, fn())| {
        let pool = pool_of_a_thread(runner, lower);
        // Without a warm-up: the first call counts.
        let race = Race::interleaved(&[Who::Plain, Who::Rangesteal], calls, |_, who| {
            let turn = if who == Who::Plain {
                Pace::LONG.turn(&items, Plain)
            } else {
                Pace::LONG.turn(&items, &pool)
            };
            turn.map(|(_, turn)| turn)
        });
        let name = format!("1000 items of 11 µs, helper at {how}, its CPU taken");
        let plain = race.nanos();
        let bad = race.turns(Who::Rangesteal).iter().filter(|turn| turn.nanos > 1.5 * plain).count();
        let ratio = Row::of(&race, name, Unit::Ratio, Some(1.05));
        let calls = calls as f64;
        let bad = Row {
            name: format!("the same, {how}: calls that took 1.5 or more (of {calls})"),
            reference: String::new(),
            unit: Unit::Calls,
            bar: Some((3.0 + calls.log2()).floor()),
            cells: vec![(Who::Rangesteal, Cell::of(bad as f64))],
        };
        [ratio, bad]
    };
    let short: Vec<Row> = lowerings.into_iter().flat_map(row).collect();
    let long =
        lowerings.into_iter().flat_map(|(how, lower)| long_items(how, &pool_of_a_thread(runner, lower)));
    short.into_iter().chain(long).collect()
}

/// A hundred loops of long items. The caller waits for a helper that loses its CPU within an item.
/// The helper of `pool` has the priority `how`. The first such call cannot be avoided.
fn long_items(how: &str, pool: &Pool) -> [Row; 3] {
    const CALLS: usize = 100;
    const LONG: f64 = 3.0;
    let items = Items::even(4, 2_750_000);
    let race = Race::interleaved(&[Who::Plain, Who::Rangesteal], CALLS, |_, who| {
        let turn =
            if who == Who::Plain { Pace::LONG.turn(&items, Plain) } else { Pace::LONG.turn(&items, pool) };
        turn.map(|(_, turn)| turn)
    });
    let plain = race.nanos();
    let ratios: Vec<f64> = race.turns(Who::Rangesteal).iter().map(|turn| turn.nanos / plain).collect();
    let bad = ratios.iter().position(|ratio| *ratio > LONG);
    let after = &ratios[bad.map_or(0, |bad| bad + 1)..];
    let row = |what: String, unit, bar, figure| Row {
        name: format!("4 items of 2.75 ms, helper at {how}: {what}"),
        reference: String::new(),
        unit,
        bar,
        cells: vec![(Who::Rangesteal, Cell::of(figure))],
    };
    let first =
        format!("first call of 3 or more ({})", bad.map_or("none".into(), |bad| format!("call {}", 1 + bad)));
    let mean = after.iter().sum::<f64>() / after.len().max(1) as f64;
    [
        row(first, Unit::Ratio, None, bad.map_or(0.0, |bad| ratios[bad])),
        row("mean after it".into(), Unit::Ratio, Some(1.1), mean),
        row("longest after it".into(), Unit::Ratio, Some(LONG), after.iter().copied().fold(0.0, f64::max)),
    ]
}

/// A pool whose threads inherit the effect of `lower`: the thread that builds the pool calls
/// `lower` first.
fn pool_of_a_thread(runner: &Runner, lower: fn()) -> Pool {
    let _freed = Freed::to(&runner.mask);
    let threads = runner.threads;
    let build = move || {
        lower();
        Pool::builder().num_threads(threads).build().expect("a pool")
    };
    thread::spawn(build).join().expect("a pool")
}

/// A busy-waiting pool. When the pool was built, no other program used the CPU of its helper.
pub(crate) fn spinning(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let _burner = burner::start(&runner.mask);
    let row = |micros: u64| {
        let race = runner.race(
            pool,
            &[Who::Plain, Who::Spinning],
            Pace::in_a_program(),
            &Items::short(micros * 1000),
        );
        Row::of(&race, format!("spinning, loop of {micros} µs, a core taken"), Unit::Ratio, Some(1.1))
    };
    [20, 100, 1100].map(row).into()
}
