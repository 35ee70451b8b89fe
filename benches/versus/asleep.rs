//! Simultaneous loops whose items sleep, so that the number of CPUs does not matter.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    race::{Race, Turn},
    rival::{Cost, Rival},
    row::{Cell, Row, Unit},
    runner::Runner,
    scene::{Executors, Scene, nanos_since, taking},
    who::{MANY, Who},
};

/// The arrangement of the loops.
#[derive(Clone, Copy)]
enum Asleep {
    Callers(u64),
    /// An outer loop of this many items, each with an inner loop.
    Nested(u64),
}

impl Asleep {
    /// The number of items of each loop.
    const ITEMS: usize = 64;
    const ITEM: Duration = Duration::from_millis(5);

    fn inner(mut rival: impl Rival) -> u64 {
        rival.map_sum(&[(); Self::ITEMS], Cost::Uneven, |()| {
            thread::sleep(Self::ITEM);
            1
        })
    }

    fn items(self) -> u64 {
        let (Self::Callers(loops) | Self::Nested(loops)) = self;
        loops * Self::ITEMS as u64
    }

    /// The number of threads that can work. rangesteal has seven helpers, and all callers work,
    /// too. rayon has eight threads, and its callers wait.
    fn threads(self, who: Who) -> u64 {
        match self {
            Self::Callers(callers) if who != Who::Rayon => MANY as u64 - 1 + callers,
            _ => MANY as u64,
        }
    }

    /// The lower bound for this number of threads, in nanoseconds.
    fn bound(self, who: Who) -> f64 {
        self.items().div_ceil(self.threads(who)) as f64 * Self::ITEM.as_secs_f64() * 1e9
    }

    fn name(self) -> String {
        match self {
            Self::Callers(callers) => format!("{callers} callers, 64 x 5 ms each"),
            Self::Nested(outer) => format!("outer loop of {outer}, inner of 64 x 5 ms"),
        }
    }

    fn row(self, executors: &Executors, runner: &Runner) -> Row {
        let mut entrants = vec![Who::Bound, Who::Rangesteal];
        entrants.extend(runner.few().contains(&Who::Rayon).then_some(Who::Rayon));
        let race = Race::interleaved(&entrants, 1 + runner.rounds.div_ceil(20), |round, who| {
            let turn = match who {
                Who::Bound => taking(self.bound(who)),
                _ => executors.by(who, &self),
            };
            (round > 0).then_some(turn) // in the first round, the pools are new
        });
        let cell = |who| {
            let (median, fastest) = (race.nanos_of(who), race.fastest(who));
            let least = Some(fastest / self.bound(who));
            let figure = median / self.bound(who);
            (who, Cell { least, fastest: Some(fastest), ..Cell::computed(figure, median) })
        };
        Row {
            name: format!("{}, {MANY} workers: to the bound", self.name()),
            reference: Unit::Millis.write(race.nanos() / 1e6),
            unit: Unit::Ratio,
            bar: Some(1.10),
            cells: race.others().map(cell).collect(),
        }
    }
}

impl Scene for Asleep {
    type Output = Turn;

    fn play(&self, mut rival: impl Rival + Copy + Send + Sync) -> Turn {
        let begin = Instant::now();
        let items = match *self {
            Self::Callers(callers) => thread::scope(|scope| {
                let all: Vec<_> = (0..callers).map(|_| scope.spawn(move || Self::inner(rival))).collect();
                all.into_iter().map(|thread| thread.join().expect("a sum")).sum()
            }),
            Self::Nested(outer) => {
                let (outer, inner) = (vec![(); outer as usize], rival);
                rival.map_sum(&outer, Cost::Uneven, |()| Self::inner(inner))
            }
        };
        assert_eq!(items, self.items());
        taking(nanos_since(begin))
    }
}

pub(crate) fn rows(runner: &Runner) -> Vec<Row> {
    let executors = Executors::new(MANY);
    let callers = [2, 4].map(Asleep::Callers);
    let nested = [1, 2, 3, 4, 5, 8].map(Asleep::Nested);
    callers.into_iter().chain(nested).map(|scene| scene.row(&executors, runner)).collect()
}
