//! Tests of the election counter of `examples/stv` as a program: command line, exit codes, standard
//! output and standard error.

#![cfg(not(miri))] // Miri starts no other programs

mod command_line;
mod counts;
mod executable;
mod files;
mod inputs;
mod outputs;
#[allow(dead_code, unreachable_pub)] // a file of another package
#[path = "../../../../benches/elections/synthetic.rs"]
mod synthetic;

use executable::program;
use flate2::{Compression, write::GzEncoder};
use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    slice,
};

/// The synthetic election of these options. The first word is not an option.
fn generated(words: &str) -> String {
    #[derive(clap::Parser)]
    struct Words {
        #[command(flatten)]
        synthetic: synthetic::Synthetic,
    }
    let words: Words = clap::Parser::parse_from(words.split(' '));
    let mut out = Vec::new();
    synthetic::write(&words.synthetic, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("text")
}

/// Runs the program with this standard input.
fn stv(arguments: &[&str], input: impl AsRef<[u8]>) -> Output {
    let mut command = Command::new(program());
    command.args(arguments).env_remove("RUST_LOG").env_remove("RANGESTEAL_NUM_THREADS");
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    // A program that stops at its command line reads no input. The failure of this write is then
    // ignored.
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_ref());
    child.wait_with_output().expect("the program ends")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("the program writes UTF-8")
}

/// The transcript of a count that must succeed.
fn transcript(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = stv(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// The output of a count in JSON.
fn json(arguments: &[&str], input: impl AsRef<[u8]>) -> serde_json::Value {
    serde_json::from_str(&transcript(arguments, input)).expect("JSON")
}

/// The one line of an error that leaves no transcript.
fn error(arguments: &[&str], input: impl AsRef<[u8]>) -> String {
    let output = stv(arguments, input);
    let complaint = text(&output.stderr).to_owned();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {complaint}");
    assert_eq!(text(&output.stdout), "", "an error leaves no transcript");
    assert!(
        complaint.starts_with("stv: ") && complaint.lines().count() == 1 && !complaint.contains("panicked"),
        "{complaint}"
    );
    complaint
}

fn winners(transcript: &str) -> Vec<&str> {
    let elections = transcript.lines().filter(|line| line.starts_with("Action: Elect"));
    elections.filter_map(|line| line.rsplit(": ").next()).collect()
}

/// A file that is removed at the end of the test.
struct BallotFile(PathBuf);

impl BallotFile {
    fn new(name: &str, contents: &[u8]) -> Self {
        let path = env::temp_dir().join(format!("rangesteal-stv-{}-{name}", std::process::id()));
        fs::write(&path, contents).expect("a file in the folder for temporary files");
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path in UTF-8")
    }
}

impl Drop for BallotFile {
    fn drop(&mut self) {
        // On failure the file stays in the temporary directory.
        let _ = fs::remove_file(&self.0);
    }
}

/// The lines about ties on standard error, and the warnings.
fn told(arguments: &[&str], input: &str) -> Vec<String> {
    let output = stv(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    let lines = text(&output.stderr).lines().filter(|line| !line.contains(" distributions, "));
    lines.map(str::to_owned).collect()
}

fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut packing = GzEncoder::new(Vec::new(), Compression::fast());
    packing.write_all(contents).expect("memory takes all");
    packing.finish().expect("memory takes all")
}

const BALLOTS: &str = "3 1\n4 1 2 0\n3 2 0\n2 3 2 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n";

const EQUALS: &str = "4 2\n7 1=2 3 0\n3 2=3=4 1 0\n5 4 1=3 0\n2 3 0\n4 1 2=4 3 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Dora\"\n\"Two\"\n";

/// Three candidates who have the same votes from beginning to end.
const TIE: &str = "3 1\n1 1 0\n1 2 0\n1 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"\n";
