//! The messages on the ties of a count, on standard error: each tie with its reason.

use std::fmt::Write;
use stv_ballots::{Action, By, CandidateIndex, Election, TieOrder, Tied, called};
use stv_count::{CountError, Event, Listener, Scene};

/// The most ties with a line of their own. Each line has some of the names, in a short form. The
/// record has all ties and names.
const MOST_TIES: usize = 20;
const MOST_NAMES: usize = 4;
const MOST_LETTERS: usize = 40;

/// A listener for ties.
#[derive(Debug)]
pub(crate) struct Ties {
    /// Whether an event that would cause a warning ends the count.
    pub(super) is_strict: bool,
    /// Whether the user has chosen ballot-paper order.
    is_order_given: bool,
    number: usize,
    lines: Vec<String>,
    /// The warning that a default order has decided a tie.
    pub(super) warning: Option<String>,
}

impl Ties {
    pub(crate) fn new(is_strict: bool, is_order_given: bool) -> Self {
        Self { is_strict, is_order_given, number: 0, lines: Vec::new(), warning: None }
    }

    /// Prints the warning and the ties on standard error.
    pub(super) fn tell(&self) {
        if let Some(warning) = &self.warning {
            log::warn!("{warning}");
        }
        for line in &self.lines {
            eprintln!("stv: {line}");
        }
        let more = self.number - self.lines.len();
        if more > 0 {
            eprintln!("stv: and {more} more ties, all of which --format json shows");
        }
    }

    fn warn(&mut self, round: usize) -> Result<(), CountError> {
        let warning = format!(
            "round {round}: a tie is decided by ballot-paper order, which neither the file nor --tie has asked for; \
             draw an order with --tie random:SEED, or say --tie order if this one is meant"
        );
        if self.is_strict {
            return Err(CountError::Strict(warning));
        }
        self.warning = Some(warning);
        Ok(())
    }
}

fn line(election: &Election, round: usize, tied: &Tied, defeated: CandidateIndex, by: By) -> String {
    let names = called(&election.candidates);
    let name = |candidate: CandidateIndex| {
        let name = &names[candidate];
        let cut: String = name.chars().take(MOST_LETTERS).collect();
        if cut.len() < name.len() { format!("{cut}… [{}]", candidate + 1) } else { cut }
    };
    let mut all = tied.iter().take(MOST_NAMES).map(name).collect::<Vec<_>>().join(", ");
    if tied.number() > MOST_NAMES {
        let _ = write!(all, " and {} more", tied.number() - MOST_NAMES);
    }
    format!("round {round}: tie of {all}, decided by {by}: {} is defeated", name(defeated))
}

impl<A> Listener<A> for Ties {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError> {
        let Event::Act(Action::BreakTie { tied, defeated, by }) = event else { return Ok(()) };
        self.number += 1;
        if self.lines.len() < MOST_TIES {
            self.lines.push(line(scene.election, scene.round, tied, *defeated, *by));
        }
        if by.order == Some(TieOrder::BallotPaper) && !self.is_order_given && self.warning.is_none() {
            self.warn(scene.round)?;
        }
        Ok(())
    }
}
