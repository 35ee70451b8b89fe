//! The turn of one executor.

use std::{hint::black_box, time::Instant};

use nix::sched::CpuSet;

use crate::{machine, race::Turn, rivals::Rival, work::work};

/// A loop, for any executor. Its result is what all must agree on; `None` from those who have no such loop.
pub(crate) trait Loop {
    type Output: PartialEq;

    /// Makes anew what a call uses up; not part of what is measured.
    fn prepare(&self) {}

    fn run(&self, rival: &mut impl Rival) -> Option<Self::Output>;
}

/// Each turn begins with untimed calls for so long. Threads that are not pinned often wake up on the same CPU, and the system
/// needs some milliseconds to part them; in a program that runs loops all the time it has done so.
const WARM_UP_NANOS: f64 = 10e6;

/// How a loop is called in one turn.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Calls back to back, timed together.
    calls: u32,
    /// How often there are such calls.
    times: u32,
    /// Links of serial work before them; not part of what is measured.
    gap: u64,
    /// A long loop: a tenth of the rounds, and no calls to warm up.
    pub(crate) long: bool,
}

impl Pace {
    pub(crate) const ONCE: Self = Self::calls(1);
    pub(crate) const LONG: Self = Self { long: true, ..Self::ONCE };

    pub(crate) const fn calls(calls: u32) -> Self {
        Self { calls, times: 1, gap: 0, long: false }
    }

    /// Calls timed one by one, each prepared, after `gap` links of serial work.
    pub(crate) const fn apart(times: u32, gap: u64) -> Self {
        Self { calls: 1, times, gap, long: false }
    }

    /// The turn of one executor whose threads are yet to start, on `cpus`.
    pub(crate) fn first_turn<L: Loop, R: Rival>(
        self,
        lap: &L,
        cpus: &CpuSet,
        start: impl FnOnce() -> R,
    ) -> Option<(L::Output, Turn)> {
        let there = machine::Freed::to(cpus);
        let mut rival = start();
        lap.prepare();
        black_box(lap.run(&mut rival)?); // OpenMP starts its threads when they are needed
        drop(there);
        self.turn(lap, rival)
    }

    /// The turn of one executor.
    pub(crate) fn turn<L: Loop>(self, lap: &L, mut rival: impl Rival) -> Option<(L::Output, Turn)> {
        let begin = Instant::now();
        while !self.long && nanos_since(begin) < WARM_UP_NANOS {
            lap.prepare();
            black_box(work(black_box(self.gap)));
            black_box(lap.run(&mut rival)?);
        }
        let (switches, elsewhere) = (machine::switches(), machine::cpu_nanos_elsewhere());
        let (here, begin) = (machine::thread_cpu_nanos(), Instant::now());
        let (mut result, mut nanos) = (None, 0.0);
        for _ in 0..self.times {
            drop(result.take()); // or the next call would be charged for it
            lap.prepare();
            black_box(work(black_box(self.gap)));
            let begin = Instant::now();
            for _ in 0..self.calls {
                result = black_box(lap.run(&mut rival));
            }
            nanos += nanos_since(begin);
        }
        let between = nanos_since(begin) - nanos; // serial work: as much CPU time
        let here = machine::thread_cpu_nanos() - here - between;
        let cpu = here + machine::cpu_nanos_elsewhere() - elsewhere;
        let switches = (machine::switches() - switches) as f64;
        let calls = f64::from(self.calls * self.times);
        Some((result?, Turn { nanos: nanos / calls, cpu: cpu / calls, switches: switches / calls }))
    }
}

fn nanos_since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e9
}
