//! The result of a count: every action with its numbers, and every transfer of votes.

use super::{recipe::Recipe, states::States};
use stv_ballots::{Action, Candidate, CandidateIndex, Cause, EqualRanks, TieOrder, plural};

/// The result of a count. Numbers are texts, as the arithmetic prints them.
#[derive(Debug, Default)]
pub struct Record {
    /// The version of the program that counted.
    pub version: String,
    pub title: String,
    pub package: String,
    pub arithmetic: String,
    pub omega_exponent: u32,
    pub omega: String,
    pub seats: usize,
    pub ballots: String,
    /// The number of ballots on which nobody stands.
    pub empty_ballots: String,
    /// The number of ballots with equal ranks, and the way in which these count.
    pub with_equal_ranks: String,
    pub equal_ranks: EqualRanks,
    pub candidates: Vec<Candidate>,
    /// The names of the candidates in outputs with a separate field for the party.
    pub names: Vec<String>,
    pub tie_order: Option<TieOrder>,
    /// The order that decides ties. The first candidate is defeated first.
    pub tie_break: Vec<CandidateIndex>,
    pub warnings: Vec<String>,
    /// Instructions to repeat the count.
    pub recipe: Recipe,
    pub steps: Vec<Step>,
    pub transfers: Vec<Transfer>,
    /// The winners in the order of their election.
    pub elected: Vec<CandidateIndex>,
}

/// An action, and the state of the count at that time.
#[derive(Debug)]
pub struct Step {
    pub round: usize,
    pub action: Action,
    pub quota: String,
    pub votes: String,
    pub residual: String,
    pub total: String,
    pub surplus: String,
    pub states: States,
}

/// Votes that moved because keep factors changed between two distributions.
#[derive(Debug, PartialEq, Eq)]
pub struct Transfer {
    pub round: usize,
    pub cause: Cause,
    /// The candidates whose keep factor changed. If only one factor changed, all moved votes came
    /// from its candidate. If several factors changed, `changes` are net, since each of these
    /// candidates may have given and received votes.
    pub from: Vec<CandidateIndex>,
    /// The candidates whose votes changed, with the differences. The differences and `exhausted`
    /// add up to zero.
    pub changes: Vec<(CandidateIndex, String)>,
    /// The growth of the residual.
    pub exhausted: String,
}

impl Record {
    /// The SHA-256 of the input.
    pub fn sha256(&self) -> Option<&str> {
        self.recipe.sha256.as_deref()
    }

    /// The numbers of winners and steps, in words.
    pub fn size(&self) -> String {
        format!("{} and {}", plural(self.elected.len(), "winner"), plural(self.steps.len(), "step"))
    }

    /// The candidates that JSON and CSV show at this step.
    pub fn shown_at(&self, step: usize) -> Vec<CandidateIndex> {
        let states = &self.steps[step].states;
        match step.checked_sub(1) {
            Some(before) if self.recipe.only_changes => {
                states.changed_since(&self.steps[before].states).collect()
            }
            _ => (0..self.candidates.len()).collect(),
        }
    }
}

impl Step {
    /// The name of the action in JSON and CSV, and its candidate.
    pub fn action(&self) -> (&'static str, Option<CandidateIndex>) {
        match &self.action {
            Action::Begin => ("begin", None),
            Action::Elect(candidate) => ("elect", Some(*candidate)),
            Action::Iterate(_) => ("iterate", None),
            Action::BreakTie { defeated, .. } => ("break tie", Some(*defeated)),
            Action::Defeat(candidate, _) => ("defeat", Some(*candidate)),
            Action::ElectRemaining(candidate) => ("elect remaining", Some(*candidate)),
            Action::DefeatRemaining(candidate) => ("defeat remaining", Some(*candidate)),
            Action::Complete => ("complete", None),
        }
    }
}
