//! Tests that several threads together read the same ballots of a file as one thread.

use super::{super::shown, *};
use crate::{
    formats::parse,
    fuzz::{self, made, mutate, number},
    random::SplitMix64,
};
use std::{
    fmt::Write,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    thread,
};

/// Three threads, each of which does every third part.
fn on_threads(number: usize, work: &(dyn Fn(usize) + Sync)) {
    thread::scope(|scope| {
        for first in 0..3 {
            scope.spawn(move || (first..number).step_by(3).for_each(work));
        }
    });
}

/// All data of an election but the ballots, as text.
fn common(election: &Election) -> String {
    let Election { title, candidates, seats, tie_break, tie_order, ballots, warnings } = election;
    let (ties, turnout) = (format!("{tie_break:?} {tie_order:?}"), ballots.turnout());
    format!("{title:?} {candidates:?} {seats} {ties} {turnout:?} {warnings:?}")
}

/// A reader that counts its bytes.
struct Counted<'a>(&'a [u8], &'a AtomicU64);

impl Read for Counted<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(into)?;
        self.1.fetch_add(read as u64, Relaxed);
        Ok(read)
    }
}

/// Reads these bytes in parts of this length, with three threads. Returns the election if that is
/// possible, and the number of bytes that were read. The result must be that of one thread.
fn in_parts_of(bytes: &[u8], part: u64) -> (Option<Election>, u64) {
    let read_bytes = AtomicU64::new(0);
    let open = |at: u64| -> io::Result<Box<dyn Read + '_>> {
        let from = bytes.get(usize::try_from(at).unwrap()..).expect("it is not read beyond its end");
        Ok(Box::new(Counted(from, &read_bytes)))
    };
    let source = Source { name: "test", len: bytes.len() as u64, part, open: &open };
    let read = in_parts(&source, Reading::default(), &on_threads);
    if let Some(read) = &read {
        let whole = parse("test", bytes).expect("one thread finds no error");
        assert_eq!(common(read), common(&whole));
        assert_eq!(shown(read), shown(&whole));
    }
    (read, read_bytes.into_inner())
}

/// Whether these bytes are read in parts.
fn is_read_in_parts(bytes: &[u8], part: u64) -> bool {
    in_parts_of(bytes, part).0.is_some()
}

/// `STV_FUZZ=1 STV_FUZZ_SEED=n cargo test --release -p stv-ballots parts` reads input n again.
#[test]
fn what_many_read_is_what_one_reads() {
    let files = fuzz::files();
    let first = number("STV_FUZZ_SEED", 1);
    let (mut read_in_parts, mut elections) = (0, 0);
    for seed in first..first + number("STV_FUZZ", 1000) {
        let mut random = SplitMix64::new(seed);
        let line_end = ["\n", "\n", "\r\n", "\r"][random.below(4)];
        let text = String::from_utf8(made::file(&mut random, 5)).expect("a written file is text");
        let mut bytes = text.replace('\n', line_end).into_bytes();
        for _ in 0..[0, 0, 0, 1, 1, 3][random.below(6)] {
            mutate::damage(&mut bytes, &mut random, &files);
        }
        let part = 1 + random.below(50) as u64;
        let again = format!("STV_FUZZ=1 STV_FUZZ_SEED={seed} cargo test --release -p stv-ballots parts");
        let read = std::panic::catch_unwind(|| is_read_in_parts(&bytes, part));
        read_in_parts += u64::from(read.unwrap_or_else(|_| panic!("{again}")));
        elections += u64::from(parse("test", &bytes).is_ok());
    }
    println!("{read_in_parts} of {elections} elections read in parts");
    assert!(read_in_parts > 0 || number("STV_FUZZ", 1000) < 1000, "nothing is read in parts");
}

/// A plain file: one ballot per line, as programs write them.
fn plain(ballots: usize, line_end: &str) -> String {
    let mut text = format!("3 1{line_end}-2{line_end}");
    for ballot in 0..ballots {
        let _ = write!(text, "{} {} {} 0{line_end}", 1 + ballot % 7, 1 + ballot % 3, 1 + (ballot + 1) % 3);
    }
    text + "0" + line_end + &["\"A\"", "\"B\"", "\"C\"", "\"T\"", ""].join(line_end)
}

