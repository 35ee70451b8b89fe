//! The table: what was measured, and what it should have been.

use std::fmt::Write;

use crate::{race::Race, runner::Who};

/// What the figures of a row are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// Of the reference.
    Ratio,
    /// More than the reference.
    Nanos,
    Millis,
    Calls,
}

impl Unit {
    pub(crate) fn write(self, figure: f64) -> String {
        match self {
            Self::Nanos => match figure.abs() {
                0.0..999.5 => format!("{figure:+.0} ns"),
                999.5..9950.0 => format!("{:+.1} µs", figure / 1e3),
                _ => format!("{:+.0} µs", figure / 1e3),
            },
            Self::Ratio if figure >= 99.5 => format!("{figure:.0}"),
            Self::Ratio if figure >= 9.95 => format!("{figure:.1}"),
            Self::Ratio => format!("{figure:.3}"),
            Self::Millis => format!("{figure:.2} ms"),
            Self::Calls => format!("{figure:.1}"),
        }
    }
}

/// What one executor made of a row.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) figure: f64,
    pub(crate) least: Option<f64>,
    /// CPU time, in the unit of the row, and context switches a call.
    pub(crate) cost: Option<(f64, f64)>,
}

pub(crate) struct Row {
    pub(crate) letter: char,
    pub(crate) name: String,
    /// What the reference took.
    pub(crate) reference: String,
    pub(crate) unit: Unit,
    /// What our figure should not exceed.
    pub(crate) bar: Option<f64>,
    pub(crate) cells: Vec<(Who, Cell)>,
}

impl Row {
    /// The rivals of a race, in `unit`; [`Unit::Ratio`] or [`Unit::Nanos`].
    pub(crate) fn of(
        race: &Race,
        letter: char,
        name: impl Into<String>,
        unit: Unit,
        bar: Option<f64>,
    ) -> Self {
        let cell = |who| {
            let ((figure, least), cpu) = match unit {
                Unit::Nanos => (race.excess(who), race.cpu_excess(who)),
                _ => (race.ratio(who), race.cpu(who)),
            };
            (column(who), Cell { figure, least: Some(least), cost: Some((cpu, race.switches(who))) })
        };
        let cells = race.others().filter(|who| *who != Who::Halves).map(cell).collect();
        Self { letter, name: name.into(), reference: time(race.nanos()), unit, bar, cells }
    }

    pub(crate) fn cell(&self, who: Who) -> Option<&Cell> {
        self.cells.iter().find(|(column, _)| *column == who).map(|(_, cell)| cell)
    }

    /// Whether we met the bar.
    pub(crate) fn met(&self) -> Option<bool> {
        Some(self.cell(Who::Rangesteal)?.figure <= self.bar?)
    }
}

/// The column of an entrant.
fn column(who: Who) -> Who {
    match who {
        Who::Spinning | Who::Reporting | Who::Tracing | Who::Unpinned | Who::Many => Who::Rangesteal,
        Who::ManyRayon => Who::Rayon,
        who => who,
    }
}

pub(crate) fn name(who: Who) -> &'static str {
    match column(who) {
        Who::Rayon => "rayon",
        Who::Paralight => "paralight",
        Who::Chili => "chili",
        Who::Orx => "orx-parallel",
        Who::ForkUnion => "fork_union",
        Who::OpenMp => "OpenMP",
        Who::Tbb => "oneTBB",
        Who::Rangesteal => "rangesteal",
        _ => "plain",
    }
}

fn time(nanos: f64) -> String {
    match nanos {
        0.0..1e3 => format!("{nanos:.1} ns"),
        1e3..1e6 => format!("{:.1} µs", nanos / 1e3),
        _ => format!("{:.2} ms", nanos / 1e6),
    }
}

/// Rows are printed as they come.
pub(crate) struct Table {
    pub(crate) columns: Vec<Who>,
    pub(crate) threads: usize,
    pub(crate) cpus: usize,
    /// Names and versions of the executors that are no crates.
    pub(crate) foreign: Vec<(&'static str, String)>,
    pub(crate) rows: Vec<Row>,
}

impl Table {
    const NAME: usize = 48;
    const CELL: usize = 18;

    pub(crate) fn print_head(&self, rounds: usize) {
        println!(
            "{} threads, {rounds} rounds. Time relative to the plain loop (or what the row says): median of the rounds (of the \
             minima); below it\nCPU time likewise, and context switches a call (c).",
            self.threads
        );
        print!("{:width$} {:>9} ", "", "plain", width = Self::NAME);
        self.columns.iter().for_each(|who| print!(" {:>width$}", name(*who), width = Self::CELL));
        println!("  bar");
    }

    pub(crate) fn push(&mut self, row: Row) {
        let (mut line, mut below) = (format!("{} {}", row.letter, row.name), String::new());
        line = format!("{line:width$} {:>9} ", row.reference, width = Self::NAME);
        for who in &self.columns {
            let (mut figures, mut costs) = (String::new(), String::new());
            if let Some(cell) = row.cell(*who) {
                figures = row.unit.write(cell.figure);
                if let Some(least) = cell.least {
                    let _ = write!(figures, " ({})", row.unit.write(least));
                }
                if let Some((cpu, switches)) = cell.cost {
                    costs = format!("{} {switches:.1}c", row.unit.write(cpu));
                }
            }
            let _ = write!(line, " {figures:>width$}", width = Self::CELL);
            let _ = write!(below, " {costs:>width$}", width = Self::CELL);
        }
        if let (Some(bar), Some(met)) = (row.bar, row.met()) {
            let _ = write!(line, "  {} {}", row.unit.write(bar), if met { "met" } else { "MISSED" });
        }
        println!("{line}");
        if !below.trim().is_empty() {
            println!("{:width$} {below}", "", width = Self::NAME + 10);
        }
        self.rows.push(row);
    }
}
