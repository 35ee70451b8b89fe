//! BLT, the file format of preferential elections. `samples` has a small file of each dialect.
//! Errors name the line.
//!
//! ```text
//! 3 2                      candidates, seats
//! [nick a b c]             options: short names, [withdrawn …], [tie …]
//! -2                       candidate 2 has withdrawn
//! 5 a c=2 0                5 ballots: a first, then c and candidate 2 as equals
//! 1 3 - b 0                nobody in the second rank, which is then left out
//! 0                        end of the ballots
//! "Ada" "Bert" "Cleo"      names, in candidate order
//! "Title"                  then, if any, source and comment
//! ```
//! White space of any kind separates words. A ballot may span lines, and a line may hold several
//! ballots. If one ballot has an id in parentheses instead of a weight, all must. Comments run from
//! `#` to the end of the line or from `/*` to `*/`. A candidate's name may have a party beside it.

mod ballots;
mod collected;
#[cfg(test)]
pub(crate) mod dialects;
mod encoding;
mod mended;
mod names;
mod nicknames;
mod options;
mod parties;
mod parts;
mod print;
mod quotes;
#[cfg(test)]
mod tests;
mod text;
mod window;
mod zeros;

use crate::{
    election::{Candidate, CandidateIndex, Election, Preference},
    printable::{plural, printable},
    reading::Reading,
    ties::TieOrder,
};
pub(crate) use ballots::MOST_DIGITS;
pub(crate) use collected::{Collected, Known};
pub(crate) use mended::Mended;
use nicknames::Nicknames;
pub use parties::Order;
pub use parts::Source;
pub(crate) use parts::{in_parts, unreadable};
#[cfg(test)]
pub(crate) use print::tests::reads_as_printed;
pub use print::{Naming, print};
use std::{fmt, io::Read, sync::Arc};
#[cfg(test)]
pub(crate) use tests::shown;
use text::Text;
pub(crate) use window::Window;

/// A limit above the number of candidates of any election. A wrong number of candidates in a header
/// costs at most a megabyte.
pub(crate) const MOST_CANDIDATES: usize = 1 << 16;
const _: () = assert!(MOST_CANDIDATES <= Preference::MAX_CANDIDATES);

/// An error in the input: the place, the reason and a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputError {
    source: String,
    /// The line, or 0 if the error does not concern a line. In that case the message names the
    /// source.
    line: usize,
    message: String,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.line > 0 {
            write!(f, "{}:{}: ", self.source, self.line)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for InputError {}

impl InputError {
    pub(crate) fn new(source: &str, line: usize, message: impl Into<String>) -> Self {
        Self { source: source.to_owned(), line, message: message.into() }
    }
}

/// Facts about the ballots that a count does not need.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Seen {
    /// The number of written ballots.
    pub lines: u64,
    /// The number of written ballots on which no candidate stands. Such ballots do not count.
    pub empty_lines: u64,
    /// The number of ballots that span lines. `first_spanning` is the line on which the first of
    /// them begins.
    spanning: u64,
    first_spanning: usize,
    /// The number of ballots that begin on the line on which the previous ballot ends.
    /// `first_crowded` is the line of the first of them.
    crowded: u64,
    first_crowded: usize,
    /// The line on which the last ballot ends.
    last_line: usize,
    /// Whether a `0` within a ballot is a rank left out, from some line on.
    has_left_out: bool,
    /// The last line with words behind the `0` of a ballot, and whether that `0` is a rank left
    /// out.
    behind_zero: (usize, bool),
    /// Ballots that name a candidate twice and were mended.
    pub(crate) mended: Mended,
    /// Whether the ballots have ids.
    pub has_ids: bool,
}

/// Reads an election with the user's options. Messages call the file `source`. Returns the election
/// with the facts of `Seen`, or the first errors, at most `most_errors`.
pub(crate) fn survey(
    source: &str,
    reader: &mut dyn Read,
    reading: Reading,
    most_errors: usize,
) -> Result<(Election, Seen), Vec<InputError>> {
    let reader = Reader::begin(Text::new(source, Box::new(reader)), reading, most_errors);
    let (mut reader, header) = reader.map_err(|error| vec![error])?;
    let names = reader.rest(&header);
    reader.end(&header, names)
}

