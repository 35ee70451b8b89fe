//! An election as a BLT file, in the one form that all programs read.

use super::quotes::in_quotes;
use crate::{
    election::{CandidateIndex, Election},
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
    for (weight, preferences) in election.ballots.iter() {
        write!(out, "{weight}")?;
        let mut separator = ' ';
        for preference in preferences {
            write!(out, "{separator}{}", name(preference.candidate()))?;
            separator = if preference.shares_rank_with_next() { '=' } else { ' ' };
        }
        writeln!(out, " 0")?;
    }
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
pub(crate) mod tests {
    use super::*;
    use crate::{
        corpus::{directory, files, has_errors},
        formats::parse,
    };
    use proptest::{collection::vec, prelude::*};

    /// Checks that the printed election reads as the same election, except that parties have become
    /// parts of names. If that election is printed, the text must be the same.
    pub(crate) fn reads_as_printed(election: &Election, naming: Naming) {
        let printed = |election: &Election| {
            let mut out = Vec::new();
            print(election, naming, &mut out).expect("memory takes all");
            out
        };
        let text = printed(election);
        let shown = || String::from_utf8_lossy(&text).into_owned();
        let mut again = parse("printed", &text).unwrap_or_else(|error| panic!("{error}\n{}", shown()));
        again.warnings.clone_from(&election.warnings); // the warnings are about text that is printed differently
        again.ballots.take_empty_of(&election.ballots);
        let mut wanted = election.candidates.clone();
        for candidate in &mut wanted {
            (candidate.name, candidate.party) = (candidate.with_party().into_owned(), None);
        }
        assert_eq!(again.candidates, wanted, "{}", shown());
        let found = std::mem::replace(&mut again.candidates, election.candidates.clone());
        assert_eq!(format!("{again:?}"), format!("{election:?}"), "{}", shown());
        again.candidates = found;
        assert_eq!(String::from_utf8_lossy(&printed(&again)), shown());
    }

    /// Prints an election and reads it again. The result must be the same election, and have the
    /// same printed form.
    #[test]
    fn every_file_reads_as_it_is_printed() {
        let mut number = 0;
        for (path, file) in files() {
            if cfg!(debug_assertions) && file.len() > 50_000 {
                continue;
            }
            match parse("corpus", &file) {
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

    proptest! {
        #[test]
        fn any_names_read_as_they_are_printed(names in vec("[^\r\n]{0,10}|[ \"'#/*]{0,6}", 4)) {
            let mut election = parse("test", include_bytes!("../samples/droop.blt")).expect("a valid file");
            for (candidate, name) in election.candidates.iter_mut().zip(&names) {
                candidate.name.clone_from(name);
            }
            election.title.clone_from(&names[3]);
            reads_as_printed(&election, Naming::Numbers);
        }
    }
}
