//! The election counter of `examples/stv` as a program.

use std::{
    env,
    ffi::OsStr,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

/// Builds the program first, because cargo builds only the test executable of an example that has
/// tests of its own.
pub(crate) fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let this = env::current_exe().expect("the path of this test");
        let profile = this.ancestors().nth(2).expect("target/<profile>/deps/<test>");
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["build", "--quiet", "-p", "stv-program", "--example", "stv", "--target-dir"])
            .arg(profile.parent().expect("the target folder"));
        let name = profile.file_name().and_then(OsStr::to_str).expect("the profile's name");
        cargo.args(["--profile", if name == "debug" { "dev" } else { name }]);
        let built = cargo.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo runs");
        assert!(built.success(), "the example does not build");
        profile.join("examples").join(format!("stv{}", env::consts::EXE_SUFFIX))
    })
}
