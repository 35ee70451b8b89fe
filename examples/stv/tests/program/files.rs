//! Ballot files other than BLT, and odd files.

use super::*;

/// The output of a run that must succeed: the standard output, and the lines of standard error that
/// begin with these words.
fn done(arguments: &[&str], input: &str) -> (String, Vec<String>) {
    let output = stv(arguments, input);
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{arguments:?}: {told}");
    let warnings = told.lines().filter_map(|line| line.strip_prefix("stv: warn: "));
    (text(&output.stdout).to_owned(), warnings.map(str::to_owned).collect())
}

#[test]
fn convert_says_that_ids_are_lost() {
    let ballots = "2 1\n(a1) 1 2 0\n(a2) 2 0\n0\n\"Ada\"\n\"Bea\"\n\"T\"\n";
    let (_, told) = done(&["convert"], ballots);
    assert_eq!(told, ["standard input: the ids of the ballots are left out"]);
    assert!(done(&["convert"], &ballots.replace("(a1)", "1").replace("(a2)", "1")).1.is_empty());
}

const BLT: &str = "4 2\n9 1 2 0\n7 2 4 0\n6 3 0\n5 4 1 3 0\n2 2 1 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Dora\"\n\"Ward 1, North\"\n";
const SCOTTISH: &str = "4,2,\n9,1,2,\n7,2,4,\n6,3,\n5,4,1,3,\n2,2,1,\n\"Candidate 1\",\"Ada\",\n\"Candidate 2\",\"Bert\",\n\"Candidate 3\",\"Cleo\",\n\"Candidate 4\",\"Dora\",\n\"\"Ward 1, North\"\",";
const PREFLIB: &str = "# FILE NAME: 00001-00000001.soi\n# TITLE: Ward 1, North\n# DATA TYPE: soi\n# NUMBER ALTERNATIVES: 4\n# NUMBER VOTERS: 29\n# NUMBER UNIQUE ORDERS: 5\n# ALTERNATIVE NAME 1: Ada\n# ALTERNATIVE NAME 2: Bert\n# ALTERNATIVE NAME 3: Cleo\n# ALTERNATIVE NAME 4: Dora\n9: 1,2\n7: 2,4\n6: 3\n5: 4,1,3\n2: 2,1\n";

/// The contents of a file show its format. Its name does not matter.
#[test]
fn a_file_is_what_is_in_it() {
    for command in ["meek", "plurality"] {
        let (wanted, _) = done(&[command], BLT);
        assert!(wanted.contains("Ward 1, North") && wanted.contains("Dora"), "{wanted}");
        for (name, contents, seats) in [
            ("a.blt", SCOTTISH.as_bytes().to_vec(), None),
            ("b.csv", PREFLIB.as_bytes().to_vec(), Some("--seats=2")),
            ("c", gzip(SCOTTISH.as_bytes()), None),
            ("d.soi", gzip(BLT.as_bytes()), None),
            ("e.blt.gz", BLT.as_bytes().to_vec(), None),
        ] {
            let file = BallotFile::new(&format!("{command}-{name}"), &contents);
            let arguments: Vec<_> = [command, file.path()].into_iter().chain(seats).collect();
            assert_eq!(done(&arguments, "").0, wanted, "{name}");
        }
    }
    assert!(error(&["meek"], PREFLIB.as_bytes()).contains("say it with --seats N"));
    assert!(error(&["check", "-"], gzip(&gzip(BLT.as_bytes()))).contains("compressed with gzip twice"));
    assert!(error(&["check", "-"], b"{\"a\": 1}").contains("standard input:1: this is JSON"));
    let (summary, _) = done(&["check", "-"], SCOTTISH);
    assert!(summary.contains("ballot lines        5\n"), "{summary}");
}

#[test]
fn files_are_converted_from_each_format_to_each() {
    for (text, to) in [(BLT, "csv"), (SCOTTISH, "preflib"), (BLT, "preflib"), (SCOTTISH, "blt")] {
        let (converted, told) = done(&["convert", "--to", to], text);
        assert_eq!((done(&["convert"], &converted).0.as_str(), told), (BLT, Vec::new()), "{to}");
    }
    let preflib = done(&["convert", "--to", "preflib"], BLT).0;
    assert!(preflib.contains("# DATA TYPE: soi\n") && preflib.contains("# NUMBER VOTERS: 29\n"), "{preflib}");
    for (ballots, kind) in [("1 1 2", "soc"), ("1 1=2", "toc"), ("1 1=2 0\n1 2", "toi")] {
        let text = format!("2 1\n{ballots} 0\n0\n\"A\"\n\"B\"\n\"T\"\n");
        let preflib = done(&["convert", "--to", "preflib"], &text).0;
        assert!(preflib.contains(&format!("# DATA TYPE: {kind}\n")), "{preflib}");
    }
}

