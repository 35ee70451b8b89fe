//! Tests every clause of the formats, and every error with the line that it names.

use super::*;
use crate::{
    blt::{Mended, shown},
    reading::Duplicates,
};
use std::{io, num::NonZeroUsize};

fn read_as(text: &str, reading: Reading) -> Result<Election, InputError> {
    read("test", &mut text.as_bytes(), reading)
}

pub(super) fn read_text(text: &str) -> Election {
    read_as(text, Reading::default()).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn seats(number: usize) -> Reading {
    Reading { seats: NonZeroUsize::new(number), ..Reading::default() }
}

/// Names, parties and the title.
fn names(election: &Election) -> (Vec<(&str, Option<&str>)>, &str) {
    let names = election.candidates.iter();
    let names = names.map(|candidate| (candidate.name.as_str(), candidate.party.as_deref()));
    (names.collect(), &election.title)
}

fn fails(text: &str, reading: Reading, line: usize, wanted: &str) {
    let error = read_as(text, reading).map(|_| "read without error").unwrap_err().to_string();
    assert!(error.starts_with(&format!("test:{line}: ")) && error.contains(wanted), "{error}\n{text}");
}

pub(super) const SCOTTISH: &str = include_str!("../samples/scot-elex.csv");
const PREFLIB: &str = include_str!("../samples/preflib.toi");
const OLD_PREFLIB: &str = include_str!("../samples/preflib-2013.toi");

#[test]
fn a_scottish_file() {
    let election = read_text(SCOTTISH);
    assert_eq!(shown(&election), ["5: 1 3", "2: 2", "1: 3 2 1"]);
    assert_eq!((election.seats, &election.tie_break[..]), (2, &[0, 1, 2][..]));
    let parties = [
        ("Ada LI", Some("Scottish Green (Gr)")),
        ("Bert, Jr", Some("Independent (Ind)")),
        ("Cleo", Some("")),
    ];
    assert_eq!(names(&election), (parties.to_vec(), "Ward 3 - Wick"));
}

/// Tests the changes that spreadsheets make: blanks, commas up to the last column, other line ends,
/// no quotes, a byte order mark.
#[test]
fn a_scottish_file_in_other_clothes() {
    let wanted = format!("{:?}", read_text(SCOTTISH));
    let blanks = SCOTTISH.replace("5,1,3,", " 5 , 1,, 3 ,,,,").replace("2,2,\n", "2,2\n,,,,\n\n");
    for line_end in ["\n", "\r\n", "\r"] {
        let text = format!("\u{feff}{}{line_end}{line_end}", blanks.replace('\n', line_end));
        assert_eq!(format!("{:?}", read_text(&text)), wanted, "{text:?}");
    }
    let bare = SCOTTISH
        .replace("\"Candidate 2\",\"Bert, Jr\"", "candidate 2, \"Bert, Jr\" ")
        .replace("\"Ada LI\"", "Ada LI");
    assert_eq!(format!("{:?}", read_text(&bare)), wanted);
    assert_eq!(names(&read_text(&SCOTTISH.replace(",\"\",", ","))).0[2], ("Cleo", None));
    assert_eq!(shown(&read_text(&SCOTTISH.replace("2,2,", "7,"))), ["5: 1 3", "1: 3 2 1"], "an empty ballot");
}

/// Titles of real files, written by a program that adds quotes and does not double inner quotes.
#[test]
fn titles_as_they_are() {
    for (title, wanted) in [
        ("\"\"Ward 22 - Leven, Methil & Wemyss\"\",", "Ward 22 - Leven, Methil & Wemyss"),
        ("\"\"\"\"Ward 5\"\"\"\",", "Ward 5"),
        ("\"Ward \"\"5\"\"\",", "Ward \"5\""),
        ("Ward 5, North,,,", "Ward 5, North"),
        ("\"\",", ""),
        ("\"'=1+1\",", "=1+1"),
    ] {
        let text = SCOTTISH.replace("\"Ward 3 - Wick\",", title);
        assert_eq!(read_text(&text).title, wanted, "{title}");
    }
}

#[test]
fn errors_in_a_scottish_file() {
    let wrong = |from: &str, to: &str, line, wanted: &str| {
        assert!(SCOTTISH.contains(from), "{from}");
        fails(&SCOTTISH.replacen(from, to, 1), Reading::default(), line, wanted);
    };
    wrong("3,2,", "0,2,", 1, "the number of candidates cannot be `0`");
    wrong("3,2,", "3,0,", 1, "the number of seats cannot be `0`");
    wrong("3,2,", "3,4,", 1, "4 seats cannot be filled by 3 candidates");
    wrong("3,2,", "65537,2,", 1, "more than the 65536");
    wrong("3,2,", "3,2,1,", 1, "whose first line is `candidates,seats,`");
    wrong("3,2,", "3;2;", 1, "semicolons");
    wrong("5,1,3,", "5,1,4,", 2, "there is no candidate `4`; the numbers go from 1 to 3");
    wrong("5,1,3,", "5,1,3=2,", 2, "`3=2` is not a candidate's number");
    wrong("5,1,3,", "5,1,3,1,", 2, "candidate `1` stands twice");
    wrong("5,1,3,", "0,1,3,", 2, "`0` is not the weight");
    wrong("5,1,3,", "1.5,1,3,", 2, "`1.5` is not the weight");
    wrong("5,1,3,", "\"5,1,3,", 2, "a quote is not closed");
    wrong("\"Candidate 1\"", "\"Candidate 2\"", 5, "`Candidate 1` is expected");
    wrong("\"Candidate 2\"", "\"Kandidat 2\"", 6, "`Candidate 2` is expected; the header announces 3");
    wrong("\"Candidate 3\",\"Cleo\",\"\",\n", "", 7, "`Candidate 3` is expected");
    wrong("\"Ada LI\",\"Scottish Green (Gr)\"", "", 5, "candidate 1 has no name");
    wrong("\"Bert, Jr\"", "Bert, Jr", 6, "write names with commas in double quotes");
    wrong("\"Bert, Jr\"", "\"Bert\", Jr\"", 6, "nothing is expected");
    wrong("\"Ada LI\"", "\"Ada \"LI\"", 5, "there is no comma");
    wrong("\"Ward 3 - Wick\",", "", 7, "before the title");
    wrong("\"Ward 3 - Wick\",", "\"Candidate 4\",\"Dan\",", 8, "one more");
    wrong("\"Cleo\"", &format!("\"{}\"", "é".repeat(5000)), 7, "longer than 8 KiB");
    let (ballots, _) = SCOTTISH.split_once("\"Candidate 2").unwrap();
    fails(ballots, Reading::default(), 5, "the file ends here, before `\"Candidate 2\"`");
    fails(
        "3,2,\n5,\n\"Candidate 1\",A,\n\"Candidate 2\",B,\n\"Candidate 3\",C,\nT",
        Reading::default(),
        6,
        "nothing to count",
    );
    fails("3,2,\n", Reading::default(), 1, "before `\"Candidate 1\"`");
}

#[test]
fn preflib_of_today_and_of_before() {
    let election = read_text(PREFLIB);
    assert_eq!(shown(&election), ["5: 1 2=3", "2: 3 1", "1: 2"]);
    assert_eq!((election.title.as_str(), election.seats), ("Council", 2));
    assert_eq!(names(&election).0, [("Ada", None), ("Bert: the other", None), ("Cleo", None)]);
    let old = read_as(OLD_PREFLIB, seats(2)).unwrap();
    assert_eq!(shown(&old), shown(&election));
    assert_eq!(names(&old), (vec![("Ada", None), ("Bert, Jr", None), ("Cleo", None)], ""));
    let other =
        PREFLIB.replace("5: 1,{2,3}", "5:1 , { 2 ,3 } ,").replace("# ALT", "#ALT").replace('\n', "\r\n");
    assert_eq!(format!("{:?}", read_text(&other)), format!("{election:?}"));
    let long = PREFLIB
        .replace("Council", &"C".repeat(LONGEST_NAME))
        .replace("# FILE NAME: 00001-00000001.toi\n", "");
    assert_eq!(shown(&read_text(&long)), shown(&election), "whatever the title is");
    let mixed: Vec<_> = PREFLIB.lines().collect();
    let mixed =
        [&mixed[..8], &[mixed[10], "# a comment", mixed[8], mixed[9]], &mixed[11..]].concat().join("\n");
    assert_eq!(format!("{:?}", read_text(&mixed)), format!("{election:?}"), "names in any order");
}

#[test]
fn preflib_does_not_say_how_many_seats() {
    let text = PREFLIB.replace("# NUMBER SEATS: 2\n", "");
    fails(&text, Reading::default(), 11, "say it with --seats N");
    fails(OLD_PREFLIB, Reading::default(), 5, "say it with --seats N");
    assert_eq!(read_as(&text, seats(1)).unwrap().seats, 1);
    assert_eq!(read_as(PREFLIB, seats(3)).unwrap().seats, 3, "whatever the file says");
    fails(&text, seats(4), 11, "4 seats cannot be filled by 3 candidates");
    for other in ["3 1\n1 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n", SCOTTISH] {
        assert_eq!(read_as(other, seats(3)).unwrap().seats, 3);
        assert!(read_as(other, seats(4)).is_err());
    }
}

#[test]
fn errors_in_a_file_of_preflib() {
    let wrong = |from: &str, to: &str, line, wanted: &str| {
        assert!(PREFLIB.contains(from), "{from}");
        fails(&PREFLIB.replacen(from, to, 1), Reading::default(), line, wanted);
    };
    wrong("TYPE: toi", "TYPE: cat", 4, "a file of type `cat` has no orders");
    wrong("ALTERNATIVES: 3", "ALTERNATIVES: x", 5, "the number of candidates cannot be `x`");
    wrong("# NUMBER ALTERNATIVES: 3\n", "", 11, "`# NUMBER ALTERNATIVES: 3` before the ballots");
    wrong("NAME 3: Cleo", "NAME 2: Cleo", 14, "candidate 2 is named twice");
    wrong("NAME 3: Cleo", "NAME 4: Cleo", 11, "candidate 4; the numbers go from 1 to 3");
    wrong("# ALTERNATIVE NAME 3: Cleo\n", "", 13, "candidate 3 has no name");
    wrong("# ALTERNATIVE NAME 1: Ada\n", "", 13, "candidate 1 has no name");
    wrong("5: 1,{2,3}", "5, 1,{2,3}", 12, "is not a ballot, which looks like `5: 1,{2,3}`");
    wrong("5: 1,{2,3}", "x: 1,{2,3}", 12, "`x` is not the weight");
    wrong("5: 1,{2,3}", "5: 1,{2,3", 12, "a { is not closed");
    wrong("5: 1,{2,3}", "5: 1,2,3}", 12, "a } closes nothing");
    wrong("5: 1,{2,3}", "5: 1,{{2,3}", 12, "`{2` is not a candidate's number");
    wrong("5: 1,{2,3}", "5: 1,{2,{3}", 12, "braces within braces");
    wrong("5: 1,{2,3}", "5: 1,{2,,3}", 12, "one is missing");
    wrong("5: 1,{2,3}", "5: 1,{}", 12, "one is missing");
    wrong("5: 1,{2,3}", "5: 1,{2,1}", 12, "candidate `1` stands twice");
    wrong("5: 1,{2,3}", "5: 1,{2,0}", 12, "there is no candidate `0`");
    let (header, _) = PREFLIB.split_once("5: ").unwrap();
    fails(header, Reading::default(), 11, "before the ballots");
    let old = |from: &str, to: &str, line, wanted: &str| {
        fails(&OLD_PREFLIB.replacen(from, to, 1), seats(1), line, wanted);
    };
    old("2,Bert, Jr\n", "", 4, "a name is given to candidate 8; the numbers go from 1 to 3");
    old("8,8,3\n", "", 5, "`voters,sum of counts,orders` is expected");
    old("2,Bert", "1,Bert", 8, "candidate 1 is named twice");
    old("3,Cleo", "Cleo", 4, "is not the number and the name");
    fails("3\n1,Ada\n", seats(1), 2, "before the ballots");
}

/// All errors in ballots are reported at once, as in BLT.
#[test]
fn several_errors() {
    let text = SCOTTISH.replace("5,1,3,", "5,1,4,\n5,x,").replace("2,2,", "2,2,2,");
    let lines = |most| {
        let errors = survey("test", &mut text.as_bytes(), Reading::default(), most).unwrap_err();
        errors.iter().map(|error| error.to_string()[..7].to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(lines(20), ["test:2:", "test:3:", "test:4:"]);
    assert_eq!(lines(2), ["test:2:", "test:3:"]);
}

/// The same ballots in all formats. Two of these ballots name a candidate twice.
#[test]
fn duplicates_are_mended_alike_in_all_formats() {
    let blt = "3 1\n4 1 2 1 3 0\n2 1=2 3=1 2 0\n3 2 2 0\n1 3 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n";
    let preflib = "# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n# ALTERNATIVE NAME 3: C\n# TITLE: T\n4: 1,2,1,3\n2: {1,2},{3,1},2\n3: 2,2\n1: 3,1\n";
    let csv = "3,1,\n4,1,2,1,3,\n3,2,2,\n1,3,1,\nCandidate 1,A\nCandidate 2,B\nCandidate 3,C\nT\n";
    let mended = |text: &str, duplicates| {
        let reading = Reading { duplicates, ..seats(1) };
        let (election, seen) = survey("test", &mut text.as_bytes(), reading, 1).unwrap();
        let Mended { lines, ballots, first } = seen.mended;
        (shown(&election), lines, ballots.word(), first)
    };
    let first = ["4: 1 2 3", "2: 1=2 3", "3: 2", "1: 3 1"];
    let truncated = ["4: 1 2", "2: 1=2", "3: 2", "1: 3 1"];
    for (duplicates, wanted) in [(Duplicates::First, first), (Duplicates::Truncate, truncated)] {
        let wanted = wanted.map(str::to_owned);
        assert_eq!(mended(blt, duplicates), (wanted.to_vec(), 3, Some(9), 2));
        assert_eq!(mended(preflib, duplicates), (wanted.to_vec(), 3, Some(9), 6));
        assert_eq!(mended(csv, duplicates), ([&wanted[..1], &wanted[2..]].concat(), 2, Some(7), 2));
    }
    for (text, line) in [(blt, 2), (preflib, 6), (csv, 2)] {
        fails(text, seats(1), line, "--duplicates");
    }
    // Equals have no order. So the ballot ends before the rank with the second mention, for any
    // written order of the equals.
    let equals = |ballot: &str| {
        let text = format!("3 1\n1 {ballot} 0\n9 3 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n");
        mended(&text, Duplicates::Truncate).0[0].clone()
    };
    assert_eq!([equals("2 1=2 3"), equals("2 2=1 3"), equals("2 1=1 3")], ["1: 2", "1: 2", "1: 2"]);
}

#[test]
fn what_is_not_read_is_named() {
    let told = |bytes: &[u8]| read("test", &mut &*bytes, Reading::default()).unwrap_err().to_string();
    for (bytes, wanted) in [
        (&b"PK\x03\x04\x14\0\x06\0"[..], "a ZIP archive, as spreadsheets"),
        (b"%PDF-1.7\n", "a PDF document"),
        (b"\xff\xfe3\0 \x001\0", "UTF-16"),
        (b"3\0 \x001\0\n\0", "UTF-16"),
        (b"\x003\0 \x001", "UTF-16"),
        (b"\x1f\x8b\x08\0\0\0", "gzip twice"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "Microsoft Office"),
        (b"\xfd7zXZ\0\0", "compressed with xz"),
        (b"{\"ballots\": []}", "this is JSON"),
        (b" [\n  {\"id\": 1}]", "this is JSON"),
        (b"[1, 2]", "this is JSON"),
        (b"<?xml version=\"1.0\"?>", "this is XML"),
        (b"<!DOCTYPE html>\n", "a web page"),
        (b"\xef\xbb\xbf2020 General,5.10,,\n,,,\nCvrNumber,TabulatorNum,BatchId\n", "Dominion"),
        (b"Choice 1,Choice 2,Choice 3\nAda,Bert,Cleo\n", "this looks like CSV"),
        (b"\"rank1\",\"rank2\"\n", "this looks like CSV"),
        (b"7;4;\n1;2;\n", "semicolons"),
        (b"{version: \"0.1\"}\n# made by hand\n7:Ada\n", "this is ABIF"),
        (b"# made by hand\n=Ada:[Ada Lee]\n7:Ada>Bea\n", "this is ABIF"),
        (b"#/Candidates: Ada ; Bea\nAda > Bea * 7\n", "the Condorcet Election Format (.cvotes)"),
        (b"Ada > Bea * 7\nBea\n", "the Condorcet Election Format (.cvotes)"),
    ] {
        let message = told(bytes);
        assert!(message.starts_with("test:1: ") && message.contains(wanted), "{message}");
    }
    // Text that matches no other format goes to the BLT reader.
    for (text, wanted) in [
        ("", "before the number of candidates"),
        ("three two\n", "`three` is not the number of candidates"),
        ("[nick a b c]\n", "`[nick` is not the number of candidates"),
        ("3\n", "before the number of seats"),
        ("# TITLE: Ward 1\n# a, b, c\n3 x\n", "`x` is not the number of seats"),
        ("3 x # a,b,c\n", "`x` is not the number of seats"),
        ("/* a,b,c */ x\n", "`x` is not the number of candidates"),
    ] {
        assert!(told(text.as_bytes()).contains(wanted), "{}", told(text.as_bytes()));
    }
    let blt = "# TITLE: X\n3\n2 # a,b\n1 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n";
    assert_eq!(shown(&read_text(blt)), ["1: 1"]);
}

#[test]
fn a_device_that_fails() {
    struct Broken;
    impl Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::UnexpectedEof.into())
        }
    }
    for (text, place) in [
        ("", ""),
        ("3 1\n1 1 0\n", " beyond line 3"),
        ("3,1,\n1,1,\n", " beyond line 3"),
        ("# DATA TYPE: soi\n", " beyond line 2"),
    ] {
        let error = read("disk", &mut text.as_bytes().chain(Broken), Reading::default()).unwrap_err();
        let error = error.to_string();
        assert!(error.starts_with(&format!("cannot read disk{place}: ")), "{error}");
        assert!(error.ends_with("is the file complete?"), "{error}");
    }
}

