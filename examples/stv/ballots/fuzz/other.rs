//! Inputs that resemble files of formats other than BLT.

use super::mutate::{LONG, ONE_IN_LONG, any, damage};
use crate::{
    formats::{OLD_PREFLIB, PREFLIB, SCOTTISH},
    random::SplitMix64,
};
use std::fmt::Write;

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

pub(super) fn scottish(random: &mut SplitMix64, most: usize) -> String {
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

pub(super) fn preflib(random: &mut SplitMix64, most: usize) -> String {
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

/// The input for these random numbers. `made` makes a file with few mistakes or none.
pub(super) fn input(random: &mut SplitMix64, made: fn(&mut SplitMix64, usize) -> String) -> Vec<u8> {
    let files = [SCOTTISH, PREFLIB, OLD_PREFLIB].map(|file| file.as_bytes().to_vec());
    let long = random.below(ONE_IN_LONG) == 0;
    let mut bytes = match random.below(8) {
        0 => any(random, &[SCOTTISH, PREFLIB, OLD_PREFLIB]).as_bytes().to_vec(),
        1 => (0..random.below(30)).flat_map(|_| any(random, PIECES).bytes()).collect(),
        _ => made(random, if long { LONG / 20 } else { 6 }).into_bytes(),
    };
    for _ in 0..any(random, &[0, 0, 1, 1, 2, 3, 5]) {
        if random.below(2) == 0 {
            damage(&mut bytes, random, &files);
        } else {
            let place = random.below(bytes.len() + 1);
            let piece = any(random, PIECES);
            let times = if long { 1 + random.below(LONG / piece.len()) } else { 1 };
            bytes.splice(place..place, piece.repeat(times).bytes());
        }
    }
    bytes
}
