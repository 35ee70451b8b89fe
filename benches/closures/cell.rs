//! A cell: one closure in one kind of loop.

use std::fmt::Debug;

use rangesteal::Pool;
use rayon::ThreadPool;

use crate::data::Data;

/// The entrant that runs a cell.
#[derive(Clone, Copy)]
pub(crate) enum By<'p> {
    Plain,
    /// The plain loop over one half of the slice on each of two threads: the limit that memory
    /// sets.
    Halves(&'p ThreadPool),
    Ours(&'p Pool),
    Rayon(&'p ThreadPool),
}

/// Receives the result of a loop.
pub(crate) type See<'s> = &'s mut dyn FnMut(&dyn Debug);

#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) verb: &'static str,
    pub(crate) body: &'static str,
    pub(crate) run: fn(By<'_>, &mut Data, See<'_>),
}

impl Cell {
    pub(crate) fn name(&self) -> String {
        format!("{} {}", self.verb, self.body)
    }

    /// The result of an entrant on fresh data.
    pub(crate) fn outcome(&self, by: By<'_>, len: usize) -> String {
        let mut outcome = String::new();
        (self.run)(by, &mut Data::new(len), &mut |result| outcome = format!("{result:?}"));
        outcome
    }
}