/// A file that can be read in parts is the same election, or the same error.
#[test]
fn every_format_is_read_in_parts() {
    let many =
        format!("3,1,\n{}", "2,1,3,\n5,2,\n".repeat(40)) + SCOTTISH.split_once("1,3,2,1,\n").unwrap().1;
    let first = Reading { duplicates: Duplicates::First, ..Reading::default() };
    for (text, reading) in [
        (SCOTTISH, Reading::default()),
        (&many, Reading::default()),
        (PREFLIB, Reading::default()),
        (OLD_PREFLIB, seats(1)),
        ("3 1\n1 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n", seats(2)),
        ("3 1\n1 1 2 1 0\n2 3 0\n9 2 2 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n", first),
        ("3,1,\n1,1,1,\n", Reading::default()),
        ("{}", Reading::default()),
    ] {
        let open = |at: u64| -> io::Result<Box<dyn Read>> {
            Ok(Box::new(&text.as_bytes()[usize::try_from(at).unwrap()..]))
        };
        let source = Source { name: "test", len: text.len() as u64, part: 1, open: &open };
        let all = |election: Election| {
            let total = election.ballots.total().to_string();
            (election.seats, format!("{:?}", names(&election)), shown(&election), total)
        };
        let in_parts = read_in_parts(&source, reading, &|number, work| (0..number).for_each(work))
            .map(all)
            .map_err(|error| error.to_string());
        assert_eq!(in_parts, read_as(text, reading).map(all).map_err(|error| error.to_string()));
    }
}

