//! The output of `--stats`: the layout of the ballots, and the sharing of the loops.

use super::{Effort, InWords};
use crate::layout::Size;
use rangesteal::RunReport;
use std::{
    fmt::{self, Write},
    time::Duration,
};

/// Statistics of the loops of a count.
#[derive(Debug, Default)]
pub(super) struct Stats {
    /// The size of the layout. `None` if the ballots are counted one by one.
    layout: Option<Size>,
    /// The number of measured loops of the pool. `shared` is the number of loops with more than one
    /// working thread.
    loops: u32,
    shared: u32,
    /// The sums over the shared loops.
    thefts: usize,
    balance: f64,
    wall: Duration,
}

impl Stats {
    pub(super) fn new<A>(words: Option<&InWords<A>>) -> Self {
        Self { layout: words.map(|words| words.layout.size()), ..Self::default() }
    }

    pub(super) fn add(&mut self, report: &RunReport) {
        self.loops += 1;
        self.wall += report.wall;
        if report.alone.is_none() {
            self.shared += 1;
            self.thefts += report.thefts();
            self.balance += report.balance();
        }
    }

    fn write(&self, out: &mut String) -> fmt::Result {
        match self.layout {
            Some(size) => writeln!(out, "ballots laid out as {size}")?,
            None => writeln!(out, "ballots counted one by one")?,
        }
        if self.loops > 0 {
            let mean = self.wall.as_secs_f64() * 1e3 / f64::from(self.loops);
            write!(out, "{} loops of {mean:.3} ms, {} shared", self.loops, self.shared)?;
        }
        if self.shared > 0 {
            let balance = self.balance / f64::from(self.shared);
            write!(out, ": {} thefts, mean balance {balance:.3}", self.thefts)?;
        }
        Ok(())
    }
}

impl Effort {
    /// The lines of `--stats`, if the user wants them. `reading` is the time to read the file.
    pub(crate) fn stats(&self, reading: Duration) -> Option<String> {
        let stats = self.stats.as_ref()?;
        let plural = |number| if number == 1 { "" } else { "s" };
        let [reading, preparing] = [reading, self.preparing].map(|time| time.as_secs_f64());
        let (rounds, distributions) = (self.length.rounds, self.length.distributions);
        let mut out = format!(
            "reading {reading:.3} s, layout {preparing:.3} s, {rounds} round{}, {distributions} distribution{}\n",
            plural(rounds),
            plural(distributions)
        );
        stats.write(&mut out).ok()?;
        Some(out.trim_end().to_owned())
    }
}
