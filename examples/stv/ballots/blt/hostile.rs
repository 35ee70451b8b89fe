//! Tests hostile files, and the properties of all files. Reading ends without a panic. The result
//! does not depend on the sizes of blocks. The printed form can be read again.

use super::{dialects::Trickle, *};
use proptest::{collection::vec, prelude::*, sample};

/// All parts of the election as text, or the error.
fn told(read: Result<Election, InputError>) -> Result<String, InputError> {
    read.map(|election| format!("{election:?}"))
}

/// Reads these bytes in blocks of several sizes. The result must be the same for all sizes. An
/// error must name a line of these bytes.
pub(super) fn read_in_blocks(bytes: &[u8], most: usize) -> Result<String, InputError> {
    let whole = told(read("test", bytes));
    assert_eq!(told(read_from("test", &mut Trickle { bytes, most })), whole, "blocks of {most}");
    if let Err(error) = &whole {
        let ends = bytes.iter().filter(|byte| matches!(byte, b'\n' | b'\r'));
        assert!((1..=ends.count() + 1).contains(&error.line), "{error}");
        assert!(error.message.len() < 1000 && !error.message.contains(crate::printable::misleads), "{error}");
    }
    let several = survey("test", &mut &*bytes, 5).map(|(election, _)| format!("{election:?}"));
    assert_eq!(
        several.map_err(|errors| errors[0].clone()),
        whole,
        "the first of several errors is the only one"
    );
    whole
}

/// Checks that the printed election reads as the same election, except that parties have become
/// parts of names. If that election is printed, the text must be the same.
pub(crate) fn reads_as_printed(election: &Election, naming: Naming) {
    let printed = |election: &Election| {
        let mut out = Vec::new();
        print(election, naming, &mut out).expect("memory takes all");
        out
    };
    let text = printed(election);
    let shown = || String::from_utf8_lossy(&text).into_owned();
    let mut again = read("printed", &text).unwrap_or_else(|error| panic!("{error}\n{}", shown()));
    again.warnings.clone_from(&election.warnings); // the warnings are about text that is printed differently
    again.ballots.take_empty_of(&election.ballots);
    let mut wanted = election.candidates.clone();
    for candidate in &mut wanted {
        (candidate.name, candidate.party) = (candidate.with_party().into_owned(), None);
    }
    assert_eq!(again.candidates, wanted, "{}", shown());
    let found = std::mem::replace(&mut again.candidates, election.candidates.clone());
    assert_eq!(format!("{again:?}"), format!("{election:?}"), "{}", shown());
    again.candidates = found;
    assert_eq!(String::from_utf8_lossy(&printed(&again)), shown());
}

pub(super) const GOOD: &[&str] = &[
    "3 1\n4 1 2 0\n3 2 0\n2 3=1 2 0\n0\n\"Ada\"\n\"Bert\"\n\"Cleo\"\n\"Mayor\"\n",
    "\u{feff}3 2\r\n[nick ä b cc]\r\n[tie cc ä b]\r\n-2\r\n(x 1) cc=1 0\r\n(y) - b 0\r\n0\r\n\"A\" \"p\"\r\n\"B\" \"p\"\r\n\"C\" \"p\"\r\n\"T\"\r\n",
    "2 1 # c\n/* /* n */ */ 18446744073709551616 2 0 1\n1 0 0\nAnn\nBen\nTitle\n",
    "2 1\n4 1 2 0\n3 2 0\n0\n\"Red \"\"Ann LI\"\" \"\n\"Red \"\"Ben O\"\"\"\nTitle\n\u{1a}",
    "2 1\n4 1 2 0\n3 2 0\n0\n# ALTERNATIVE NAME 1: Ann\n# ALTERNATIVE NAME 2: Ben\nTitle",
];

#[derive(Debug, Clone)]
enum Edit {
    Remove(sample::Index, usize),
    Insert(sample::Index, Vec<u8>),
    Repeat(sample::Index, usize, usize),
    Change(sample::Index, u8),
}

impl Edit {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Remove(place, length) => {
                let start = place.index(bytes.len() + 1);
                bytes.drain(start..bytes.len().min(start + length));
            }
            Self::Insert(place, new) => {
                let start = place.index(bytes.len() + 1);
                bytes.splice(start..start, new.iter().copied());
            }
            Self::Repeat(place, length, times) => {
                let start = place.index(bytes.len() + 1);
                let end = bytes.len().min(start + length);
                let new = bytes[start..end].repeat(*times);
                bytes.splice(start..start, new);
            }
            Self::Change(place, byte) => {
                if !bytes.is_empty() {
                    let place = place.index(bytes.len());
                    bytes[place] = *byte;
                }
            }
        }
    }
}

