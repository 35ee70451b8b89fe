//! Belief propagation on a grid whose points have binary labels. A round has two loops: one over
//! the rows, which computes all messages from the messages of the last round, and the sum of the
//! changes.

use std::mem;

use rayon::{
    iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator},
    slice::ParallelSliceMut,
};

use crate::{
    program::{By, Program},
    uniform::uniform,
};

/// How much likelier it is that two neighbours have equal labels.
const COUPLING: f64 = 2.0;

/// The messages of a point to its neighbours. A message is the odds of the neighbour's label.
pub(crate) type Messages = [f64; 4];

const LEFT: usize = 0;
const RIGHT: usize = 1;
const UP: usize = 2;
const DOWN: usize = 3;

pub(crate) struct Grid {
    side: usize,
    /// The odds of each label without neighbours.
    evidence: Vec<f64>,
}

pub(crate) struct Beliefs {
    old: Vec<Messages>,
    new: Vec<Messages>,
    /// The sum of the changes of the messages, over all rounds.
    changes: f64,
}

impl Grid {
    /// The left half of the points has one label, and the right half the other. The evidence of one
    /// point in five is wrong. The grid is the square whose number of points is nearest to this
    /// one.
    pub(crate) fn new(points: usize) -> Self {
        let mut random = uniform();
        let side = (points as f64).sqrt().round() as usize;
        let odds = |i| if (i % side < side / 2) == (random() < 0.8) { 4.0 } else { 0.25 };
        Self { side, evidence: (0..side * side).map(odds).collect() }
    }

    /// The next messages of the points of a row. The points of the rim know nothing: their messages
    /// are 1.
    #[inline(always)]
    fn send(&self, old: &[Messages], y: usize, row: &mut [Messages]) {
        let side = self.side;
        if y == 0 || y + 1 == side {
            return;
        }
        let old = |y: usize| &old[y * side..][..side];
        let (above, below, evidence) = (&old(y - 1)[1..], &old(y + 1)[1..], &self.evidence[y * side + 1..]);
        let inside = row[1..side - 1].iter_mut().zip(old(y).windows(3)).zip(above).zip(below).zip(evidence);
        for ((((new, here), above), below), evidence) in inside {
            let (left, right, up, down) = (here[0][RIGHT], here[2][LEFT], above[DOWN], below[UP]);
            let (across, along) = (evidence * left * right, evidence * up * down);
            // To each neighbour, all that the point knows from elsewhere.
            let odds = [along * right, along * left, across * down, across * up];
            *new = odds.map(|odds| (COUPLING * odds + 1.0) / (odds + COUPLING));
        }
    }

    /// One round by any entrant except OpenMP. Returns the sum of the changes of the messages.
    fn round(&self, Beliefs { old, new, .. }: &mut Beliefs, by: By<'_>) -> f64 {
        let old = &**old;
        let change = |(new, old): (&f64, &f64)| (new - old).abs();
        match by {
            By::Rangesteal(pool) => {
                let rows = pool.on(&mut *new).chunks(self.side).enumerate();
                rows.for_each(|(y, row)| self.send(old, y, row));
                pool.on((new.as_flattened(), old.as_flattened())).map(change).sum()
            }
            By::Rayon => {
                new.par_chunks_mut(self.side).enumerate().for_each(|(y, row)| self.send(old, y, row));
                new.as_flattened().par_iter().zip(old.as_flattened()).map(change).sum()
            }
            _ => {
                new.chunks_mut(self.side).enumerate().for_each(|(y, row)| self.send(old, y, row));
                new.as_flattened().iter().zip(old.as_flattened()).map(change).sum()
            }
        }
    }
}

impl Program for Grid {
    type State = Beliefs;

    fn start(&self) -> Beliefs {
        let old = vec![[1.0; 4]; self.evidence.len()];
        Beliefs { new: old.clone(), old, changes: 0.0 }
    }

    fn rounds(&self, beliefs: &mut Beliefs, rounds: usize, by: By<'_>) {
        if let By::OpenMp(openmp, threads) = by {
            let Beliefs { old, new, changes } = beliefs;
            *changes += openmp.bp(&self.evidence, old, new, self.side, rounds, threads);
            if rounds % 2 == 1 {
                mem::swap(old, new);
            }
            return;
        }
        for _ in 0..rounds {
            beliefs.changes += self.round(beliefs, by);
            mem::swap(&mut beliefs.old, &mut beliefs.new);
        }
    }

    fn result(&self, beliefs: Beliefs) -> Vec<f64> {
        [beliefs.old.as_flattened(), &[beliefs.changes]].concat()
    }
}
