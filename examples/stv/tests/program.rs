//! Tests of the election counter of `examples/stv` as a program: command line, exit codes, standard
//! output and standard error.

#![cfg(not(miri))] // Miri starts no other programs

mod executable;
#[allow(dead_code, unreachable_pub)] // a file of another package
#[path = "../../../benches/elections/synthetic.rs"]
mod synthetic;

use executable::program;
use std::{
    env, fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    slice,
};

/// The synthetic election of these options. The first word is not an option.
fn generated(words: &[&str]) -> String {
    #[derive(clap::Parser)]
    struct Words {
        #[command(flatten)]
        synthetic: synthetic::Synthetic,
    }
    let words: Words = clap::Parser::parse_from(words);
    let mut out = Vec::new();
    synthetic::write(&words.synthetic, &mut out).expect("memory takes all");
    String::from_utf8(out).expect("text")
}

/// Runs the program with this standard input.
fn stv(arguments: &[&str], input: &str) -> Output {
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
    let _ = child.stdin.take().expect("a pipe").write_all(input.as_bytes());
    child.wait_with_output().expect("the program ends")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("the program writes UTF-8")
}

/// The transcript of a count that must succeed.
fn transcript(arguments: &[&str], input: &str) -> String {
    let output = stv(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout).to_owned()
}

/// The one line of an error that leaves no transcript.
fn error(arguments: &[&str], input: &str) -> String {
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

const BALLOTS: &str = "3 1\n4 1 2 0\n3 2 0\n2 3 2 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n";

#[test]
fn counts_a_file_or_standard_input() {
    let file = BallotFile::new("plain.blt", BALLOTS.as_bytes());
    let from_file = transcript(&["--input", file.path(), "meek"], "");
    assert_eq!(winners(&from_file), ["Bert"]);
    assert!(from_file.starts_with("\nElection: Mayor\n\n\tImplementation: rangesteal\n"), "{from_file}");
    assert_eq!(transcript(&["meek"], BALLOTS), from_file);
    assert_eq!(transcript(&["--arithmetic", "fixed9", "meek"], BALLOTS), from_file);
}

#[test]
fn three_lines_for_people_end_the_transcript_if_asked() {
    let ballots = "5 2\n-5\n9 1 2 0\n4 3 0\n3 2 3 0\n1 4 0\n2 5 0\n1 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"Emil\" \"T\"";
    let plain = transcript(&["meek"], ballots);
    assert_eq!(transcript(&["meek", "--summary", "never"], ballots), plain, "a pipe is no terminal");
    let summed = transcript(&["meek", "--summary", "always"], ballots);
    let lines = summed.strip_prefix(&plain[..]).expect("the lines of the reference come first");
    let wanted = "\
Elected: Ada, Bert (2 of 4 candidates)
In this order: Ada in round 1, Bert in round 2
Ballots: 17 counted; 3 empty ballots not counted
";
    assert_eq!(lines, wanted);
    let all = transcript(&["meek", "--summary", "always"], BALLOTS);
    assert!(
        all.ends_with(
            "\nElected: Bert (1 of 3 candidates)\nIn this order: Bert in round 2\nBallots: 9 counted\n"
        ),
        "{all}"
    );
}

#[test]
fn package_name_replaces_the_line() {
    let named = transcript(&["--package-name", "Counter: 7", "meek"], BALLOTS);
    assert_eq!(
        named.replace("\tCounter: 7\n", "\tImplementation: rangesteal\n"),
        transcript(&["meek"], BALLOTS)
    );
    assert_eq!(named.lines().nth(3), Some("\tCounter: 7"));
}

/// A line break in a name would look like a line of the transcript.
#[test]
fn a_package_name_is_one_line() {
    let output = stv(&["meek", "--package-name", "A\n\tQuota: 1"], BALLOTS);
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""));
    assert!(text(&output.stderr).contains("line breaks"), "{}", text(&output.stderr));
}

#[test]
fn what_a_count_is_made_of_stands_before_the_command_or_after_it() {
    let file = BallotFile::new("where.blt", BALLOTS.as_bytes());
    let (path, rest) = (file.path(), ["--arithmetic", "exact", "--package-name", "P"]);
    for command in ["meek", "plurality"] {
        let before = transcript(&[&rest[..], &["--input", path, command]].concat(), "");
        assert!(before.contains("\tP\n") && before.contains("rational"), "{before}");
        for after in [&["--input", path][..], &[path]] {
            assert_eq!(transcript(&[&[command], after, &rest].concat(), ""), before, "{after:?}");
        }
        let help = transcript(&[command, "--help"], "");
        assert!(
            ["--input", "--arithmetic", "--package-name", "[FILE]"].iter().all(|it| help.contains(it)),
            "{help}"
        );
    }
    let plain = transcript(&["--input", path, "convert"], "");
    assert_eq!(transcript(&["convert", path], ""), plain);
    assert_eq!(transcript(&["convert", "--input", path], ""), plain);
}

/// A second ballot file is an error. Otherwise one of the two files would silently be left out of
/// the count.
#[test]
fn two_ballot_files_are_no_command_line() {
    let wrong: &[&[&str]] = &[
        &["meek", "a.blt", "--input", "a.blt"],
        &["--input", "a.blt", "plurality", "a.blt"],
        &["--input", "a.blt", "convert", "--input", "a.blt"],
        &["convert", "a.blt", "--input", "a.blt"],
        &["--input", "a.blt", "check", "a.blt"],
        &["--arithmetic", "exact", "meek", "--arithmetic", "fixed9"],
        &["meek", "--html", "-"],
    ];
    for arguments in wrong {
        let output = stv(arguments, BALLOTS);
        assert_eq!((output.status.code(), text(&output.stdout)), (Some(2), ""), "{arguments:?}");
    }
}

/// A terminal executes control characters. Direction marks and line ends mislead readers. A
/// spreadsheet evaluates a cell that begins like a formula.
#[test]
fn names_are_text_in_every_output() {
    let ballots = BALLOTS.replace("Ada", "=A\u{1b}[2J\u{202e}\u{2028}").replace("Mayor", "May\u{2066}or");
    let page = BallotFile::new("names.html", b"");
    let file = BallotFile::new("names.blt", ballots.as_bytes());
    let written = [
        transcript(&["meek", "--html", page.path()], &ballots),
        transcript(&["plurality"], &ballots),
        transcript(&["meek", "--trace", "1 2"], &ballots),
        transcript(&["meek", "--format", "csv"], &ballots),
        transcript(&["check", file.path()], &ballots),
        fs::read_to_string(page.path()).expect("the page"),
    ];
    for output in &written {
        let misleads = ['\u{1b}', '\u{202e}', '\u{2028}', '\u{2066}'];
        assert!(output.contains("=A\u{fffd}[2J\u{fffd}\u{fffd}") && !output.contains(misleads), "{output}");
    }
    assert!(written[3].contains(",\"'=A\u{fffd}[2J\u{fffd}\u{fffd}\","), "{}", written[3]);
    let json: serde_json::Value =
        serde_json::from_str(&transcript(&["meek", "--format", "json"], &ballots)).expect("JSON");
    assert_eq!(json["candidates"][0]["name"], "=A\u{1b}[2J\u{202e}\u{2028}", "exactly");
    let complaint = stv(&["meek"], "2 1\n1 \u{202e}1\u{2069} 0\n0\n");
    assert!(text(&complaint.stderr).contains("\u{fffd}1\u{fffd}"), "{complaint:?}");
}

