//! Searches over one slice for what is near and what is far, in turn.

use rangesteal::Pool;

use crate::{
    loops::First,
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
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
