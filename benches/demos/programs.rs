// Programs like rayon's own demonstrations, each in a long and a short version. rayon is made for
// long programs. This file is included twice.

use rayon::prelude::*;

/// A program: its name, and a function that makes its data and returns a closure. Each call of the
/// closure returns a number that shows whether the result is right.
pub(crate) struct Program {
    pub(crate) name: &'static str,
    pub(crate) make: fn() -> Box<dyn Fn() -> u64 + Sync>,
}

pub(crate) const PROGRAMS: &[Program] = &[
    Program { name: "n-body, 1,000 bodies", make: || n_body(1000) },
    Program { name: "n-body, 60 bodies", make: || n_body(60) },
    Program { name: "matrix product by join, 256", make: || product(256) },
    Program { name: "matrix product by join, 32", make: || product(32) },
    Program { name: "travelling salesman by join, 10 towns", make: || salesman(10) },
    Program { name: "travelling salesman by join, 7 towns", make: || salesman(7) },
    Program { name: "game of life, 512 by 512", make: || life(512) },
    Program { name: "game of life, 40 by 40", make: || life(40) },
    Program { name: "merge sort by join, 1,000,000", make: || merge_sort(1_000_000) },
    Program { name: "merge sort by join, 2,000", make: || merge_sort(2_000) },
    Program { name: "sieve, 5,000,000", make: || sieve(5_000_000) },
    Program { name: "sieve, 20,000", make: || sieve(20_000) },
    Program { name: "Mandelbrot set, 300 rows", make: || mandelbrot(300) },
    Program { name: "Mandelbrot set, 20 rows", make: || mandelbrot(20) },
];

/// Numbers that are the same each time (xorshift).
fn numbers(len: usize) -> impl Iterator<Item = u64> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
    .take(len)
}

fn bits(numbers: impl Iterator<Item = f64>) -> u64 {
    numbers.fold(0, |all, number| all.rotate_left(1) ^ number.to_bits())
}

/// A step of bodies that attract each other.
fn n_body(bodies: usize) -> Box<dyn Fn() -> u64 + Sync> {
    let places: Vec<[f64; 3]> = {
        let all: Vec<f64> = numbers(3 * bodies).map(|x| (x >> 11) as f64 / (1_u64 << 53) as f64).collect();
        all.chunks(3).map(|place| [place[0], place[1], place[2]]).collect()
    };
    Box::new(move || {
        let pulled = |place: &[f64; 3]| {
            let mut pull = [0.0; 3];
            for other in &places {
                let away = [other[0] - place[0], other[1] - place[1], other[2] - place[2]];
                let square = away.iter().map(|x| x * x).sum::<f64>() + 1e-3;
                let force = 1.0 / (square * square.sqrt());
                (0..3).for_each(|axis| pull[axis] += away[axis] * force);
            }
            pull
        };
        let moved: Vec<[f64; 3]> = places.par_iter().map(pulled).collect();
        bits(moved.iter().flatten().copied())
    })
}

/// The product of two square matrices. A range of rows is halved until few rows are left.
fn product(side: usize) -> Box<dyn Fn() -> u64 + Sync> {
    fn rows(out: &mut [f64], a: &[f64], b: &[f64], side: usize) {
        let count = out.len() / side;
        if count <= 4 {
            for (row, of) in out.chunks_mut(side).zip(a.chunks(side)) {
                row.fill(0.0);
                for (factor, by) in of.iter().zip(b.chunks(side)) {
                    row.iter_mut().zip(by).for_each(|(sum, x)| *sum += factor * x);
                }
            }
            return;
        }
        let middle = count / 2 * side;
        let ((above, below), (a_above, a_below)) = (out.split_at_mut(middle), a.split_at(middle));
        rayon::join(|| rows(above, a_above, b, side), || rows(below, a_below, b, side));
    }
    let [a, b]: [Vec<f64>; 2] = [0, 1].map(|skip| {
        numbers(2 * side * side)
            .skip(skip * side * side)
            .take(side * side)
            .map(|x| (x % 100) as f64)
            .collect()
    });
    Box::new(move || {
        let mut out = vec![0.0; side * side];
        rows(&mut out, &a, &b, side);
        bits(out.into_iter())
    })
}

