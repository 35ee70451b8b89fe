//! One loop that runs alternately over cheap and heavy data. The loop has three forms: a function
//! over indices, a wrapper whose closure captures the cost, and a loop with a closure of type `&dyn
//! Fn`. Before a call, nothing shows whether the call is heavy or cheap.

use std::hint::black_box;

use rangesteal::Pool;

use crate::{
    rival::{Cost, Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    work::{links, work},
};

#[derive(Clone, Copy)]
enum Form {
    Function,
    Wrapper,
    Dyn,
}

/// The links of items that cost 2.2 µs, and of items that cost nothing.
struct Costs {
    numbers: Vec<u64>,
    cheap: Vec<u64>,
    heavy: Vec<u64>,
}

#[derive(Clone, Copy)]
enum Weight {
    Cheap,
    Heavy,
}

/// The time of a heavy call after cheap calls, or of a cheap call after heavy calls.
struct InTurn<'a> {
    form: Form,
    costs: &'a Costs,
    before: (usize, Weight),
    timed: Weight,
}

impl InTurn<'_> {
    fn call(&self, rival: &mut impl Rival, weight: Weight) -> Option<u64> {
        let Costs { numbers, cheap, heavy } = black_box(self.costs);
        let links = match weight {
            Weight::Cheap => cheap,
            Weight::Heavy => heavy,
        };
        match self.form {
            Form::Function => rival.index_sum(links.len(), |i| work(links[i])),
            Form::Wrapper => {
                let links = links[0];
                Some(rival.map_sum(numbers, Cost::Uneven, move |x| *x ^ work(links)))
            }
            Form::Dyn => {
                let links = links[0];
                let (cheap, heavy) = (|x: &u64| *x, move |x: &u64| *x ^ work(links));
                let item: &(dyn Fn(&u64) -> u64 + Sync) = match weight {
                    Weight::Cheap => &cheap,
                    Weight::Heavy => &heavy,
                };
                Some(rival.map_sum(numbers, Cost::Uneven, item))
            }
        }
    }
}

impl Loop for InTurn<'_> {
    type Output = u64;

    fn prepare(&self, rival: &mut impl Rival) {
        for _ in 0..self.before.0 {
            black_box(self.call(rival, self.before.1));
        }
    }

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        self.call(rival, self.timed)
    }
}

/// Two calls over the same numbers. The pool cannot tell them apart before they run, and the second
/// call has more work.
struct TwoCalls<'a> {
    numbers: &'a [u64],
    /// The links of an item of the first call.
    links: u64,
    /// The factor by which an item of the second call has more.
    times: u64,
}

impl Loop for TwoCalls<'_> {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        let mut call = |links: u64| rival.map_sum(self.numbers, Cost::Even, move |x| *x ^ work(links));
        let sum = call(black_box(self.links));
        Some(sum.wrapping_add(call(black_box(self.links * self.times))))
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    const ITEMS: usize = 1000;
    let costs = Costs {
        numbers: (0..ITEMS as u64).collect(),
        cheap: vec![0; ITEMS],
        heavy: vec![links(2200); ITEMS],
    };
    let (costs, few, mut rows) = (&costs, runner.few(), Vec::new());
    let forms = [(Form::Function, "a function"), (Form::Wrapper, "a wrapper"), (Form::Dyn, "&dyn Fn")];
    for (form, name) in forms {
        for calls in [1, 3, 15] {
            let lap = InTurn { form, costs, before: (calls, Weight::Cheap), timed: Weight::Heavy };
            let race = runner.race(pool, &few, Pace::apart(3, 0), &lap);
            let name = format!("{name}, 1000 items of 2.2 µs, behind {calls} cheap");
            rows.push(Row::of(&race, name, Unit::Ratio, Some(0.56)));
        }
        let lap = InTurn { form, costs, before: (1, Weight::Heavy), timed: Weight::Cheap };
        let race = runner.race(pool, &few, Pace::bursts(3, 3), &lap);
        let name = format!("{name}, 3 cheap behind a heavy one: more than plain");
        rows.push(Row::of(&race, name, Unit::Nanos, Some(60.0)));
    }
    for (nanos, times) in [(150, 2), (150, 4), (150, 10), (20, 4)] {
        let lap = TwoCalls { numbers: &costs.numbers, links: links(nanos), times };
        let race = runner.race(pool, &few, Pace::calls(20), &lap);
        let name = format!("1000 items of {nanos} ns, and of {times} times as much, in turn");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(0.60)));
    }
    rows
}
