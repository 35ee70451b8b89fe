//! Programs of users, built in the ways of users.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use crate::top;

/// A program and its build options. Programs with different options need different names.
#[derive(Clone, Copy)]
pub(crate) struct Program<'a> {
    pub(crate) name: &'a str,
    pub(crate) source: &'a str,
    pub(crate) uses: Uses,
    /// Options of the release profile, such as `("LTO", "fat")`.
    pub(crate) profile: &'a [(&'a str, &'a str)],
}

/// The library that a program uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Uses {
    Nothing,
    Rangesteal,
    Rayon,
}

impl Uses {
    fn dependency(self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Rangesteal => format!("rangesteal = {{ path = '{}' }}", top().display()),
            Self::Rayon => "rayon = \"1\"".to_owned(),
        }
    }
}

impl<'a> Program<'a> {
    /// A program that uses rangesteal and the default release profile.
    pub(crate) fn new(name: &'a str, source: &'a str) -> Self {
        Self { name, source, uses: Uses::Rangesteal, profile: &[] }
    }

    /// Builds the program optimised, and returns its path.
    pub(crate) fn built(self) -> PathBuf {
        let target = top().join("target/users/target");
        self.write();
        assert!(self.cargo(&target).status().unwrap().success());
        target.join("release").join(self.name)
    }

    /// The errors of the compiler for a program that must not compile.
    pub(crate) fn refusal(self) -> String {
        self.write();
        let mut cargo = self.command(&["check", "--quiet"], &top().join("target/users/refused"));
        let output = cargo.output().unwrap();
        assert!(!output.status.success(), "{}: it compiles", self.name);
        String::from_utf8(output.stderr).unwrap()
    }

    fn folder(self) -> PathBuf {
        top().join("target/users").join(self.name)
    }

    /// Writes the program as a package.
    pub(crate) fn write(self) {
        let (folder, Self { name, uses, .. }) = (self.folder(), self);
        fs::create_dir_all(folder.join("src")).unwrap();
        fs::write(
            folder.join("Cargo.toml"),
            format!(
                "[package]\nname = \"{name}\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{}\n",
                uses.dependency()
            ),
        )
        .unwrap();
        fs::copy(top().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap(); // the versions that are downloaded
        fs::write(folder.join("src/main.rs"), self.source).unwrap();
    }

    /// The command that builds the written package.
    pub(crate) fn cargo(self, target: &Path) -> Command {
        self.command(&["build", "--quiet", "--release"], target)
    }

    fn command(self, what: &[&str], target: &Path) -> Command {
        let mut cargo = Command::new(env!("CARGO"));
        for flags in ["RUSTFLAGS", "RUSTC_WORKSPACE_WRAPPER", "CARGO_ENCODED_RUSTFLAGS", "CARGO_BUILD_TARGET"]
        {
            cargo.env_remove(flags); // a user's build does not have these flags
        }
        for (key, value) in self.profile {
            cargo.env(format!("CARGO_PROFILE_RELEASE_{key}"), value);
        }
        cargo.args(what).args(["--offline", "--target-dir"]).arg(target);
        cargo.current_dir(self.folder());
        cargo
    }
}
