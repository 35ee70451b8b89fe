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
    /// Whose order that is.
    pub(crate) tie_order: TieOrder,
    pub(crate) ballots: Ballots,
    /// What may be a mistake in the file, each with its line.
    pub(crate) warnings: Vec<String>,
}

/// Where a tie-break order comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TieOrder {
    /// The order of the list of candidates, since none was given.
    BallotPaper,
    /// The file.
    File,
    /// Drawn from this seed.
    Random(u64),
}

impl TieOrder {
    /// In a word, as JSON calls it.
    pub(crate) fn name(self) -> String {
        match self {
            Self::BallotPaper => "ballot paper".to_owned(),
            Self::File => "file".to_owned(),
            Self::Random(seed) => format!("random:{seed}"),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    /// The file's text beside the name, if it is not blank.
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
