//! The state of a count after a distribution. Every line of the transcript is printed from it.

use crate::arithmetic::{Arithmetic, Fault};
use stv_ballots::{Candidate, CandidateIndex, Status};

#[derive(Debug)]
pub struct Standing<A> {
    pub status: Vec<Status>,
    pub votes: Vec<A>,
    /// The rest of the ballots after their last candidate has taken a share.
    pub exhausted: A,
    pub quota: A,
    pub surplus: A,
}

impl<A: Arithmetic> Standing<A> {
    pub(crate) fn new(candidates: &[Candidate]) -> Self {
        let status = |candidate: &Candidate| {
            if candidate.withdrawn { Status::Withdrawn } else { Status::Hopeful }
        };
        Self {
            status: candidates.iter().map(status).collect(),
            votes: vec![A::zero(); candidates.len()],
            exhausted: A::zero(),
            quota: A::zero(),
            surplus: A::zero(),
        }
    }

    /// The candidates of this status, in candidate order.
    pub fn with(&self, status: Status) -> impl Iterator<Item = CandidateIndex> {
        (0..self.status.len()).filter(move |&candidate| self.status[candidate] == status)
    }

    pub fn sum_of_votes(&self) -> Result<A, Fault> {
        self.votes.iter().try_fold(A::zero(), |sum, votes| sum.plus(votes))
    }
}
