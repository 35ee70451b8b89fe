//! The `verify` command: compares a JSON result with a new count of the ballot file.

use crate::input;
use serde_json::{Map, Value};
use std::{
    error::Error,
    ffi::OsString,
    fs::File,
    io::{Cursor, Read, Write},
    num::NonZeroUsize,
    path::{Path, PathBuf},
};
use stv_ballots::printable;
use stv_page::{Comparison, OPTIONS, Record, command_line, head, shown};

const DETAILS: &str = "\
Counts the ballot file again with the options in the result, and compares every field, step and transfer: each digit must be the same. \
The white space of the result may differ. Before the count, the SHA-256 of the ballot file is compared with the SHA-256 in the result. \
Packing or unpacking the ballot file changes its SHA-256.

If another version of this program has written the result, a note says so. This is not a difference.

EXAMPLES
    Count, and check the published result:
        stv meek ward.blt --format json > ward.json
        stv verify ward.json ward.blt

EXIT STATUS
    0 if the result and the count are the same, with a line on standard output; 1 if they differ, or if a file cannot be read, with the \
first difference or the error on standard error; 2 if the command line is wrong";

#[derive(Debug, Clone, clap::Args)]
#[command(after_long_help = DETAILS)]
pub(crate) struct Verify {
    /// The result, written by `stv meek --format json`
    #[arg(value_name = "RESULT")]
    result: PathBuf,
    /// The ballot file; - for standard input
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Number of threads that distribute the ballots [default: all threads of the machine]
    #[arg(long, value_name = "N")]
    num_threads: Option<NonZeroUsize>,
}

/// A command line.
type Words = Vec<OsString>;

/// Compares the result with the record that `count` returns. If both are the same, writes a line to
/// `out`. `count` counts according to a command line, and writes no output.
pub(crate) fn verify(
    verify: &Verify,
    count: &dyn Fn(Words) -> Result<Record, Box<dyn Error>>,
    out: &mut dyn Write,
) -> Result<(), Box<dyn Error>> {
    let name = printable(&verify.result.display().to_string());
    let open = || opened(&verify.result).map_err(|reason| format!("cannot read {name}: {reason}"));
    let unreadable = |error| unreadable(&name, &error);
    let fields = head(open()?).map_err(unreadable)?;
    let about = About::of(&fields).map_err(|wrong| format!("{name}: {wrong}"))?;
    let is_its_file = |found: &str| {
        let message = format!(
            "{}: not the file of this result: its SHA-256 is {found}, in the result it is {}",
            input::name(&verify.file),
            shown(about.sha256)
        );
        if found == about.sha256 { Ok(()) } else { Err(message) }
    };
    // A wrong file is reported before the count, which may fail or take an hour.
    if let Some(sha256) = input::sha256(&verify.file)? {
        is_its_file(&sha256)?;
    }
    let record = count(command(verify, about.options))?;
    is_its_file(record.sha256().unwrap_or_default())?;
    let own = env!("CARGO_PKG_VERSION");
    let comparison = Comparison { is_same_version: about.version == own };
    let difference = comparison.difference(&fields, open()?, &record).map_err(unreadable)?;
    let by = if comparison.is_same_version {
        String::new()
    } else {
        format!("; the result was written by version {}, this is {own}", shown(about.version))
    };
    match difference {
        Some(difference) => Err(format!("{name}: not the same: {difference}{by}").into()),
        None => Ok(writeln!(out, "the same: {}{by}", record.size())?),
    }
}

/// The message for a file that is no result.
pub(crate) fn unreadable(name: &str, error: &serde_json::Error) -> String {
    let (line, error) = (error.line(), shown(&error.to_string()));
    format!("{name}:{line}: {error}; this is no result of stv meek --format json")
}

/// Opens the file, and skips its byte order mark if there is one. Returns an error if the file
/// cannot be a result.
pub(crate) fn opened(path: &Path) -> Result<impl Read, String> {
    let mut file = File::open(path).map_err(|error| error.to_string())?;
    if !file.metadata().is_ok_and(|data| data.is_file()) {
        return Err("it is read twice, so it must be a file".to_owned());
    }
    let mut begins = Vec::new();
    Read::by_ref(&mut file).take(3).read_to_end(&mut begins).map_err(|error| error.to_string())?;
    let other = match begins[..] {
        [] => "it is empty; has the count ended with an error?",
        [0x1f, 0x8b, ..] => "it is compressed; unpack it first",
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "it is UTF-16; write it as UTF-8",
        [b'<', ..] => "it is a page; verify wants the result of --format json",
        [0xef, 0xbb, 0xbf] => return Ok(Cursor::new(Vec::new()).chain(file)),
        _ => return Ok(Cursor::new(begins).chain(file)),
    };
    Err(other.to_owned())
}

/// The part of a result that describes its count.
struct About<'a> {
    version: &'a str,
    options: &'a Map<String, Value>,
    sha256: &'a str,
}

impl<'a> About<'a> {
    fn of(fields: &'a Map<String, Value>) -> Result<Self, String> {
        let text = |field: &str, name: &str| fields.get(field)?.get(name)?.as_str();
        if fields.get("format").and_then(Value::as_str) != Some("stv count") {
            return Err("this is no result of stv meek --format json".to_owned());
        }
        if fields.get("version").and_then(Value::as_u64) != Some(2) {
            let other =
                "the result is of another version of the format; verify it with the program that wrote it";
            return Err(other.to_owned());
        }
        let options = fields.get("options").and_then(Value::as_object);
        let others = options.into_iter().flat_map(Map::keys).find(|name| !OPTIONS.contains(&&name[..]));
        if let Some(other) = others {
            return Err(format!("the result has an option {}, which no count has", shown(other)));
        }
        let of_old = "the result does not say how it was counted; count again with a newer program";
        Ok(Self {
            version: text("program", "version").ok_or(of_old)?,
            options: fields.get("options").and_then(Value::as_object).ok_or(of_old)?,
            sha256: text("input", "sha256").ok_or(of_old)?,
        })
    }
}

/// The command line of the new count.
fn command(verify: &Verify, options: &Map<String, Value>) -> Words {
    let mut words: Words = ["stv", "meek", "--format=json"].map(Into::into).into();
    words.extend(command_line(options).into_iter().map(Into::into));
    words.extend(verify.num_threads.map(|number| format!("--num-threads={number}").into()));
    let mut input = OsString::from("--input=");
    input.push(&verify.file);
    words.push(input);
    words
}
