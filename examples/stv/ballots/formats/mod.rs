//! Ballot files of all formats. The contents of a file, not its name, decide its format.
//!
//! | format | first lines |
//! |---|---|
//! | BLT, see `blt` | `3 2`, then `5 1 2 0` |
//! | Scottish CSV | `3,2,`, then `5,1,2,` and `"Candidate 1","Ada","Red",` |
//! | `PrefLib` | `# NUMBER ALTERNATIVES: 3`, then `5: 1,{2,3}`; or `3`, then `1,Ada` and `5,1,{2,3}` |

mod lines;
mod plain;
mod preflib;
mod recognised;
mod scottish;
mod table;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod written;

use crate::{
    blt::{self, InputError, Seen, Source},
    election::Election,
    reading::{Each, Reading},
    warnings::Warnings,
};
use lines::Lines;
pub use plain::{Plain, Target};
use preflib::PrefLib;
use recognised::{Format, recognise};
use std::io::Read;
#[cfg(test)]
pub(crate) use written::reads_as_written;

/// The longest name, party or title. All formats can hold names of this length.
const LONGEST_NAME: usize = 1 << 13;

/// A name, party or title that is not too long.
fn short(name: &str) -> Result<String, String> {
    if name.len() > LONGEST_NAME {
        return Err("this name or title is longer than 8 KiB; write a shorter one".to_owned());
    }
    Ok(name.to_owned())
}

/// A format whose lines can be read one by one.
trait ByLine {
    /// Whether reading can go on after an error in this line.
    fn goes_on(&self) -> bool;

    /// Reads the next line, which has this number. An error describes the mistake in the line.
    fn line(&mut self, text: &str, number: usize) -> Result<(), String>;

    /// Returns the election after the last line. An error names the missing data.
    fn end(self) -> Result<Done, String>;
}

/// The result of reading.
struct Done {
    election: Election,
    seen: Seen,
    /// The warnings for the user, each with its line.
    warnings: Vec<(usize, String)>,
}

/// Reads an election from memory. Messages call the file `source`.
///
/// # Errors
/// The first mistake in the file, with its line.
pub fn parse(source: &str, mut bytes: &[u8]) -> Result<Election, InputError> {
    read(source, &mut bytes, Reading::default())
}

/// Reads an election with the user's options. Messages call the file `source`.
pub fn read(source: &str, reader: &mut dyn Read, reading: Reading) -> Result<Election, InputError> {
    let survey = survey(source, reader, reading, 1);
    survey.map(|(election, _)| election).map_err(|mut errors| errors.remove(0))
}

/// Reads like `read`. Returns the election with the facts of `Seen`, or the first errors, at most
/// `most_errors`.
pub fn survey(
    source: &str,
    reader: &mut dyn Read,
    reading: Reading,
    most_errors: usize,
) -> Result<(Election, Seen), Vec<InputError>> {
    let (format, mut reader) = recognise(Box::new(reader));
    if matches!(format, Format::Blt) {
        return blt::survey(source, &mut reader, reading, most_errors);
    }
    let done = by_format(&format, source, reader, reading, most_errors)?;
    let mut warnings = Warnings::default();
    for (line, warning) in &done.warnings {
        warnings.add(source, *line, warning);
    }
    warnings.rest(source);
    Ok((Election { warnings: warnings.told(), ..done.election }, done.seen))
}

/// Reads a file of a format other than BLT.
fn by_format(
    format: &Format,
    source: &str,
    reader: Box<dyn Read + '_>,
    reading: Reading,
    most_errors: usize,
) -> Result<Done, Vec<InputError>> {
    let lines = Lines::new(source, reader);
    match format {
        Format::Scottish => by_line(scottish::Scottish::new(reading), lines, most_errors),
        Format::PrefLib => by_line(PrefLib::new(reading), lines, most_errors),
        Format::OldPrefLib => by_line(PrefLib::old(reading), lines, most_errors),
        Format::Blt => unreachable!("it has a reader of its own"),
        Format::Other(what) => Err(vec![InputError::new(source, 1, *what)]),
    }
}

fn by_line(
    mut format: impl ByLine,
    mut lines: Lines<'_>,
    most_errors: usize,
) -> Result<Done, Vec<InputError>> {
    let mut errors = Vec::new();
    let mut last = 1;
    let source = lines.source;
    loop {
        match lines.next() {
            Ok(None) => break,
            Ok(Some((number, text))) => {
                last = number;
                let goes_on = format.goes_on();
                if let Err(message) = format.line(text, number) {
                    errors.push(InputError::new(source, number, message));
                    if !goes_on || errors.len() >= most_errors {
                        return Err(errors);
                    }
                }
            }
            Err(error) => {
                errors.push(error);
                return Err(errors);
            }
        }
    }
    match format.end() {
        Ok(done) if errors.is_empty() => {
            if done.seen.lines == done.seen.empty_lines {
                let message = "no ballot ranks any candidate; there is nothing to count";
                return Err(vec![InputError::new(source, last, message)]);
            }
            Ok(done)
        }
        Ok(_) => Err(errors),
        Err(message) => {
            errors.push(InputError::new(source, last, message));
            Err(errors)
        }
    }
}

/// Reads like `read`. If the format allows it, several threads read parts of the file.
pub fn read_in_parts(source: &Source<'_>, reading: Reading, each: Each<'_>) -> Result<Election, InputError> {
    let open = || (source.open)(0).map_err(|error| blt::unreadable(source, &error));
    let in_parts = match recognise(open()?).0 {
        Format::Blt => blt::in_parts(source, reading, each),
        _ => None,
    };
    in_parts.map_or_else(|| read(source.name, &mut open()?, reading), Ok)
}
