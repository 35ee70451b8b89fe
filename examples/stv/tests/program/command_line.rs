//! The command line: options, exit codes, and the commands of the READMEs.

use super::*;

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

#[test]
fn help_has_examples_and_exit_codes() {
    let help = transcript(&["--help"], "");
    for part in ["Examples:", "Exit codes:", "RANGESTEAL_NUM_THREADS"] {
        assert!(help.contains(part), "{part}: {help}");
    }
    let help = transcript(&["meek", "--help"], "");
    assert!(help.contains("Examples:") && help.contains("`stv --help` describes the exit codes"), "{help}");
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

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let ballots = generated("generate --kind uniform --ballots 100000");
    let file = BallotFile::new("seen.blt", ballots.as_bytes());
    let mut command = Command::new(program());
    command.args(["convert", file.path()]);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the program starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the program ends");
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""));
}

/// A second ballot file is an error. Otherwise one of the two files would silently be left out of
/// the count.
#[test]
fn a_wrong_command_line_is_exit_code_2() {
    let wrong: &[&[&str]] = &[
        &["meek", "a.blt", "--input", "a.blt"],
        &["--input", "a.blt", "plurality", "a.blt"],
        &["--input", "a.blt", "convert", "--input", "a.blt"],
        &["convert", "a.blt", "--input", "a.blt"],
        &["--input", "a.blt", "check", "a.blt"],
        &["--arithmetic", "exact", "meek", "--arithmetic", "fixed9"],
        &["meek", "--html", "-"],
        &["check"],
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

#[test]
fn no_output_overwrites_the_ballot_file() {
    let file = BallotFile::new("kept.blt", BALLOTS.as_bytes());
    let refused = stv(&["meek", file.path(), "--html", file.path()], "");
    assert_eq!(refused.status.code(), Some(2));
    assert!(text(&refused.stderr).contains("would overwrite"), "{}", text(&refused.stderr));
    assert_eq!(fs::read(&file.0).expect("it is there"), BALLOTS.as_bytes());
}