#[test]
fn what_a_format_cannot_hold_is_refused_or_told() {
    let equals = BLT.replace("9 1 2 0", "9 1=2 0");
    assert!(
        error(&["convert", "--to", "csv"], equals.as_bytes())
            .contains("cannot hold equal ranks, which 9 ballots have")
    );
    let tie = BLT.replace("4 2\n", "4 2\n[tie 4 3 2 1]\n");
    for to in ["csv", "preflib"] {
        assert!(error(&["convert", "--to", to], tie.as_bytes()).contains("in which order tied candidates"));
        let (converted, told) = done(&["convert", "--to", to], &BLT.replace("4 2\n", "4 2\n-2\n"));
        assert!(told.len() == 1 && told[0].contains("1 of 4 candidates are left out"), "{told:?}");
        let blt = done(&["convert"], &converted).0;
        let wanted = "3 2\n9 1 0\n7 3 0\n6 2 0\n5 3 1 2 0\n2 1 0\n0\n\"Ada\"\n\"Cleo\"\n\"Dora\"\n";
        // PrefLib writes identical ballots as one.
        let wanted = if to == "csv" {
            wanted.to_owned()
        } else {
            wanted.replace("9 1", "11 1").replace("2 1 0\n0", "0")
        };
        assert_eq!(blt, wanted + "\"Ward 1, North\"\n");
    }
    let output = stv(&["convert", "--to", "csv", "--nick"], BLT.as_bytes());
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn ballots_that_name_somebody_twice_are_told() {
    let twice = BLT.replace("9 1 2 0", "9 1 2 1 3 0").replace("6 3 0", "6 3 3 4 0");
    assert!(error(&["meek"], twice.as_bytes()).contains("standard input:2: candidate `1` stands twice"));
    for (duplicates, ballots) in
        [("first", "9 1 2 3 0\n7 2 4 0\n6 3 4 0\n"), ("truncate", "9 1 2 0\n7 2 4 0\n6 3 0\n")]
    {
        let (converted, told) = done(&["convert", "--duplicates", duplicates], &twice);
        assert!(converted.starts_with(&format!("4 2\n{ballots}")), "{converted}");
        let wanted = "standard input:2: a candidate stands twice on the ballot of this line and on 1 other line (ballots in all: 15); ";
        assert!(told.len() == 1 && told[0].starts_with(wanted), "{told:?}");
        assert_eq!(done(&["meek", "--duplicates", duplicates], &twice).1, told);
    }
}

#[test]
fn seats_are_what_the_user_says() {
    let (transcript, told) = done(&["meek", "--seats", "1"], BLT);
    assert_eq!(transcript.matches("Action: Elect").count(), 1, "{transcript}");
    assert_eq!(told, ["standard input:1: the file says 2 seats, but --seats 1 is counted"]);
    assert_eq!(done(&["meek", "--seats", "1"], SCOTTISH), (transcript, told));
    assert!(done(&["meek", "--seats", "2"], BLT).1.is_empty());
    assert!(error(&["meek", "--seats", "5"], BLT.as_bytes()).contains("5 seats cannot be filled by 4"));
}

#[test]
fn what_a_file_says_of_itself_is_compared() {
    let cut = PREFLIB
        .replace("2: 2,1\n", "")
        .replace("# DATA TYPE: soi\n", "# DATA TYPE: toc\n# MODIFICATION TYPE: imbued\n");
    let told = done(&["meek", "--seats", "2"], &cut).1;
    assert!(
        told.len() == 3 && told[0].starts_with("standard input:4: this file says more than the voters did"),
        "{told:?}"
    );
    assert_eq!(
        told[1],
        "standard input:6: the header announces 29 ballots, but there are 27; is the file complete?"
    );
    assert_eq!(
        told[2],
        "standard input:7: the header announces 5 orders, but there are 4; is the file complete?"
    );
    let told = done(&["meek"], &format!("{SCOTTISH}\nmore\nand more\n")).1;
    assert_eq!(told, ["standard input:12: what follows the title is ignored"]);
}

/// A thousand odd candidates must not cause a thousand lines.
#[test]
fn warnings_are_counted_when_there_are_many() {
    let candidates = 1000;
    let nick: Vec<_> = (1..=candidates).map(|number| (candidates + number).to_string()).collect();
    let nick = nick.join(" ");
    let names = "\"A\"\n".repeat(candidates);
    let ballots = format!("{candidates} 1\n[nick {nick}]\n1 1 0\n0\n{names}\"T\"\n");
    let (summary, told) = done(&["check", "-"], &ballots);
    assert_eq!(told.len(), 21, "{told:?}");
    assert!(
        told[20].contains("`2000` of candidate 1000") && told[20].contains("the last of 1000 such"),
        "{told:?}"
    );
    let warnings: Vec<_> = summary.lines().filter(|line| line.starts_with("  warning: ")).collect();
    assert_eq!(warnings.len(), 1 + 2 * 21, "{warnings:?}");
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("no ballot ranks") && warning.contains("the last of 999 such"))
    );
}
