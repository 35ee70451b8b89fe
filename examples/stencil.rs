//! The heat equation on a plate: the rows of a matrix in parallel, from one buffer into the other,
//! with a progress bar.
//!
//! ```text
//! cargo run --release --example stencil [side]
//! ```
//!
//! The parallel loop is in `step_by_rangesteal`. `chunks` of an exclusive slice are the rows to
//! write, and `enumerate` numbers them. The loop only reads the old plate, so every worker may read
//! the neighbours of its row. On a terminal, a thread draws the bar. This thread polls the number
//! of finished rows, so the workers do not have to count.

mod side_by_side;

use std::{
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::Duration,
};

use indicatif::ProgressBar;
use rangesteal::{BuildError, Pool, Progress};
use rayon::prelude::*;

const STEPS: usize = 100;

/// A square plate with this many rows.
struct Plate {
    side: usize,
    heat: Vec<f64>,
}

impl Plate {
    /// A cold plate with some hot spots.
    fn new(side: usize) -> Self {
        let mut random = side_by_side::random(1);
        let heat = (0..side * side).map(|_| if random() < 0.01 { 1000.0 } else { 0.0 }).collect();
        Self { side, heat }
    }

    /// Computes the next state of a row. The rim keeps its temperature.
    fn flow(&self, y: usize, row: &mut [f64]) {
        let old = |y: usize| &self.heat[y * self.side..][..self.side];
        row.copy_from_slice(old(y));
        if y == 0 || y + 1 == self.side {
            return;
        }
        let (above, here, below) = (old(y - 1), old(y), old(y + 1));
        for x in 1..self.side - 1 {
            row[x] += 0.2 * (above[x] + below[x] + here[x - 1] + here[x + 1] - 4.0 * here[x]);
        }
    }

    /// The plate after this many steps, each of which writes the whole plate.
    fn after(mut self, steps: usize, step: impl Fn(&Self, &mut [f64])) -> Vec<f64> {
        let mut next = self.heat.clone();
        for _ in 0..steps {
            step(&self, &mut next);
            std::mem::swap(&mut self.heat, &mut next);
        }
        self.heat
    }
}

fn step_plain(plate: &Plate, next: &mut [f64]) {
    next.chunks_mut(plate.side).enumerate().for_each(|(y, row)| plate.flow(y, row));
}

fn step_by_rayon(plate: &Plate, next: &mut [f64]) {
    next.par_chunks_mut(plate.side).enumerate().for_each(|(y, row)| plate.flow(y, row));
}

fn step_by_rangesteal(pool: &Pool, progress: &Progress, plate: &Plate, next: &mut [f64]) {
    let rows = pool.on(next).chunks(plate.side).enumerate();
    rows.progress(progress).for_each(|(y, row)| plate.flow(y, row));
}

/// Draws how many of `rows` are finished while `work` runs.
fn with_bar<R>(rows: usize, progress: &Progress, work: impl FnOnce() -> R) -> R {
    let (over, is_over) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let bar = ProgressBar::new(rows as u64); // hidden without a terminal
            // Ends when `over` is dropped, also by a panic in `work`.
            while is_over.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(progress.done() as u64);
            }
            bar.finish_and_clear();
        });
        let _over = over;
        work()
    })
}

fn by_rangesteal(pool: &Pool, side: usize, steps: usize) -> Vec<f64> {
    let progress = Progress::new();
    let step = |plate: &Plate, next: &mut [f64]| step_by_rangesteal(pool, &progress, plate, next);
    with_bar(side * steps, &progress, || Plate::new(side).after(steps, step))
}

fn main() -> Result<(), BuildError> {
    let side = side_by_side::size_or(1000);
    let pool = Pool::new()?;
    side_by_side::compare(
        [
            ("plain", &|| Plate::new(side).after(STEPS, step_plain)),
            ("rayon", &|| Plate::new(side).after(STEPS, step_by_rayon)),
            ("rangesteal", &|| by_rangesteal(&pool, side, STEPS)),
        ],
        |heat| format!("centre {:.15}", heat[side / 2 * (side + 1)]),
        |a, b| a == b,
    );
    Ok(())
}

#[test]
fn all_versions_find_the_same_heat() -> Result<(), BuildError> {
    let plain = Plate::new(50).after(20, step_plain);
    assert_eq!(Plate::new(50).after(20, step_by_rayon), plain);
    for threads in 1..4 {
        let pool = Pool::builder().num_threads(threads).build()?;
        assert_eq!(by_rangesteal(&pool, 50, 20), plain);
    }
    Ok(())
}
