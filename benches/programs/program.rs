//! A program: rounds of parallel loops with serial work between them, for each entrant.

use rangesteal::Pool;

use crate::openmp::OpenMp;

/// The library that runs the loops.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    Plain,
    Rangesteal(&'a Pool),
    /// On a thread of rayon's pool.
    Rayon,
    /// In C++, with this number of threads.
    OpenMp(&'a OpenMp, usize),
}

pub(crate) trait Program: Sync {
    /// The data that a round changes.
    type State: Send;

    fn start(&self) -> Self::State;

    fn rounds(&self, state: &mut Self::State, rounds: usize, by: By<'_>);

    /// The result. All entrants must agree on the result, up to rounding.
    fn result(&self, state: Self::State) -> Vec<f64>;
}
