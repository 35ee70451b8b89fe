//! The groups of rows, and the table of the selected rows.

use rangesteal::Pool;

use crate::{
    beside, callers, chains, cold, contended, distances, emit, errors, few,
    host::Host,
    idle, joins, launch, machine, mixed, naps, nested, partial, planes,
    results::Results,
    rows::Rows,
    runner::Runner,
    scans, several, slices, sorts, starved,
    table::{Reference, Table},
    thefts, windows, young,
};

/// Measures a group of rows.
type Group = fn(&mut Rows<'_>);

/// Letters are the core suite. Words are known weak spots with targets.
const GROUPS: [(&str, Group); 43] = [
    ("a", |rows| rows.starting()),
    ("b", |rows| rows.cache()),
    ("c", |rows| rows.memory()),
    ("d", |rows| rows.even()),
    ("e", |rows| rows.slopes()),
    ("f", |rows| rows.heavy_runs()),
    ("g", |rows| rows.one()),
    ("h", |rows| rows.ballots()),
    ("i", |rows| rows.results()),
    ("j", |rows| rows.lengths()),
    ("k", |rows| rows.extend(thefts::rows(&rows.runner))),
    ("l", |rows| rows.extend(idle::rows(&rows.runner))),
    ("m", |rows| rows.taken_core()),
    ("n", |rows| rows.many_threads()),
    ("o", |rows| rows.spinning()),
    ("p", |rows| rows.searches()),
    ("q", |rows| rows.sorts()),
    ("r", |rows| rows.reports()),
    ("starved", |rows| rows.extend(starved::lowered(&rows.runner))),
    ("errors", |rows| rows.group_of(errors::rows)),
    ("windows", |rows| rows.group_of(windows::rows)),
    ("mixed", |rows| rows.group_of(mixed::rows)),
    ("taken", |rows| rows.group_of(starved::spinning)),
    ("contended", |rows| rows.group_of(contended::rows)),
    ("distances", |rows| rows.group_of(distances::rows)),
    ("callers", |rows| rows.group_of(callers::rows)),
    ("cold", |rows| rows.group_of(cold::rows)),
    ("partial", |rows| rows.group_of(partial::rows)),
    ("emit", |rows| rows.group_of(emit::rows)),
    ("chains", |rows| rows.group_of(chains::rows)),
    ("sorts", |rows| rows.group_of(sorts::rows)),
    ("single", |rows| rows.group_of(distances::single)),
    ("few", |rows| rows.group_of(few::rows)),
    ("planes", |rows| rows.group_of(planes::rows)),
    ("nested", |rows| rows.group_of(nested::rows)),
    ("young", |rows| rows.group_of(young::rows)),
    ("beside", |rows| rows.group_of(beside::rows)),
    ("launch", |rows| rows.extend(launch::rows(&rows.runner))),
    ("naps", |rows| rows.group_of(naps::rows)),
    ("several", |rows| rows.group_of(several::rows)),
    ("joins", |rows| rows.group_of(joins::rows)),
    ("scans", |rows| rows.group_of(scans::rows)),
    ("slices", |rows| rows.group_of(slices::rows)),
];

/// The names that `--rows` takes.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|(name, _)| *name)
}

/// Measures the groups with these names, or all groups.
pub(crate) fn run(pool: &Pool, runner: Runner, names: &[String]) -> Table {
    let mut foreign = vec![("rangesteal", env!("CARGO_PKG_VERSION").to_owned())];
    foreign.extend(runner.openmp.as_ref().map(|peer| ("OpenMP", peer.version.clone())));
    foreign.extend(runner.tbb.as_ref().map(|peer| ("oneTBB", peer.version.clone())));
    let host = Host::new("versus", machine::cpus(&runner.mask).len(), runner.threads, runner.rounds);
    let others = Results::of_other_hosts(&host);
    let table = Table {
        reference: Reference::Plain,
        columns: runner.columns(),
        host,
        others,
        foreign,
        rows: Vec::new(),
    };
    table.print_head();
    let mut rows = Rows { pool, runner, table, group: "" };
    for (name, group) in GROUPS {
        if names.is_empty() || names.iter().any(|wanted| wanted == name) {
            rows.group = name;
            group(&mut rows);
        }
    }
    println!("{}", rows.table.control());
    rows.table
}
