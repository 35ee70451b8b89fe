//! Millions of inputs for the readers of formats other than BLT. The budgets of memory and time are
//! those of `blt::fuzz`.

use super::{
    tests::{OLD_PREFLIB, PREFLIB, SCOTTISH},
    written::reads_as_printed,
    *,
};
use crate::{
    blt::{
        dialects::Trickle,
        fuzz::{Figures, by_the_million, mutate},
    },
    random::SplitMix64,
    reading::Duplicates,
};
use std::{fmt::Write, num::NonZeroUsize};

/// A random input is long with probability 1 / `ONE_IN_LONG`. Long inputs show costs that grow
/// faster than the input.
const ONE_IN_LONG: usize = 500;
/// The approximate length of a long input, in bytes.
const LONG: usize = 100_000;

/// The ways to read ballots that name a candidate twice.
const DUPLICATES: [Duplicates; 4] =
    [Duplicates::Refuse, Duplicates::Refuse, Duplicates::First, Duplicates::Truncate];

/// Pieces of these formats.
const PIECES: &[&str] = &[
    ",",
    ",,",
    "\"",
    "\"\"",
    "\n",
    "\r\n",
    " ",
    "{",
    "}",
    "{}",
    "{1,2}",
    ":",
    ": ",
    ";",
    "0",
    "1",
    "-",
    "#",
    "'",
    "=",
    "x",
    "\0",
    "é",
    "\u{feff}",
    "\u{a0}",
    "\u{2028}",
    "3,2,\n",
    "3\n",
    "1,Ada\n",
    "5: 1,2\n",
    "5,1,2,\n",
    "99999999999999999999",
    "1048576",
    "1048577",
    "# NUMBER ALTERNATIVES: 3\n",
    "# NUMBER ALTERNATIVES: 1048576\n",
    "# ALTERNATIVE NAME 1: A\n",
    "# ALTERNATIVE NAME 1048576: A\n",
    "# NUMBER SEATS: 1\n",
    "# DATA TYPE: cat\n",
    "# TITLE: T\n",
    "\"Candidate 1\",\"A\",\n",
    "Candidate 2,B,C,\n",
    "\"=1\"",
    "\"\"T\"\",",
];

fn any<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    of[random.below(of.len())]
}

/// Random ballots for this many candidates. A ballot has a weight, and the numbers of candidates.
/// Each number has a flag: whether the next number begins a new rank.
fn ballots(random: &mut SplitMix64, candidates: usize) -> Vec<(&'static str, Vec<(usize, bool)>)> {
    let ballot = |random: &mut SplitMix64| {
        let weight = any(random, &["1", "3", "250", "18446744073709551616", "0", "07"]);
        let start = random.below(candidates);
        let ranked = (0..random.below(candidates.min(2000) + 1)).map(|place| {
            let again = random.below(60) == 0;
            let candidate = if again { start } else { (start + place) % candidates };
            (candidate + 1, random.below(4) > 0)
        });
        let ranked: Vec<_> = ranked.collect();
        (if random.below(3) > 0 { "2" } else { weight }, ranked)
    };
    (0..random.below(6)).map(|_| ballot(random)).collect()
}

fn scottish(random: &mut SplitMix64, most: usize) -> String {
    let candidates = 1 + random.below(most);
    let mut text = format!("{candidates},{},\n", 1 + random.below(candidates.min(3)));
    for (weight, ranked) in ballots(random, candidates) {
        text += weight;
        for (candidate, _) in ranked {
            let separator = if random.below(20) == 0 { any(random, &[", ", ",,", ",\""]) } else { "," };
            write!(text, "{separator}{candidate}").expect("a string takes all");
        }
        text += any(random, &[",\n", ",\n", "\n", ",,,\r\n"]);
    }
    for candidate in 1..=candidates {
        let party = any(random, &[",\"Red (R)\",", ",\"\",", ",", "", ",Red", ",\"R \"\"d\"\"\""]);
        let name = any(random, &["\"Name\"", "Name", "\"Na, \"\"me\"\"\"", "\"\"", "\"'=1\"", "\"é\""]);
        writeln!(text, "\"Candidate {candidate}\",{name}{party}").expect("a string takes all");
    }
    text + any(random, &["\"Ward 1\",", "\"\"Ward 1, North\"\",", "Ward", "\"\",", ""])
}

