//! A progress bar for counts that take longer than a second, on terminals only.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::{
    io::{self, IsTerminal},
    time::{Duration, Instant},
};
use stv_count::{Action, Arithmetic, CountError, Event, Listener, Scene, Status};

/// Shorter counts show no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar with the decided candidates out of all, and the numbers of rounds and distributions. The
/// number of rounds to come is unknown.
#[derive(Debug)]
pub(crate) struct Progress {
    start: Instant,
    bar: Option<ProgressBar>,
    distributions: usize,
}

impl Progress {
    /// Returns `None` if a bar would disturb: if standard error is not a terminal, or if the
    /// transcript appears on the same terminal.
    pub(crate) fn new(writes_as_it_counts: bool) -> Option<Self> {
        let is_wanted = io::stderr().is_terminal() && !(writes_as_it_counts && io::stdout().is_terminal());
        is_wanted.then(|| Self { start: Instant::now(), bar: None, distributions: 0 })
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }

    fn show(&mut self, decided: usize, of: usize, round: usize) {
        let bar = self.bar.get_or_insert_with(|| {
            let bar = ProgressBar::with_draw_target(Some(of as u64), ProgressDrawTarget::stderr());
            let style = ProgressStyle::with_template("{bar:30} {pos} of {len} candidates decided, {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar
        });
        bar.set_position(decided as u64);
        bar.set_message(format!("round {round}, {} distributions", self.distributions));
    }
}

impl<A: Arithmetic> Listener<A> for Progress {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError> {
        match event {
            Event::Distributed => {
                self.distributions += 1;
                if self.start.elapsed() > PATIENCE {
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
