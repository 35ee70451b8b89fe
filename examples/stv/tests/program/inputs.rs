//! Ballot files: sources, errors, warnings, `check` and `convert`.

use super::*;

/// A file that is long enough for all threads to read: once without errors, once with a ballot that
/// spans lines, and once with an invalid ballot.
#[test]
fn large_files_are_read_alike_by_all() {
    let plain = generated("generate --kind geometric --ballots 60000 --candidates 20");
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
fn the_sample_is_what_its_last_line_says() {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("sample.blt");
    let sample = fs::read_to_string(sample).expect("the sample");
    let command =
        sample.lines().last().and_then(|line| line.strip_prefix("# ")).expect("a comment with the command");
    assert_eq!(generated(command), sample);
}

#[test]
fn input_errors_name_file_and_line() {
    let file = BallotFile::new("range", b"2 1\n1 3 0\n0\n\"A\"\n\"B\"\n\"T\"\n");
    let complaint = error(&["--input", file.path(), "meek"], "");
    let wanted = format!("stv: {}:2: there is no candidate `3`; the numbers go from 1 to 2\n", file.path());
    assert_eq!(complaint, wanted);
    assert!(error(&["--input", "/no/such/file.blt", "meek"], "").contains("cannot read /no/such/file.blt: "));
    assert!(error(&["meek"], "2 1\n").starts_with("stv: standard input:1: "));
    let one = error(&["meek"], "1 1\n-1\n0\n\"A\"\n\"T\"\n");
    assert!(one.contains("1 seat cannot be filled by 0 candidates"), "{one}");
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
    assert_eq!(transcript(&["convert", "--nick"], ballots), nick);
    assert_eq!(transcript(&["convert"], nick), numeric);
    let file = BallotFile::new("wild.blt.gz", &gzip(ballots.as_bytes()));
    assert_eq!(transcript(&["convert", "--input", file.path()], ""), numeric);
    assert_eq!(transcript(&["--input", file.path(), "convert"], ""), numeric);
    assert!(error(&["convert"], ballots.replace("Mayor", "")).contains("standard input:"));
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
    let tied = stv(&["plurality"], format!("3 1\n4 1 0\n4 2 0\n{names}"));
    assert!(text(&tied.stderr).contains("the last seat is tied: Ada and Bea have as many votes"));
}