/// A device without free space, if the system has one.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error_that_says_what_was_not_written() {
    let file = BallotFile::new("full.blt", BALLOTS.as_bytes());
    for (arguments, what) in [
        (&["meek"][..], "cannot write the transcript: "),
        (&["plurality"], "cannot write the transcript: "),
        (&["meek", "--format", "json"], "cannot write to standard output: "),
        (&["meek", "--format", "csv"], "cannot write to standard output: "),
        (&["check"], "cannot write to standard output: "),
        (&["convert"], "cannot write to standard output: "),
    ] {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("the device");
        let mut command = Command::new(program());
        command.args(arguments).arg(file.path());
        let output = command.stdout(full).output().expect("the program runs");
        let complaint = text(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {complaint}");
        assert!(complaint.starts_with(&format!("stv: {what}")), "{arguments:?}: {complaint}");
    }
}

#[test]
fn json_csv_and_page_tell_the_same_count() {
    let json: serde_json::Value =
        serde_json::from_str(&transcript(&["meek", "--format", "json"], BALLOTS)).expect("JSON");
    assert_eq!((&json["title"], &json["elected"][0]), (&"Mayor".into(), &2.into()));
    let page = BallotFile::new("page.html", b"");
    let csv = transcript(&["meek", "--format", "csv", "--html", page.path()], BALLOTS);
    let steps = json["steps"].as_array().expect("steps");
    assert_eq!(csv.lines().count(), 1 + 3 * steps.len());
    let html = fs::read_to_string(page.path()).expect("the page");
    assert!(
        html.starts_with("<!DOCTYPE html>") && html.contains("<strong><bdi>Bert</bdi></strong>"),
        "{html}"
    );
    let with_page = transcript(&["meek", "--html", page.path()], BALLOTS);
    assert_eq!(with_page, transcript(&["meek"], BALLOTS), "the page is no matter of the transcript");
}

/// A result read again has the page that its count has written, with all options.
#[test]
fn the_page_of_a_result_is_the_page_of_its_count() {
    for more in [&["--tie", "backwards"][..], &["--record", "changes"], &["--equal-ranks", "as-droop"]] {
        let page = BallotFile::new("result.html", b"");
        let count = [&["meek", "--format", "json", "--html", page.path()], more].concat();
        let result = BallotFile::new("result.json", transcript(&count, EQUALS).as_bytes());
        let written = fs::read_to_string(page.path()).expect("the page");
        assert_eq!(transcript(&["page", result.path()], ""), written);
    }
    let damaged = BallotFile::new("damaged.json", b"{\"format\": 3}");
    let complaint = error(&["page", damaged.path()], "");
    assert!(complaint.contains("the field `format` is missing or wrong"), "{complaint}");
}

#[test]
fn outputs_do_not_depend_on_the_threads() {
    let outputs = |threads: &[&str]| {
        let page = BallotFile::new("threads.html", b"");
        let arguments = [&["meek", "--format", "json", "--html", page.path()], threads].concat();
        (transcript(&arguments, BALLOTS), fs::read(page.path()).expect("the page"))
    };
    let serial = outputs(&["--parallel", "no"]);
    assert_eq!(outputs(&["--parallel", "pool", "--num-threads", "3"]), serial);
}

#[test]
fn a_failed_count_leaves_no_json_and_no_page() {
    let ballots = BALLOTS.replace("4 1", "18446744073709551616 1");
    let page = env::temp_dir().join(format!("rangesteal-stv-{}-failed.html", std::process::id()));
    let html = page.to_str().expect("a path in UTF-8");
    error(&["meek", "--arithmetic", "fixed9", "--format", "json", "--html", html], &ballots);
    assert!(!page.exists());
}

#[test]
fn a_page_that_cannot_be_written_is_an_error() {
    let output = stv(&["meek", "--html", "/no/such/folder/page.html"], BALLOTS);
    assert_eq!(output.status.code(), Some(1));
    assert!(text(&output.stderr).contains("cannot write /no/such/folder/page.html: "));
}

