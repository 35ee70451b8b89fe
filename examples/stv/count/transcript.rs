//! The transcript: every action of the count with the votes that led to it, written as the count
//! goes on.

use crate::{
    arithmetic::Arithmetic,
    error::CountError,
    events::{Event, Listener, Scene},
    standing::Standing,
};
use std::io::Write;
use stv_ballots::{Action, CandidateIndex, Iteration, Status, called, not_counted, plural, printable};

/// Writes the transcript of one count. A failed write ends the count.
#[derive(Debug)]
pub struct Transcript<W> {
    out: W,
    package: String,
    /// The texts for the candidates, once the count has begun.
    names: Vec<String>,
    explains_ties: bool,
    /// The elected in their order, if a summary ends the transcript.
    elected: Option<Vec<String>>,
}

type Written = Result<(), CountError>;

impl<W: Write> Transcript<W> {
    /// Creates a transcript. `package` is the transcript's line about the program.
    pub fn new(out: W, package: String) -> Self {
        Self { out, package, names: Vec::new(), explains_ties: false, elected: None }
    }

    /// Adds the reason of every tie, on a line of its own.
    pub fn explaining_ties(mut self, explains_ties: bool) -> Self {
        self.explains_ties = explains_ties;
        self
    }

    /// Adds three lines for people at the end: who is elected, in which order, and of how many
    /// ballots.
    pub fn summarised(mut self, summarised: bool) -> Self {
        self.elected = summarised.then(Vec::new);
        self
    }

    fn header<A: Arithmetic>(&mut self, scene: &Scene<'_, A>) -> Written {
        let (out, election) = (&mut self.out, scene.election);
        writeln!(out, "\nElection: {}\n", printable(&election.title))?;
        writeln!(out, "\t{}", self.package)?;
        writeln!(out, "\tRule: Meek Parametric (omega = 1/10^{})", scene.omega_exponent)?;
        writeln!(out, "\tArithmetic: {}", A::DESCRIPTION)?;
        writeln!(out, "\tSeats: {}", election.seats)?;
        writeln!(out, "\tBallots: {}", election.ballots.total())?;
        writeln!(out, "\tQuota: {}", scene.standing.quota)?;
        writeln!(out, "\tOmega: {}\n", scene.omega)?;
        self.names = called(&election.candidates);
        for (candidate, name) in election.candidates.iter().zip(&self.names) {
            let standing = if candidate.withdrawn { "withdrawn" } else { "eligible" };
            writeln!(out, "\tAdd {standing}: {name}")?;
        }
        Ok(())
    }

    /// Writes one action. `Iterate` and `BreakTie` show only the sums. All other actions also show
    /// the votes of all candidates.
    fn action<A: Arithmetic>(&mut self, action: &Action, scene: &Scene<'_, A>) -> Written {
        let standing = scene.standing;
        let name = |candidate: CandidateIndex| self.names[candidate].as_str();
        let what = match *action {
            Action::Begin => "Begin Count".to_owned(),
            Action::Elect(candidate) => format!("Elect: {}", name(candidate)),
            Action::Iterate(iteration) => format!("Iterate ({})", iteration.name()),
            Action::BreakTie { ref tied, defeated, .. } => {
                let tied: Vec<&str> = tied.iter().map(name).collect();
                format!("Break tie (defeat): [{}] -> {}", tied.join(", "), name(defeated))
            }
            Action::Defeat(candidate, Iteration::Stable) => {
                format!("Defeat (stable surplus {}): {}", standing.surplus, name(candidate))
            }
            Action::Defeat(candidate, _) => {
                format!("Defeat (surplus {} < omega): {}", standing.surplus, name(candidate))
            }
            Action::ElectRemaining(candidate) => format!("Elect remaining: {}", name(candidate)),
            Action::DefeatRemaining(candidate) => format!("Defeat remaining: {}", name(candidate)),
            Action::Complete => "Count Complete".to_owned(),
        };
        writeln!(self.out, "Action: {what}")?;
        if let Action::BreakTie { by, .. } = action
            && self.explains_ties
        {
            writeln!(self.out, "\tDecided by: {by}")?;
        }
        if !matches!(action, Action::Iterate(_) | Action::BreakTie { .. }) {
            self.candidates(standing)?;
        }
        self.statistics(standing)
    }

