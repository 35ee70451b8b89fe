//! Tests that the use of an item that the crate lacks is a compile error, which names the README.

use std::{fs, path::Path, process::Command};

const PROGRAM: &str = r"
use rayon::{iter::plumbing::*, prelude::*};

pub struct Mine;

impl ParallelIterator for Mine {
    type Item = u8;
}

impl Consumer<u8> for Mine {}

pub fn all() {
    bridge(0..3, ());
}
";

/// Texts in the compiler's output, and the least number of occurrences of each.
const SAID: [(&str, usize); 3] = [
    ("`rayon::iter::plumbing` is not in rangesteal-rayon", 2),
    ("`Mine` is no parallel iterator of rangesteal-rayon", 1),
    ("in the README of rangesteal-rayon", 3),
];

/// Chains that need an index where there is none, one error each.
const UNINDEXED: [&str; 8] = [
    "v.par_iter().filter(|x| **x > 2).enumerate().map(|(i, x)| i.pow(*x)).sum::<usize>()",
    "v.par_iter().filter(|x| **x > 2).rev().map(|x| x.pow(2)).count()",
    "v.par_iter().filter(|x| **x > 2).map(|x| x + 1).zip(v).map(|(a, b)| a.pow(*b)).count()",
    "v.par_iter().filter_map(|x| x.checked_sub(2)).map(|x| x + 1).enumerate().count()",
    "v.par_iter().flat_map_iter(|x| 0..*x).chunks(2).map(|x| x.len()).count()",
    "v.par_iter().flat_map(|x| 0..*x).take(2).map(|x| x.pow(2)).count()",
    "v.par_iter().map(Some).flatten().skip(2).sum::<u32>()",
    "v.par_iter().skip_any(2).with_min_len(2).map(|x| x.pow(2)).count()",
];

/// The compiler's messages for a library that must not compile.
fn refusal(name: &str, program: &str) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\nrayon = {{ package = \"rangesteal-rayon\", path = '{}' }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), program).unwrap();
    let check = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&folder)
        .output()
        .expect("cargo");
    assert!(!check.status.success(), "it compiles");
    String::from_utf8_lossy(&check.stderr).into_owned()
}

#[test]
fn what_needs_an_index_behind_a_filter_is_one_error_that_says_what_to_write() {
    let lines: String = UNINDEXED.map(|chain| format!("    let _ = {chain};\n")).concat();
    let said =
        refusal("unindexed", &format!("use rayon::prelude::*;\npub fn all(v: &Vec<u32>) {{\n{lines}}}\n"));
    let error = "error[E0277]: items behind `filter`, `flat_map` and so on have no index: put this method";
    assert_eq!(said.matches("error[").count(), UNINDEXED.len(), "{said}");
    assert_eq!(said.matches(error).count(), UNINDEXED.len(), "{said}");
    let zipped = "v.par_iter().zip(v.par_iter().filter(|x| **x > 2))";
    let said =
        refusal("unindexed", &format!("use rayon::prelude::*;\npub fn all(v: &Vec<u32>) {{ {zipped}; }}"));
    assert!(
        said.starts_with("error[E0277]: items behind `filter`, `flat_map` and so on have no index\n"),
        "{said}"
    );
}

#[test]
fn what_is_not_there_does_not_compile_and_names_the_readme() {
    let said = refusal("refused", PROGRAM);
    for (what, times) in SAID {
        assert!(said.matches(what).count() >= times, "not {times} times {what:?} in\n{said}");
    }
}
