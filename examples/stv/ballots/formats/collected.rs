//! The ballots of a file that is read line by line.

use crate::{
    blt::{Known, MOST_CANDIDATES, MOST_DIGITS, Quoted, Seen, is_number, other_seats},
    election::{Ballots, Candidate, CandidateIndex, Election},
    integer::Integer,
    printable::plural,
    reading::{Duplicates, Reading},
    ties::TieOrder,
};

/// The numbers that a file announces, and the ballots so far.
pub(super) struct Collected {
    seats: usize,
    candidates: Vec<Known>,
    duplicates: Duplicates,
    ballots: Ballots,
    pub(super) seen: Seen,
    pub(super) warnings: Vec<(usize, String)>,
    /// The number of the ballot being read. `ranked` has its candidates, each with the number of
    /// its rank.
    ballot: u64,
    ranked: Vec<(CandidateIndex, usize)>,
    rank: usize,
    /// Whether the ballot names a candidate twice.
    is_twice: bool,
    ends: bool,
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

impl Collected {
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
            candidates: vec![Known::default(); candidates],
            duplicates: reading.duplicates,
            ballots: Ballots::new(),
            seen: Seen::default(),
            warnings,
            ballot: 0,
            ranked: Vec::new(),
            rank: 0,
            is_twice: false,
            ends: false,
        })
    }

    /// The number of candidates.
    pub(super) fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// The number of ballots so far, empty ones included.
    pub(super) fn total(&self) -> Integer {
        self.ballots.total().plus(&self.ballots.turnout().empty)
    }

    /// Begins a ballot.
    pub(super) fn begin(&mut self) {
        self.ranked.clear();
        self.ballot += 1;
        (self.rank, self.is_twice, self.ends) = (0, false, false);
    }

    pub(super) fn next_rank(&mut self) {
        self.rank += 1;
    }

    /// Adds the candidate of this number to the present rank of the ballot.
    pub(super) fn mention(&mut self, word: &str) -> Result<(), String> {
        let candidates = self.candidates.len();
        if !is_number(word) {
            return Err(format!("{} is not a candidate's number; correct it", Quoted(word)));
        }
        let number = word.parse().ok().filter(|number| (1..=candidates).contains(number));
        let candidate = number.ok_or_else(|| {
            format!("there is no candidate {}; the numbers go from 1 to {candidates}", Quoted(word))
        })? - 1;
        let known = &mut self.candidates[candidate];
        if std::mem::replace(&mut known.last_ballot, self.ballot) != self.ballot {
            if !self.ends {
                self.ranked.push((candidate, self.rank));
            }
            return Ok(());
        }
        self.is_twice = true;
        match self.duplicates {
            Duplicates::Refuse => {
                return Err(format!(
                    "candidate {} stands twice on one ballot; remove one, or choose with --duplicates what counts",
                    Quoted(word)
                ));
            }
            Duplicates::Truncate if !self.ends => {
                self.ends = true;
                let rank = self.rank;
                self.ranked.retain(|preference| preference.1 < rank);
            }
            Duplicates::First | Duplicates::Truncate => {}
        }
        Ok(())
    }

    /// Ends a ballot of this line.
    pub(super) fn end(&mut self, weight: Integer, line: usize) {
        self.seen.lines += 1;
        if self.is_twice {
            self.seen.mended.add(line, &weight);
        }
        if self.ranked.is_empty() {
            self.seen.empty_lines += 1;
        }
        self.ballots.push(weight, &self.ranked);
    }

    /// Returns the election with these names and parties.
    pub(super) fn named(mut self, names: Vec<(String, Option<String>)>, title: String) -> super::Done {
        self.warnings.extend(self.seen.mended.warning(self.duplicates));
        let candidate = |(name, party)| Candidate { name, party, withdrawn: false };
        let election = Election {
            title,
            seats: self.seats,
            tie_break: (0..names.len()).collect(),
            tie_order: TieOrder::BallotPaper,
            warnings: Vec::new(), // the caller reports them
            candidates: names.into_iter().map(candidate).collect(),
            ballots: self.ballots,
        };
        super::Done { election, seen: self.seen, warnings: self.warnings }
    }
}
