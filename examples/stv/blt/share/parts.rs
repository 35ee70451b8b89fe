//! Divides a long piece of the ballots into parts. The threads of a process read the parts at the
//! same time, each part like a piece. The ballots of all parts are then joined.

use super::{Report, Source, held_back, line_end};
use crate::{
    blt::{
        Reader, Seen,
        ballots::{Ids, Step},
        text::Text,
    },
    crew::Crew,
    election::Ballots,
};
use std::{
    io::{self, Read},
    ops::Range,
    sync::Arc,
};

/// The assumed line at the beginning of a part: any line except 1. Only line 1 of a file may begin
/// with a byte order mark.
const FIRST_LINE: usize = 2;

/// A piece with fewer parts than this is read by one thread.
const FEW: u64 = 4;

impl<'a> Reader<'a> {
    /// Reads a piece of the ballots of this file. The reader must not have read any ballots.
    /// Returns `None` if the piece is not plain.
    pub(super) fn piece(
        &mut self,
        source: &Source<'a>,
        bytes: &Range<u64>,
        crew: Crew<'_>,
    ) -> Option<Report> {
        if crew.is_alone() || (bytes.end - bytes.start) / source.part < FEW || !self.candidates.are_few() {
            self.text = part(source, bytes).ok()?;
            return self.part(bytes);
        }
        let parts = parts(source, bytes).ok()?;
        let (nicknames, candidates, reading) = (&self.nicknames, &self.candidates, self.reading);
        let read = |(): &mut (), bytes: &Range<u64>| {
            let text = part(source, bytes).ok()?;
            let mut reader =
                Reader::new(text, Arc::clone(nicknames), candidates.clone(), Ballots::new(), reading, 1);
            let report = reader.part(bytes)?;
            Some((report, reader.ballots))
        };
        let (mut reports, mut ballots) = (Vec::new(), Vec::new());
        for read in crew.map(&parts, || (), read) {
            let (report, its_ballots) = read?;
            let is_last = report.end.is_some();
            reports.push(report);
            ballots.push(its_ballots);
            if is_last {
                break; // the ballots end here, so later parts are not ballots
            }
        }
        self.ballots = Ballots::joined(ballots, crew)?;
        let before: usize = reports.iter().rev().skip(1).map(|report| report.line_ends).sum();
        Some(Report {
            bytes: bytes.clone(),
            records: reports.iter().map(|report| report.records).sum(),
            turnout: self.ballots.turnout().clone(),
            lines: reports.iter().map(|report| report.lines).sum(),
            empty_lines: reports.iter().map(|report| report.empty_lines).sum(),
            line_ends: reports.iter().map(|report| report.line_ends).sum(),
            end: reports.last()?.end.map(|(byte, lines)| (byte, before + lines)),
        })
    }

    /// Reads a part of the ballots. The text of this reader is the part. Returns `None` if the part
    /// is not plain.
    fn part(&mut self, bytes: &Range<u64>) -> Option<Report> {
        let mut ids = Ids::default();
        let end = loop {
            match self.ballot(&mut ids).ok()? {
                Step::Ballot => {}
                Step::Nothing => break None,
                // The 0 may be meant as a rank left out.
                Step::End(line) if line == self.seen.last_line => return None,
                Step::End(line) => break Some((bytes.start + self.text.position(), line - FIRST_LINE)),
            }
        };
        let Seen { spanning, crowded, ref mended, .. } = self.seen;
        let is_plain = ids.is_empty() && spanning == 0 && crowded == 0 && mended.lines == 0;
        is_plain.then(|| Report {
            bytes: bytes.clone(),
            records: self.ballots.records().len(),
            turnout: self.ballots.turnout().clone(),
            lines: self.seen.lines,
            empty_lines: self.seen.empty_lines,
            line_ends: self.text.line() - FIRST_LINE,
            end,
        })
    }
}

/// The parts of a piece: whole lines, and at least this many bytes, except in the last part.
fn parts(source: &Source<'_>, bytes: &Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let (mut parts, mut start) = (Vec::new(), bytes.start);
    while start < bytes.end {
        let at = bytes.end.min(start + source.part);
        let end = bytes.end.min(line_end(source, at, bytes.end)?);
        parts.push(start..end);
        start = end;
    }
    Ok(parts)
}

fn part<'a>(source: &Source<'a>, bytes: &Range<u64>) -> io::Result<Text<'a>> {
    let reader = (source.open)(bytes.start)?.take(bytes.end - bytes.start);
    Ok(held_back(Text::from_line(FIRST_LINE, source.name, Box::new(reader))))
}
