//! Several ranks read one file. Each rank keeps a share of the ballots, and all other data.
//!
//! Each rank reads a piece of the file. Pieces are cut at line ends, and a rank assumes that its
//! piece begins between two ballots. A piece is *plain* if each line has one whole ballot, without
//! ids and without errors. If the first piece is plain, the second piece does begin between two
//! ballots, and so on. So if all pieces are plain up to the 0 after the ballots, the ranks together
//! have read what a single rank would read. All ranks then read the names after the ballots, and
//! exchange their numbers of ballots and lines.
//!
//! If a piece is not plain, all ranks read the whole file twice: first to count the ballots, then
//! to keep their own. Reading twice takes longer, and gives the error messages of a single rank.
//!
//! The threads of a rank read its piece in the same way, in parts.
//!
//! Shares are whole blocks of ballots, because sums of floating-point numbers need them. So a rank
//! leaves its first ballots to the previous rank if they belong to a block of that rank, and reads
//! beyond its piece to the end of its last block.

use super::{
    Header, InputError, Reader,
    ballots::{Ids, Step},
    text::Text,
};
use crate::{
    arithmetic::Integer,
    crew::Crew,
    election::{Ballots, Election, TieOrder, Turnout},
    ranks::{self, Elsewhere, Ranks},
    reading::Reading,
    warnings::Warnings,
    wire,
};
use std::{
    error::Error,
    io::{self, Read},
    mem,
    ops::Range,
};

mod parts;
#[cfg(test)]
mod tests;

/// A file that can be read more than once.
pub(crate) struct Source<'a> {
    /// The name in messages.
    pub(crate) name: &'a str,
    /// The length in bytes, if the file can be read from any byte on.
    pub(crate) len: Option<u64>,
    /// The number of bytes that a thread reads at once, if several threads read.
    pub(crate) part: u64,
    /// Opens the file at this byte.
    pub(crate) open: &'a (dyn Fn(u64) -> io::Result<Box<dyn Read + 'a>> + Sync),
}

/// The report of a rank on its piece of the ballots.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Report {
    /// The bytes of the piece.
    bytes: Range<u64>,
    /// The number of records, as `Ballots` keeps them.
    records: usize,
    turnout: Turnout,
    lines: u64,
    empty_lines: u64,
    /// The number of line ends in the piece.
    line_ends: usize,
    /// If the ballots end in this piece: the byte of the end in the file, and the number of lines
    /// of the piece before the end.
    end: Option<(u64, usize)>,
}

/// Reads the share of this rank: whole blocks, about the same number of ballots for each rank.
/// `block` sets the size of a block from the number of all ballots.
pub(crate) fn read_share(
    source: &Source<'_>,
    reading: Reading,
    block: fn(usize) -> usize,
    ranks: &dyn Ranks,
    crew: Crew<'_>,
) -> Result<Election, Box<dyn Error>> {
    // A rank without the file, or with another file, would not agree with the other ranks about the
    // pieces.
    let opened = source.len.map_or_else(|| (source.open)(0).map(|_| 0), Ok);
    let said = opened.map(|len| len.to_le_bytes().to_vec());
    let said = said.map_err(|error| Box::<dyn Error>::from(unreadable(source, &error)));
    ranks::agree(ranks, said, "its file has another length")?;
    let in_pieces = in_pieces(source, reading, block, ranks, crew)?;
    let was_in_pieces = in_pieces.is_some();
    let election = in_pieces.map_or_else(|| twice(source, reading, block, ranks), Ok);
    all_alike(election, was_in_pieces, ranks)
}

/// Returns this rank's election if all ranks have read the same election in the same way. A rank
/// that could not read reports its error. A rank with another election, or with another way of
/// reading, causes an error, since the shares would not fit together.
pub(crate) fn all_alike(
    election: Result<Election, InputError>,
    was_in_pieces: bool,
    ranks: &dyn Ranks,
) -> Result<Election, Box<dyn Error>> {
    let said = election.as_ref().map(|election| {
        let Election { title, candidates, seats, tie_break, tie_order, ballots, .. } = election;
        let mut said = vec![u8::from(was_in_pieces), u8::from(*tie_order == TieOrder::File)];
        wire::put_big(&ballots.total().to_big(), &mut said);
        let numbers = [ballots.number(), candidates.len(), *seats];
        numbers.iter().chain(tie_break).for_each(|&number| wire::put_word(number as u64, &mut said));
        wire::put_bytes(title.as_bytes(), &mut said);
        for candidate in candidates {
            said.push(candidate.withdrawn.into());
            wire::put_bytes(candidate.name.as_bytes(), &mut said);
            wire::put_bytes(candidate.party.as_deref().unwrap_or_default().as_bytes(), &mut said);
        }
        said
    });
    let said = said.map_err(|error| Box::<dyn Error>::from(error.to_string()));
    ranks::agree(ranks, said, "it has read another file")?;
    Ok(election?)
}

