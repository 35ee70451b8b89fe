//! Chains of stages, as users write them, compared with chains of iterators.

use std::hint::black_box;

use rangesteal::Pool;

use crate::{
    random::Random,
    rival::{Chained, Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
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
    let with_halves = [&few[..], &[Who::Halves]].concat();
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
            let entrants = if len == LONGEST { &with_halves } else { &few };
            let race = runner.race(pool, entrants, pace, &Chain(chain, &xs[..len], &ys[..len]));
            let mut row = (format!("{name} of {items} u32"), bar);
            if unit == Unit::Nanos {
                row.0 += ": more than plain";
            } else if len == LONGEST {
                // Two threads that each run one half show the limit of the memory's bandwidth.
                let halves = race.ratio(Who::Halves).0;
                row = (format!("{} (halves: {halves:.3})", row.0), f64::max(bar, 1.05 * halves));
            }
            rows.push(Row::of(&race, row.0, unit, Some(row.1)));
        }
    }
    rows
}
