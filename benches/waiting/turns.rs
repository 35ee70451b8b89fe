//! The turns of all entrants at one loop, and the resulting rows.

use std::{hint::black_box, time::Instant};

use crate::{
    entrants::Entrants,
    load::{Ideal, Load},
    machine,
    race::{Race, Turn, median},
    row::{Cell, Row, Unit},
    who::Who,
};

/// In nanoseconds. The time of a longer turn is computed instead of measured.
const TOO_LONG: f64 = 3e9;
/// Not every system allows more threads.
const MOST_THREADS: usize = 6000;

/// Gives every entrant a turn in each round. The first round does not count. Checks that all
/// entrants with a result return the same one.
pub(crate) fn race(rounds: usize, who: &[Who], mut turn: impl FnMut(Who) -> (Option<u64>, Turn)) -> Race {
    let mut agreed = None;
    Race::interleaved(who, 1 + rounds, |round, who| {
        let (result, turn) = turn(who);
        if let Some(result) = result {
            assert_eq!(result, *agreed.get_or_insert(result), "{who:?} disagrees");
        }
        (round > 0).then_some(turn)
    })
}

/// Measures `run`.
pub(crate) fn turn(run: impl FnOnce() -> u64) -> (Option<u64>, Turn) {
    let (switches, elsewhere) = (machine::switches(), machine::cpu_nanos_elsewhere());
    let (all, here, begin) = (machine::cpu_nanos(), machine::thread_cpu_nanos(), Instant::now());
    let result = black_box(run());
    let nanos = begin.elapsed().as_secs_f64() * 1e9;
    let all = machine::cpu_nanos() - all;
    let threads = machine::thread_cpu_nanos() - here + machine::cpu_nanos_elsewhere() - elsewhere;
    let switches = (machine::switches() - switches) as f64;
    machine::settle(); // so that this turn does not disturb the next
    // `all` lacks the latest CPU time of threads on other CPUs. `threads` lacks all ended threads.
    (Some(result), Turn { nanos, cpu: all.max(threads), switches })
}

impl Load {
    /// The entrants whose turns are short enough, and the entrants in `more`.
    pub(crate) fn race(&self, entrants: &Entrants<'_>, more: &[Who]) -> Race {
        let threads = entrants.rivals.threads;
        let mut who = vec![Who::Bound, Who::Rangesteal, Who::Control];
        who.extend([Who::Tokio, Who::AsyncExecutor, Who::Unordered]);
        let compute = self.ideal(threads).compute;
        let fits = |blocked: &Who| self.blocked(*blocked, compute, threads) <= TOO_LONG;
        who.extend([Who::Rayon, Who::Plain].into_iter().filter(fits));
        if self.items.len() <= MOST_THREADS {
            who.push(Who::Threads);
        }
        who.extend(more);
        race(entrants.rounds, &who, |who| self.turn(entrants, who))
    }

    fn turn(&self, entrants: &Entrants<'_>, who: Who) -> (Option<u64>, Turn) {
        if who == Who::Bound {
            let Ideal { compute, bound, .. } = self.ideal(entrants.rivals.threads);
            return (None, Turn { nanos: bound, cpu: compute, switches: 0.0 });
        }
        let is_ours = matches!(who, Who::Rangesteal | Who::Control);
        let pool = (self.is_new && is_ours).then(|| entrants.new_pool());
        let _freed = entrants.freed_for(who);
        turn(|| entrants.run(who, self, pool.as_ref()))
    }

    /// The time of an entrant whose threads block. `compute` is the work of all items.
    fn blocked(&self, who: Who, compute: f64, threads: usize) -> f64 {
        (self.waits() + compute) / if who == Who::Rayon { threads as f64 } else { 1.0 }
    }

    /// All items of the race, and the computed entrants. The bar is a multiple of the lower bound.
    pub(crate) fn row(&self, entrants: &Entrants<'_>, race: &Race, name: &str, bar: f64) -> Row {
        let (threads, compute) = (entrants.rivals.threads, Self::all(race));
        let mut row = Row::of(race, name, Unit::Ratio, Some(bar));
        for who in [Who::Rayon, Who::Plain] {
            if row.cell(who).is_none() {
                let nanos = self.blocked(who, compute, threads);
                row.cells.push((who, Cell::computed(nanos / race.nanos(), nanos)));
            }
        }
        row
    }

    /// The bar is a multiple of the time to compute first and then wait.
    pub(crate) fn row_of_sum(&self, entrants: &Entrants<'_>, race: &Race, name: &str, bar: f64) -> Row {
        let Ideal { sum, bound, .. } = self.ideal_of(Self::all(race), entrants.rivals.threads);
        self.row(entrants, race, name, bar * sum / bound)
    }

    /// The work of all items: median of the measurements.
    fn all(race: &Race) -> f64 {
        median(race.turns(Who::Bound).iter().map(|turn| turn.cpu))
    }
}
