//! A task of a row, and all implementations of it.

use std::{hint::black_box, time::Instant};

use chili::Scope;
use rangesteal::Pool;

use crate::{
    entrants::Entrants,
    machine,
    race::{Race, Turn},
    who::Who,
    work::work,
};

/// Runs the task, and returns the result, equal for all entrants.
type Way<'a> = Box<dyn Fn(&Entrants<'_>) -> u64 + 'a>;

pub(crate) struct Task<'a> {
    ways: Vec<(Who, Way<'a>)>,
    /// Runs before each call, unmeasured.
    prepare: Box<dyn Fn() + 'a>,
    /// The expected result, if it is known.
    result: Option<u64>,
    /// The number of calls in a turn.
    calls: u32,
    /// The number of parts of a call. Figures are times per part.
    parts: f64,
}

impl<'a> Task<'a> {
    /// The plain loop or recursion is the reference.
    pub(crate) fn plain(run: impl Fn() -> u64 + 'a) -> Self {
        let task = Self { ways: Vec::new(), prepare: Box::new(|| {}), result: None, calls: 1, parts: 1.0 };
        task.way(Who::Plain, move |_| run())
    }

    fn way(mut self, who: Who, run: impl Fn(&Entrants<'_>) -> u64 + 'a) -> Self {
        self.ways.push((who, Box::new(run)));
        self
    }

    /// The implementation by a growing list. The list runs once on the pool, and once on the
    /// control, which is an equal pool.
    pub(crate) fn grow(self, run: impl Fn(&Pool) -> u64 + Copy + 'a) -> Self {
        self.way(Who::Rangesteal, move |entrants| run(entrants.pool(Who::Rangesteal)))
            .way(Who::Control, move |entrants| run(entrants.pool(Who::Control)))
    }

    /// By a loop over a fixed list.
    pub(crate) fn on(self, run: impl Fn(&Pool) -> u64 + 'a) -> Self {
        self.way(Who::On, move |entrants| run(entrants.pool(Who::On)))
    }

    /// On a thread of rayon's pool.
    pub(crate) fn rayon(self, run: impl Fn() -> u64 + Sync + 'a) -> Self {
        self.way(Who::Rayon, move |entrants| entrants.rayon().install(&run))
    }

    pub(crate) fn chili(self, run: impl Fn(&mut Scope<'_>) -> u64 + 'a) -> Self {
        self.way(Who::Chili, move |entrants| run(&mut entrants.chili().scope()))
    }

    pub(crate) fn prepared(self, prepare: impl Fn() + 'a) -> Self {
        Self { prepare: Box::new(prepare), ..self }
    }

    pub(crate) fn gives(self, result: u64) -> Self {
        Self { result: Some(result), ..self }
    }

    /// Sets the number of calls in a turn. One is enough for a long task.
    pub(crate) fn calls(self, calls: u32) -> Self {
        Self { calls, ..self }
    }

    /// Reports the time of one of `parts` equal parts, instead of the whole call.
    pub(crate) fn per_part(self, parts: usize) -> Self {
        Self { parts: parts as f64, ..self }
    }

    /// Gives every entrant a turn in each round. The first round does not count.
    pub(crate) fn race(&self, entrants: &Entrants<'_>) -> Race {
        let who: Vec<Who> = self.ways.iter().map(|(who, _)| *who).collect();
        let mut agreed = self.result;
        Race::interleaved(&who, 1 + entrants.rounds, |round, who| {
            let (result, turn) = self.turn(entrants, who);
            let agreed = *agreed.get_or_insert(result);
            assert_eq!(result, agreed, "{who:?} disagrees");
            (round > 0).then_some(turn)
        })
    }

    fn turn(&self, entrants: &Entrants<'_>, who: Who) -> (u64, Turn) {
        let (_, run) = self.ways.iter().find(|(way, _)| *way == who).expect("a way");
        let _freed = entrants.freed_for(who);
        let (mut result, mut turn) = (0, Turn { nanos: 0.0, cpu: 0.0, switches: 0.0 });
        for _ in 0..self.calls {
            (self.prepare)();
            let (switches, elsewhere) = (machine::switches(), machine::cpu_nanos_elsewhere());
            let (here, begin) = (machine::thread_cpu_nanos(), Instant::now());
            result = black_box(run(entrants));
            turn.nanos += begin.elapsed().as_secs_f64() * 1e9;
            turn.cpu += machine::thread_cpu_nanos() - here;
            turn.cpu += machine::cpu_nanos_elsewhere() - elsewhere;
            turn.switches += (machine::switches() - switches) as f64;
        }
        machine::settle(); // so that this turn does not disturb the next
        let parts = f64::from(self.calls) * self.parts;
        let Turn { nanos, cpu, switches } = turn;
        (result, Turn { nanos: nanos / parts, cpu: cpu / parts, switches: switches / parts })
    }
}

/// Work of `links` links, in one copy of the code for all entrants. If the work is inlined, it
/// takes up to 5 % longer in one place than in another.
#[inline(never)]
pub(crate) fn busy(links: u64) -> u64 {
    work(links)
}
