//! A window on the bytes of a file: text that was read and not yet taken.

use super::{InputError, encoding};
use std::{
    io::{ErrorKind, Read},
    ops::Range,
};

/// The number of bytes that are read at once.
pub(super) const BLOCK: usize = 1 << 16;

/// A window on a file. Only the window is in memory.
pub(crate) struct Window<'a> {
    pub(super) source: &'a str,
    reader: Box<dyn Read + 'a>,
    buffer: Vec<u8>,
    /// `buffer[start..end]` is the window: text in UTF-8 whose lines all end in LF.
    start: usize,
    end: usize,
    /// The number of bytes of the file before the window.
    before: u64,
    /// Bytes beyond the window that may become text: part of a character, or a CR.
    held: usize,
    ended: bool,
    /// The error at the end of the window, if there is one. No text after the error can be read.
    broken: Option<InputError>,
    /// The line at the end of the window.
    end_line: usize,
    end_column: usize,
}

impl<'a> Window<'a> {
    /// A window on the text of `reader`, which begins with this line.
    pub(crate) fn new(source: &'a str, reader: Box<dyn Read + 'a>, line: usize) -> Self {
        Self {
            source,
            reader,
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            before: 0,
            held: 0,
            ended: false,
            broken: None,
            end_line: line,
            end_column: 1,
        }
    }

    /// The number of bytes taken.
    pub(super) fn before(&self) -> u64 {
        self.before
    }

    /// An error in this file.
    pub(crate) fn error(&self, line: usize, message: impl Into<String>) -> InputError {
        InputError { source: self.source.to_owned(), line, message: message.into() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Takes this many bytes out of the window.
    pub(crate) fn take(&mut self, bytes: usize) {
        self.start += bytes;
        self.before += bytes as u64;
    }

    /// The size of the window's memory, in bytes.
    #[cfg(test)]
    pub(super) fn capacity(&self) -> usize {
        self.buffer.len()
    }

    /// Appends a block of text to the window. Returns false at the end of the file.
    pub(crate) fn fill(&mut self) -> Result<bool, InputError> {
        let before = self.end - self.start;
        while !self.ended {
            self.buffer.copy_within(self.start..self.end + self.held, 0);
            (self.start, self.end) = (0, self.end - self.start);
            let read = self.end + self.held;
            if self.buffer.len() - read < BLOCK / 2 {
                self.buffer.resize(2 * self.buffer.len(), 0);
            }
            let more = match self.reader.read(&mut self.buffer[read..]) {
                Ok(more) => more,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => {
                    self.ended = true;
                    self.broken = Some(self.unreadable(&error));
                    break;
                }
            };
            self.ended = more == 0;
            self.admit(self.end..read + more);
            if self.end > before {
                return Ok(true);
            }
        }
        self.broken.clone().map_or(Ok(false), Err)
    }

    /// Adds the text in these bytes to the window. They are the last bytes of the buffer that were
    /// read.
    fn admit(&mut self, bytes: Range<usize>) {
        let at_start = self.end_line == 1 && self.end_column == 1;
        let marked = at_start && self.buffer[bytes.clone()].starts_with("\u{feff}".as_bytes());
        let read = &mut self.buffer[bytes.clone()];
        let (valid, invalid) = match std::str::from_utf8(read) {
            Ok(text) => (text.len(), false),
            // An error without a length means that the bytes end within a character.
            Err(error) => (error.valid_up_to(), self.ended || error.error_len().is_some()),
        };
        self.ended |= invalid;
        let valid = end_lines(&mut read[..valid], self.ended);
        let text = &read[..valid];
        let lines = text.iter().map(|&byte| usize::from(byte == b'\n')).sum::<usize>();
        let last = text.rsplit(|&byte| byte == b'\n').next().map_or(0, <[u8]>::len);
        self.end_line += lines;
        self.end_column = last + if lines > 0 { 1 } else { self.end_column };
        if invalid {
            let message = encoding::complaint(read[valid], self.end_column);
            self.broken = Some(self.error(self.end_line, message));
        }
        self.end = bytes.start + valid;
        self.held = bytes.end - self.end;
        if marked {
            // Skips the byte order mark, which some programs write first.
            self.take("\u{feff}".len());
        }
    }

    fn unreadable(&self, error: &std::io::Error) -> InputError {
        let so_far =
            if self.end_line > 1 { format!(" beyond line {}", self.end_line) } else { String::new() };
        let hint = match error.kind() {
            ErrorKind::InvalidInput | ErrorKind::InvalidData | ErrorKind::UnexpectedEof => {
                "; is the file complete?"
            }
            _ => "",
        };
        self.error(0, format!("cannot read {}{so_far}: {error}{hint}", self.source))
    }
}

/// Makes a CR a line end if no LF follows, as in files of old Macintosh programs. Returns the
/// length of the finished text. Unless all is read, this length excludes a CR at the end, since the
/// next byte may be an LF.
fn end_lines(text: &mut [u8], all_is_read: bool) -> usize {
    if !text.contains(&b'\r') {
        return text.len();
    }
    for at in 0..text.len() {
        if text[at] == b'\r' {
            match text.get(at + 1) {
                Some(b'\n') => {}
                None if !all_is_read => return at,
                _ => text[at] = b'\n',
            }
        }
    }
    text.len()
}