/// Reads the file in pieces, and keeps a share. Returns `None` if the file cannot be read in
/// pieces, a piece is not plain, or the rest of the file has an error. The caller then calls
/// `twice`, which gives the message of a single rank. If one rank returns an error, all ranks
/// return the same error.
fn in_pieces(
    source: &Source<'_>,
    reading: Reading,
    block: fn(usize) -> usize,
    ranks: &dyn Ranks,
    crew: Crew<'_>,
) -> Result<Option<Election>, Box<dyn Error>> {
    let piece = source.len.and_then(|len| Piece::read(source, len, reading, ranks, crew));
    let mut said = Vec::new();
    if let Some(report) = piece.as_ref().and_then(|piece| piece.report.as_ref()) {
        report.write(&mut said);
    }
    let heard = ranks::gather::<Box<dyn Error>>(ranks, Ok(said))?;
    let mut reports: Vec<Report> = Vec::new();
    for (rank, mut said) in heard.iter().map(|said| &said[..]).enumerate() {
        if said.is_empty() {
            return Ok(None); // the ballots have not ended yet, and this piece is not plain
        }
        let report = Report::read(&mut said).ok_or_else(|| Elsewhere::unreadable(rank))?;
        if reports.last().is_some_and(|before| before.bytes.end != report.bytes.start) {
            let reason = "it has read another file than the rank before it".to_owned();
            return Err(Elsewhere { rank, reason }.into());
        }
        let is_last = report.end.is_some();
        reports.push(report);
        if is_last {
            let number = reports.iter().map(|report| report.records).sum();
            let cut = |at: usize| at.next_multiple_of(block(number)).min(number);
            let mine = reports.get(..ranks.rank()).unwrap_or(&reports);
            let first: usize = mine.iter().map(|report| report.records).sum();
            let here = reports.get(ranks.rank()).map_or(0, |report| report.records);
            let share = cut(first)..cut(first + here);
            return Ok(piece.and_then(|piece| piece.keep(source, first, share, &reports).ok()));
        }
    }
    Ok(None) // the ballots do not end
}

/// A piece of the ballots, and the text before them.
struct Piece<'a> {
    header: Header,
    reader: Reader<'a>,
    /// The byte at which the piece ends.
    end: u64,
    /// The line on which the ballots begin.
    line: usize,
    /// The report, or `None` if the piece is not plain.
    report: Option<Report>,
    /// Warnings on the lines before the ballots.
    warnings: Warnings,
}

impl<'a> Piece<'a> {
    /// Reads the text before the ballots, and the piece of this rank. Returns `None` if the reading
    /// fails.
    fn read(
        source: &Source<'a>,
        len: u64,
        reading: Reading,
        ranks: &dyn Ranks,
        crew: Crew<'_>,
    ) -> Option<Self> {
        let text = Text::new(source.name, (source.open)(0).ok()?);
        let (mut reader, header) = Reader::begin(text, Ballots::new(), reading, 1).ok()?;
        reader.text.warnings = Warnings::held_back();
        reader.before_ballots(&header).ok()?;
        let (begin, line) = (reader.text.position(), reader.text.line());
        let cut = |rank: usize| -> Option<u64> {
            if rank == 0 {
                return Some(begin);
            }
            let part = u128::from(len.checked_sub(begin)?) * rank as u128 / ranks.number() as u128;
            let at = begin + u64::try_from(part).ok()?;
            line_end(source, at, len).ok()
        };
        let (start, end) = (cut(ranks.rank())?, cut(ranks.rank() + 1)?);
        let warnings = mem::take(&mut reader.text.warnings);
        let report = reader.piece(source, &(start..end), crew);
        Some(Self { header, reader, end, line, report, warnings })
    }

    /// Keeps the share of this rank, and reads the text after the ballots. The first record of the
    /// piece has number `first` among all.
    fn keep(
        self,
        source: &Source<'a>,
        first: usize,
        share: Range<usize>,
        reports: &[Report],
    ) -> Result<Election, Box<dyn Error>> {
        let Self { header, mut reader, end, line, warnings: before_ballots, .. } = self;
        let number = reports.iter().map(|report| report.records).sum();
        let turnout = reports.iter().fold(Turnout::NONE, |sums, report| sums.plus(&report.turnout));
        if !share.is_empty() && share.end > first + reader.ballots.records().len() {
            // Reads on to the end of the last block. All text up to the end of that block is plain.
            let bytes = (source.open)(end)?;
            reader.text = held_back(Text::from_line(2, source.name, bytes));
            while reader.ballots.records().len() < share.end - first
                && matches!(reader.ballot(&mut Ids::default())?, Step::Ballot)
            {}
        }
        reader.ballots.keep(first, share, number, turnout);

        let (last, before) = reports.split_last().expect("the ballots end in one of the pieces");
        let (names, lines) = last.end.expect("the ballots end in the last of these pieces");
        let line = line + before.iter().map(|report| report.line_ends).sum::<usize>() + lines;
        (reader.seen.spanning, reader.seen.crowded, reader.seen.last_line) = (0, 0, 0);
        reader.seen.lines = reports.iter().map(|report| report.lines).sum();
        reader.seen.empty_lines = reports.iter().map(|report| report.empty_lines).sum();
        reader.text = held_back(Text::from_line(line, source.name, (source.open)(names)?));
        let names = reader.after_ballots(&header, line);
        if names.is_ok() {
            // The file will not be read again, so the warnings can be issued.
            let behind_ballots = mem::take(&mut reader.text.warnings);
            reader.text.warnings.append(source.name, before_ballots);
            reader.text.warnings.append(source.name, behind_ballots);
        }
        let (election, _) = reader.end(&header, names).map_err(|mut errors| errors.remove(0))?;
        Ok(election)
    }
}

