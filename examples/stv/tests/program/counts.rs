//! Counts: threads, numbers, equal ranks and ties.

use super::*;

/// Once Dora is defeated, the last three ballots are for Bea.
const BEHIND_DEFEATED: &str = "4 1\n5 1 0\n4 2 0\n3 3 2=4 0\n0\n\"Ann\"\n\"Bea\"\n\"Cai\"\n\"Dora\"\n\"T\"\n";

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
        let ballots = generated(&format!("generate --kind {kind} --ballots 1000 --candidates 24 --seats 12"));
        for (arithmetic, way) in
            [("fixed9", "as-droop"), ("bigfixed9", "all-orders"), ("float64", "all-orders")]
        {
            let count = ["--arithmetic", arithmetic, "meek", "--equal-ranks", way];
            let serial = transcript(&[&count[..], &["--parallel", "no"]].concat(), &ballots);
            assert_eq!(winners(&serial).len(), 12, "{serial}");
            for threads in ["1", "2", "3", "8"] {
                let together = transcript(&[&count[..], &["--num-threads", threads]].concat(), &ballots);
                assert_eq!(together, serial, "{kind} {count:?} {threads}");
            }
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
    let json = json(&[&as_droop[..], &["--format", "json"]].concat(), BEHIND_DEFEATED);
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
    for command in ["meek", "plurality"] {
        let complaint = error(&["--arithmetic", "fixed9", command], &huge);
        assert!(complaint.contains("--arithmetic bigfixed9"), "{complaint}");
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
    let json = json(&["meek", "--tie", "backwards", "--format", "json"], earlier);
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
        transcript(&["meek"], TIE.replace("3 1\n", "3 1\n[tie 2 3 1]\n")),
        "the order that is drawn"
    );
}
