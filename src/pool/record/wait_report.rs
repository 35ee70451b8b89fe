//! What a loop did whose items wait.

use std::{fmt, time::Duration};

/// What a loop did whose items wait, besides what every loop does: see
/// [`On::waiting`](crate::On::waiting). It tells what to change, if anything: a loop that is long
/// asleep, and has as many items in flight as it may have, needs a higher limit; one that is asleep
/// with fewer needs a faster service, or more items.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitReport {
    /// Items that were not done when they were first polled.
    pub waited: usize,
    /// How often items were polled.
    pub polls: usize,
    /// How often an item was polled by another worker than the time before.
    pub resumed_elsewhere: usize,
    /// The most items that were begun and not done at one time, or a little more, since workers are
    /// given places for items a few at a time.
    pub most_in_flight: usize,
    /// For how long workers slept since nothing was to be polled, added up over all of them.
    pub asleep: Duration,
}

impl WaitReport {
    /// Adds what another worker did.
    pub(crate) fn add(&mut self, other: Self) {
        let Self { waited, polls, resumed_elsewhere, most_in_flight, asleep } = other;
        self.waited += waited;
        self.polls += polls;
        self.resumed_elsewhere += resumed_elsewhere;
        self.most_in_flight = self.most_in_flight.max(most_in_flight);
        self.asleep += asleep;
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waited, polls, resumed_elsewhere, most_in_flight, asleep } = self;
        write!(
            f,
            "{waited} items waited, {polls} polls, {resumed_elsewhere} of them elsewhere, \
             {most_in_flight} items in flight at most, asleep for {asleep:.1?}"
        )
    }
}