/// The threads read each byte of the ballots once. Files are read in whole windows, so the text
/// before and after the ballots is read to the end of a window.
#[test]
fn a_plain_file_is_read_once() {
    for line_end in ["\n", "\r\n"] {
        let text = plain(100_000, line_end);
        let (read, bytes) = in_parts_of(text.as_bytes(), 1 << 18);
        assert!(read.is_some() && bytes < (text.len() + (4 << 16)) as u64, "{bytes} of {}", text.len());
    }
    // Files with comments or empty lines are plain too, and so are files of few lines.
    for text in
        ["2 1\n1 1 0\n0\n\"A\"\n\"B\"\n\"T\"\n", "2 1\n\n# c\n1 1 0 # c\n/* c */ 1 0\n0\n\"A\"\n\"B\"\n\"T\""]
    {
        for part in 1..10 {
            assert!(is_read_in_parts(text.as_bytes(), part), "{part}: {text}");
        }
    }
}

/// Also tests lines longer than parts, weights that do not fit beside their flags, many candidates,
/// and ballots that end in any part.
#[test]
fn threads_read_what_one_reads() {
    let whole = plain(300, "\n");
    let heavy = whole.replacen("\n7 ", "\n9223372036854775807 ", 5);
    let long = whole.replacen("\n1 ", &format!("\n1 {}", " ".repeat(1000)), 3);
    let many = format!("3000 1\n{}0\n{}", "5 2999 1 0\n".repeat(200), "\"A\"\n".repeat(3001));
    let nicks = whole.replacen('\n', "\n[nick one two three]\n", 1).replace(" 2 ", " two ");
    let names = whole.clone() + &"\n# and more".repeat(500);
    for part in [1, 7, 64, 1000] {
        for (text, plainly) in
            [(&whole, true), (&heavy, false), (&long, true), (&many, true), (&nicks, true), (&names, true)]
        {
            assert_eq!(is_read_in_parts(text.as_bytes(), part), plainly, "parts of {part}: {text}");
        }
    }
}

/// If a part is not plain, the whole file is read by one thread.
#[test]
fn what_spans_lines_is_read_again() {
    for odd in [format!("/*\n{}*/\n", "1 1 0\n".repeat(50)), "1\n1 0\n".to_owned()] {
        let text = plain(50, "\n").replacen("\n2 ", &format!("\n{odd}2 "), 1);
        assert!(!is_read_in_parts(text.as_bytes(), 40), "{text}");
    }
    let ids = plain(50, "\n").replace("\n1 ", "\n(a) ");
    assert!(!is_read_in_parts(ids.as_bytes(), 40), "ids may be the same in several parts");
}

/// Tests errors on the line of the last 0.
#[test]
fn errors_name_the_same_byte() {
    for end in [&b"0 \"A\" \xe9"[..], b"0 \xff\xfe", b"0 0", b"0 # \xe9", b"0\t\"A\"\r\"B\xe9\""] {
        let text = [b"1 1\n1 1 0\n1 1 0\n", end, b"\n"].concat();
        assert!((1..4).all(|part| !is_read_in_parts(&text, part)));
    }
}

/// A word that is too long is an error. The ends of the windows make no difference.
#[test]
fn a_line_that_is_too_long_is_so_for_all() {
    for length in [60_000, 70_000, 100_000, 140_000] {
        for ballots in [500, 10_000, 18_000] {
            // A long word makes the window of one thread larger than the windows of parts.
            let option = format!("{}[other {}]\n", "#\n".repeat(10_000), "o".repeat(60_000));
            let (rest, title) = ("1 1 0\n".repeat(ballots), "t".repeat(length));
            let text = format!("1 1\n{option}{rest}0\n\"A\"\n\"{title}\"\n");
            in_parts_of(text.as_bytes(), 1 << 15);
        }
    }
}
