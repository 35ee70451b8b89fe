//! Quotes around the names of candidates and the title.

use super::parties::looks_like_two;

/// Text processors make quotes typographic, English or German, without being asked.
pub(super) const OPENING: [char; 4] = ['"', '“', '”', '„'];

/// The string in quotes that the line begins with, and its length with them. A quote inside closes
/// nothing: after a closing one there is white space.
pub(super) fn quoted(line: &str) -> Option<(&str, usize)> {
    let opening = line.chars().next().filter(|first| OPENING.contains(first))?;
    let closing = if opening == '"' { &['"'][..] } else { &['“', '”'][..] };
    let inside = &line[opening.len_utf8()..];
    let closes = |&(at, quote): &(usize, &str)| {
        inside[at + quote.len()..].chars().next().is_none_or(char::is_whitespace)
    };
    let (length, quote) = inside.match_indices(closing).find(closes)?;
    Some((&inside[..length], opening.len_utf8() + length + quote.len()))
}

/// The same if all quotes inside are doubled, which the string has single.
pub(super) fn doubled(line: &str) -> Option<(String, usize)> {
    let mut rest = line.strip_prefix('"')?;
    let mut string = String::new();
    loop {
        let (text, after) = rest.split_once('"')?;
        string += text;
        if let Some(after) = after.strip_prefix('"') {
            string.push('"');
            rest = after;
        } else if after.chars().next().is_none_or(char::is_whitespace) {
            return Some((string, line.len() - after.len()));
        } else {
            return None;
        }
    }
}

/// The name in quotes, to be read as it is. Quotes inside are doubled only where they must be: not
/// all programs know that.
pub(super) fn in_quotes(name: &str) -> String {
    let plain = format!("\"{name}\"");
    let read = doubled(&plain).or_else(|| quoted(&plain).map(|(string, length)| (string.to_owned(), length)));
    if read.is_some_and(|read| read == (name.to_owned(), plain.len())) {
        plain
    } else if looks_like_two(name) {
        // There is no typographic quote in it.
        format!("“{name}”")
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
