//! An election to count: candidates, seats, tie-break order and ballots.

mod ballots;
mod called;

pub(crate) use ballots::{Ballot, Ballots, Preference, Preferences};
pub(crate) use called::{called, called_by_name};
use clap::ValueEnum;
use std::borrow::Cow;

/// A candidate's place in the list of candidates, from 0.
pub(crate) type CandidateIndex = usize;

/// The data that a count needs.
#[derive(Debug)]
pub(crate) struct Election {
    pub(crate) title: String,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) seats: usize,
    /// The place of every candidate in the tie-break order. The tied candidate with the lowest
    /// place is defeated.
    pub(crate) tie_break: Vec<usize>,
    /// The source of the tie-break order.
    pub(crate) tie_order: TieOrder,
    pub(crate) ballots: Ballots,
    /// Possible mistakes in the file, each with its line.
    pub(crate) warnings: Vec<String>,
}

/// The way in which a ballot with equal ranks counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum EqualRanks {
    /// As all orders of the equals, each for an equal part of the ballot. No vote is lost
    #[default]
    AllOrders,
    /// As in the counters Droop and stv-rs, for comparisons. Ranks below defeated equals get
    /// nothing, even if they rank a hopeful candidate
    AsDroop,
}

impl EqualRanks {
    /// The name of the way on the command line and in JSON.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::AllOrders => "all-orders",
            Self::AsDroop => "as-droop",
        }
    }

    /// The way in words, for people who read a result.
    pub(crate) fn explained(self) -> &'static str {
        match self {
            Self::AllOrders => "each counts as all orders of its equals, in equal parts",
            Self::AsDroop => "each counts as in Droop, so ranks below defeated equals get nothing",
        }
    }
}

/// The source of a tie-break order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TieOrder {
    /// The order of the list of candidates, because nobody gave another order.
    BallotPaper,
    /// The order in the file.
    File,
    /// An order drawn from this seed.
    Random(u64),
}

impl TieOrder {
    /// The name of the source in JSON.
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
    /// The text beside the name in the file, if it is not blank.
    pub(crate) party: Option<String>,
    pub(crate) withdrawn: bool,
}

/// A line about the ballots on which nobody stands, if there are such ballots.
pub(crate) fn not_counted(empty: &str) -> Option<String> {
    match empty {
        "0" => None,
        "1" => Some("1 empty ballot not counted".to_owned()),
        _ => Some(format!("{empty} empty ballots not counted")),
    }
}

impl Candidate {
    /// The name with the party.
    pub(crate) fn with_party(&self) -> Cow<'_, str> {
        match &self.party {
            Some(party) => format!("{} ({party})", self.name).trim_start().to_owned().into(),
            None => Cow::from(&self.name),
        }
    }
}
