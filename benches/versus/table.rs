//! The table: what was measured, and what it should have been.

use std::fmt::Write;

use crate::{host::Host, race::Race, results::Results, who::Who};

/// What the figures of a row are.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// Of the reference.
    Ratio,
    /// More than the reference.
    Nanos,
    Millis,
    Calls,
    /// In use; more is better, unlike all others.
    Cpus,
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
            Self::Cpus => format!("{figure:.2}"),
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Ratio => "ratio",
            Self::Nanos => "ns",
            Self::Millis => "ms",
            Self::Calls => "calls",
            Self::Cpus => "CPUs",
        }
    }

    /// Whether a figure is as good as another.
    pub(crate) fn reaches(self, figure: f64, other: f64) -> bool {
        if self == Self::Cpus { figure >= other } else { figure <= other }
    }
}

/// What one executor made of a row.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) figure: f64,
    pub(crate) least: Option<f64>,
    /// CPU time, in the unit of the row, and context switches a call.
    pub(crate) cost: Option<(f64, f64)>,
    /// A call: median.
    pub(crate) nanos: Option<f64>,
}

impl Cell {
    /// A figure that is no time of a call.
    pub(crate) fn of(figure: f64) -> Self {
        Self { figure, least: None, cost: None, nanos: None }
    }
}

pub(crate) struct Row {
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
    pub(crate) fn of(race: &Race, name: impl Into<String>, unit: Unit, bar: Option<f64>) -> Self {
        let cell = |who| {
            let ((figure, least), cpu) = match unit {
                Unit::Nanos => (race.excess(who), race.cpu_excess(who)),
                _ => (race.ratio(who), race.cpu(who)),
            };
            (
                who.column(),
                Cell {
                    figure,
                    least: Some(least),
                    cost: Some((cpu, race.switches(who))),
                    nanos: Some(race.nanos_of(who)),
                },
            )
        };
        let cells = race.others().filter(|who| *who != Who::Halves).map(cell).collect();
        Self { name: name.into(), reference: time(race.nanos()), unit, bar, cells }
    }

    /// Where the CPU time was not measured.
    pub(crate) fn without_cost(mut self) -> Self {
        self.cells.iter_mut().for_each(|(_, cell)| cell.cost = None);
        self
    }

    /// The name without what was measured.
    pub(crate) fn key(&self) -> &str {
        self.name.split(" (").next().unwrap_or_default()
    }

    pub(crate) fn cell(&self, who: Who) -> Option<&Cell> {
        self.cells.iter().find(|(column, _)| *column == who).map(|(_, cell)| cell)
    }

    /// Whether we met the bar.
    pub(crate) fn met(&self) -> Option<bool> {
        Some(self.unit.reaches(self.cell(Who::Rangesteal)?.figure, self.bar?))
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
    pub(crate) host: Host,
    /// What other hosts have met.
    pub(crate) others: Results,
    /// Names and versions of the executors that are no crates.
    pub(crate) foreign: Vec<(&'static str, String)>,
    /// Each with its group.
    pub(crate) rows: Vec<(&'static str, Row)>,
}

impl Table {
    const NAME: usize = 72;
    const CELL: usize = 18;

    pub(crate) fn print_head(&self) {
        println!(
            "{}\nTime relative to the plain loop (or what the row says): median of the rounds (of the minima); below it \
             CPU time likewise, and\ncontext switches a call (c). What \"rangesteal again\", another pool, differs by means nothing.",
            self.host.said()
        );
        print!("{:width$} {:>9} ", "", "plain", width = Self::NAME);
        self.columns.iter().for_each(|who| print!(" {:>width$}", who.name(), width = Self::CELL));
        println!("  bar");
    }

    /// Whether the bar of a row was met, and on how many hosts, if there are figures of others.
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
        let (mut line, mut below) = (format!("{group} {}", row.name), String::new());
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
        if let (Some(bar), Some(verdict)) = (row.bar, self.verdict(group, &row, "met", "MISSED")) {
            let _ = write!(line, "  {} {verdict}", row.unit.write(bar));
        }
        println!("{line}");
        if !below.trim().is_empty() {
            println!("{:width$} {below}", "", width = Self::NAME + 10);
        }
        self.rows.push((group, row));
    }

    /// How far apart two pools of ours are, which differ in nothing.
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
