//! The turns of all entrants at a cell, and the resulting row.

use std::{hint::black_box, time::Instant};

use nix::sched::CpuSet;
use rangesteal::Pool;
use rayon::ThreadPool;

use crate::{
    cell::{By, Cell},
    data::Data,
    machine::{self, Freed},
    race::{Race, Turn},
    row::{Row, Unit},
    who::Who,
};

/// The time of a turn of the plain loop, which sets the number of calls in a turn.
const TURN_NANOS: f64 = 1e6;
/// The time of the untimed calls at the start of each turn.
const WARM_UP_NANOS: f64 = 2e6;
/// The number of rounds that do not count. In these rounds a pool learns the cost of the loop.
const WARM_UP_ROUNDS: usize = 2;
/// A loop is expected to be shared if the plain loop takes at least this long.
const SHARED_NANOS: f64 = 100_000.0;

/// The smaller of the two ratios. A disturbance of the halves must not make the bar easier.
fn least((median, of_minima): (f64, f64)) -> f64 {
    median.min(of_minima)
}

pub(crate) struct Entrants {
    rounds: usize,
    /// The CPUs of this process before any thread was pinned.
    mask: CpuSet,
    rayon: ThreadPool,
    control: Pool,
}

impl Entrants {
    /// Call this before any pool has pinned this thread.
    pub(crate) fn new(rounds: usize, threads: usize) -> Self {
        Self {
            rounds,
            mask: machine::mask(),
            rayon: rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool of rayon's"),
            control: Pool::builder().num_threads(threads).build().expect("a pool"),
        }
    }

    pub(crate) fn cpus(&self) -> usize {
        machine::cpus(&self.mask).len()
    }

    fn by<'p>(&'p self, pool: &'p Pool, who: Who) -> By<'p> {
        match who {
            Who::Rangesteal => By::Ours(pool),
            Who::Control => By::Ours(&self.control),
            Who::Rayon => By::Rayon(&self.rayon),
            Who::Halves => By::Halves(&self.rayon),
            _ => By::Plain,
        }
    }

    /// A cell over a slice of this length. The target of a loop that runs alone is 1.05 times the
    /// plain loop's time plus 60 ns. The target of a shared loop is 0.55 times the plain loop's
    /// time, or 1.05 times the time of two threads that each run one half.
    pub(crate) fn row(&self, pool: &Pool, cell: &Cell, len: usize) -> Row {
        let plain = cell.outcome(By::Plain, len);
        for who in [Who::Rangesteal, Who::Rayon] {
            assert!(cell.outcome(self.by(pool, who), len) == plain, "{who:?} disagrees: {}", cell.name());
        }
        let mut data = Data::new(len);
        let entrants = [Who::Plain, Who::Rangesteal, Who::Control, Who::Rayon, Who::Halves];
        let calls = (TURN_NANOS / nanos(By::Plain, cell, &mut data, 3)).clamp(1.0, 1000.0) as u32;
        let race = Race::interleaved(&entrants, WARM_UP_ROUNDS + self.rounds, |round, who| {
            let turn = self.turn(pool, who, cell, &mut data, calls);
            (round >= WARM_UP_ROUNDS).then_some(turn)
        });
        let (alone, halves) = (1.05 + 60.0 / race.nanos(), least(race.ratio(Who::Halves)));
        let mut name = format!("{}, {len} items", cell.body);
        let mut bar = alone;
        if race.nanos() >= SHARED_NANOS {
            bar = alone.min(f64::max(0.55, 1.05 * halves));
            name = format!("{name} (halves: {halves:.3})");
        }
        Row::of(&race, name, Unit::Ratio, Some(bar)).without_cost()
    }

    fn turn(&self, pool: &Pool, who: Who, cell: &Cell, data: &mut Data, calls: u32) -> Turn {
        // The pool has pinned this thread. The pin would be a handicap to rayon's threads.
        let _freed = matches!(who, Who::Rayon | Who::Halves).then(|| Freed::to(&self.mask));
        let by = self.by(pool, who);
        let begin = Instant::now();
        while begin.elapsed().as_secs_f64() * 1e9 < WARM_UP_NANOS {
            nanos(by, cell, data, 1);
        }
        let nanos = nanos(by, cell, data, calls);
        machine::settle();
        Turn { nanos, cpu: 0.0, switches: 0.0 }
    }
}

/// The mean time of a call.
fn nanos(by: By<'_>, cell: &Cell, data: &mut Data, calls: u32) -> f64 {
    let begin = Instant::now();
    for _ in 0..calls {
        (cell.run)(by, black_box(data), &mut |result| _ = black_box(result));
    }
    begin.elapsed().as_secs_f64() * 1e9 / f64::from(calls)
}