fn preflib(random: &mut SplitMix64, most: usize) -> String {
    let candidates = 1 + random.below(most);
    let is_old = random.below(3) == 0;
    let mut text = if is_old {
        format!("{candidates}\n")
    } else {
        format!("# TITLE: T\n# NUMBER ALTERNATIVES: {candidates}\n")
    };
    if !is_old && random.below(2) == 0 {
        text += any(
            random,
            &[
                "# NUMBER SEATS: 1\n",
                "# DATA TYPE: toi\n",
                "# MODIFICATION TYPE: imbued\n",
                "# NUMBER VOTERS: 7\n",
            ],
        );
    }
    for candidate in 1..=candidates {
        let (start, separator) = if is_old { ("", ",") } else { ("# ALTERNATIVE NAME ", ": ") };
        let name = any(random, &["Ada", "Bert, Jr: x", "", "é "]);
        writeln!(text, "{start}{candidate}{separator}{name}").expect("a string takes all");
    }
    text += if is_old { "9,9,9\n" } else { "" };
    for (weight, ranked) in ballots(random, candidates) {
        write!(text, "{weight}{}", if is_old { "," } else { ": " }).expect("a string takes all");
        let mut is_open = false;
        for (place, (candidate, ends)) in ranked.iter().enumerate() {
            let separator = if place > 0 { "," } else { "" };
            let opens = if !ends && !is_open { "{" } else { "" };
            write!(text, "{separator}{opens}{candidate}").expect("a string takes all");
            is_open |= !ends;
            if is_open && *ends {
                text.push('}');
                is_open = false;
            }
        }
        text += if is_open && random.below(9) > 0 { "}\n" } else { "\n" };
    }
    text
}

/// The input for these random numbers.
fn input(random: &mut SplitMix64, files: &[Vec<u8>], made: fn(&mut SplitMix64, usize) -> String) -> Vec<u8> {
    let long = random.below(ONE_IN_LONG) == 0;
    let mut bytes = match random.below(8) {
        0 => files[random.below(files.len())].clone(),
        1 => (0..random.below(30)).flat_map(|_| any(random, PIECES).bytes()).collect(),
        _ => made(random, if long { LONG / 20 } else { 6 }).into_bytes(),
    };
    for _ in 0..any(random, &[0, 0, 1, 1, 2, 3, 5]) {
        if random.below(2) == 0 {
            mutate::damage(&mut bytes, random, files);
        } else {
            let place = random.below(bytes.len() + 1);
            let piece = any(random, PIECES);
            let times = if long { 1 + random.below(LONG / piece.len()) } else { 1 };
            bytes.splice(place..place, piece.repeat(times).bytes());
        }
    }
    bytes
}

/// Checks everything that must hold for any input.
fn examine(input: &[u8], seed: u64, figures: &mut Figures) {
    let most_errors = if seed.is_multiple_of(2) { 1 } else { 20 };
    let reading = Reading {
        seats: NonZeroUsize::new(usize::try_from(seed / 2 % 3).expect("a small number")),
        duplicates: DUPLICATES[usize::try_from(seed / 6 % 4).expect("a small number")],
        ..Reading::default()
    };
    let survey =
        |reader: &mut dyn Read| survey("test", reader, reading, most_errors).map(|(election, _)| election);
    let read = figures.read(input, || survey(&mut &*input));
    if let Err(errors) = &read {
        assert!((1..=most_errors).contains(&errors.len()), "{errors:?}");
        let ends = input.iter().filter(|byte| matches!(byte, b'\n' | b'\r')).count();
        for error in errors {
            let error = error.to_string();
            let line = error.strip_prefix("test:").and_then(|error| error.split_once(": "));
            let line = line.and_then(|(line, _)| line.parse().ok());
            assert!(line.is_some_and(|line| (1..=ends + 1).contains(&line)), "{error}");
            assert!(error.len() < 1000 && !error.contains(char::is_control), "{error}");
        }
    }
    if seed.is_multiple_of(4) && input.len() < 4000 {
        let most = 1 + usize::try_from(seed / 4 % 40).expect("a small number");
        let again = survey(&mut Trickle { bytes: input, most });
        assert_eq!(format!("{again:?}"), format!("{read:?}"), "blocks of {most}");
    }
    if let Ok(election) = &read {
        let standing = election.candidates.iter().filter(|candidate| !candidate.withdrawn).count();
        assert!((1..=standing).contains(&election.seats));
        reads_as_printed(election, Target::Scottish);
        reads_as_printed(election, Target::PrefLib);
    }
}

fn files() -> Vec<Vec<u8>> {
    [SCOTTISH, PREFLIB, OLD_PREFLIB].map(|file| file.as_bytes().to_vec()).to_vec()
}

#[test]
fn scottish_inputs_by_the_million() {
    let files = files();
    by_the_million(|random| input(random, &files, scottish), examine);
}

/// Also tests BLT files: they are recognised, read with the user's seats and duplicates, and
/// written in other formats.
#[test]
fn blt_inputs_by_the_million() {
    let twice =
        "3 1\n[nick a b c]\n5 a=c b a 0\n1 - b=b c 0\n2 3 2 1 0\n7 1 1 0\n0\n\"A\"\n\"B\"\n\"C\"\n\"T\"\n";
    let files = [twice, &twice.replace('=', " ")].map(|file| file.as_bytes().to_vec());
    by_the_million(|random| mutate::input(random, &files), examine);
}

#[test]
fn preflib_inputs_by_the_million() {
    let files = files();
    by_the_million(|random| input(random, &files, preflib), examine);
}
