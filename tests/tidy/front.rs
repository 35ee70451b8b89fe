//! Tests that the commands of the README work. The test `the_count_of_the_front_page` in
//! `examples/stv/tests/program/command_line.rs` runs the first
//! command of "Try it". `cargo test --doc` runs the code.

use std::{fs, process::Command};

use crate::{documents::between, top, unsafe_inventory::read};

const TRIAL: &str = r#"[patch.crates-io]
rayon = { path = "../rangesteal/rayon/patch" }
rayon-core = { path = "../rangesteal/rayon/patch-core" }
"#;

const COMMANDS: &str = "\
cargo run --release --example stv -- --input examples/stv/sample.blt meek
cargo test
";

/// The lines between a heading and the next heading.
fn part<'a>(readme: &'a str, heading: &'a str) -> &'a str {
    let heading = format!("{heading}\n");
    let (_, rest) = readme.split_once(&heading).unwrap_or_else(|| panic!("no heading {heading}"));
    rest.split_once("\n## ").map_or(rest, |(part, _)| part)
}

#[test]
fn front_page_names_the_oldest_rust() {
    let manifest = read("Cargo.toml");
    let oldest = between(&manifest, "rust-version = \"", "\"").next().expect("the oldest Rust");
    assert!(read("README.md").contains(&format!("Rust {oldest} or later")), "{oldest}");
}

#[test]
fn front_page_has_the_commands() {
    let readme = read("README.md");
    assert_eq!(between(&readme, "```sh\n", "```").collect::<Vec<_>>(), [COMMANDS]);
    assert!(part(&readme, "## Coming from rayon").contains(TRIAL));
    assert!(read("rayon/README.md").contains(TRIAL));
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
fn a_program_for_rayon_runs_with_the_lines_of_the_trial_and_without_them() {
    let beside = top().join("target/users/trial");
    let program = beside.join("program");
    fs::create_dir_all(program.join("src")).unwrap();
    let manifest =
        "[package]\nname = \"program\"\nedition = \"2024\"\n[workspace]\n\n[dependencies]\nrayon = \"1\"\n";
    fs::write(program.join("src/main.rs"), PROGRAM).unwrap();
    fs::copy(top().join("Cargo.lock"), program.join("Cargo.lock")).unwrap(); // the versions that are downloaded
    // The lines have a path relative to the program; here the clone does not lie beside it.
    let up = "../".repeat(program.strip_prefix(top()).unwrap().components().count());
    let trial = TRIAL.replace("../rangesteal/", &up);
    for (lines, is_patched) in [("", false), (trial.as_str(), true), ("", false)] {
        fs::write(program.join("Cargo.toml"), format!("{manifest}\n{lines}")).unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline"]).current_dir(&program);
        cargo.env("CARGO_TARGET_DIR", top().join("target/users/target"));
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{lines}: {}", String::from_utf8_lossy(&output.stderr));
        let lock = fs::read_to_string(program.join("Cargo.lock")).unwrap();
        assert_eq!(lock.contains("name = \"rangesteal-rayon\""), is_patched, "{lock}");
    }
}
