//! `--trace BALLOT`: shows after every round which candidates have the weight of one ballot, to
//! check the count by hand.
//!
//! The user gives the contents of the ballot, not its place in the file, since identical ballots
//! are counted alike.

use std::io::Write;
use stv_ballots::{
    Action, Ballot, Ballots, CandidateIndex, Election, Integer, Iteration, Preferences, Status, called,
    printable,
};
use stv_count::{Arithmetic, CountError, Event, Listener, Scene, Votes};

/// One ballot of weight 1, followed through the count.
#[derive(Debug)]
pub(crate) struct Trace<W> {
    out: W,
    ballot: Ballots,
    /// The texts for the candidates.
    names: Vec<String>,
    /// The decisions since the last written round.
    decided: Vec<String>,
}

impl<W: Write> Trace<W> {
    /// Parses the user's ballot. An error describes the mistake.
    pub(crate) fn new(out: W, text: &str, election: &Election) -> Result<Self, String> {
        let mut ballot = Ballots::new();
        let names = called(&election.candidates);
        let ranked =
            ranked(text, election, &names).map_err(|wrong| printable(&format!("--trace: {wrong}")))?;
        ballot.equal_ranks = election.ballots.equal_ranks;
        ballot.push(Integer::Word(1), &ranked);
        Ok(Self { out, ballot, names, decided: Vec::new() })
    }

    fn preferences(&self) -> Preferences<'_> {
        self.ballot.preferences(self.ballot.all()[0])
    }

    fn header(&mut self, election: &Election) -> Result<(), CountError> {
        let mut text = String::new();
        for preference in self.preferences() {
            text += &self.names[preference.candidate()];
            text += if preference.shares_rank_with_next() { " = " } else { " > " };
        }
        let ballots = &election.ballots;
        let alike = |ballot: &Ballot| self.preferences().has_the_ranks_of(&ballots.preferences(*ballot));
        let alike = ballots.all().iter().copied().filter(alike);
        let alike = alike.fold(Integer::Word(0), |sum, ballot| sum.plus(&ballots.weight(ballot)));
        writeln!(self.out, "Ballot: {}", text.trim_end_matches(" > "))?;
        Ok(writeln!(self.out, "Ballots like it: {alike} of {}", ballots.total())?)
    }

    fn place<A: Arithmetic>(&mut self, when: &str, scene: &Scene<'_, A>) -> Result<(), CountError> {
        let votes = Votes::none(scene.keep.len());
        let votes = votes.with(self.ballot.all()[0], &self.ballot, scene.keep)?;
        let found = votes.of.iter().try_fold(votes.exhausted.clone(), |sum, part| sum.plus(part))?;
        if !found.balances(&A::one()) {
            let (found, ballots) = (found.to_string(), "1".to_owned());
            return Err(CountError::Unbalanced { round: scene.round, found, ballots });
        }
        let colon = if self.decided.is_empty() { "" } else { ": " };
        writeln!(self.out, "\n{when}{colon}{}", self.decided.join(", "))?;
        self.decided.clear();
        for preference in self.ballot.preferences(self.ballot.all()[0]) {
            let candidate = preference.candidate();
            let status = match scene.standing.status[candidate] {
                Status::Elected => "Elected: ",
                Status::Defeated => "Defeated:",
                Status::Hopeful | Status::Withdrawn => "Hopeful: ",
            };
            let name = &self.names[candidate];
            writeln!(self.out, "\t{status} {name} ({})", votes.of[candidate])?;
        }
        writeln!(self.out, "\tExhausted: {}", votes.exhausted)?;
        Ok(self.out.flush()?)
    }
}

impl<A: Arithmetic, W: Write> Listener<A> for Trace<W> {
    fn hear(&mut self, event: &Event, scene: &Scene<'_, A>) -> Result<(), CountError> {
        let round = format!("Round {}", scene.round);
        match event {
            Event::Act(Action::Begin) => {
                self.header(scene.election)?;
                self.place("Begin", scene)?;
            }
            Event::Act(Action::Elect(candidate) | Action::ElectRemaining(candidate)) => {
                self.decided.push(format!("{} elected", self.names[*candidate]));
            }
            Event::Act(Action::Defeat(candidate, _) | Action::DefeatRemaining(candidate)) => {
                self.decided.push(format!("{} defeated", self.names[*candidate]));
            }
            Event::Act(Action::Iterate(Iteration::Elected)) => self.place(&round, scene)?,
            // Writes the round. Candidates without a seat leave together, at the end.
            Event::Transferred if scene.standing.with(Status::Elected).count() < scene.election.seats => {
                self.place(&round, scene)?;
            }
            Event::Act(Action::Complete) => self.place("End", scene)?,
            _ => {}
        }
        Ok(())
    }
}

/// The ranking in the text. The text has the numbers of a ballot file, such as `3 - 1=2` with `-`
/// for a rank left out, or names and numbers from best to worst, such as `Cleo > Ada = Bert`.
fn ranked(text: &str, election: &Election, names: &[String]) -> Result<Vec<(CandidateIndex, usize)>, String> {
    let in_numbers = text.chars().all(|letter| letter.is_ascii_digit() || " =-".contains(letter));
    let ranks: Vec<&str> = if in_numbers {
        text.split_whitespace().filter(|&word| word != "-").collect()
    } else {
        split(text, " > ", '>', election, names)
    };
    let mut ranked: Vec<(CandidateIndex, usize)> = Vec::new();
    for (rank, text) in ranks.into_iter().enumerate() {
        for text in split(text, " = ", '=', election, names) {
            let candidate = candidate(text.trim(), election, names)?;
            if ranked.iter().any(|other| other.0 == candidate) {
                return Err(format!("`{}` stands twice on the ballot", names[candidate]));
            }
            ranked.push((candidate, rank));
        }
    }
    // A withdrawn candidate is on no ballot, as in the count.
    ranked.retain(|&(candidate, _)| !election.candidates[candidate].withdrawn);
    if ranked.is_empty() {
        return Err("the ballot ranks nobody who stands in this election".to_owned());
    }
    Ok(ranked)
}

