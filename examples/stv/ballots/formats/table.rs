//! The ballots of a file that is read line by line.

use crate::{
    blt::{Collected, Known, MOST_CANDIDATES, MOST_DIGITS, Quoted, is_number, other_seats},
    election::{Candidate, Election},
    integer::Integer,
    printable::plural,
    reading::Reading,
    ties::TieOrder,
};

/// The number of seats that counts, the ballots, and the warnings so far, each with its line.
pub(super) struct Table {
    seats: usize,
    pub(super) collected: Collected,
    pub(super) warnings: Vec<(usize, String)>,
}

/// Parses a number of candidates.
pub(super) fn candidates(word: &str) -> Result<usize, String> {
    match positive(word, "the number of candidates")? {
        number if number > MOST_CANDIDATES => Err(format!(
            "the header announces {number} candidates, more than the {MOST_CANDIDATES} that this program takes; correct it"
        )),
        number => Ok(number),
    }
}

/// Parses a number of at least 1. `what` names it in the error.
pub(super) fn positive(word: &str, what: &str) -> Result<usize, String> {
    let number = word.parse().ok().filter(|&number| is_number(word) && number > 0);
    number.ok_or_else(|| format!("{what} cannot be {}; correct it", Quoted(word)))
}

/// Parses the weight of a ballot.
pub(super) fn weight(word: &str) -> Result<Integer, String> {
    // A longer word is not a number of ballots, and would take long to parse.
    let digits = Some(word).filter(|word| word.len() <= MOST_DIGITS);
    let weight = digits.and_then(Integer::from_digits).filter(|weight| *weight > Integer::Word(0));
    weight.ok_or_else(|| {
        format!("{} is not the weight of a ballot, a whole number of at least 1; correct it", Quoted(word))
    })
}

impl Table {
    /// Starts without ballots, for this many candidates and seats. The user's number of seats takes
    /// precedence over `seats`, the number in the file. `line` is the line on which `seats` stands.
    pub(super) fn new(
        reading: Reading,
        candidates: usize,
        seats: Option<usize>,
        line: usize,
    ) -> Result<Self, String> {
        let counted = reading
            .seats
            .map(usize::from)
            .or(seats)
            .ok_or("files of PrefLib do not say how many seats there are; say it with --seats N")?;
        if candidates < counted {
            return Err(format!(
                "{} cannot be filled by {}; correct the numbers",
                plural(counted, "seat"),
                plural(candidates, "candidate")
            ));
        }
        let other = seats.filter(|&seats| seats != counted);
        let warnings = other.map(|seats| (line, other_seats(seats, counted))).into_iter().collect();
        Ok(Self {
            seats: counted,
            collected: Collected::new(vec![Known::default(); candidates], reading.duplicates),
            warnings,
        })
    }

    /// The number of ballots so far, empty ones included.
    pub(super) fn total(&self) -> Integer {
        let ballots = &self.collected.ballots;
        ballots.total().plus(&ballots.turnout().empty)
    }

    /// Adds the candidate of this number to the present rank of the ballot.
    pub(super) fn mention(&mut self, word: &str) -> Result<(), String> {
        let candidates = self.collected.candidates();
        if !is_number(word) {
            return Err(format!("{} is not a candidate's number; correct it", Quoted(word)));
        }
        let number = word.parse().ok().filter(|number| (1..=candidates).contains(number));
        let candidate = number.ok_or_else(|| {
            format!("there is no candidate {}; the numbers go from 1 to {candidates}", Quoted(word))
        })? - 1;
        if self.collected.mention(candidate) {
            return Ok(());
        }
        Err(format!(
            "candidate {} stands twice on one ballot; remove one, or choose with --duplicates what counts",
            Quoted(word)
        ))
    }

    /// Returns the election with these names and parties.
    pub(super) fn named(mut self, names: Vec<(String, Option<String>)>, title: String) -> super::Done {
        self.warnings.extend(self.collected.mended());
        let candidate = |(name, party)| Candidate { name, party, withdrawn: false };
        let election = Election {
            title,
            seats: self.seats,
            tie_break: (0..names.len()).collect(),
            tie_order: TieOrder::BallotPaper,
            warnings: Vec::new(), // the caller reports them
            candidates: names.into_iter().map(candidate).collect(),
            ballots: self.collected.ballots,
        };
        super::Done { election, seen: self.collected.seen, warnings: self.warnings }
    }
}
