//! The inputs of a count, and the repetition of a count.

use super::{Arguments, Command, MeekArguments, counted, read};
use crate::{input, kinds::name, reading::Reading};
use clap::Parser;
use serde_json::{Map, Value, json};
use std::{error::Error, ffi::OsString, io::Read};
use stv_ballots::{Election, EqualRanks, Integer, Order, TieOrder, plural, printable};
use stv_count::{Crew, Tie};
use stv_page::Record;

/// The election to count, and the SHA-256 of its file if an output needs it.
pub(super) fn election(
    arguments: &Arguments,
    meek: &MeekArguments,
    crew: Crew<'_>,
) -> Result<(Election, Option<String>), Box<dyn Error>> {
    let (input, reading) = (arguments.before.input.as_deref(), meek.reading);
    let long = input.filter(|input| crew.threads() > 1 && input::is_long(input));
    let has_record = meek.output.has_record();
    let (mut election, sha256) = if let Some(path) = long {
        let each = |number, work: &(dyn Fn(usize) + Sync)| crew.each(number, work);
        let election = input::open_in_parts(path, |source| {
            stv_ballots::read_in_parts(source, reading.of_ballots(), &each)
        })?;
        let sha256 = has_record.then(|| input::sha256(path)).transpose()?;
        (election, sha256.flatten())
    } else if has_record {
        let read = |name: &str, reader: &mut dyn Read| stv_ballots::read(name, reader, reading.of_ballots());
        let (election, sha256) = input::open_hashed(input, read)?;
        (election, Some(sha256))
    } else {
        (read(input, reading)?, None)
    };
    election.ballots.equal_ranks = meek.equal_ranks;
    election.warnings.extend(as_droop(&election).inspect(|warning| log::warn!("{warning}")));
    if let Some(Tie::Random(seed)) = meek.tie {
        election.tie_break = stv_count::drawn(seed, election.candidates.len());
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
pub(super) fn count_again(words: Vec<OsString>) -> Result<Record, Box<dyn Error>> {
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
    Ok(counted(&arguments, meek)?.1)
}

/// Every option that can change a digit of the output, by its name on the command line.
pub(super) fn options(arguments: &Arguments, meek: &MeekArguments) -> Map<String, Value> {
    let Reading { names, seats, duplicates, .. } = meek.reading;
    let options = [
        ("arithmetic", json!(name(&arguments.arithmetic()))),
        ("omega_exponent", json!(meek.omega_exponent)),
        ("force_positive_surplus", json!(meek.force_positive_surplus)),
        ("equal_ranks", json!(meek.equal_ranks.name())),
        ("tie", json!(meek.tie.map(|tie| tie.to_string()))),
        ("names", json!(names.map(Order::name))),
        ("seats", json!(seats)),
        ("duplicates", json!(duplicates.name())),
        ("package_name", json!(arguments.before.package_name)),
        ("record", json!(meek.output.detail())),
    ];
    options.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}
