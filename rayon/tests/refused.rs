//! Tests that the use of an item that the crate lacks is a compile error, which names the README.

use std::{fs, path::Path, process::Command};

const PROGRAM: &str = r"
use rayon::{iter::plumbing::*, prelude::*};

pub struct Mine;

impl ParallelIterator for Mine {
    type Item = u8;
}

impl Consumer<u8> for Mine {}

pub fn all(pool: &rayon::ThreadPool) {
    rayon::spawn(|| ());
    rayon::spawn_fifo(|| ());
    pool.spawn(|| ());
    pool.spawn_fifo(|| ());
    rayon::broadcast(|_| 1);
    pool.broadcast(|_| 1);
    pool.spawn_broadcast(|_| ());
    rayon::spawn_broadcast(|_| ());
    rayon::scope(|scope| scope.spawn_broadcast(|_, _| ()));
    rayon::scope_fifo(|scope| scope.spawn_broadcast(|_, _| ()));
    rayon::ThreadPoolBuilder::new().spawn_handler(|_| Ok(()));
    rayon::ThreadPoolBuilder::new().build_scoped(|thread| thread.run(), |_| ());
    bridge(0..3, ());
}
";

/// Texts in the compiler's output, and the least number of occurrences of each.
const SAID: [(&str, usize); 6] = [
    ("`spawn` outside of a scope is not in rangesteal-rayon", 4),
    ("`broadcast` is not in rangesteal-rayon", 6),
    ("threads that a program starts for a pool are not in rangesteal-rayon", 2),
    ("`rayon::iter::plumbing` is not in rangesteal-rayon", 2),
    ("`Mine` is no parallel iterator of rangesteal-rayon", 1),
    ("in the README of rangesteal-rayon", 15),
];

#[test]
fn what_is_not_there_does_not_compile_and_names_the_readme() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("refused");
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = format!(
        "[package]\nname = \"refused\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n[workspace]\n\n\
         [dependencies]\nrayon = {{ package = \"rangesteal-rayon\", path = '{}' }}\n",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(folder.join("src/lib.rs"), PROGRAM).unwrap();
    let check = Command::new(env!("CARGO"))
        .args(["check", "--quiet", "--offline", "--target-dir"])
        .arg(folder.join("target"))
        .current_dir(&folder)
        .output()
        .expect("cargo");
    let said = String::from_utf8_lossy(&check.stderr);
    assert!(!check.status.success(), "it compiles");
    for (what, times) in SAID {
        assert!(said.matches(what).count() >= times, "not {times} times {what:?} in\n{said}");
    }
}
