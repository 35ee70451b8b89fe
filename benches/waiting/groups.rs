//! The groups of rows, and the table of the selected rows.

use crate::{
    entrants::Entrants,
    host::Host,
    idle, machine, mrf, none,
    results::Results,
    row::Row,
    shapes,
    table::{Reference, Table},
};

/// Measures a group of rows.
type Group = fn(&Entrants<'_>) -> Vec<Row>;

const GROUPS: [(&str, Group); 9] = [
    ("mrf", mrf::rows),
    ("uneven", shapes::uneven),
    ("limit", shapes::limit),
    ("chain", shapes::chain),
    ("short", shapes::short),
    ("one", shapes::one),
    ("prepost", shapes::prepost),
    ("none", none::rows),
    ("idle", idle::rows),
];

/// The names that `--rows` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|(name, _)| *name)
}

/// Measures the groups with these names, or all groups.
pub(crate) fn run(entrants: &Entrants<'_>, names: &[String]) -> Table {
    let (rivals, rounds) = (&entrants.rivals, entrants.rounds);
    let host = Host::new("waiting", machine::cpus(&rivals.mask).len(), rivals.threads, rounds);
    let others = Results::of_other_hosts(&host);
    let foreign = vec![("rangesteal", env!("CARGO_PKG_VERSION").to_owned())];
    let (reference, columns) = (Reference::Bound, Entrants::columns());
    let mut table = Table { reference, columns, host, others, foreign, rows: Vec::new() };
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
