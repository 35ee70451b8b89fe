//! Loops whose items all need one lock, or all write one counter.

use std::{
    hint::black_box,
    sync::{
        Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use rangesteal::Pool;

use crate::{
    rival::{Cost, Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    work::{links, work},
};

/// Items that take a lock, and hold it for this many links.
struct Locking {
    items: Vec<u64>,
    links: u64,
    sum: Mutex<u64>,
}

impl Loop for Locking {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        *self.sum.lock().expect("nobody panics") = 0;
        let links = black_box(self.links);
        let add = |x: &u64| {
            let mut sum = self.sum.lock().expect("nobody panics");
            *sum = sum.wrapping_add(work(links) ^ *x);
            0
        };
        rival.map_sum(&self.items, Cost::Even, add);
        Some(*self.sum.lock().expect("nobody panics"))
    }
}

/// Items that add to a counter.
struct Counting {
    items: Vec<u64>,
    sum: AtomicU64,
}

impl Loop for Counting {
    type Output = u64;

    fn run(&self, rival: &mut impl Rival) -> Option<u64> {
        self.sum.store(0, Ordering::Relaxed);
        rival.map_sum(&self.items, Cost::Even, |x| {
            self.sum.fetch_add(*x, Ordering::Relaxed);
            0
        });
        Some(self.sum.load(Ordering::Relaxed))
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let (everybody, mut rows) = (runner.everybody(), Vec::new());
    for (len, nanos, name) in [
        (100_000, 0, "100k items that need one lock"),
        (10_000, 100, "10k items that need one lock for 100 ns"),
        (1000, 1000, "1000 items that need one lock for 1 µs"),
    ] {
        let links = if nanos == 0 { 0 } else { links(nanos) };
        let lap = Locking { items: (0..len).collect(), links, sum: Mutex::default() };
        let race = runner.race(pool, &everybody, Pace::ONCE, &lap);
        rows.push(Row::of(&race, name, Unit::Ratio, Some(1.2)));
    }
    let lap = Counting { items: (0..200_000).collect(), sum: AtomicU64::new(0) };
    let race = runner.race(pool, &everybody, Pace::ONCE, &lap);
    rows.push(Row::of(&race, "200k items that add to one counter", Unit::Ratio, Some(1.2)));
    rows
}
