//! The table of figures and targets.

use std::{fmt::Write, io, path::Path};

use crate::{
    host::Host,
    results::{self, Results},
    row::{Row, Unit},
    who::Who,
};

/// The reference of a table's figures, unless a row names another reference.
#[derive(Clone, Copy, PartialEq)]
#[allow(dead_code, reason = "each bench has one of them")]
pub(crate) enum Reference {
    Plain,
    /// The lower bound. CPU time is relative to the work of all items. The table also prints the
    /// times of calls.
    Bound,
}

impl Reference {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Bound => "bound",
        }
    }

    pub(crate) fn said(self) -> &'static str {
        match self {
            Self::Plain => "the plain loop",
            Self::Bound => "the lower bound",
        }
    }
}

/// The table, which prints each row as soon as the row is measured.
pub(crate) struct Table {
    pub(crate) reference: Reference,
    pub(crate) columns: Vec<Who>,
    pub(crate) host: Host,
    /// The targets that other hosts met.
    pub(crate) others: Results,
    /// Names and versions of the executors that are not crates.
    pub(crate) foreign: Vec<(&'static str, String)>,
    /// The rows, each with its group.
    pub(crate) rows: Vec<(&'static str, Row)>,
}

impl Table {
    const NAME: usize = 72;
    const CELL: usize = 18;

    pub(crate) fn print_head(&self) {
        println!(
            "{}\nTime relative to {} (or what the row says): median of the rounds (of the minima); below it \
             CPU time likewise, and\ncontext switches a call (c). What \"rangesteal again\", another pool, differs by means nothing.",
            self.host.said(),
            self.reference.said()
        );
        if self.reference == Reference::Bound {
            println!("Below that, the time of a call: median (minimum).");
        }
        print!("{:width$} {:>9} ", "", self.reference.name(), width = Self::NAME);
        self.columns.iter().for_each(|who| print!(" {:>width$}", who.name(), width = Self::CELL));
        println!("  bar");
    }

    /// Whether the row met its target. If other hosts have figures, also the number of hosts on
    /// which the row met its target.
    pub(crate) fn verdict(&self, group: &str, row: &Row, met: &str, missed: &str) -> Option<String> {
        let here = row.met()?;
        let (mut verdict, (there, hosts)) =
            ((if here { met } else { missed }).to_owned(), self.others.met(group, row.key()));
        if hosts > 0 {
            let _ = write!(verdict, " on {} of {}", there + usize::from(here), hosts + 1);
        }
        Some(verdict)
    }

    pub(crate) fn push(&mut self, group: &'static str, row: Row) {
        let (mut line, mut below, mut times) =
            (format!("{group} {}", row.name), String::new(), String::new());
        line = format!("{line:width$} {:>9} ", row.reference, width = Self::NAME);
        for who in &self.columns {
            let (mut figures, mut costs, mut time) = (String::new(), String::new(), String::new());
            if let Some(cell) = row.cell(*who) {
                figures = row.unit.write(cell.figure);
                if let Some(least) = cell.least {
                    let _ = write!(figures, " ({})", row.unit.write(least));
                }
                if let Some((cpu, switches)) = cell.cost {
                    costs = format!("{} {switches:.1}c", row.unit.write(cpu));
                }
                if self.reference == Reference::Bound {
                    time = cell.time().unwrap_or_default();
                }
            }
            let _ = write!(line, " {figures:>width$}", width = Self::CELL);
            let _ = write!(below, " {costs:>width$}", width = Self::CELL);
            let _ = write!(times, " {time:>width$}", width = Self::CELL);
        }
        if let (Some(bar), Some(verdict)) = (row.bar, self.verdict(group, &row, "met", "MISSED")) {
            let _ = write!(line, "  {} {verdict}", row.unit.write(bar));
        }
        println!("{line}");
        for below in [below, times].iter().filter(|below| !below.trim().is_empty()) {
            println!("{:width$} {below}", "", width = Self::NAME + 10);
        }
        self.rows.push((group, row));
    }

    /// Writes the table as text for programs.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        results::write(path, &self.host, &self.control(), &self.rows)
    }

    /// The difference between two equal pools of rangesteal.
    pub(crate) fn control(&self) -> String {
        let spread = |unit: Unit, apart: fn(f64, f64) -> f64| {
            let rows = self.rows.iter().filter(|(_, row)| row.unit == unit);
            let pairs =
                rows.filter_map(|(_, row)| Some((row.cell(Who::Rangesteal)?, row.cell(Who::Control)?)));
            let mut spread: Vec<f64> = pairs.map(|(ours, again)| apart(ours.figure, again.figure)).collect();
            spread.sort_by(f64::total_cmp);
            let at = |part: usize| spread.get((spread.len() * part / 10).min(spread.len().saturating_sub(1)));
            Some((*at(5)?, *at(9)?, spread.len()))
        };
        let mut control = String::from("Control, rangesteal against itself:");
        if let Some((half, most, rows)) =
            spread(Unit::Ratio, |ours, again| (again / ours - 1.0).abs() * 100.0)
        {
            let _ = write!(
                control,
                " {rows} ratios differ by {half:.1} % (median), {most:.1} % (one in ten by more);"
            );
        }
        if let Some((half, most, rows)) = spread(Unit::Nanos, |ours, again| (again - ours).abs()) {
            let _ = write!(control, " {rows} differences by {half:.0} ns, {most:.0} ns;");
        }
        let measured = control.ends_with(';');
        control + if measured { " less than that means nothing" } else { " in none of these rows" }
    }
}
