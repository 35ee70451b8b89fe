//! Loops that an error ends early.

use std::hint::black_box;

use rangesteal::Pool;

use crate::{
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    work::{links, work},
};

/// The loop that an error ends.
#[derive(Clone, Copy)]
enum Verb {
    Each,
    Sum,
}

/// A loop with an error at one item, after calls with an error at another item.
struct Failing<'a> {
    verb: Verb,
    items: &'a [u64],
    links: u64,
    before: (usize, u64),
    end: u64,
}

impl Failing<'_> {
    fn call(&self, rival: &mut impl Rival, end: u64) -> Option<Result<u64, u64>> {
        let (items, links) = (black_box(self.items), black_box(self.links));
        let item = move |x: &u64| if *x == end { Err(*x) } else { Ok(work(links) ^ *x) };
        match self.verb {
            Verb::Each => {
                let each = move |x: &u64| item(x).map(|result| _ = black_box(result));
                rival.try_each(items, each).map(|result| result.map(|()| 0))
            }
            Verb::Sum => rival.try_sum(items, item),
        }
    }
}

impl Loop for Failing<'_> {
    type Output = Result<u64, u64>;

    fn prepare(&self, rival: &mut impl Rival) {
        for _ in 0..self.before.0 {
            black_box(self.call(rival, self.before.1));
        }
    }

    fn run(&self, rival: &mut impl Rival) -> Option<Self::Output> {
        self.call(rival, self.end)
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let (items, links) = ((0..1_000_000).collect::<Vec<u64>>(), links(2));
    let (few, mut rows) = (runner.few(), Vec::new());
    for (verb, name) in [(Verb::Each, "try_for_each"), (Verb::Sum, "try_map_reduce")] {
        for end in [0, 10, 100, 1000] {
            let lap = Failing { verb, items: &items, links, before: (0, 0), end };
            let race = runner.race(pool, &few, Pace::calls(100), &lap);
            let name = format!("{name}, Err at {end} of 10^6: more than plain");
            rows.push(Row::of(&race, name, Unit::Nanos, Some(60.0)));
        }
        let lap = Failing { verb, items: &items, links, before: (9, 10), end: u64::MAX };
        let race = runner.race(pool, &few, Pace::apart(5, 0), &lap);
        let name = format!("{name}, no Err in 10^6, after 9 with Err at 10");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(0.60)));
    }
    rows
}
