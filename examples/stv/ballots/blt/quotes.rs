//! Quotes around the names of candidates and the title.

use super::parties::looks_like_two;

/// The opening quotes. Text processors replace plain quotes by English or German ones
/// automatically.
pub(super) const OPENING: [char; 4] = ['"', '“', '”', '„'];

/// The quoted string at the beginning of the line, and its length with the quotes. A quote closes
/// the string only if white space follows.
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

/// Like `quoted`, for a string with doubled inner quotes. In the result each doubled quote is one
/// quote.
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

/// The name in quotes, in a form that is read as this name. Quotes inside are doubled only if
/// necessary, since some programs do not know that form.
pub(super) fn in_quotes(name: &str) -> String {
    let plain = format!("\"{name}\"");
    let read = doubled(&plain).or_else(|| quoted(&plain).map(|(string, length)| (string.to_owned(), length)));
    if read.is_some_and(|read| read == (name.to_owned(), plain.len())) {
        plain
    } else if looks_like_two(name) {
        // The name has no typographic quote.
        format!("“{name}”")
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}