    /// Remembers who is elected when, for the summary.
    fn remember(&mut self, action: &Action, round: usize) {
        let when = match action {
            Action::Elect(_) => format!("in round {round}"),
            _ => "at the end".to_owned(),
        };
        if let (Action::Elect(candidate) | Action::ElectRemaining(candidate), Some(elected)) =
            (action, &mut self.elected)
        {
            elected.push(format!("{} {when}", self.names[*candidate]));
        }
    }

    fn summary<A: Arithmetic>(&mut self, elected: &[String], scene: &Scene<'_, A>) -> Written {
        let election = scene.election;
        let winners = scene.standing.with(Status::Elected).map(|candidate| &self.names[candidate][..]);
        let standing = election.candidates.iter().filter(|candidate| !candidate.withdrawn).count();
        let (winners, of) = (winners.collect::<Vec<_>>().join(", "), plural(standing, "candidate"));
        writeln!(self.out, "Elected: {winners} ({} of {of})", elected.len())?;
        writeln!(self.out, "In this order: {}", elected.join(", "))?;
        let ballots = election.ballots.turnout();
        let empty = not_counted(&ballots.empty.to_string());
        let empty = empty.map_or_else(String::new, |empty| format!("; {empty}"));
        Ok(writeln!(self.out, "Ballots: {} counted{empty}", ballots.total)?)
    }

    fn candidates<A: Arithmetic>(&mut self, standing: &Standing<A>) -> Written {
        let name = |candidate: CandidateIndex| self.names[candidate].as_str();
        for (label, status) in [("Elected: ", Status::Elected), ("Hopeful: ", Status::Hopeful)] {
            for candidate in standing.with(status) {
                writeln!(self.out, "\t{label} {} ({})", name(candidate), standing.votes[candidate])?;
            }
        }
        let (without, with): (Vec<_>, Vec<_>) =
            standing.with(Status::Defeated).partition(|&candidate| standing.votes[candidate].is_zero());
        for candidate in with {
            writeln!(self.out, "\tDefeated: {} ({})", name(candidate), standing.votes[candidate])?;
        }
        if !without.is_empty() {
            let names: Vec<&str> = without.into_iter().map(name).collect();
            writeln!(self.out, "\tDefeated: {} ({})", names.join(", "), A::zero())?;
        }
        Ok(())
    }

    fn statistics<A: Arithmetic>(&mut self, standing: &Standing<A>) -> Written {
        let votes = standing.sum_of_votes()?;
        writeln!(self.out, "\tQuota: {}", standing.quota)?;
        writeln!(self.out, "\tVotes: {votes}")?;
        writeln!(self.out, "\tResidual: {}", standing.exhausted)?;
        writeln!(self.out, "\tTotal: {}", votes.plus(&standing.exhausted)?)?;
        writeln!(self.out, "\tSurplus: {}", standing.surplus)?;
        // Every action appears at once, so that a long count can be watched.
        Ok(self.out.flush()?)
    }
}

impl<A: Arithmetic, W: Write> Listener<A> for Transcript<W> {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Written {
        match event {
            Event::Distributed | Event::Transferred => {}
            Event::Round => writeln!(self.out, "Round {}:", scene.round)?,
            Event::Stable => {
                writeln!(self.out, "\tStable state detected ({})", scene.standing.surplus)?;
            }
            Event::Act(action) => {
                if *action == Action::Begin {
                    self.header(scene)?;
                }
                self.action(action, scene)?;
                self.remember(action, scene.round);
                if *action == Action::Complete {
                    writeln!(self.out)?;
                    if let Some(elected) = self.elected.take() {
                        self.summary(&elected, scene)?;
                    }
                    self.out.flush()?;
                }
            }
        }
        Ok(())
    }
}
