//! The table of the ways, and a progress bar.

use std::{
    error::Error,
    sync::mpsc::{RecvTimeoutError, channel},
    thread,
    time::{Duration, Instant},
};

use indicatif::ProgressBar;
use rangesteal::Progress;

use crate::{cpu, pages::Sum, server::Server};

/// Prints the time of each way, and its ratio to the first way.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    server: &'a Server,
    /// Milliseconds per page of the first way.
    first: Option<f64>,
}

impl<'a> Table<'a> {
    pub(crate) fn new(server: &'a Server) -> Self {
        println!("\n  way         threads  pages       wall       CPU   per page  ratio  sum");
        Self { server, first: None }
    }

    /// Runs `way` for this many pages, and prints its row.
    pub(crate) fn measure(
        &mut self,
        (name, threads): (String, usize),
        pages: usize,
        way: impl FnOnce() -> Result<Sum, Box<dyn Error>>,
    ) -> Result<Sum, Box<dyn Error>> {
        // The CPU time of the server does not count.
        let used = || cpu::of_process().saturating_sub(self.server.counts().cpu_time());
        let (before, begin) = (used(), Instant::now());
        let sum = way()?;
        let [wall, cpu] =
            [begin.elapsed(), used().saturating_sub(before)].map(|time| 1e3 * time.as_secs_f64());
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let per_page = wall / pages as f64;
        let ratio = per_page / *self.first.get_or_insert(per_page);
        let times = format!("{wall:>6.0} ms  {cpu:>5.0} ms  {per_page:>6.2} ms  {ratio:>5.2}");
        println!("  {name:<10}  {threads:>7}  {pages:>5}  {times}  {sum}");
        Ok(sum)
    }
}

/// Draws how many of `pages` are done while `work` runs.
pub(crate) fn with_bar<R>(pages: usize, progress: &Progress, work: impl FnOnce() -> R) -> R {
    let (over, is_over) = channel::<()>();
    thread::scope(|scope| {
        scope.spawn(move || {
            let bar = ProgressBar::new(pages as u64); // hidden without a terminal
            // Ends when `over` is dropped, also by a panic in `work`.
            while is_over.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
                bar.set_position(progress.done() as u64);
            }
            bar.finish_and_clear();
        });
        let _over = over;
        work()
    })
}
