//! The record of a count: every action with its numbers, and every transfer of votes. JSON, CSV and
//! the page are made from it.
//!
//! Numbers are kept as the arithmetic prints them, so that no output rounds them again.

use stv_ballots::{Action, CandidateIndex, Cause, Status, called_by_name};
use stv_count::{Arithmetic, CountError, Event, Listener, Scene};
use stv_page::{Recipe, Record, State, Step, Transfer};

/// The largest size of a record in bytes, in memory or as JSON. Nobody could read a larger record.
const MOST: usize = 1 << 30;
/// The bytes that JSON puts around the numbers of a candidate, or around a change of a transfer.
const AROUND: usize = 60;

/// Writes the record as the count goes on.
#[derive(Debug)]
pub(crate) struct Recorder<A> {
    pub(crate) record: Record,
    /// Whether an output needs the states of all candidates at every step.
    shows_everybody: bool,
    /// The votes after the last transfer.
    before: Option<Placement<A>>,
    /// The numbers of the last step.
    last: Vec<(Status, A, A)>,
    /// The size in bytes of the numbers of all candidates in JSON.
    everybody: usize,
    /// The size of the record so far, in bytes.
    bytes: usize,
    pub(super) most: usize,
}

#[derive(Debug)]
struct Placement<A> {
    votes: Vec<A>,
    exhausted: A,
    keep: Vec<A>,
}

impl<A: Arithmetic> Recorder<A> {
    pub(crate) fn new(package: String, recipe: Recipe, shows_everybody: bool) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let record = Record { version, package, recipe, ..Record::default() };
        Self { record, shows_everybody, before: None, last: Vec::new(), everybody: 0, bytes: 0, most: MOST }
    }

    fn header(&mut self, scene: &Scene<'_, A>) {
        let (record, election) = (&mut self.record, scene.election);
        record.title.clone_from(&election.title);
        A::DESCRIPTION.clone_into(&mut record.arithmetic);
        record.omega_exponent = scene.omega_exponent;
        record.omega = scene.omega.to_string();
        record.seats = election.seats;
        record.ballots = election.ballots.total().to_string();
        record.empty_ballots = election.ballots.turnout().empty.to_string();
        record.with_equal_ranks = election.ballots.turnout().with_equal_ranks.to_string();
        record.equal_ranks = election.ballots.equal_ranks;
        record.candidates.clone_from(&election.candidates);
        record.names = called_by_name(&election.candidates);
        record.warnings.clone_from(&election.warnings);
        record.tie_order = Some(election.tie_order);
        record.tie_break = (0..election.candidates.len()).collect();
        record.tie_break.sort_by_key(|&candidate| election.tie_break[candidate]);
    }

    /// The states that have changed since the last step.
    fn changed(&mut self, scene: &Scene<'_, A>) -> Vec<(CandidateIndex, State)> {
        let standing = scene.standing;
        let states = self.record.steps.last().map(|step| step.states.clone()).unwrap_or_default();
        let mut changed = Vec::new();
        for (candidate, votes) in standing.votes.iter().enumerate() {
            let (status, keep) = (standing.status[candidate], scene.keep[candidate].kept());
            let (text_of_votes, text_of_keep) = match self.last.get(candidate) {
                None => (votes.to_string().into(), keep.to_string().into()),
                Some((had, had_votes, had_keep)) => {
                    if *had == status && had_votes == votes && had_keep == keep {
                        continue;
                    }
                    let before = &states[candidate];
                    self.everybody -= before.votes.len() + before.keep.len() + AROUND;
                    (
                        if had_votes == votes { before.votes.clone() } else { votes.to_string().into() },
                        if had_keep == keep { before.keep.clone() } else { keep.to_string().into() },
                    )
                }
            };
            let state = State { status, votes: text_of_votes, keep: text_of_keep };
            self.everybody += state.votes.len() + state.keep.len() + AROUND;
            changed.push((candidate, state));
            let now = (status, votes.clone(), keep.clone());
            match self.last.get_mut(candidate) {
                Some(last) => *last = now,
                None => self.last.push(now),
            }
        }
        changed
    }

    /// Adds to the size of the record. A record that becomes too large ends the count.
    fn takes(&mut self, bytes: usize, round: usize) -> Result<(), CountError> {
        self.bytes = self.bytes.saturating_add(bytes);
        if self.bytes <= self.most {
            return Ok(());
        }
        Err(CountError::TooLarge { round, everybody: self.shows_everybody })
    }

    fn step(&mut self, action: &Action, scene: &Scene<'_, A>) -> Result<(), CountError> {
        let standing = scene.standing;
        let votes = standing.sum_of_votes()?;
        let changed = self.changed(scene);
        let before = self.record.steps.last().map(|step| step.states.clone()).unwrap_or_default();
        let (states, bytes) = before.after(changed);
        let tied = if let Action::BreakTie { tied, .. } = action { tied.number() * 6 } else { 0 };
        let written = if self.shows_everybody { self.everybody } else { 0 };
        self.takes(bytes.max(written) + tied + AROUND * 4, scene.round)?;
        self.record.steps.push(Step {
            round: scene.round,
            action: action.clone(),
            quota: standing.quota.to_string(),
            votes: votes.to_string(),
            residual: standing.exhausted.to_string(),
            total: votes.plus(&standing.exhausted)?.to_string(),
            surplus: standing.surplus.to_string(),
            states,
        });
        Ok(())
    }

    /// Records the difference between the votes now and after the last transfer.
    fn transfer(&mut self, cause: Cause, scene: &Scene<'_, A>) -> Result<(), CountError> {
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
        let bytes: usize = changes.iter().map(|(_, change)| change.len() + AROUND).sum();
        self.takes(bytes, scene.round)?;
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
                // Keeps the votes from before the count begins, since their residual still includes
                // the rounding losses of equal ranks.
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