/// Files that resemble ballot files but are not valid: pairs of candidates with the number of
/// voters who prefer one to the other, categories, and a number of seats given twice.
#[test]
fn what_only_looks_like_ballots_is_refused() {
    let names = "1,Ada\n2,Bert\n3,Cleo\n";
    let keys = "# FILE NAME: x\n# NUMBER ALTERNATIVES: 3\n# ALTERNATIVE NAME 1: A\n# ALTERNATIVE NAME 2: B\n# ALTERNATIVE NAME 3: C\n";
    let reading = Reading { seats: NonZeroUsize::new(1), ..Reading::default() };
    let read = |text: &str| survey("test", &mut text.as_bytes(), reading, 1);
    for (text, wanted) in [
        (format!("3\n{names}10,30,2\n24,1,2\n6,2,1\n"), "are those of pairs"),
        (format!("{keys}# NUMBER CATEGORIES: 3\n5: {{1,2}},3\n"), "a file of categories"),
        (format!("{keys}# NUMBER SEATS: 1\n# NUMBER SEATS: 2\n5: 1\n"), "says NUMBER SEATS once"),
        (format!("{keys}5: 1\n# NUMBER SEATS: 2\n"), "says NUMBER SEATS once"),
    ] {
        let error = read(&text).unwrap_err().remove(0).to_string();
        assert!(error.contains(wanted), "{error}");
    }
    let (election, _) = read(&format!("{keys}# NUMBER UNIQUE ORDERS: 2\n5: 1\n")).unwrap();
    assert!(election.warnings[0].contains("announces 2 orders, but there are 1"), "{:?}", election.warnings);
}
