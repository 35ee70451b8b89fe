//! Chains of stages, as users write them, compared with chains of iterators.

use std::hint::black_box;

use rangesteal::Pool;

use crate::{
    random::Random,
    rival::{Chained, Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
};

struct Chain<'a>(Chained, &'a [u32], &'a [u32]);

impl Loop for Chain<'_> {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        let &Self(chain, xs, ys) = black_box(self);
        rival.chain(chain, xs, ys)
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    const LONGEST: usize = 10_000_000;
    let mut random = Random::default();
    let [xs, ys]: [Vec<u32>; 2] = [(); 2].map(|()| (0..LONGEST).map(|_| random.draw()).collect());
    let (few, mut rows) = (runner.few(), Vec::new());
    for (chain, name) in [
        (Chained::MapFilterSum, "map, filter, sum"),
        (Chained::FilterCount, "filter, count"),
        (Chained::EnumerateMax, "enumerate, map, max_by_key"),
        (Chained::ZipSum, "zip, map, sum"),
    ] {
        for (len, items, pace, unit, bar) in [
            (1000, "1,000", Pace::calls(100), Unit::Nanos, 60.0),
            (16_000, "16,000", Pace::calls(20), Unit::Ratio, 1.06),
            (LONGEST, "10M", Pace::ONCE, Unit::Ratio, 0.55),
        ] {
            let race = runner.race(pool, &few, pace, &Chain(chain, &xs[..len], &ys[..len]));
            let more = if unit == Unit::Nanos { ": more than plain" } else { "" };
            rows.push(Row::of(&race, format!("{name} of {items} u32{more}"), unit, Some(bar)));
        }
    }
    rows
}
