//! Inputs that resemble ballot files: pieces of the format in random order, then damaged. A seed
//! always gives the same input.

use crate::random::SplitMix64;
use std::fmt::Write;

/// A random input is long with probability 1 / `ONE_IN_LONG`. Long inputs show costs that grow
/// faster than the input.
pub(crate) const ONE_IN_LONG: usize = 500;
/// The approximate length of a long input, in bytes.
pub(crate) const LONG: usize = 100_000;

/// Valid ballot files.
pub(crate) const GOOD: &[&str] = &[
    "3 1\n4 1 2 0\n3 2 0\n2 3=1 2 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n",
    "\u{feff}3 2\r\n[nick ä b cc]\r\n[tie cc ä b]\r\n-2\r\n(x 1) cc=1 0\r\n(y) - b 0\r\n0\r\n\"A\" \"p\"\r\n\"B\" \"p\"\r\n\"C\" \"p\"\r\n\"T\"\r\n",
    "2 1 # c\n/* /* n */ */ 18446744073709551616 2 0 1\n1 0 0\nAnn\nBen\nTitle\n",
    "2 1\n4 1 2 0\n3 2 0\n0\n\"Red \"\"Ann LI\"\" \"\n\"Red \"\"Ben O\"\"\"\nTitle\n\u{1a}",
    "2 1\n4 1 2 0\n3 2 0\n0\n# ALTERNATIVE NAME 1: Ann\n# ALTERNATIVE NAME 2: Ben\nTitle",
];

/// Text that a ballot file may contain, and text that it must not contain. Some pieces span lines:
/// where threads read parts of a file, a cut inside such a piece may hide a mistake.
pub(crate) const PIECES: &[&str] = &[
    "0",
    " 0\n",
    " ",
    "\n",
    "\r",
    "\r\n",
    "\t",
    "\"",
    "\"\"",
    "“",
    "”",
    "„",
    "=",
    "1=2",
    "==",
    "-",
    "-1",
    "-0",
    "--",
    "[",
    "]",
    "[]",
    "(",
    ")",
    "()",
    "(1 2)",
    "(\n)",
    "#",
    "# c\n",
    "/*",
    "*/",
    "/*/",
    "/**/",
    "[nick a b c]",
    "[nick a a]",
    "[nick 1 2",
    "[tie 1 2]",
    "[tie b a]",
    "[withdrawn 1]",
    "[withdrawn a]",
    "[undeclared z]",
    "[droop a=b]",
    "[other",
    "\u{feff}",
    "\u{a0}",
    "\u{85}",
    "\u{2028}",
    "\u{3000}",
    "\u{0}",
    "\u{1a}",
    "\u{1b}[2J",
    "é",
    "\u{301}",
    "🗳",
    "1 1 0\n",
    "2 2=1 0\n",
    "1 0\n",
    "0\n0\n",
    "\"A\"\n",
    "\"A\" \"B\"\n",
    "\"A \"\"B\"\"\"\n",
    "Ada\n",
    "3 1\n",
    "+1",
    "1.5",
    "1e9",
    "0x1",
    "01",
    "٣",
    "a",
    "b",
    "zz",
    "2 1\n",
    "1 2 0\n",
    "1 1=2 0\n",
    "0\n",
    "\"T\"\n",
    "[nick a b]",
    "[tie 1 2 3]",
    "-+2",
    "1",
    "x",
    "(x) ",
    "9999999999",
    "99999999999999999999 ",
    "/*\n",
    "*/\n",
    "/* 1 1 0\n0\n*/\n",
    "# 0\n",
    "#\r0\n",
    "\n0\n0\n",
    "\n\n\n\n",
    "(1) 1 0\n",
    "(a\n",
    "1\n1\n0\n",
    "1 1\n0 ",
    "7 0\n9 0\n",
    "1 - 0\n",
    "2 - 2 - - 1=3 0\n",
    "1 1=1 0\n",
    "18446744073709551616 2 0\n",
    "99999999999999999999999999999999999999999 1 0\n",
    "9223372036854775807 1 0 9223372036854775807 2 0\n",
    "\n\u{feff}1 1 0\n",
    "\0",
    "\n-1\n",
    "[tie 1 2 3]\n",
    "\"\n",
];

/// Words for the place of a number, valid or not.
const NUMBERS: &[&str] = &[
    "0",
    "00",
    "1",
    "2",
    "3",
    "4",
    "7",
    "8",
    "9",
    "10",
    "255",
    "256",
    "257",
    "4096",
    "4097",
    "65535",
    "65536",
    "1048576",
    "1048577",
    "2147483647",
    "2147483648",
    "4294967295",
    "4294967296",
    "999999999999999999",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999999999999999999999999",
];

/// Bytes that occur in other encodings and in packed files.
const BYTES: &[&[u8]] = &[
    b"\x1f\x8b\x08\x00",
    b"\xff\xfe",
    b"\xfe\xff",
    b"\xe9",
    b"\x93",
    b"\xc3",
    b"\xe2\x80",
    b"\xf0\x9f",
    b"\xed\xa0\x80",
    b"\xff",
    b"\xef\xbb",
    b"\xc0\xaf",
    b"PK\x03\x04",
];