/// Holds the warnings back, because the file may be read again.
fn held_back(mut text: Text<'_>) -> Text<'_> {
    text.warnings = Warnings::held_back();
    text
}

pub(crate) fn unreadable(source: &Source<'_>, error: &io::Error) -> InputError {
    InputError {
        source: source.name.to_owned(),
        line: 0,
        message: format!("cannot read {}: {error}", source.name),
    }
}

/// The end of the line that contains this byte. For the first byte of a line, returns the end of
/// the previous line.
fn line_end(source: &Source<'_>, at: u64, len: u64) -> io::Result<u64> {
    let (mut reader, mut at) = ((source.open)(at - 1)?, at - 1);
    let mut bytes = [0; 1 << 12];
    loop {
        let read = reader.read(&mut bytes)?;
        if read == 0 {
            return Ok(len.max(at));
        }
        match bytes[..read].iter().position(|&byte| byte == b'\n') {
            Some(end) => return Ok(at + end as u64 + 1),
            None => at += read as u64,
        }
    }
}

/// Reads the whole file to count the ballots, and again to keep the share of this rank.
fn twice(
    source: &Source<'_>,
    reading: Reading,
    block: fn(usize) -> usize,
    ranks: &dyn Ranks,
) -> Result<Election, InputError> {
    let read = |share, is_for_good| {
        let bytes = (source.open)(0).map_err(|error| unreadable(source, &error))?;
        let text = Text::new(source.name, bytes);
        let text = if is_for_good { text } else { held_back(text) };
        let (mut reader, header) = Reader::begin(text, Ballots::sharing(share), reading, 1)?;
        let names = reader.rest(&header);
        reader.end(&header, names).map(|(election, _)| election).map_err(|mut errors| errors.remove(0))
    };
    counted_first(read, block, ranks)
}

/// Reads once to count the ballots, and again to keep the share of this rank. A single rank keeps
/// all ballots, and reads once.
pub(crate) fn counted_first(
    read: impl Fn(Range<usize>, bool) -> Result<Election, InputError>,
    block: fn(usize) -> usize,
    ranks: &dyn Ranks,
) -> Result<Election, InputError> {
    if ranks.number() == 1 {
        return read(0..usize::MAX, true);
    }
    let Ok(counted) = read(0..0, false) else { return read(0..0, true) };
    let number = counted.ballots.number();
    let blocks = number.div_ceil(block(number));
    let cut = |rank: usize| (blocks * rank / ranks.number() * block(number)).min(number);
    read(cut(ranks.rank())..cut(ranks.rank() + 1), true)
}

impl Report {
    fn write(&self, out: &mut Vec<u8>) {
        wire::put_word(self.bytes.start, out);
        wire::put_word(self.bytes.end, out);
        wire::put_word(self.records as u64, out);
        let Turnout { total, with_equal_ranks, empty } = &self.turnout;
        for sum in [total, with_equal_ranks, empty] {
            wire::put_big(&sum.to_big(), out);
        }
        wire::put_word(self.lines, out);
        wire::put_word(self.empty_lines, out);
        wire::put_word(self.line_ends as u64, out);
        if let Some((byte, lines)) = self.end {
            wire::put_word(byte, out);
            wire::put_word(lines as u64, out);
        }
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let bytes = wire::word(from)?..wire::word(from)?;
        let records = usize::try_from(wire::word(from)?).ok()?;
        let mut sum = || wire::big(from).map(Integer::from_big);
        let turnout = Turnout { total: sum()?, with_equal_ranks: sum()?, empty: sum()? };
        let (lines, empty_lines) = (wire::word(from)?, wire::word(from)?);
        let line_ends = usize::try_from(wire::word(from)?).ok()?;
        let end = if from.is_empty() {
            None
        } else {
            Some((wire::word(from)?, usize::try_from(wire::word(from)?).ok()?))
        };
        from.is_empty().then_some(Self { bytes, records, turnout, lines, empty_lines, line_ends, end })
    }
}
