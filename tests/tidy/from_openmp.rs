//! Tests that the page on OpenMP has a row for each directive and clause of a loop.

use std::collections::BTreeSet;

use crate::guide::{methods, own_methods, rows, spans};

const PAGE: &str = "src/guide/from_openmp.rs";

/// The sections of the OpenMP API 5.2 on loops. Each section has its names: directives of loops,
/// their clauses, the modifiers of clauses, and directives within loops.
const NAMES: [(&str, &str); 19] = [
    ("3.4 if", "if"),
    ("4.4 loop concepts", "collapse; ordered(n)"),
    ("5.2 threadprivate", "threadprivate"),
    (
        "5.4 data-sharing clauses",
        "default; shared; private; firstprivate; lastprivate; lastprivate(conditional:)",
    ),
    ("5.4.6 linear", "linear"),
    ("5.5 reduction", "reduction; reduction(inscan,); reduction(task,); in_reduction; declare reduction"),
    ("5.6 scan", "scan; inclusive; exclusive"),
    ("5.7 data copying", "copyin; copyprivate"),
    ("5.11 aligned, 6.6 allocate, 7.7 declare simd", "aligned; allocate; declare simd"),
    ("9 loop transformation", "tile; sizes; unroll; full; partial"),
    ("10.1 parallel, 10.2 teams", "parallel; num_threads; proc_bind; teams; num_teams; thread_limit"),
    ("10.3 order", "order(concurrent); reproducible; unconstrained"),
    ("10.4 simd, 10.5 masked", "simd; nontemporal; safelen; simdlen; masked"),
    ("11.1 to 11.3", "single; scope; sections"),
    (
        "11.5 worksharing loops",
        "for; parallel for; for simd; parallel for simd; schedule(static); schedule(dynamic); schedule(guided); \
         schedule(auto); schedule(runtime); monotonic; nonmonotonic; schedule(simd:)",
    ),
    (
        "11.6 distribute, 11.7 loop",
        "distribute; distribute parallel for; dist_schedule; loop; parallel loop; bind",
    ),
    (
        "12 tasking",
        "task; taskloop; taskloop simd; grainsize; num_tasks; untied; mergeable; final; priority; taskyield",
    ),
    (
        "15 synchronization",
        "critical; barrier; taskgroup; taskwait; nowait; nogroup; atomic; flush; ordered; doacross; depend",
    ),
    ("16 cancellation", "cancel for; cancellation point"),
];

#[test]
fn each_clause_of_a_loop_has_a_row() {
    let rows = rows(PAGE);
    let spans: Vec<_> = rows.iter().flat_map(|row| spans(&row.there)).collect();
    // A row of `num_threads(n)` is also the row of `num_threads`.
    let clauses = spans.iter().filter_map(|span| Some(span.split_once('(')?.0.trim_end()));
    let told: BTreeSet<_> = spans.iter().copied().chain(clauses).collect();
    let names: Vec<_> = NAMES
        .iter()
        .flat_map(|(section, names)| names.split("; ").map(move |name| (name, section)))
        .collect();
    println!("{} names", names.len());
    let missing: Vec<_> = names.iter().filter(|(name, _)| !told.contains(name)).collect();
    assert!(missing.is_empty(), "{} names of OpenMP have no row in {PAGE}: {missing:?}", missing.len());
}

/// The methods that a row calls on a pool exist. A row that says "none" gives a reason.
#[test]
fn what_the_rows_say_is_here_is_here() {
    let (pool, mut called, mut none) = (own_methods("Pool"), 0, 0);
    for row in rows(PAGE) {
        for (method, of) in spans(&row.here).into_iter().flat_map(methods) {
            if of.ends_with("pool") {
                assert!(pool.contains(method), "a pool has no {method}: {row:?}");
                called += 1;
            }
        }
        if row.here.starts_with("none") {
            let reason = row.here.strip_prefix("none: ");
            assert!(reason.is_some_and(|reason| reason.len() > 10), "no reason: {row:?}");
            none += 1;
        }
    }
    assert!(called > 5 && none > 5, "{called} calls, {none} reasons");
}
