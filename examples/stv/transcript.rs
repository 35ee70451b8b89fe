//! The transcript: every action of the count with the votes that led to it, written as the count goes on.

use crate::{
    arithmetic::Arithmetic,
    election::{CandidateIndex, Election},
    error::CountError,
    standing::{Standing, Status},
};
use std::io::Write;

/// Writes one count; a failed write ends the count.
#[derive(Debug)]
pub(crate) struct Transcript<W> {
    out: W,
    package: String,
}

type Written = Result<(), CountError>;

impl<W: Write> Transcript<W> {
    /// `package` is the line that names the program.
    pub(crate) fn new(out: W, package: String) -> Self {
        Self { out, package }
    }

    pub(crate) fn header<A: Arithmetic>(
        &mut self,
        election: &Election,
        quota: &A,
        omega_exponent: u32,
        omega: &A,
    ) -> Written {
        let out = &mut self.out;
        writeln!(out, "\nElection: {}\n", election.title)?;
        writeln!(out, "\t{}", self.package)?;
        writeln!(out, "\tRule: Meek Parametric (omega = 1/10^{omega_exponent})")?;
        writeln!(out, "\tArithmetic: {}", A::DESCRIPTION)?;
        writeln!(out, "\tSeats: {}", election.seats)?;
        writeln!(out, "\tBallots: {}", election.ballots.total())?;
        writeln!(out, "\tQuota: {quota}")?;
        writeln!(out, "\tOmega: {omega}\n")?;
        for candidate in &election.candidates {
            let standing = if candidate.withdrawn { "withdrawn" } else { "eligible" };
            writeln!(out, "\tAdd {standing}: {}", candidate.name)?;
        }
        Ok(())
    }

    pub(crate) fn round(&mut self, round: usize) -> Written {
        Ok(writeln!(self.out, "Round {round}:")?)
    }

    pub(crate) fn stable<A: Arithmetic>(&mut self, surplus: &A) -> Written {
        Ok(writeln!(self.out, "\tStable state detected ({surplus})")?)
    }

    /// An action that concerns one candidate, or all: everybody's votes are shown.
    pub(crate) fn action<A: Arithmetic>(
        &mut self,
        action: &str,
        election: &Election,
        standing: &Standing<A>,
    ) -> Written {
        writeln!(self.out, "Action: {action}")?;
        self.candidates(election, standing)?;
        self.statistics(standing)
    }

    /// The end of a round's iteration: only the sums are shown.
    pub(crate) fn iterated<A: Arithmetic>(&mut self, result: &str, standing: &Standing<A>) -> Written {
        writeln!(self.out, "Action: Iterate ({result})")?;
        self.statistics(standing)
    }

    pub(crate) fn tie<A: Arithmetic>(
        &mut self,
        tied: &[CandidateIndex],
        defeated: CandidateIndex,
        election: &Election,
        standing: &Standing<A>,
    ) -> Written {
        let name = |&candidate: &CandidateIndex| election.candidates[candidate].name.as_str();
        let names: Vec<&str> = tied.iter().map(name).collect();
        writeln!(self.out, "Action: Break tie (defeat): [{}] -> {}", names.join(", "), name(&defeated))?;
        self.statistics(standing)
    }

    pub(crate) fn end(&mut self) -> Written {
        writeln!(self.out)?;
        Ok(self.out.flush()?)
    }

    fn candidates<A: Arithmetic>(&mut self, election: &Election, standing: &Standing<A>) -> Written {
        let name = |candidate: CandidateIndex| &election.candidates[candidate].name;
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
            let names: Vec<&str> = without.into_iter().map(|candidate| name(candidate).as_str()).collect();
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
        // A long count can be watched: every action appears when it is taken.
        Ok(self.out.flush()?)
    }
}
