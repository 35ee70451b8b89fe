//! The data on each candidate so far. Candidates that only the header announces take no memory.

use crate::election::CandidateIndex;
use std::collections::HashMap;

/// The number of candidates that have an entry from the start. Later candidates get an entry when
/// the file names them. So a wrong number of candidates in a header costs little memory.
const FIRST: usize = 2048;
/// Once the file has named one in four of the later candidates, all candidates get an entry.
const NAMED: usize = 4;

#[derive(Debug, Clone)]
pub(crate) struct Candidates {
    number: usize,
    first: Vec<Known>,
    others: HashMap<CandidateIndex, Known>,
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Known {
    pub(super) withdrawn: bool,
    /// The last ballot that names this candidate; ballots are numbered from 1.
    pub(crate) last_ballot: u64,
}

impl Candidates {
    pub(crate) fn new(number: usize) -> Self {
        Self { number, first: vec![Known::default(); number.min(FIRST)], others: HashMap::new() }
    }

    /// The number of candidates.
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    pub(super) fn withdrawn(&self, candidate: CandidateIndex) -> bool {
        self.first.get(candidate).or_else(|| self.others.get(&candidate)).is_some_and(|known| known.withdrawn)
    }

    /// Whether all candidates have an entry from the start, which takes little memory.
    pub(super) fn are_few(&self) -> bool {
        self.number <= FIRST
    }

    /// The number of candidates who have not withdrawn.
    pub(super) fn standing(&self) -> usize {
        let known = self.first.iter().chain(self.others.values());
        self.number - known.filter(|known| known.withdrawn).count()
    }

    /// The entry of one of the first candidates. Returns `None` for other candidates, which take
    /// the slower path.
    #[inline]
    pub(super) fn get_first(&mut self, candidate: CandidateIndex) -> Option<&mut Known> {
        self.first.get_mut(candidate)
    }

    pub(crate) fn get(&mut self, candidate: CandidateIndex) -> &mut Known {
        if candidate >= self.first.len() {
            self.others.entry(candidate).or_default();
            if NAMED * self.others.len() >= self.number - self.first.len() {
                self.first.resize(self.number, Known::default());
                self.others.drain().for_each(|(candidate, known)| self.first[candidate] = known);
            }
        }
        match self.first.get_mut(candidate) {
            Some(known) => known,
            None => self.others.entry(candidate).or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_kept_when_all_get_a_place() {
        for number in [1, FIRST, FIRST + 1, 10 * FIRST] {
            let mut candidates = Candidates::new(number);
            for candidate in 0..number {
                assert_eq!(candidates.get(candidate).last_ballot, 0);
                let ballot = candidate as u64 + 1;
                *candidates.get(candidate) = Known { withdrawn: candidate % 3 == 0, last_ballot: ballot };
                let middle = candidates.get(candidate / 2);
                assert_eq!(middle.last_ballot, candidate as u64 / 2 + 1);
            }
            assert!((0..number).all(|candidate| candidates.withdrawn(candidate) == (candidate % 3 == 0)));
            assert_eq!(candidates.standing(), number - number.div_ceil(3));
            assert!(candidates.get_first(number - 1).is_some() && candidates.get_first(number).is_none());
        }
    }
}
