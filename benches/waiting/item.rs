//! Items that compute and wait, and the same item without a future.

use std::{hint::black_box, thread, time::Duration};

use crate::{timer::Timer, work::work};

/// `steps` steps in sequence. Each step computes, waits, and computes again.
#[derive(Clone, Copy)]
pub(crate) struct Item {
    pub(crate) number: u64,
    pub(crate) steps: u32,
    pub(crate) before: Work,
    /// No wait if zero.
    pub(crate) wait: Duration,
    pub(crate) after: Work,
}

#[derive(Clone, Copy)]
pub(crate) enum Work {
    /// A chain of this many links.
    Links(u64),
    Fib(u32),
}

impl Work {
    pub(crate) const NONE: Self = Self::Links(0);

    /// Runs the work. Every call does all of the work again.
    fn run(self) -> u64 {
        match self {
            Self::Links(0) => 0,
            Self::Links(links) => busy(black_box(links)),
            Self::Fib(n) => fib(black_box(n)),
        }
    }
}

/// Work of `links` links, in one copy of the code for all entrants.
#[inline(never)]
pub(crate) fn busy(links: u64) -> u64 {
    work(links)
}

/// One copy of the code for all entrants.
#[inline(never)]
fn fib(n: u32) -> u64 {
    if n < 2 { n.into() } else { fib(n - 1) + fib(n - 2) }
}

impl Item {
    /// An item of one step.
    pub(crate) fn new(number: u64, before: Work, wait: Duration, after: Work) -> Self {
        Self { number, steps: 1, before, wait, after }
    }

    /// The sum of all waits of the item.
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

    /// Runs only the work, without the waits.
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
