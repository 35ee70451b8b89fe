//! An election to count: candidates, seats, tie-break order and ballots.

mod ballots;
mod called;

use crate::ties::TieOrder;
pub use ballots::{Ballot, Ballots, Preference, Preferences, Turnout};
pub use called::{called, called_by_name};
use std::borrow::Cow;

/// A candidate's place in the list of candidates, from 0.
pub type CandidateIndex = usize;

/// The data that a count needs.
#[derive(Debug)]
pub struct Election {
    /// The title, or an empty text.
    pub title: String,
    /// The candidates, in the order of the ballot paper.
    pub candidates: Vec<Candidate>,
    /// The number of seats.
    pub seats: usize,
    /// The place of every candidate in the tie-break order. The tied candidate with the lowest
    /// place is defeated.
    pub tie_break: Vec<usize>,
    /// The source of the tie-break order.
    pub tie_order: TieOrder,
    /// All ballots that rank somebody who stands.
    pub ballots: Ballots,
    /// Possible mistakes in the file, each with its line.
    pub warnings: Vec<String>,
}

named! {
    /// The way in which a ballot with equal ranks counts.
    #[derive(Default)]
    EqualRanks {
        /// As all orders of the equals, each for an equal part of the ballot. No vote is lost
        AllOrders = "all-orders" default,
        /// As in the counters Droop and stv-rs, for comparisons. Ranks below defeated equals get
        /// nothing, even if they rank a hopeful candidate
        AsDroop = "as-droop",
    }
}

impl EqualRanks {
    /// The way in words, for people who read a result.
    pub fn explained(self) -> &'static str {
        match self {
            Self::AllOrders => "each counts as all orders of its equals, in equal parts",
            Self::AsDroop => "each counts as in Droop, so ranks below defeated equals get nothing",
        }
    }
}

/// A candidate, as the file names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The text of the file.
    pub name: String,
    /// The text beside the name in the file, if it is not blank.
    pub party: Option<String>,
    /// Whether the candidate does not stand.
    pub withdrawn: bool,
}

/// A line about the ballots on which nobody stands, if there are such ballots.
pub fn not_counted(empty: &str) -> Option<String> {
    match empty {
        "0" => None,
        "1" => Some("1 empty ballot not counted".to_owned()),
        _ => Some(format!("{empty} empty ballots not counted")),
    }
}

impl Candidate {
    /// The name with the party.
    pub fn with_party(&self) -> Cow<'_, str> {
        match &self.party {
            Some(party) => format!("{} ({party})", self.name).trim_start().to_owned().into(),
            None => Cow::from(&self.name),
        }
    }
}