/// The input for these random numbers. Some inputs are made from `files`.
pub(crate) fn input(random: &mut SplitMix64, files: &[Vec<u8>]) -> Vec<u8> {
    let long = random.below(ONE_IN_LONG) == 0;
    let mut bytes = match random.below(16) {
        0 => (0..random.below(80)).map(|_| byte(random)).collect(),
        1 => blanks(random),
        2 => {
            let beginning = any(random, &["", "2 1\n", "2 1\n1 1 0\n0\n"]);
            let pieces = (0..random.below(40)).map(|_| any(random, PIECES));
            [beginning].into_iter().chain(pieces).collect::<String>().into_bytes()
        }
        3..8 => files[random.below(files.len())].clone(),
        _ if long => Election::new(random, LONG / 10).text().into_bytes(),
        _ => Election::new(random, 6).text().into_bytes(),
    };
    let edits = any(random, &[0, 0, 1, 1, 2, 3, 5, 9]);
    for _ in 0..edits {
        damage(&mut bytes, random, files);
    }
    if long && bytes.len() < LONG {
        lengthen(&mut bytes, random);
    }
    bytes
}

pub(crate) fn any<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    of[random.below(of.len())]
}

fn byte(random: &mut SplitMix64) -> u8 {
    random.next().to_le_bytes()[0]
}

/// White space of all kinds.
fn blanks(random: &mut SplitMix64) -> Vec<u8> {
    let blanks = [" ", "\n", "\r", "\r\n", "\t", "\u{a0}", "\u{2003}", "\u{3000}", "\u{b}", "\u{c}"];
    (0..random.below(60)).flat_map(|_| any(random, &blanks).bytes()).collect()
}

/// Makes one edit of the kind that transmission, text processors, mistakes or malice cause.
pub(crate) fn damage(bytes: &mut Vec<u8>, random: &mut SplitMix64, files: &[Vec<u8>]) {
    let place = random.below(bytes.len() + 1);
    match random.below(14) {
        0 => drop(bytes.drain(place..bytes.len().min(place + 1 + random.below(20)))),
        1 => bytes.truncate(place),
        2 | 3 => insert(bytes, place, any(random, PIECES).as_bytes()),
        4 => insert(bytes, place, any(random, BYTES)),
        5 => {
            let piece = bytes[place..bytes.len().min(place + random.below(30))].to_vec();
            insert(bytes, place, &piece.repeat(1 + random.below(10)));
        }
        6 if place < bytes.len() => bytes[place] = byte(random),
        7 if place < bytes.len() => bytes[place] ^= 1 << random.below(8),
        8 | 9 => {
            let digits = run(bytes, place, |byte| byte.is_ascii_digit());
            drop(bytes.splice(digits, any(random, NUMBERS).bytes()));
        }
        10 => {
            let word = run(bytes, place, |byte| !byte.is_ascii_whitespace());
            drop(bytes.splice(word, any(random, PIECES).bytes()));
        }
        11 => {
            let line = run(bytes, place, |byte| byte != b'\n');
            let line: Vec<u8> = bytes.splice(line, []).collect();
            let other = random.below(bytes.len() + 1);
            let other = run(bytes, other, |byte| byte != b'\n').start;
            insert(bytes, other, &line);
        }
        12 => {
            let line_end = any(random, &["\r\n", "\r", "\n\n", " \n"]);
            *bytes = bytes.split(|&byte| byte == b'\n').collect::<Vec<_>>().join(line_end.as_bytes());
        }
        _ => {
            let other = &files[random.below(files.len())];
            bytes.truncate(place);
            bytes.extend(&other[random.below(other.len() + 1)..]);
        }
    }
}

fn insert(bytes: &mut Vec<u8>, place: usize, piece: &[u8]) {
    bytes.splice(place..place, piece.iter().copied());
}

/// The first run of matching bytes at or after `place`.
fn run(bytes: &[u8], place: usize, such: impl Fn(u8) -> bool) -> std::ops::Range<usize> {
    let start = bytes[place..].iter().position(|&byte| such(byte)).map_or(bytes.len(), |at| place + at);
    let end = bytes[start..].iter().position(|&byte| !such(byte)).map_or(bytes.len(), |at| start + at);
    start..end
}

/// Repeats a piece of the input at a random place.
fn lengthen(bytes: &mut Vec<u8>, random: &mut SplitMix64) {
    let place = random.below(bytes.len() + 1);
    let piece = match random.below(3) {
        0 => {
            let end = bytes.len().min(place + 1 + random.below(40));
            bytes[place..end].to_vec()
        }
        1 => (0..=random.below(4)).flat_map(|_| any(random, PIECES).bytes()).collect(),
        _ => {
            let word = run(bytes, place, |byte| !byte.is_ascii_whitespace());
            bytes[word].iter().copied().chain(*b" ").collect()
        }
    };
    if !piece.is_empty() {
        insert(bytes, place, &piece.repeat(random.below(LONG) / piece.len() + 1));
    }
}

