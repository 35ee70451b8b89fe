//! The `convert` command: a ballot file in plain BLT.

use crate::{
    blt::{self, Naming},
    input,
};
use std::{
    error::Error,
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

const EXAMPLES: &str = "\
What is written is read by OpenSTV, OpaVote, Droop and others: one ballot (or several identical ones) a line, candidates as numbers, \
withdrawn candidates as negative numbers after the header and on no ballot, names and title in double quotes. Comments, ballot ids, \
empty ballots, ranks left out, parties and what follows the title are dropped. The count of both files is the same. A double quote \
before white space within a name becomes ” because the format cannot say it.

Nothing is written if the input has an error.

EXAMPLES
    Make a file with nicknames and comments readable for other programs:
        stv convert --input ward1.blt > plain.blt
    For programs that take no numbers in ballots, such as stv-rs:
        stv convert --nick --input ward1.blt.gz | stv-rs --arithmetic fixed9 meek
    From one program to another:
        stv generate --kind uniform | stv convert | gzip > uniform.blt.gz

EXIT STATUS
    0 if all was written, 1 if the input cannot be read, 2 if the command line is wrong";

#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(crate) struct Convert {
    /// The ballot file, in BLT format, compressed with gzip if it ends in .gz [default: standard input]
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Name candidates by nicknames, c1, c2 and so on
    #[arg(long)]
    nick: bool,
    /// Name candidates by numbers, which is the default
    #[arg(long, conflicts_with = "nick")]
    numeric: bool,
}

/// Writes the file in plain BLT to standard output; `input` is what stands before the command on the command line.
pub(crate) fn convert(convert: &Convert, input: Option<&Path>) -> Result<(), Box<dyn Error>> {
    let path = convert.input.as_deref().or(input);
    let election = input::open(path, blt::read_from)??;
    let naming = if convert.nick { Naming::Nicknames } else { Naming::Numbers };
    let mut out = BufWriter::new(io::stdout().lock());
    blt::print(&election, naming, &mut out)?;
    Ok(out.flush()?)
}
