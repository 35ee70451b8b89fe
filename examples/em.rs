//! Expectation maximisation of a mixture of normal distributions: floating-point sums that do not
//! depend on the number of threads.
//!
//! ```text
//! cargo run --release --example em [numbers]
//! ```
//!
//! The parallel loop is `fold` in `step_by_rangesteal`. `with_block` gives each block of numbers a
//! scratch vector, so that no item allocates. `with_block` also makes the sums the same, bit for
//! bit, for every number of threads and in every run. The plain loop adds in another order, so its
//! sums differ in the last digits. So the example compares only nine digits of the versions.

mod side_by_side;

use rangesteal::{BuildError, Pool};
use rayon::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Normal {
    weight: f64,
    mean: f64,
    variance: f64,
}

impl Normal {
    /// The density, without a factor that all distributions have in common.
    fn density(&self, x: f64) -> f64 {
        let distance = x - self.mean;
        self.weight / self.variance.sqrt() * (-0.5 * distance * distance / self.variance).exp()
    }
}

/// For each distribution, three sums: its share of the numbers, of their sum, and of the sum of
/// their squares.
type Sums = Vec<[f64; 3]>;

/// Divides a number among the distributions in proportion to their likelihoods. `densities` is
/// scratch.
fn divide(x: f64, mixture: &[Normal], densities: &mut Vec<f64>, mut sums: Sums) -> Sums {
    densities.clear();
    densities.extend(mixture.iter().map(|normal| normal.density(x)));
    let total: f64 = densities.iter().sum();
    for (sum, density) in sums.iter_mut().zip(densities) {
        let share = *density / total;
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

fn step_plain(numbers: &[f64], mixture: &[Normal]) -> Sums {
    let mut densities = Vec::new();
    let none = vec![[0.0; 3]; mixture.len()];
    numbers.iter().fold(none, |sums, x| divide(*x, mixture, &mut densities, sums))
}

fn step_by_rayon(numbers: &[f64], mixture: &[Normal]) -> Sums {
    let none = || vec![[0.0; 3]; mixture.len()];
    // The scratch vector is part of the accumulator, since rayon's fold has no other state. The
    // order of additions varies from run to run.
    let fold = |(mut densities, sums), x: &f64| {
        let sums = divide(*x, mixture, &mut densities, sums);
        (densities, sums)
    };
    numbers.par_iter().fold(|| (Vec::new(), none()), fold).map(|(_, sums)| sums).reduce(none, add)
}

fn step_by_rangesteal(pool: &Pool, numbers: &[f64], mixture: &[Normal]) -> Sums {
    pool.on(numbers).with_block(|_block| Vec::new()).fold(
        || vec![[0.0; 3]; mixture.len()],
        |sums, (densities, x)| divide(*x, mixture, densities, sums),
        add,
    )
}

/// Takes twenty steps. The three distributions lie side by side at first.
fn fit(numbers: &[f64], step: impl Fn(&[f64], &[Normal]) -> Sums) -> Vec<Normal> {
    let mut mixture: Vec<_> =
        [-1.0, 0.0, 1.0].map(|mean| Normal { weight: 1.0, mean, variance: 1.0 }).to_vec();
    for _ in 0..20 {
        let sums = step(numbers, &mixture);
        let total: f64 = sums.iter().map(|sum| sum[0]).sum();
        for (normal, [count, sum, squares]) in mixture.iter_mut().zip(sums) {
            let mean = sum / count;
            *normal = Normal { weight: count / total, mean, variance: squares / count - mean * mean };
        }
    }
    mixture
}

/// Numbers around -4, 0 and 3, nearly normal.
fn numbers(n: usize) -> Vec<f64> {
    let mut random = side_by_side::random(1);
    let means = [-4.0, 0.0, 0.0, 3.0].into_iter().cycle();
    means.take(n).map(|mean| mean + (0..12).map(|_| random()).sum::<f64>() - 6.0).collect()
}

fn same(a: &[Normal], b: &[Normal]) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(1.0);
    let all = |a: &Normal, b: &Normal| {
        near(a.weight, b.weight) && near(a.mean, b.mean) && near(a.variance, b.variance)
    };
    a.iter().zip(b).all(|(a, b)| all(a, b))
}

fn main() -> Result<(), BuildError> {
    let numbers = numbers(side_by_side::size_or(300_000));
    let pool = Pool::new()?;
    side_by_side::compare(
        [
            ("plain", &|| fit(&numbers, step_plain)),
            ("rayon", &|| fit(&numbers, step_by_rayon)),
            ("rangesteal", &|| fit(&numbers, |numbers, mixture| step_by_rangesteal(&pool, numbers, mixture))),
        ],
        |mixture| {
            let means = mixture.iter().map(|normal| format!("{:.9}", normal.mean));
            format!("means {}", means.collect::<Vec<_>>().join(" "))
        },
        |a, b| same(a, b),
    );
    Ok(())
}

#[test]
fn all_versions_find_the_same_mixture() -> Result<(), BuildError> {
    let numbers = numbers(5000);
    let plain = fit(&numbers, step_plain);
    assert!(same(&plain, &fit(&numbers, step_by_rayon)));
    let fit_by = |threads| {
        let pool = Pool::builder().num_threads(threads).build()?;
        Ok::<_, BuildError>(fit(&numbers, |numbers, mixture| step_by_rangesteal(&pool, numbers, mixture)))
    };
    let alone = fit_by(1)?;
    assert!(same(&plain, &alone));
    assert_eq!([fit_by(2)?, fit_by(3)?], [alone.clone(), alone], "bit for bit");
    Ok(())
}
