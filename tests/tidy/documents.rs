//! Tests that the files, headings, test programs and stages of `.ci/long` that documents name
//! exist. In `CONTRIBUTING.md` and `docs/`, each path, script, package, test and identifier in code
//! must also exist.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use crate::top;

/// The folders with the files that documents name.
const FOLDERS: [&str; 8] = [".ci", "benches", "docs", "examples", "profiling", "rayon", "src", "tests"];
/// The folders in which a path in a document may begin.
const BASES: [&str; 3] = ["", "src", "src/pool"];
/// The options of cargo that take a value.
const VALUED: [&str; 8] =
    ["--test", "--example", "--bench", "-p", "--package", "--target", "--features", "--target-dir"];

/// The documents of the repository, with their texts.
fn documents() -> Vec<(PathBuf, String)> {
    let mut files = files();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "md"));
    files.into_iter().map(|file| (file.clone(), fs::read_to_string(file).unwrap())).collect()
}

/// The files in the top folder, and all files in `FOLDERS`.
fn files() -> Vec<PathBuf> {
    let mut folders: Vec<_> = FOLDERS.map(|name| top().join(name)).into();
    let mut files: Vec<_> = entries(top()).into_iter().filter(|entry| entry.is_file()).collect();
    while let Some(folder) = folders.pop() {
        let (inner, own): (Vec<_>, Vec<_>) = entries(&folder).into_iter().partition(|entry| entry.is_dir());
        folders.extend(inner);
        files.extend(own);
    }
    files
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// For each `before` in `text`: the text between this `before` and the next `behind`.
pub(crate) fn between<'a>(text: &'a str, before: &'a str, behind: &'a str) -> impl Iterator<Item = &'a str> {
    text.split(before).skip(1).filter_map(move |rest| Some(rest.split_once(behind)?.0))
}

/// The name by which links refer to a heading.
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

/// Whether a package of the election count has an integration test of this name.
fn of_the_count(name: &str) -> bool {
    let files =
        [format!("tests/{name}.rs"), format!("tests/{name}/main.rs"), format!("ballots/tests/{name}.rs")];
    files.iter().any(|file| top().join("examples/stv").join(file).is_file())
}

#[test]
fn commands_name_what_there_is() {
    let top = top();
    let long = fs::read_to_string(top.join(".ci/long")).unwrap();
    let manifests = [
        "Cargo.toml",
        "benches/Cargo.toml",
        "benches/elections/Cargo.toml",
        "examples/stv/program/Cargo.toml",
        "tests/tidy/Cargo.toml",
    ]; // targets without a folder of their own
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
                        || option == "--test" && of_the_count(name)
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

/// The code of a document: the texts between backticks, and the lines of code blocks.
fn code(text: &str) -> Vec<&str> {
    let mut is_block = false;
    let mut found = Vec::new();
    for line in text.lines() {
        if line.starts_with("```") {
            is_block = !is_block;
        } else if is_block {
            found.push(line.split(" #").next().unwrap_or_default());
        } else {
            let pieces: Vec<_> = line.split('`').collect();
            assert!(pieces.len() % 2 == 1, "code that does not end in its line: {line}");
            found.extend(pieces.into_iter().skip(1).step_by(2));
        }
    }
    found
}

/// The names in all files except documents and this one, and the names of tests, packages, files
/// and stages.
struct Names {
    words: HashSet<String>,
    functions: HashSet<String>,
    /// The paths of files without their endings, and the names of functions and inline modules. A
    /// filter of `cargo test` must be a part of one of these names.
    filtered: String,
    packages: HashSet<String>,
    files: HashSet<String>,
    /// The names of the stages of `.ci/long`.
    stages: Vec<String>,
}

impl Names {
    fn of_repository() -> Self {
        let mut names = Self {
            words: HashSet::new(),
            functions: HashSet::new(),
            filtered: String::new(),
            packages: HashSet::new(),
            files: HashSet::new(),
            stages: Vec::new(),
        };
        for file in files() {
            let name = file.file_name().unwrap().to_str().unwrap();
            names.files.insert(name.into());
            let Ok(text) = fs::read_to_string(&file) else { continue };
            if name == "Cargo.toml" {
                names.packages.extend(between(&text, "[package]\nname = \"", "\"").map(String::from));
            }
            if file.ends_with(".ci/long") {
                names.stages = between(&text, "long \"", "\"").map(String::from).collect();
            }
            if file.extension().is_some_and(|ending| ending == "md") || file.ends_with("tidy/documents.rs") {
                continue;
            }
            let mut last = "";
            for word in text.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
                if last == "fn" || last == "mod" {
                    names.functions.insert(word.into());
                    names.filtered.extend([" ", word]);
                }
                names.words.insert(word.into());
                last = if word.is_empty() { last } else { word };
            }
            let below = file.strip_prefix(top()).unwrap().with_extension("");
            names.filtered += &format!(" {}::", below.display()).replace('/', "::");
        }
        names
    }

    /// Returns the fault of a word of code; `None` if there is no fault.
    fn fault(&self, word: &str) -> Option<&'static str> {
        let word = word.trim_matches(['"', '\'', '(', ')', ',', ';']).trim_end_matches(['.', ':']);
        let word = word.rsplit_once('=').map_or(word, |(_, value)| value);
        let word = word.strip_prefix("$PWD/").unwrap_or(word);
        let is_free = word.starts_with(['/', '$', '-', '#', '~']) || word.contains(['*', '{', '<', '|', '^']);
        if is_free || word.contains("://") || word.starts_with("../") || word.starts_with("target/") {
            return None;
        }
        let endings = [".rs", ".md", ".toml", ".py", ".txt"];
        if word.contains('/') {
            let is_there = BASES.iter().any(|base| top().join(base).join(word).exists());
            return (!is_there).then_some("no such file");
        }
        if endings.iter().any(|ending| word.ends_with(ending)) {
            return (!self.files.contains(word)).then_some("no file has that name");
        }
        for name in word.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            let underscores = name.matches('_').count();
            let is_lower = !name.contains(char::is_uppercase);
            if is_lower && underscores > 1 && !self.functions.contains(name) {
                return Some("no such test or function");
            }
            if underscores > 0 && !self.words.contains(name) {
                return Some("not in the sources");
            }
        }
        None
    }

    /// Checks the packages, filters and stages of a command. Returns the fault of the command;
    /// `None` if there is no fault.
    fn fault_of_command(&self, command: &str) -> Option<String> {
        if let Some(stages) = command.strip_prefix(".ci/long ") {
            // The command is split at quotation marks. Parts with odd numbers are inside quotation
            // marks.
            let words = stages.split('"').enumerate().flat_map(|(at, text)| match at % 2 {
                0 => text.split_whitespace().collect(),
                _ => vec![text],
            });
            let mut unknown = words.filter(|word| !self.stages.iter().any(|stage| stage.contains(word)));
            return unknown.next().map(|word| format!("no stage {word}"));
        }
        let (_, arguments) = command.split_once("cargo ")?;
        let mut words = arguments.split_whitespace().skip_while(|word| word.starts_with('+'));
        let is_test = words.next()? == "test";
        let (mut is_behind, mut filters) = (false, 0);
        while let Some(word) = words.next() {
            if VALUED.contains(&word) {
                let value = words.next()?;
                if word == "-p" && !self.packages.contains(value) {
                    return Some(format!("no package {value}"));
                }
                continue;
            }
            is_behind |= word == "--";
            let is_name = word.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':'));
            if is_test && is_name && word.parse::<u64>().is_err() {
                let parts = word.split("::").filter(|part| !part.is_empty());
                if !parts.into_iter().all(|part| self.filtered.contains(part)) {
                    return Some(format!("no test matches {word}"));
                }
                filters += usize::from(!is_behind);
            } else if is_test && !is_behind && !word.starts_with('-') {
                return Some(format!("{word} is no filter"));
            }
        }
        (filters > 1).then(|| "cargo takes one filter before --".into())
    }
}

