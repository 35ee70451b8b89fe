//! A loop that is faster shared, in a program that is faster with this loop alone.

mod busy;

use std::thread;

use busy::{Others, work};
use rangesteal::{Alone, Pool, RunReport};

/// A program of rounds. A round has a loop of 40 items, and serial code that takes 100 µs,
/// and 200 µs for each 10 items that another thread has run: it stands for data that has to come
/// back. The loop takes 200 µs alone, so it is worth sharing by itself even if the helper sleeps,
/// or if another program uses its CPU. Returns how many of the last `counted` rounds ran their loop
/// alone for the sake of the program.
fn alone_of(rounds: usize, counted: usize) -> usize {
    let pool = Pool::builder().num_threads(2).build().unwrap();
    let mut ran_by = vec![thread::current().id(); 40];
    let (me, mut alone) = (thread::current().id(), 0);
    for round in 0..rounds {
        let mut report = RunReport::default();
        pool.on(&mut ran_by).report(&mut report).for_each(|by| {
            work(5_000);
            *by = thread::current().id();
        });
        let elsewhere = ran_by.iter().filter(|by| **by != me).count();
        work(100_000 + 200_000 * u64::try_from(elsewhere / 10).unwrap());
        if round + counted >= rounds {
            alone += usize::from(report.alone == Some(Alone::Round));
        }
    }
    alone
}

/// In some attempts, since other programs may take the CPUs of the pool.
#[test]
#[cfg_attr(miri, ignore = "measures time")]
fn a_loop_that_makes_its_program_slower_runs_alone() {
    if thread::available_parallelism().is_ok_and(|cpus| cpus.get() < 2) {
        eprintln!("skipped: a pool of two workers needs two CPUs");
        return;
    }
    let others = Others::watch();
    let is_alone = (0..10).any(|_| alone_of(400, 100) >= 50);
    assert!(is_alone || others.have_a_cpu(), "the loop is shared although its program is slower so");
}
