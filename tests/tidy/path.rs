//! The amount of code that one `map_reduce` runs through: files, and lines without blank lines,
//! comments and tests.
//!
//! `cargo test -p rangesteal-tidy path_of -- --ignored --nocapture` prints this amount. The test
//! also prints the files that the mechanics name and that the lists below lack. With `BASE=d80e16d`
//! the test reads the files of the revision `d80e16d`, and leaves out files that this revision
//! lacks.

use std::collections::BTreeSet;

use crate::{
    layers::{named_by, production},
    revision::{base, texts},
    tokens::lines,
};

/// The mechanics: the code of an alone or shared call over a slice, from `Executor::call` to the
/// closure and back. The files are in a good order for reading.
///
/// Some code is not listed: the chain of a loop (`verbs` except its kernel), since other loops have
/// the same chain; searches, lists that grow, items that wait, and handles; and the building of a
/// pool.
const MECHANICS: [&str; 28] = [
    "supply/cell",
    "supply/range",
    "supply/fence",
    "engine/visit",
    "engine/range_loop",
    "engine/thief",
    "team/post",
    "team/arena",
    "team/barrier",
    "team/here",
    "team/job",
    "team/threads",
    "engine/executor",
    "engine/call",
    "engine/ask",
    "engine/again",
    "engine/solo",
    "engine/run",
    "engine/teach",
    "engine/plan",
    "engine/loop_options",
    "engine/inputs",
    "engine/worker_log",
    "engine/accumulator",
    "engine/order",
    "engine/ending",
    "engine/body",
    "verbs/kernel",
];
/// The files that make the decisions for the mechanics, record the work, and place the threads.
const POLICY_RECORDS_AND_PLACES: [&str; 24] = [
    "policy/launch",
    "policy/alone_or_shared",
    "policy/rounds",
    "policy/repeat",
    "policy/memory",
    "policy/site",
    "policy/prices",
    "policy/rhythm",
    "policy/split",
    "policy/pace",
    "policy/grain",
    "policy/alone",
    "policy/learn",
    "policy/theft",
    "policy/victim",
    "engine/account",
    "tell/journal",
    "tell/times",
    "tell/units",
    "tell/why_alone",
    "tell/program_report",
    "place/cpu_assignment",
    "place/pin_monitor",
    "place/starvation",
];
/// The limits for the mechanics: lines and files.
const MECHANICS_BAR: (usize, usize) = (2_700, 15);
/// The most lines of both lists.
const ALL_BAR: usize = 4_000;

#[test]
#[ignore = "prints a table"]
fn path_of_one_map_reduce() {
    let base = base();
    let all = texts(base.as_deref(), "src", "rs");
    let code = production(&all);
    let (mut counts, mut gone) = ([(0, 0); 2], Vec::new());
    let path = |file: &&str| format!("src/pool/{file}.rs");
    for (part, files) in [&MECHANICS[..], &POLICY_RECORDS_AND_PLACES].into_iter().enumerate() {
        for file in files.iter().map(path) {
            let Some(text) = code.get(&file) else {
                gone.push(file);
                continue;
            };
            let lines = lines(text);
            println!("{lines:>6} {file}");
            counts[part] = (counts[part].0 + lines, counts[part].1 + 1);
        }
    }
    let [(lines, files), (more_lines, more_files)] = counts;
    println!("mechanics: {lines} lines in {files} files; bar {MECHANICS_BAR:?}");
    let (lines, files) = (lines + more_lines, files + more_files);
    println!("with policy, records and places: {lines} lines in {files} files; bar {ALL_BAR} lines");
    let mechanics: BTreeSet<_> = MECHANICS.iter().map(path).collect();
    let others: BTreeSet<_> = POLICY_RECORDS_AND_PLACES.iter().map(path).collect();
    let also: Vec<_> = named_by(&all, &mechanics).difference(&others).cloned().collect();
    println!("the mechanics also name {}", also.join(", "));
    assert!(gone.is_empty() || base.is_some(), "listed, and not there: {gone:?}");
}
