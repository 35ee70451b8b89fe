//! The actions of a count. The count reports them, and its result has them.

use crate::{
    election::CandidateIndex,
    ties::{By, Tied},
};

/// What happens at a step of a count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// The ballots were distributed for the first time.
    Begin,
    /// A candidate reached the quota.
    Elect(CandidateIndex),
    /// The iteration of a round ended.
    Iterate(Iteration),
    /// A tie was decided.
    BreakTie {
        /// All tied candidates.
        tied: Tied,
        /// The candidate to be defeated.
        defeated: CandidateIndex,
        /// The reason.
        by: By,
    },
    /// The candidate with the fewest votes was defeated.
    Defeat(CandidateIndex, Iteration),
    /// A candidate got a seat that was left.
    ElectRemaining(CandidateIndex),
    /// No seat was left for a candidate.
    DefeatRemaining(CandidateIndex),
    /// The count was complete.
    Complete,
}

named! {
    /// The reason why the iteration of a round ended.
    Iteration {
        /// A candidate was elected.
        Elected = "elected",
        /// The surplus was small enough.
        Omega = "omega",
        /// The surplus no longer shrank.
        Stable = "stable",
    }
}

named! {
    /// The state of a candidate.
    Status {
        /// The candidate does not stand.
        Withdrawn = "withdrawn",
        /// The candidate may still be elected.
        Hopeful = "hopeful",
        /// The candidate has a seat.
        Elected = "elected",
        /// The candidate has no seat.
        Defeated = "defeated",
    }
}

named! {
    /// The reason why votes moved.
    Cause {
        /// The elected passed on their votes above the quota.
        Surplus = "surplus",
        /// A candidate was defeated.
        Defeat = "defeat",
        /// The last seat is filled, and the remaining hopefuls leave the count.
        NoSeatLeft = "no seat left",
    }
}