struct Header {
    line: usize,
    candidates: usize,
    seats: usize,
    /// The number of seats in the file, if the user has given another number.
    seats_in_file: Option<usize>,
}

fn header(text: &mut Text<'_>) -> Result<Header, InputError> {
    let (line, candidates) = header_number(text, "the number of candidates")?;
    let (_, seats) = header_number(text, "the number of seats")?;
    if candidates > MOST_CANDIDATES {
        let message = format!(
            "the header announces {candidates} candidates, more than the {MOST_CANDIDATES} that this program takes; correct it"
        );
        return Err(text.error(line, message));
    }
    Ok(Header { line, candidates, seats, seats_in_file: None })
}

fn header_number(text: &mut Text<'_>, what: &str) -> Result<(usize, usize), InputError> {
    let word = text.expect(|| format!("before {what}; the first line is `candidates seats`"))?;
    let quoted = Quoted(&word.text);
    let message = match word.text.parse() {
        _ if !is_number(&word.text) => {
            format!("{quoted} is not {what}; the first line is `candidates seats`")
        }
        Ok(number) if number > 0 => return Ok((word.line, number)),
        _ => format!("{what} cannot be {}; correct it", quoted.bare()),
    };
    Err(text.error(word.line, message))
}

/// The state of reading, before and in the ballots.
struct Reader<'a> {
    text: Text<'a>,
    nicknames: Arc<Nicknames>,
    collected: Collected,
    /// The order that decides ties, with its line. `None` stands for the order of the candidates.
    tie_break: Option<(Vec<usize>, usize)>,
    /// The line on which the ballot begins that is being read.
    ballot_line: usize,
    reading: Reading,
    errors: Vec<InputError>,
    most_errors: usize,
}

impl<'a> Reader<'a> {
    /// Reads the header.
    fn begin(mut text: Text<'a>, reading: Reading, most_errors: usize) -> Result<(Self, Header), InputError> {
        let mut header = header(&mut text)?;
        if let Some(seats) = reading.seats.map(usize::from).filter(|&seats| seats != header.seats) {
            header.seats_in_file = Some(std::mem::replace(&mut header.seats, seats));
        }
        let candidates = vec![Known::default(); header.candidates];
        Ok((Self::new(text, Arc::default(), candidates, reading, most_errors), header))
    }

    /// Reads the ballots of these candidates.
    fn new(
        text: Text<'a>,
        nicknames: Arc<Nicknames>,
        candidates: Vec<Known>,
        reading: Reading,
        most_errors: usize,
    ) -> Self {
        Self {
            text,
            nicknames,
            collected: Collected::new(candidates, reading.duplicates),
            tie_break: None,
            ballot_line: 0,
            reading,
            errors: Vec::new(),
            most_errors,
        }
    }

    /// Reads everything after the header.
    fn rest(&mut self, header: &Header) -> Result<names::Names, InputError> {
        self.before_ballots(header)?;
        let end_of_ballots = self.ballots()?;
        self.after_ballots(header, end_of_ballots)
    }

    /// Returns the election, or the errors.
    fn end(
        mut self,
        header: &Header,
        names: Result<names::Names, InputError>,
    ) -> Result<(Election, Seen), Vec<InputError>> {
        match names {
            Ok(names) if self.errors.is_empty() => {
                let tie_order = if self.tie_break.is_some() { TieOrder::File } else { TieOrder::BallotPaper };
                let tie_break = self.tie_break.map(|(places, _)| places);
                let candidate = |((name, party), known): (_, &Known)| Candidate {
                    name,
                    party,
                    withdrawn: known.withdrawn,
                };
                let election = Election {
                    title: names.title,
                    candidates: names
                        .candidates
                        .into_iter()
                        .zip(&self.collected.candidates)
                        .map(candidate)
                        .collect(),
                    seats: header.seats,
                    tie_break: tie_break.unwrap_or_else(|| (0..header.candidates).collect()),
                    tie_order,
                    ballots: self.collected.ballots,
                    warnings: self.text.warnings.told(),
                };
                Ok((election, self.collected.seen))
            }
            Ok(_) => Err(self.errors),
            Err(error) => {
                self.errors.push(error);
                Err(self.errors)
            }
        }
    }

