//! The files of the working tree, or of a git revision.

use std::{collections::BTreeMap, env, fs, process::Command};

use crate::top;

/// The revision that the variable `BASE` names, if it is set.
pub(super) fn base() -> Option<String> {
    env::var("BASE").ok().filter(|base| !base.is_empty())
}

/// The texts, by path, of the files that git tracks in `folder` and whose names end in
/// `.extension`. If there is no revision, the texts are those of the working tree.
pub(super) fn texts(revision: Option<&str>, folder: &str, extension: &str) -> BTreeMap<String, String> {
    let list = match revision {
        Some(revision) => git(&["ls-tree", "-r", "--name-only", revision, "--", folder]),
        None => git(&["ls-files", "--cached", "--others", "--exclude-standard", "--", folder]),
    };
    let ending = format!(".{extension}");
    let text = |file: &str| match revision {
        Some(revision) => Some(git(&["show", &format!("{revision}:{file}")])),
        None => fs::read_to_string(top().join(file)).ok(), // `None` if the file has been deleted
    };
    let files = list.lines().filter(|file| file.ends_with(&ending));
    files.filter_map(|file| Some((file.to_string(), text(file)?))).collect()
}

/// The output of a git command that succeeds.
fn git(arguments: &[&str]) -> String {
    let output = Command::new("git").current_dir(top()).args(arguments).output().expect("git");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {}: {errors}", arguments.join(" "));
    String::from_utf8(output.stdout).expect("UTF-8")
}
