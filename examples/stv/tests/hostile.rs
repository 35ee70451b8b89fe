//! Tests of the election counter of `examples/stv` with damaged files and odd command lines. For
//! any input, the counter ends with a documented exit code. One line states the reason.
//!
//! ```text
//! STV_FUZZ_RUNS=5000 STV_FUZZ_SEED=1 cargo test --release --test hostile
//! ```

#![cfg(not(miri))] // Miri starts no other programs

#[path = "program/executable.rs"]
mod executable;
#[allow(dead_code, unreachable_pub)] // a file of another package
#[path = "../ballots/fuzz/mutate.rs"]
mod mutate;
#[allow(dead_code, unreachable_pub)] // a file of another package
#[path = "../count/random.rs"]
mod random;

use executable::program;
use flate2::{Compression, write::GzEncoder};
use mutate::any;
use random::SplitMix64;
use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::Write,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

/// A run that takes longer counts as hanging.
const HANGS: Duration = Duration::from_secs(60);

/// If every line of a file is wrong, a check of the file prints this number of lines.
const MOST_ERRORS: usize = 21;

const COMMANDS: &[&[&str]] = &[
    &["check"],
    &["convert", "--input"],
    &["convert", "--nick", "--input"],
    &["convert", "--to", "csv", "--input"],
    &["convert", "--to", "preflib", "--duplicates", "first", "--input"],
    &["plurality"],
    &["meek"],
    &["meek", "--equal-ranks", "as-droop", "--format", "json"],
    &["meek", "--force-positive-surplus", "--format", "csv", "--parallel", "no"],
    &["meek", "--trace", "1 2", "--parallel", "no"],
    &["meek", "--tie", "backwards", "--format", "json", "--record", "changes"],
    &["meek", "--tie", "random:7", "--strict", "--explain-ties"],
];

const ARITHMETICS: &[&str] = &["fixed9", "bigfixed9", "approx", "float64"];

/// Words of command lines, valid and invalid.
const WORDS: &[&str] = &[
    "--input",
    "--nick",
    "--to",
    "preflib",
    "--seats",
    "--duplicates",
    "truncate",
    "--arithmetic",
    "exact",
    "--package-name",
    "--equalize",
    "--trace",
    "Ada > Bert",
    "1=2",
    "=",
    "--format",
    "json",
    "--html",
    "/no/such/folder/page.html",
    "--num-threads",
    "3",
    "0",
    "-1",
    "18446744073709551616",
    "--omega-exponent",
    "--tie",
    "random:7",
    "random:",
    "--strict",
    "--record",
    "changes",
    "verify",
    "18",
    "--votes-per-ballot",
    "--pinning",
    "off",
    "-",
    "--",
    "",
    " ",
    "é\u{301}🗳",
    "\u{1b}[2J",
    "\n",
    "check",
    "meek",
    "--help",
    "--version",
    "-V",
    "/",
    "/no/such/file.blt.gz",
];

fn number(variable: &str, default: u64) -> u64 {
    let number = env::var(variable).map(|number| number.parse().expect("a whole number"));
    number.unwrap_or(default)
}

/// A folder of one test, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = env::temp_dir().join(format!("rangesteal-hostile-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder for temporary files");
        Self(folder)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // On failure the folder stays in the temporary directory.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The samples that belong to this crate.
fn files() -> Vec<Vec<u8>> {
    let few = b"3 1\n4 1 2 0\n3 2 0\n2 3=1 2 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n";
    let many = b"4 2\n[nick a b c d]\n[tie d a b c]\n-2\n7 a=c d 0\n3 b=c=d a 0\n5 d - a=c 0\n2 c 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"D\"\n\"T\"\n";
    vec![few.to_vec(), many.to_vec()]
}

/// The result of a run of the program.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    output: Vec<u8>,
    complaints: String,
}

fn run(folder: &Folder, arguments: &[OsString], input: &Path) -> Ended {
    let (output, complaints) = (folder.file("output"), folder.file("complaints"));
    let mut child = Command::new(program())
        .args(arguments)
        .current_dir(&folder.0) // for a page whose name is also a word of another option
        .env_remove("RUST_LOG")
        .env_remove("RANGESTEAL_NUM_THREADS")
        .stdin(File::open(input).expect("the file just written"))
        .stdout(File::create(&output).expect("a file for standard output"))
        .stderr(File::create(&complaints).expect("a file for standard error"))
        .spawn()
        .expect("the program starts");
    let begin = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().expect("a child of this process") {
            break status.code();
        }
        if begin.elapsed() > HANGS {
            child.kill().expect("a child of this process");
            panic!("it does not come to an end");
        }
        thread::sleep(Duration::from_micros(200));
    };
    let complaints = fs::read(complaints).expect("standard error");
    Ended {
        code,
        output: fs::read(output).expect("standard output"),
        complaints: String::from_utf8(complaints).expect("the program writes UTF-8"),
    }
}

