//! Partial results other than numbers: vectors that grow, or a small table.

use std::{array, hint::black_box};

use rangesteal::Pool;

use crate::{
    race::Race,
    random::Random,
    rival::{Loop, Rival},
    row::{Row, Unit},
    runner::Runner,
    turn::Pace,
    who::Who,
};

/// Merges sorted vectors. For each number, the plain loop moves all numbers that it has merged so
/// far.
struct Merged(usize);

fn merge(before: Vec<u64>, behind: Vec<u64>) -> Vec<u64> {
    let mut merged = Vec::with_capacity(before.len() + behind.len());
    let (mut before, mut behind) = (before.into_iter().peekable(), behind.into_iter().peekable());
    while let (Some(a), Some(b)) = (before.peek(), behind.peek()) {
        merged.extend(if a <= b { before.next() } else { behind.next() });
    }
    merged.extend(before.chain(behind));
    merged
}

impl Loop for Merged {
    type Output = Vec<u64>;

    fn run(&self, rival: &mut impl Rival) -> Option<Vec<u64>> {
        // The multiples of a number are spread evenly if the number is 2^64 divided by the golden
        // ratio (Knuth, The Art of Computer Programming 3, section 6.4).
        let number = |i: usize| (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        rival.index_reduce(black_box(self.0), |i| vec![number(i)], merge)
    }
}

const CENTRES: usize = 16;

/// For each centre, the sum and the number of the points that are nearest to it.
type Sums = Box<[[u64; 5]; CENTRES]>;

/// The step of k-means in which points go to their nearest centre.
struct Nearest {
    points: Vec<[f32; 4]>,
    centres: [[f32; 4]; CENTRES],
}

impl Nearest {
    fn new(len: usize) -> Self {
        let mut random = Random::default();
        let mut point = || array::from_fn(|_| (random.draw() % 65_536) as f32);
        Self { centres: array::from_fn(|_| point()), points: (0..len).map(|_| point()).collect() }
    }

    fn nearest(&self, point: &[f32; 4]) -> usize {
        let distance =
            |centre: &[f32; 4]| centre.iter().zip(point).map(|(a, b)| (a - b) * (a - b)).sum::<f32>();
        let mut best = (f32::INFINITY, 0);
        for (i, centre) in self.centres.iter().enumerate() {
            let distance = distance(centre);
            if distance < best.0 {
                best = (distance, i);
            }
        }
        best.1
    }
}

impl Loop for Nearest {
    type Output = Sums;

    fn run(&self, rival: &mut impl Rival) -> Option<Sums> {
        let fold = |mut sums: Sums, point: &[f32; 4]| {
            let [sum @ .., count] = &mut sums[self.nearest(point)];
            sum.iter_mut().zip(point).for_each(|(sum, x)| *sum += *x as u64);
            *count += 1;
            sums
        };
        let add = |mut a: Sums, b: Sums| {
            a.as_flattened_mut().iter_mut().zip(b.as_flattened()).for_each(|(a, b)| *a += b);
            a
        };
        rival.fold(black_box(&self.points), || Box::new([[0; 5]; CENTRES]), fold, add)
    }
}

pub(crate) fn rows(pool: &Pool, runner: &mut Runner) -> Vec<Row> {
    let (few, everybody) = (runner.few(), runner.everybody());
    // The bar is rayon's time in this run. If rayon did not run, the bar is rayon's time in an
    // earlier run.
    let row = |race: &Race, name: &str, once: f64| {
        let has_rayon = race.others().any(|who| who == Who::Rayon);
        let bar = if has_rayon { race.ratio(Who::Rayon).0 } else { once };
        Row::of(race, name, Unit::Ratio, Some(bar))
    };
    let merged = runner.race(pool, &few, Pace::LONG, &Merged(20_000));
    let nearest = runner.race(pool, &everybody, Pace::ONCE, &Nearest::new(50_000));
    vec![
        row(&merged, "20k vectors of one number, merged", 0.03),
        row(&nearest, "50k points to the nearest of 16 centres", 0.6),
    ]
}
