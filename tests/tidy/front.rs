//! Tests of the README, which is a front page: it is short and complete, and its commands work. The
//! test `the_count_of_the_front_page` in `tests/stv.rs` runs the first command of "Try it".

use std::{fs, process::Command};

use crate::{documents::between, top, unsafe_inventory::read};

const WORDS: std::ops::RangeInclusive<usize> = 500..=700;

const PARTS: [&str; 11] = [
    "# rangesteal",
    "## Add it",
    "## Try it in a minute",
    "## Example",
    "## How fast",
    "## When to use it",
    "## Features",
    "## Good to know",
    "## Try it",
    "## Links",
    "## Licence",
];

const TRIAL: &str = "\
cargo remove rayon
cargo add rangesteal-rayon --rename rayon --path ../rangesteal/rayon
";

const COMMANDS: &str = "\
cargo run --release --no-default-features --example stv -- --input examples/stv/sample.blt meek
cargo test
";

/// The number of words in a document, including headings, tables and links. A word stands between
/// blanks and has a letter or a digit, so the bars of a table are not words. Code blocks and HTML
/// tags do not count.
fn words(text: &str) -> usize {
    let outside_code = text.split("```").step_by(2).collect::<Vec<_>>().join("\n");
    let pieces = outside_code.split('<');
    let outside_tags = pieces.enumerate().map(|(at, piece)| match piece.split_once('>') {
        Some((_tag, behind)) if at > 0 => behind,
        _ => piece,
    });
    let outside_tags: String = outside_tags.collect();
    outside_tags.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
}

/// The lines between a heading and the next heading.
fn part<'a>(readme: &'a str, heading: &'a str) -> &'a str {
    let heading = format!("{heading}\n");
    let (_, rest) = readme.split_once(&heading).unwrap_or_else(|| panic!("no heading {heading}"));
    rest.split_once("\n## ").map_or(rest, |(part, _)| part)
}

#[test]
fn words_are_those_that_a_reader_reads() {
    assert_eq!(words("# One\n\n| two | three |\n|---|---|\n| 4 | - |\n[five six](seven.md)"), 6);
    assert_eq!(words("one\n```sh\ntwo three\n```\nfour <img src=\"five\"> six"), 3);
}

#[test]
fn front_page_has_500_to_700_words() {
    let words = words(&read("README.md"));
    assert!(WORDS.contains(&words), "{words} words in README.md");
}

#[test]
fn front_page_has_all_parts_in_order() {
    let readme = read("README.md");
    let mut is_code = false;
    let headings = readme.lines().filter(|line| {
        is_code ^= line.starts_with("```");
        !is_code && line.starts_with('#')
    });
    assert_eq!(headings.collect::<Vec<_>>(), PARTS);
    let first = part(&readme, "# rangesteal").trim();
    assert!(!first.contains("\n\n") && first.matches(". ").count() == 0, "one sentence: {first}");
    assert!(part(&readme, "## Add it").contains("```toml\n[dependencies]\nrangesteal = {"));
    assert!(part(&readme, "## Example").contains("```rust\n"));
    let choice = part(&readme, "## When to use it");
    assert!(choice.contains("Use rangesteal if") && choice.contains("Use [rayon]"), "{choice}");
    let bullets = |heading| part(&readme, heading).lines().filter(|line| line.starts_with("* ")).count();
    assert_eq!(bullets("## Features"), 8);
    assert_eq!(bullets("## Good to know"), 4);
    let manifest = read("Cargo.toml");
    let oldest = between(&manifest, "rust-version = \"", "\"").next().expect("the oldest Rust");
    let facts = part(&readme, "## Good to know");
    let release = format!("Rust {oldest} or later");
    for fact in ["RANGESTEAL_REPORT=1", &release, "examples/stv/README.md", "**More than one machine**"] {
        assert!(facts.contains(fact), "{fact}");
    }
    assert!(part(&readme, "## Licence").contains("MIT or Apache-2.0"));
}

/// All ratios have the same unit, so each cell has only a number.
#[test]
fn front_page_has_four_ratios_and_the_command_that_measures_them() {
    let readme = read("README.md");
    let part = part(&readme, "## How fast");
    let mut rows = part.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    assert_eq!(rows.next(), Some("loop | rangesteal | rayon"));
    let mut count = 0;
    for row in rows {
        let cells: Vec<_> = row.split(" | ").collect();
        let [_loop, ours, rayon] = cells[..] else { panic!("three cells: {row}") };
        for ratio in [ours, rayon] {
            assert!(ratio.parse::<f64>().is_ok_and(|ratio| ratio > 0.0), "{row}");
        }
        count += 1;
    }
    assert_eq!(count, 4);
    assert!(part.contains("`cargo bench --bench versus -- --rows ") && part.contains("2 cores"), "{part}");
}

#[test]
fn front_page_has_the_commands() {
    let readme = read("README.md");
    assert_eq!(between(&readme, "```sh\n", "```").collect::<Vec<_>>(), [TRIAL, COMMANDS]);
    assert!(part(&readme, "## Try it in a minute").contains(TRIAL));
    assert!(part(&readme, "## Try it").contains(COMMANDS));
}

/// A program of a user of rayon.
const PROGRAM: &str = "\
use rayon::prelude::*;

fn main() {
    let squares: Vec<u64> = (0..1000_u64).into_par_iter().map(|x| x * x).collect();
    assert_eq!(squares.par_iter().sum::<u64>(), 332_833_500);
}
";

#[test]
fn a_program_for_rayon_runs_after_the_two_commands_of_the_trial() {
    let beside = top().join("target/users/trial");
    let program = beside.join("program");
    fs::create_dir_all(program.join("src")).unwrap();
    let manifest =
        "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n\n[dependencies]\nrayon = \"1\"\n";
    fs::write(program.join("Cargo.toml"), manifest).unwrap();
    fs::write(program.join("src/main.rs"), PROGRAM).unwrap();
    // The commands have a path relative to the program; here the clone does not lie beside it.
    let up = "../".repeat(program.strip_prefix(top()).unwrap().components().count());
    let trial = TRIAL.replace("../rangesteal/", &up);
    fs::copy(top().join("Cargo.lock"), program.join("Cargo.lock")).unwrap(); // the versions that are downloaded
    for command in trial.lines().chain(["cargo run --quiet"]) {
        let mut words = command.split(' ').skip(1);
        let mut cargo = Command::new(env!("CARGO"));
        cargo.arg(words.next().unwrap()).arg("--offline").args(words).current_dir(&program);
        cargo.env("CARGO_TARGET_DIR", top().join("target/users/target"));
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let after = fs::read_to_string(program.join("Cargo.toml")).unwrap();
    assert!(after.contains("package = \"rangesteal-rayon\"") && !after.contains("\"1\""), "{after}");
}
