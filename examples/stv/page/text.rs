//! Names and other texts for people. The texts come from strangers. They are made harmless,
//! isolated from the words around them, and broken into lines.

use super::number::count;
use std::fmt::Write;
use stv_ballots::printable;
use unicode_segmentation::UnicodeSegmentation;

/// Escapes the special characters of HTML, for text and attributes. Removes control characters,
/// which XML does not allow, and characters that change the direction of their neighbours. Keeps
/// only a few marks per letter, since more would cover the lines above.
pub(super) fn escaped(text: &str) -> String {
    const MARKS: usize = 4;
    let mut escaped = String::with_capacity(text.len());
    let mut marks = 0;
    for character in printable(text).chars() {
        marks = if is_mark(character) { marks + 1 } else { 0 };
        match character {
            _ if marks > MARKS => {}
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(character),
        }
    }
    escaped
}

/// A mark that goes above or below any letter.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}'
        | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}' | '\u{fe20}'..='\u{fe2f}')
}

/// An element that isolates the text, so that right-to-left letters do not change the words around
/// the element.
pub(super) fn isolated(text: &str) -> String {
    format!("<bdi>{}</bdi>", escaped(text))
}

/// Isolates the text where elements are not allowed, in tips and labels: between two control
/// characters. The text itself cannot contain these characters, since they are not printable.
pub(super) fn apart(text: &str) -> String {
    let is_from_left = text.chars().all(|character| character < '\u{590}');
    if is_from_left { escaped(text) } else { format!("\u{2068}{}\u{2069}", escaped(text)) }
}

/// The approximate width of a text, in letters.
fn letters(text: &str) -> f64 {
    // Capitals are wider, and letters beyond the European alphabets are twice as wide.
    let letter = |character: char| match character {
        '\u{200c}' | '\u{200d}' => 0.0,
        '\u{2000}'.. => 1.9,
        'm' | 'w' | 'M' | 'W' | '@' => 1.5,
        'i' | 'j' | 'l' | 't' | 'f' | 'I' | ' ' | '.' | ',' | '\'' => 0.55,
        character if character.is_uppercase() => 1.2,
        _ => 1.0,
    };
    let one = |cluster: &str| cluster.chars().map(letter).fold(0.0, f64::max);
    text.graphemes(true).map(one).sum()
}

/// The text in lines of about `width` letters, broken after blanks and hyphens, and inside words
/// that are too long. Text beyond `most` lines ends with "…". A text that fits is one line. The
/// lines are not escaped.
pub(super) fn wrapped(text: &str, width: f64, most: usize) -> Vec<String> {
    // Longer texts are cut off here. Nobody reads more letters, and every picture wraps the names.
    const READ: usize = 200;
    let mut lines = vec![String::new()];
    let mut used = 0.0;
    let end = text.char_indices().nth(READ).map_or(text.len(), |(place, _)| place);
    for word in text[..end].split_inclusive([' ', '-', '/']) {
        let long = letters(word.trim_end());
        if used > 0.0 && used + long > width {
            lines.push(String::new());
            used = 0.0;
        }
        // The parts of a word have about the same length, so no line has only its last letter.
        let width = if long > width { (long / (long / width).ceil() + 1.0).min(width) } else { width };
        for cluster in word.graphemes(true) {
            let wide = letters(cluster);
            if used > 0.0 && used + wide > width && cluster != " " {
                lines.push(String::new());
                used = 0.0;
            }
            used += wide;
            if let Some(line) = lines.last_mut() {
                line.push_str(cluster);
            }
        }
    }
    let is_cut = end < text.len() || lines.len() > most;
    lines.truncate(most);
    for line in &mut lines {
        line.truncate(line.trim_end().len());
    }
    if is_cut && let Some(last) = lines.last_mut() {
        last.push('…');
    }
    lines
}

/// Draws a label with one line below the other. The lines end at `x`, and their middle is at
/// `middle`. Each line is a text element, so that it has its own direction.
pub(super) fn label(lines: &[(String, &str)], x: f64, middle: f64, out: &mut String) {
    let mut y = middle + 4.0 - count(lines.len().saturating_sub(1)) * LINE / 2.0;
    for (line, class) in lines {
        let _ = write!(out, "<text class=\"end{class}\" x=\"{x:.0}\" y=\"{y:.1}\">{}</text>", escaped(line));
        y += LINE;
    }
}

/// The most lines of a name beside a picture, enough for a long noble name on a phone.
pub(super) const MOST_LINES: usize = 5;

/// The distance between two lines of a label.
pub(super) const LINE: f64 = 13.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_kept_apart() {
        assert_eq!(escaped("\"&'🍌"), "&quot;&amp;&#39;🍌");
        assert_eq!(escaped("A\u{0}\u{1b}\u{202e}"), "A\u{fffd}\u{fffd}\u{fffd}");
        assert_eq!(escaped(&format!("e{}!", "\u{301}".repeat(50))), format!("e{}!", "\u{301}".repeat(4)));
        assert_eq!(isolated("<A>"), "<bdi>&lt;A&gt;</bdi>");
        assert_eq!(apart("Éva Łukasz"), "Éva Łukasz");
        assert_eq!(apart("שרה\u{2069}"), "\u{2068}שרה\u{fffd}\u{2069}");
    }

    #[test]
    fn names_are_wrapped_before_they_are_cut() {
        assert_eq!(wrapped("Ada Lovelace", 20.0, 3), ["Ada Lovelace"]);
        assert_eq!(wrapped("Ada Lovelace", 9.0, 3), ["Ada", "Lovelace"]);
        assert_eq!(wrapped("Anne-Marie Schulze-Boysen", 8.0, 4), ["Anne-", "Marie", "Schulze-", "Boysen"]);
        assert_eq!(wrapped("Wolfeschlegelsteinhausen", 12.0, 3), ["Wolfeschlegel", "steinhausen"]);
        assert_eq!(wrapped("one two three four", 5.0, 2), ["one", "two…"]);
        assert_eq!(wrapped("", 5.0, 2), [""]);
        let long = "x".repeat(10_000);
        assert!(wrapped(&long, 5.0, 3).iter().all(|line| line.chars().count() <= 6));
    }

    #[test]
    fn a_letter_and_its_marks_stay_together() {
        let family = "👩\u{200d}👩\u{200d}👧";
        assert_eq!(wrapped(&family.repeat(3), 4.0, 3), [family.repeat(2), family.to_owned()]);
        assert_eq!(wrapped(&"e\u{301}".repeat(4), 2.0, 3), ["e\u{301}".repeat(2), "e\u{301}".repeat(2)]);
    }
}
