//! The time until an awake helper begins, and the time until the caller returns after the helper's
//! last item.

use std::{
    hint::{self, black_box},
    sync::atomic::{AtomicU64, AtomicUsize, Ordering},
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use crossbeam_utils::CachePadded;
use rangesteal::Pool;

use crate::{
    idle, machine,
    race::median,
    row::{Cell, Row, Unit},
    runner::{Runner, spinning_pool},
    who::Who,
    work::{links, work},
};

const CALLS: usize = 20_000;

/// The start and end times of both items, in nanoseconds since `base`.
struct Stamps {
    base: Instant,
    begin: [AtomicU64; 2],
    end: [AtomicU64; 2],
    caller: ThreadId,
}

impl Stamps {
    fn now(&self) -> u64 {
        self.base.elapsed().as_nanos() as u64
    }

    /// The item with this number. Returns 1 if the caller runs the item.
    fn item(&self, which: usize, links: u64) -> u64 {
        self.begin[which].store(self.now(), Ordering::Relaxed);
        let here = thread::current().id() == self.caller;
        black_box(work(links));
        self.end[which].store(self.now(), Ordering::Relaxed);
        u64::from(here)
    }
}

/// Two times in nanoseconds, for every call in which each worker had an item: from the call to the
/// helper's first item, and from the end of that item to the caller's return. Both times include a
/// clock reading. The first time also includes the caller's decision before it publishes.
fn delays(pool: &Pool) -> Vec<[f64; 2]> {
    let zero = || [AtomicU64::new(0), AtomicU64::new(0)];
    let stamps = Stamps { base: Instant::now(), begin: zero(), end: zero(), caller: thread::current().id() };
    // The helper's item is the longer one.
    let (items, between) = ([(0, links(4_000)), (1, links(8_000))], links(3_000));
    let call = |_| {
        black_box(work(black_box(between)));
        let called = stamps.now();
        let here = pool.map_reduce(&items, |&(which, links)| stamps.item(which, links), |a, b| a + b);
        let returned = stamps.now();
        let [begin, end] = [&stamps.begin, &stamps.end].map(|of| of[1].load(Ordering::Relaxed));
        (here == Some(1)).then(|| [(begin - called) as f64, (returned - end) as f64])
    };
    (0..CALLS).filter_map(call).collect()
}

/// How long it takes until one of two threads sees a store of the other, in nanoseconds: the least
/// time that a launch or a return can take on this machine in this minute. Includes a clock
/// reading.
fn one_way(runner: &Runner) -> f64 {
    let (sent, seen, base) = (AtomicU64::new(0), AtomicU64::new(0), Instant::now());
    let (call, answer) = (CachePadded::new(AtomicUsize::new(0)), CachePadded::new(AtomicUsize::new(0)));
    let until = |word: &AtomicUsize, round| {
        while word.load(Ordering::Acquire) != round {
            hint::spin_loop();
        }
    };
    let now = || base.elapsed().as_nanos() as u64;
    thread::scope(|scope| {
        let there = machine::Freed::to(&machine::elsewhere(&runner.mask, 2));
        scope.spawn(|| {
            for round in 1..=CALLS {
                until(&call, round);
                seen.store(now(), Ordering::Relaxed);
                answer.store(round, Ordering::Release);
            }
        });
        drop(there);
        let delay = |round| {
            black_box(work(links(3_000))); // the other thread polls meanwhile
            sent.store(now(), Ordering::Relaxed);
            call.store(round, Ordering::Release);
            until(&answer, round);
            (seen.load(Ordering::Relaxed) - sent.load(Ordering::Relaxed)) as f64
        };
        median((1..=CALLS).map(delay))
    })
}

/// One sweep over numbers in cache, which the compiler turns into vector instructions.
fn sweep(numbers: &mut [f32]) {
    for number in black_box(numbers) {
        *number = number.mul_add(0.5, 1.0);
    }
}

/// The caller's serial vector work while the helper polls for the next loop, divided by the same
/// work while the helper sleeps. Turns with the pool and without it are interleaved.
fn beside_a_poller(runner: &Runner) -> Row {
    const TURNS: usize = 50;
    let pool = Pool::builder().num_threads(runner.threads).build().expect("a pool");
    let (items, mut numbers) = (vec![links(100); 200], vec![1.0_f32; 4096]);
    let timed = |numbers: &mut [f32], sweeps| {
        let begin = Instant::now();
        (0..sweeps).for_each(|_| sweep(numbers));
        begin.elapsed().as_nanos() as f64
    };
    let least = (0..1000).map(|_| timed(&mut numbers, 1)).fold(f64::INFINITY, f64::min);
    let sweeps = (20_000.0 / least).ceil() as usize;
    let mut times = [Vec::new(), Vec::new()];
    for turn in 0..2 * TURNS {
        let pool = (turn % 2 == 1).then_some(&pool);
        thread::sleep(Duration::from_millis(1)); // the helper falls asleep
        for call in 0..100 {
            black_box(match pool {
                Some(pool) => pool.map_reduce(&items, |&links| work(links), |a, b| a ^ b),
                None => items.iter().map(|&links| work(links)).reduce(|a, b| a ^ b),
            });
            let time = timed(&mut numbers, sweeps);
            if call >= 20 {
                times[turn % 2].push(time);
            }
        }
    }
    let least = times.each_ref().map(|times| times.iter().copied().fold(f64::INFINITY, f64::min));
    let [alone, beside] = times.map(|times| median(times.into_iter()));
    let cell = Cell { least: Some(least[1] / least[0]), ..Cell::of(beside / alone) };
    Row {
        name: "20 µs of serial vector work between loops, while the helper polls".into(),
        reference: format!("{:.1} µs", alone / 1e3),
        unit: Unit::Ratio,
        bar: Some(1.02),
        cells: vec![(Who::Rangesteal, cell)],
    }
}

pub(crate) fn rows(runner: &Runner) -> Vec<Row> {
    let there = machine::Freed::to(&machine::elsewhere(&runner.mask, 2));
    let pool = spinning_pool(2);
    drop(there);
    let (delays, one_way) = (delays(&pool), one_way(runner));
    let shared = 100 * delays.len() / CALLS;
    let mut rows: Vec<Row> =
        [("from the call to the helper's first item", 600.0), ("from its last item to the return", 400.0)]
            .into_iter()
            .enumerate()
            .map(|(which, (name, bar))| {
                let figure = || delays.iter().map(|delays| delays[which]);
                let least = figure().fold(f64::INFINITY, f64::min);
                let cell = Cell { least: Some(least), ..Cell::of(median(figure())) };
                Row {
                    name: format!("a helper that is awake: {name} ({shared} % of {CALLS} calls)"),
                    reference: format!("{one_way:.0} ns one way"),
                    unit: Unit::Nanos,
                    bar: Some(bar),
                    cells: vec![(Who::Rangesteal, cell)],
                }
            })
            .collect();
    rows.push(idle::awake(runner));
    rows.push(beside_a_poller(runner));
    rows
}
