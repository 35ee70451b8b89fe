//! Several threads read one file. The ballots are cut at line ends into parts, and a thread reads a
//! part as a whole. It assumes that its part begins between two ballots.
//!
//! A part is *plain* if each line has one whole ballot, without ids and without errors. If the
//! first part is plain, the second part does begin between two ballots, and so on. So if all parts
//! are plain up to the 0 after the ballots, the threads together have read what one thread would
//! read. One thread then reads the names after the ballots. If a part is not plain, one thread
//! reads the whole file, and gives the error messages.

use super::{
    InputError, Reader, Seen,
    ballots::{Ids, Step},
    text::Text,
};
use crate::{
    election::{Ballots, Election},
    reading::{Each, Reading},
    warnings::Warnings,
};
use std::{
    fmt,
    io::{self, Read},
    mem,
    ops::Range,
    sync::{Arc, OnceLock},
};

#[cfg(test)]
mod tests;

/// A file that can be read from any byte on.
pub struct Source<'a> {
    /// The name in messages.
    pub name: &'a str,
    /// The length in bytes.
    pub len: u64,
    /// The number of bytes that a thread reads at once.
    pub part: u64,
    /// Opens the file at this byte.
    pub open: &'a (dyn Fn(u64) -> io::Result<Box<dyn Read + 'a>> + Sync),
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Source").field("name", &self.name).field("len", &self.len).finish_non_exhaustive()
    }
}

/// The assumed line at the beginning of a part: any line except 1. Only line 1 of a file may begin
/// with a byte order mark.
const FIRST_LINE: usize = 2;

/// Reads the ballots in parts. Returns `None` if that is not possible, or if the file has an error.
pub(crate) fn in_parts(source: &Source<'_>, reading: Reading, each: Each<'_>) -> Option<Election> {
    let text = Text::new(source.name, (source.open)(0).ok()?);
    let (mut reader, header) = Reader::begin(text, reading, 1).ok()?;
    reader.text.warnings = Warnings::held_back();
    reader.before_ballots(&header).ok()?;
    let (begin, line) = (reader.text.position(), reader.text.line());
    let before_ballots = mem::take(&mut reader.text.warnings);
    let (end, lines) = reader.parts(source, begin, each)?;
    let line = line + lines;
    reader.text = held_back(Text::from_line(line, source.name, (source.open)(end).ok()?));
    let names = reader.after_ballots(&header, line);
    if names.is_ok() {
        // The file will not be read again, so the warnings can be issued.
        let behind_ballots = mem::take(&mut reader.text.warnings);
        reader.text.warnings.append(source.name, before_ballots);
        reader.text.warnings.append(source.name, behind_ballots);
    }
    reader.end(&header, names).ok().map(|(election, _)| election)
}

/// What a thread has read.
struct Part {
    ballots: Ballots,
    lines: u64,
    empty_lines: u64,
    /// The number of line ends in the part.
    line_ends: usize,
    /// If the ballots end in this part: the byte of the end in the file, and the number of lines of
    /// the part before the end.
    end: Option<(u64, usize)>,
}

impl<'a> Reader<'a> {
    /// Reads the ballots, which begin at this byte. Returns the byte at which they end, and the
    /// number of lines before it. Returns `None` unless all parts are plain.
    fn parts(&mut self, source: &Source<'a>, begin: u64, each: Each<'_>) -> Option<(u64, usize)> {
        let (nicknames, candidates, reading) = (&self.nicknames, &self.collected.candidates, self.reading);
        let read = |bytes: &Range<u64>| {
            let reader = (source.open)(bytes.start).ok()?.take(bytes.end - bytes.start);
            let text = held_back(Text::from_line(FIRST_LINE, source.name, Box::new(reader)));
            Reader::new(text, Arc::clone(nicknames), candidates.clone(), reading, 1).part(bytes.start)
        };
        let (mut ballots, mut line_ends) = (Vec::new(), 0);
        let cut = cut(source, begin).ok()?;
        let parts: Vec<OnceLock<Option<Part>>> = cut.iter().map(|_| OnceLock::new()).collect();
        each(cut.len(), &|number| {
            parts[number].get_or_init(|| read(&cut[number]));
        });
        for part in parts {
            let part = part.into_inner()??;
            self.collected.seen.lines += part.lines;
            self.collected.seen.empty_lines += part.empty_lines;
            ballots.push(part.ballots);
            if let Some((byte, lines)) = part.end {
                // The ballots end here, so later parts are not ballots.
                self.collected.ballots = Ballots::joined(ballots, each)?;
                return Some((byte, line_ends + lines));
            }
            line_ends += part.line_ends;
        }
        None
    }

    /// Reads a part of the ballots, which begins at this byte. The text of this reader is the part.
    /// Returns `None` if the part is not plain.
    fn part(mut self, begin: u64) -> Option<Part> {
        let mut ids = Ids::default();
        let end = loop {
            match self.ballot(&mut ids).ok()? {
                Step::Ballot => {}
                Step::Nothing => break None,
                // The 0 may be meant as a rank left out.
                Step::End(line) if line == self.collected.seen.last_line => return None,
                Step::End(line) => break Some((begin + self.text.position(), line - FIRST_LINE)),
            }
        };
        let Seen { lines, empty_lines, spanning, crowded, has_left_out, ref mended, .. } =
            self.collected.seen;
        let is_plain = ids.is_empty() && spanning == 0 && crowded == 0 && !has_left_out && mended.lines == 0;
        let line_ends = self.text.line() - FIRST_LINE;
        is_plain.then_some(Part { ballots: self.collected.ballots, lines, empty_lines, line_ends, end })
    }
}

/// The bytes of the parts: whole lines, and at least `source.part` bytes except in the last part.
fn cut(source: &Source<'_>, begin: u64) -> io::Result<Vec<Range<u64>>> {
    let (mut parts, mut start) = (Vec::new(), begin);
    while start < source.len {
        let end = source.len.min(start + source.part);
        let end = source.len.min(line_end(source, end)?);
        parts.push(start..end);
        start = end;
    }
    Ok(parts)
}

/// The end of the line that contains this byte. For the first byte of a line, returns the end of
/// the previous line.
fn line_end(source: &Source<'_>, at: u64) -> io::Result<u64> {
    let (mut reader, mut at) = ((source.open)(at - 1)?, at - 1);
    let mut bytes = [0; 1 << 12];
    loop {
        let read = reader.read(&mut bytes)?;
        if read == 0 {
            return Ok(source.len.max(at));
        }
        match bytes[..read].iter().position(|&byte| byte == b'\n') {
            Some(end) => return Ok(at + end as u64 + 1),
            None => at += read as u64,
        }
    }
}

/// Holds the warnings back, because the file may be read again.
fn held_back(mut text: Text<'_>) -> Text<'_> {
    text.warnings = Warnings::held_back();
    text
}

pub(crate) fn unreadable(source: &Source<'_>, error: &io::Error) -> InputError {
    InputError::new(source.name, 0, format!("cannot read {}: {error}", source.name))
}
