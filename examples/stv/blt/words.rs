//! The words of a BLT file and the lines they stand on; comments are not words.

use super::InputError;

/// Reads the text word by word. Copies are cheap and serve to look ahead.
#[derive(Debug, Clone)]
pub(super) struct Words<'a> {
    source: &'a str,
    rest: &'a str,
    line: usize,
    last_line: usize,
}

/// A run of characters between white space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

/// A name, title, source or comment at the end of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phrase<'a> {
    Quoted(Word<'a>),
    /// All of a line that does not start with a quote.
    Bare(Word<'a>),
    /// A quote that is not closed on its line.
    Unclosed(Word<'a>),
}

impl<'a> Phrase<'a> {
    pub(super) fn word(self) -> Word<'a> {
        match self {
            Self::Quoted(word) | Self::Bare(word) | Self::Unclosed(word) => word,
        }
    }
}

impl<'a> Words<'a> {
    pub(super) fn new(source: &'a str, text: &'a str) -> Self {
        Self { source, rest: text.strip_prefix('\u{feff}').unwrap_or(text), line: 1, last_line: 1 }
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

    pub(super) fn next(&mut self) -> Result<Option<Word<'a>>, InputError> {
        self.skip_comments()?;
        Ok(self.take_word())
    }

    /// The next word, where the file cannot end; `missing` says what it ends without.
    pub(super) fn expect(&mut self, missing: &str) -> Result<Word<'a>, InputError> {
        self.next()?.ok_or_else(|| self.error(self.last_line, format!("the file ends here, {missing}")))
    }

    /// The next quoted string, or line without quotes.
    pub(super) fn next_phrase(&mut self) -> Result<Option<Phrase<'a>>, InputError> {
        self.skip_comments()?;
        if self.rest.is_empty() {
            return Ok(None);
        }
        let line_end = self.rest.find('\n').unwrap_or(self.rest.len());
        let line = &self.rest[..line_end];
        let Some(quoted) = line.strip_prefix('"') else {
            return Ok(Some(Phrase::Bare(self.take(line_end))));
        };
        // A quote inside a name closes nothing: after a closing quote there is white space.
        let closes =
            |&(at, _): &(usize, &str)| quoted[at + 1..].chars().next().is_none_or(char::is_whitespace);
        let Some((length, _)) = quoted.match_indices('"').find(closes) else {
            return Ok(Some(Phrase::Unclosed(self.take(line_end))));
        };
        let word = Word { text: &quoted[..length], line: self.line };
        self.take(length + 2);
        Ok(Some(Phrase::Quoted(word)))
    }

    /// White space, `# …` to the end of the line, and `/* … */`, which nests word by word.
    fn skip_comments(&mut self) -> Result<(), InputError> {
        loop {
            self.skip_white_space();
            if self.rest.starts_with('#') {
                self.take(self.rest.find('\n').unwrap_or(self.rest.len()));
            } else if self.rest.starts_with("/*") {
                self.skip_block_comment()?;
            } else {
                return Ok(());
            }
        }
    }

    fn skip_block_comment(&mut self) -> Result<(), InputError> {
        let opened = self.line;
        let mut depth = 0_usize;
        loop {
            self.skip_white_space();
            let Some(word) = self.take_word() else {
                return Err(self.error(opened, "the comment that starts here is never closed; add */ after white space or at the end of a word"));
            };
            let opens = word.text.strip_prefix("/*");
            depth += usize::from(opens.is_some());
            depth -= usize::from(opens.unwrap_or(word.text).ends_with("*/"));
            if depth == 0 {
                return Ok(());
            }
        }
    }

    fn skip_white_space(&mut self) {
        let rest = self.rest.trim_start();
        self.take(self.rest.len() - rest.len());
    }

    fn take_word(&mut self) -> Option<Word<'a>> {
        let length = self.rest.find(char::is_whitespace).unwrap_or(self.rest.len());
        (length > 0).then(|| self.take(length))
    }

    /// The next `length` bytes without the white space at their end.
    fn take(&mut self, length: usize) -> Word<'a> {
        let (taken, rest) = self.rest.split_at(length);
        let word = Word { text: taken.trim_end(), line: self.line };
        if !word.text.is_empty() {
            self.last_line = self.line;
        }
        self.line += taken.matches('\n').count();
        self.rest = rest;
        word
    }
}
