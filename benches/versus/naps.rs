//! The number of CPUs that a long loop uses while its caller sleeps in the middle.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread::{self, ThreadId},
    time::Duration,
};

use rangesteal::Pool;

use crate::{
    machine,
    plain::Plain,
    race::Race,
    rival::{Cost, Loop, Rival},
    row::{Cell, Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
    work::{links, work},
};

/// The items of a loop with a sleeper. After every `BETWEEN` items that it runs, the sleeper
/// sleeps.
struct Napping {
    links: Vec<u64>,
}

impl Napping {
    const ITEM_NANOS: u64 = 100_000;
    /// One sleep every 50 ms.
    const BETWEEN: u32 = 500;
}

impl Loop for Napping {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        // The sleeper is the thread of the first item: the caller with rangesteal, a worker with
        // rayon.
        let (sleeper, items) = (OnceLock::<ThreadId>::new(), AtomicU32::new(0));
        let item = |links: &u64| {
            let here = thread::current().id();
            if *sleeper.get_or_init(|| here) == here {
                let before = items.fetch_add(1, Ordering::Relaxed);
                if before % Self::BETWEEN == Self::BETWEEN - 1 {
                    thread::sleep(Duration::from_millis(1));
                }
            }
            work(*links)
        };
        Some(rival.map_sum(&self.links, Cost::Even, item))
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let (rounds, nanos) = if runner.rounds < 10 { (1, 300_000_000) } else { (3, 1_000_000_000) };
    let len = runner.threads as u64 * nanos / Napping::ITEM_NANOS;
    let lap = Napping { links: vec![links(Napping::ITEM_NANOS); len as usize] };
    let race = Race::interleaved(&runner.few(), rounds, |_, who| {
        let _freed = (who == Who::Rayon).then(|| machine::Freed::to(&runner.mask));
        let turn = match who {
            Who::Rangesteal => Pace::LONG.turn(&lap, pool),
            Who::Control => Pace::LONG.turn(&lap, runner.control()),
            Who::Rayon => Pace::LONG.turn(&lap, runner.rayon()),
            _ => Pace::LONG.turn(&lap, Plain),
        };
        machine::settle();
        turn.map(|(_, turn)| turn)
    });
    let busy = |who| {
        let turns = race.turns(who);
        turns.iter().map(|turn| turn.cpu).sum::<f64>() / turns.iter().map(|turn| turn.nanos).sum::<f64>()
    };
    vec![Row {
        name: format!("CPUs that a loop of {} s uses whose caller sleeps", nanos as f64 / 1e9),
        reference: Unit::Cpus.write(busy(Who::Plain)),
        unit: Unit::Cpus,
        bar: Some(runner.threads as f64 * 0.95),
        cells: race.others().map(|who| (who, Cell::of(busy(who)))).collect(),
    }]
}
