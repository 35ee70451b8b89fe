//! The election counter of `examples/stv` as a program.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Builds the program first, since `cargo test -p stv` does not. It is built like the programs of
/// `cargo test` in the top folder: with other features of dependencies, cargo would compile the
/// library and the count a second time there.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let this = env::current_exe().expect("the path of this test");
        let profile = this.ancestors().nth(2).expect("target/<profile>/deps/<test>");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--quiet", "--example", "stv", "--target-dir"])
            .arg(profile.parent().expect("the target folder"));
        let name = profile.file_name().and_then(OsStr::to_str).expect("the profile's name");
        cargo.args(["--profile", if name == "debug" { "dev" } else { name }]);
        let top = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let built = cargo.current_dir(top).status().expect("cargo runs");
        assert!(built.success(), "the example does not build");
        profile.join("examples").join(format!("stv{}", env::consts::EXE_SUFFIX))
    })
}
