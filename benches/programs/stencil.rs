//! The heat equation on a square plate. Each round is one loop over the rows, from one buffer into
//! the other. See `examples/stencil.rs`.

use std::mem;

use rayon::{
    iter::{IndexedParallelIterator, ParallelIterator},
    slice::ParallelSliceMut,
};

use crate::{
    program::{By, Program},
    uniform::uniform,
};

pub(crate) struct Plate {
    side: usize,
}

pub(crate) struct Heat {
    old: Vec<f64>,
    new: Vec<f64>,
}

impl Plate {
    /// The square whose number of points is nearest to this one.
    pub(crate) fn new(points: usize) -> Self {
        Self { side: (points as f64).sqrt().round() as usize }
    }

    /// The next state of a row. The rim keeps its temperature.
    #[inline(always)]
    fn flow(&self, old: &[f64], y: usize, row: &mut [f64]) {
        let side = self.side;
        let old = |y: usize| &old[y * side..][..side];
        let here = old(y);
        if y == 0 || y + 1 == side {
            row.copy_from_slice(here);
            return;
        }
        let (above, below) = (&old(y - 1)[1..], &old(y + 1)[1..]);
        (row[0], row[side - 1]) = (here[0], here[side - 1]);
        let inside = row[1..side - 1].iter_mut().zip(above).zip(below).zip(here.windows(3));
        for (((new, above), below), here) in inside {
            *new = here[1] + 0.2 * (above + below + here[0] + here[2] - 4.0 * here[1]);
        }
    }
}

impl Program for Plate {
    type State = Heat;

    /// A cold plate with one warm edge and some hot spots.
    fn start(&self) -> Heat {
        let mut random = uniform();
        let mut heat = |i| if i < self.side || random() < 0.01 { 1000.0 } else { 0.0 };
        let old: Vec<f64> = (0..self.side * self.side).map(&mut heat).collect();
        Heat { new: old.clone(), old }
    }

    fn rounds(&self, heat: &mut Heat, rounds: usize, by: By<'_>) {
        if let By::OpenMp(openmp, threads) = by {
            openmp.stencil(&mut heat.old, &mut heat.new, self.side, rounds, threads);
            if rounds % 2 == 1 {
                mem::swap(&mut heat.old, &mut heat.new);
            }
            return;
        }
        for _ in 0..rounds {
            let Heat { old, new } = heat;
            match by {
                By::Rangesteal(pool) => {
                    let rows = pool.on(&mut *new).chunks(self.side).enumerate();
                    rows.for_each(|(y, row)| self.flow(old, y, row));
                }
                By::Rayon => {
                    new.par_chunks_mut(self.side).enumerate().for_each(|(y, row)| self.flow(old, y, row));
                }
                _ => new.chunks_mut(self.side).enumerate().for_each(|(y, row)| self.flow(old, y, row)),
            }
            mem::swap(old, new);
        }
    }

    fn result(&self, heat: Heat) -> Vec<f64> {
        heat.old
    }
}
