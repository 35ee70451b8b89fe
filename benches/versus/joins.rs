//! Recursions that divide into two parts.

use std::{hint::black_box, time::Instant};

use rangesteal::Pool;

use crate::{
    machine::Freed,
    race::Turn,
    random::Random,
    rival::Rival,
    row::{Row, Unit},
    runner::Runner,
    scene::{Executors, Scene, nanos_since, taking},
    who::Who,
};

/// The computation.
enum Recursion {
    /// Fibonacci numbers down to the smallest: one addition per join.
    Fibonacci(u32),
    /// Quicksort, down to slices of at most `least` numbers.
    Quicksort { numbers: Vec<u32>, least: usize },
    /// A tree whose first child is smaller than its second child. A leaf is some arithmetic.
    Skewed(u32),
}

impl Recursion {
    fn run(&self, rival: impl Rival + Copy + Sync) -> u64 {
        match self {
            Self::Fibonacci(n) => fibonacci(rival, *n),
            Self::Quicksort { numbers, least } => {
                let mut numbers = numbers.clone();
                quicksort(rival, &mut numbers, *least);
                assert!(numbers.is_sorted());
                0
            }
            Self::Skewed(n) => skewed(rival, *n),
        }
    }
}

fn fibonacci(rival: impl Rival + Copy + Sync, n: u32) -> u64 {
    if n < 2 {
        return n.into();
    }
    let (a, b) = rival.join(|| fibonacci(rival, n - 1), || fibonacci(rival, n - 2));
    a + b
}

fn quicksort(rival: impl Rival + Copy + Sync, numbers: &mut [u32], least: usize) {
    let Some(last) = numbers.len().checked_sub(1) else { return };
    if numbers.len() <= least {
        return numbers.sort_unstable();
    }
    numbers.swap(numbers.len() / 2, last);
    let mut smaller = 0;
    for i in 0..last {
        if numbers[i] < numbers[last] {
            numbers.swap(i, smaller);
            smaller += 1;
        }
    }
    numbers.swap(smaller, last);
    let (front, back) = numbers.split_at_mut(smaller);
    rival.join(|| quicksort(rival, front, least), || quicksort(rival, &mut back[1..], least));
}

fn skewed(rival: impl Rival + Copy + Sync, n: u32) -> u64 {
    if n < 3 {
        return (0..2000).fold(u64::from(n), |x, _| black_box(x.wrapping_mul(6_364_136_223_846_793_005) + 1));
    }
    let (a, b) = rival.join(|| skewed(rival, n - 3), || skewed(rival, n - 1));
    a ^ b
}

impl Scene for Recursion {
    type Output = Turn;

    /// Repeats the computation for at least a millisecond.
    fn play(&self, rival: impl Rival + Copy + Send + Sync) -> Turn {
        let (begin, mut calls) = (Instant::now(), 0_u32);
        while begin.elapsed().as_micros() < 1000 {
            black_box(self.run(rival));
            calls += 1;
        }
        taking(nanos_since(begin) / f64::from(calls))
    }
}

pub(crate) fn rows(_: &Pool, runner: &mut Runner) -> Vec<Row> {
    let _freed = Freed::to(&runner.mask); // other threads would inherit the CPU of this one
    let mut random = Random::default();
    let mut numbers = |len: usize| (0..len).map(|_| random.draw()).collect::<Vec<u32>>();
    let executors = Executors::new(runner.threads);
    let recursions = [
        ("Fibonacci of 27", Recursion::Fibonacci(27)),
        ("Fibonacci of 12", Recursion::Fibonacci(12)),
        ("quicksort of 1M to 1000", Recursion::Quicksort { numbers: numbers(1_000_000), least: 1000 }),
        ("quicksort of 1M to 10", Recursion::Quicksort { numbers: numbers(1_000_000), least: 10 }),
        ("quicksort of 10,000 to 100", Recursion::Quicksort { numbers: numbers(10_000), least: 100 }),
        ("a skewed tree, 26 deep", Recursion::Skewed(26)),
        ("a skewed tree, 12 deep", Recursion::Skewed(12)),
    ];
    let entrants = [Who::Plain, Who::Rangesteal, Who::Rayon];
    let rows = recursions.map(|(name, recursion)| {
        let race = executors.race(&entrants, runner.rounds, &recursion);
        Row::of(&race, format!("join: {name}"), Unit::Ratio, None).without_cost()
    });
    rows.into()
}
