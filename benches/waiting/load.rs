//! A loop whose items wait, and the lower bound of its time.

use std::{hint::black_box, sync::Arc};

use crate::{item::Item, machine};

/// The work of equal items is measured on a sample of this many nanoseconds.
const SAMPLE: f64 = 200e6;

pub(crate) struct Load {
    pub(crate) items: Arc<[Item]>,
    /// The largest number of items in flight.
    pub(crate) limit: Option<usize>,
    /// Whether the load must run on new pools.
    pub(crate) is_new: bool,
    /// The number of items, from the front, whose work is measured.
    sample: usize,
}

/// The times of an ideal schedule, in nanoseconds.
pub(crate) struct Ideal {
    /// The time of the work of all items on one thread.
    pub(crate) compute: f64,
    /// The lower bound: the largest of the work divided by the CPUs, the longest item, and the time
    /// that the limit allows.
    pub(crate) bound: f64,
    /// The time of all work plus the longest wait.
    pub(crate) sum: f64,
}

impl Load {
    pub(crate) fn new(items: impl IntoIterator<Item = Item>) -> Self {
        let items: Arc<[Item]> = items.into_iter().collect();
        Self { sample: items.len(), items, limit: None, is_new: false }
    }

    pub(crate) fn with_limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }

    pub(crate) fn run_by_new_pools(self) -> Self {
        Self { is_new: true, ..self }
    }

    /// Declares that all items cost the same.
    pub(crate) fn of_equal_items(self) -> Self {
        let sample = SAMPLE / compute(&self.items[..1]);
        Self { sample: (sample as usize).clamp(1, self.items.len()), ..self }
    }

    /// The sum of the waits of all items, in nanoseconds.
    pub(crate) fn waits(&self) -> f64 {
        self.items.iter().map(|item| item.waits().as_secs_f64() * 1e9).sum()
    }

    /// Measures the work of the items. Each round measures again, since the speed of processors
    /// varies.
    pub(crate) fn ideal(&self, threads: usize) -> Ideal {
        let parts = self.items.len() as f64 / self.sample as f64;
        self.ideal_of(compute(&self.items[..self.sample]) * parts, threads)
    }

    /// The ideal times for a measured work of all items.
    pub(crate) fn ideal_of(&self, all: f64, threads: usize) -> Ideal {
        let longest = self.items.iter().max_by_key(|item| item.waits()).expect("an item");
        let wait = longest.waits().as_secs_f64() * 1e9;
        let limit = self.limit.map_or(0.0, |limit| (self.waits() + all) / limit as f64);
        let shared = all / threads as f64;
        let bound = shared.max(wait + compute(&[*longest])).max(limit);
        Ideal { compute: all, bound, sum: shared + wait }
    }
}

/// The CPU time of the items' work, without their waits.
fn compute(items: &[Item]) -> f64 {
    let begin = machine::thread_cpu_nanos();
    black_box(items.iter().map(|item| item.compute()).fold(0, u64::wrapping_add));
    machine::thread_cpu_nanos() - begin
}
