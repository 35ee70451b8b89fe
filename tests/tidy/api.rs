//! `tests/tidy/api.txt` lists the public interface, so a diff shows each change of the interface.
//!
//! `UPDATE_API=1 cargo test -p rangesteal-tidy api` writes the file again.

use std::{env, fs, process::Command};

use public_api::Builder;

use crate::top;

/// The Rust release that wrote the listing. Other releases may write paths differently.
const RELEASE: &str = "rustc 1.95";

#[test]
fn the_public_surface_is_as_listed() {
    let rustc = Command::new("rustc").arg("--version").output().expect("rustc");
    if !String::from_utf8_lossy(&rustc.stdout).starts_with(RELEASE) {
        eprintln!("SKIPPED: the listing is made with {RELEASE}");
        return;
    }
    let root = top();
    // The listing has its own target folder, because cargo locks the usual folder while it builds
    // tests.
    let target = root.join("target/api");
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--quiet", "--package", "rangesteal", "--lib", "--target-dir"])
        .arg(&target)
        .args(["--", "-Zunstable-options", "--output-format", "json"])
        .env("RUSTC_BOOTSTRAP", "1")
        .env_remove("RUSTDOCFLAGS")
        .current_dir(root)
        .status()
        .expect("cargo");
    assert!(status.success(), "rustdoc");

    let surface = Builder::from_rustdoc_json(target.join("doc/rangesteal.json"))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .expect("a listing");
    let surface = surface.to_string() + "\n";
    let listing = root.join("tests/tidy/api.txt");
    if env::var_os("UPDATE_API").is_some() {
        fs::write(&listing, &surface).expect("a file that can be written");
    }
    let listed = fs::read_to_string(&listing).unwrap_or_default();
    for line in surface.lines().filter(|line| !listed.lines().any(|other| other == *line)) {
        eprintln!("+ {line}");
    }
    for line in listed.lines().filter(|line| !surface.lines().any(|other| other == *line)) {
        eprintln!("- {line}");
    }
    assert!(
        surface == listed,
        "the public surface has changed: UPDATE_API=1 cargo test -p rangesteal-tidy api, and the changelog"
    );
}
