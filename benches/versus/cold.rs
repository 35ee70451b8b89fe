//! Short loops whose caller sleeps for 1 ms before each call. The core also sleeps, so its caches
//! are cold at the call. The plain loop has the same sleeps.

use rangesteal::Pool;

use crate::{
    loops::{First, Items, Sorted, Sum},
    rival::Loop,
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

const PACE: Pace = Pace::cold(10);

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    fn row(pool: &Pool, runner: &mut Runner, name: &str, unit: Unit, bar: f64, lap: &impl Loop) -> Row {
        let race = runner.race(pool, &runner.few(), PACE, lap);
        Row::of(&race, format!("{name}, cold"), unit, Some(bar))
    }
    let numbers: Vec<u64> = (0..16_384).collect();
    let many: Vec<u32> = (0..8_000_000).collect();
    let fourth = First::equal(&many, &[3]);
    let mut rows = vec![
        row(pool, runner, "a, 2 items: more than plain", Unit::Nanos, 400.0, &Sum(&[1, 2])),
        row(pool, runner, "p, fourth: more than plain", Unit::Nanos, 400.0, &fourth),
        row(pool, runner, "b, sum of 16k u64", Unit::Ratio, 1.10, &Sum(&numbers)),
        row(pool, runner, "q, 100k u32 in order", Unit::Ratio, 1.05, &Sorted::new(0..100_000_u32)),
    ];
    for (micros, bar) in [
        (1.0, 1.40),
        (3.0, 1.14),
        (5.6, 1.10),
        (10.0, 1.06),
        (20.0, 1.04),
        (40.0, 1.03),
        (55.0, 1.03),
        (100.0, 0.95),
        (175.0, 0.75),
        (560.0, 0.62),
    ] {
        let (name, items) = (format!("j, loop of {micros} µs"), Items::short((micros * 1000.0) as u64));
        rows.push(row(pool, runner, &name, Unit::Ratio, bar, &items));
    }
    for (micros, bar) in [(20, 1.04), (100, 0.95)] {
        let race = runner.race(pool, &[Who::Plain, Who::Spinning], PACE, &Items::short(micros * 1000));
        let name = format!("o, spinning, loop of {micros} µs, cold");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(bar)));
    }
    rows
}
