//! Loops beside other work: on threads of another runtime, in several libraries and tests of one
//! program, and beside another process that runs the same loop.

use std::{
    hint::black_box,
    sync::{Arc, Barrier},
    thread,
    time::Instant,
};

use clap::ValueEnum;
use rangesteal::Pool;
use tokio::runtime::{Builder, Runtime};

use crate::{
    loops::Items,
    machine::{self, Freed},
    other::{Other, end_with_stdin},
    plain::Plain,
    race::{Race, Turn},
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

const CALLS: u32 = 20;
/// The number of threads that run tests.
const TESTS: usize = 8;

/// The executor that another process uses.
#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Way {
    Plain,
    Rangesteal,
    Rayon,
}

fn items() -> Items {
    Items::even(1000, 1000)
}

/// The program of another process, which runs until its standard input ends.
pub(crate) fn run(way: Way) {
    end_with_stdin();
    let items = items();
    loop {
        black_box(match way {
            Way::Plain => items.run(&mut Plain),
            Way::Rangesteal => items.run(&mut Pool::global()),
            Way::Rayon => items.run(&mut GlobalRayon),
        });
    }
}

/// rayon as libraries use it: the global pool.
struct GlobalRayon;

impl Rival for GlobalRayon {
    fn map_sum<T: Sync>(
        &mut self,
        items: &[T],
        _: crate::rival::Cost,
        map: impl Fn(&T) -> u64 + Sync,
    ) -> u64 {
        use rayon::prelude::*;
        items.par_iter().map(&map).reduce(|| 0, u64::wrapping_add)
    }
}

/// Runs all calls of a turn with one entrant.
fn by(who: Who, pace: Pace, items: &Items) -> Option<Turn> {
    let turn = match who {
        Who::Plain => pace.turn(items, Plain),
        Who::Rayon => pace.turn(items, GlobalRayon),
        _ => pace.turn(items, Pool::global()),
    };
    turn.map(|(_, turn)| turn)
}

/// Each of `threads` simultaneous threads runs all calls, on an executor that `rival` makes.
/// Returns the time of a call, until the last thread has ended.
pub(crate) fn together<R: Rival>(threads: usize, items: &Items, rival: impl Fn() -> R + Sync) -> Turn {
    let begin = Barrier::new(threads + 1);
    thread::scope(|scope| {
        let work = || {
            begin.wait();
            let mut rival = rival();
            for _ in 0..CALLS {
                black_box(items.run(&mut rival));
            }
        };
        let all: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        begin.wait();
        let begin = Instant::now();
        for thread in all {
            thread.join().expect("a sum");
        }
        let nanos = begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS);
        Turn { nanos, cpu: f64::NAN, switches: f64::NAN }
    })
}

/// An executor with a pool of its own.
struct Own(Pool);

impl Rival for Own {
    fn map_sum<T: Sync>(
        &mut self,
        items: &[T],
        cost: crate::rival::Cost,
        map: impl Fn(&T) -> u64 + Sync,
    ) -> u64 {
        (&self.0).map_sum(items, cost, map)
    }
}

fn own() -> Own {
    Own(Pool::new().expect("a pool"))
}

pub(crate) fn rows(_: &Pool, runner: &mut Runner) -> Vec<Row> {
    let _freed = Freed::to(&runner.mask); // other threads would inherit the CPU of this one
    let (items, rounds) = (items(), runner.rounds);
    let mut who = vec![Who::Plain, Who::Rangesteal];
    who.extend(runner.few().contains(&Who::Rayon).then_some(Who::Rayon));
    let few = &who[..];
    let race = |turn: &mut dyn FnMut(Who) -> Option<Turn>| {
        Race::interleaved(few, rounds, |_, who| {
            let turn = turn(who);
            machine::settle();
            turn
        })
    };
    let row = |race: &Race, name: &str, bar| Row::of(race, name, Unit::Ratio, Some(bar)).without_cost();
    let pace = Pace::calls(CALLS);

    let in_rayon = race(&mut |who| rayon::scope(|_| by(who, pace, &items)));
    let tokio: Runtime = Builder::new_multi_thread().worker_threads(2).enable_time().build().expect("tokio");
    let shared = Arc::new(self::items());
    let in_tokio = race(&mut |who| {
        let items = Arc::clone(&shared);
        let blocking = tokio.spawn_blocking(move || by(who, pace, &items));
        tokio.block_on(blocking).expect("a turn")
    });
    let mut rows = vec![
        row(&in_rayon, "j, 1 ms, on a thread of rayon's", 0.60),
        row(&in_tokio, "j, 1 ms, on a blocking thread of tokio's", 0.60),
    ];
    for (threads, of, bar) in [(2, "two libraries", 1.05), (TESTS, "8 tests", 1.05)] {
        let global = race(&mut |who| {
            Some(match who {
                Who::Plain => together(threads, &items, || Plain),
                Who::Rayon => together(threads, &items, || GlobalRayon),
                _ => together(threads, &items, Pool::global),
            })
        });
        let own = race(&mut |who| match who {
            Who::Plain => Some(together(threads, &items, || Plain)),
            Who::Rangesteal => Some(together(threads, &items, own)),
            _ => None,
        });
        rows.push(row(&global, &format!("j, 1 ms, {of} at once, on the global pool"), bar));
        rows.push(row(&own, &format!("j, 1 ms, {of} at once, a pool each"), bar));
    }
    let beside = race(&mut |who| {
        let way = match who {
            Who::Plain => Way::Plain,
            Who::Rayon => Way::Rayon,
            _ => Way::Rangesteal,
        };
        let way = way.to_possible_value().expect("a way");
        let _other = Other::start(["beside", way.get_name()]);
        by(who, pace, &items)
    });
    rows.push(row(&beside, "j, 1 ms, beside another process that does the same", 1.0));
    rows
}
