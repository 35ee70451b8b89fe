//! Expectation maximisation of a mixture of normal distributions. Each round is a fold, followed by
//! the computation of the new mixture. See `examples/em.rs`.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    program::{By, Program},
    uniform::uniform,
};

const K: usize = 3;

#[derive(Clone, Copy)]
pub(crate) struct Normal {
    weight: f64,
    mean: f64,
    variance: f64,
}

impl Normal {
    /// The density, without the constant factor that is the same for all distributions.
    #[inline(always)]
    fn density(&self, x: f64) -> f64 {
        let distance = x - self.mean;
        self.weight / self.variance.sqrt() * (-0.5 * distance * distance / self.variance).exp()
    }
}

/// The sums that determine each distribution: the distribution's share of the numbers, of their
/// sum, and of the sum of their squares.
type Sums = Vec<[f64; 3]>;

pub(crate) struct Em(Vec<f64>);

impl Em {
    /// Numbers around -4, 0 and 3, nearly normal.
    pub(crate) fn new(points: usize) -> Self {
        let mut random = uniform();
        let means = [-4.0, 0.0, 0.0, 3.0].into_iter().cycle().take(points);
        Self(means.map(|mean| mean + (0..12).map(|_| random()).sum::<f64>() - 6.0).collect())
    }
}

fn none() -> Sums {
    vec![[0.0; 3]; K]
}

/// Divides a number among the distributions in proportion to their likelihoods.
#[inline(always)]
fn divide(mut sums: Sums, x: f64, mixture: &[Normal; K]) -> Sums {
    let densities = mixture.map(|normal| normal.density(x));
    let total: f64 = densities.iter().sum();
    for (sum, density) in sums.iter_mut().zip(densities) {
        let share = density / total;
        *sum = [sum[0] + share, sum[1] + share * x, sum[2] + share * x * x];
    }
    sums
}

fn add(mut a: Sums, b: Sums) -> Sums {
    for (a, b) in a.iter_mut().zip(b) {
        *a = std::array::from_fn(|i| a[i] + b[i]);
    }
    a
}

impl Program for Em {
    type State = [Normal; K];

    fn start(&self) -> [Normal; K] {
        [-1.0, 0.0, 1.0].map(|mean| Normal { weight: 1.0, mean, variance: 1.0 })
    }

    fn rounds(&self, mixture: &mut [Normal; K], rounds: usize, by: By<'_>) {
        let numbers = &self.0;
        if let By::OpenMp(openmp, threads) = by {
            let mut flat = mixture.map(|Normal { weight, mean, variance }| [weight, mean, variance]);
            openmp.em(numbers, &mut flat, rounds, threads);
            *mixture = flat.map(|[weight, mean, variance]| Normal { weight, mean, variance });
            return;
        }
        for _ in 0..rounds {
            let old = *mixture;
            let sums = match by {
                By::Rangesteal(pool) => {
                    pool.fold_reduce(numbers, none, |sums, x| divide(sums, *x, &old), add)
                }
                By::Rayon => {
                    numbers.par_iter().fold(none, |sums, x| divide(sums, *x, &old)).reduce(none, add)
                }
                _ => numbers.iter().fold(none(), |sums, x| divide(sums, *x, &old)),
            };
            let total: f64 = sums.iter().map(|sum| sum[0]).sum();
            for (normal, [count, sum, squares]) in mixture.iter_mut().zip(sums) {
                let mean = sum / count;
                *normal = Normal { weight: count / total, mean, variance: squares / count - mean * mean };
            }
        }
    }

    fn result(&self, mixture: [Normal; K]) -> Vec<f64> {
        mixture.iter().flat_map(|normal| [normal.weight, normal.mean, normal.variance]).collect()
    }
}
