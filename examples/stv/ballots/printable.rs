//! Text of a file that is shown to people: on one line, and without characters that mislead.

/// "1 seat", "2 seats".
pub fn plural(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// A name or a message on one line, without characters for which [`misleads`] is true.
pub fn printable(text: &str) -> String {
    text.replace(misleads, "\u{fffd}")
}

/// Whether a spreadsheet would take this text for a formula. Some spreadsheets skip blanks and
/// invisible characters before the sign. Some spreadsheets accept the wide signs of East Asia.
pub fn is_formula(text: &str) -> bool {
    let unseen = |first: char| first.is_whitespace() || is_unseen(first) || first == '\u{fffd}';
    text.trim_start_matches(unseen).starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠'])
}

/// Whether a character is invisible by itself: the misleading ones, joiners and variation
/// selectors.
pub(crate) fn is_unseen(character: char) -> bool {
    matches!(
        character,
        '\u{200c}' | '\u{200d}' | '\u{180b}'..='\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
    ) || misleads(character)
}

/// Whether a character can make a line look like another line. Such a character controls a
/// terminal, breaks a line, changes the direction of text, or is invisible. The joiners U+200C and
/// U+200D are allowed, since Persian, Hindi and emoji need them. Variation selectors are allowed,
/// too.
pub fn misleads(character: char) -> bool {
    matches!(
        character,
        // Marks of direction; ends of lines and paragraphs.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Characters without width: soft hyphens, blanks, word joiners, byte order marks,
        // annotations.
        | '\u{ad}' | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}'
        | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}'
        // Letters that are displayed as nothing.
        | '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' | '\u{34f}' | '\u{17b4}' | '\u{17b5}'
        | '\u{2800}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
    ) || character.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_misleads_is_shown_and_what_names_need_stays() {
        for character in "\0\t\n\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{3164}\u{feff}\u{fff9}\u{e0041}".chars() {
            assert_eq!(printable(&format!("A{character}da")), "A\u{fffd}da", "U+{:04X}", u32::from(character));
        }
        for name in [
            "می\u{200c}خواهم",
            "क्\u{200d}ष",
            "👩\u{200d}🔬 ❤\u{fe0f}",
            "Zoe\u{301} d’Été-Łów",
            "葛\u{e0100}城",
            "שרה",
        ] {
            assert_eq!(printable(name), name);
        }
    }
}