    /// Reads the options, and checks that the seats can be filled.
    fn before_ballots(&mut self, header: &Header) -> Result<(), InputError> {
        let options = self.options();
        self.text.warn_of_the_rest();
        options?;
        let standing = self.collected.candidates.iter().filter(|known| !known.withdrawn).count();
        if standing < header.seats {
            let message = format!(
                "{} cannot be filled by {}; correct the numbers or the withdrawals",
                plural(header.seats, "seat"),
                plural(standing, "candidate")
            );
            self.complain(self.text.error(header.line, message))?;
        } else if let Some(said) = header.seats_in_file {
            self.text.warn(header.line, &other_seats(said, header.seats));
        }
        Ok(())
    }

    /// Reads names and title, and reports mistakes that concern all ballots.
    fn after_ballots(&mut self, header: &Header, end_of_ballots: usize) -> Result<names::Names, InputError> {
        let Seen { lines, spanning, first_spanning, crowded, first_crowded, .. } = self.collected.seen;
        if spanning > 0 && spanning < lines {
            let message =
                "this ballot ends on another line, where others do not; is the 0 at its end missing?";
            self.text.warn(first_spanning, message);
        }
        if crowded > 0 && crowded < lines / 2 {
            let message = "several ballots stand on this line, where most lines have one; if a 0 in it is a rank left out, write - for it, else give each ballot a line of its own";
            self.complain(self.text.error(first_crowded, message))?;
        }
        if let Some((line, warning)) = self.collected.mended() {
            self.text.warn(line, &warning);
        }
        // The 0 that ends the ballots may be meant as a rank left out if it stands behind a ballot.
        let end =
            names::End { line: end_of_ballots, is_alone: self.collected.seen.last_line != end_of_ballots };
        let names = names::read(&mut self.text, header.candidates, end, self.reading.names);
        self.text.warn_of_the_rest();
        let names = names?;
        if self.collected.seen.lines == self.collected.seen.empty_lines && self.errors.is_empty() {
            let message = "no ballot ranks any candidate; there is nothing to count";
            return Err(self.text.error(end_of_ballots, message));
        }
        // The rest of the file has no meaning. The reader still reads it, since damage there
        // suggests damage elsewhere.
        while self.text.skip_line()? {}
        Ok(names)
    }

    /// Keeps an error for the end, so that reading can go on. If the caller wants no further
    /// errors, returns this error instead.
    fn complain(&mut self, error: InputError) -> Result<(), InputError> {
        if self.errors.len() + 1 >= self.most_errors {
            return Err(error);
        }
        self.errors.push(error);
        Ok(())
    }

    /// The candidate with this number or nickname. Digits are always a number.
    fn candidate(&self, text: &str, line: usize) -> Result<CandidateIndex, InputError> {
        if text.is_empty() {
            let message = "= joins two candidates of equal rank without blanks, as in 2=3, but one of them is missing; write it beside the =";
            return Err(self.text.error(line, message));
        }
        if is_number(text) {
            return self.number(text, line);
        }
        self.nicknames.get(text).ok_or_else(|| {
            let means = if self.nicknames.is_empty() {
                "a candidate's number"
            } else {
                "a candidate's number or nickname"
            };
            self.text.error(line, format!("{} is not {means}; correct it", Quoted(text)))
        })
    }

    fn number(&self, text: &str, line: usize) -> Result<CandidateIndex, InputError> {
        let candidates = self.collected.candidates.len();
        let number = text.parse().ok().filter(|number| is_number(text) && (1..=candidates).contains(number));
        number.map(|number| number - 1).ok_or_else(|| {
            let message =
                format!("there is no candidate {}; the numbers go from 1 to {candidates}", Quoted(text));
            self.text.error(line, message)
        })
    }
}

/// The message for a file whose number of seats is replaced by the user's.
pub(crate) fn other_seats(in_file: usize, counted: usize) -> String {
    format!("the file says {}, but --seats {counted} is counted", plural(in_file, "seat"))
}

/// Whether a word consists of digits. The number may be too large for any list.
pub(crate) fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// A piece of the file in a message: in backticks, shortened, and without characters that a
/// terminal would obey.
#[derive(Clone, Copy)]
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl Quoted<'_> {
    fn bare(self) -> String {
        const MOST: usize = 60;
        let mut text: String = self.0.chars().take(MOST).collect();
        if text.len() < self.0.len() {
            text.push('…');
        }
        printable(&text)
    }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.bare())
    }
}
