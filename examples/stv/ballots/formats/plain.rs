//! The limits of formats other than BLT: whether a format can hold an election, and the data that
//! the format leaves out.

use super::{preflib, scottish, short};
use crate::{
    election::{Candidate, CandidateIndex, Election},
    integer::Integer,
};
use std::{
    collections::HashSet,
    io::{self, Write},
};

/// An election in the form of another format: without withdrawn candidates.
#[derive(Debug)]
pub struct Plain<'a> {
    target: Target,
    pub(super) election: &'a Election,
    /// The candidates who stand, in the order of their numbers.
    pub(super) names: Vec<&'a Candidate>,
    /// The number of each candidate. Withdrawn candidates have none.
    numbers: Vec<usize>,
    /// The data that is left out, in messages for the user.
    pub left_out: Vec<String>,
}

/// The other formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// CSV as in the collection of Scottish elections.
    Scottish,
    /// `PrefLib`: soc, soi, toc or toi.
    PrefLib,
}

impl<'a> Plain<'a> {
    /// Leaves out the data that the format cannot hold. If leaving data out would change the count,
    /// returns an error with the reason.
    pub fn of(election: &'a Election, target: Target) -> Result<Self, String> {
        let format = match target {
            Target::Scottish => "a Scottish CSV file",
            Target::PrefLib => "a file of PrefLib",
        };
        if !election.tie_break.is_sorted() {
            return Err(format!(
                "{format} cannot say in which order tied candidates are defeated, as [tie …] does; convert to blt"
            ));
        }
        let equal = &election.ballots.turnout().with_equal_ranks;
        if target == Target::Scottish && *equal > Integer::Word(0) {
            return Err(format!(
                "{format} cannot hold equal ranks, which {equal} ballots have; convert to preflib or blt"
            ));
        }
        let names: Vec<_> = election.candidates.iter().filter(|candidate| !candidate.withdrawn).collect();
        short(&election.title)?;
        names.iter().try_for_each(|candidate| {
            short(&candidate.name)?;
            short(candidate.party.as_deref().unwrap_or_default()).map(|_| ())
        })?;
        let mut numbers = Vec::with_capacity(election.candidates.len());
        let mut left_out = Vec::new();
        let mut next = 1;
        for candidate in &election.candidates {
            numbers.push(next);
            next += usize::from(!candidate.withdrawn);
        }
        let withdrawn = election.candidates.len() - names.len();
        if withdrawn > 0 {
            left_out.push(format!(
                "{format} cannot say who has withdrawn: {withdrawn} of {} candidates are left out, and the others have new numbers; --tie random:SEED draws another order then",
                election.candidates.len()
            ));
        }
        if target == Target::PrefLib {
            if names.iter().any(|candidate| candidate.party.is_some()) {
                left_out.push(format!("{format} cannot say which parties there are; they are left out"));
            }
            let different: HashSet<_> = names.iter().map(|candidate| candidate.name.trim()).collect();
            if different.len() < names.len() {
                left_out.push(format!(
                    "the names in {format} are to be different, but some of these are the same; other programs may refuse it"
                ));
            }
        }
        Ok(Self { target, election, names, numbers, left_out })
    }

    /// Writes the election. Reading the written file gives the same election.
    pub fn print(&self, out: &mut dyn Write) -> io::Result<()> {
        match self.target {
            Target::Scottish => scottish::print(self, out),
            Target::PrefLib => preflib::print(self, out),
        }
    }

    /// The number of a candidate on ballots. The candidate must not have withdrawn.
    pub(super) fn number(&self, candidate: CandidateIndex) -> usize {
        self.numbers[candidate]
    }
}
