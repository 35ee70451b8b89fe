//! The recorded counts of real elections, if they are there. They are not part of this repository:
//! `STV_CORPUS` is their directory.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

/// The directory of the recorded counts, if it exists.
pub(crate) fn directory() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../../shared/stv");
    let corpus = env::var_os("STV_CORPUS").map_or_else(beside, PathBuf::from);
    if corpus.join("cases.json").exists() {
        return Some(corpus);
    }
    eprintln!("SKIPPED: no corpus at {}; STV_CORPUS can name another place", corpus.display());
    None
}

/// All ballot files with their paths, including files with deliberate errors.
pub(crate) fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let (mut paths, mut packed) = (Vec::new(), Vec::new());
    if let Some(corpus) = directory() {
        files_in(&corpus, "blt", &mut paths);
        files_in(&corpus, "gz", &mut packed);
    }
    paths.extend(packed.iter().map(|path| path.with_extension("")));
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), unpacked(&path))).collect()
}

pub(crate) fn files_in(folder: &Path, ending: &str, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder of the corpus") {
        let path = entry.expect("an entry of it").path();
        if path.is_dir() {
            files_in(&path, ending, files);
        } else if path.extension().is_some_and(|extension| extension == ending) {
            files.push(path);
        }
    }
}

/// Whether a file is in a folder of files with deliberate errors, or of files that this program
/// does not read yet.
pub(crate) fn has_errors(path: &Path) -> bool {
    path.iter().any(|folder| folder == "bad" || folder == "faults")
}

/// The contents of a file, which may exist only in packed form.
pub(crate) fn unpacked(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|_| {
        let output = Command::new("gzip").args(["-dc"]).arg(path.with_extension("blt.gz")).output();
        let output = output.expect("gzip runs");
        assert!(output.status.success(), "{}: {}", path.display(), String::from_utf8_lossy(&output.stderr));
        output.stdout
    })
}
