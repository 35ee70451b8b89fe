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
    runs: Mutex<Runs<A>>,
    reduce: R,
}

/// The end and the partial result of each run.
struct Runs<A> {
    /// Of the run that begins with item 0: often the only one, and then no memory is allocated.
    front: Option<(usize, A)>,
    /// Of the others, by the first index of the run.
    others: BTreeMap<usize, (usize, A)>,
}

impl<A> Runs<A> {
    /// Takes the run that ends before item `end` out. Returns its first index, too.
    fn take_before(&mut self, end: usize) -> Option<(usize, A)> {
        if let Some((_, acc)) = self.front.take_if(|front| front.0 == end) {
            return Some((0, acc));
        }
        let (&first, _) = self.others.range(..end).next_back().filter(|(_, run)| run.0 == end)?;
        self.others.remove(&first).map(|(_, acc)| (first, acc))
    }

    fn insert(&mut self, DoneRun { first, end, acc }: DoneRun<A>) {
        if first == 0 {
            self.front = Some((end, acc));
        } else {
            self.others.insert(first, (end, acc));
        }
    }
}

impl<A, R: Fn(A, A) -> A> DoneRuns<A, R> {
    pub(super) fn new(reduce: R) -> Self {
        Self { runs: Mutex::new(Runs { front: None, others: BTreeMap::new() }), reduce }
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
            if let Some((first, acc)) = runs.take_before(run.first) {
                drop(runs);
                *at = run.end - 1;
                run = DoneRun { first, acc: (self.reduce)(acc, run.acc), ..run };
            } else if let Some((end, acc)) = runs.others.remove(&run.end) {
                drop(runs);
                *at = end - 1;
                run = DoneRun { end, acc: (self.reduce)(run.acc, acc), ..run };
            } else {
                return runs.insert(run);
            }
        }
    }

    /// The result of all items. `None` if there are no items.
    ///
    /// # Panics
    /// If not all `len` items are done.
    pub(super) fn into_result(self, len: usize) -> Option<A> {
        let Runs { front, others } = self.into_runs();
        let done = front.as_ref().map_or(0, |(end, _)| *end);
        assert!(done == len && others.is_empty(), "a loop has left out an item");
        front.map(|(_, acc)| acc)
    }

    /// The partial results, for dropping.
    pub(super) fn into_accs(self) -> impl Iterator<Item = A> {
        let Runs { front, others } = self.into_runs();
        front.into_iter().chain(others.into_values()).map(|(_, acc)| acc)
    }

    fn into_runs(self) -> Runs<A> {
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
                assert!(lock(&runs.runs).others.len() < 50);
            }
            let expected = (0..100).map(|i| format!("{i} ")).collect::<Vec<_>>().concat();
            assert_eq!(runs.into_result(100), Some(expected));
        }
    }
}
