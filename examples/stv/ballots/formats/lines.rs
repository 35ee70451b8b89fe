//! The lines of a file as a stream.

use crate::blt::{InputError, Window};
use std::io::Read;

/// The largest length of a line: twice the length of a ballot that ranks the largest number of
/// candidates. At this limit, reading a file that is not a ballot file fails before the file fills
/// the memory.
const LONGEST: usize = 1 << 24;

/// Reads line by line. Only the present line and the rest of its block are in memory.
pub(super) struct Lines<'a> {
    pub(super) source: &'a str,
    window: Window<'a>,
    /// The number of the last line.
    number: usize,
    /// The last line takes this many bytes of the window. The next call removes that line.
    given: usize,
}

impl<'a> Lines<'a> {
    pub(super) fn new(source: &'a str, reader: Box<dyn Read + 'a>) -> Self {
        Self { source, window: Window::new(source, reader, 1), number: 0, given: 0 }
    }

    /// The next line and its number. The line excludes its end and the blanks around it. `None` at
    /// the end of the file.
    pub(super) fn next(&mut self) -> Result<Option<(usize, &str)>, InputError> {
        self.window.take(std::mem::take(&mut self.given));
        let mut searched = 0;
        let end = loop {
            let rest = &self.window.bytes()[searched..];
            let end = rest.iter().position(|&byte| byte == b'\n');
            searched += end.unwrap_or(rest.len());
            // A long line is an error even if its end is already in the window. So the result does
            // not depend on the size of blocks.
            if searched > LONGEST {
                let message = "this line is longer than 16 MiB; this is no ballot file";
                return Err(self.window.error(self.number + 1, message));
            }
            if end.is_some() || !self.window.fill()? {
                break end;
            }
        };
        if searched == 0 && end.is_none() {
            return Ok(None);
        }
        self.given = searched + usize::from(end.is_some());
        self.number += 1;
        let line = std::str::from_utf8(&self.window.bytes()[..searched]);
        Ok(Some((self.number, line.expect("the window is text and is cut at ends of lines").trim())))
    }
}

/// The fields of a line of a CSV file, separated by commas. A field excludes the quotes and the
/// blanks around it. Doubled quotes inside become single.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a>(Option<&'a str>);

/// A field, without or with quotes around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Field<'a> {
    Bare(&'a str),
    Quoted(String),
}

impl<'a> Fields<'a> {
    pub(super) fn of(line: &'a str) -> Self {
        Self(Some(line))
    }
}

impl Field<'_> {
    pub(super) fn text(&self) -> &str {
        match self {
            Self::Bare(text) => text,
            Self::Quoted(text) => text,
        }
    }

    /// Whether the field is empty and has no quotes.
    pub(super) fn is_missing(&self) -> bool {
        *self == Field::Bare("")
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<Field<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.0.take()?;
        let Some(mut rest) = line.trim_start().strip_prefix('"') else {
            let (field, rest) =
                line.split_once(',').map_or((line, None), |(field, rest)| (field, Some(rest)));
            self.0 = rest;
            return Some(Ok(Field::Bare(field.trim())));
        };
        let mut text = String::new();
        loop {
            let Some((inside, after)) = rest.split_once('"') else {
                return Some(Err("a quote is not closed on its line; add it".to_owned()));
            };
            text += inside;
            if let Some(after) = after.strip_prefix('"') {
                text.push('"');
                rest = after;
                continue;
            }
            let after = after.trim_start();
            if !after.is_empty() && !after.starts_with(',') {
                let message = "after the quote that ends a field there is no comma; add it, or double the quotes within the field";
                return Some(Err(message.to_owned()));
            }
            self.0 = after.strip_prefix(',');
            return Some(Ok(Field::Quoted(text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_any_length_in_blocks_of_any_size() {
        let text = format!("\u{feff} a \r\n\nb{}\rc é\n{}", " ".repeat(40_000), "d".repeat(300_000));
        for most in [1, 7, 4096, 1 << 20] {
            let mut bytes = text.as_bytes();
            let trickle = std::io::BufReader::with_capacity(most, &mut bytes);
            let mut lines = Lines::new("test", Box::new(trickle));
            let mut all = Vec::new();
            while let Some((number, line)) = lines.next().unwrap() {
                all.push((number, line.to_owned()));
            }
            let found: Vec<_> =
                all.iter().map(|(number, line)| (*number, &line[..line.len().min(4)])).collect();
            assert_eq!(found, [(1, "a"), (2, ""), (3, "b"), (4, "c é"), (5, "dddd")]);
            assert_eq!(all[4].1.len(), 300_000);
        }
        let mut endless = Lines::new("test", Box::new(std::io::repeat(b'x')));
        assert!(endless.next().unwrap_err().to_string().starts_with("test:1: this line is longer"));
    }

    #[test]
    fn fields_with_and_without_quotes() {
        let fields = |line| Fields::of(line).collect::<Result<Vec<_>, _>>();
        let (bare, quoted) = (Field::Bare, |text: &str| Field::Quoted(text.to_owned()));
        assert_eq!(fields("7, 4 ,").unwrap(), [bare("7"), bare("4"), bare("")]);
        assert_eq!(
            fields("\"a, \"\"b\"\"\" ,\"\", c\"d,").unwrap(),
            [quoted("a, \"b\""), quoted(""), bare("c\"d"), bare("")]
        );
        for wrong in ["\"a", "\"\"a\"\",", "1,\"a\"b", "\"a\"\"", "\""] {
            assert!(fields(wrong).is_err(), "{wrong}");
        }
    }
}
