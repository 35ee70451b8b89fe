//! The loops of a distribution on one thread, for comparison.

use super::{Loops, in_order::in_order};
use crate::{
    arithmetic::{Arithmetic, Fault},
    layout::{Factors, Layout, Sums},
    spread::{KeepFactor, Votes},
};
use stv_ballots::{Ballots, Election};

/// The loops on this thread.
pub(super) struct PlainLoops {
    sums: Sums,
}

impl PlainLoops {
    pub(super) fn new(election: &Election) -> Self {
        Self { sums: Sums::new(election.candidates.len()) }
    }
}

impl Loops for PlainLoops {
    fn chunks(&mut self, layout: &Layout, factors: &Factors) -> &Sums {
        self.sums.clear();
        layout.chunks().iter().for_each(|chunk| layout.distribute(chunk, factors, &mut self.sums));
        &self.sums
    }

    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
        if !A::SUMS_IN_ANY_ORDER {
            return in_order(ballots, keep);
        }
        let none = Votes::none(keep.len());
        ballots.all().iter().try_fold(none, |votes, &ballot| votes.with(ballot, ballots, keep))
    }
}
