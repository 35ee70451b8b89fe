//! Searches over one slice. The searches look alternately for a near item and for a far item. Also
//! searches by one worker.

use rangesteal::Pool;

use crate::{
    loops::First,
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let numbers: Vec<u32> = (0..8_000_000).collect();
    let few = runner.few();
    let row = |(far, count): (u32, &str)| {
        let wanted: Vec<u32> = [10, far].repeat(4);
        let race = runner.race(pool, &few, Pace::ONCE, &First::equal(&numbers, &wanted));
        let name = format!("first in 8M u32, the 10th and the {count}th in turn");
        Row::of(&race, name, Unit::Ratio, Some(1.08))
    };
    [(1000, "1k"), (10_000, "10k"), (100_000, "100k"), (300_000, "300k"), (1_000_000, "1M")].map(row).into()
}

/// A search by a pool of one worker.
pub(crate) fn single(_: &Pool, runner: &mut Runner) -> Vec<Row> {
    let pool = Pool::builder().num_threads(1).build().expect("a pool");
    let numbers: Vec<u32> = (0..10_000_000).collect();
    let lap = First::equal(&numbers, &[9_999_999]);
    let race = runner.race(&pool, &[Who::Plain, Who::Rangesteal], Pace::ONCE, &lap);
    vec![Row::of(&race, "first in 10M u32, the last, one worker", Unit::Ratio, Some(1.03))]
}
