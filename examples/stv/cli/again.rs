//! The inputs of a count, and the repetition of a count.

use super::{Arguments, Command, MeekArguments, counted, read, threads};
use crate::{
    arithmetic::Integer,
    crew::Crew,
    election::{Election, EqualRanks, TieOrder},
    error::{plural, printable},
    formats, input,
    output::Record,
    ranks::{self, Ranks},
    reading::Reading,
    tally::{self, Parallel},
    ties::{self, Tie},
};
use clap::{Parser, ValueEnum, builder::PossibleValue};
use serde_json::{Map, Value, json};
use std::{error::Error, ffi::OsString, io::Read};

/// The election to count, and the SHA-256 of its file if an output needs it.
pub(super) fn election(
    arguments: &Arguments,
    meek: &MeekArguments,
    ranks: &dyn Ranks,
) -> Result<(Election, Option<String>), Box<dyn Error>> {
    let (input, reading) = (arguments.before.input.as_deref(), meek.reading);
    let in_parts = meek.parallel == Parallel::Pool && input::is_long(input);
    let (mut election, sha256) = match meek.output.has_record() {
        false if ranks.number() == 1 && !in_parts => (read(input, reading)?, None),
        true if ranks.number() == 1 && !in_parts => {
            let read = |name: &str, reader: &mut dyn Read| formats::read(name, reader, reading);
            let (election, sha256) = input::open_hashed(input, reading, read)?;
            (election, Some(sha256))
        }
        has_record => {
            let read = |crew: Crew<'_>| {
                input::open_to_share(input, reading, |source| {
                    formats::read_share(source, reading, tally::in_order::block, ranks, crew)
                })
            };
            // A rank whose pool did not start also reads its share, since the other ranks wait for
            // it. The count then reports why the pool did not start.
            let together = in_parts.then(|| threads(meek, ranks).together(read)).and_then(Result::ok);
            let election = together.unwrap_or_else(|| read(Crew::ALONE))?;
            // Each rank, and each thread, has read only a part of the file. The first rank writes
            // the outputs, so it reads the whole file for the hash.
            let is_mine = has_record && ranks.rank() == 0;
            let sha256 = input.filter(|_| is_mine).map(input::sha256).transpose();
            let said = sha256.as_ref().map(|_| Vec::new()).map_err(|error| Box::from(error.as_str()));
            ranks::gather::<Box<dyn Error>>(ranks, said)?;
            (election, sha256?.flatten())
        }
    };
    election.ballots.equal_ranks = meek.equal_ranks;
    election.warnings.extend(as_droop(&election).inspect(|warning| log::warn!("{warning}")));
    if let Some(Tie::Random(seed)) = meek.tie {
        election.tie_break = ties::drawn(seed, election.candidates.len());
        election.tie_order = TieOrder::Random(seed);
    }
    match election.warnings.len() {
        warnings if warnings > 0 && meek.strict => {
            Err(format!("{}: with --strict nothing is counted", plural(warnings, "warning")).into())
        }
        _ => Ok((election, sha256)),
    }
}

/// The warning that ballots with equal ranks count as in Droop, if there are such ballots.
fn as_droop(election: &Election) -> Option<String> {
    let ballots = &election.ballots;
    let number = &ballots.turnout().with_equal_ranks;
    let is_met = ballots.equal_ranks == EqualRanks::AsDroop && *number > Integer::Word(0);
    is_met.then(|| {
        format!(
            "ballots with equal ranks: {number}; they count as in Droop, so ranks below defeated equals get nothing; \
             without --equal-ranks as-droop no vote is lost"
        )
    })
}

/// The record of a count with this command line. Nothing is written.
pub(super) fn count_again(words: Vec<OsString>, ranks: &dyn Ranks) -> Result<Record, Box<dyn Error>> {
    let mut arguments = Arguments::try_parse_from(words).map_err(|wrong| {
        let wrong = wrong.to_string();
        let wrong = wrong.lines().next().unwrap_or_default().trim_start_matches("error: ");
        format!("the options of the result are wrong: {}", printable(wrong))
    })?;
    arguments.join()?;
    if let Command::Meek(meek) = &mut arguments.command {
        meek.output.is_quiet = true;
    }
    let Command::Meek(meek) = &arguments.command else {
        return Err("the result is of no count by Meek's method".into());
    };
    let (election, sha256) = election(&arguments, meek, ranks)?;
    Ok(counted(&election, sha256, &arguments, meek, ranks)?.1)
}

/// Every option that can change a digit of the output, by its name on the command line.
pub(super) fn options(arguments: &Arguments, meek: &MeekArguments) -> Map<String, Value> {
    let name = |kind: Option<PossibleValue>| kind.map(|kind| kind.get_name().to_owned());
    let Reading { names, seats, duplicates, .. } = meek.reading;
    let options = [
        ("arithmetic", json!(name(arguments.arithmetic().to_possible_value()))),
        ("omega_exponent", json!(meek.omega_exponent)),
        ("force_positive_surplus", json!(meek.force_positive_surplus)),
        ("equal_ranks", json!(meek.equal_ranks.name())),
        ("tie", json!(meek.tie.map(|tie| tie.to_string()))),
        ("names", json!(name(names.and_then(|names| names.to_possible_value())))),
        ("seats", json!(seats)),
        ("duplicates", json!(name(duplicates.to_possible_value()))),
        ("package_name", json!(arguments.before.package_name)),
        ("record", json!(meek.output.detail())),
    ];
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ranks::{Alone, tests::together};

    /// With several ranks, the record also includes the hash of the file. A rank cannot compute
    /// that hash from its share.
    #[test]
    fn ranks_keep_the_record_of_one_process() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/stv/sample.blt");
        let record = |ranks: &dyn Ranks| {
            let words = ["stv", "meek", "--format=json", "--parallel=no", "--tie=random:3", "--input", file];
            count_again(words.map(Into::into).into(), ranks).unwrap()
        };
        let alone = record(&Alone);
        assert_eq!(alone.sha256().map(str::len), Some(64));
        let first = together(3, |ranks| record(ranks)).remove(0);
        assert_eq!(format!("{first:?}"), format!("{alone:?}"));
    }

    #[test]
    fn a_file_that_cannot_be_read_again_ends_all_ranks() {
        let ended = together(2, |ranks| {
            let words = ["stv", "meek", "--format=json", "--input", "/no/such/file.blt"];
            count_again(words.map(Into::into).into(), ranks).map(|_| ()).map_err(|error| error.to_string())
        });
        assert!(
            ended.iter().all(|ended| ended.as_ref().is_err_and(|error| error.contains("cannot read"))),
            "{ended:?}"
        );
    }
}
