//! Inputs that failed in fuzzing, each as small as possible, and similar inputs.

use super::*;
use crate::formats::{parse, read};

/// Reads an input within the budgets, with the checks of the other tests.
fn examined(input: &[u8]) -> Result<Election, InputError> {
    (0..4).for_each(|seed| _ = examine(input, seed));
    parse("test", input)
}

fn error(input: &str) -> String {
    examined(input.as_bytes()).expect_err("nobody should take this for an election").to_string()
}

/// A header may announce any number of candidates.
#[test]
fn a_header_is_only_a_promise() {
    for rest in ["", "-65536", "[tie 65536 1]", "1 65536=65535 0", "[withdrawn 7]\n9 7 65535 0\n0\n\"A\""] {
        error(&format!("65536 1\n{rest}"));
    }
}

/// Many short nicknames need a large table for each byte of the file.
#[test]
fn short_nicknames() {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!$%&+,.:;<>?";
    for number in [33, 129, 513, 2049, 4096, 8193, 16385] {
        let letters = |candidate: usize| {
            let places = [candidate / 4096, candidate / 64 % 64, candidate % 64];
            let used = usize::from(number <= 4096);
            places[used..].iter().map(|&place| char::from(LETTERS[place])).collect::<String>()
        };
        let names: Vec<_> = (0..number).map(letters).collect();
        let text = format!("{number} 1\n[nick {}]\n", names.join(" "));
        assert!(error(&text).contains("the ballots have not ended"));
        // No word may be longer than 64 KiB.
        let all = names.chunks(10_000).map(|some| some.join("=")).collect::<Vec<_>>().join(" ");
        assert!(
            error(&format!("{text}[tie {}]\n1 {all} 0\n0\n", names.join(" "))).contains("before the name")
        );
    }
}

/// A search of the whole line for each of its names would take too long.
#[test]
fn all_names_on_one_line() {
    for (seed, name) in (0..).zip(["\"é\" ", "\"\" ", "“é” ", "\"é\"\"é\" "]) {
        let strings = 60_000 / name.len();
        let text = format!("{} 1\n1 1 0\n0\n{}", strings - 1, name.repeat(strings));
        assert!(examine(text.as_bytes(), seed));
        assert_eq!(parse("test", text.as_bytes()).expect("an election").candidates.len(), strings - 1);
    }
}

/// An id without an end must not grow without a limit.
#[test]
fn a_ballot_id_without_an_end() {
    assert!(error(&format!("2 1\n(x{}", " x".repeat(500_000))).contains("has no )"));
    let mut endless = b"2 1\n(x".chain(Repeat(b" x"));
    let error = read("test", &mut endless, Reading::default()).expect_err("it never ends").to_string();
    assert!(error.contains("has no )"), "{error}");
}

struct Repeat(&'static [u8]);

impl Read for Repeat {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        buffer.chunks_mut(self.0.len()).for_each(|chunk| chunk.copy_from_slice(&self.0[..chunk.len()]));
        Ok(buffer.len() / self.0.len() * self.0.len())
    }
}

/// The first block of a file may have only one byte.
#[test]
fn other_encodings_are_named_whatever_the_blocks_are() {
    for start in [&b"\xff\xfe"[..], b"\xfe\xff", b"\x1f\x8b"] {
        let error = examined(&[start, b"3\0 \x001\0"].concat()).expect_err("no UTF-8").to_string();
        assert!(error.contains("UTF-16") || error.contains("gzip"), "{error}");
        let mut trickle = Trickle { bytes: start, most: 1 };
        assert_eq!(read("test", &mut trickle, Reading::default()).expect_err("no UTF-8").to_string(), error);
    }
}
