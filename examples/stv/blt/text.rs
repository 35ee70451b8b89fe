//! The text of a BLT file as it streams in: words, and the lines they stand on. Comments are not words.
//!
//! Only a window of the text is in memory, however long the file is.

use super::{InputError, encoding};
use std::{
    io::{ErrorKind, Read},
    ops::Range,
};

/// How much is read at once.
const BLOCK: usize = 1 << 16;
/// Longer than any word or name of an honest file; what is no ballot file at all ends here and not with the memory.
const LONGEST: usize = 1 << 20;

/// Reads word by word.
pub(super) struct Text<'a> {
    source: &'a str,
    reader: &'a mut dyn Read,
    buffer: Vec<u8>,
    /// `buffer[start..end]` is the window: text in UTF-8 whose lines all end in LF, not yet taken.
    start: usize,
    end: usize,
    /// What has been read beyond the window and may become text: part of a character, or a CR.
    held: usize,
    ended: bool,
    /// Why there is no text beyond the window.
    broken: Option<InputError>,
    /// Where the window begins.
    line: usize,
    last_line: usize,
    /// Where it ends.
    end_line: usize,
    end_column: usize,
}

/// A run of characters between white space.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    pub(super) line: usize,
}

/// A name, title, source or comment at the end of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Phrase {
    Quoted(Word),
    /// All of a line that does not start with a quote.
    Bare(Word),
    /// A quote that is not closed on its line.
    Unclosed(Word),
}

