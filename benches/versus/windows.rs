//! Searches in one slice. Each search begins in a new window, like a parser's search for the next
//! separator.

use std::{cell::Cell, hint::black_box};

use rangesteal::Pool;

use crate::{
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
};

#[derive(Clone, Copy)]
enum Verb {
    First,
    Any,
}

/// Searches `numbers[i..]` for the number that is `ahead` places further, with a new `i` each time.
struct Window<'a> {
    verb: Verb,
    numbers: &'a [u32],
    /// The number of calls before the timed call, and the distance of the number that these calls
    /// search.
    before: (usize, u32),
    ahead: u32,
    at: Cell<u32>,
}

impl Window<'_> {
    /// Windows begin below this index.
    const STARTS: u32 = 1_000_000;

    fn call(&self, rival: &mut impl Rival, ahead: u32) -> Option<u32> {
        let at = self.at.replace((self.at.get() + 1) % Self::STARTS);
        let (window, wanted) = (black_box(&self.numbers[at as usize..]), at + ahead);
        match self.verb {
            Verb::First => Some(rival.first(window, move |x| *x == wanted)?.expect("it is there") - at),
            Verb::Any => Some(rival.any(window, move |x| *x == wanted)?.into()),
        }
    }
}

impl Loop for Window<'_> {
    type Output = u32;

    fn prepare(&self, rival: &mut impl Rival) {
        for _ in 0..self.before.0 {
            black_box(self.call(rival, self.before.1));
        }
    }

    fn run(&self, rival: &mut impl Rival) -> Option<u32> {
        self.call(rival, self.ahead)
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    const FAR: u32 = 6_000_000; // 2 ms
    let numbers: Vec<u32> = (0..Window::STARTS + 2 * FAR).collect();
    let (few, mut rows) = (runner.few(), Vec::new());
    for (verb, name) in [(Verb::First, "first"), (Verb::Any, "any")] {
        let window = |before, ahead| Window { verb, numbers: &numbers, before, ahead, at: Cell::new(0) };
        for ahead in [10, 100] {
            let race = runner.race(pool, &few, Pace::calls(100), &window((0, 0), ahead));
            let name = format!("{name} in a new window each time, {ahead} items on: more than plain");
            rows.push(Row::of(&race, name, Unit::Nanos, Some(60.0)));
        }
        let race = runner.race(pool, &few, Pace::ONCE, &window((9, 10), FAR));
        let name = format!("{name} in a new window, 6M items on, after 9 that were near");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(0.60)));
    }
    rows
}
