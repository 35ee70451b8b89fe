//! Conjugate gradients, which solve a sparse linear system. A round has six loops: the product of
//! the matrix and a vector, two dot products, and three updates of vectors.

use rayon::iter::{
    IndexedParallelIterator, IntoParallelRefIterator, IntoParallelRefMutIterator, ParallelIterator,
};

use crate::{
    matrix::Matrix,
    program::{By, Program},
    uniform::uniform,
};

/// After these rounds the system is solved from the start again. Many more rounds would end with a
/// residual of zero, which has no direction.
const ROUNDS_A_SOLUTION: usize = 32;

pub(crate) struct Cg {
    matrix: Matrix,
    right: Vec<f64>,
}

impl Cg {
    pub(crate) fn new(rows: usize) -> Self {
        let mut random = uniform();
        Self { matrix: Matrix::new(rows), right: (0..rows).map(|_| random()).collect() }
    }
}

pub(crate) struct Solver {
    /// The rounds of all solutions.
    rounds: usize,
    pub(crate) solution: Vec<f64>,
    pub(crate) residual: Vec<f64>,
    pub(crate) direction: Vec<f64>,
    /// The matrix times the direction.
    pub(crate) product: Vec<f64>,
    /// The square of the residual's length.
    pub(crate) square: f64,
    /// The sum of the squares after all rounds.
    squares: f64,
}

impl Solver {
    /// Starts from zero.
    fn restart(&mut self, right: &[f64]) {
        self.solution.fill(0.0);
        self.residual.copy_from_slice(right);
        self.direction.copy_from_slice(right);
        self.square = right.iter().map(|number| number * number).sum();
    }
}

/// One round by any entrant. Returns the square of the residual's length.
fn round(matrix: &Matrix, solver: &mut Solver, by: By<'_>) -> f64 {
    if let By::OpenMp(openmp, threads) = by {
        return openmp.cg(matrix, solver, threads);
    }
    let Solver { solution, residual, direction, product, square: old, .. } = solver;
    let times = |(one, other): (&f64, &f64)| one * other;
    match by {
        By::Rangesteal(pool) => {
            pool.on(&mut *product).enumerate().for_each(|(row, sum)| *sum = matrix.times(row, direction));
            let step = *old / pool.on((&*direction, &*product)).map(times).sum::<f64>();
            pool.on((&mut *solution, &*direction)).for_each(|(number, way)| *number += step * way);
            pool.on((&mut *residual, product)).for_each(|(number, change)| *number -= step * *change);
            let square: f64 = pool.on(&*residual).map(|number| number * number).sum();
            let kept = square / *old;
            pool.on((direction, &*residual)).for_each(|(way, number)| *way = number + kept * *way);
            square
        }
        By::Rayon => {
            let sums = product.par_iter_mut().enumerate();
            sums.for_each(|(row, sum)| *sum = matrix.times(row, direction));
            let step = *old / direction.par_iter().zip(&*product).map(times).sum::<f64>();
            let pairs = solution.par_iter_mut().zip(&*direction);
            pairs.for_each(|(number, way)| *number += step * way);
            let pairs = residual.par_iter_mut().zip(product);
            pairs.for_each(|(number, change)| *number -= step * *change);
            let square: f64 = residual.par_iter().map(|number| number * number).sum();
            let kept = square / *old;
            direction.par_iter_mut().zip(residual).for_each(|(way, number)| *way = *number + kept * *way);
            square
        }
        _ => {
            for (row, sum) in product.iter_mut().enumerate() {
                *sum = matrix.times(row, direction);
            }
            let step = *old / direction.iter().zip(&*product).map(times).sum::<f64>();
            for (number, way) in solution.iter_mut().zip(&*direction) {
                *number += step * way;
            }
            for (number, change) in residual.iter_mut().zip(product) {
                *number -= step * *change;
            }
            let square: f64 = residual.iter().map(|number| number * number).sum();
            let kept = square / *old;
            for (way, number) in direction.iter_mut().zip(residual) {
                *way = *number + kept * *way;
            }
            square
        }
    }
}

impl Program for Cg {
    type State = Solver;

    fn start(&self) -> Solver {
        let [solution, residual, direction, product] = [(); 4].map(|()| vec![0.0; self.right.len()]);
        Solver { rounds: 0, solution, residual, direction, product, square: 0.0, squares: 0.0 }
    }

    fn rounds(&self, solver: &mut Solver, rounds: usize, by: By<'_>) {
        for _ in 0..rounds {
            if solver.rounds.is_multiple_of(ROUNDS_A_SOLUTION) {
                solver.restart(&self.right);
            }
            solver.rounds += 1;
            solver.square = round(&self.matrix, solver, by);
            solver.squares += solver.square;
        }
    }

    fn result(&self, solver: Solver) -> Vec<f64> {
        [solver.solution, vec![solver.squares]].concat()
    }
}
