//! The host, date and commit of figures.

use std::{fs, process::Command};

pub(crate) struct Host {
    /// The name of the bench: the first word of its files.
    bench: &'static str,
    model: String,
    pub(crate) cpus: usize,
    pub(crate) threads: usize,
    pub(crate) rounds: usize,
    commit: String,
    rustc: String,
    date: String,
}

impl Host {
    pub(crate) fn new(bench: &'static str, cpus: usize, threads: usize, rounds: usize) -> Self {
        let here = ["-C", env!("CARGO_MANIFEST_DIR"), "describe", "--always", "--dirty", "--abbrev=10"];
        Self {
            bench,
            model: cpu_model(),
            cpus,
            threads,
            rounds,
            commit: said("git", &here),
            rustc: said("rustc", &["--version"]),
            date: said("date", &["-u", "+%Y-%m-%d %H:%M UTC"]),
        }
    }

    /// The description in one line.
    pub(crate) fn said(&self) -> String {
        let Self { model, cpus, threads, rounds, commit, rustc, date, .. } = self;
        format!("{model}, {cpus} CPUs, {threads} threads; {rounds} rounds; commit {commit}; {rustc}; {date}")
    }

    /// The common beginning of the names of all files with figures of this bench.
    pub(crate) fn files(&self) -> String {
        format!("{}-", self.bench)
    }

    /// The name of a file for its figures, without the extension.
    pub(crate) fn file(&self) -> String {
        let simple = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
        let slug: String = self.model.chars().map(simple).collect();
        let words: Vec<&str> = slug.split('-').filter(|word| !word.is_empty()).collect();
        format!("{}{}-{}", self.files(), words.join("-"), self.threads)
    }
}

fn cpu_model() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or("unknown CPU", |(_, model)| model.trim()).to_owned()
}

/// The first line of a program's output.
fn said(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().next().unwrap_or("unknown").to_owned()
}
