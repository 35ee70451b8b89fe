//! Meek's method. A round distributes the votes, and lowers the keep factors of the elected
//! candidates, until a candidate is elected or the surplus is small or no longer falls. If the
//! surplus ended the round, a candidate is defeated. This module reads ballots only through
//! `distribute`, and uses no threads.

use crate::{
    arithmetic::{Arithmetic, Fault},
    error::CountError,
    events::{Event, Listener, Scene},
    spread::{KeepFactor, Votes},
    standing::Standing,
    ties::Backwards,
};
use stv_ballots::{Action, By, CandidateIndex, Election, Integer, Iteration, Status, Tied};

/// The user's choices for the count.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Iteration ends when the surplus is at most 10 to the power of minus this.
    pub omega_exponent: u32,
    /// An elected candidate below the quota counts as a surplus of zero, not as a negative surplus.
    pub force_positive_surplus: bool,
    /// Ties are decided by the votes of earlier rounds, if these votes differ.
    pub backwards: bool,
}

/// One distribution of all ballots at the given keep factors.
pub(crate) type Distribute<'a, A> = dyn FnMut(&[KeepFactor<A>]) -> Result<Votes<A>, Fault> + 'a;

/// Counts the election to its end, or to the first error.
pub(crate) fn count<A: Arithmetic, L: Listener<A>>(
    election: &Election,
    rule: Rule,
    distribute: &mut Distribute<'_, A>,
    listener: &mut L,
) -> Result<(), CountError> {
    let candidates = &election.candidates;
    let mut count = Count {
        election,
        rule,
        distribute,
        listener,
        standing: Standing::new(candidates),
        keep: vec![KeepFactor::all(); candidates.len()],
        total: A::one().times_whole(election.ballots.total())?,
        omega: A::one().over_whole(&Integer::from(10_u64.pow(rule.omega_exponent)))?,
        backwards: rule.backwards.then(|| Backwards::new(candidates.len())),
        round: 0,
    };
    count.begin()?;
    while !count.is_decided() {
        count.round()?;
    }
    count.settle_remaining()?;
    count.act(Action::Complete)
}

struct Count<'a, 'd, A, L> {
    election: &'a Election,
    rule: Rule,
    distribute: &'a mut Distribute<'d, A>,
    listener: &'a mut L,
    standing: Standing<A>,
    keep: Vec<KeepFactor<A>>,
    total: A,
    omega: A,
    backwards: Option<Backwards>,
    round: usize,
}

impl<A: Arithmetic, L: Listener<A>> Count<'_, '_, A, L> {
    fn begin(&mut self) -> Result<(), CountError> {
        self.standing.quota = self.quota()?;
        // The first distribution precedes the first event, so a fault in it leaves no transcript.
        self.distribute()?;
        // The count starts with zero exhausted votes, although rounding at equal ranks may already
        // have lost some of the last decimals.
        self.standing.exhausted = A::zero();
        self.remember();
        self.act(Action::Begin)
    }

    /// Remembers these votes for later ties.
    fn remember(&mut self) {
        if let Some(backwards) = &mut self.backwards {
            backwards.add(self.round, &self.standing.votes);
        }
    }

    fn is_decided(&self) -> bool {
        let seats = self.seats_left();
        seats == 0 || self.standing.with(Status::Hopeful).count() == seats
    }

    fn round(&mut self) -> Result<(), CountError> {
        self.round += 1;
        self.tell(&Event::Round)?;
        let iteration = self.iterate()?;
        self.act(Action::Iterate(iteration))?;
        if iteration == Iteration::Elected {
            self.remember();
            return Ok(());
        }
        let lowest = self.lowest()?;
        self.remember();
        self.defeat(lowest, Action::Defeat(lowest, iteration))
    }

    fn iterate(&mut self) -> Result<Iteration, CountError> {
        let mut last = self.total.clone();
        loop {
            self.distribute()?;
            self.standing.quota = self.quota()?;
            let elected = self.elect_at_quota()?;
            self.standing.surplus = self.surplus()?;
            let surplus = &self.standing.surplus;
            if elected {
                return Ok(Iteration::Elected);
            }
            if *surplus <= self.omega {
                return Ok(Iteration::Omega);
            }
            if *surplus >= last {
                self.tell(&Event::Stable)?;
                return Ok(Iteration::Stable);
            }
            last = surplus.clone();
            for candidate in self.standing.with(Status::Elected) {
                self.keep[candidate] =
                    self.keep[candidate].lowered(&self.standing.quota, &self.standing.votes[candidate])?;
            }
        }
    }

    fn distribute(&mut self) -> Result<(), CountError> {
        let votes = (self.distribute)(&self.keep)?;
        (self.standing.votes, self.standing.exhausted) = (votes.of, votes.exhausted);
        self.audit()?;
        self.tell(&Event::Distributed)
    }

