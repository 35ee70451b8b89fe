//! The `convert` command: writes a ballot file in plain BLT, or in another format.

use crate::{input, reading::Reading};
use clap::ValueEnum;
use std::{
    error::Error,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};
use stv_ballots::{Naming, Plain, Target, printable};

const DETAILS: &str = "\
OpenSTV, OpaVote, Droop and other programs can read the BLT that this command writes: on each line one ballot (or several identical ones), \
candidates as numbers, withdrawn candidates as negative numbers after the header and on no ballot, names and title in double quotes. \
Comments, ballot ids, empty ballots, ranks left out, and the text after the title are dropped. A party is written after the name in the same \
string, \"Ann Li (SNP)\", since most programs would read a separate string as the next candidate. The count of both files has the \
same transcript. Double quotes within a name are doubled if they could be read as its end.

--to csv writes the CSV of the collection of Scottish elections, which VoteKit reads. --to preflib writes a file of PrefLib (soc, soi, toc \
or toi, depending on the ballots), with identical ballots as one, and the number of seats in an additional line of the header. If these \
formats cannot hold some data that changes no count, the data is left out with a message: withdrawn candidates (the other candidates then \
have new numbers), and in PrefLib parties. An order of ties, and in CSV equal ranks, cause an error. If a spreadsheet would take a name for \
a formula, CSV has an apostrophe before the name. Reading the file again removes it.

Nothing is written if the input has an error.

EXAMPLES
    Remove nicknames and comments, for other programs:
        stv convert ward1.blt > plain.blt
    For programs that do not accept numbers in ballots, such as stv-rs:
        stv convert --nick ward1.blt.gz | stv-rs --arithmetic fixed9 meek
    For VoteKit; and from PrefLib, which has no number of seats:
        stv convert --to csv ward1.blt > ward1.csv
        stv convert --seats 3 dublin.soi > dublin.blt
    From one program to another:
        other-program | stv convert | gzip > plain.blt.gz

EXIT STATUS
    0 if the whole file was written, 1 if the input cannot be read, 2 if the command line is wrong";

#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = DETAILS)]
pub(crate) struct Convert {
    #[allow(clippy::doc_markdown)] // it is the help
    /// The ballot file, in BLT format, Scottish CSV or PrefLib, compressed with gzip or not
    /// [default: standard input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The ballot file, as with --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    /// The format to write
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t)]
    to: To,
    /// In BLT, name candidates by nicknames, c1, c2 and so on
    #[arg(long)]
    nick: bool,
    #[command(flatten)]
    reading: Reading,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum To {
    /// Plain BLT
    #[default]
    Blt,
    /// CSV as in the collection of Scottish elections
    Csv,
    #[allow(clippy::doc_markdown)] // it is the help
    /// PrefLib: soc, soi, toc or toi
    Preflib,
}

impl Convert {
    /// The file named after the command.
    pub(crate) fn given(&self) -> Option<PathBuf> {
        self.input.clone().or_else(|| self.file.clone())
    }

    /// An error message if two options contradict each other.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        (self.nick && self.to != To::Blt).then_some("--nick is for BLT; other formats have no nicknames")
    }
}

/// Writes the file in the wanted format to standard output. `input` is the file named before or
/// after the command.
pub(crate) fn convert(convert: &Convert, input: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let read = |name: &str, reader: &mut dyn Read| {
        let survey = stv_ballots::survey(name, reader, convert.reading.of_ballots(), 1);
        survey.map(|read| (name.to_owned(), read)).map_err(|mut errors| errors.remove(0))
    };
    let (name, (election, seen)) = input::open(input, read)??;
    if seen.has_ids {
        log::warn!("{name}: the ids of the ballots are left out");
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let target = match convert.to {
        To::Blt => {
            let naming = if convert.nick { Naming::Nicknames } else { Naming::Numbers };
            stv_ballots::print_blt(&election, naming, &mut out)?;
            return Ok(out.flush()?);
        }
        To::Csv => Target::Scottish,
        To::Preflib => Target::PrefLib,
    };
    let plain = Plain::of(&election, target).map_err(|reason| format!("cannot convert {name}: {reason}"))?;
    for left_out in &plain.left_out {
        log::warn!("{name}: {}", printable(left_out));
    }
    plain.print(&mut out)?;
    Ok(out.flush()?)
}