/// Checks a run whose command line is valid.
fn judge(ended: &Ended, most_errors: usize) {
    let complaints = &ended.complaints;
    let code = ended.code.expect("no signal ends the program");
    assert!(code == 0 || code == 1, "exit code {code}");
    assert!(!complaints.contains("panicked") && !complaints.contains("fault of the program"));
    assert!(complaints.is_empty() || complaints.ends_with('\n'), "whole lines");
    let errors = complaints.lines().filter(|line| {
        let misleads = |character: char| character.is_control() || "\u{2028}\u{feff}".contains(character);
        assert!(line.starts_with("stv: ") && line.len() > 10 && !line.contains(misleads), "{line:?}");
        assert!(line.len() < 1000, "{line}");
        let effort = line.contains(" distributions, ");
        let tie = line.contains(": tie of ") || line.contains(" more ties, ");
        !line.starts_with("stv: warn: ") && !effort && !tie
    });
    let errors = errors.count();
    let wanted = if code == 0 { 0..=0 } else { 1..=most_errors };
    assert!(wanted.contains(&errors), "exit code {code} and {errors} errors");
    assert!(str::from_utf8(&ended.output).is_ok(), "the program writes UTF-8");
}

/// Runs the check once for each seed. A failure names the seed.
fn each_seed(name: &str, mut examine: impl FnMut(&Folder, &mut SplitMix64)) {
    let folder = Folder::new(name);
    let first = number("STV_FUZZ_SEED", 1);
    for seed in first..first + number("STV_FUZZ_RUNS", 25) {
        let examined = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            examine(&folder, &mut SplitMix64::new(seed));
        }));
        assert!(
            examined.is_ok(),
            "seed {seed}: STV_FUZZ_RUNS=1 STV_FUZZ_SEED={seed} cargo test --release --test hostile {name}"
        );
    }
}

/// Writes a damaged file, packed or not, and returns its path.
fn damaged(folder: &Folder, random: &mut SplitMix64) -> PathBuf {
    // Half of the files have little damage, so that many files are counted.
    let mut bytes = files()[random.below(2)].clone();
    match random.below(4) {
        0 => {}
        1 => mutate::damage(&mut bytes, random, &files()),
        _ => mutate::change(&mut bytes, random, &files()),
    }
    let packed = random.below(3) == 0;
    if packed {
        let mut packing = GzEncoder::new(Vec::new(), Compression::fast());
        packing.write_all(&bytes).expect("memory takes all");
        bytes = packing.finish().expect("memory takes all");
        for _ in 0..any(random, &[0, 0, 1, 2]) {
            mutate::damage(&mut bytes, random, &files());
        }
    }
    let path = folder.file(if packed { "ballots.blt.gz" } else { "ballots.blt" });
    fs::write(&path, bytes).expect("a file for the ballots");
    path
}

/// A valid command line that reads this file, or the same text from standard input.
fn right(random: &mut SplitMix64, file: &Path) -> Vec<OsString> {
    let command = any(random, COMMANDS);
    let file = if random.below(4) == 0 { "-".into() } else { file.as_os_str().to_owned() };
    let mut arguments: Vec<OsString> = command.iter().map(Into::into).collect();
    if command[0] == "check" || command[0] == "convert" {
        arguments.push(file);
    } else {
        let count = ["--arithmetic".into(), any(random, ARITHMETICS).into(), "--input".into(), file];
        arguments.splice(0..0, count);
    }
    arguments
}

#[test]
fn damaged_files() {
    let mut codes = [0; 2];
    each_seed("damaged_files", |folder, random| {
        let file = damaged(folder, random);
        let arguments = right(random, &file);
        let ended = run(folder, &arguments, &file);
        let check = arguments[0] == "check";
        let examined = std::panic::catch_unwind(|| judge(&ended, if check { MOST_ERRORS } else { 1 }));
        assert!(examined.is_ok(), "{arguments:?} {ended:?}");
        assert!(!check || ended.code == Some(0) || ended.output.is_empty(), "a wrong file has no summary");
        codes[usize::from(ended.code == Some(1))] += 1;
    });
    println!("{} runs succeeded, {} did not", codes[0], codes[1]);
}

/// The replacements of each word of a file, and the symbols of these replacements in the table
/// below.
const OTHERS: [(&str, char); 8] =
    [("", '-'), ("0", '0'), ("2", '2'), ("9", '9'), ("1048577", 'm'), ("x", 'x'), ("[]", 'b'), ("\"", 'q')];

