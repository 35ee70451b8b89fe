//! A written file is read as the same election.

use super::{
    tests::{SCOTTISH, read_text},
    *,
};
use crate::{integer::Integer, printable::is_formula};
use proptest::prelude::*;
use std::collections::HashMap;

/// The parts of an election that the format can hold: names, seats, ballots. `PrefLib` merges
/// identical ballots, and its names have no blanks around them.
fn held(election: &Election, target: Target) -> String {
    let stays: Vec<_> = election.candidates.iter().map(|candidate| !candidate.withdrawn).collect();
    let number = |candidate: usize| stays[..candidate].iter().filter(|&&stays| stays).count();
    let (mut all, mut places) = (Vec::<(Integer, Vec<_>)>::new(), HashMap::new());
    for (weight, preferences) in election.ballots.iter() {
        let ranked = preferences.map(|one| (number(one.candidate()), one.shares_rank_with_next()));
        let ranked: Vec<_> = ranked.collect();
        let next = all.len();
        let place = *places.entry(ranked.clone()).or_insert(next);
        match all.get_mut(place).filter(|_| target == Target::PrefLib) {
            Some((sum, _)) => *sum = sum.plus(&weight),
            None => all.push((weight, ranked)),
        }
    }
    let names = election.candidates.iter().filter(|candidate| !candidate.withdrawn);
    let names: Vec<_> = match target {
        Target::Scottish => {
            names.map(|candidate| (candidate.name.clone(), candidate.party.clone())).collect()
        }
        Target::PrefLib => names.map(|candidate| (candidate.name.trim().to_owned(), None)).collect(),
    };
    let title = if target == Target::PrefLib { election.title.trim() } else { &election.title };
    format!("{title:?} {names:?} {} {all:?}", election.seats)
}

/// Writes an election, reads it again, and checks that it is the same. If the format cannot hold
/// the election, the error must give a reason.
pub(crate) fn reads_as_written(election: &Election, target: Target) {
    let plain = match Plain::of(election, target) {
        Ok(plain) => plain,
        Err(reason) => {
            let has_equals = election.ballots.turnout().with_equal_ranks > Integer::Word(0);
            let is_odd = !election.tie_break.is_sorted() || has_equals && target == Target::Scottish;
            assert!(is_odd || reason.contains("longer than 8 KiB"), "{reason}");
            return;
        }
    };
    let mut out = Vec::new();
    plain.print(&mut out).expect("memory takes all");
    let text = String::from_utf8(out).expect("it is written in UTF-8");
    let again = read_text(&text);
    assert_eq!(held(&again, target), held(election, target), "{text}");
    let mut out = Vec::new();
    Plain::of(&again, target).expect("it was just written").print(&mut out).expect("memory takes all");
    assert_eq!(String::from_utf8_lossy(&out), text);
}

proptest! {
    #[test]
    fn any_name_and_party(names in proptest::collection::vec("[^\r\n]{0,10}|['= @\"+,-]{0,6}", 7)) {
        let mut election = read_text(SCOTTISH);
        for (place, candidate) in election.candidates.iter_mut().enumerate() {
            candidate.name.clone_from(&names[place]);
            candidate.party = Some(names[place + 3].clone()).filter(|name| name.len() != 3);
        }
        election.title.clone_from(&names[6]);
        reads_as_written(&election, Target::Scottish);
        reads_as_written(&election, Target::PrefLib);
    }
}

/// A hostile name does nothing when a spreadsheet opens the file.
#[test]
fn no_field_of_a_scottish_file_is_a_formula() {
    let mut election = read_text(SCOTTISH);
    for (place, name) in ["=1+1", " \t=1+1", "'=1"].into_iter().enumerate() {
        election.candidates[place].name = name.to_owned();
        election.candidates[place].party = Some(format!("@{name}"));
    }
    election.title = "-1".to_owned();
    let mut out = Vec::new();
    Plain::of(&election, Target::Scottish).unwrap().print(&mut out).unwrap();
    for line in String::from_utf8(out).unwrap().lines().filter(|line| line.starts_with('"')) {
        for field in lines::Fields::of(line) {
            assert!(!is_formula(field.unwrap().text()), "{line}");
        }
    }
    reads_as_written(&election, Target::Scottish);
}
