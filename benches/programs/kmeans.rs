//! k-means clustering. Each round is a fold, followed by the computation of the new centres. See
//! `examples/kmeans.rs`.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::{
    program::{By, Program},
    uniform::uniform,
};

const K: usize = 9;
/// The sums are integers, so they do not depend on the order of additions.
type Point = [i64; 2];

/// The sum of the points nearest to one centre.
#[derive(Clone, Copy, Default)]
struct Cluster {
    sum: Point,
    count: i64,
}

pub(crate) struct KMeans(Vec<Point>);

impl KMeans {
    /// Points in nine clusters.
    pub(crate) fn new(points: usize) -> Self {
        let mut random = uniform();
        let mut around = |place: usize| {
            let spread = random() + random() + random() - 1.5;
            ((place as f64 + spread) * 1e6) as i64
        };
        Self((0..points).map(|i| [around(i % 3 * 2), around(i / 3 % 3 * 2)]).collect())
    }
}

fn none() -> Vec<Cluster> {
    vec![Cluster::default(); K]
}

/// Adds a point to the cluster of its nearest centre.
#[inline(always)]
fn add(mut clusters: Vec<Cluster>, point: &Point, centres: &[Point; K]) -> Vec<Cluster> {
    let mut nearest = (0, i64::MAX);
    for (i, centre) in centres.iter().enumerate() {
        let (x, y) = (centre[0] - point[0], centre[1] - point[1]);
        let distance = x * x + y * y;
        if distance < nearest.1 {
            nearest = (i, distance);
        }
    }
    let Cluster { sum, count } = &mut clusters[nearest.0];
    *sum = [sum[0] + point[0], sum[1] + point[1]];
    *count += 1;
    clusters
}

fn merge(mut a: Vec<Cluster>, b: Vec<Cluster>) -> Vec<Cluster> {
    for (a, b) in a.iter_mut().zip(b) {
        a.sum = [a.sum[0] + b.sum[0], a.sum[1] + b.sum[1]];
        a.count += b.count;
    }
    a
}

impl Program for KMeans {
    type State = [Point; K];

    fn start(&self) -> [Point; K] {
        let apart = self.0.len() / K;
        std::array::from_fn(|i| self.0[i * apart])
    }

    fn rounds(&self, centres: &mut [Point; K], rounds: usize, by: By<'_>) {
        let points = &self.0;
        if let By::OpenMp(openmp, threads) = by {
            return openmp.kmeans(points, centres, rounds, threads);
        }
        for _ in 0..rounds {
            let old = *centres;
            // One closure in each branch, since the compiler inlines a closure that is called in
            // one place.
            let clusters = match by {
                By::Rangesteal(pool) => {
                    pool.fold_reduce(points, none, |sums, point| add(sums, point, &old), merge)
                }
                By::Rayon => {
                    points.par_iter().fold(none, |sums, point| add(sums, point, &old)).reduce(none, merge)
                }
                _ => points.iter().fold(none(), |sums, point| add(sums, point, &old)),
            };
            for (centre, Cluster { sum, count }) in centres.iter_mut().zip(clusters) {
                *centre = sum.map(|sum| sum / count.max(1));
            }
        }
    }

    fn result(&self, centres: [Point; K]) -> Vec<f64> {
        centres.iter().flatten().map(|coordinate| *coordinate as f64).collect()
    }
}
