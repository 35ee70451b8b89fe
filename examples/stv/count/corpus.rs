//! Recorded counts of real elections and hard cases, compared byte by byte. They are not part of
//! this crate: `STV_CORPUS` is their directory.
//!
//! An unoptimised build leaves out the large elections, and counts every other election with one
//! kind of threads. An optimised build counts the largest elections with one kind of threads, and
//! every other election with all kinds. This command counts all elections with all kinds, in some
//! minutes:
//!
//! ```text
//! STV_CORPUS_SWEEP=1 cargo test --release -p stv-count corpus -- --nocapture
//! ```

use crate::{
    arithmetic::{Approx, Arithmetic, BigFixed9, Fixed9},
    crew::{Crew, Parallel, Threads},
    error::CountError,
    meek::Rule,
    plurality, tally,
    transcript::Transcript,
};
use recorded::{directory, files_in, unpacked};
use serde_json::Value;
use std::{
    env, fs,
    io::{self, Read},
    num::NonZeroUsize,
    path::Path,
};
use stv_ballots::{Election, EqualRanks, Reading, Source, parse, read_in_parts};

#[allow(dead_code)] // the test of the printed form needs more of it
#[path = "../corpus.rs"]
mod recorded;

/// An unoptimised build counts ballot files of at most this many bytes.
const MOST_BYTES: usize = if cfg!(debug_assertions) { 5_000 } else { usize::MAX };

/// The largest file, in bytes, that all kinds of threads count. Larger files are counted with one
/// kind, unless the test runs a sweep. Fractions take twenty times as long, so their limit is
/// lower.
fn large(arithmetic: &str) -> usize {
    if arithmetic == "approx" { 100_000 } else { 1_000_000 }
}

/// The kinds of threads that count this file. Empty if the file is too large.
fn threads(ballots: &[u8], arithmetic: &str) -> Vec<Threads> {
    let kinds = [(Parallel::Pool, 2), (Parallel::Pool, 3), (Parallel::No, 1)];
    let number = match ballots.len() {
        bytes if bytes > MOST_BYTES => 0,
        _ if cfg!(debug_assertions) => 1,
        bytes if bytes > large(arithmetic) && env::var_os("STV_CORPUS_SWEEP").is_none() => 1,
        _ => kinds.len(),
    };
    let threads = |&(parallel, number): &(Parallel, usize)| Threads {
        parallel,
        number: NonZeroUsize::new(number),
        pinning: None,
    };
    kinds[..number].iter().map(threads).collect()
}

#[derive(Debug, Clone, Copy)]
struct Options<'a> {
    arithmetic: &'a str,
    equal_ranks: EqualRanks,
    force_positive_surplus: bool,
    plurality: bool,
}

/// The way of the reference with equal ranks, with and without its option `--equalize`.
fn way(equalize: bool) -> EqualRanks {
    if equalize { EqualRanks::AllOrders } else { EqualRanks::AsDroop }
}

