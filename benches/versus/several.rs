//! Simultaneous loops on one pool: from several threads, nested, and beside a loop that waits.

use std::{
    future::poll_fn,
    hint::black_box,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Poll, Waker},
    thread,
    time::{Duration, Instant},
};

use rangesteal::Pool;

use crate::{
    asleep, beside,
    loops::Items,
    machine::{self, Freed},
    race::{Race, Turn},
    rival::{Cost, Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    scene::{Executors, Scene, nanos_since, taking},
    who::Who,
    work::{links, work},
};

const MICRO: u64 = 1000;

/// An outer loop of two items, one of which has an inner loop.
struct Lopsided {
    inner: Vec<u64>,
    light: u64,
}

impl Scene for Lopsided {
    type Output = Turn;

    fn play(&self, mut rival: impl Rival + Copy + Send + Sync) -> Turn {
        const CALLS: u32 = 3;
        let inner = rival;
        let mut call = || {
            black_box(rival.map_sum(&[true, false], Cost::Uneven, |is_heavy| {
                let mut inner = inner;
                if *is_heavy {
                    inner.map_sum(&self.inner, Cost::Even, |links| work(*links))
                } else {
                    work(self.light)
                }
            }))
        };
        call();
        let begin = Instant::now();
        for _ in 0..CALLS {
            call();
        }
        taking(nanos_since(begin) / f64::from(CALLS))
    }
}

/// Threads that call loops without a pause.
struct Callers {
    threads: usize,
    items: Items,
}

impl Scene for Callers {
    type Output = Turn;

    fn play(&self, rival: impl Rival + Copy + Send + Sync) -> Turn {
        beside::together(self.threads, &self.items, || rival)
    }
}

/// A long loop of one thread. Until this loop ends, another thread calls short loops.
struct Stream {
    long: Items,
    short: Items,
}

impl Scene for Stream {
    /// The turns of the long loop and of a short one.
    type Output = [Turn; 2];

    fn play(&self, mut rival: impl Rival + Copy + Send + Sync) -> [Turn; 2] {
        let (is_over, mut other) = (&AtomicBool::new(false), rival);
        thread::scope(|scope| {
            let stream = scope.spawn(move || {
                let (begin, mut calls) = (Instant::now(), 0_u32);
                while !is_over.load(Ordering::Relaxed) {
                    black_box(self.short.run(&mut other));
                    calls += 1;
                }
                nanos_since(begin) / f64::from(calls)
            });
            let begin = Instant::now();
            black_box(self.long.run(&mut rival));
            let long = nanos_since(begin);
            is_over.store(true, Ordering::Relaxed);
            [long, stream.join().expect("loops")].map(taking)
        })
    }
}

impl Stream {
    fn races(&self, executors: &Executors, entrants: &[Who], rounds: usize) -> [Race; 2] {
        let mut short = Race::interleaved(entrants, 0, |_, _| None);
        let long = Race::interleaved(entrants, rounds, |_, who| {
            let [long, one] = executors.by(who, self);
            machine::settle();
            let (_, turns) = short.entrants.iter_mut().find(|(entrant, _)| *entrant == who)?;
            turns.push(one);
            Some(long)
        });
        [long, short]
    }
}

/// Items wait here until the gate opens.
#[derive(Default)]
struct Gate(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    is_open: bool,
    wakers: Vec<Waker>,
}

impl Gate {
    async fn pass(&self) {
        poll_fn(|context| {
            let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if queue.is_open {
                return Poll::Ready(());
            }
            queue.wakers.push(context.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn waiting(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).wakers.len()
    }

    fn open(&self) {
        let mut queue = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queue.is_open = true;
        let wakers = std::mem::take(&mut queue.wakers);
        drop(queue);
        wakers.into_iter().for_each(Waker::wake);
    }
}

/// Loops on a pool, alone or beside a loop whose items wait until the end.
fn beside_a_gate(pool: &Pool, items: &Items, is_beside: bool) -> Turn {
    const CALLS: u32 = 8;
    const WAITING: usize = 100;
    let gate = &Gate::default();
    let mut rival = pool;
    thread::scope(|scope| {
        if is_beside {
            let wait = || pool.on(0..WAITING).waiting(WAITING).for_each(async |_| gate.pass().await);
            scope.spawn(wait);
            while gate.waiting() < WAITING {
                thread::sleep(Duration::from_millis(1));
            }
        }
        machine::settle(); // no helper polls any more
        black_box(items.run(&mut rival));
        let begin = Instant::now();
        for _ in 0..CALLS {
            black_box(items.run(&mut rival));
        }
        let nanos = nanos_since(begin) / f64::from(CALLS);
        gate.open();
        taking(nanos)
    })
}

fn on_two_workers(runner: &Runner) -> Vec<Row> {
    let (executors, few, rounds) = (Executors::new(2), &runner.few()[..], runner.rounds);
    let row = |race: &Race, name: &str, bar| Row::of(race, name, Unit::Ratio, Some(bar)).without_cost();

    let lopsided = Lopsided { inner: vec![links(100 * MICRO); 100], light: links(20 * MICRO) };
    let nested = executors.race(few, rounds.div_ceil(3), &lopsided);
    let mut rows = vec![row(&nested, "outer loop of 2: an inner loop of 10 ms, and 20 µs", 0.58)];
    for (threads, rounds, bar) in [(2, rounds.div_ceil(2), 0.96), (8, rounds.div_ceil(4), 1.04)] {
        let race = executors.race(few, rounds, &Callers { threads, items: Items::even(1000, MICRO) });
        rows.push(row(&race, &format!("{threads} callers, loops of 1 ms: to {threads} plain threads"), bar));
    }
    let stream = Stream { long: Items::even(2000, 100 * MICRO), short: Items::short(20 * MICRO) };
    let [long, short] = stream.races(&executors, few, rounds.div_ceil(6));
    let beside = "to plain on one CPU each";
    rows.push(row(&long, &format!("loop of 200 ms beside loops of 20 µs: {beside}"), 1.15));
    rows.push(row(&short, &format!("loops of 20 µs beside a loop of 200 ms: {beside}"), 1.15));
    let items = Items::even(50, 100 * MICRO);
    let waiting = Race::interleaved(&[Who::On, Who::Rangesteal], rounds.div_ceil(3), |_, who| {
        Some(match who {
            Who::On => beside_a_gate(&executors.control, &items, false),
            _ => beside_a_gate(&executors.pool, &items, true),
        })
    });
    rows.push(row(&waiting, "map_reduce of 5 ms beside a loop that waits: to without it", 1.05));
    rows
}

pub(crate) fn rows(_: &Pool, runner: &mut Runner) -> Vec<Row> {
    let _freed = Freed::to(&runner.mask); // other threads would inherit the CPU of this one
    let mut rows = asleep::rows(runner);
    rows.extend(on_two_workers(runner));
    rows
}
