//! The first calls of loops of few long items, by new pools. The figure is the time of a call
//! relative to the items of the busiest worker.

use std::{
    hint::black_box,
    thread,
    time::{Duration, Instant},
};

use rangesteal::Pool;
use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    loops::Items,
    machine,
    race::median,
    row::{Cell, Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
    work::{links, work},
};

const CALLS: usize = 30;

/// The work of one item: a chain of links, or a sleep.
#[derive(Clone, Copy)]
enum Item {
    Work(u64),
    Sleep(Duration),
}

impl Item {
    fn run(self) -> u64 {
        match self {
            Self::Work(links) => work(black_box(links)),
            Self::Sleep(time) => {
                thread::sleep(time);
                0
            }
        }
    }
}

/// A way to run the items.
type Form = fn(&Pool, &[Item]) -> u64;

fn map_reduce(pool: &Pool, items: &[Item]) -> u64 {
    pool.map_reduce(items, |item| item.run(), u64::wrapping_add).unwrap_or(0)
}

fn sum(results: impl IntoIterator<Item = u64>) -> u64 {
    results.into_iter().fold(0, u64::wrapping_add)
}

const FORMS: [(&str, Form); 7] = [
    ("map_collect", |pool, items| sum(pool.map_collect(items, |item| item.run()))),
    ("on(vec)", |pool, items| sum(pool.on(items.to_vec()).map(Item::run).collect::<Vec<_>>())),
    ("chunks", |pool, items| {
        let chunk = |items: &[Item]| items[0].run();
        pool.on(items).chunks(1).map(chunk).reduce(u64::wrapping_add).unwrap_or(0)
    }),
    ("try_map_reduce", |pool, items| {
        let result: Result<_, ()> = pool.on(items).map(|item| Ok(item.run())).try_reduce(u64::wrapping_add);
        result.unwrap().unwrap_or(0)
    }),
    ("for_each_mut", |pool, items| {
        let mut results: Vec<_> = items.iter().map(|item| (*item, 0)).collect();
        pool.for_each_mut(&mut results, |(item, result)| *result = item.run());
        sum(results.into_iter().map(|(_, result)| result))
    }),
    ("all", |pool, items| u64::from(pool.on(items).all(|item| black_box(item.run()) != 1))),
    ("grow", |pool, items| {
        let seeds = pool.grow(items.to_vec());
        seeds.fold_unordered(|| 0, |sum, item, _| item.run().wrapping_add(sum), u64::wrapping_add)
    }),
];

/// The time of each of the first calls, in nanoseconds: the median of `rounds`. Each round makes a
/// new closure with `anew`.
fn first_calls<C: FnMut()>(rounds: usize, mut anew: impl FnMut() -> C) -> Vec<f64> {
    let mut took = vec![Vec::new(); CALLS];
    for _ in 0..rounds {
        let mut call = anew();
        for took in &mut took {
            let begin = Instant::now();
            call();
            took.push(begin.elapsed().as_secs_f64() * 1e9);
        }
    }
    took.into_iter().map(|took| median(took.into_iter())).collect()
}

/// The time of the longest of the first calls, divided by `bound` nanoseconds.
fn longest(calls: &[f64], bound: f64) -> Cell {
    Cell {
        nanos: Some(median(calls.iter().copied())),
        ..Cell::of(calls.iter().copied().fold(0.0, f64::max) / bound)
    }
}

struct Few<'a> {
    runner: &'a Runner,
    rounds: usize,
}

impl Few<'_> {
    /// The first calls of new pools of rangesteal.
    fn ours(&self, threads: usize, form: Form, items: &[Item]) -> Vec<f64> {
        first_calls(self.rounds, || {
            let _freed = machine::Freed::to(&self.runner.mask); // a new pool inherits the CPUs of this thread
            let pool = Pool::builder().num_threads(threads).build().expect("a pool");
            machine::settle();
            move || _ = black_box(form(&pool, items))
        })
    }

    fn rayon(&self, items: &[Item]) -> Vec<f64> {
        let _freed = machine::Freed::to(&self.runner.mask);
        first_calls(self.rounds, || {
            || {
                let all = || items.par_iter().map(|item| item.run()).reduce(|| 0, u64::wrapping_add);
                black_box(self.runner.rayon().install(all));
            }
        })
    }
}

fn row(name: String, bound: f64, bar: f64, ours: &[f64], rayon: Option<&[f64]>) -> Row {
    let mut cells = vec![(Who::Rangesteal, longest(ours, bound))];
    cells.extend(rayon.map(|calls| (Who::Rayon, longest(calls, bound))));
    Row { name, reference: format!("{:.2} ms", bound / 1e6), unit: Unit::Ratio, bar: Some(bar), cells }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let few = Few { runner, rounds: if runner.rounds < 10 { 3 } else { 9 } };
    let has_rayon = few.runner.few().contains(&Who::Rayon);
    let mut rows = Vec::new();
    // The minimum, since disturbances only make a call slower.
    let took = |item: Item| {
        first_calls(1, || || _ = black_box(item.run())).into_iter().fold(f64::INFINITY, f64::min)
    };
    for (micros, bar) in [(5000, 1.05), (1000, 1.10), (200, 1.35)] {
        let item = Item::Work(links(micros * 1000));
        let nanos = took(item);
        for len in [2, 3, 4, 8, 16] {
            let items = vec![item; len];
            let bound = len.div_ceil(few.runner.threads) as f64 * nanos;
            let ours = few.ours(few.runner.threads, map_reduce, &items);
            let rayon = has_rayon.then(|| few.rayon(&items));
            let name = format!("{len} items of {} ms, longest of 30 first calls", micros as f64 / 1000.0);
            rows.push(row(name, bound, bar, &ours, rayon.as_deref()));
        }
    }
    let items = vec![Item::Work(links(1_000_000)); 4];
    let bound = 4_usize.div_ceil(few.runner.threads) as f64 * took(items[0]);
    for (form, run) in FORMS {
        let name = format!("4 items of 1 ms by {form}, longest of 30 first calls");
        rows.push(row(name, bound, 1.10, &few.ours(few.runner.threads, run, &items), None));
    }
    let heavy = Item::Work(links(5_000_000));
    let places: Vec<f64> = (0..8)
        .flat_map(|place| {
            let mut items = [Item::Work(links(10_000)); 8];
            items[place] = heavy;
            few.ours(few.runner.threads, map_reduce, &items)
        })
        .collect();
    let name = "one of 8 items takes 5 ms, at any place, longest of 30 first calls";
    rows.push(row(name.to_owned(), took(heavy), 1.05, &places, None));
    for len in [8, 16, 24] {
        let items = vec![Item::Sleep(Duration::from_millis(5)); len];
        let bound = (len / 8) as f64 * took(items[0]);
        let name = format!("{len} items that sleep for 5 ms, 8 workers, longest of 30 first calls");
        rows.push(row(name, bound, 1.10, &few.ours(8, map_reduce, &items), None));
    }
    for micros in [40, 75] {
        let race = runner.race(pool, &runner.few(), Pace::in_a_program(), &Items::even(22, 1000 * micros));
        let name = format!("22 items of {micros} µs");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(11.6 / 22.0)));
    }
    rows
}
