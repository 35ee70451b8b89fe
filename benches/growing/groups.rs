//! The groups of rows, and the table of the selected rows.

use crate::{
    entrants::Entrants,
    fib, graph,
    host::Host,
    knapsack, lines, machine, queens,
    results::Results,
    row::Row,
    streams,
    table::{Reference, Table},
    tree, uneven, uts,
};

/// Measures a group of rows.
type Group = fn(&Entrants<'_>) -> Vec<Row>;

const GROUPS: [(&str, Group); 11] = [
    ("uts", uts::rows),
    ("queens", queens::rows),
    ("fib", fib::rows),
    ("feedback", streams::feedback),
    ("heavy", uneven::heavy),
    ("farm", uneven::farm),
    ("graph", graph::rows),
    ("tree", tree::rows),
    ("knapsack", knapsack::rows),
    ("flat", streams::flat),
    ("lines", lines::rows),
];

/// The names that `--rows` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|(name, _)| *name)
}

/// Measures the groups with these names, or all groups.
pub(crate) fn run(entrants: &Entrants<'_>, names: &[String]) -> Table {
    let (rivals, rounds) = (&entrants.rivals, entrants.rounds);
    let host = Host::new("growing", machine::cpus(&rivals.mask).len(), rivals.threads, rounds);
    let others = Results::of_other_hosts(&host);
    let foreign = vec![("rangesteal", env!("CARGO_PKG_VERSION").to_owned())];
    let mut table = Table {
        reference: Reference::Plain,
        columns: Entrants::columns(),
        host,
        others,
        foreign,
        rows: Vec::new(),
    };
    table.print_head();
    for (name, group) in GROUPS {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            for row in group(entrants) {
                table.push(name, row);
            }
        }
    }
    println!("{}", table.control());
    table
}