/// The parts of a text between the separators. A text that is a name is not divided.
fn split<'a>(text: &'a str, spaced: &str, sign: char, election: &Election, names: &[String]) -> Vec<&'a str> {
    if with_name(text.trim(), election, names).next().is_some() {
        vec![text]
    } else if text.contains(spaced) {
        text.split(spaced).collect()
    } else {
        text.split(sign).collect()
    }
}

/// The candidates with this name, with or without their party.
fn with_name<'a>(
    text: &'a str,
    election: &'a Election,
    names: &'a [String],
) -> impl Iterator<Item = CandidateIndex> + 'a {
    let called = names.iter().position(|name| name == text);
    let named = move |&place: &CandidateIndex| {
        let candidate = &election.candidates[place];
        called.is_none() && (candidate.name == text || candidate.with_party() == text)
    };
    called.into_iter().chain((0..names.len()).filter(named))
}

fn candidate(text: &str, election: &Election, names: &[String]) -> Result<CandidateIndex, String> {
    let candidates = &election.candidates;
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number = text.parse().ok().filter(|number| (1..=candidates.len()).contains(number));
        return number.map(|number: usize| number - 1).ok_or_else(|| {
            format!("there is no candidate `{text}`; the numbers go from 1 to {}", candidates.len())
        });
    }
    let mut found = with_name(text, election, names);
    match (found.next(), found.next()) {
        (Some(candidate), None) => Ok(candidate),
        (Some(first), Some(_)) => Err(format!(
            "several candidates have the name `{text}`; give a number instead, or all that the outputs call one of them, such as `{}`",
            names[first]
        )),
        (None, _) => Err(format!(
            "`{text}` is neither the number nor the name of a candidate; write `3 1=2` or `Cleo > Ada = Bert`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ranks(text: &str) -> Result<Vec<(CandidateIndex, usize)>, String> {
        let names = "\"Ada\" \"Bert\" \"Cleo > Co = 1\" \"Dora\" \"Dora\" \"T\"";
        let election = stv_ballots::parse("test", format!("5 1\n-4\n1 1 0\n0\n{names}").as_bytes());
        let election = election.unwrap_or_else(|error| panic!("{error}"));
        ranked(text, &election, &called(&election.candidates))
    }

    #[test]
    fn rankings_are_numbers_or_names() {
        assert_eq!(ranks("3 1=2"), Ok(vec![(2, 0), (0, 1), (1, 1)]));
        assert_eq!(ranks("3 - - 1=2 -"), ranks("3 1=2"), "ranks left out");
        assert_eq!(ranks("Bert > Ada = 5"), Ok(vec![(1, 0), (0, 1), (4, 1)]));
        assert_eq!(ranks("Bert>Ada"), Ok(vec![(1, 0), (0, 1)]));
        assert_eq!(ranks("Cleo > Co = 1"), Ok(vec![(2, 0)]), "a name may hold the signs");
        assert_eq!(ranks("4 2 1"), Ok(vec![(1, 1), (0, 2)]), "withdrawn");
    }

    /// The name alone is enough if no other candidate has it.
    #[test]
    fn candidates_are_named_with_or_without_the_party() {
        let names = "\"J LI\" \"Red\"\n\"J LI\" \"Blue\"\n\"Ann\" \"Red\"\n\"J LI (Red)\" \"\"\n\"T\"";
        let election = stv_ballots::parse("test", format!("4 1\n1 1 0\n0\n{names}").as_bytes()).unwrap();
        let names = called(&election.candidates);
        assert_eq!(names, ["J LI (Red) [1]", "J LI (Blue) [2]", "Ann (Red)", "J LI (Red) [4]"]);
        let ranks = |text| ranked(text, &election, &names);
        assert_eq!(ranks("Ann > J LI (Blue) = J LI (Red) [1]"), Ok(vec![(2, 0), (1, 1), (0, 1)]));
        assert_eq!(ranks("Ann (Red)>J LI (Red) [4]"), Ok(vec![(2, 0), (3, 1)]));
        let several = ranks("J LI").unwrap_err();
        assert!(
            several.ends_with(
                "give a number instead, or all that the outputs call one of them, such as `J LI (Red) [1]`"
            ),
            "{several}"
        );
    }

    #[test]
    fn what_is_no_ranking_says_why() {
        for (text, wrong) in [
            ("", "ranks nobody"),
            ("4", "ranks nobody"),
            ("1 6", "numbers go from 1 to 5"),
            ("Ada > Emil", "`Emil` is neither"),
            ("Dora", "several candidates"),
            ("1 2 1", "`Ada` stands twice"),
            ("1==2", "`` is neither"),
            ("1 -2", "`-2` is neither"),
            ("-", "ranks nobody"),
        ] {
            assert!(ranks(text).is_err_and(|error| error.contains(wrong)), "{text}");
        }
    }
}
