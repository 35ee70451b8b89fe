//! Short loops from two threads on one pool.

use std::{hint::black_box, sync::Barrier, thread, time::Instant};

use rangesteal::Pool;

use crate::{
    loops::Sum,
    machine::{self, Freed},
    plain::Plain,
    race::{Race, Turn},
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    who::Who,
};

const CALLS: u32 = 20_000;

/// Each of two threads, on a CPU of its own, sums its own numbers repeatedly.
fn turn(cpus: [usize; 2], rival: impl Rival + Copy + Send) -> Turn {
    let begin = Barrier::new(2);
    let nanos = |cpu| {
        let (begin, mut rival) = (&begin, rival);
        move || {
            machine::pin(cpu);
            let numbers: Vec<u64> = (0..32).collect();
            let lap = Sum(&numbers);
            for _ in 0..CALLS / 10 {
                black_box(lap.run(&mut rival));
            }
            begin.wait();
            let begin = Instant::now();
            for _ in 0..CALLS {
                black_box(lap.run(&mut rival));
            }
            begin.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
        }
    };
    let both = thread::scope(|scope| {
        cpus.map(|cpu| scope.spawn(nanos(cpu))).map(|thread| thread.join().expect("a sum"))
    });
    Turn { nanos: f64::midpoint(both[0], both[1]), cpu: f64::NAN, switches: f64::NAN }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let all = machine::cpus(&runner.mask);
    let cpus = [all[0], all[all.len() - 1]];
    let _freed = Freed::to(&runner.mask); // the threads would inherit the CPU of this one
    let race = Race::interleaved(&runner.few(), runner.rounds, |_, who| {
        let turn = match who {
            Who::Rangesteal => turn(cpus, pool),
            Who::Control => turn(cpus, runner.control()),
            Who::Rayon => turn(cpus, runner.rayon()),
            _ => turn(cpus, Plain),
        };
        machine::settle();
        Some(turn)
    });
    let name = "32 items, from two threads on one pool: more than plain";
    vec![Row::of(&race, name, Unit::Nanos, Some(60.0)).without_cost()]
}
