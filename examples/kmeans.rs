//! k-means clustering: a fold whose accumulator is a small table.
//!
//! ```text
//! cargo run --release --example kmeans [points]
//! ```
//!
//! The parallel loop is `fold_reduce` in `sums_by_rangesteal`. Every worker adds its points to a
//! table of its own, with one row per cluster. The tables are added up at the end. There is no
//! lock, no atomic, and no buffer of the size of the input. Coordinates are integers, so sums do
//! not depend on the order of additions, and all versions find the same centres.

mod side_by_side;

use rangesteal::{BuildError, Pool, RunReport};
use rayon::prelude::*;

type Point = [i64; 2];

/// The sum of the points nearest to one centre.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Cluster {
    sum: Point,
    count: i64,
}

/// Adds a point to the cluster of its nearest centre.
fn add(mut clusters: Vec<Cluster>, point: &Point, centres: &[Point]) -> Vec<Cluster> {
    let distance = |centre: &Point| (centre[0] - point[0]).pow(2) + (centre[1] - point[1]).pow(2);
    let mut nearest = (0, i64::MAX);
    for (i, centre) in centres.iter().enumerate() {
        let distance = distance(centre);
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

fn sums_plain(points: &[Point], centres: &[Point]) -> Vec<Cluster> {
    let none = vec![Cluster::default(); centres.len()];
    points.iter().fold(none, |clusters, point| add(clusters, point, centres))
}

fn sums_by_rayon(points: &[Point], centres: &[Point]) -> Vec<Cluster> {
    let none = || vec![Cluster::default(); centres.len()];
    points.par_iter().fold(none, |clusters, point| add(clusters, point, centres)).reduce(none, merge)
}

fn sums_by_rangesteal(pool: &Pool, points: &[Point], centres: &[Point]) -> Vec<Cluster> {
    let none = || vec![Cluster::default(); centres.len()];
    pool.fold_reduce(points, none, |clusters, point| add(clusters, point, centres), merge)
}

/// Moves each centre to the middle of its points, until no centre moves, at most 100 times.
fn kmeans(points: &[Point], k: usize, sums: impl Fn(&[Point], &[Point]) -> Vec<Cluster>) -> Vec<Point> {
    let mut centres: Vec<_> = points.iter().copied().step_by(points.len() / k).take(k).collect();
    for _ in 0..100 {
        let middle = |cluster: &Cluster| cluster.sum.map(|sum| sum / cluster.count.max(1));
        let next: Vec<_> = sums(points, &centres).iter().map(middle).collect();
        if next == centres {
            break;
        }
        centres = next;
    }
    centres
}

/// Points around nine places.
fn points(n: usize) -> Vec<Point> {
    let mut random = side_by_side::random(1);
    let mut around = |place: f64| {
        let spread = random() + random() + random() - 1.5;
        #[expect(clippy::cast_possible_truncation, reason = "far below 2^53")]
        let coordinate = ((place + spread) * 1e6) as i64;
        coordinate
    };
    let places = [0.0, 2.0, 4.0];
    let places = places.iter().flat_map(|x| places.iter().map(move |y| (*x, *y))).cycle();
    places.take(n).map(|(x, y)| [around(x), around(y)]).collect()
}

fn main() -> Result<(), BuildError> {
    let points = points(side_by_side::size_or(400_000));
    let pool = Pool::new()?;
    side_by_side::compare(
        [
            ("plain", &|| kmeans(&points, 9, sums_plain)),
            ("rayon", &|| kmeans(&points, 9, sums_by_rayon)),
            ("rangesteal", &|| {
                kmeans(&points, 9, |points, centres| sums_by_rangesteal(&pool, points, centres))
            }),
        ],
        |centres| format!("first centre {:?}", centres[0]),
        |a, b| a == b,
    );

    // Options stand between `on` and the loop. The guide explains how a report shows idle workers.
    let centres = &points[..9];
    let mut report = RunReport::default();
    pool.on(&points).report(&mut report).fold(
        || vec![Cluster::default(); centres.len()],
        |clusters, point| add(clusters, point, centres),
        merge,
    );
    print!("\none more round: {report}");
    Ok(())
}

#[test]
fn all_versions_find_the_same_centres() -> Result<(), BuildError> {
    let points = points(5000);
    let plain = kmeans(&points, 9, sums_plain);
    assert_eq!(kmeans(&points, 9, sums_by_rayon), plain);
    for threads in 1..4 {
        let pool = Pool::builder().num_threads(threads).build()?;
        assert_eq!(kmeans(&points, 9, |points, centres| sums_by_rangesteal(&pool, points, centres)), plain);
    }
    Ok(())
}
