//! One row of the table: a figure for each executor, and a target for rangesteal.

use crate::{race::Race, who::Who};

/// The kind of a row's figures.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Unit {
    /// Divided by the reference's figure.
    Ratio,
    /// Minus the reference's figure.
    Nanos,
    Millis,
    Calls,
    /// The number of busy CPUs. For this unit alone, a larger figure is better.
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

    /// Whether a figure is as good as another one.
    pub(crate) fn reaches(self, figure: f64, other: f64) -> bool {
        if self == Self::Cpus { figure >= other } else { figure <= other }
    }
}

/// The figures of one executor in a row.
#[derive(Clone)]
pub(crate) struct Cell {
    pub(crate) figure: f64,
    pub(crate) least: Option<f64>,
    /// CPU time, in the unit of the row, and context switches per call.
    pub(crate) cost: Option<(f64, f64)>,
    /// The time of a call: median.
    pub(crate) nanos: Option<f64>,
    /// The time of a call: minimum.
    pub(crate) fastest: Option<f64>,
}

impl Cell {
    /// The figures of an entrant of a race.
    pub(crate) fn measured(race: &Race, who: Who, unit: Unit) -> Self {
        let ((figure, least), cpu) = match unit {
            Unit::Nanos => (race.excess(who), race.cpu_excess(who)),
            _ => (race.ratio(who), race.cpu(who)),
        };
        Self {
            figure,
            least: Some(least),
            cost: Some((cpu, race.switches(who))),
            nanos: Some(race.nanos_of(who)),
            fastest: Some(race.fastest(who)),
        }
    }

    /// A computed time, for entrants whose measurement would take too long.
    pub(crate) fn computed(figure: f64, nanos: f64) -> Self {
        Self { nanos: Some(nanos), ..Self::of(figure) }
    }

    pub(crate) fn is_computed(&self) -> bool {
        self.nanos.is_some() && self.fastest.is_none()
    }

    /// The time of a call, as text.
    pub(crate) fn time(&self) -> Option<String> {
        let nanos = self.nanos?;
        let (scale, unit) = match nanos {
            0.0..1e3 => (1.0, "ns"),
            1e3..1e6 => (1e3, "µs"),
            _ => (1e6, "ms"),
        };
        let short = |nanos: f64| format!("{:.*}", if nanos < 99.95 * scale { 2 } else { 0 }, nanos / scale);
        let fastest = self.fastest.map_or("computed".to_owned(), |fastest| format!("({})", short(fastest)));
        Some(format!("{} {unit} {fastest}", short(nanos)))
    }

    /// A figure that is not the time of a call.
    pub(crate) fn of(figure: f64) -> Self {
        Self { figure, least: None, cost: None, nanos: None, fastest: None }
    }
}

pub(crate) struct Row {
    pub(crate) name: String,
    /// The time of the reference.
    pub(crate) reference: String,
    pub(crate) unit: Unit,
    /// The target: the limit of rangesteal's figure.
    pub(crate) bar: Option<f64>,
    pub(crate) cells: Vec<(Who, Cell)>,
}

impl Row {
    /// The entrants of a race, in `unit`, which is [`Unit::Ratio`] or [`Unit::Nanos`].
    pub(crate) fn of(race: &Race, name: impl Into<String>, unit: Unit, bar: Option<f64>) -> Self {
        let cell = |who: Who| (who.column(), Cell::measured(race, who, unit));
        let has_no_column =
            |who| matches!(who, Who::Halves | Who::One | Who::WokenByTokio | Who::WokenByAsyncIo);
        let cells = race.others().filter(|who| !has_no_column(*who)).map(cell).collect();
        Self { name: name.into(), reference: time(race.nanos()), unit, bar, cells }
    }

    /// This row without the CPU time, for races that did not measure it.
    pub(crate) fn without_cost(mut self) -> Self {
        self.cells.iter_mut().for_each(|(_, cell)| cell.cost = None);
        self
    }

    /// The name without measured figures.
    pub(crate) fn key(&self) -> &str {
        self.name.split(" (").next().unwrap_or_default()
    }

    pub(crate) fn cell(&self, who: Who) -> Option<&Cell> {
        self.cells.iter().find(|(column, _)| *column == who).map(|(_, cell)| cell)
    }

    /// Whether rangesteal met the target.
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
