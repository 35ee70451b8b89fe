//! The message for bytes that are not UTF-8.

/// The probable encoding of a byte that is not UTF-8, and a remedy. `column` is its column, from 1.
pub(super) fn complaint(byte: u8, column: usize) -> String {
    let (encoding, name) =
        if (0x80..0xa0).contains(&byte) { ("Windows-1252", "WINDOWS-1252") } else { ("Latin-1", "LATIN1") };
    let letter = match byte {
        // The soft hyphen, 0xad, is left out because it is invisible.
        0xa1..=0xac | 0xae.. => format!(", where it is {}", char::from(byte)),
        _ => String::new(),
    };
    format!(
        "byte {column} of this line, 0x{byte:02X}, is not UTF-8; the file looks like {encoding}{letter}; \
         convert it, for example with: iconv -f {name} -t UTF-8 FILE > NEW"
    )
}
