//! Programs as users write and build them.

use std::{fs, path::PathBuf, process::Command};

use crate::top;

/// The optimised program of this name, with this source.
pub(crate) fn built(name: &str, source: &str) -> PathBuf {
    let (folder, target) = (top().join("target/users").join(name), top().join("target/users/target"));
    fs::create_dir_all(folder.join("src")).unwrap();
    fs::write(
        folder.join("Cargo.toml"),
        format!(
            "[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n[dependencies]\nrangesteal = {{ path = '{}' }}\n",
            top().display()
        ),
    )
    .unwrap();
    fs::copy(top().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap(); // the versions that are there
    fs::write(folder.join("src/main.rs"), source).unwrap();
    let build = ["build", "--quiet", "--release", "--offline", "--target-dir"];
    let mut cargo = Command::new(env!("CARGO"));
    for flags in ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"] {
        cargo.env_remove(flags); // what a user builds
    }
    assert!(cargo.args(build).arg(&target).current_dir(&folder).status().unwrap().success());
    target.join("release").join(name)
}