/// The output is written beside its path and then renamed, if the path is that of a regular file.
#[test]
#[cfg(unix)]
fn a_page_is_there_whole_and_alone() {
    let folder = env::temp_dir().join(format!("rangesteal-stv-{}-pages", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    let page = folder.join("page.html");
    fs::write(&page, "of another count").expect("a file");
    transcript(&["meek", "--html", page.to_str().expect("a path in UTF-8")], BALLOTS);
    let files: Vec<_> = fs::read_dir(&folder).expect("a folder").map(|file| file.unwrap().path()).collect();
    assert_eq!(files, slice::from_ref(&page));
    assert!(fs::read_to_string(&page).expect("the page").ends_with("</html>\n"));
    fs::remove_dir_all(&folder).expect("it can be removed");
    transcript(&["meek", "--html", "/dev/null"], BALLOTS);
    assert!(!fs::metadata("/dev/null").expect("it is there").is_file());
}

#[test]
fn a_trace_shows_the_way_of_a_ballot() {
    let trace = transcript(&["meek", "--trace", "Cleo > Bert"], BALLOTS);
    assert!(trace.starts_with("Ballot: Cleo > Bert\nBallots like it: 2 of 9\n"), "{trace}");
    assert!(
        trace.contains(
            "Round 2: Bert elected\n\tDefeated: Cleo (0.000000000)\n\tElected:  Bert (1.000000000)\n"
        )
    );
    assert_eq!(trace, transcript(&["meek", "--trace", "3 2"], BALLOTS));
    assert!(error(&["meek", "--trace", "Emil"], BALLOTS).contains("`Emil` is neither"));
}

#[test]
fn help_has_examples_and_exit_codes() {
    for arguments in [&["--help"][..], &["meek", "--help"]] {
        let help = transcript(arguments, "");
        assert!(help.contains("Examples:") && help.contains("Exit codes:"), "{help}");
    }
    assert!(transcript(&["--help"], "").contains("RANGESTEAL_NUM_THREADS"));
}

#[test]
fn omega_exponent_is_in_the_header() {
    let transcript = transcript(&["meek", "--omega-exponent", "3"], BALLOTS);
    assert!(
        transcript.contains("\tRule: Meek Parametric (omega = 1/10^3)\n")
            && transcript.contains("\tOmega: 0.001000000\n")
    );
}

#[test]
fn the_effort_goes_to_standard_error() {
    for (parallel, start) in [("no", "stv: 1 thread (no), "), ("pool", "stv: 2 threads (pool), ")] {
        let output = stv(&["meek", "--parallel", parallel, "--num-threads", "2"], BALLOTS);
        let effort = text(&output.stderr);
        assert!(
            effort.starts_with(start) && effort.ends_with(" s\n") && effort.lines().count() == 1,
            "{effort}"
        );
        assert!(effort.contains(" distributions, "), "{effort}");
        assert_eq!(effort.contains("theft"), parallel == "pool", "{effort}");
    }
}

#[test]
fn pinned_or_not_the_pool_counts_the_same() {
    for pinning in ["off", "best-effort"] {
        let arguments = ["meek", "--num-threads", "2", "--pinning", pinning];
        assert_eq!(transcript(&arguments, BALLOTS), transcript(&["meek"], BALLOTS));
    }
    let help = transcript(&["meek", "--help"], "");
    assert!(help.contains("--pinning") && help.contains("required"), "{help}");
}

#[test]
fn synthetic_elections_are_counted_alike_by_all() {
    for kind in ["uniform", "geometric", "sorted"] {
        let generate = [
            "generate",
            "--kind",
            kind,
            "--ballots",
            "300",
            "--candidates",
            "24",
            "--seats",
            "12",
            "--seed",
            "5",
        ];
        let ballots = generated(&generate);
        assert_eq!(ballots, generated(&generate), "the same seed, the same bytes");
        assert_ne!(ballots, generated(&[&generate[..9], &["--seed", "6"]].concat()));
        let way = ["--equal-ranks", "as-droop"];
        let serial = transcript(&[&["meek", "--parallel", "no"], &way[..]].concat(), &ballots);
        assert_eq!(winners(&serial).len(), 12, "{serial}");
        {
            for threads in ["1", "2", "3", "8"] {
                for arithmetic in ["fixed9", "bigfixed9"] {
                    let arguments = ["--arithmetic", arithmetic, "meek", "--num-threads", threads];
                    let arguments = [&arguments[..], &way].concat();
                    assert_eq!(transcript(&arguments, &ballots), serial, "{kind} {arguments:?}");
                }
            }
        }
    }
}

const EQUALS: &str = "4 2\n7 1=2 3 0\n3 2=3=4 1 0\n5 4 1=3 0\n2 3 0\n4 1 2=4 3 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Dora\"\n\"Two\"\n";

/// A file that is long enough for all threads to read: once without errors, once with a ballot that
/// spans lines, and once with an invalid ballot.
#[test]
fn large_files_are_read_alike_by_all() {
    let plain = generated(&["generate", "--kind", "geometric", "--ballots", "60000", "--candidates", "20"]);
    assert!(plain.len() > 1 << 20, "{} bytes are read by one thread", plain.len());
    let middle = plain.len() / 2 + plain[plain.len() / 2..].find('\n').expect("a line") + 1;
    let with = |line: &str| [&plain[..middle], line, &plain[middle..]].concat();
    for text_of_file in [plain.clone(), with("1 c1\n0\n"), with("1 c1 c99 0\n")] {
        let file = BallotFile::new("large.blt", text_of_file.as_bytes());
        let count = |threads: &[&str]| {
            let output = stv(&[&["meek", file.path()], threads].concat(), "");
            let told = text(&output.stderr).lines().filter(|line| line.contains("large.blt:"));
            (output.status.code(), output.stdout, told.map(str::to_owned).collect::<Vec<_>>())
        };
        let serial = count(&["--parallel", "no"]);
        assert_eq!(serial.2.is_empty(), text_of_file == plain, "{:?}", serial.2);
        for threads in ["1", "2", "3", "8"] {
            let together = count(&["--num-threads", threads]);
            assert!(together == serial, "{threads} threads: {:?} and not {:?}", together.2, serial.2);
        }
    }
}

#[test]
fn every_arithmetic_names_itself_and_counts_alike_on_all_threads() {
    let line = |name| match name {
        "fixed9" | "bigfixed9" => "fixed-point decimal arithmetic (9 places)",
        "exact" => "exact rational arithmetic",
        "approx" => "exact rational arithmetic with rounding of keep factors (6 decimal places)",
        _ => "64-bit floating-point arithmetic",
    };
    for arithmetic in ["fixed9", "bigfixed9", "exact", "approx", "float64"] {
        for counting in [&[][..], &["--equal-ranks", "as-droop"]] {
            let count = |parallel, threads| {
                let arguments =
                    ["--arithmetic", arithmetic, "meek", "--parallel", parallel, "--num-threads", threads];
                transcript(&[&arguments, counting].concat(), EQUALS)
            };
            let serial = count("no", "1");
            assert!(serial.contains(&format!("\tArithmetic: {}\n", line(arithmetic))), "{serial}");
            assert_eq!(winners(&serial).len(), 2, "{serial}");
            for (parallel, threads) in [("pool", "1"), ("pool", "3"), ("pool", "3")] {
                assert_eq!(count(parallel, threads), serial, "{arithmetic} {parallel} {threads}");
            }
        }
    }
}

/// The sums of the count have thirds, in many blocks. In another order, a sum would have other last
/// digits.
#[test]
fn doubles_have_the_same_digits_on_all_threads() {
    let generate =
        ["generate", "--kind", "sorted", "--ballots", "1000", "--candidates", "12", "--seats", "5"];
    let ballots = generated(&[&generate[..], &["--seed", "3"]].concat());
    let count = |parallel, threads| {
        let meek = ["meek", "--parallel", parallel, "--num-threads", threads];
        transcript(&[&["--arithmetic", "float64"], &meek[..]].concat(), &ballots)
    };
    let serial = count("no", "1");
    for (parallel, threads) in [("pool", "1"), ("pool", "2"), ("pool", "8"), ("pool", "8")] {
        assert_eq!(count(parallel, threads), serial, "{parallel} {threads}");
    }
}

/// Once Dora is defeated, the last three ballots are for Bea.
const BEHIND_DEFEATED: &str = "4 1\n5 1 0\n4 2 0\n3 3 2=4 0\n0\n\"Ann\"\n\"Bea\"\n\"Cai\"\n\"Dora\"\n\"T\"\n";

#[test]
fn no_vote_is_lost_at_equal_ranks() {
    let fair = transcript(&["meek"], BEHIND_DEFEATED);
    assert_eq!(winners(&fair), ["Bea"], "{fair}");
    assert!(fair.contains("\tElected:  Bea (7.000000000)\n"), "{fair}");
    let exhausted = fair.lines().filter(|line| line.starts_with("\tResidual: "));
    let until_bea = exhausted.take_while(|line| !line.ends_with(" 5.000000000"));
    assert!(
        until_bea.clone().count() > 0 && until_bea.clone().all(|line| line.ends_with(" 0.000000000")),
        "{fair}"
    );
    for same in [&["meek", "--equalize"][..], &["meek", "--equal-ranks", "all-orders"]] {
        assert_eq!(transcript(same, BEHIND_DEFEATED), fair, "{same:?}");
    }
    assert!(told(&["meek"], BEHIND_DEFEATED).iter().all(|line| !line.contains("equal")));
}

#[test]
fn the_way_of_the_reference_warns_of_equal_ranks() {
    let as_droop = ["meek", "--equal-ranks", "as-droop"];
    let unfair = transcript(&as_droop, BEHIND_DEFEATED);
    assert_eq!(winners(&unfair), ["Ann"], "{unfair}");
    assert_eq!(unfair.lines().nth(3), Some("\tImplementation: rangesteal (equal ranks as in Droop)"));
    let warning = "stv: warn: ballots with equal ranks: 3; they count as in Droop, ";
    let lines = told(&as_droop, BEHIND_DEFEATED);
    assert_eq!(lines.iter().filter(|line| line.starts_with(warning)).count(), 1, "{lines:?}");
    assert!(told(&as_droop, BALLOTS).is_empty(), "there are no equal ranks");
    let strict = stv(&[&as_droop[..], &["--strict"]].concat(), BEHIND_DEFEATED);
    assert_eq!((strict.status.code(), text(&strict.stdout)), (Some(1), ""), "{}", text(&strict.stderr));
    let json = transcript(&[&as_droop[..], &["--format", "json"]].concat(), BEHIND_DEFEATED);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["equal_ranks"], serde_json::json!({"ballots": "3", "counted": "as-droop"}));
    assert!(json["warnings"][0].as_str().is_some_and(|told| told.starts_with("ballots with equal ranks: 3")));
}

#[test]
fn the_check_and_the_page_say_how_equal_ranks_count() {
    let file = BallotFile::new("equal.blt", BEHIND_DEFEATED.as_bytes());
    let summary = transcript(&["check", file.path()], "");
    let line = "  with equal ranks    3 (each counts as all orders of its equals, in equal parts)\n";
    assert!(summary.contains(line), "{summary}");
    for (way, words) in [
        ("all-orders", "each counts as all orders of its equals, in equal parts."),
        ("as-droop", "each counts as in Droop, so ranks below defeated equals get nothing."),
    ] {
        let page = BallotFile::new("equal.html", b"");
        transcript(&["meek", file.path(), "--equal-ranks", way, "--html", page.path()], "");
        let page = fs::read_to_string(page.path()).expect("a page");
        assert!(page.contains(&format!("Ballots with equal ranks: 3; {words}")), "{page}");
    }
}

#[test]
fn plurality_counts_the_first_of_every_ballot() {
    let one = transcript(&["plurality"], BALLOTS);
    assert!(
        one.contains("\tRule: Simulated Plurality Block Voting\n") && one.contains("\tVotes per ballot: 1\n")
    );
    assert_eq!(winners(&one), ["Ada"], "{one}");
    let two = transcript(&["--package-name", "P", "plurality", "--votes-per-ballot", "2"], BALLOTS);
    assert_eq!((winners(&two), two.lines().nth(3)), (vec!["Bert"], Some("\tP")), "{two}");
    let huge = BALLOTS.replace("4 1", "18446744073709551616 1");
    assert!(transcript(&["plurality"], &huge).contains("\tElected:  Ada (18446744073709551616.000000000)\n"));
    let complaint = error(&["--arithmetic", "fixed9", "plurality"], &huge);
    assert!(complaint.contains("--arithmetic bigfixed9"), "{complaint}");
}

#[test]
fn totals_beyond_64_bits_are_counted_by_all_that_can() {
    let ballots = BALLOTS.replace("4 1", "18446744073709551616 1");
    for (arithmetic, quota) in [
        ("bigfixed9", "9223372036854775810.500000001"),
        ("exact", "18446744073709551621/2"),
        ("approx", "18446744073709551621/2"),
        ("float64", "9223372036854776000"),
    ] {
        let counted = transcript(&["--arithmetic", arithmetic, "meek"], &ballots);
        assert!(
            counted.contains(&format!("\tBallots: 18446744073709551621\n\tQuota: {quota}\n")),
            "{arithmetic}: {counted}"
        );
    }
    let complaint = error(
        &["--arithmetic", "float64", "meek"],
        &BALLOTS.replace("4 1", &format!("{} 1", "9".repeat(310))),
    );
    assert!(complaint.contains("--arithmetic bigfixed9"), "{complaint}");
}

#[test]
fn the_sample_is_what_its_last_line_says() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample.blt");
    let sample = fs::read_to_string(sample).expect("the sample");
    let command =
        sample.lines().last().and_then(|line| line.strip_prefix("# ")).expect("a comment with the command");
    assert_eq!(generated(&command.split(' ').collect::<Vec<_>>()), sample);
}