    /// Checks, in every build, that the candidates' votes and the exhausted votes add up to all
    /// ballots. A distribution that loses or invents a vote ends the count.
    fn audit(&self) -> Result<(), CountError> {
        let found = self.standing.sum_of_votes()?.plus(&self.standing.exhausted)?;
        if found.balances(&self.total) {
            return Ok(());
        }
        let (found, ballots) = (found.to_string(), self.total.to_string());
        Err(CountError::Unbalanced { round: self.round, found, ballots })
    }

    fn quota(&self) -> Result<A, Fault> {
        let active = self.total.minus(&self.standing.exhausted)?;
        active.over_whole(&Integer::from(self.election.seats as u64 + 1))?.plus(&A::epsilon())
    }

    /// Elects every hopeful at or above the quota. Returns whether there was one.
    fn elect_at_quota(&mut self) -> Result<bool, CountError> {
        let Standing { votes, quota, .. } = &self.standing;
        let electable: Vec<_> = self
            .standing
            .with(Status::Hopeful)
            .filter(|&candidate| votes[candidate].reaches(quota))
            .collect();
        let seats = self.seats_left();
        if electable.len() > seats {
            return Err(CountError::TooManyElectable {
                round: self.round,
                electable: electable.len(),
                seats,
            });
        }
        for &candidate in &electable {
            self.elect(candidate, Action::Elect(candidate))?;
        }
        Ok(!electable.is_empty())
    }

    fn surplus(&self) -> Result<A, Fault> {
        let mut surplus = A::zero();
        for candidate in self.standing.with(Status::Elected) {
            let above = self.standing.votes[candidate].minus(&self.standing.quota)?;
            if above > A::zero() || !self.rule.force_positive_surplus {
                surplus = surplus.plus(&above)?;
            }
        }
        Ok(surplus)
    }

    /// The hopeful with the fewest votes. Another hopeful is tied with the lowest hopeful if the
    /// difference of their votes is at most the surplus, since the surplus could still reverse
    /// their order. A surplus below zero comes from rounding, and counts as zero here.
    fn lowest(&mut self) -> Result<CandidateIndex, CountError> {
        let Standing { votes, surplus, .. } = &self.standing;
        let mut low: Option<&A> = None;
        for candidate in self.standing.with(Status::Hopeful) {
            if low.is_none_or(|low| votes[candidate] < *low) {
                low = Some(&votes[candidate]);
            }
        }
        let limit = low.map(|low| if *surplus > A::zero() { low.plus(surplus) } else { Ok(low.clone()) });
        let limit = limit.transpose()?;
        let is_low = |votes: &A| limit.as_ref().is_some_and(|limit| votes <= limit);
        let tied = self.standing.with(Status::Hopeful).filter(|&candidate| is_low(&votes[candidate]));
        let tied: Tied = tied.collect();
        let (left, round) = match &self.backwards {
            Some(backwards) => backwards.fewest(&tied),
            None => (tied.clone(), None),
        };
        let first = left.iter().min_by_key(|&candidate| self.election.tie_break[candidate]);
        let first =
            first.expect("a round begins with more hopefuls than seats, and one has the fewest votes");
        if tied.number() > 1 {
            let by = By { round, order: (left.number() > 1).then_some(self.election.tie_order) };
            self.act(Action::BreakTie { tied, defeated: first, by })?;
        }
        Ok(first)
    }

    /// Elects hopefuls below the quota while seats are left. Defeats the other hopefuls.
    fn settle_remaining(&mut self) -> Result<(), CountError> {
        let remaining: Vec<_> = self.standing.with(Status::Hopeful).collect();
        for candidate in remaining {
            if self.seats_left() > 0 {
                self.elect(candidate, Action::ElectRemaining(candidate))?;
                self.distribute()?;
            } else {
                self.defeat(candidate, Action::DefeatRemaining(candidate))?;
            }
        }
        Ok(())
    }

    fn elect(&mut self, candidate: CandidateIndex, action: Action) -> Result<(), CountError> {
        self.standing.status[candidate] = Status::Elected;
        self.act(action)
    }

    /// Shows the candidate with its votes. Then passes these votes on to the other candidates.
    fn defeat(&mut self, candidate: CandidateIndex, action: Action) -> Result<(), CountError> {
        self.standing.status[candidate] = Status::Defeated;
        self.act(action)?;
        self.keep[candidate] = KeepFactor::none();
        self.distribute()?;
        self.tell(&Event::Transferred)
    }

    fn act(&mut self, action: Action) -> Result<(), CountError> {
        self.tell(&Event::Act(action))
    }

    fn tell(&mut self, event: &Event) -> Result<(), CountError> {
        let scene = Scene {
            election: self.election,
            standing: &self.standing,
            keep: &self.keep,
            round: self.round,
            omega_exponent: self.rule.omega_exponent,
            omega: &self.omega,
        };
        self.listener.hear(event, &scene)
    }

    fn seats_left(&self) -> usize {
        self.election.seats - self.standing.with(Status::Elected).count()
    }
}

#[cfg(test)]
mod tests;
