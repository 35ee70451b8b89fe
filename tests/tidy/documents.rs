//! What the documents name is there: files, headings, programs of tests, stages of `.ci/long`.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::top;

/// All of them, by their places in the repository, with their texts.
fn documents() -> Vec<(PathBuf, String)> {
    let top = top();
    let mut folders: Vec<_> =
        ["benches", "examples", "profiling", "rayon", "src", "tests"].map(|name| top.join(name)).into();
    let mut files: Vec<_> = entries(top);
    while let Some(folder) = folders.pop() {
        let (inner, own): (Vec<_>, Vec<_>) = entries(&folder).into_iter().partition(|entry| entry.is_dir());
        folders.extend(inner);
        files.extend(own);
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// What stands between the first of the two words and the next one of the second, wherever it does.
pub(crate) fn between<'a>(text: &'a str, before: &'a str, behind: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| Some(rest.split_once(behind)?.0))
}

/// As a link to a heading is written.
pub(crate) fn slug(heading: &str) -> String {
    let kept =
        heading.trim().chars().filter(|letter| letter.is_alphanumeric() || matches!(letter, ' ' | '-' | '_'));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn links_lead_somewhere() {
    let mut count = 0;
    for (file, text) in documents() {
        for link in
            between(&text, "](", ")").filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (path, heading) = link.split_once('#').unwrap_or((link, ""));
            let target = if path.is_empty() { file.clone() } else { file.with_file_name(path) };
            assert!(target.exists(), "{}: {link}", file.display());
            if !heading.is_empty() {
                let text = fs::read_to_string(&target).unwrap();
                let mut headings = text
                    .lines()
                    .filter(|line| line.starts_with('#'))
                    .map(|line| slug(line.trim_start_matches('#')));
                assert!(headings.any(|found| found == heading), "{}: {link}", file.display());
            }
            count += 1;
        }
    }
    assert!(count > 30, "{count} links");
}

#[test]
fn commands_name_what_there_is() {
    let top = top();
    let long = fs::read_to_string(top.join(".ci/long")).unwrap();
    let manifests = ["Cargo.toml", "examples/stv/program/Cargo.toml", "tests/tidy/Cargo.toml"]; // they name what has no folder of its own
    let manifests = manifests.map(|file| fs::read_to_string(top.join(file)).unwrap()).concat();
    let mut count = 0;
    for (file, text) in documents() {
        let words: Vec<_> = text.split(|letter: char| letter.is_whitespace() || letter == '`').collect();
        for pair in words.windows(2) {
            let (option, name) = (pair[0], pair[1].trim_end_matches([',', '.', ';', ')', ':']));
            let is_there = match option {
                "--test" | "--example" | "--bench" => {
                    let folder = top.join(match option {
                        "--test" => "tests",
                        "--example" => "examples",
                        _ => "benches",
                    });
                    folder.join(format!("{name}.rs")).is_file()
                        || folder.join(name).join("main.rs").is_file()
                        || manifests.contains(&format!("[[{}]]\nname = \"{name}\"\n", &option[2..]))
                }
                ".ci/long" if name.chars().next().is_some_and(char::is_alphabetic) => {
                    between(&long, "long \"", "\"").any(|stage| stage.contains(name))
                }
                _ => continue,
            };
            assert!(is_there, "{}: {option} {name}", file.display());
            count += 1;
        }
    }
    assert!(count > 20, "{count} commands");
}

#[test]
fn files_that_are_named_exist() {
    let top = top();
    let mut count = 0;
    for (file, text) in documents() {
        for name in text.lines().flat_map(|line| line.split('`').skip(1).step_by(2)) {
            let name = name.split(' ').next().unwrap_or_default();
            let is_file = ["benches/", "examples/", "profiling/", "rayon/", "src/", "tests/"]
                .iter()
                .any(|folder| name.starts_with(folder));
            if is_file && !name.contains(['*', '{', '<']) {
                let is_there = [name, &format!("{name}.rs")].iter().any(|path| top.join(path).exists());
                assert!(is_there, "{}: {name}", file.display());
                count += 1;
            }
        }
    }
    assert!(count > 20, "{count} files");
}
