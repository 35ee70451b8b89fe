//! The outputs of a count, and their agreement.

use super::*;

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
    let json = json(&["meek", "--format", "json"], &ballots);
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
    let json = json(&["meek", "--format", "json"], BALLOTS);
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

/// Thousands of candidates on two ballots give thousands of rounds. Each round changes little. A
/// record of each whole round would take more than a gigabyte.
#[test]
#[cfg(target_os = "linux")]
#[cfg_attr(debug_assertions, ignore = "twenty seconds unoptimised: `.ci/long` runs it optimised")]
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
