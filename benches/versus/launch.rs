//! The time until an awake helper begins, and the time until the caller returns after the helper's
//! last item.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use rangesteal::Pool;

use crate::{
    idle, machine,
    race::median,
    row::{Cell, Row, Unit},
    runner::{Runner, spinning_pool},
    trips::{self, Figure, Trips},
    who::Who,
    work::{links, work},
};

/// One sweep over numbers in cache, which the compiler turns into vector instructions.
fn sweep(numbers: &mut [f32]) {
    for number in black_box(numbers) {
        *number = number.mul_add(0.5, 1.0);
    }
}

/// The caller's serial vector work while the helper polls for the next loop, divided by the same
/// work while the helper sleeps. Turns with the pool and without it are interleaved.
fn beside_a_poller(runner: &Runner) -> Row {
    const TURNS: usize = 50;
    let pool = Pool::builder().num_threads(runner.threads).build().expect("a pool");
    let (items, mut numbers) = (vec![links(100); 200], vec![1.0_f32; 4096]);
    let timed = |numbers: &mut [f32], sweeps| {
        let begin = Instant::now();
        (0..sweeps).for_each(|_| sweep(numbers));
        begin.elapsed().as_nanos() as f64
    };
    let least = (0..1000).map(|_| timed(&mut numbers, 1)).fold(f64::INFINITY, f64::min);
    let sweeps = (20_000.0 / least).ceil() as usize;
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..2 * TURNS {
        let pool = (turn % 2 == 1).then_some(&pool);
        thread::sleep(Duration::from_millis(1)); // the helper falls asleep
        for call in 0..100 {
            black_box(match pool {
                Some(pool) => pool.map_reduce(&items, |&links| work(links), |a, b| a ^ b),
                None => items.iter().map(|&links| work(links)).reduce(|a, b| a ^ b),
            });
            let time = timed(&mut numbers, sweeps);
            if call >= 20 {
                times[turn % 2].push(time);
            }
        }
    }
    let least = times.each_ref().map(|times| times.iter().copied().fold(f64::INFINITY, f64::min));
    let [alone, beside] = times.map(|times| median(times.into_iter()));
    let cell = Cell { least: Some(least[1] / least[0]), ..Cell::of(beside / alone) };
    Row {
        name: "20 µs of serial vector work between loops, while the helper polls".into(),
        reference: format!("{:.1} µs", alone / 1e3),
        unit: Unit::Ratio,
        bar: Some(1.02),
        cells: vec![(Who::Rangesteal, cell)],
    }
}

/// The ways there and back, for each entrant. The reference is the one-way time of the same minute.
fn ways(runner: &Runner) -> Vec<Row> {
    let there = machine::Freed::to(&machine::elsewhere(&runner.mask, 2));
    let pool = spinning_pool(2);
    drop(there);
    let (mut entrants, (one_way, _)) = trips::race(&pool, runner);
    entrants.retain(|(_, trips)| !trips.is_empty());
    let trips = |of| entrants.iter().find(|(who, _)| *who == of).map(|(_, trips)| trips);
    let shared = trips(Who::Rangesteal).map_or(0, Trips::shared);
    let row = |name: &str, bar, figure: &dyn Fn(&Trips) -> Option<Figure>| {
        let cell = |(who, trips): &(Who, Trips)| {
            let (median, least) = figure(trips)?;
            Some((*who, Cell { least: Some(least), ..Cell::of(median) }))
        };
        Row {
            name: format!("a helper that is awake: {name} ({shared} % of the calls)"),
            reference: format!("{one_way:.0} ns one way"),
            unit: Unit::Nanos,
            bar,
            cells: entrants.iter().filter_map(cell).collect(),
        }
    };
    let sum = |a: Figure, b: Figure| (a.0 + b.0, a.1 + b.1);
    let empty = trips(Who::OpenMp).and_then(Trips::empty);
    let there_and_back = empty.map(|(median, _)| 0.8 * median);
    vec![
        row("from the call to the helper's first item", Some(600.0), &|trips| Some(trips.there())),
        row("from its last item to the return", Some(400.0), &|trips| Some(trips.back())),
        row("the call without the caller's own part", None, &|trips| Some(trips.way_there())),
        row("the return without the caller's own part", None, &|trips| Some(trips.way_back())),
        row("the last two together: to 0.8 of OpenMP's empty loop", there_and_back, &|trips| {
            Some(sum(trips.way_there(), trips.way_back()))
        }),
        row("an empty loop, where each loop is shared", None, &|trips| trips.empty()),
    ]
}

pub(crate) fn rows(runner: &Runner) -> Vec<Row> {
    let mut rows = ways(runner);
    rows.push(idle::awake(runner));
    rows.push(beside_a_poller(runner));
    rows
}
