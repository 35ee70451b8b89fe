//! Random elections as files of all formats.

use super::mutate::any;
use crate::{
    Ballots, Candidate, Election, Integer, Naming, Plain, Target, TieOrder, print_blt, random::SplitMix64,
};

const NAMES: [&str; 7] = ["Ann LI", "é", "", "Ann \"Z\" LI", "Red \"Ann LI\"", "LI, Ann", "=1"];
const LARGE: [u64; 3] = [i64::MAX as u64, 1 << 62, u64::MAX];

/// An election of at most this many candidates.
fn election(random: &mut SplitMix64, most: usize) -> Election {
    let number = 1 + random.below(most);
    let is_strict = random.below(2) == 0;
    let mut ballots = Ballots::new();
    for _ in 0..random.below(40.min(10_000 / number) + 2) {
        // A ballot names each candidate once, from a random one on.
        let (start, length) = (random.below(number), random.below(number.min(2000) + 1));
        let mut rank = 0;
        let ranked = (start..start + length).map(|candidate| {
            rank += usize::from(is_strict || random.below(4) > 0);
            (candidate % number, rank)
        });
        let ranked: Vec<_> = ranked.collect();
        let weight = if random.below(60) == 0 { any(random, &LARGE) } else { 1 + random.below(300) as u64 };
        ballots.push(Integer::from(weight), &ranked);
    }
    let is_numbered = random.below(2) == 0;
    let candidate = |number: usize| Candidate {
        name: if is_numbered { format!("Name {number}") } else { any(random, &NAMES).to_owned() },
        party: [None, Some("Red"), Some("R \"d\"")][random.below(3)].map(str::to_owned),
        withdrawn: random.below(20) == 0,
    };
    let candidates = (0..number).map(candidate).collect();
    let (tie_order, tie_break) = match random.below(4) {
        0 => (TieOrder::File, (0..number).rev().collect()),
        _ => (TieOrder::BallotPaper, (0..number).collect()),
    };
    let seats = 1 + random.below(number.min(3));
    let (title, warnings) = (any(random, &NAMES).to_owned(), Vec::new());
    Election { title, candidates, seats, tie_break, tie_order, ballots, warnings }
}

/// A file in BLT, or in another format that can hold the election.
pub(crate) fn file(random: &mut SplitMix64, most: usize) -> Vec<u8> {
    let election = election(random, most);
    let target = any(random, &[None, None, Some(Target::Scottish), Some(Target::PrefLib)]);
    let naming = any(random, &[Naming::Numbers, Naming::Nicknames]);
    let mut out = Vec::new();
    match target.and_then(|target| Plain::of(&election, target).ok()) {
        Some(plain) => plain.print(&mut out),
        None => print_blt(&election, naming, &mut out),
    }
    .expect("memory takes all");
    out
}
