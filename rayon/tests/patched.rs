//! Trees of crates that use rayon, with the two ways of the README. Crates come from cargo's
//! registry. Without them, and without a network to get them, a test is skipped, with a message.

#![cfg(feature = "threads")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

const PROGRAM: &str = r#"
use hashbrown::HashMap;
use indexmap::{IndexMap, IndexSet};
use rayon::prelude::*;

fn main() {
    let squares: HashMap<u32, u32> = (0..1000).into_par_iter().map(|x| (x, x * x)).collect();
    let sum: u32 = squares.par_iter().map(|(x, square)| square / x.max(&1)).sum();
    assert_eq!(sum, (0..1000).sum::<u32>());
    assert_eq!(squares.par_keys().filter(|x| *x % 2 == 0).count(), 500);
    assert_eq!(squares.par_values().copied().max(), Some(999 * 999));
    assert_eq!(squares.into_par_iter().find_any(|(x, _)| *x == 700), Some((700, 490_000)));

    let mut names: IndexMap<String, usize> = (0..1000).into_par_iter().map(|x| (x.to_string(), x)).collect();
    assert!(names.par_iter().enumerate().all(|(at, (_, value))| at == *value));
    names.par_values_mut().for_each(|value| *value += 1);
    assert_eq!(names.par_iter().position_first(|(_, value)| *value == 701), Some(700));
    names.par_sort_by(|_, a, _, b| b.cmp(a));
    assert_eq!(names.get_index(0).map(|(_, value)| *value), Some(1000));
    let set: IndexSet<u32> = (0..100).into_par_iter().collect();
    assert!(set.par_iter().zip(0..100_u32).all(|(a, b)| *a == b));
    assert_eq!(set.par_iter().rev().find_first(|x| *x % 7 == 0), Some(&98));

    // Both names stand for one pool.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(3).build().expect("a pool");
    assert_eq!(pool.install(rayon_core::current_num_threads), 3);
    assert_eq!(rayon_core::join(|| 1, || 2), (1, 2));
    println!("patched");
}
"#;

/// The last lines are those of the README.
const TREE: &str = r#"
[dependencies]
hashbrown = { version = "0.17", features = ["rayon"] }
indexmap = { version = "2.14", features = ["rayon"] }
rayon = "1.12"
rayon-core = "1.13"

[patch.crates-io]
rayon = { path = "../rangesteal/rayon/patch" }
rayon-core = { path = "../rangesteal/rayon/patch-core" }
"#;

/// The second way of the README.
const OPTIONAL: &str = r#"
[dependencies]
rayon = { path = "../rangesteal/rayon/patch", optional = true }

[features]
parallel = ["dep:rayon"]

[target.'cfg(unix)'.dependencies]
rayon-core = { path = "../rangesteal/rayon/patch-core" }
"#;

const OF_A_FEATURE: &str = r#"
#[cfg(feature = "parallel")]
fn main() {
    use rayon::prelude::*;
    assert_eq!((0..10).into_par_iter().sum::<u32>(), 45);
    #[cfg(unix)]
    assert_eq!(rayon_core::current_num_threads(), rayon::current_num_threads());
    println!("patched");
}

#[cfg(not(feature = "parallel"))]
fn main() {
    println!("alone");
}
"#;

/// A program in a folder of its own.
struct Program(PathBuf);

impl Program {
    fn new(name: &str, manifest: &str, program: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(folder.join("src")).unwrap();
        let package =
            format!("[package]\nname = \"{name}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n");
        let manifest = manifest.replace("../rangesteal/rayon", env!("CARGO_MANIFEST_DIR"));
        fs::write(folder.join("Cargo.toml"), package + &manifest).unwrap();
        fs::write(folder.join("src/main.rs"), program).unwrap();
        Self(folder)
    }

    fn cargo(&self, arguments: &[&str]) -> Output {
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).arg("--quiet").current_dir(&self.0);
        cargo.env("CARGO_TARGET_DIR", self.0.join("target")).output().expect("cargo")
    }

    /// Whether the crates are there.
    fn has_crates(&self) -> bool {
        let has =
            [&["fetch", "--offline"][..], &["fetch"]].iter().any(|how| self.cargo(how).status.success());
        if !has {
            println!("SKIPPED: a crate is not in cargo's registry folder, and cannot be fetched");
        }
        has
    }

    /// Runs the program, and expects that it prints `patched`, and that no rayon is the real one.
    fn runs(&self, arguments: &[&str]) {
        let output = self.cargo(&[&["run", "--offline"], arguments].concat());
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "patched\n",
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let lock = fs::read_to_string(self.0.join("Cargo.lock")).unwrap();
        for package in lock.split("\n\n").filter(|package| package.contains("name = \"rayon")) {
            assert!(!package.contains("source ="), "of the registry: {package}");
        }
        assert!(lock.contains("name = \"rangesteal-rayon\""), "{lock}");
    }
}

#[test]
#[ignore = "builds trees of other crates: .ci/long runs it"]
fn a_patched_tree_runs_on_this_crate() {
    let program = Program::new("patched", TREE, PROGRAM);
    if program.has_crates() {
        program.runs(&[]);
    }
}

#[test]
#[ignore = "builds trees of other crates: .ci/long runs it"]
fn a_line_with_a_path_keeps_features_and_platforms() {
    let program = Program::new("optional", OPTIONAL, OF_A_FEATURE);
    if program.has_crates() {
        program.runs(&["--features", "parallel"]);
        assert_eq!(program.cargo(&["run", "--offline"]).stdout, b"alone\n");
    }
}
