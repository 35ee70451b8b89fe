//! The loops of a distribution, on the pool.

use super::{Loops, in_order};
use crate::{
    arithmetic::{Arithmetic, Fault},
    crew::Crew,
    layout::{Factors, Layout, Sums},
    spread::{KeepFactor, Votes},
};
use rangesteal::{PerWorker, Pool};
use stv_ballots::{Ballot, Ballots, Election};

/// The loops on the pool.
pub(super) struct PoolLoops<'a> {
    pool: &'a Pool,
    /// The votes that each worker has counted.
    sums: PerWorker<Sums>,
}

impl<'a> PoolLoops<'a> {
    pub(super) fn new(pool: &'a Pool, election: &Election) -> Self {
        Self { pool, sums: pool.per_worker(|_| Sums::new(election.candidates.len())) }
    }
}

impl Loops for PoolLoops<'_> {
    fn crew(&self) -> Crew<'_> {
        Crew::of(self.pool)
    }

    /// * An item is a chunk: neighbouring nodes of a tree.
    /// * A worker has its own sums, which remain from loop to loop.
    /// * The caller adds the sums of all workers.
    /// * The sums are integers, so it does not matter which worker counted which chunk.
    fn chunks(&mut self, layout: &Layout, factors: &Factors) -> &Sums {
        self.sums.iter_mut().for_each(Sums::clear);
        let chunks = self.pool.on(layout.chunks()).with_kept(&mut self.sums);
        chunks.for_each(|(sums, chunk)| layout.distribute(chunk, factors, sums));
        let mut of_workers = self.sums.iter_mut();
        let sum = of_workers.next().expect("a pool has at least one worker");
        of_workers.for_each(|other| sum.add(other));
        sum
    }

    /// * An item is a ballot.
    /// * A worker adds the votes of its ballots to votes that it begins with none.
    /// * The pool adds the votes of two workers at a time.
    /// * Most sums are exact, so their order does not matter. The order of the others depends only
    ///   on the number of ballots: see `in_order`.
    fn ballots<A: Arithmetic>(&self, ballots: &Ballots, keep: &[KeepFactor<A>]) -> Result<Votes<A>, Fault> {
        let none = || Ok(Votes::none(keep.len()));
        let with = |votes: Result<Votes<A>, Fault>, &ballot: &Ballot| votes?.with(ballot, ballots, keep);
        let plus = |left: Result<Votes<A>, Fault>, right: Result<_, _>| left?.plus(&right?);
        let all = self.pool.on(ballots.all());
        if A::SUMS_IN_ANY_ORDER {
            all.fold(none, with, plus)
        } else {
            all.grain(in_order::block(ballots.all().len())).reproducible().fold(none, with, plus)
        }
    }
}
