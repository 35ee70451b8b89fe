//! The partial results of a loop whose items are completed in any order, reduced in the order of
//! the slice.

use std::{collections::BTreeMap, sync::PoisonError};

use crate::sync::{Mutex, lock};

/// A run of neighbouring items that are done: the items `first..end`, and their partial result.
pub(super) struct DoneRun<A> {
    pub(super) first: usize,
    pub(super) end: usize,
    pub(super) acc: A,
}

/// All runs of items that are done, each with its partial result. Neighbouring runs are reduced to
/// one run. So the number of runs is at most the number of items under way, plus the number of
/// items begun early, plus two for each worker.
pub(super) struct DoneRuns<A, R> {
    /// The end and the partial result of each run, by the first index of the run.
    runs: Mutex<BTreeMap<usize, (usize, A)>>,
    reduce: R,
}

impl<A, R: Fn(A, A) -> A> DoneRuns<A, R> {
    pub(super) fn new(reduce: R) -> Self {
        Self { runs: Mutex::new(BTreeMap::new()), reduce }
    }

    /// Reduces two neighbours.
    #[inline(always)]
    pub(super) fn reduce(&self, before: A, behind: A) -> A {
        (self.reduce)(before, behind)
    }

    /// Adds a run, and reduces it with its neighbours. No user code is called under the lock: the
    /// worker takes one neighbour out, unlocks, reduces the two runs, and searches again. During
    /// the call of `reduce` the worker holds no third run, because a panic of `reduce` would drop
    /// the third run during the unwinding. `at` is set to the last item of the two runs.
    pub(super) fn add(&self, mut run: DoneRun<A>, at: &mut usize) {
        loop {
            let mut runs = lock(&self.runs);
            let before = match runs.range(..run.first).next_back() {
                Some((&first, &(end, _))) if end == run.first => runs.remove_entry(&first),
                _ => None,
            };
            if let Some((first, (_, acc))) = before {
                drop(runs);
                *at = run.end - 1;
                run = DoneRun { first, acc: (self.reduce)(acc, run.acc), ..run };
            } else if let Some((end, acc)) = runs.remove(&run.end) {
                drop(runs);
                *at = end - 1;
                run = DoneRun { end, acc: (self.reduce)(run.acc, acc), ..run };
            } else {
                runs.insert(run.first, (run.end, run.acc));
                return;
            }
        }
    }

    /// The result of all items. `None` if there are no items.
    ///
    /// # Panics
    /// If not all `len` items are done.
    pub(super) fn into_result(self, len: usize) -> Option<A> {
        let mut runs = self.into_runs();
        assert!(runs.len() == usize::from(len > 0), "a loop has left out an item");
        let (first, (end, acc)) = runs.pop_first()?;
        assert!(first == 0 && end == len, "a loop has left out an item");
        Some(acc)
    }

    /// The partial results, for dropping.
    pub(super) fn into_accs(self) -> impl Iterator<Item = A> {
        self.into_runs().into_values().map(|(_, acc)| acc)
    }

    fn into_runs(self) -> BTreeMap<usize, (usize, A)> {
        self.runs.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn runs_are_reduced_in_order_whatever_the_order_of_completion() {
        for step in [1, 3, 7, 37, 99] {
            let runs = DoneRuns::new(|a: String, b: String| a + &b);
            for i in 0..100 {
                let first = i * step % 100;
                runs.add(DoneRun { first, end: first + 1, acc: format!("{first} ") }, &mut 0);
                assert!(lock(&runs.runs).len() <= 50);
            }
            let expected = (0..100).map(|i| format!("{i} ")).collect::<Vec<_>>().concat();
            assert_eq!(runs.into_result(100), Some(expected));
        }
    }
}
