//! The loops on the threads of rayon. No other file uses rayon.

use super::{Loops, Part, in_order};
use crate::{
    arithmetic::Arithmetic,
    election::{Ballots, Election},
    error::CountError,
    layout::{Chunk, Kept, Layout, Sums},
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

/// The loops on rayon's threads.
pub(super) struct OnRayon {
    candidates: usize,
    sums: Sums,
}

impl OnRayon {
    pub(super) fn new(election: &Election) -> Self {
        let candidates = election.candidates.len();
        Self { candidates, sums: Sums::new(candidates) }
    }
}

impl Loops for OnRayon {
    fn chunks(&mut self, layout: &Layout, kept: &Kept) -> &Sums {
        let none = || Sums::new(self.candidates);
        let part = |mut sums: Sums, chunk: &Chunk| {
            layout.distribute(chunk, kept, &mut sums);
            sums
        };
        let sum = |mut left: Sums, right: Sums| {
            left.add(&right);
            left
        };
        self.sums = layout.chunks().par_iter().fold(none, part).reduce(none, sum);
        &self.sums
    }

    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
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
}

/// A distribution for sums that depend on their order.
pub(super) fn in_order<A: Arithmetic>(ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
    in_order::by_halves(ballots, keep, |left, right| rayon::join(left, right).into())
}
