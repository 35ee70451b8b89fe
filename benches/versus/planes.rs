//! Sweeps of a solver over a cube: several loops over the same arrays, one after the other. An item
//! is a plane.

use std::time::Instant;

use rangesteal::Pool;
use rayon::prelude::*;

use crate::{
    machine,
    race::{Race, Turn},
    row::{Row, Unit},
    runner::Runner,
    who::Who,
};

/// The number of cells along each edge of the cube.
const EDGE: usize = 24;
const PLANE: usize = EDGE * EDGE;
/// The number of consecutive steps of one executor.
const BLOCK: usize = 20;

/// A way to run a loop over planes. `planes` are the planes of the written array with their
/// numbers. Each call site in the program text is a loop of its own.
#[derive(Clone, Copy)]
enum Way<'a> {
    Plain,
    Ours(&'a Pool),
    Rayon(&'a rayon::ThreadPool),
    /// Two threads of rayon, each with one half.
    Halves(&'a rayon::ThreadPool),
}

impl Way<'_> {
    #[track_caller] // so that a report has a line for each loop
    fn run(self, array: &mut [f64], plane: usize, f: impl Fn(usize, &mut [f64]) + Sync) {
        match self {
            Self::Plain => array.chunks_mut(plane).enumerate().for_each(|(z, plane)| f(z, plane)),
            Self::Ours(pool) => pool.on(array).chunks(plane).enumerate().for_each(|(z, plane)| f(z, plane)),
            Self::Rayon(pool) => pool.install(|| {
                array.par_chunks_mut(plane).enumerate().for_each(|(z, plane)| f(z, plane));
            }),
            Self::Halves(pool) => {
                let planes = array.len() / plane;
                let (front, back) = array.split_at_mut(planes / 2 * plane);
                let half = |first: usize, half: &mut [f64]| {
                    half.chunks_mut(plane).zip(first..).for_each(|(plane, z)| f(z, plane));
                };
                pool.join(|| half(0, front), || half(planes / 2, back));
            }
        }
    }
}

/// The numbers of each cell: five unknowns, five of the right side, and so on.
struct Cube {
    unknowns: Vec<f64>,
    right: Vec<f64>,
    forcing: Vec<f64>,
    speeds: Vec<f64>,
    blocks: Vec<f64>,
}

/// The loops of a step.
const LOOPS: [&str; 6] = ["speeds", "along z", "within planes", "blocks", "solve", "add"];

impl Cube {
    fn new() -> Self {
        let array =
            |numbers: usize| (0..numbers * EDGE * PLANE).map(|i| 1.0 + (i % 101) as f64 / 97.0).collect();
        Self { unknowns: array(5), right: array(5), forcing: array(5), speeds: array(1), blocks: array(15) }
    }

    /// Runs a step, and returns the time of each of its loops in nanoseconds.
    fn step(&mut self, way: Way<'_>) -> [f64; LOOPS.len()] {
        let Self { unknowns, right, forcing, speeds, blocks } = self;
        let mut took = [0.0; LOOPS.len()];
        let mut times = took.iter_mut();
        let mut time = |run: &mut dyn FnMut()| {
            let begin = Instant::now();
            run();
            *times.next().expect("a loop") = begin.elapsed().as_secs_f64() * 1e9;
        };
        let at = |z: usize| z * PLANE * 5..(z + 1) * PLANE * 5;
        time(&mut || way.run(speeds, PLANE, |z, plane| set_speeds(plane, &unknowns[at(z)])));
        time(&mut || {
            way.run(right, 5 * PLANE, |z, plane| {
                let beside = [z.max(1) - 1, z, (z + 1).min(EDGE - 1)].map(|z| &unknowns[at(z)]);
                differ_along_z(plane, &forcing[at(z)], beside);
            });
        });
        time(&mut || way.run(right, 5 * PLANE, |z, plane| differ_within(plane, &unknowns[at(z)])));
        time(&mut || {
            let speeds = |z| &speeds[z * PLANE..][..PLANE];
            way.run(blocks, 15 * PLANE, |z, plane| set_blocks(plane, &unknowns[at(z)], speeds(z)));
        });
        time(&mut || {
            let blocks = |z| &blocks[3 * at(z).start..3 * at(z).end];
            way.run(right, 5 * PLANE, |z, plane| solve(plane, blocks(z)));
        });
        time(&mut || way.run(unknowns, 5 * PLANE, |z, plane| add(plane, &right[at(z)])));
        took
    }
}

// One function per loop does the work of a plane, so that all entrants run the same code.

#[inline(never)]
fn set_speeds(plane: &mut [f64], unknowns: &[f64]) {
    for (speed, u) in plane.iter_mut().zip(unknowns.chunks_exact(5)) {
        let inverse = 1.0 / u[0];
        let square = 0.5 * inverse * (u[1] * u[1] + u[2] * u[2] + u[3] * u[3]);
        *speed = (inverse * (u[4] - 0.1 * square)).abs().sqrt();
    }
}

#[inline(never)]
fn differ_along_z(plane: &mut [f64], forcing: &[f64], [below, here, above]: [&[f64]; 3]) {
    let sides = below.iter().zip(above).zip(here).zip(forcing);
    plane
        .iter_mut()
        .zip(sides)
        .for_each(|(r, (((a, b), u), f))| *r = f + 0.1 * (a - 2.0 * u + b) / (1.0 + u * u));
}

#[inline(never)]
fn differ_within(plane: &mut [f64], unknowns: &[f64]) {
    let apart = 5 * EDGE;
    for i in apart..plane.len() - apart {
        let along_x = unknowns[i - 5] - 2.0 * unknowns[i] + unknowns[i + 5];
        let along_y = unknowns[i - apart] - 2.0 * unknowns[i] + unknowns[i + apart];
        plane[i] += 0.1 * (along_x + along_y) / (1.0 + unknowns[i].abs());
    }
}

#[inline(never)]
fn set_blocks(plane: &mut [f64], unknowns: &[f64], speeds: &[f64]) {
    let cells = plane.chunks_exact_mut(15).zip(unknowns.chunks_exact(5)).zip(speeds);
    for ((block, u), speed) in cells {
        for (i, b) in block.iter_mut().enumerate() {
            *b = speed * u[i % 5] + u[i / 3] * 0.01;
        }
    }
}

#[inline(never)]
fn solve(plane: &mut [f64], blocks: &[f64]) {
    for _ in 0..4 {
        for i in 5..plane.len() {
            plane[i] = 0.5 * plane[i] + 0.25 * plane[i - 5] / (1.0 + blocks[3 * i] * blocks[3 * i]);
        }
    }
}

#[inline(never)]
fn add(plane: &mut [f64], right: &[f64]) {
    plane.iter_mut().zip(right).for_each(|(u, r)| *u = 0.99 * *u + 0.001 * r / (1.0 + r * r));
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let rounds = if runner.rounds < 10 { 20 } else { 200 };
    let way = |who| match who {
        Who::Plain => Way::Plain,
        Who::Rangesteal => Way::Ours(pool),
        Who::Control => Way::Ours(runner.control()),
        Who::Rayon => Way::Rayon(runner.rayon()),
        _ => Way::Halves(runner.rayon()),
    };
    let mut who = runner.few();
    who.push(Who::Halves);
    let mut all: Vec<(Who, Cube, Vec<[f64; LOOPS.len()]>)> =
        who.into_iter().map(|who| (who, Cube::new(), Vec::new())).collect();
    for _ in 0..rounds / BLOCK {
        for (who, cube, took) in &mut all {
            let is_rayons = matches!(who, Who::Rayon | Who::Halves);
            let _freed = is_rayons.then(|| machine::Freed::to(&runner.mask));
            let steps: Vec<_> = (0..BLOCK).map(|_| cube.step(way(*who))).collect();
            took.extend_from_slice(&steps[BLOCK / 5..]); // in the first steps, the caches hold the arrays of other entrants
            machine::settle();
        }
    }
    let race = |of: &dyn Fn(&[f64; LOOPS.len()]) -> f64| {
        let turns = |steps: &Vec<[f64; LOOPS.len()]>| {
            steps
                .iter()
                .skip(rounds / 10)
                .map(|step| Turn { nanos: of(step), cpu: 0.0, switches: 0.0 })
                .collect()
        };
        Race { entrants: all.iter().map(|(who, _, steps)| (*who, turns(steps))).collect() }
    };
    let mut rows = Vec::new();
    for (i, name) in LOOPS.into_iter().enumerate() {
        let race = race(&|step| step[i]);
        let halves = race.ratio(Who::Halves).0;
        let name = format!("a step of 6 loops over planes: {name} (halves: {halves:.3})");
        rows.push(Row::of(&race, name, Unit::Ratio, Some(1.05 * halves.min(1.0))).without_cost());
    }
    let whole = race(&|step| step.iter().sum());
    let rayon = if whole.turns(Who::Rayon).is_empty() { Who::Halves } else { Who::Rayon };
    let (bar, name) = (1.03 * whole.ratio(rayon).0, "a step of 6 loops over planes");
    rows.push(Row::of(&whole, name, Unit::Ratio, Some(bar)).without_cost());
    rows
}
