//! The samples of the dialects, and files with various line ends, encodings and block sizes.

use super::tests::{ballots, fails, names, read_text};
use super::*;
use crate::{
    formats::{parse, read, survey},
    integer::Integer,
};

/// The README describes the dialects.
#[test]
fn samples_are_read_as_what_they_say() {
    for (text, wanted) in [
        (
            include_str!("../samples/hill.blt"),
            "Title: Adam, Basil withdrawn, Charlotte, Donald; 3: 1 3 4, 4: 1 3, 2: 4 1 3, 2: 4 3 1, 1: 3 4",
        ),
        (
            include_str!("../samples/openstv.blt"),
            "Committee: Ann, Ben withdrawn, Cy, Dee; 1: 4 1 3, 1: 3 1=4",
        ),
        (
            include_str!("../samples/opavote.blt"),
            "Chair, 2026: Ann (Red) withdrawn, Ben \"Buddy\"-Li, Cy withdrawn, Write-in; 1: 2 4, 12: 2=4, 1: 4",
        ),
        (include_str!("../samples/opentally.blt"), "The title: Adam, Basil the Great, Charlotte; 1: 3 2"),
        (include_str!("../samples/droop.blt"), "Title: Castor, Pollux, Helen; 5: 1 2, 3: 3 1=2, 1: 3"),
        (
            include_str!("../samples/scotland-2017.blt"),
            "Ward 12: Ann LI (SNP), Ben MC KAY (Con), Cy (Lab); 2: 1 3, 1: 2",
        ),
        (
            include_str!("../samples/scotland-2022.blt"),
            "Ward 3 - Wick: Ann LI of Scottish National Party (SNP), Ben MACKAY of Independent, Cy of Labour; 10: 1 2, 7: 3",
        ),
        (include_str!("../samples/stv-rs.blt"), "Fruit: Apple, Banana withdrawn, Watermelon; 2: 1 3"),
    ] {
        let election = read_text(text).unwrap();
        let people = election.candidates.iter().map(|Candidate { name, party, withdrawn }| {
            let party = party.as_ref().map_or_else(String::new, |party| format!(" of {party}"));
            format!("{name}{party}{}", if *withdrawn { " withdrawn" } else { "" })
        });
        let people = people.collect::<Vec<_>>().join(", ");
        assert_eq!(format!("{}: {people}; {}", election.title, ballots(text).join(", ")), wanted);
    }
}

#[test]
fn empty_ballots_are_counted_apart() {
    let mut reader = include_bytes!("../samples/openstv.blt").as_slice();
    let (election, seen) = survey("test", &mut reader, Reading::default(), 1).unwrap();
    assert_eq!((seen.lines, seen.empty_lines), (4, 2));
    assert_eq!(election.ballots.turnout().empty, Integer::Word(2), "one of them ranks who has withdrawn");
}

/// Quotes of text processors; `OpaVote` warns of them.
#[test]
fn typographic_quotes() {
    let text = "3 2\n1 3 2 0\n0\n“Adam”\n„Bärbel“  # 2\n\"Ch“ar”\"\n“The “first” title”\n";
    fails(text, 7, "`title”` follows the title");
    let text = text.replace("“first” ", "“first”-");
    assert_eq!(names(&read_text(&text).unwrap()), (vec!["Adam", "Bärbel", "Ch“ar”"], "The “first”-title"));
}

/// Forms that other programs write, and that could be read as something else. The error names the
/// line with the mistake, which may be before the line that cannot be read.
#[test]
fn forms_that_are_not_read() {
    let file = |candidates: usize, ballots: &str| {
        let names: Vec<_> = (0..candidates).map(|number| format!("\"N{number}\"\n")).collect();
        format!("{candidates} 1\n{ballots}\n0\n{}\"T\"\n", names.concat())
    };
    // A 0 for a rank left out, in a line that could be several ballots.
    fails(&file(4, "3 1 4 0\n2 2 0 4 1 0\n5 4 0"), 3, "several ballots stand on this line");
    fails(&file(4, "1 4 0 0\n2 2 0 4 1 0\n5 4 0"), 3, "as in the lines before, a 0 of this line may be");
    // Ballots without the 0 at their ends.
    fails(
        &file(2, "8 2\n7 1"),
        2,
        "line 2 does not end in 0, so its ballot goes on; on line 3: there is no candidate `7`",
    );
    fails(
        &file(8, "8 2 1\n7 3 4"),
        2,
        "line 2 does not end in 0, so its ballot goes on; on line 5: `\"N0\"`",
    );
    fails(&file(3, "8 2 1 0\n2 1 3\n2 3 1"), 3, "line 3 does not end in 0");
    // Equal ranks in other forms.
    fails(
        &file(3, "2 (1 3) 2 0"),
        2,
        "`(1` begins equal ranks in parentheses, which are not read; write them as 2=3",
    );
    fails(&file(3, "2 1 0\n2 2 = 3 0"), 3, "= joins two candidates of equal rank without blanks");
    fails(&file(3, "2 2= 3 0"), 2, "without blanks");
}

