//! The `convert` command: a ballot file in plain BLT.

use crate::{
    blt::{self, Naming, Order},
    input,
};
use std::{
    error::Error,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

const DETAILS: &str = "\
What is written is read by OpenSTV, OpaVote, Droop and others: one ballot (or several identical ones) a line, candidates as numbers, \
withdrawn candidates as negative numbers after the header and on no ballot, names and title in double quotes. Comments, ballot ids, \
empty ballots, ranks left out and what follows the title are dropped. A party is written behind the name and in the same string, \"Ann Li \
(SNP)\": a string of its own would be the next candidate to most programs. The count of both files is the same, with the same transcript. \
Double quotes within a name are doubled where they could be taken for its end.

Nothing is written if the input has an error.

EXAMPLES
    Make a file with nicknames and comments readable for other programs:
        stv convert ward1.blt > plain.blt
    For programs that take no numbers in ballots, such as stv-rs:
        stv convert --nick ward1.blt.gz | stv-rs --arithmetic fixed9 meek
    From one program to another:
        stv generate --kind uniform | stv convert | gzip > uniform.blt.gz

EXIT STATUS
    0 if all was written, 1 if the input cannot be read, 2 if the command line is wrong";

#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = DETAILS)]
pub(crate) struct Convert {
    /// The ballot file, in BLT format, compressed with gzip if it ends in .gz [default: standard
    /// input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The ballot file, as with --input
    #[arg(value_name = "FILE", conflicts_with = "input")]
    file: Option<PathBuf>,
    /// What the lines of the candidates say, where the file has name and party on a line and does
    /// not show which is which
    #[arg(long, value_enum, value_name = "ORDER")]
    pub(crate) names: Option<Order>,
    /// Name candidates by nicknames, c1, c2 and so on
    #[arg(long)]
    nick: bool,
    /// Name candidates by numbers, which is the default
    #[arg(long, conflicts_with = "nick")]
    numeric: bool,
}

impl Convert {
    /// The file that was named after the command.
    pub(crate) fn given(&self) -> Option<PathBuf> {
        self.input.clone().or_else(|| self.file.clone())
    }
}

/// Writes the file in plain BLT to standard output; `input` is where it was named, before the
/// command or after it.
pub(crate) fn convert(
    convert: &Convert,
    input: Option<&Path>,
    names: Option<Order>,
) -> Result<(), Box<dyn Error>> {
    let election = input::open(input, |name, reader| blt::read_from(name, reader, names))??;
    let naming = if convert.nick { Naming::Nicknames } else { Naming::Numbers };
    let mut out = BufWriter::new(io::stdout().lock());
    blt::print(&election, naming, &mut out)?;
    Ok(out.flush()?)
}
