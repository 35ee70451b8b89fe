//! The turn of one executor.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use nix::sched::CpuSet;

use crate::{
    machine,
    race::Turn,
    rival::{Loop, Rival},
    work::{links, work},
};

/// The time of the untimed calls at the start of each turn. Unpinned threads often wake up on the
/// same CPU, and the system takes some milliseconds to separate them. In a program that runs loops
/// all the time, they are separated already.
const WARM_UP_NANOS: f64 = 10e6;

/// The caller's activity between two calls, unmeasured.
#[derive(Clone, Copy)]
enum Gap {
    /// Links of serial work.
    Work(u64),
    /// Sleep, so that the caches of the core become cold.
    Sleep(Duration),
}

impl Gap {
    fn pass(self) {
        match self {
            Self::Work(links) => _ = black_box(work(black_box(links))),
            Self::Sleep(time) => thread::sleep(time),
        }
    }
}

/// The calls of one turn.
#[derive(Clone, Copy)]
pub(crate) struct Pace {
    /// Calls back to back, timed together.
    calls: u32,
    /// The number of bursts of calls.
    times: u32,
    /// The caller's activity before each burst.
    gap: Gap,
    /// A long loop has a tenth of the rounds, and no warm-up calls.
    pub(crate) long: bool,
    warm_up_nanos: f64,
}

impl Pace {
    pub(crate) const ONCE: Self = Self::calls(1);
    pub(crate) const LONG: Self = Self { long: true, ..Self::ONCE };

    /// Whether a turn is one call.
    pub(crate) fn is_one_call(self) -> bool {
        self.calls == 1
    }

    pub(crate) const fn calls(calls: u32) -> Self {
        Self::bursts(calls, 1)
    }

    /// Bursts of calls back to back, each burst prepared.
    pub(crate) const fn bursts(calls: u32, times: u32) -> Self {
        Self { calls, times, gap: Gap::Work(0), long: false, warm_up_nanos: WARM_UP_NANOS }
    }

    /// Calls that are prepared and timed one by one, each after `gap` links of serial work.
    pub(crate) const fn apart(times: u32, gap: u64) -> Self {
        Self { gap: Gap::Work(gap), ..Self::bursts(1, times) }
    }

    /// The calls of a loop of some microseconds in a program: with 20 µs of serial work between
    /// them.
    pub(crate) fn in_a_program() -> Self {
        Self::apart(20, links(20_000))
    }

    /// Calls that are prepared and timed one by one, each after the caller has slept.
    pub(crate) const fn cold(times: u32) -> Self {
        Self { gap: Gap::Sleep(Duration::from_millis(1)), ..Self::bursts(1, times) }
    }

    /// The very first calls, back to back, without a warm-up.
    pub(crate) const fn first(calls: u32) -> Self {
        Self { long: true, ..Self::calls(calls) }
    }

    /// For a short run.
    pub(crate) const fn brief(self) -> Self {
        Self { warm_up_nanos: WARM_UP_NANOS / 10.0, ..self }
    }

    /// The turn of one executor whose threads have not started. The threads start on `cpus`.
    pub(crate) fn first_turn<L: Loop, R: Rival>(
        self,
        lap: &L,
        cpus: &CpuSet,
        start: impl FnOnce() -> R,
    ) -> Option<(L::Output, Turn)> {
        let there = machine::Freed::to(cpus);
        let mut rival = start();
        lap.prepare(&mut rival);
        black_box(lap.run(&mut rival)?); // OpenMP starts its threads in its first loop
        drop(there);
        self.turn(lap, rival)
    }

    /// The turn of one executor.
    pub(crate) fn turn<L: Loop>(self, lap: &L, mut rival: impl Rival) -> Option<(L::Output, Turn)> {
        let begin = Instant::now();
        while !self.long && nanos_since(begin) < self.warm_up_nanos {
            lap.prepare(&mut rival);
            self.gap.pass();
            black_box(lap.run(&mut rival)?);
        }
        let (switches, elsewhere) = (machine::switches(), machine::cpu_nanos_elsewhere());
        let (here, begin) = (machine::thread_cpu_nanos(), Instant::now());
        let (mut result, mut nanos) = (None, 0.0);
        for _ in 0..self.times {
            drop(result.take()); // outside of the measured call
            lap.prepare(&mut rival);
            self.gap.pass();
            let begin = Instant::now();
            for _ in 0..self.calls {
                result = black_box(lap.run(&mut rival));
            }
            nanos += nanos_since(begin);
        }
        let between = match self.gap {
            Gap::Work(_) => nanos_since(begin) - nanos, // serial: CPU time and time are equal
            Gap::Sleep(_) => 0.0, // the times of falling asleep and waking up count, also for the plain loop
        };
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
