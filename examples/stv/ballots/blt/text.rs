//! The text of a BLT file as a stream of words and their lines. Comments are not words.

use super::{
    InputError,
    quotes::{OPENING, doubled, quoted},
    window::Window,
};
use crate::warnings::Warnings;
use std::io::Read;

/// The largest length of a word, or of a line of names. No real file has such long ones. At this
/// limit, reading a file that is not a ballot file fails before the file fills the memory.
pub(super) const LONGEST: usize = 1 << 16;

/// Reads word by word.
pub(super) struct Text<'a> {
    window: Window<'a>,
    /// A line of names, and the number of its bytes that are not taken yet. The reader searches for
    /// the end of the line, and checks that it is UTF-8, only once.
    names: String,
    names_left: usize,
    line: usize,
    last_line: usize,
    pub(super) warnings: Warnings,
    /// The names of candidates in comments, each with the candidate's number, if the caller wants
    /// these names.
    pub(super) names_in_comments: Option<Vec<(usize, String)>>,
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
    /// A quoted text with doubled inner quotes, as in CSV. In the word each doubled quote is one
    /// quote.
    Doubled(Word),
    /// A whole line that does not start with a quote.
    Bare(Word),
    /// A quote that is not closed on its line.
    Unclosed(Word),
}

impl Phrase {
    pub(super) fn word(&self) -> &Word {
        match self {
            Self::Quoted(word) | Self::Doubled(word) | Self::Bare(word) | Self::Unclosed(word) => word,
        }
    }

    pub(super) fn into_word(self) -> Word {
        match self {
            Self::Quoted(word) | Self::Doubled(word) | Self::Bare(word) | Self::Unclosed(word) => word,
        }
    }
}

impl<'a> Text<'a> {
    pub(super) fn new(source: &'a str, reader: Box<dyn Read + 'a>) -> Self {
        Self::from_line(1, source, reader)
    }

    /// Text from the middle of a file, beginning with this line.
    pub(super) fn from_line(line: usize, source: &'a str, reader: Box<dyn Read + 'a>) -> Self {
        Self {
            window: Window::new(source, reader, line),
            names: String::new(),
            names_left: 0,
            line,
            last_line: line,
            warnings: Warnings::default(),
            names_in_comments: None,
        }
    }

    /// The number of bytes read, comments and white space included.
    pub(super) fn position(&self) -> u64 {
        self.window.before()
    }

    /// The line that is being read.
    pub(super) fn line(&self) -> usize {
        self.line
    }

    /// An error in this file.
    pub(super) fn error(&self, line: usize, message: impl Into<String>) -> InputError {
        self.window.error(line, message)
    }

    /// Warns the user, and does not stop the count. Drops the warning if there were too many of its
    /// kind. Warnings from the same call in the source code are of the same kind.
    #[track_caller]
    pub(super) fn warn(&mut self, line: usize, message: &str) {
        self.warnings.add(self.window.source, line, message);
    }

    /// Reports the number of dropped warnings.
    pub(super) fn warn_of_the_rest(&mut self) {
        self.warnings.rest(self.window.source);
    }

    /// The line of the last thing read.
    pub(super) fn last_line(&self) -> usize {
        self.last_line
    }

    /// The part of the coming text that is in memory.
    pub(super) fn window(&self) -> &[u8] {
        self.window.bytes()
    }

    /// Skips this many bytes of the window, which contain this many line ends. The last byte must
    /// not be white space.
    pub(super) fn pass(&mut self, bytes: usize, lines: usize) {
        self.take(bytes);
        self.line += lines;
        self.last_line = self.line;
    }

    /// Takes the next word.
    pub(super) fn next(&mut self) -> Result<Option<Word>, InputError> {
        let Some(text) = self.peek()?.map(str::to_owned) else { return Ok(None) };
        let line = self.line;
        self.pass(text.len(), 0);
        Ok(Some(Word { text, line }))
    }

    /// Returns the next word without taking it.
    pub(super) fn peek(&mut self) -> Result<Option<&str>, InputError> {
        self.skip_comments()?;
        let length = self.word_length()?;
        Ok((length > 0).then(|| self.str(length)))
    }

    /// Takes the next word. If the file ends here, returns an error with the text of `missing`.
    pub(super) fn expect(&mut self, missing: impl FnOnce() -> String) -> Result<Word, InputError> {
        let word = self.next()?;
        word.ok_or_else(|| self.error(self.last_line, format!("the file ends here, {}", missing())))
    }

    /// Takes the next quoted string, or the next line without quotes.
    pub(super) fn next_phrase(&mut self) -> Result<Option<Phrase>, InputError> {
        self.skip_comments()?;
        while self.names_left == 0 {
            let length = self.length_until(0, line_end)?;
            if length == 0 {
                return Ok(None);
            }
            self.names = self.str(length).trim_end_matches(is_blank).to_owned();
            self.names_left = self.names.len();
            if self.names_left == 0 {
                self.take(length);
                self.skip_comments()?;
            }
        }
        let text = &self.names[self.names.len() - self.names_left..];
        let line = self.line;
        let (phrase, length) = if let Some((string, length)) = doubled(text) {
            let phrase = if string.contains('"') { Phrase::Doubled } else { Phrase::Quoted };
            (phrase(Word { text: string, line }), length)
        } else if let Some((string, length)) = quoted(text) {
            (Phrase::Quoted(Word { text: string.to_owned(), line }), length)
        } else {
            let phrase = if text.starts_with(OPENING) { Phrase::Unclosed } else { Phrase::Bare };
            (phrase(Word { text: text.trim_end().to_owned(), line }), text.len())
        };
        self.pass(length, 0);
        Ok(Some(phrase))
    }

