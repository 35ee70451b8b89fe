//! The loops on one thread, for comparison.

use super::{Loops, Part, in_order::by_halves};
use crate::{
    arithmetic::Arithmetic,
    layout::{Kept, Layout, Sums},
    spread::{KeepFactor, Votes},
};
use stv_ballots::{Ballots, Election};

/// The loops on this thread.
pub(super) struct Plain {
    sums: Sums,
}

impl Plain {
    pub(super) fn new(election: &Election) -> Self {
        Self { sums: Sums::new(election.candidates.len()) }
    }
}

impl Loops for Plain {
    fn chunks(&mut self, layout: &Layout, kept: &Kept) -> &Sums {
        self.sums.clear();
        layout.chunks().iter().for_each(|chunk| layout.distribute(chunk, kept, &mut self.sums));
        &self.sums
    }

    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Part<A> {
        if !A::SUMS_IN_ANY_ORDER {
            return by_halves(ballots, keep, |left, right| [left(), right()]);
        }
        let mut records = ballots.records().iter();
        records.try_fold(Votes::none(keep.len()), |votes, &ballot| votes.with(ballot, ballots, keep))
    }
}