#[test]
fn input_errors_name_file_and_line() {
    let cases: [(&str, &[u8], usize, &str); 12] = [
        ("empty", b"", 1, "the file ends here"),
        ("words", b"two one\n", 1, "`two` is not the number of candidates"),
        ("utf8", b"1 1\n1 1 0\n0\n\"A\xff\"\n\"T\"\n", 4, "not UTF-8"),
        ("twice", b"2 1\n1 1 2 1 0\n0\n\"A\"\n\"B\"\n\"T\"\n", 2, "stands twice"),
        ("range", b"2 1\n1 3 0\n0\n\"A\"\n\"B\"\n\"T\"\n", 2, "numbers go from 1 to 2"),
        ("zero", b"2 1\n1 1 0\n0 2 0\n0\n\"A\"\n\"B\"\n\"T\"\n", 3, "weight of at least 1"),
        ("negative", b"2 1\n[nick a b]\n-1 a 0\n0\n\"A\"\n\"B\"\n\"T\"\n", 3, "weight must be at least 1"),
        ("unended", b"2 1\n1 1 0\n1 2 0\n", 3, "single 0"),
        ("nameless", b"2 1\n1 1 0\n0\n\"A\"\n", 4, "before the name of candidate 2"),
        ("tie", b"2 1\n[tie 1]\n1 1 0\n0\n\"A\"\n\"B\"\n\"T\"\n", 2, "names 1 of 2"),
        ("seats", b"2 2\n-1\n1 1 0\n0\n\"A\"\n\"B\"\n\"T\"\n", 1, "2 seats cannot be filled by 1"),
        ("ballotless", b"2 1\n0\n\"A\"\n\"B\"\n\"T\"\n", 2, "nothing to count"),
    ];
    for (name, contents, line, message) in cases {
        let file = BallotFile::new(name, contents);
        let complaint = error(&["--input", file.path(), "meek"], "");
        assert!(
            complaint.starts_with(&format!("stv: {}:{line}: ", file.path())) && complaint.contains(message),
            "{complaint}"
        );
    }
    assert!(error(&["meek"], "2 1\n").starts_with("stv: standard input:1: "));
    let one = error(&["meek"], "1 1\n-1\n0\n\"A\"\n\"T\"\n");
    assert!(one.contains("1 seat cannot be filled by 0 candidates"), "{one}");
}

/// A gzip stream of these bytes, uncompressed in one stored block.
fn gzip(contents: &[u8]) -> Vec<u8> {
    let mut crc = u32::MAX;
    for &byte in contents {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    let length = u16::try_from(contents.len()).expect("one block is enough");
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 1];
    file.extend(length.to_le_bytes());
    file.extend((!length).to_le_bytes());
    file.extend(contents);
    file.extend((!crc).to_le_bytes());
    file.extend(u32::from(length).to_le_bytes());
    file
}

#[test]
fn compressed_files_are_known_by_their_first_bytes() {
    let wanted = transcript(&["meek"], BALLOTS);
    let (first, second) = BALLOTS.split_at(20);
    let parts = [gzip(first.as_bytes()), gzip(second.as_bytes())].concat();
    let plain = BALLOTS.as_bytes().to_vec();
    for (name, contents) in [("one.blt", gzip(&plain)), ("parts.BLT.GZ", parts), ("unpacked.gz", plain)] {
        let file = BallotFile::new(name, &contents);
        assert_eq!(transcript(&["--input", file.path(), "meek"], ""), wanted);
    }
    let mut damaged = gzip(BALLOTS.as_bytes());
    let checksum = damaged.len() - 8;
    damaged[checksum] ^= 1;
    let whole = gzip(BALLOTS.as_bytes());
    for (name, contents) in [("damaged.gz", &damaged[..]), ("cut.gz", &whole[..40]), ("no.gz", &whole[..2])] {
        let file = BallotFile::new(name, contents);
        let complaint = error(&["--input", file.path(), "meek"], "");
        assert!(complaint.starts_with(&format!("stv: cannot read {}", file.path())), "{complaint}");
        assert!(complaint.ends_with("is the file complete?\n"), "{complaint}");
    }
}

#[test]
fn a_file_that_is_not_there() {
    let complaint = error(&["--input", "/no/such/file.blt", "meek"], "");
    assert!(complaint.contains("cannot read /no/such/file.blt: "), "{complaint}");
}

/// Names come from the command line and from files. An attacker may have chosen these names.
#[test]
fn an_error_is_one_line_whatever_its_names_are() {
    let odd = "/no/such\nfile\u{1b}[2J";
    let shown = "/no/such\u{fffd}file\u{fffd}[2J";
    assert!(error(&["check", odd], "").starts_with(&format!("stv: cannot read {shown}: ")));
    assert!(error(&["--input", odd, "meek"], "").starts_with(&format!("stv: cannot read {shown}: ")));
    let output = stv(&["meek", "--html", odd], BALLOTS);
    assert!(text(&output.stderr).starts_with(&format!("stv: cannot write {shown}: ")));
    assert!(error(&["meek", "--trace", odd], BALLOTS).contains(&format!("`{shown}` is neither")));
    let ballots = BALLOTS.replace("Ada", "A\u{1b}[2J");
    assert!(error(&["meek", "--trace", "1 1"], &ballots).contains("`A\u{fffd}[2J` stands twice"));
}

