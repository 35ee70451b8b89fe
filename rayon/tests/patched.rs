//! One tree of crates that use rayon, patched as the README says. Crates come from cargo's registry.
//! Without them, and without a network to get them, the test is skipped, with a message.

#![cfg(feature = "threads")]

use std::{fs, path::Path, process::Command};

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

/// The manifest of the program. The last lines are those of the README.
fn manifest() -> String {
    format!(
        "[package]\nname = \"patched\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\nhashbrown = {{ version = \"0.17\", features = [\"rayon\"] }}\n\
         indexmap = {{ version = \"2.14\", features = [\"rayon\"] }}\nrayon = \"1.12\"\nrayon-core = \"1.13\"\n\n\
         [patch.crates-io]\nrayon = {{ path = '{0}/patch' }}\nrayon-core = {{ path = '{0}/patch-core' }}\n",
        env!("CARGO_MANIFEST_DIR")
    )
}

#[test]
fn a_patched_tree_runs_on_this_crate() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("patched");
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(folder.join("Cargo.toml"), manifest()).unwrap();
    fs::write(folder.join("src/main.rs"), PROGRAM).unwrap();
    let cargo = |arguments: &[&str]| {
        let mut cargo = Command::new(env!("CARGO"));
        let said = cargo.args(arguments).current_dir(&folder).output().expect("cargo");
        (said.status.success(), String::from_utf8_lossy(&said.stdout).into_owned(), said.stderr)
    };
    let has_crates = cargo(&["fetch", "--quiet", "--offline"]).0 || cargo(&["fetch", "--quiet"]).0;
    if !has_crates {
        println!("SKIPPED: hashbrown and indexmap are not in cargo's registry folder, and cannot be fetched");
        return;
    }
    let target = folder.join("target");
    let (has_run, printed, errors) =
        cargo(&["run", "--quiet", "--offline", "--target-dir", target.to_str().expect("UTF-8")]);
    assert!(has_run, "{}", String::from_utf8_lossy(&errors));
    assert_eq!(printed, "patched\n");
    let lock = fs::read_to_string(folder.join("Cargo.lock")).unwrap();
    for package in ["rayon", "rayon-core"] {
        let start = lock.find(&format!("name = \"{package}\"\n")).expect("the package is in the tree");
        let entry = lock[start..].split("\n\n").next().unwrap_or_default();
        assert!(!entry.contains("source ="), "{package} comes from the registry:\n{entry}");
    }
}
