//! Recorded counts of real elections and hard cases, compared line by line. They are no part of this crate: `STV_CORPUS` says where they are.

use crate::{
    arithmetic::{Arithmetic, BigFixed9, Fixed9},
    blt,
    meek::Rule,
    tally::{self, Parallel, Threads},
    transcript::Transcript,
};
use rangesteal::Pinning;
use serde_json::Value;
use std::{
    env, fs,
    num::NonZeroUsize,
    path::{Path, PathBuf},
};

/// An unoptimised build counts the elections of at most this many ballot lines.
const MOST_LINES: u64 = if cfg!(debug_assertions) { 300 } else { u64::MAX };

fn directory() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/stv");
    env::var_os("STV_CORPUS").map_or_else(beside, PathBuf::from)
}

fn count<A: Arithmetic>(
    file: &Path,
    force_positive_surplus: bool,
    threads: Threads,
) -> Result<String, String> {
    let bytes = fs::read(file).map_err(|error| error.to_string())?;
    let election = blt::read("corpus", &bytes).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    let rule = Rule { omega_exponent: 6, force_positive_surplus };
    let mut transcript = Transcript::new(&mut out, "Implementation: STV-rs".to_owned());
    tally::count::<A, _>(&election, rule, threads, &mut transcript).map_err(|error| error.to_string())?;
    Ok(String::from_utf8(out).expect("a transcript is text"))
}

#[test]
fn transcripts_are_reproduced() {
    let corpus = directory();
    let Ok(cases) = fs::read_to_string(corpus.join("cases.json")) else {
        eprintln!("SKIPPED: no corpus at {}; STV_CORPUS can name another place", corpus.display());
        return;
    };
    let cases: Vec<Value> = serde_json::from_str(&cases).expect("cases.json lists the cases");
    let all_threads = [(Parallel::No, 1), (Parallel::Rayon, 3), (Parallel::Pool, 2), (Parallel::Pool, 3)]
        .map(|(parallel, number)| Threads {
            parallel,
            number: NonZeroUsize::new(number),
            pinning: Pinning::default(),
            stealing: true,
        });
    let mut compared = 0;
    for case in
        cases.iter().filter(|case| case["ballot_lines"].as_u64().is_some_and(|lines| lines <= MOST_LINES))
    {
        let file = corpus.join(case["file"].as_str().expect("a case has a file"));
        for run in case["runs"].as_array().expect("a case has runs") {
            let flags: Vec<&str> =
                run["flags"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
            if flags.contains(&"--equalize") {
                continue;
            }
            let count = match run["arithmetic"].as_str() {
                Some("fixed9") => count::<Fixed9>,
                Some("bigfixed9") => count::<BigFixed9>,
                _ => continue,
            };
            let wanted = run["expected"].as_str().filter(|_| run["expect"] != "error");
            let wanted =
                wanted.map(|path| fs::read_to_string(corpus.join(path)).expect("an expected transcript"));
            let name = format!("{} {}", case["id"], run["variant"]);
            for threads in all_threads {
                let counted = count(&file, flags.contains(&"--force-positive-surplus"), threads);
                match &wanted {
                    Some(wanted) => assert!(
                        counted.as_ref() == Ok(wanted),
                        "{name} {threads:?}\nwanted {wanted}\ngot {counted:?}"
                    ),
                    None => assert!(counted.is_err(), "{name} {threads:?}: counted what cannot be counted"),
                }
            }
            compared += 1;
        }
    }
    println!("{compared} recorded counts reproduced on {} kinds of threads", all_threads.len());
    assert!(compared > 0, "the corpus at {} has no run to compare", corpus.display());
}
