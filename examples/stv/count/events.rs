//! The events of a count for its listeners: the transcript, the record behind the other outputs, a
//! trace, a progress bar.

use crate::{error::CountError, spread::KeepFactor, standing::Standing};
use stv_ballots::{Action, Election};

/// Hears every event of a count in order. An error ends the count.
pub trait Listener<A> {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError>;
}

/// The state of the count at an event.
#[derive(Debug)]
pub struct Scene<'a, A> {
    pub election: &'a Election,
    pub standing: &'a Standing<A>,
    pub keep: &'a [KeepFactor<A>],
    /// The number of the round, from 1, or 0 before the first round.
    pub round: usize,
    pub omega_exponent: u32,
    pub omega: &'a A,
}

#[derive(Debug)]
pub enum Event {
    /// All ballots have been distributed at these keep factors.
    Distributed,
    Round,
    /// The surplus no longer shrinks.
    Stable,
    Act(Action),
    /// The votes of the candidate just defeated have moved to the others.
    Transferred,
}

/// Several listeners hear an event one after the other.
impl<A> Listener<A> for Vec<&mut dyn Listener<A>> {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError> {
        self.iter_mut().try_for_each(|listener| listener.hear(event, scene))
    }
}
