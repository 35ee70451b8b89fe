//! The turn of one entrant: a program from its start, for a number of rounds.

use std::time::{Duration, Instant};

use crate::{
    machine,
    program::{By, Program},
    race::Turn,
};

/// The length of the untimed rounds at the start of each turn. In these rounds the threads start
/// and the policies learn.
const WARM_UP: Duration = Duration::from_millis(10);

/// The length of a turn of the plain program.
const TURN: Duration = Duration::from_millis(30);

/// Turns of a program with any type of state.
pub(crate) trait Turns: Sync {
    /// The number of rounds in a turn.
    fn rounds_a_turn(&self) -> usize;

    /// One untimed round, which starts the threads.
    fn touch(&self, by: By<'_>);

    /// The result of a number of rounds, and the time of one round.
    fn turn(&self, rounds: usize, by: By<'_>) -> (Vec<f64>, Turn);
}

impl<P: Program> Turns for P {
    fn rounds_a_turn(&self) -> usize {
        let (mut state, mut rounds, begin) = (self.start(), 0.0, Instant::now());
        while begin.elapsed() < WARM_UP {
            self.rounds(&mut state, 1, By::Plain);
            rounds += 1.0;
        }
        (rounds * TURN.div_duration_f64(WARM_UP)) as usize
    }

    fn touch(&self, by: By<'_>) {
        self.rounds(&mut self.start(), 1, by);
    }

    fn turn(&self, rounds: usize, by: By<'_>) -> (Vec<f64>, Turn) {
        let (mut state, some, begin) = (self.start(), (rounds / 30).max(1), Instant::now());
        while begin.elapsed() < WARM_UP {
            self.rounds(&mut state, some, by);
        }
        let mut state = self.start();
        let (switches, elsewhere) = (machine::switches(), machine::cpu_nanos_elsewhere());
        let (here, begin) = (machine::thread_cpu_nanos(), Instant::now());
        self.rounds(&mut state, rounds, by);
        let nanos = begin.elapsed().as_secs_f64() * 1e9;
        let cpu = machine::thread_cpu_nanos() - here + machine::cpu_nanos_elsewhere() - elsewhere;
        let each = |all: f64| all / rounds as f64;
        let switches = each((machine::switches() - switches) as f64);
        (self.result(state), Turn { nanos: each(nanos), cpu: each(cpu), switches })
    }
}