    /// The words of the rest of this line and of the next one, without taking them, as far as they
    /// are in memory or can be read. A comment to the end of its line is left out.
    pub(super) fn coming_lines(&mut self) -> (Vec<&str>, Vec<&str>) {
        let ends = |window: &[u8]| window.iter().filter(|&&byte| byte == b'\n').take(2).count();
        while ends(self.window()) < 2
            && self.window().len() < 2 * LONGEST
            && self.window.fill().unwrap_or_default()
        {}
        let mut lines = self.window().split(|&byte| byte == b'\n');
        let mut words = || {
            let line = lines.next().and_then(|line| str::from_utf8(line).ok()).unwrap_or_default();
            line.split_whitespace().take_while(|word| !word.starts_with('#')).collect()
        };
        (words(), words())
    }

    /// Skips the rest of the line. Returns false at the end of the file.
    pub(super) fn skip_line(&mut self) -> Result<bool, InputError> {
        loop {
            if let Some(at) = self.window().iter().position(|&byte| byte == b'\n') {
                self.take(at + 1);
                self.line += 1;
                return Ok(true);
            }
            self.take(self.window().len());
            if !self.window.fill()? {
                return Ok(false);
            }
        }
    }

    /// Skips white space, `# …` to the end of the line, and `/* … */`. Inside a comment, a word
    /// that begins with `/*` begins a nested comment.
    fn skip_comments(&mut self) -> Result<(), InputError> {
        loop {
            self.skip_white_space()?;
            while self.window().len() < 2 && self.window.fill()? {}
            match self.window() {
                [b'#', ..] => {
                    self.last_line = self.line;
                    self.name_in_comment()?;
                    self.skip_line()?;
                }
                [b'/', b'*', ..] => self.skip_block_comment()?,
                _ => return Ok(()),
            }
        }
    }

    /// Records the name of a candidate in the next comment, if the caller wants such names.
    fn name_in_comment(&mut self) -> Result<(), InputError> {
        const BEGINNING: &str = "# ALTERNATIVE NAME ";
        if self.names_in_comments.is_none() {
            return Ok(());
        }
        while self.window().len() < BEGINNING.len() && self.window.fill()? {}
        if !self.window().starts_with(BEGINNING.as_bytes()) {
            return Ok(());
        }
        let length = self.length_until(0, line_end)?;
        let named = self.str(length)[BEGINNING.len()..].split_once(':');
        let named = named.and_then(|(number, name)| Some((number.parse().ok()?, name.trim().to_owned())));
        self.names_in_comments.iter_mut().for_each(|names| names.extend(named.clone()));
        Ok(())
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
            self.take(self.window().len() - left);
            self.line += lines;
            if left > 0 || !self.window.fill()? {
                return Ok(());
            }
        }
    }

    /// The length of the first word of the window.
    fn word_length(&mut self) -> Result<usize, InputError> {
        self.length_until(0, |rest| (0..rest.len()).find(|&at| white_space(&rest[at..]).is_some()))
    }

    fn take(&mut self, bytes: usize) {
        self.window.take(bytes);
        self.names_left = self.names_left.saturating_sub(bytes);
    }

    /// Returns the distance to the match of `find`, or to the end of the file. Reads all bytes up
    /// to that place into the window. The first `searched` bytes have no match.
    fn length_until(
        &mut self,
        mut searched: usize,
        find: impl Fn(&[u8]) -> Option<usize>,
    ) -> Result<usize, InputError> {
        loop {
            let rest = &self.window()[searched..];
            let found = find(rest);
            searched += found.unwrap_or(rest.len());
            // A long word is an error even if its end is already in the window. So the result does
            // not depend on the size of blocks.
            if searched > LONGEST {
                let message = "what stands here is longer than 64 KiB without an end; this is no ballot file";
                return Err(self.error(self.line, message));
            }
            if found.is_some() || !self.window.fill()? {
                return Ok(searched);
            }
        }
    }

    /// The beginning of the window, as text.
    fn str(&self, length: usize) -> &str {
        std::str::from_utf8(&self.window()[..length]).expect("the window is text and is cut at white space")
    }
}

/// White space, or the characters that DOS and disks leave behind the end of a text.
fn is_blank(character: char) -> bool {
    character.is_whitespace() || matches!(character, '\u{1a}' | '\0')
}

fn line_end(rest: &[u8]) -> Option<usize> {
    rest.iter().position(|&byte| byte == b'\n')
}

/// The length of the white space character at the beginning of these bytes.
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
    use super::{super::window::BLOCK, *};

    #[test]
    fn long_comments_take_no_memory() {
        let line = std::io::repeat(b'#').take(10 << 20);
        let words = b"# /* \n".repeat(1 << 18);
        let block = b"/* ".chain(&words[..]).chain(&b" */"[..]);
        let blanks = std::io::repeat(b' ').take(10 << 20);
        let mut reader = line.chain(&b"\n"[..]).chain(blanks).chain(block).chain(&b" */ word"[..]);
        let mut reader = b"/* ".chain(&mut reader as &mut dyn Read);
        let mut text = Text::new("test", Box::new(&mut reader));
        assert!(text.next().is_err_and(|error| error.line == 1), "the blocks are not balanced");
        assert!(text.window.capacity() <= 2 * (LONGEST + BLOCK), "{} bytes", text.window.capacity());
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