#[test]
fn an_overflow_names_the_option_that_helps() {
    let ballots = BALLOTS.replace("4 1", "18446744073709551616 1");
    for parallel in ["no", "pool"] {
        let complaint = error(&["--arithmetic", "fixed9", "meek", "--parallel", parallel], &ballots);
        assert!(complaint.contains("--arithmetic bigfixed9"), "{complaint}");
        assert!(
            transcript(&["meek", "--parallel", parallel], &ballots)
                .contains("\tBallots: 18446744073709551621\n")
        );
    }
}

#[test]
fn a_count_that_cannot_go_on_says_why() {
    let ballots = "4 2\n2 3=4 2 1 0\n3 4=1=2 3 0\n3 3=1=2 4 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";
    for parallel in ["no", "pool"] {
        let output = stv(&["meek", "--parallel", parallel], ballots);
        let complaint = text(&output.stderr).lines().next_back().expect("a line");
        assert_eq!(output.status.code(), Some(1));
        assert!(
            complaint.starts_with("stv: round 3: ") && complaint.contains("--arithmetic approx"),
            "{complaint}"
        );
        let approx = ["--arithmetic", "approx", "meek", "--parallel", parallel, "--tie", "order"];
        assert_eq!(winners(&transcript(&approx, ballots)).len(), 2);
    }
}

/// In both ways, the elected have one billionth less than their quotas, by rounding.
#[test]
fn a_negative_surplus_of_rounding_does_not_stop_the_count() {
    let ballots = "3 2\n2 1=3 2 0\n2 1=2 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"";
    for way in ["all-orders", "as-droop"] {
        let transcript = transcript(&["meek", "--equal-ranks", way], ballots);
        assert_eq!(winners(&transcript), ["Ada", "Cleo"], "{way}");
        assert!(transcript.contains("\tSurplus: -0.000000001\n"), "{way}: {transcript}");
    }
}

#[test]
fn warnings_do_not_stop_the_count() {
    let ballots = BALLOTS.replace("3 1\n", "3 1\n[droop omega=3]\n[colour red]\n");
    let output = stv(&["meek"], &ballots);
    assert_eq!(text(&output.stdout), transcript(&["meek"], BALLOTS));
    let lines: Vec<_> = text(&output.stderr).lines().collect();
    assert!(
        lines[0].starts_with("stv: warn: standard input:2: ") && lines[0].contains("[droop …]"),
        "{lines:?}"
    );
    assert!(
        lines[1].starts_with("stv: warn: standard input:3: ") && lines[1].contains("[colour …]"),
        "{lines:?}"
    );
    assert_eq!(lines.len(), 3, "and the effort: {lines:?}");
    let mut quiet = Command::new(program());
    let file = BallotFile::new("warnings.blt", ballots.as_bytes());
    let output = quiet
        .args(["--input", file.path(), "meek"])
        .env("RUST_LOG", "error")
        .output()
        .expect("the program runs");
    assert_eq!(text(&output.stderr).lines().count(), 1, "RUST_LOG silences warnings");
}

/// The 0 at the end of a ballot is missing, so two ballots become one.
#[test]
fn a_ballot_that_goes_on_where_others_do_not_is_a_warning() {
    let ballots = "5 2\n2 1 2\n4 3 0\n1 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"D\"\n\"E\"\n\"T\"\n";
    for arguments in [["check", "-"], ["--arithmetic=fixed9", "meek"]] {
        let complaint = text(&stv(&arguments, ballots).stderr).to_owned();
        assert!(
            complaint.contains("warn: standard input:2: this ballot ends on another line"),
            "{complaint}"
        );
    }
    let all_span = ballots.replace("1 1 0", "1\n1 0");
    assert!(!text(&stv(&["check", "-"], &all_span).stderr).contains("another line"));
}

#[test]
fn check_summarises_every_file_that_can_be_counted() {
    let good = BallotFile::new("good.blt", BALLOTS.as_bytes());
    let packed = BallotFile::new("good.blt.gz", &gzip(BALLOTS.as_bytes()));
    let summary = transcript(&["check", good.path()], "");
    assert!(summary.starts_with(&format!("{}\n  title               Mayor\n", good.path())), "{summary}");
    assert!(summary.contains("\n       3  33.33 %       9 100.00 %  2 Bert\n"), "{summary}");
    let input = transcript(&["check", "-"], BALLOTS);
    assert_eq!(input, summary.replace(good.path(), "standard input"));
    let both = transcript(&["check", good.path(), packed.path()], "");
    assert_eq!(both, format!("{summary}\n{}", summary.replace(good.path(), packed.path())));

    let bad = BallotFile::new("bad.blt", BALLOTS.replace("4 1 2 0", "4 1 1 0\n2 9 0").as_bytes());
    let output = stv(&["check", bad.path(), good.path(), "/no/such/file.blt"], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stdout), summary);
    let lines: Vec<_> = text(&output.stderr).lines().collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    assert!(lines[0].starts_with(&format!("stv: {}:2: ", bad.path())), "{lines:?}");
    assert!(lines[1].starts_with(&format!("stv: {}:3: ", bad.path())), "{lines:?}");
    assert!(lines[2].starts_with("stv: cannot read /no/such/file.blt: "), "{lines:?}");
}

#[test]
fn convert_writes_plain_ballots() {
    let ballots = "\u{feff}3 1 # header\r\n[nick x y z] [tie z 2 x]\r\n[withdrawn y]\r\n4 x y 0 2 0\r\n3 - y x=z 0\r\n0\r\nAda\r\nBert\r\nCleo\r\nMayor\r\n";
    let numeric = "3 1\n-2\n[tie 3 2 1]\n4 1 0\n3 1=3 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n";
    let nick = "3 1\n[nick c1 c2 c3]\n[withdrawn c2]\n[tie c3 c2 c1]\n4 c1 0\n3 c1=c3 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n";
    assert_eq!(transcript(&["convert"], ballots), numeric);
    assert_eq!(transcript(&["convert", "--numeric"], ballots), numeric);
    assert_eq!(transcript(&["convert", "--nick"], ballots), nick);
    assert_eq!(transcript(&["convert"], nick), numeric);
    let file = BallotFile::new("wild.blt.gz", &gzip(ballots.as_bytes()));
    assert_eq!(transcript(&["convert", "--input", file.path()], ""), numeric);
    assert_eq!(transcript(&["--input", file.path(), "convert"], ""), numeric);
    assert!(error(&["convert"], &ballots.replace("Mayor", "")).contains("standard input:"));
}

/// The lines behind the ballots are as returning officers publish them. The output names each
/// elected candidate as a person. The converted file gives the same result.
#[test]
fn people_are_elected_and_not_parties() {
    let ballots = "3 1\n4 1 2 0\n3 2 0\n2 3 2 0\n0\n";
    let lines = |line: fn(&str, &str) -> String| {
        let people = [("Ann ORR", "SNP"), ("Ben O'LOW", "Lab"), ("Cy DAY", "SNP")];
        ballots.to_owned() + &people.map(|(name, party)| line(name, party) + "\n").concat() + "Ward 5"
    };
    let shapes: [fn(&str, &str) -> String; 5] = [
        |name, party| format!("\"{party} \"\"{name}\"\" \""),
        |name, party| format!("\"{name} \"\"{party}\"\"\""),
        |name, party| format!("{party} \"{name}\""),
        |name, party| format!("\"{name}\" \"{party}\""),
        |name, party| format!("\"\"\"{name}\"\" \"\"{party}\"\" \""),
    ];
    for shape in shapes {
        let file = lines(shape);
        let counted = transcript(&["meek"], &file);
        assert_eq!(winners(&counted), ["Ben O'LOW (Lab)"], "{file}");
        let converted = transcript(&["convert"], &file);
        assert!(
            converted.ends_with("\n\"Ann ORR (SNP)\"\n\"Ben O'LOW (Lab)\"\n\"Cy DAY (SNP)\"\n\"Ward 5\"\n")
        );
        for command in ["meek", "plurality"] {
            assert_eq!(transcript(&[command], &converted), transcript(&[command], &file), "{file}");
        }
        assert!(transcript(&["check", "-"], &file).contains("  3 Cy DAY (SNP)\n"), "{file}");
        let trace = transcript(&["meek", "--trace", "Cy DAY > Ben O'LOW (Lab)"], &file);
        assert!(
            trace.starts_with("Ballot: Cy DAY (SNP) > Ben O'LOW (Lab)\nBallots like it: 2 of 9\n"),
            "{trace}"
        );
    }
}