/// A ballot file with few mistakes or none, in one of the shapes of real files.
struct Election<'a> {
    random: &'a mut SplitMix64,
    pub candidates: usize,
    nicknames: bool,
    text: String,
}

impl<'a> Election<'a> {
    fn new(random: &'a mut SplitMix64, most_candidates: usize) -> Self {
        let candidates = 1 + random.below(most_candidates);
        let nicknames = random.below(2) == 0;
        Self { random, candidates, nicknames, text: String::new() }
    }

    fn text(mut self) -> String {
        let seats = 1 + self.below(self.candidates.min(3));
        self.text = format!("{} {seats}\n", self.candidates);
        if self.one_in(20) {
            self.text.insert(0, '\u{feff}');
        }
        for _ in 0..self.below(3) + usize::from(self.nicknames) {
            self.option();
        }
        if !self.one_in(20) {
            self.ballots();
            self.names();
        }
        self.text
    }

    fn below(&mut self, bound: usize) -> usize {
        self.random.below(bound)
    }

    fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    /// Nicknames are as short as possible: the letters `a` to `z`, then pairs of letters, and so
    /// on.
    fn nickname(&mut self, candidate: usize) {
        let mut number = candidate;
        loop {
            let letter = u8::try_from(number % 26).expect("a letter");
            self.text.push(char::from(b'a' + letter));
            number /= 26;
            if number == 0 {
                break;
            }
            number -= 1;
        }
    }

    fn candidate(&mut self, candidate: usize) {
        if self.nicknames && !self.one_in(4) {
            self.nickname(candidate);
        } else {
            write!(self.text, "{}", candidate + 1).expect("a string takes all");
        }
    }

    fn space(&mut self) {
        let rare = ["\t", "\n", "   ", "\u{a0}", "\r\n", " # c\n", " /* c */ ", "\n\n"];
        let space = if self.one_in(20) { any(self.random, &rare) } else { " " };
        self.text.push_str(space);
    }

    fn option(&mut self) {
        let everybody = 0..self.candidates;
        match self.below(6) {
            0 => {
                self.text.push('-');
                let candidate = 1 + self.below(self.candidates);
                self.text += &candidate.to_string();
            }
            1 => {
                self.text += "[withdrawn ";
                let candidate = self.below(self.candidates);
                self.candidate(candidate);
                self.text.push(']');
            }
            2 => {
                self.text += "[tie";
                let first = self.below(self.candidates);
                for candidate in everybody.rev() {
                    self.space();
                    self.candidate((first + candidate) % self.candidates);
                }
                self.text.push(']');
            }
            3 => self.text += any(self.random, PIECES),
            _ if self.nicknames && !self.text.contains("[nick") => {
                self.text += "[nick";
                for candidate in everybody {
                    self.space();
                    self.nickname(candidate);
                }
                self.text.push(']');
            }
            _ => self.text += "# nothing",
        }
        self.text.push('\n');
    }

    fn ballots(&mut self) {
        let ids = self.one_in(6);
        for ballot in 0..self.below(6) {
            if ids {
                write!(self.text, "(b{ballot})").expect("a string takes all");
            } else {
                let weight = if self.one_in(8) { any(self.random, NUMBERS) } else { "3" };
                self.text.push_str(weight);
            }
            // A ballot names each candidate once, from a random one on.
            let start = self.below(self.candidates);
            let length = self.below(self.candidates.min(2000) + 1);
            for place in 0..length {
                let equal = place > 0 && self.one_in(4);
                if equal {
                    self.text.push('=');
                } else {
                    self.space();
                }
                self.candidate((start + place) % self.candidates);
                if self.one_in(30) {
                    self.text.push_str(" -");
                }
            }
            self.space();
            self.text += "0";
            self.space();
        }
        self.text += "\n0\n";
    }

    fn names(&mut self) {
        const SHAPES: usize = 13;
        let shape = self.below(SHAPES);
        for candidate in 0..=self.candidates {
            let shape = if self.one_in(40) { self.below(SHAPES) } else { shape };
            let _ = match shape {
                0 => writeln!(self.text, "Name {candidate}"),
                1 => writeln!(self.text, "“Name {candidate}”"),
                2 => writeln!(self.text, "\"Name {candidate}\" \"Party\""),
                3 => writeln!(self.text, "\"Name {candidate} \"\"Party\"\"\""),
                4 => write!(self.text, "\"é\" "),
                5 => write!(self.text, "\"\" "),
                6 => writeln!(self.text, "n"),
                7 => writeln!(self.text, "\"Red \"\"Name {candidate}\"\" \""),
                8 => writeln!(self.text, "Red \"Name {candidate}\""),
                9 => writeln!(self.text, "\"\"\"Name {candidate}\"\" \"\"Red\"\" \""),
                10 => writeln!(self.text, "\"Name \"\"{candidate}\"\" LI\""),
                11 if candidate < self.candidates => {
                    writeln!(self.text, "# ALTERNATIVE NAME {}: Name", candidate + 1)
                }
                11 => write!(self.text, "Title"),
                _ => writeln!(self.text, "\"Name {candidate}\""),
            };
        }
    }
}