#[test]
fn contributing_and_its_pages_name_what_exists() {
    let names = Names::of_repository();
    let (mut count, mut faults) = (0, Vec::new());
    for (file, text) in documents() {
        let below = file.strip_prefix(top()).unwrap();
        if below != Path::new("CONTRIBUTING.md") && !below.starts_with("docs") {
            continue;
        }
        for code in code(&text) {
            let of_words =
                code.split_whitespace().filter_map(|word| Some(format!("{word}: {}", names.fault(word)?)));
            faults.extend(
                of_words
                    .chain(names.fault_of_command(code))
                    .map(|fault| format!("{}: {fault}", below.display())),
            );
            count += 1;
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(count > 100, "{count} pieces of code");
}

#[test]
fn wrong_names_are_noticed() {
    let names = Names::of_repository();
    for word in [
        "supply/gone.rs",
        "src/pool/gone.rs",
        ".ci/gone",
        "RUSTC_WORKSPACE_WRAPPER=$PWD/.ci/gone",
        "gone.rs",
        "a_test_that_was_never_there",
        "GONE_NS",
    ] {
        assert!(names.fault(word).is_some(), "{word}");
    }
    for word in
        ["supply/range.rs", "range.rs", ".ci/run", "a_call_touches_little", "CHEAP_NS", "/proc", "verbs/"]
    {
        assert_eq!(names.fault(word), None, "{word}");
    }
    for command in [
        "cargo test -p gone",
        "cargo test --lib gone_gone",
        "cargo test --test loops gone_gone",
        "cargo test --lib simulator gaps",
        ".ci/long gone",
        ".ci/long Miri \"soak, gone\"",
    ] {
        assert!(names.fault_of_command(command).is_some(), "{command}");
    }
    for command in [
        "cargo test --lib simulator::two -- --ignored",
        "A=1 cargo +nightly test -p rangesteal-tidy layers -- --test-threads 1",
        "cargo bench --bench versus -- --rows b",
        ".ci/long Miri \"soak, five minutes\"",
    ] {
        assert_eq!(names.fault_of_command(command), None, "{command}");
    }
    assert_eq!(code("a `b c` d\n```sh\ne # f\n```\ng"), ["b c", "e"]);
}