/// A `0` for a rank left out, where it cannot be the end of a ballot.
#[test]
fn ranks_left_out_as_zeros() {
    let names = "\"A\"\n\"B\"\n\"C\"\n\"D\"\n\"T\"\n";
    for (lines, wanted) in [
        ("1 0 2 0 0\n1 1 0\n0", &["1: 2", "1: 1"][..]),
        ("2 1 0 3 0 0\n3 4 0\n0", &["2: 1 3", "3: 4"]),
        ("3 2 1 0\n2 1 0 0 3 0  \r\n1 0 0 0\n4 4 0 0\n0", &["3: 2 1", "2: 1 3", "4: 4"]),
        ("1 1 0 0 0 0 # one\n0", &["1: 1"]),
    ] {
        let text = format!("4 1\n{lines}\n{names}");
        assert_eq!(ballots(&text), wanted, "{lines}");
        let warnings = read_text(&text).unwrap().warnings;
        assert!(warnings.len() == 1 && warnings[0].contains("is read as a rank left out"), "{warnings:?}");
    }
    // The 0 that ends the ballots may stand behind the last ballot.
    assert_eq!(ballots(&format!("4 1\n1 1 0\n1 2 0 0\n{names}")), ["1: 1", "1: 2"]);
    fails(
        &format!("4 1\n1 1 0 1 2 0\n1 1 0 0\n1 2 3 0\n0\n{names}"),
        3,
        "if a 0 in this line is a rank left out",
    );
}

#[test]
fn every_line_end() {
    let unix = "2 1 # header\n[nick a b]\n\n3 a 0\n1 b 0\n0\nAnn\nBen\nTitle\n";
    for line_end in ["\n", "\r\n", "\r"] {
        let text = unix.replace('\n', line_end);
        assert_eq!(ballots(&text), ["3: 1", "1: 2"], "{line_end:?}");
        assert_eq!(names(&read_text(&text).unwrap()), (vec!["Ann", "Ben"], "Title"));
        let wrong = text.replace("1 b", "1 x");
        assert_eq!(read_text(&wrong).unwrap_err().line, 5, "{line_end:?}");
        let mut latin_1 = text.into_bytes();
        let e = latin_1.iter().rposition(|&byte| byte == b'e').unwrap();
        latin_1[e] = 0xe9;
        let message = parse("x.blt", &latin_1).unwrap_err().to_string();
        assert!(message.starts_with("x.blt:9: byte 5 of this line, 0xE9, "), "{line_end:?} {message}");
    }
}

#[test]
fn other_encodings_are_named() {
    let message = |bytes: &[u8]| parse("x.blt", bytes).unwrap_err().to_string();
    let latin_1 = message(b"1 1\n1 1 0\n0\n\"Andr\xe9\"\n\"T\"\n");
    assert_eq!(
        latin_1,
        "x.blt:4: byte 6 of this line, 0xE9, is not UTF-8; the file looks like Latin-1, where it is é; \
         convert it, for example with: iconv -f LATIN1 -t UTF-8 FILE > NEW"
    );
    assert!(message(b"1 1\n1 1 0\n0\n\"Ann \x93A\x94\"\n\"T\"\n").contains("Windows-1252; convert"));
    assert!(message("1 1\n1 1 0\n0\n\"A\"\n\"é".as_bytes().split_last().unwrap().1).contains(":5: byte 2 "));
    assert!(
        message(b"1 1\n1 2 0\n0\n\"Andr\xe9\"\n").contains(":2: there is no candidate `2`"),
        "errors come in the order of the lines"
    );
}

/// A reader that returns a few bytes per call, as a pipe may.
pub(crate) struct Trickle<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) most: usize,
}

impl Read for Trickle<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let length = self.most.min(buffer.len());
        self.bytes.read(&mut buffer[..length])
    }
}

#[test]
fn the_size_of_the_blocks_does_not_matter() {
    let text =
        "\u{feff}3 1\r[nick ä bb c]\r\n/* é /* ê */ */ # ö\r\n2 ä bb=c 0\r\n1 3\u{a0}2\u{2003}0\r\n(0\r\n"
            .replace("(0", "0")
            + "\"Änne\" \"ß\"\r\n\"Bö\" \"ß\"\r\n\"Cé\" \"ß\"\r\n\"T€\"\r\n";
    let wanted = format!("{:?}", read_text(&text).unwrap());
    for most in 1..20 {
        let mut trickle = Trickle { bytes: text.as_bytes(), most };
        let election = read("test.blt", &mut trickle, Reading::default())
            .unwrap_or_else(|error| panic!("{most}: {error}"));
        assert_eq!(format!("{election:?}"), wanted);
    }
    assert!(wanted.contains("Änne") && wanted.contains("T€"));
    let line = "7 2 1=3 0 # and\n1 3 0\n12 - 2 0\n1 1 0\n";
    let long = format!("3 1\n{}0\n\"A\" \"B\" \"C\" \"T\"", line.repeat(20_000));
    let election = read_text(&long).unwrap();
    assert_eq!(election.ballots.total(), &Integer::Word(21 * 20_000), "beyond one block");
}

#[test]
fn what_has_no_end_is_no_ballot_file() {
    for beginning in ["", "2 1\n", "2 1\n1 1 0\n0\n", "2 1\n[nick ", "2 1\n("] {
        let error =
            read("endless", &mut beginning.as_bytes().chain(std::io::repeat(b'x')), Reading::default())
                .unwrap_err();
        assert!(error.message.contains("longer than 64 KiB"), "{error}");
    }
    let mut opened = "2 1\n[nick a b\n".as_bytes().chain(std::io::repeat(b'1'));
    assert!(read("endless", &mut opened, Reading::default()).is_err());
    let many = format!("2 1\n[nick a b\n{}", "1 a 0\n".repeat(1000));
    let error = read_text(&many).unwrap_err();
    assert!(error.line == 2 && error.message.contains("add ]"), "{error}");
}

#[test]
fn messages_show_no_more_than_is_good() {
    let error = read_text(&format!("2 1\n1 \u{1b}[31m{} 0\n", "x".repeat(5000))).unwrap_err().to_string();
    assert!(error.len() < 200 && !error.contains('\u{1b}') && error.contains("`\u{fffd}[31mxxx"), "{error}");
}
