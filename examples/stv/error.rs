//! The reasons why a count stops before its end. The messages say how to go on.

use crate::arithmetic::Fault;
use std::{error::Error, fmt, io};

#[derive(Debug)]
pub(crate) enum CountError {
    Arithmetic(Fault),
    TooManyElectable {
        round: usize,
        electable: usize,
        seats: usize,
    },
    /// The votes and the residual do not add up to all ballots. That is a fault of this program.
    Unbalanced {
        round: usize,
        found: String,
        ballots: String,
    },
    /// Two ways of counting give different votes. That is a fault of this program.
    Disagreement,
    /// The record is too large. `everybody` says whether the record has all candidates at every
    /// step, instead of only changes.
    TooLarge {
        round: usize,
        everybody: bool,
    },
    /// A warning, which is an error with `--strict`.
    Strict(String),
    Transcript(io::Error),
    Threads(String),
}

impl fmt::Display for CountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic(fault) => fault.fmt(f),
            Self::TooManyElectable { round, electable, seats } => write!(
                f,
                "round {round}: {electable} candidates reach the quota, but only {seats} seat(s) are left; \
                 this comes from rounding, mostly of ballots with equal ranks; count with --arithmetic approx"
            ),
            Self::Unbalanced { round, found, ballots } => write!(
                f,
                "round {round}: votes and residual are {found}, but there are {ballots} ballots; \
                 this is a fault of the program: do not use the result, and report it"
            ),
            Self::Disagreement => f.write_str(
                "counted again, ballot by ballot, the last votes are others; \
                 this is a fault of the program: do not use the result, and report it",
            ),
            Self::TooLarge { round, everybody: true } => write!(
                f,
                "round {round}: everybody's votes at every step are more than a gigabyte; \
                 write only what changes with --record changes and without --html, or the transcript, which has no limit"
            ),
            Self::TooLarge { round, everybody: false } => write!(
                f,
                "round {round}: what changes from step to step is more than a gigabyte; write the transcript, which has no limit"
            ),
            Self::Strict(warning) => write!(f, "{warning}; with --strict that is an error"),
            Self::Transcript(error) => write!(f, "cannot write the transcript: {error}"),
            Self::Threads(error) => {
                write!(f, "cannot start the threads: {error}; try fewer with --num-threads, or --parallel no")
            }
        }
    }
}

impl Error for CountError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Transcript(error) => Some(error),
            _ => None,
        }
    }
}

/// Standard output cannot be written to.
#[derive(Debug)]
struct Unwritten(io::Error);

impl fmt::Display for Unwritten {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot write to standard output: {}", self.0)
    }
}

impl Error for Unwritten {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

/// Makes a message of a write error. Errors of files name the file, so an error without a name
/// comes from standard output.
pub(crate) fn of_standard_output(error: Box<dyn Error>) -> Box<dyn Error> {
    match error.downcast::<io::Error>() {
        // Errors of `generate` have their own text.
        Ok(error) if error.kind() == io::ErrorKind::InvalidInput => error,
        Ok(error) => Unwritten(*error).into(),
        Err(other) => other,
    }
}

/// Whether the reader of the output has stopped, as `head` does after ten lines.
pub(crate) fn reader_is_gone(error: &(dyn Error + 'static)) -> bool {
    match error.downcast_ref::<io::Error>() {
        Some(error) => error.kind() == io::ErrorKind::BrokenPipe,
        None => error.source().is_some_and(reader_is_gone),
    }
}

/// "1 seat", "2 seats".
pub(crate) fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A name or a message on one line, without characters for which [`misleads`] is true.
pub(crate) fn printable(text: &str) -> String {
    text.replace(misleads, "\u{fffd}")
}

/// Whether a spreadsheet would take this text for a formula. Some spreadsheets skip blanks and
/// invisible characters before the sign. Some spreadsheets accept the wide signs of East Asia.
pub(crate) fn is_formula(text: &str) -> bool {
    let unseen = |first: char| first.is_whitespace() || is_unseen(first) || first == '\u{fffd}';
    text.trim_start_matches(unseen).starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// Whether a character is invisible by itself: the misleading ones, joiners and variation
/// selectors.
pub(crate) fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{200c}' | '\u{200d}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    ) || misleads(character)
}

/// Whether a character can make a line look like another line. Such a character controls a
/// terminal, breaks a line, changes the direction of text, or is invisible. The joiners U+200C and
/// U+200D are allowed, since Persian, Hindi and emoji need them. Variation selectors are allowed,
/// too.
pub(crate) fn misleads(character: char) -> bool {
    matches!(
        character,
        // Marks of direction; ends of lines and paragraphs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Characters without width: soft hyphens, blanks, word joiners, byte order marks,
        // annotations.
        | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        // Letters that are displayed as nothing.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}'
        | '\u{2800}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
    ) || character.is_control()
}

impl From<Fault> for CountError {
    fn from(fault: Fault) -> Self {
        Self::Arithmetic(fault)
    }
}

impl From<io::Error> for CountError {
    fn from(error: io::Error) -> Self {
        Self::Transcript(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misleads_is_shown_and_what_names_need_stays() {
        for character in "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{3164}\u{feff}\u{fff9}\u{e0041}".chars() {
            assert_eq!(printable(&format!("A{character}da")), "A\u{fffd}da", "U+{:04X}", u32::from(character));
        }
        for name in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}🔬 ❤\u{fe0f}",
            "Zoe\u{301} d’Été-Łów",
            "葛\u{e0100}城",
            "שרה",
        ] {
            assert_eq!(printable(name), name);
        }
    }
}
