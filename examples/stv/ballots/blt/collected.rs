//! The ballots of a file of any format, as they are read.

use super::Seen;
use crate::{
    election::{Ballots, CandidateIndex},
    integer::Integer,
    reading::Duplicates,
};
use std::mem;

/// A reader's knowledge of a candidate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    pub(super) withdrawn: bool,
    /// The last ballot that names this candidate; ballots are numbered from 1.
    pub(super) last_ballot: u64,
}

/// The ballots so far, and the ballot that is being read.
#[derive(Debug)]
pub(crate) struct Collected {
    pub(super) candidates: Vec<Known>,
    duplicates: Duplicates,
    pub(crate) ballots: Ballots,
    pub(crate) seen: Seen,
    /// The number of the ballot that is being read.
    pub(super) ballot: u64,
    /// The candidates of this ballot, each with the number of its rank.
    pub(super) ranked: Vec<(CandidateIndex, usize)>,
    /// The present rank.
    pub(super) rank: usize,
    /// Whether this ballot names a candidate twice, and whether it ends for that reason.
    is_twice: bool,
    ends: bool,
}

impl Collected {
    pub(crate) fn new(candidates: Vec<Known>, duplicates: Duplicates) -> Self {
        Self {
            candidates,
            duplicates,
            ballots: Ballots::new(),
            seen: Seen::default(),
            ballot: 0,
            ranked: Vec::new(),
            rank: 0,
            is_twice: false,
            ends: false,
        }
    }

    /// The number of candidates.
    pub(crate) fn candidates(&self) -> usize {
        self.candidates.len()
    }

    /// The warning about ballots that name a candidate twice, with the line of the first one.
    pub(crate) fn mended(&self) -> Option<(usize, String)> {
        self.seen.mended.warning(self.duplicates)
    }

    /// Begins a ballot.
    #[inline]
    pub(crate) fn begin(&mut self) {
        self.ranked.clear();
        self.ballot += 1;
        (self.rank, self.is_twice, self.ends) = (0, false, false);
    }

    pub(crate) fn next_rank(&mut self) {
        self.rank += 1;
    }

    /// Adds a candidate to the present rank. Returns false if the ballot has named the candidate
    /// already and the user has not chosen how to count such a ballot.
    pub(crate) fn mention(&mut self, candidate: CandidateIndex) -> bool {
        let known = &mut self.candidates[candidate];
        if mem::replace(&mut known.last_ballot, self.ballot) != self.ballot {
            if !known.withdrawn && !self.ends {
                self.ranked.push((candidate, self.rank));
            }
            return true;
        }
        self.is_twice = true;
        if self.duplicates == Duplicates::Truncate && !self.ends {
            self.ends = true;
            let rank = self.rank;
            self.ranked.retain(|preference| preference.1 < rank);
        }
        self.duplicates != Duplicates::Refuse
    }

    /// Ends a ballot of this line.
    #[inline]
    pub(crate) fn end(&mut self, weight: Integer, line: usize) {
        self.seen.lines += 1;
        if self.is_twice {
            self.seen.mended.add(line, &weight);
        }
        if self.ranked.is_empty() {
            self.seen.empty_lines += 1;
        }
        self.ballots.push(weight, &self.ranked);
    }
}
