//! An election as it is counted: candidates, seats, tie-break order, and the ballots in a layout that a distribution streams through.

use crate::arithmetic::Integer;

/// A candidate's place in the list of candidates, from 0.
pub(crate) type CandidateIndex = usize;

/// All that a count needs to know.
#[derive(Debug)]
pub(crate) struct Election {
    pub(crate) title: String,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) seats: usize,
    /// The place of every candidate in the tie-break order; of tied candidates the one with the lowest place is defeated.
    pub(crate) tie_break: Vec<usize>,
    pub(crate) ballots: Ballots,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    pub(crate) withdrawn: bool,
}

/// The ballots: one small record each, in the order of the file, over one flat array of preferences.
#[derive(Debug)]
pub(crate) struct Ballots {
    records: Vec<Ballot>,
    preferences: Vec<Preference>,
    total: Integer,
    /// Whether a ballot with equal ranks counts as all its orders would, each for an equal part: see `spread::equalize`.
    pub(crate) equalize: bool,
}

/// One ballot, or several identical ones written as one.
#[derive(Debug)]
pub(crate) struct Ballot {
    pub(crate) weight: Integer,
    first: usize,
    len: u32,
    pub(crate) has_equal_ranks: bool,
}

/// A candidate on a ballot, and whether the next one on it shares its rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Preference(u32);

impl Preference {
    const SHARES_RANK: u32 = 1 << 31;
    /// How many candidates can be told apart beside the flag.
    pub(crate) const MAX_CANDIDATES: usize = 1 << 31;

    fn new(candidate: CandidateIndex, shares_rank_with_next: bool) -> Self {
        let candidate =
            u32::try_from(candidate).expect("an election has at most Preference::MAX_CANDIDATES candidates");
        Self(if shares_rank_with_next { candidate | Self::SHARES_RANK } else { candidate })
    }

    /// A candidate, no matter who is next.
    pub(crate) fn alone(candidate: CandidateIndex) -> Self {
        Self::new(candidate, false)
    }

    pub(crate) fn candidate(self) -> CandidateIndex {
        (self.0 & !Self::SHARES_RANK) as usize
    }

    pub(crate) fn shares_rank_with_next(self) -> bool {
        self.0 & Self::SHARES_RANK != 0
    }
}

impl Ballots {
    pub(crate) fn new() -> Self {
        Self { records: Vec::new(), preferences: Vec::new(), total: Integer::Word(0), equalize: false }
    }

    /// Adds a ballot: its candidates in the order written, each with the number of its rank. A ballot without candidates does not count.
    pub(crate) fn push(&mut self, weight: Integer, ranked: &[(CandidateIndex, usize)]) {
        if ranked.is_empty() {
            return;
        }
        let first = self.preferences.len();
        let len = u32::try_from(ranked.len()).expect("a ballot names each candidate at most once");
        for (place, &(candidate, rank)) in ranked.iter().enumerate() {
            let shares = ranked.get(place + 1).is_some_and(|next| next.1 == rank);
            self.preferences.push(Preference::new(candidate, shares));
        }
        let has_equal_ranks =
            self.preferences[first..].iter().any(|preference| preference.shares_rank_with_next());
        self.total = self.total.plus(&weight);
        self.records.push(Ballot { weight, first, len, has_equal_ranks });
    }

    /// What a distribution loops over.
    pub(crate) fn records(&self) -> &[Ballot] {
        &self.records
    }

    /// The preferences of one of these ballots, best first.
    pub(crate) fn preferences(&self, ballot: &Ballot) -> &[Preference] {
        &self.preferences[ballot.first..][..ballot.len as usize]
    }

    /// How many ballots there are: the sum of the weights.
    pub(crate) fn total(&self) -> &Integer {
        &self.total
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ballots_keep_ranks_weights_and_order() {
        let mut ballots = Ballots::new();
        ballots.push(Integer::Word(2), &[(3, 0), (1, 1), (0, 1), (2, 4)]);
        ballots.push(Integer::Word(9), &[]);
        ballots.push(Integer::Word(5), &[(2, 0), (1, 1)]);
        let [equal, strict] = ballots.records() else { panic!("the empty ballot does not count") };
        let read = |ballot| {
            let preferences = ballots.preferences(ballot).iter();
            preferences
                .map(|preference| (preference.candidate(), preference.shares_rank_with_next()))
                .collect::<Vec<_>>()
        };
        assert_eq!(read(equal), [(3, false), (1, true), (0, false), (2, false)]);
        assert_eq!(read(strict), [(2, false), (1, false)]);
        assert!(equal.has_equal_ranks && !strict.has_equal_ranks);
        assert_eq!(ballots.total(), &Integer::Word(7));
    }

    #[test]
    fn a_ballot_record_stays_small() {
        assert!(size_of::<Ballot>() <= 32, "a distribution streams through the records");
    }
}
