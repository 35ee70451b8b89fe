//! Items that compute and wait, and the same item without a future.

use std::{hint::black_box, thread, time::Duration};

use crate::{timer::Timer, work::work};

/// So many steps, one after the other: to compute, to wait, to compute.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub(crate) number: u64,
    pub(crate) steps: u32,
    pub(crate) before: Work,
    /// None if zero.
    pub(crate) wait: Duration,
    pub(crate) after: Work,
}

#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// So many links of a chain.
    Links(u64),
    Fib(u32),
}

impl Work {
    pub(crate) const NONE: Self = Self::Links(0);

    /// Whatever was done before, it is done again.
    fn run(self) -> u64 {
        match self {
            Self::Links(0) => 0,
            Self::Links(links) => busy(black_box(links)),
            Self::Fib(n) => fib(black_box(n)),
        }
    }
}

/// Work of so many `links`, as the same code for everybody.
#[inline(never)]
pub(crate) fn busy(links: u64) -> u64 {
    work(links)
}

/// As the same code for everybody.
#[inline(never)]
fn fib(n: u32) -> u64 {
    if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
}

impl Item {
    /// One step.
    pub(crate) fn new(number: u64, before: Work, wait: Duration, after: Work) -> Self {
        Self { number, steps: 1, before, wait, after }
    }

    /// All that it waits.
    pub(crate) fn waits(&self) -> Duration {
        self.wait * self.steps
    }

    pub(crate) async fn run(self, timer: impl Timer) -> u64 {
        let mut sum = self.number;
        for _ in 0..self.steps {
            sum = sum.wrapping_add(self.before.run());
            if !self.wait.is_zero() {
                timer.wait(self.wait).await;
            }
            sum = sum.wrapping_add(self.after.run());
        }
        sum
    }

    /// The thread sleeps.
    pub(crate) fn block(self) -> u64 {
        self.alone(thread::sleep)
    }

    /// Nobody waits.
    pub(crate) fn compute(self) -> u64 {
        self.alone(|_| {})
    }

    fn alone(self, wait: impl Fn(Duration)) -> u64 {
        let mut sum = self.number;
        for _ in 0..self.steps {
            sum = sum.wrapping_add(self.before.run());
            if !self.wait.is_zero() {
                wait(self.wait);
            }
            sum = sum.wrapping_add(self.after.run());
        }
        sum
    }
}