#[test]
fn who_is_who_is_asked_where_nothing_tells() {
    let ballots = "2 1\n4 1 2 0\n3 2 0\n0\n\"Red \"\"Ann Orr\"\"\"\n\"Blue \"\"Ben Low\"\"\"\nWard 5\n";
    for command in [&["meek"][..], &["plurality"], &["convert"], &["check", "-"]] {
        let complaint = error(command, ballots);
        assert!(
            complaint.starts_with("stv: standard input:5: it is not clear who is who: either `Red`"),
            "{complaint}"
        );
        let said = |order: &'static str| transcript(&[command, &["--names", order]].concat(), ballots);
        assert!(said("party-name").contains("Ann Orr (Red)") && said("name-party").contains("Red (Ann Orr)"));
        assert!(said("whole").contains("Red \"Ann Orr\""));
    }
    // One of the candidates has no party.
    let mixed = ballots.replace("2 1\n", "3 1\n").replace("Ward", "\"Cy Day\"\nWard");
    let warned = text(&stv(&["check", "-"], &mixed).stderr).to_owned();
    assert!(warned.starts_with("stv: warn: standard input:7: most lines have name and party"), "{warned}");
    assert!(
        transcript(&["meek", "--names", "party-name"], &mixed)
            .contains("Ben Low (Blue)\n\tAdd eligible: Cy Day\n")
    );
}

/// All ballot files below this folder.
fn ballot_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files = Vec::new();
    for path in entries.map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(ballot_files(&path));
        } else if path.extension().is_some_and(|ending| ending == "blt") {
            files.push(path);
        }
    }
    files.sort();
    files
}

#[test]
fn converted_elections_count_the_same() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/stv");
    let corpus = env::var_os("STV_CORPUS").map_or_else(beside, PathBuf::from);
    if !corpus.is_dir() {
        eprintln!("SKIPPED: no corpus at {}; STV_CORPUS can name another place", corpus.display());
        return;
    }
    // An unoptimised build counts small elections only.
    let most_bytes = if cfg!(debug_assertions) { 4_000 } else { u64::MAX };
    let mut compared = 0;
    for path in ballot_files(&corpus.join("ballots")) {
        if fs::metadata(&path).expect("a file").len() > most_bytes {
            continue;
        }
        let path = path.to_str().expect("a path in UTF-8");
        let count = |output: Output| (output.status.code(), text(&output.stdout).to_owned());
        let wanted = count(stv(&["--input", path, "meek"], ""));
        for naming in ["--numeric", "--nick"] {
            let converted = transcript(&["convert", naming, "--input", path], "");
            assert!(count(stv(&["meek"], &converted)) == wanted, "{path} {naming}");
            assert!(transcript(&["convert", naming], &converted) == converted, "{path} {naming}");
        }
        compared += 1;
    }
    println!("{compared} elections count the same when converted");
    assert!(compared > 0, "the corpus at {} has no ballot file", corpus.display());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let ballots = generated(&["generate", "--kind", "uniform", "--ballots", "100000"]);
    let file = BallotFile::new("seen.blt", ballots.as_bytes());
    let mut command = Command::new(program());
    command.args(["convert", file.path()]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let wrong: &[&[&str]] = &[
        &["check"],
        &["convert", "--nick", "--numeric"],
        &["meek", "--format", "roman"],
        &["meek", "--format", "json", "--trace", "1"],
        &[],
        &["count"],
        &["--arithmetic", "roman", "meek"],
        &["meek", "--parallel", "perhaps"],
        &["meek", "--num-threads", "0"],
        &["meek", "--pinning", "perhaps"],
        &["meek", "--omega-exponent", "19"],
        &["meek", "--tie", "random"],
        &["meek", "--tie", "random:-1"],
        &["meek", "--explain-ties", "--trace", "1"],
        &["meek", "--summary", "always", "--trace", "1"],
        &["verify", "a.json"],
        &["verify", "a.json", "a.blt", "--equalize"],
        &["meek", "--equalize", "--equal-ranks", "as-droop"],
        &["--input", "a.blt", "verify", "a.json", "a.blt"],
        &["meek", "--no-such-option"],
        &["plurality", "--votes-per-ballot", "0"],
        &["generate"],
    ];
    for arguments in wrong {
        let output = stv(arguments, "");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output.stderr));
        assert!(
            output.stdout.is_empty() && text(&output.stderr).contains("--help"),
            "{}",
            text(&output.stderr)
        );
    }
    assert!(transcript(&["--help"], "").contains("meek"));
}

/// Three candidates who have the same votes from beginning to end.
const TIE: &str = "3 1\n1 1 0\n1 2 0\n1 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"T\"\n";

/// The lines about ties on standard error, and the warnings.
fn told(arguments: &[&str], input: &str) -> Vec<String> {
    let output = stv(arguments, input);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {}", text(&output.stderr));
    let lines = text(&output.stderr).lines().filter(|line| !line.contains(" distributions, "));
    lines.map(str::to_owned).collect()
}

