//! The record of a count: every action with the numbers it was taken on, and every transfer of
//! votes. JSON, CSV and the page are made from it.
//!
//! Numbers are kept as the arithmetic prints them, so that nothing below this file can round them
//! again.

use crate::{
    arithmetic::{Arithmetic, Fault},
    election::{Candidate, CandidateIndex, called_by_name},
    error::CountError,
    events::{Action, Event, Listener, Scene},
    standing::Status,
};

#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(super) title: String,
    pub(super) package: String,
    pub(super) arithmetic: &'static str,
    pub(super) omega_exponent: u32,
    pub(super) omega: String,
    pub(super) seats: usize,
    pub(super) ballots: String,
    pub(super) candidates: Vec<Candidate>,
    /// What they are called where their party has a place of its own.
    pub(super) names: Vec<String>,
    pub(super) steps: Vec<Step>,
    pub(super) transfers: Vec<Transfer>,
    /// In the order of their election.
    pub(super) elected: Vec<CandidateIndex>,
}

/// An action, and where the count stood when it was taken.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) round: usize,
    pub(super) action: Action,
    pub(super) quota: String,
    pub(super) votes: String,
    pub(super) residual: String,
    pub(super) total: String,
    pub(super) surplus: String,
    /// One for each candidate, in candidate order.
    pub(super) states: Vec<State>,
}

#[derive(Debug)]
pub(super) struct State {
    pub(super) status: Status,
    pub(super) votes: String,
    pub(super) keep: String,
}

/// Votes that moved because keep factors changed between two distributions.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Transfer {
    pub(super) round: usize,
    pub(super) cause: Cause,
    /// Whose keep factor changed. If it was one candidate's, all that moved came from there. If
    /// there were several, the changes are net: each of them may have received from the others
    /// while it gave.
    pub(super) from: Vec<CandidateIndex>,
    /// Who had more or fewer votes afterwards, and by how much. These and `exhausted` add up to
    /// nothing.
    pub(super) changes: Vec<(CandidateIndex, String)>,
    /// What the residual grew by.
    pub(super) exhausted: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// The elected passed on what they had above the quota.
    Surplus,
    Defeat,
    /// Those who were hopeful when the last seat was filled leave the count.
    NoSeatLeft,
}

/// Writes the record as the count goes on.
#[derive(Debug)]
pub(crate) struct Recorder<A> {
    pub(crate) record: Record,
    /// Where the votes were after the last transfer.
    before: Option<Placement<A>>,
}

#[derive(Debug)]
struct Placement<A> {
    votes: Vec<A>,
    exhausted: A,
    keep: Vec<A>,
}

impl<A: Arithmetic> Recorder<A> {
    pub(crate) fn new(package: String) -> Self {
        Self { record: Record { package, ..Record::default() }, before: None }
    }

    fn header(&mut self, scene: &Scene<'_, A>) {
        let (record, election) = (&mut self.record, scene.election);
        record.title.clone_from(&election.title);
        record.arithmetic = A::DESCRIPTION;
        record.omega_exponent = scene.omega_exponent;
        record.omega = scene.omega.to_string();
        record.seats = election.seats;
        record.ballots = election.ballots.total().to_string();
        record.candidates.clone_from(&election.candidates);
        record.names = called_by_name(&election.candidates);
    }

    fn step(&mut self, action: &Action, scene: &Scene<'_, A>) -> Result<(), Fault> {
        let standing = scene.standing;
        let votes = standing.sum_of_votes()?;
        let states = (0..standing.votes.len()).map(|candidate| State {
            status: standing.status[candidate],
            votes: standing.votes[candidate].to_string(),
            keep: scene.keep[candidate].kept().to_string(),
        });
        self.record.steps.push(Step {
            round: scene.round,
            action: action.clone(),
            quota: standing.quota.to_string(),
            votes: votes.to_string(),
            residual: standing.exhausted.to_string(),
            total: votes.plus(&standing.exhausted)?.to_string(),
            surplus: standing.surplus.to_string(),
            states: states.collect(),
        });
        Ok(())
    }

    /// Compares where the votes are with where they were after the last transfer.
    fn transfer(&mut self, cause: Cause, scene: &Scene<'_, A>) -> Result<(), Fault> {
        let now = Placement::of(scene);
        let Some(before) = self.before.replace(now) else { return Ok(()) };
        let mut changes = Vec::new();
        for (candidate, (votes, had)) in scene.standing.votes.iter().zip(&before.votes).enumerate() {
            let change = votes.minus(had)?;
            if !change.is_zero() {
                changes.push((candidate, change.to_string()));
            }
        }
        let exhausted = scene.standing.exhausted.minus(&before.exhausted)?;
        if changes.is_empty() && exhausted.is_zero() {
            return Ok(());
        }
        let changed = |&candidate: &CandidateIndex| *scene.keep[candidate].kept() != before.keep[candidate];
        let from = (0..before.keep.len()).filter(changed).collect();
        let exhausted = exhausted.to_string();
        self.record.transfers.push(Transfer { round: scene.round, cause, from, changes, exhausted });
        Ok(())
    }
}

impl<A: Arithmetic> Placement<A> {
    fn of(scene: &Scene<'_, A>) -> Self {
        Self {
            votes: scene.standing.votes.clone(),
            exhausted: scene.standing.exhausted.clone(),
            keep: scene.keep.iter().map(|factor| factor.kept().clone()).collect(),
        }
    }
}

impl<A: Arithmetic> Listener<A> for Recorder<A> {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError> {
        match event {
            Event::Distributed => {
                // Before the count begins, when the residual is still what the ballots really had
                // left.
                self.before.get_or_insert_with(|| Placement::of(scene));
            }
            Event::Round | Event::Stable => {}
            Event::Transferred => {
                let last = self.record.steps.last().map(|step| &step.action);
                let filled = matches!(last, Some(Action::DefeatRemaining(_)));
                self.transfer(if filled { Cause::NoSeatLeft } else { Cause::Defeat }, scene)?;
            }
            Event::Act(action) => {
                match action {
                    Action::Begin => self.header(scene),
                    Action::Iterate(_) => self.transfer(Cause::Surplus, scene)?,
                    Action::Elect(candidate) | Action::ElectRemaining(candidate) => {
                        self.record.elected.push(*candidate);
                    }
                    _ => {}
                }
                self.step(action, scene)?;
            }
        }
        Ok(())
    }
}

impl Step {
    /// The action in a word or two, as JSON and CSV call it, and whom it concerns.
    pub(super) fn action(&self) -> (&'static str, Option<CandidateIndex>) {
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