/// For each word of each line of `files`: the replacements with which the file is still valid. All
/// other replacements are errors. If a ballot's weight is missing, its first candidate may be valid
/// as the weight. If a ballot's final 0 is missing, the ballot continues on the next line. A last
/// rank may be a 0 for a rank left out. Names need no quotes.
const RIGHT: [&[&str]; 2] = [
    &[". 2", "-29m - -02 0", "-29m -2 0", "29m - -02 0", "0", "029mxb", "029mxb", "029mxb", "029mxb"],
    &[
        ". 2",
        ". . . . .",
        ". . . 2 .",
        "-",
        "29m -2 -2 0",
        "29m -2 - 0",
        "29m -2 -2 -2 0",
        "29m -02 0",
        "0",
        "029mxb",
        "029mxb",
        "029mxb",
        "029mxb",
        "029mxb",
    ],
];

/// Replaces each word in turn: with nothing, with a number that is too large or too small, or with
/// other text. Each of the reader's checks concerns one kind of word. Random damage of a few files
/// hardly ever reaches these checks. This test reaches every check, and fails if a check is
/// missing.
#[test]
fn each_word_replaced() {
    let folder = Folder::new("each_word_replaced");
    let path = folder.file("ballots.blt");
    let random = &mut SplitMix64::new(1);
    for (file, right_words) in files().into_iter().zip(RIGHT) {
        let text = String::from_utf8(file).expect("a sample");
        let replaced = |word: &str, other| {
            let place = word.as_ptr().addr() - text.as_ptr().addr();
            fs::write(&path, [&text[..place], other, &text[place + word.len()..]].concat()).expect("a file");
        };
        let mut is_right = |word, other| {
            replaced(word, other);
            let ended = run(&folder, &["check".into(), path.clone().into()], &path);
            let examined = std::panic::catch_unwind(|| judge(&ended, MOST_ERRORS));
            assert!(examined.is_ok(), "{other:?} for {word}: {ended:?}");
            let is_right = ended.code == Some(0);
            if is_right {
                let arguments = right(random, &path);
                let ended = run(&folder, &arguments, &path);
                let examined = std::panic::catch_unwind(|| judge(&ended, 1));
                assert!(examined.is_ok(), "{other:?} for {word}, {arguments:?}: {ended:?}");
            }
            is_right
        };
        let mut row = |word| {
            let such = OTHERS.iter().filter(|(other, _)| is_right(word, other));
            let such: String = such.map(|(_, sign)| sign).collect();
            if such.is_empty() { ".".to_owned() } else { such }
        };
        for (line, right_words) in text.lines().zip(right_words) {
            let found: Vec<String> = line.split(' ').map(&mut row).collect();
            assert_eq!(found.join(" "), *right_words, "the words of {line:?} may be replaced by these");
        }
        assert_eq!(text.lines().count(), right_words.len());
    }
}

#[test]
fn odd_command_lines() {
    let mut codes = [0; 3];
    each_seed("odd_command_lines", |folder, random| {
        let file = folder.file("ballots.blt");
        fs::write(&file, &files()[random.below(2)]).expect("a file for the ballots");
        let mut arguments = right(random, &file);
        for _ in 0..any(random, &[1, 1, 1, 2, 3]) {
            let place = random.below(arguments.len() + 1);
            match random.below(4) {
                0 if place < arguments.len() => drop(arguments.remove(place)),
                1 if place < arguments.len() => arguments[place] = odd(random),
                _ => arguments.insert(place, odd(random)),
            }
        }
        let ended = run(folder, &arguments, &file);
        let code = ended.code.expect("no signal ends the program");
        if code == 2 {
            let complaints = &ended.complaints;
            let nothing_asked = arguments.iter().all(|word| word == "--");
            let clear = complaints.starts_with("error: ") || nothing_asked;
            assert!(clear && complaints.contains("--help"), "{arguments:?} {ended:?}");
            assert!(ended.output.is_empty() && !complaints.contains("panicked"), "{arguments:?} {ended:?}");
        } else {
            // An additional word may be read as a further file to check.
            let check = arguments.iter().any(|word| word == "check");
            let examined = std::panic::catch_unwind(|| judge(&ended, if check { 5 } else { 1 }));
            assert!(examined.is_ok(), "{arguments:?} {ended:?}");
        }
        codes[usize::try_from(code).expect("one of three")] += 1;
    });
    println!("{} runs succeeded, {} did not, {} command lines were wrong", codes[0], codes[1], codes[2]);
}

fn odd(random: &mut SplitMix64) -> OsString {
    #[cfg(unix)]
    if random.below(20) == 0 {
        use std::os::unix::ffi::OsStringExt;
        return OsString::from_vec(b"\xff\xfe.blt".to_vec());
    }
    any(random, WORDS).into()
}
