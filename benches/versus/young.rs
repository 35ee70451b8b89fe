//! The first calls of a loop on a pool. The pool has not measured the loop yet, and tests whether
//! the loop is faster alone or shared.

use rangesteal::Pool;

use crate::{
    loops::Items,
    machine,
    plain::Plain,
    race::Race,
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

/// Two alternating loops, whose work lies at opposite ends.
struct Both(Items, Items);

impl Loop for Both {
    type Output = (Option<u64>, Option<u64>);

    fn run(&self, rival: &mut impl Rival) -> Option<Self::Output> {
        Some((self.0.run(rival), self.1.run(rival)))
    }
}

/// The second call. The first call is unmeasured.
struct Second(Items);

impl Loop for Second {
    type Output = u64;

    fn prepare(&self, rival: &mut impl Rival) {
        self.0.run(rival);
    }

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        self.0.run(rival)
    }
}

/// The first calls of a new pool. rayon's pool is not new: it has run other calls.
fn race(runner: &Runner, calls: u32, lap: &impl Loop) -> Race {
    let pace = Pace::first(calls);
    Race::interleaved(&runner.few(), runner.rounds.max(10), |_, who| {
        let _freed = machine::Freed::to(&runner.mask); // a new pool inherits the CPUs of this thread
        let turn = match who {
            Who::Plain => pace.turn(lap, Plain),
            Who::Rayon => pace.turn(lap, runner.rayon()),
            _ => {
                let pool = Pool::builder().num_threads(runner.threads).build().expect("a pool");
                machine::settle(); // waits until the helpers sleep
                pace.turn(lap, &pool)
            }
        };
        turn.map(|(_, turn)| turn)
    })
}

pub(crate) fn rows(_: &Pool, runner: &mut Runner) -> Vec<Row> {
    let row = |name: String, bar, calls, lap: &Items| {
        Row::of(&race(runner, calls, lap), format!("{name}, new pool"), Unit::Ratio, Some(bar))
    };
    let mut rows = Vec::new();
    for (micros, bar) in [(100, 1.03), (300, 0.70), (2000, 0.55)] {
        let lap = Items::even(1000, micros);
        rows.push(row(format!("j, first call of {micros} µs"), bar, 1, &lap));
    }
    for (name, lap) in [
        ("j, even", Items::even(1000, 500)),
        ("e, rising", Items::growing(1000, 500_000)),
        ("e, falling", Items::falling(1000, 500_000)),
        ("f, one run at the end", Items::heavy(1000, 900, 50, 10_000)),
    ] {
        rows.push(row(format!("{name}, first 26 calls of 500 µs"), 0.60, 26, &lap));
    }
    for len in [2, 30, 1000] {
        let first = race(runner, 1, &Items::even(len, 1));
        let name = |which| format!("{which} call over {len} cheap items: more than plain, new pool");
        rows.push(Row::of(&first, name("first"), Unit::Nanos, Some(12_000.0)));
        let second = race(runner, 1, &Second(Items::even(len, 1)));
        rows.push(Row::of(&second, name("second"), Unit::Nanos, Some(500.0)));
    }
    let both = Both(Items::growing(1000, 500_000), Items::falling(1000, 500_000));
    let race = race(runner, 26, &both);
    let name = "e, rising and falling in turn, first 26 calls of 500 µs, new pool";
    rows.push(Row::of(&race, name, Unit::Ratio, Some(0.60)));
    rows
}
