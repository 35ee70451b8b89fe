//! An election as it is counted: candidates, seats, tie-break order and ballots.

mod ballots;
mod called;

pub(crate) use ballots::{Ballot, Ballots, Preference, Preferences};
pub(crate) use called::{called, called_by_name};
use std::borrow::Cow;

/// A candidate's place in the list of candidates, from 0.
pub(crate) type CandidateIndex = usize;

/// All that a count needs to know.
#[derive(Debug)]
pub(crate) struct Election {
    pub(crate) title: String,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) seats: usize,
    /// The place of every candidate in the tie-break order; of tied candidates the one with the
    /// lowest place is defeated.
    pub(crate) tie_break: Vec<usize>,
    pub(crate) ballots: Ballots,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    /// What the file says beside the name, if it is not blank.
    pub(crate) party: Option<String>,
    pub(crate) withdrawn: bool,
}

impl Candidate {
    /// Name and party in one.
    pub(crate) fn with_party(&self) -> Cow<'_, str> {
        match &self.party {
            Some(party) => format!("{} ({party})", self.name).trim_start().to_owned().into(),
            None => Cow::from(&self.name),
        }
    }
}