#[test]
fn every_tie_is_told_with_what_decided_it() {
    let file = TIE.replace("3 1\n", "3 1\n[tie 2 3 1]\n");
    for (arguments, input, by, warned) in [
        (&["meek"][..], TIE, "ballot-paper order: Ada is defeated", true),
        (&["meek", "--tie", "backwards"], TIE, "ballot-paper order: Ada is defeated", true),
        (&["meek", "--tie", "order"], TIE, "ballot-paper order: Ada is defeated", false),
        (&["meek"], &file, "the order of the file’s [tie …]: Bert is defeated", false),
        (&["meek", "--tie", "random:1"], &file, "lot, drawn with random:1: Bert is defeated", false),
    ] {
        let mut lines = told(arguments, input);
        if warned {
            let warning = lines.remove(0);
            assert!(
                warning.starts_with("stv: warn: round 1: a tie is decided by ballot-paper order"),
                "{warning}"
            );
            assert!(warning.contains("--tie random:SEED"), "{warning}");
        }
        assert_eq!(lines[0], format!("stv: round 1: tie of Ada, Bert, Cleo, decided by {by}"), "{lines:?}");
        assert_eq!(lines.len(), 2, "one more tie, and no other warning: {lines:?}");
    }
    // Dora's vote makes all candidates equal. In the earlier round, Cleo had fewer votes than the
    // others.
    let earlier = "4 1\n3 1 0\n3 2 0\n2 3 0\n1 4 3 0\n0\n\"Ada\" \"Bert\" \"Cleo\" \"Dora\" \"T\"";
    let lines = told(&["meek", "--tie", "backwards"], earlier);
    assert!(lines[1].ends_with("decided by fewer votes in round 1: Cleo is defeated"), "{lines:?}");
    let json: serde_json::Value =
        serde_json::from_str(&transcript(&["meek", "--tie", "backwards", "--format", "json"], earlier))
            .expect("JSON");
    let ties = json["steps"].as_array().expect("steps").iter().filter(|step| step["action"] == "break tie");
    let by: Vec<_> = ties.map(|step| step["by"].to_string()).collect();
    assert_eq!(by, [r#"{"backwards":1}"#, r#"{"order":"ballot paper"}"#]);
    assert!(json["warnings"][0].as_str().is_some_and(|warning| warning.contains("ballot-paper order")));
}

#[test]
fn the_transcript_tells_what_decided_a_tie_if_asked() {
    let plain = transcript(&["meek"], TIE);
    let explained = transcript(&["meek", "--explain-ties"], TIE);
    assert!(
        explained.contains("[Ada, Bert, Cleo] -> Ada\n\tDecided by: ballot-paper order\n"),
        "{explained}"
    );
    assert_eq!(explained.replace("\tDecided by: ballot-paper order\n", ""), plain);
    let drawn = transcript(&["meek", "--tie", "random:1"], TIE);
    assert_eq!(
        drawn,
        transcript(&["meek"], &TIE.replace("3 1\n", "3 1\n[tie 2 3 1]\n")),
        "the order that is drawn"
    );
}

#[test]
fn a_strict_count_takes_no_warning() {
    let page = env::temp_dir().join(format!("rangesteal-stv-{}-strict.html", std::process::id()));
    let html = page.to_str().expect("a path in UTF-8");
    let mistaken = BALLOTS.replace("3 1\n", "3 1\n[colour red]\n");
    for output in [&["--html", html][..], &["--html", html, "--format", "json"], &["--trace", "1"]] {
        for (input, lines, end) in [
            (TIE, 1, "with --strict that is an error\n"),
            (&mistaken, 2, "1 warning: with --strict nothing is counted\n"),
        ] {
            let output = stv(&[&["meek", "--strict"], output].concat(), input);
            let complaint = text(&output.stderr);
            assert_eq!((output.status.code(), text(&output.stdout)), (Some(1), ""), "{complaint}");
            assert!(complaint.ends_with(end) && complaint.lines().count() == lines, "{complaint}");
            assert!(!page.exists());
        }
    }
    assert_eq!(transcript(&["meek", "--strict"], BALLOTS), transcript(&["meek"], BALLOTS));
    let drawn = ["meek", "--tie", "random:5", "--strict"];
    assert_eq!(transcript(&drawn, TIE), transcript(&drawn[..3], TIE));
}

#[test]
fn a_result_is_verified() {
    let ballots = BallotFile::new("verified.blt", BALLOTS.as_bytes());
    let packed = BallotFile::new("verified.blt.gz", &gzip(BALLOTS.as_bytes()));
    let tied = BallotFile::new("tied.blt", TIE.as_bytes());
    let ways: [&[&str]; 4] = [
        &[],
        &["--arithmetic", "exact", "--tie", "backwards", "--equal-ranks", "as-droop"],
        &["--omega-exponent", "3", "--package-name=--A 'B", "--force-positive-surplus"],
        &["--tie", "random:9", "--record", "changes", "--arithmetic", "float64"],
    ];
    for file in [&ballots, &packed, &tied] {
        for way in ways {
            let result = transcript(&[&["meek", file.path(), "--format", "json"], way].concat(), "");
            let result = BallotFile::new("verified.json", result.as_bytes());
            let same = transcript(&["verify", result.path(), file.path(), "--num-threads", "1"], "");
            assert!(same.starts_with("the same: 1 winner and ") && same.lines().count() == 1, "{same}");
            assert!(told(&["verify", result.path(), file.path()], "").is_empty(), "no ties, no effort");
        }
    }
    let result = transcript(&["meek", ballots.path(), "--format", "json"], "");
    let verify = |result: &str, file: &str, input: &str| {
        let result = BallotFile::new("other.json", result.as_bytes());
        let complaint = error(&["verify", result.path(), file], input);
        complaint.replace(result.path(), "other.json")
    };
    let read = BallotFile::new("read.json", result.as_bytes());
    assert!(transcript(&["verify", read.path(), "-"], BALLOTS).starts_with("the same: "));
    let other = BallotFile::new("other.blt", BALLOTS.replace("4 1", "5 1").as_bytes());
    for (file, input) in
        [(other.path(), ""), (packed.path(), ""), ("-", "3 1\n1 1 0\n0\n\"A\" \"B\" \"C\" \"T\"")]
    {
        let complaint = verify(&result, file, input);
        assert!(complaint.contains("not the file of this result: its SHA-256 is "), "{complaint}");
    }
    for (text, other, words) in [
        (
            "\"votes\":\"3.000000000\"",
            "\"votes\":\"3.000000001\"",
            "not the same: step 1 (round 0, begin), candidates, candidate 2, votes: ",
        ),
        (
            "\"elected\": [2]",
            "\"elected\": [1]",
            "not the same: the result, elected, no. 1: the result has 1, the count 2",
        ),
        ("\"version\":\"0.1.0\"", "\"version\":\"9\"", ""),
        (
            "\"equal_ranks\":\"all-orders\"",
            "\"equal_ranks\":\"as-droop\"",
            "equal_ranks, counted: the result has ",
        ),
        ("\"seats\":null", "\"no_such\":true", "the result has an option no_such, which no count has"),
        ("\"seats\":null", "\"help\":true", "has an option help"),
        ("\"seats\":null", "\"html\":\"/no/such/page\"", "has an option html"),
        ("\"tie\":null", "\"tie\":[1]", "the options of the result are wrong: invalid value '[1]'"),
        ("\"format\"", "\"formal\"", "other.json: this is no result"),
        ("\"version\": 2", "\"version\": 1", "another version of the format"),
        ("\"sha256\"", "\"sha1\"", "does not say how it was counted"),
        ("{", "[", "other.json:1: invalid type: sequence"),
        ("}\n", "", "other.json:"),
    ] {
        assert!(result.contains(text), "{text}: {result}");
        let changed = result.replacen(text, other, 1);
        if words.is_empty() {
            let file = BallotFile::new("newer.json", changed.as_bytes());
            let same = transcript(&["verify", file.path(), ballots.path()], "");
            assert!(same.contains("written by version 9, this is "), "{same}");
        } else {
            let complaint = verify(&changed, ballots.path(), "");
            assert!(complaint.contains(words), "{other}: {complaint}");
        }
    }
    assert!(error(&["verify", "/no/such.json", ballots.path()], "").contains("cannot read /no/such.json: "));
    assert!(error(&["verify", read.path(), "/no/such.blt"], "").contains("cannot read /no/such.blt: "));
}

/// Thousands of candidates on two ballots give thousands of rounds. Each round changes
/// little. A record of each whole round took more than a gigabyte.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(debug_assertions, ignore = "twenty seconds unoptimised: `.ci/run` runs it optimised")]
fn thousands_of_candidates_do_not_fill_the_memory() {
    const CANDIDATES: usize = 2200;
    let names: Vec<String> = (0..CANDIDATES).map(|number| format!("\"Candidate {number}\"\n")).collect();
    let ballots = format!("{CANDIDATES} 1\n1 1 0\n1 2 0\n0\n{}\"Many\"\n", names.concat());
    let file = BallotFile::new("many.blt", ballots.as_bytes());
    let run = |options: &str| {
        let command = format!("ulimit -v 400000 && exec \"$0\" meek \"$1\" --parallel no {options}");
        let output = Command::new("sh").args(["-c", &command]).arg(program()).arg(file.path()).output();
        let output = output.expect("a shell");
        (output.status.code(), output.stdout, text(&output.stderr).to_owned())
    };
    for options in ["--format json", "--html /dev/null --format csv --record changes"] {
        let (code, output, complaint) = run(options);
        assert_eq!((code, output.len()), (Some(1), 0), "{options}: {complaint}");
        assert!(
            complaint.lines().last().is_some_and(|line| line.contains("--record changes")),
            "{complaint}"
        );
    }
    for (options, most) in
        [("--format json --record changes", 30_000_000), ("--format csv --record changes", 3_000_000)]
    {
        let (code, output, complaint) = run(options);
        assert_eq!(code, Some(0), "{options}: {complaint}");
        assert!((100_000..most).contains(&output.len()), "{} bytes", output.len());
        assert!(complaint.contains("stv: and 2178 more ties, all of which"), "{complaint}");
    }
}

/// Runs the commands of the README on a copy of the sample.
#[test]
#[cfg(target_os = "linux")]
fn the_five_commands_of_the_readme() {
    let top = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(top.join("examples/stv/README.md")).expect("the README");
    let (_, section) = readme.split_once("## From a file to a published page\n").expect("its section");
    let (_, commands) = section.split_once("```sh\n").expect("commands");
    let (commands, _) = commands.split_once("```").expect("their end");
    let folder = env::temp_dir().join(format!("rangesteal-stv-{}-published", std::process::id()));
    fs::create_dir(&folder).expect("a folder");
    fs::copy(top.join("examples/stv/sample.blt"), folder.join("ward.blt")).expect("a copy");
    let path = env::join_paths(
        [program().parent().expect("its folder").to_owned()]
            .into_iter()
            .chain(env::split_paths(&env::var_os("PATH").unwrap_or_default())),
    );
    let path = path.expect("no colon in it");
    let mut said = String::new();
    for command in commands.lines() {
        let output =
            Command::new("sh").args(["-ec", command]).current_dir(&folder).env("PATH", &path).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{command}: {}", text(&output.stderr));
        said += text(&output.stdout);
    }
    assert_eq!(commands.lines().filter(|line| !line.starts_with("set ")).count(), 5);
    assert!(said.contains("\nthe same: 3 winners and "), "{said}");
    let read = |name: &str| fs::read_to_string(folder.join(name)).expect("a file that a command has written");
    let result: serde_json::Value = serde_json::from_str(&read("ward.json")).expect("JSON");
    let sum = format!("{}  ward.blt\n", result["input"]["sha256"].as_str().expect("a sum"));
    assert!(read("SHA256SUMS").contains(&sum), "{sum} in {}", read("SHA256SUMS"));
    assert!(read("ward.html").contains(sum.split(' ').next().expect("the digits")));
    assert!(read("ward.txt").ends_with("\n\n"));
    fs::remove_dir_all(&folder).expect("it can be removed");
}

/// Runs the counting command of the root's README with the program of this test build, since a
/// release build would take minutes.
#[test]
fn the_count_of_the_front_page() {
    let top = &Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let readme = fs::read_to_string(top.join("README.md")).expect("the README");
    let (_, commands) = readme.split_once("## Try it\n\n```sh\n").expect("commands");
    let command = commands.lines().next().expect("the first command");
    let (cargo, arguments) = command.split_once(" -- ").expect("arguments");
    assert_eq!(cargo, "cargo run --release --example stv");
    let mut count = Command::new(program());
    count.args(arguments.split_whitespace()).current_dir(top); // the path in the command is relative
    let output = count.output().expect("the program starts");
    assert!(output.status.success(), "{command}: {}", text(&output.stderr));
    let transcript = text(&output.stdout);
    assert_eq!(winners(transcript).len(), 3, "{transcript}");
}

/// Mistakes in a file that is still a ballot file: each mistake is reported, and ends a strict
/// count.
#[test]
fn what_may_be_meant_otherwise_is_warned_of() {
    let names = "0\n\"Ada\"\n\"Bea\"\n\"Cy\"\n\"W\"\n";
    let cases = [
        (
            format!("3 1\n-3 1 2 0\n4 1 2 0\n5 2 0\n{names}"),
            2,
            "`-3` withdraws a candidate, and a ballot follows",
        ),
        (format!("3 1\n4 1 2 0\n5 2 0\n{names}5 1 0\n6 2 0\n"), 9, "looks like a ballot"),
        (format!("3 1\n4 1 2 0\n5 2 0\n{names}\"Club\"\n"), 8, "there may be 4 names for 3 candidates"),
    ];
    for (ballots, line, wanted) in &cases {
        let told = stv(&["meek", "--tie", "order"], ballots);
        let warning = format!("stv: warn: standard input:{line}: {wanted}");
        assert_eq!(told.status.code(), Some(0));
        assert!(
            text(&told.stderr).contains(&warning[..]) || text(&told.stderr).contains(wanted),
            "{ballots}{}",
            text(&told.stderr)
        );
        let strict = stv(&["meek", "--tie", "order", "--strict"], ballots);
        assert_eq!((strict.status.code(), text(&strict.stdout)), (Some(1), ""), "{ballots}");
    }
    for zero in ["30 0 2 3 0", "30 1 0 3 0"] {
        let ballots = format!("3 1\n40 1 2 3 0\n{zero}\n35 3 2 0\n15 2 3 0\n{names}");
        let complaint = error(&["meek"], &ballots);
        assert!(
            complaint.starts_with("stv: standard input:3: several ballots stand on this line"),
            "{complaint}"
        );
    }
    // If many lines have the same form, this form counts as intended.
    let joined = format!("3 1\n4 1 2 0 5 2 0\n4 1 2 0 5 2 0 6 3 0\n7 3 0\n{names}");
    assert!(!text(&stv(&["check", "-"], &joined).stderr).contains("several ballots"));
    let tied = stv(&["plurality"], &format!("3 1\n4 1 0\n4 2 0\n{names}"));
    assert!(text(&tied.stderr).contains("the last seat is tied: Ada and Bea have as many votes"));
}

#[test]
fn no_output_overwrites_the_ballot_file() {
    let file = BallotFile::new("kept.blt", BALLOTS.as_bytes());
    let refused = stv(&["meek", file.path(), "--html", file.path()], "");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("would overwrite"), "{}", text(&refused.stderr));
    assert_eq!(fs::read(&file.0).expect("it is there"), BALLOTS.as_bytes());
}

#[test]
fn verify_takes_no_other_options_and_names_what_is_no_result() {
    let file = BallotFile::new("options.blt", BALLOTS.as_bytes());
    let result = transcript(&["meek", file.path(), "--format", "json"], "");
    let verified = |result: &[u8]| {
        let result = BallotFile::new("options.json", result);
        stv(&["verify", result.path(), file.path()], "")
    };
    assert_eq!(verified(format!("\u{feff}{result}").as_bytes()).status.code(), Some(0));
    let page = env::temp_dir().join(format!("rangesteal-stv-{}-smuggled.html", std::process::id()));
    let smuggled =
        result.replacen("\"options\": {", &format!("\"options\": {{\"html\":\"{}\",", page.display()), 1);
    for (other, wanted) in [
        (smuggled.as_bytes(), "an option html, which no count has"),
        (b"", "it is empty"),
        (b"<!DOCTYPE html>", "it is a page"),
        (b"\x1f\x8b\x08", "it is compressed"),
        (b"\xff\xfe{\0", "it is UTF-16"),
    ] {
        let refused = verified(other);
        let complaint = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(1), "{complaint}");
        assert!(complaint.contains(wanted) && complaint.lines().count() == 1, "{complaint}");
    }
    assert!(!page.exists());
}
