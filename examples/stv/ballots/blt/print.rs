//! An election as a BLT file, in the one form that all programs read.

use super::quotes::in_quotes;
use crate::{
    election::{Ballots, CandidateIndex, Election},
    integer::Integer,
    ties::TieOrder,
};
use std::{
    fmt,
    io::{self, Write},
};

/// The way in which ballots and options name a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    /// `1`, `2` …
    Numbers,
    /// `c1`, `c2` …, for programs that do not accept numbers.
    Nicknames,
}

/// Calls `on_ballot` with the weight and the candidates of every ballot. Each candidate has a flag:
/// whether the next candidate shares its rank.
pub fn each_ballot<E>(
    ballots: &Ballots,
    mut on_ballot: impl FnMut(&Integer, &[(CandidateIndex, bool)]) -> Result<(), E>,
) -> Result<(), E> {
    let mut ranked = Vec::new();
    for &ballot in ballots.records() {
        ranked.clear();
        ranked.extend(
            ballots
                .preferences(ballot)
                .map(|preference| (preference.candidate(), preference.shares_rank_with_next())),
        );
        on_ballot(&ballots.weight(ballot), &ranked)?;
    }
    Ok(())
}

/// Writes the election. Reading the written file gives the same election. Each party becomes the
/// end of the name, since most programs read a second string on a line as another name.
pub fn print(election: &Election, naming: Naming, out: &mut dyn Write) -> io::Result<()> {
    let name = |candidate| Name { candidate, naming };
    let candidates = election.candidates.len();
    writeln!(out, "{candidates} {}", election.seats)?;
    if naming == Naming::Nicknames {
        option(out, "nick", (0..candidates).map(name))?;
    }
    let mut withdrawn = (0..candidates).filter(|&candidate| election.candidates[candidate].withdrawn);
    match (naming, withdrawn.next()) {
        (_, None) => {}
        (Naming::Nicknames, Some(first)) => {
            option(out, "withdrawn", std::iter::once(first).chain(withdrawn).map(name))?;
        }
        // More programs accept negative numbers than accept `[withdrawn …]`.
        (Naming::Numbers, Some(first)) => {
            write!(out, "-{}", name(first))?;
            withdrawn.try_for_each(|candidate| write!(out, " -{}", name(candidate)))?;
            writeln!(out)?;
        }
    }
    if election.tie_order == TieOrder::File {
        let mut order: Vec<CandidateIndex> = (0..candidates).collect();
        order.sort_by_key(|&candidate| election.tie_break[candidate]);
        option(out, "tie", order.into_iter().map(name))?;
    }
    each_ballot(&election.ballots, |weight, ranked| {
        write!(out, "{weight}")?;
        let mut separator = ' ';
        for &(candidate, shares_rank) in ranked {
            write!(out, "{separator}{}", name(candidate))?;
            separator = if shares_rank { '=' } else { ' ' };
        }
        writeln!(out, " 0")
    })?;
    writeln!(out, "0")?;
    for candidate in &election.candidates {
        writeln!(out, "{}", in_quotes(&candidate.with_party()))?;
    }
    writeln!(out, "{}", in_quotes(&election.title))
}

fn option(out: &mut dyn Write, option: &str, mut names: impl Iterator<Item = Name>) -> io::Result<()> {
    write!(out, "[{option}")?;
    names.try_for_each(|name| write!(out, " {name}"))?;
    writeln!(out, "]")
}

struct Name {
    candidate: CandidateIndex,
    naming: Naming,
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.naming == Naming::Nicknames {
            f.write_str("c")?;
        }
        (self.candidate + 1).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        super::{hostile::reads_as_printed, read},
        *,
    };
    use crate::corpus::{directory, files, has_errors};

    /// Prints an election and reads it again. The result must be the same election, and have the
    /// same printed form.
    #[test]
    fn every_file_reads_as_it_is_printed() {
        let mut number = 0;
        for (path, file) in files() {
            if cfg!(debug_assertions) && file.len() > 50_000 {
                continue;
            }
            match read("corpus", &file) {
                Ok(election) => {
                    reads_as_printed(&election, Naming::Numbers);
                    reads_as_printed(&election, Naming::Nicknames);
                    number += 1;
                }
                Err(error) => assert!(has_errors(&path), "{}: {error}", path.display()),
            }
        }
        println!("{number} files read as they are printed");
        assert!(number > 0 || directory().is_none(), "the corpus has no ballot file");
    }
}