/// The shortest tour, by search with a bound. The branches of the search differ much in size.
fn salesman(towns: usize) -> Box<dyn Fn() -> u64 + Sync> {
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Search {
        ways: Vec<Vec<u64>>,
        best: AtomicU64,
    }

    impl Search {
        fn go(&self, at: usize, rest: &[usize], length: u64) {
            if length >= self.best.load(Ordering::Relaxed) {
                return;
            }
            if rest.is_empty() {
                self.best.fetch_min(length + self.ways[at][0], Ordering::Relaxed);
                return;
            }
            self.branches(at, rest, 0..rest.len(), length);
        }

        /// Extends the tour by each of some towns.
        fn branches(&self, at: usize, rest: &[usize], next: std::ops::Range<usize>, length: u64) {
            if next.len() > 1 {
                let middle = next.start + next.len() / 2;
                let (front, back) = (next.start..middle, middle..next.end);
                let both =
                    (|| self.branches(at, rest, front, length), || self.branches(at, rest, back, length));
                rayon::join(both.0, both.1);
                return;
            }
            let town = rest[next.start];
            let left: Vec<usize> = rest.iter().copied().filter(|other| *other != town).collect();
            self.go(town, &left, length + self.ways[at][town]);
        }
    }

    let ways: Vec<u64> = numbers(towns * towns).map(|x| x % 1000 + 1).collect();
    let ways: Vec<Vec<u64>> = ways.chunks(towns).map(<[u64]>::to_vec).collect();
    Box::new(move || {
        let search = Search { ways: ways.clone(), best: AtomicU64::new(u64::MAX) };
        search.go(0, &(1..towns).collect::<Vec<_>>(), 0);
        search.best.into_inner()
    })
}

/// Ten generations on a torus.
fn life(side: usize) -> Box<dyn Fn() -> u64 + Sync> {
    let begin: Vec<bool> = numbers(side * side).map(|x| x % 3 == 0).collect();
    Box::new(move || {
        let mut board = begin.clone();
        for _ in 0..10 {
            let next = |(place, lives): (usize, &bool)| {
                let (y, x) = (place / side, place % side);
                let (above, below) = ((y + side - 1) % side, (y + 1) % side);
                let (left, right) = ((x + side - 1) % side, (x + 1) % side);
                let around = [
                    (above, left),
                    (above, x),
                    (above, right),
                    (y, left),
                    (y, right),
                    (below, left),
                    (below, x),
                    (below, right),
                ];
                let alive = around.iter().filter(|(y, x)| board[y * side + x]).count();
                alive == 3 || *lives && alive == 2
            };
            board = board.par_iter().enumerate().map(next).collect();
        }
        board.iter().filter(|lives| **lives).count() as u64
    })
}

/// Sorts halves, and merges them.
fn merge_sort(len: usize) -> Box<dyn Fn() -> u64 + Sync> {
    fn sort(items: &mut [u64], space: &mut [u64]) {
        if items.len() <= 500 {
            return items.sort_unstable();
        }
        let middle = items.len() / 2;
        let ((front, back), (one, other)) = (items.split_at_mut(middle), space.split_at_mut(middle));
        rayon::join(|| sort(front, one), || sort(back, other));
        let (mut i, mut j) = (0, 0);
        for place in space.iter_mut() {
            let takes_front = j == back.len() || i < front.len() && front[i] <= back[j];
            *place = if takes_front { front[i] } else { back[j] };
            (i, j) = (i + usize::from(takes_front), j + usize::from(!takes_front));
        }
        items.copy_from_slice(space);
    }
    let begin: Vec<u64> = numbers(len).collect();
    Box::new(move || {
        let (mut items, mut space) = (begin.clone(), vec![0; len]);
        sort(&mut items, &mut space);
        assert!(items.is_sorted());
        items[len / 2]
    })
}

/// The points of a square grid that are in the Mandelbrot set. An item is a row. Rows through the
/// middle of the set take a hundred times as long as rows at its edge.
fn mandelbrot(side: usize) -> Box<dyn Fn() -> u64 + Sync> {
    const STEPS: usize = 300;
    Box::new(move || {
        let step = 3.0 / side as f64;
        let is_in_set = |x: f64, y: f64| {
            let (mut re, mut im) = (0.0, 0.0);
            (0..STEPS).all(|_| {
                (re, im) = (re * re - im * im + x, 2.0 * re * im + y);
                re * re + im * im <= 4.0
            })
        };
        let row = |row: usize| {
            let y = row as f64 * step;
            (0..side).filter(|column| is_in_set(*column as f64 * step - 2.2, y)).count() as u64
        };
        (0..side).into_par_iter().map(row).sum()
    })
}

/// Primes below a limit. The primes below the root of the limit strike out their multiples. An item
/// is a stretch of numbers.
fn sieve(limit: usize) -> Box<dyn Fn() -> u64 + Sync> {
    const STRETCH: usize = 1 << 14;
    Box::new(move || {
        let root = limit.isqrt() + 1;
        let mut small = vec![true; root];
        let mut primes = Vec::new();
        for n in 2..root {
            if small[n] {
                primes.push(n);
                (n * n..root).step_by(n).for_each(|multiple| small[multiple] = false);
            }
        }
        let mut is_prime = vec![true; limit];
        is_prime.par_chunks_mut(STRETCH).enumerate().for_each(|(number, stretch)| {
            let begin = number * STRETCH;
            for &prime in &primes {
                let first = begin.div_ceil(prime).max(prime) * prime;
                (first - begin..stretch.len()).step_by(prime).for_each(|place| stretch[place] = false);
            }
        });
        is_prime.par_iter().skip(2).filter(|is| **is).count() as u64
    })
}
