//! A progress bar for counts that take longer than a second, on terminals only.

use std::{
    io::{self, IsTerminal, Write},
    time::{Duration, Instant},
};
use stv_ballots::{Action, Status};
use stv_count::{Arithmetic, CountError, Event, Listener, Scene};

/// Shorter counts show no bar.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two bars.
const PAUSE: Duration = Duration::from_millis(100);
/// The width of the bar in characters.
const WIDTH: usize = 30;

/// A bar with the decided candidates out of all, and the numbers of rounds and distributions. The
/// number of rounds to come is unknown.
#[derive(Debug)]
pub(crate) struct Progress {
    /// When the next bar is due.
    due: Instant,
    is_shown: bool,
    distributions: usize,
}

impl Progress {
    /// Returns `None` if a bar would disturb: if standard error is not a terminal, or if the
    /// transcript appears on the same terminal.
    pub(crate) fn new(writes_as_it_counts: bool) -> Option<Self> {
        let is_wanted = io::stderr().is_terminal() && !(writes_as_it_counts && io::stdout().is_terminal());
        is_wanted.then(|| Self { due: Instant::now() + PATIENCE, is_shown: false, distributions: 0 })
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            write("");
        }
    }

    fn show(&mut self, decided: usize, of: usize, round: usize) {
        let bar = line(decided, of);
        write(&format!(
            "{bar} {decided} of {of} candidates decided, round {round}, {} distributions",
            self.distributions
        ));
        (self.due, self.is_shown) = (Instant::now() + PAUSE, true);
    }
}

/// The bar without its text.
fn line(decided: usize, of: usize) -> String {
    let done = WIDTH * decided / of.max(1);
    "█".repeat(done) + &"░".repeat(WIDTH - done)
}

/// Replaces the line of the terminal. A bar that cannot be written is left out.
fn write(text: &str) {
    let mut terminal = io::stderr().lock();
    let _ = write!(terminal, "\r{text}\x1b[K").and_then(|()| terminal.flush());
}

impl<A: Arithmetic> Listener<A> for Progress {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError> {
        match event {
            Event::Distributed => {
                self.distributions += 1;
                if Instant::now() > self.due {
                    let hopeful = scene.standing.with(Status::Hopeful).count();
                    let withdrawn = scene.standing.with(Status::Withdrawn).count();
                    let all = scene.keep.len() - withdrawn;
                    self.show(all - hopeful, all, scene.round);
                }
            }
            Event::Act(Action::Complete) => self.clear(),
            _ => {}
        }
        Ok(())
    }
}

impl Drop for Progress {
    /// Clears the line for later output, after failed counts too.
    fn drop(&mut self) {
        self.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_grows_to_its_width() {
        for (decided, of, done) in [(0, 8, 0), (4, 8, 15), (8, 8, 30), (0, 0, 0)] {
            let bar = line(decided, of);
            assert_eq!((bar.matches('█').count(), bar.chars().count()), (done, WIDTH));
        }
    }
}
