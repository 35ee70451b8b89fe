//! Distributions on the threads of rayon. No other file uses rayon. Tests and programs with the
//! feature `rayon` contain this module.

use super::{
    InWords,
    in_order::{self, Part},
};
use crate::{
    arithmetic::{Arithmetic, Fault},
    election::{Ballots, Election},
    error::CountError,
    layout::{Chunk, Sums},
    spread::{KeepFactor, Votes},
};
use rayon::prelude::*;
use std::num::NonZeroUsize;

/// Runs `work` on a thread of rayon, where starting a loop is cheapest, and passes the number of
/// threads to `work`. Without `number`, rayon chooses the number of threads.
pub(super) fn scope<R: Send>(
    number: Option<NonZeroUsize>,
    work: impl FnOnce(usize) -> R + Send,
) -> Result<R, CountError> {
    let number = number.map_or(0, NonZeroUsize::get); // 0: rayon decides
    let pool = rayon::ThreadPoolBuilder::new().num_threads(number).build();
    let pool = pool.map_err(|error| CountError::Threads(error.to_string()))?;
    Ok(pool.install(|| work(pool.current_num_threads())))
}

/// A distribution ballot by ballot.
pub(super) fn on_rayon<A: Arithmetic>(
    election: &Election,
    keep: &[KeepFactor<A>],
) -> Result<Votes<A>, Fault> {
    let ballots = &election.ballots;
    if !A::SUMS_IN_ANY_ORDER {
        return in_order(ballots, keep);
    }
    let none = || Votes::none(keep.len());
    let parts = ballots
        .records()
        .par_iter()
        .try_fold(none, |votes: Votes<A>, &ballot| votes.with(ballot, ballots, keep));
    parts.try_reduce(none, |left, right| left.plus(&right))
}

/// A distribution for sums that depend on their order.
pub(super) fn in_order<A: Arithmetic>(ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
    in_order::by_halves(ballots, keep, |left, right| rayon::join(left, right).into())
}

impl<A: Arithmetic> InWords<A> {
    pub(super) fn on_rayon(&self) -> Result<Votes<A>, Fault> {
        let none = || Sums::new(self.layout.candidates());
        let part = |mut sums: Sums, chunk: &Chunk| {
            self.layout.distribute(chunk, &self.kept, &mut sums);
            sums
        };
        let sum = |mut left: Sums, right: Sums| {
            left.add(&right);
            left
        };
        self.votes(&self.layout.chunks().par_iter().fold(none, part).reduce(none, sum))
    }
}
