//! The names of candidates in texts for people.

use super::Candidate;
use crate::printable::{is_unseen, printable};
use std::collections::HashMap;

/// The text for each candidate: the name with the party behind it, or the number if there is no
/// name. Candidates with the same text, with or without the party, also have the number:
/// `Ann LI (Red) [3]`.
pub fn called(candidates: &[Candidate]) -> Vec<String> {
    texts(candidates, true, &told_apart(candidates))
}

/// The text for each candidate without the party, for outputs that show the party separately.
pub fn called_by_name(candidates: &[Candidate]) -> Vec<String> {
    texts(candidates, false, &told_apart(candidates))
}

fn texts(candidates: &[Candidate], with_party: bool, has_number: &[bool]) -> Vec<String> {
    let one = |(place, candidate): (usize, &Candidate)| {
        let mut text = name(place, candidate);
        if let Some(party) = candidate.party.as_ref().filter(|_| with_party) {
            text = format!("{text} ({})", printable(party));
        }
        if has_number[place] { format!("{text} [{}]", place + 1) } else { text }
    };
    candidates.iter().enumerate().map(one).collect()
}

fn name(place: usize, candidate: &Candidate) -> String {
    if candidate.name.trim().is_empty() {
        format!("Candidate {}", place + 1)
    } else {
        printable(&candidate.name)
    }
}

/// Whether each candidate needs its number, because a reader could take it for another candidate.
fn told_apart(candidates: &[Candidate]) -> Vec<bool> {
    let mut has_number = vec![false; candidates.len()];
    for _round in 0..3 {
        let mut others = Vec::new();
        for with_party in [true, false] {
            let mut alike: HashMap<String, Vec<usize>> = HashMap::with_capacity(candidates.len());
            for (place, text) in texts(candidates, with_party, &has_number).iter().enumerate() {
                alike.entry(seen(text)).or_default().push(place);
            }
            let several = alike.into_values().filter(|places| places.len() > 1).flatten();
            others.extend(several.filter(|&place| !has_number[place]));
        }
        // Repeats the check if candidates are still alike, since a name may itself contain a
        // number.
        if others.is_empty() {
            return has_number;
        }
        for place in others {
            has_number[place] = true;
        }
    }
    // Only names that were made to collide come here. All candidates get their numbers, which
    // differ.
    vec![true; candidates.len()]
}

/// The visible part of a text: consecutive blanks are one, and joiners and the like are removed.
fn seen(text: &str) -> String {
    let text: String = text.chars().filter(|&letter| !is_unseen(letter)).collect();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidates(names: &[(&str, &str)]) -> Vec<Candidate> {
        let candidate = |&(name, party): &(&str, &str)| Candidate {
            name: name.to_owned(),
            party: (!party.is_empty()).then(|| party.to_owned()),
            withdrawn: false,
        };
        names.iter().map(candidate).collect()
    }

    #[test]
    fn the_party_is_behind_the_name() {
        let candidates =
            candidates(&[("Ann LI", "Lab"), ("Ben", ""), ("", ""), (" ", "Con"), ("C\n", "\u{1b}")]);
        let wanted = ["Ann LI (Lab)", "Ben", "Candidate 3", "Candidate 4 (Con)", "C\u{fffd} (\u{fffd})"];
        assert_eq!(called(&candidates), wanted);
        assert_eq!(called_by_name(&candidates), ["Ann LI", "Ben", "Candidate 3", "Candidate 4", "C\u{fffd}"]);
    }

    #[test]
    fn equals_have_their_numbers() {
        let same = candidates(&[("J SMITH", "Lab"), ("Ann", ""), ("J SMITH", "Con"), ("J  SMITH ", "Lab")]);
        let with_party = ["J SMITH (Lab) [1]", "Ann", "J SMITH (Con) [3]", "J  SMITH  (Lab) [4]"];
        assert_eq!(called(&same), with_party);
        assert_eq!(called_by_name(&same), ["J SMITH [1]", "Ann", "J SMITH [3]", "J  SMITH  [4]"]);
        let joined = candidates(&[("Zoe", ""), ("Zo\u{200d}e", ""), ("A (B)", ""), ("A", "B"), ("A", "C")]);
        assert_eq!(called(&joined)[..2], ["Zoe [1]", "Zo\u{200d}e [2]"]);
        assert_eq!(called(&joined)[2..], ["A (B) [3]", "A (B) [4]", "A (C) [5]"]);
        let shown_alike = candidates(&[("A\u{1}", ""), ("A\u{2}", ""), ("Candidate 4", ""), ("", "")]);
        let wanted = ["A\u{fffd} [1]", "A\u{fffd} [2]", "Candidate 4 [3]", "Candidate 4 [4]"];
        assert_eq!(called(&shown_alike), wanted);
    }

    /// A name may look like another name with its number.
    #[test]
    fn no_number_makes_two_alike() {
        let odd = candidates(&[("A", ""), ("A", ""), ("A [1]", ""), ("A [1] [3]", "")]);
        assert_eq!(called(&odd), ["A [1]", "A [2]", "A [1] [3]", "A [1] [3] [4]"]);
    }
}
