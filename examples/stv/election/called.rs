//! What the candidates are called wherever people read of them.

use super::Candidate;
use crate::error::printable;
use std::collections::HashMap;

/// What each candidate is called: the name, and the party behind it; without a name, by the number.
/// No two are called the same: who would be has the number too, `Ann LI [3]`.
pub(crate) fn called(candidates: &[Candidate]) -> Vec<String> {
    let with_party = |(place, candidate): (usize, &Candidate)| match &candidate.party {
        Some(party) => format!("{} ({})", name(place, candidate), printable(party)),
        None => name(place, candidate),
    };
    told_apart(candidates.iter().enumerate().map(with_party).collect())
}

/// The same without the party, where that has a place of its own.
pub(crate) fn called_by_name(candidates: &[Candidate]) -> Vec<String> {
    told_apart(candidates.iter().enumerate().map(|(place, candidate)| name(place, candidate)).collect())
}

fn name(place: usize, candidate: &Candidate) -> String {
    if candidate.name.trim().is_empty() {
        format!("Candidate {}", place + 1)
    } else {
        printable(&candidate.name)
    }
}

/// Adds its number to whatever the eye takes for another.
fn told_apart(mut texts: Vec<String>) -> Vec<String> {
    let mut numbered = vec![false; texts.len()];
    loop {
        // Blanks do not show: a browser draws many as one.
        let mut alike: HashMap<String, Vec<usize>> = HashMap::with_capacity(texts.len());
        for (place, text) in texts.iter().enumerate() {
            let seen = text.split_whitespace().collect::<Vec<_>>().join(" ");
            alike.entry(seen).or_default().push(place);
        }
        let several = alike.into_values().filter(|places| places.len() > 1).flatten();
        let others: Vec<usize> = several.filter(|&place| !numbered[place]).collect();
        // Once more if there are any: somebody may have a name with a number in it.
        if others.is_empty() {
            return texts;
        }
        for place in others {
            numbered[place] = true;
            texts[place] = format!("{} [{}]", texts[place], place + 1);
        }
    }
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
        let with_party = ["J SMITH (Lab) [1]", "Ann", "J SMITH (Con)", "J  SMITH  (Lab) [4]"];
        assert_eq!(called(&same), with_party);
        assert_eq!(called_by_name(&same), ["J SMITH [1]", "Ann", "J SMITH [3]", "J  SMITH  [4]"]);
        let shown_alike = candidates(&[("A\u{1}", ""), ("A\u{2}", ""), ("Candidate 4", ""), ("", "")]);
        let wanted = ["A\u{fffd} [1]", "A\u{fffd} [2]", "Candidate 4 [3]", "Candidate 4 [4]"];
        assert_eq!(called(&shown_alike), wanted);
    }

    /// A name that looks like another with its number.
    #[test]
    fn no_number_makes_two_alike() {
        let odd = candidates(&[("A", ""), ("A", ""), ("A [1]", ""), ("A [1] [3]", "")]);
        assert_eq!(called(&odd), ["A [1]", "A [2]", "A [1] [3]", "A [1] [3] [4]"]);
    }
}
