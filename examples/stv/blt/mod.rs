//! BLT, the file format of preferential elections: reads every dialect in use and names the line of whatever it cannot read.
//!
//! ```text
//! 3 2                      candidates, seats
//! [nick a b c]             options: short names, [withdrawn …], [tie …]
//! -2                       candidate 2 has withdrawn
//! 5 a c=2 0                5 ballots: a first, then c and candidate 2 as equals
//! 0                        end of the ballots
//! "Ada" "Bert" "Cleo"      names, in candidate order
//! "Title"                  then, if any, source and comment
//! ```
//! White space of any kind separates words; a ballot may span lines and a line may hold several ballots.

mod ballots;
mod names;
mod options;
#[cfg(test)]
mod tests;
mod words;

use crate::{
    arithmetic::Integer,
    election::{Ballots, Candidate, CandidateIndex, Election, Preference},
};
use std::{collections::HashMap, fmt};
use words::{Word, Words};

/// What is wrong with the input, where, and what to do about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct InputError {
    source: String,
    line: usize,
    message: String,
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.source, self.line, self.message)
    }
}

impl std::error::Error for InputError {}

/// Reads an election from the bytes of a file; `source` is what messages call it.
pub(crate) fn read(source: &str, bytes: &[u8]) -> Result<Election, InputError> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = bytes[..error.valid_up_to()].split(|&byte| byte == b'\n');
        let line = before.count();
        InputError {
            source: source.to_owned(),
            line,
            message: "this line is not UTF-8 text; save the file in UTF-8".to_owned(),
        }
    })?;
    let mut words = Words::new(source, text);
    let header_line = words.clone().next()?.map_or(1, |word| word.line);
    let candidates = header_number(&mut words, "the number of candidates")?;
    let seats = header_number(&mut words, "the number of seats")?;
    // Every name takes some bytes of the file: this bounds the memory that a wrong header can ask for.
    if candidates > text.len().min(Preference::MAX_CANDIDATES) {
        let message =
            format!("the header announces {candidates} candidates, more than this file can name; correct it");
        return Err(words.error(header_line, message));
    }
    let mut reader = Reader {
        words,
        nicknames: HashMap::new(),
        withdrawn: vec![false; candidates],
        tie_break: (0..candidates).collect(),
        ballots: Ballots::new(),
    };
    reader.options()?;
    let standing = reader.withdrawn.iter().filter(|&&withdrawn| !withdrawn).count();
    if standing < seats {
        let message = format!(
            "{seats} seats cannot be filled by {standing} candidates; correct the numbers or the withdrawals"
        );
        return Err(reader.words.error(header_line, message));
    }
    let end_of_ballots = reader.ballots()?;
    let names = names::read(&mut reader.words, candidates, end_of_ballots)?;
    if reader.ballots.records().is_empty() {
        return Err(reader
            .words
            .error(end_of_ballots, "no ballot ranks any candidate; there is nothing to count"));
    }
    let candidates = names.candidates.into_iter().zip(reader.withdrawn);
    Ok(Election {
        title: names.title,
        candidates: candidates.map(|(name, withdrawn)| Candidate { name, withdrawn }).collect(),
        seats,
        tie_break: reader.tie_break,
        ballots: reader.ballots,
    })
}

fn header_number(words: &mut Words<'_>, what: &str) -> Result<usize, InputError> {
    let word = words.expect(&format!("before {what}; the first line is `candidates seats`"))?;
    match Integer::from_digits(word.text).map(|number| number.word().map(usize::try_from)) {
        Some(Some(Ok(number))) if number > 0 => Ok(number),
        Some(_) => Err(words.error(word.line, format!("{what} cannot be {}; correct it", word.text))),
        None => Err(words.error(
            word.line,
            format!("`{}` is not {what}; the first line is `candidates seats`", word.text),
        )),
    }
}

/// What has been read before and among the ballots.
struct Reader<'a> {
    words: Words<'a>,
    nicknames: HashMap<&'a str, CandidateIndex>,
    withdrawn: Vec<bool>,
    tie_break: Vec<usize>,
    ballots: Ballots,
}

impl Reader<'_> {
    /// The candidate of a number or a nickname; digits are always a number.
    fn candidate(&self, word: Word<'_>) -> Result<CandidateIndex, InputError> {
        if word.text.is_empty() {
            return Err(self.words.error(
                word.line,
                "= joins two candidates of equal rank, but one of them is missing; add it",
            ));
        }
        if word.text.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.number(word);
        }
        let found = self.nicknames.get(word.text).copied();
        found.ok_or_else(|| {
            let means = if self.nicknames.is_empty() {
                "a candidate's number"
            } else {
                "a candidate's number or nickname"
            };
            self.words.error(word.line, format!("`{}` is not {means}; correct it", word.text))
        })
    }

    fn number(&self, word: Word<'_>) -> Result<CandidateIndex, InputError> {
        let candidates = self.withdrawn.len();
        let number = Integer::from_digits(word.text).and_then(|number| number.word());
        let number = number.and_then(|number| usize::try_from(number).ok());
        let number = number.filter(|number| (1..=candidates).contains(number));
        number.map(|number| number - 1).ok_or_else(|| {
            let message =
                format!("there is no candidate `{}`; the numbers go from 1 to {candidates}", word.text);
            self.words.error(word.line, message)
        })
    }
}