/// Reads the file, on the pool in parts if that is possible.
fn read(ballots: &[u8], crew: Crew<'_>) -> Election {
    let open = |at: u64| -> io::Result<Box<dyn Read>> {
        Ok(Box::new(ballots.get(usize::try_from(at).unwrap()..).unwrap_or_default()))
    };
    let source = Source { name: "corpus", len: ballots.len() as u64, part: 1000, open: &open };
    let each = |number, work: &(dyn Fn(usize) + Sync)| crew.each(number, work);
    let election = match crew.pool() {
        Some(_) => read_in_parts(&source, Reading::default(), &each),
        None => parse("corpus", ballots),
    };
    election.unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the output, and the error of a failed count.
fn count(ballots: &[u8], options: Options<'_>, threads: Threads) -> (String, Result<(), String>) {
    let count = match options.arithmetic {
        "fixed9" => count_with::<Fixed9>,
        "bigfixed9" => count_with::<BigFixed9>,
        "approx" => count_with::<Approx>,
        other => panic!("there is no arithmetic {other}"),
    };
    let mut out = Vec::new();
    let counted = threads.together(|crew| {
        let mut election = read(ballots, crew);
        election.ballots.equal_ranks = options.equal_ranks;
        count(&election, options, crew, &mut out)
    });
    let out = String::from_utf8(out).expect("a transcript is text");
    (out, counted.unwrap().map_err(|error| error.to_string()))
}

fn count_with<A: Arithmetic>(
    election: &Election,
    options: Options<'_>,
    crew: Crew<'_>,
    out: &mut Vec<u8>,
) -> Result<(), CountError> {
    let equalized = options.equal_ranks == EqualRanks::AllOrders;
    let package = format!("Implementation: STV-rs{}", if equalized { " (equalized counting)" } else { "" });
    if options.plurality {
        return plurality::count::<A>(election, election.seats, &package, out);
    }
    let force_positive_surplus = options.force_positive_surplus;
    let rule = Rule { omega_exponent: 6, force_positive_surplus, backwards: false };
    tally::count::<A, _>(election, rule, crew, &mut Transcript::new(out, package)).map(|_| ())
}

/// The lines of the elected, in order.
fn elected(transcript: &str) -> Vec<&str> {
    transcript.lines().filter(|line| line.starts_with("Action: Elect")).collect()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn transcripts_are_reproduced() {
    let Some(corpus) = directory() else { return };
    let cases: Vec<Value> =
        serde_json::from_str(&text(&corpus.join("cases.json"))).expect("cases.json lists the cases");
    let (mut compared, mut errors, mut cured) = (0, 0, 0);
    for case in &cases {
        let file = corpus.join(case["file"].as_str().expect("a case has a file"));
        let ballots = fs::read(file).expect("the ballots of a case");
        for run in case["runs"].as_array().expect("a case has runs") {
            let flags = run["flags"].as_array().expect("a run has flags");
            let options = Options {
                arithmetic: run["arithmetic"].as_str().expect("a run has an arithmetic"),
                equal_ranks: way(flags.iter().any(|flag| flag == "--equalize")),
                force_positive_surplus: flags.iter().any(|flag| flag == "--force-positive-surplus"),
                plurality: false,
            };
            let wanted = run["expected"].as_str().filter(|_| run["expect"] != "error");
            let wanted = wanted.map(|path| text(&corpus.join(path)));
            let name = format!("{} {}", case["id"], run["variant"]);
            for threads in threads(&ballots, options.arithmetic) {
                let (printed, result) = count(&ballots, options, threads);
                if let Some(wanted) = &wanted {
                    assert!(result.is_ok(), "{name} {threads:?}: {result:?}");
                    assert!(printed == *wanted, "{name} {threads:?}\nwanted {wanted}\ngot {printed}");
                    compared += 1;
                } else if result.is_err() {
                    errors += 1;
                } else {
                    // The recorded count ended at a negative surplus of rounding. The new count
                    // goes on, to the winners of the count that never has one.
                    assert!(printed.contains("\tSurplus: -0.000000001\n"), "{name} {threads:?}");
                    let forced = Options { force_positive_surplus: true, ..options };
                    let (forced, result) = count(&ballots, forced, threads);
                    assert!(result.is_ok() && elected(&forced) == elected(&printed), "{name} {threads:?}");
                    cured += 1;
                }
            }
        }
    }
    println!(
        "{compared} recorded counts reproduced, {errors} errors, and {cured} counted where the reference ends"
    );
    assert!(compared > 0, "the corpus has no run to compare");
}

/// The test data of stv-rs, an older counter: `meek/<group>/<ballots>[.equalize].<arithmetic>.log`
/// for Meek's method, and files with names of the same form for plurality.
#[test]
fn the_test_data_of_another_counter_is_reproduced() {
    let Some(corpus) = directory() else { return };
    let data = corpus.join("stv-rs");
    let mut logs = Vec::new();
    for method in ["meek", "plurality_block_voting"] {
        files_in(&data.join(method), "log", &mut logs);
    }
    let mut compared = 0;
    for log in &logs {
        let name = log.strip_prefix(&data).expect("a file of the data").to_str().expect("a name in UTF-8");
        // The recorded total of ballots is wrong: 2^64 + 1 had wrapped around to 1.
        if name.contains("ballot_sum_overflows") {
            continue;
        }
        let (method, rest) = name.split_once('/').expect("a folder for each method");
        let mut words = rest.split('.');
        let stem = words.next().expect("a name").replace("force_positive_surplus", "below_quota");
        let words: Vec<_> = words.collect();
        let &[.., arithmetic, "log"] = words.as_slice() else { panic!("{name} names no arithmetic") };
        let options = Options {
            arithmetic,
            equal_ranks: way(words.contains(&"equalize")),
            force_positive_surplus: rest.starts_with("crashes/") || rest.contains("force_positive_surplus"),
            plurality: method != "meek",
        };
        let ballots = unpacked(&data.join("ballots").join(format!("{stem}.blt")));
        let wanted = text(log);
        for threads in threads(&ballots, options.arithmetic) {
            let (printed, result) = count(&ballots, options, threads);
            if wanted.is_empty() {
                // The recorded count ended with an overflow. The new count must also fail, or agree
                // with the count in bigfixed9.
                let big =
                    || text(Path::new(&log.to_str().unwrap_or_default().replace("fixed9", "bigfixed9")));
                assert!(printed.is_empty() && result.is_err() || printed == big(), "{name} {threads:?}");
            } else {
                assert!(result.is_ok(), "{name} {threads:?}: {result:?}");
                assert!(printed == wanted, "{name} {threads:?}\nwanted {wanted}\ngot {printed}");
            }
            compared += 1;
        }
    }
    println!("{compared} counts of the test data of another counter reproduced");
    assert!(compared > 0, "the corpus has no test data to compare");
}