impl Phrase {
    pub(super) fn word(&self) -> &Word {
        match self {
            Self::Quoted(word) | Self::Bare(word) | Self::Unclosed(word) => word,
        }
    }
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str, reader: &'a mut dyn Read) -> Self {
        Self {
            source,
            reader,
            buffer: vec![0; BLOCK],
            start: 0,
            end: 0,
            held: 0,
            ended: false,
            broken: None,
            line: 1,
            last_line: 1,
            end_line: 1,
            end_column: 1,
        }
    }

    /// An error in this file.
    pub(super) fn error(&self, line: usize, message: impl Into<String>) -> InputError {
        InputError { source: self.source.to_owned(), line, message: message.into() }
    }

    /// Something to tell the user that does not stop the count.
    pub(super) fn warn(&self, line: usize, message: &str) {
        log::warn!("{}:{line}: {message}", self.source);
    }

    /// The line of the last thing read.
    pub(super) fn last_line(&self) -> usize {
        self.last_line
    }

    /// What is in memory of the text that comes next.
    pub(super) fn window(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Goes on after so many bytes of the window, with so many lines ends among them; the last one is no white space.
    pub(super) fn pass(&mut self, bytes: usize, lines: usize) {
        self.start += bytes;
        self.line += lines;
        self.last_line = self.line;
    }

    /// The next word, which is then taken.
    pub(super) fn next(&mut self) -> Result<Option<Word>, InputError> {
        let Some(text) = self.peek()?.map(str::to_owned) else { return Ok(None) };
        let line = self.line;
        self.pass(text.len(), 0);
        Ok(Some(Word { text, line }))
    }

    /// The next word, which stays.
    pub(super) fn peek(&mut self) -> Result<Option<&str>, InputError> {
        self.skip_comments()?;
        let length = self.word_length()?;
        Ok((length > 0).then(|| self.str(length)))
    }

    /// The next word, where the file cannot end; `missing` says what it ends without.
    pub(super) fn expect(&mut self, missing: impl FnOnce() -> String) -> Result<Word, InputError> {
        let word = self.next()?;
        word.ok_or_else(|| self.error(self.last_line, format!("the file ends here, {}", missing())))
    }

    /// The next quoted string, or line without quotes.
    pub(super) fn next_phrase(&mut self) -> Result<Option<Phrase>, InputError> {
        self.skip_comments()?;
        let line_end = self.length_until(|rest| rest.iter().position(|&byte| byte == b'\n'))?;
        if line_end == 0 {
            return Ok(None);
        }
        let text = self.str(line_end);
        let line = self.line;
        let Some(quoted) = text.strip_prefix('"') else {
            let text = text.trim_end().to_owned();
            self.pass(line_end, 0);
            return Ok(Some(Phrase::Bare(Word { text, line })));
        };
        // A quote inside a name closes nothing: after a closing quote there is white space.
        let closes =
            |&(at, _): &(usize, &str)| quoted[at + 1..].chars().next().is_none_or(char::is_whitespace);
        let Some((length, _)) = quoted.match_indices('"').find(closes) else {
            let text = text.trim_end().to_owned();
            self.pass(line_end, 0);
            return Ok(Some(Phrase::Unclosed(Word { text, line })));
        };
        let text = quoted[..length].to_owned();
        self.pass(length + 2, 0);
        Ok(Some(Phrase::Quoted(Word { text, line })))
    }

    /// Leaves out the rest of the line; false at the end of the file.
    pub(super) fn skip_line(&mut self) -> Result<bool, InputError> {
        loop {
            if let Some(at) = self.window().iter().position(|&byte| byte == b'\n') {
                self.start += at + 1;
                self.line += 1;
                return Ok(true);
            }
            self.start = self.end;
            if !self.fill()? {
                return Ok(false);
            }
        }
    }

    /// White space, `# …` to the end of the line, and `/* … */`, which nests word by word.
    fn skip_comments(&mut self) -> Result<(), InputError> {
        loop {
            self.skip_white_space()?;
            while self.window().len() < 2 && self.fill()? {}
            match self.window() {
                [b'#', ..] => {
                    self.last_line = self.line;
                    self.skip_line()?;
                }
                [b'/', b'*', ..] => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), InputError> {
        let opened = self.line;
        let mut depth = 0_usize;
        loop {
            self.skip_white_space()?;
            let length = self.word_length()?;
            if length == 0 {
                return Err(self.error(opened, "the comment that starts here is never closed; add */ after white space or at the end of a word"));
            }
            let word = &self.window()[..length];
            let opens = word.strip_prefix(b"/*");
            depth += usize::from(opens.is_some());
            depth -= usize::from(opens.unwrap_or(word).ends_with(b"*/"));
            self.pass(length, 0);
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_white_space(&mut self) -> Result<(), InputError> {
        loop {
            let mut rest = self.window();
            let mut lines = 0;
            while let Some(length) = white_space(rest) {
                lines += usize::from(rest[0] == b'\n');
                rest = &rest[length..];
            }
            let left = rest.len();
            self.start = self.end - left;
            self.line += lines;
            if left > 0 || !self.fill()? {
                return Ok(());
            }
        }
    }

    /// How long the word is that the window begins with.
    fn word_length(&mut self) -> Result<usize, InputError> {
        self.length_until(|rest| (0..rest.len()).find(|&at| white_space(&rest[at..]).is_some()))
    }

    /// How far it is to what `find` looks for, or to the end of the file; all of it is then in the window.
    fn length_until(&mut self, find: impl Fn(&[u8]) -> Option<usize>) -> Result<usize, InputError> {
        let mut searched = 0;
        loop {
            let rest = &self.window()[searched..];
            if let Some(at) = find(rest) {
                return Ok(searched + at);
            }
            searched += rest.len();
            if searched > LONGEST {
                let message = "what stands here is longer than 1 MiB without an end; this is no ballot file";
                return Err(self.error(self.line, message));
            }
            if !self.fill()? {
                return Ok(searched);
            }
        }
    }

    /// The beginning of the window, cut between two characters.
    fn str(&self, length: usize) -> &str {
        std::str::from_utf8(&self.window()[..length]).expect("the window is text and is cut at white space")
    }

    /// Reads a block of text to the end of the window; false at the end of the file.
    fn fill(&mut self) -> Result<bool, InputError> {
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

    /// Takes the text among these bytes, the last ones read, into the window.
    fn admit(&mut self, bytes: Range<usize>) {
        let at_start = self.end_line == 1 && self.end_column == 1;
        let read = &mut self.buffer[bytes.clone()];
        let (valid, invalid) = match std::str::from_utf8(read) {
            Ok(text) => (text.len(), false),
            // What has no length is the beginning of a character.
            Err(error) => (error.valid_up_to(), self.ended || error.error_len().is_some()),
        };
        self.ended |= invalid;
        let valid = end_lines(&mut read[..valid], self.ended);
        let text = &read[..valid];
        let lines = text.iter().map(|&byte| usize::from(byte == b'\n')).sum::<usize>();
        let last = text.rsplit(|&byte| byte == b'\n').next().map_or(0, <[u8]>::len);
        self.end_line += lines;
        self.end_column = last + if lines > 0 { 1 } else { self.end_column };
        if at_start && text.starts_with("\u{feff}".as_bytes()) {
            // The mark of UTF-8 that some programs write first.
            self.start += "\u{feff}".len();
        }
        if invalid {
            let message = encoding::complaint(&read[valid..], self.end_column, self.end_line == 1);
            self.broken = Some(self.error(self.end_line, message));
        }
        self.end = bytes.start + valid;
        self.held = bytes.end - self.end;
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

/// Makes a CR a line end if no LF follows, as in files of old Macintosh programs. Returns how much of the text is then certain:
/// what comes after a CR at the end is known only once all is read.
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

/// The length of the white space character that these bytes begin with.
fn white_space(text: &[u8]) -> Option<usize> {
    match text {
        [b' ' | b'\t'..=b'\r', ..] => Some(1),
        [0xc2, 0x85 | 0xa0, ..] => Some(2),
        [0xe1, 0x9a, 0x80, ..]
        | [0xe2, 0x80, 0x80..=0x8a | 0xa8 | 0xa9 | 0xaf, ..]
        | [0xe2, 0x81, 0x9f, ..]
        | [0xe3, 0x80, 0x80, ..] => Some(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_comments_take_no_memory() {
        let line = std::io::repeat(b'#').take(10 << 20);
        let words = b"# /* \n".repeat(1 << 18);
        let block = b"/* ".chain(&words[..]).chain(&b" */"[..]);
        let blanks = std::io::repeat(b' ').take(10 << 20);
        let mut reader = line.chain(&b"\n"[..]).chain(blanks).chain(block).chain(&b" */ word"[..]);
        let mut reader = b"/* ".chain(&mut reader as &mut dyn Read);
        let mut text = Text::new("test", &mut reader);
        assert!(text.next().is_err_and(|error| error.line == 1), "the blocks are not balanced");
        assert!(text.buffer.len() <= 2 * LONGEST + BLOCK, "{} bytes", text.buffer.len());
    }

    #[test]
    fn white_space_is_what_unicode_says() {
        for character in '\0'..=char::MAX {
            let mut bytes = [0; 4];
            let text = character.encode_utf8(&mut bytes).as_bytes();
            let wanted = character.is_whitespace().then_some(text.len());
            assert_eq!(white_space(text), wanted, "{character:?}");
        }
    }
}
