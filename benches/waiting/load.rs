//! A loop whose items wait, and what no executor can be faster than.

use std::{hint::black_box, sync::Arc};

use crate::{item::Item, machine};

/// Of equal items, so many nanoseconds are computed to know what all of them cost.
const SAMPLE: f64 = 200e6;

pub(crate) struct Load {
    pub(crate) items: Arc<[Item]>,
    /// So many items may be begun and unfinished at a time.
    pub(crate) limit: Option<usize>,
    /// Whether it is to be run by pools that have never run it.
    pub(crate) is_new: bool,
    /// What the items compute is measured by so many of them, the first ones.
    sample: usize,
}

/// What threads that are never idle without need would take, in nanoseconds.
pub(crate) struct Ideal {
    /// All that items compute, on one thread.
    pub(crate) compute: f64,
    /// Nobody is faster: the CPUs, the item that takes longest, or the limit.
    pub(crate) bound: f64,
    /// All is computed, and then, or before, the longest wait goes by.
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

    /// All items cost the same.
    pub(crate) fn of_equal_items(self) -> Self {
        let sample = SAMPLE / compute(&self.items[..1]);
        Self { sample: (sample as usize).clamp(1, self.items.len()), ..self }
    }

    /// What all items wait, one after the other, in nanoseconds.
    pub(crate) fn waits(&self) -> f64 {
        self.items.iter().map(|item| item.waits().as_secs_f64() * 1e9).sum()
    }

    /// Measures what items compute. Anew in each round, since processors are not always as fast.
    pub(crate) fn ideal(&self, threads: usize) -> Ideal {
        let parts = self.items.len() as f64 / self.sample as f64;
        self.ideal_of(compute(&self.items[..self.sample]) * parts, threads)
    }

    /// The same, for what all items were found to compute.
    pub(crate) fn ideal_of(&self, all: f64, threads: usize) -> Ideal {
        let longest = self.items.iter().max_by_key(|item| item.waits()).expect("an item");
        let wait = longest.waits().as_secs_f64() * 1e9;
        let limit = self.limit.map_or(0.0, |limit| (self.waits() + all) / limit as f64);
        let shared = all / threads as f64;
        let bound = shared.max(wait + compute(&[*longest])).max(limit);
        Ideal { compute: all, bound, sum: shared + wait }
    }
}

/// CPU time of items that do not wait.
fn compute(items: &[Item]) -> f64 {
    let begin = machine::thread_cpu_nanos();
    black_box(items.iter().map(|item| item.compute()).fold(0, u64::wrapping_add));
    machine::thread_cpu_nanos() - begin
}