fn edit() -> impl Strategy<Value = Edit> {
    let place = any::<sample::Index>;
    let piece = sample::select(vec![
        &b"0"[..],
        b" ",
        b"\n",
        b"\r",
        b"\"",
        b"=",
        b"[",
        b"]",
        b"(",
        b")",
        b"#",
        b"/*",
        b"*/",
        b"-",
        b"1",
        b"9999999999",
        b"\xe9",
        b"\xff\xfe",
        b"\0",
        b"\xc2\xa0",
        b"[tie 1 2 3]",
        b"[withdrawn 1]",
        b"\x1b[2J",
    ]);
    prop_oneof![
        (place(), 0..30_usize).prop_map(|(place, length)| Edit::Remove(place, length)),
        (place(), piece).prop_map(|(place, new)| Edit::Insert(place, new.to_vec())),
        (place(), 0..30_usize, 1..40_usize)
            .prop_map(|(place, length, times)| Edit::Repeat(place, length, times)),
        (place(), any::<u8>()).prop_map(|(place, byte)| Edit::Change(place, byte)),
    ]
}

/// An election as text, with nicknames or numbers. Candidates that repeat on a ballot are left out.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    candidates: usize,
    nicknames: bool,
    withdrawn: Vec<bool>,
    tie: Option<Vec<usize>>,
    ballots: Vec<(u128, Vec<(usize, bool)>)>,
    names: Vec<String>,
}

impl Written {
    pub(crate) fn text(&self) -> String {
        let name = |candidate: usize| match candidate + 1 {
            number if self.nicknames && number.is_multiple_of(2) => format!("nick-{number}"),
            number => number.to_string(),
        };
        let all =
            |candidates: &mut dyn Iterator<Item = usize>| candidates.map(name).collect::<Vec<_>>().join(" ");
        let last = self.candidates - 1;
        let mut lines = vec![format!("{} 1", self.candidates)];
        if self.nicknames {
            lines.push(format!("[nick {}]", all(&mut (0..self.candidates))));
        }
        if let Some(tie) = &self.tie {
            lines.push(format!("[tie {}]", all(&mut tie.iter().copied())));
        }
        // The last candidate does not withdraw, so one seat can be filled.
        let withdrawn = (0..last).filter(|&candidate| self.withdrawn[candidate]);
        lines.extend(withdrawn.map(|candidate| format!("-{}", candidate + 1)));
        for (weight, ranked) in self.ballots.iter().chain([&(1, vec![(last, false)])]) {
            let mut line = weight.to_string();
            let mut seen = vec![false; self.candidates];
            for &(candidate, equal) in ranked {
                let candidate = candidate % self.candidates;
                let first = !seen.contains(&true);
                if !std::mem::replace(&mut seen[candidate], true) {
                    line.push(if equal && !first { '=' } else { ' ' });
                    line += &name(candidate);
                }
            }
            lines.push(line + " 0");
        }
        lines.push("0".to_owned());
        let names = self.names[..=self.candidates].iter();
        lines.extend(names.map(|name| quotes::in_quotes(name)));
        lines.join("\n")
    }
}

pub(crate) fn written() -> impl Strategy<Value = Written> {
    (1..8_usize).prop_flat_map(|candidates| {
        let everybody: Vec<usize> = (0..candidates).collect();
        let ballots =
            vec((prop_oneof![1..100_u128, 1..u128::MAX], vec((0..8_usize, any::<bool>()), 0..10)), 0..12);
        let tie = proptest::option::of(Just(everybody).prop_shuffle());
        (any::<bool>(), vec(any::<bool>(), candidates), tie, ballots, vec("[^\r\n]{0,10}|[ \"'#/*]{0,6}", 8))
            .prop_map(move |(nicknames, withdrawn, tie, ballots, names)| Written {
                candidates,
                nicknames,
                withdrawn,
                tie,
                ballots,
                names,
            })
    })
}

proptest! {
    #[test]
    fn any_bytes(bytes in vec(any::<u8>(), 0..200), most in 1..20_usize) {
        let _ = read_in_blocks(&bytes, most);
    }

    #[test]
    fn any_text(text in "([0-9]{1,2}|[a-c=\\-\"()\\[\\]#*/]|[ \n]|\\PC){0,80}", most in 1..20_usize) {
        let _ = read_in_blocks(text.as_bytes(), most);
        let _ = read_in_blocks(format!("2 1\n{text}").as_bytes(), most);
        let _ = read_in_blocks(format!("2 1\n1 1 0\n0\n{text}").as_bytes(), most);
    }

    #[test]
    fn damaged_files(good in sample::select(GOOD), edits in vec(edit(), 0..6), most in 1..20_usize) {
        let mut bytes = good.as_bytes().to_vec();
        for edit in &edits {
            edit.apply(&mut bytes);
        }
        let read = read_in_blocks(&bytes, most);
        prop_assert!(read.is_ok() || !edits.is_empty(), "{read:?}");
    }

    #[test]
    fn what_is_printed_reads_as_the_same_election(written in written()) {
        let text = written.text();
        let election = read("test", text.as_bytes()).unwrap_or_else(|error| panic!("{error}\n{text}"));
        for naming in [Naming::Numbers, Naming::Nicknames] {
            reads_as_printed(&election, naming);
        }
    }
}
