//! The messages for bytes that are not UTF-8.

/// The message for bytes that are not UTF-8: the probable encoding, and a remedy. `column` is the
/// column of the first of these bytes, from 1.
pub(super) fn complaint(bytes: &[u8], column: usize, on_first_line: bool) -> String {
    let byte = bytes[0];
    match (bytes, on_first_line, column) {
        ([0x8b, ..], true, 2) => {
            "this looks like a file compressed with gzip; send it through gunzip".to_owned()
        }
        ([0xff, 0xfe, ..] | [0xfe, 0xff, ..], true, 1) => {
            "this looks like UTF-16; convert it, for example with: iconv -f UTF-16 -t UTF-8 FILE > NEW"
                .to_owned()
        }
        _ => {
            let (encoding, name) = if (0x80..0xa0).contains(&byte) {
                ("Windows-1252", "WINDOWS-1252")
            } else {
                ("Latin-1", "LATIN1")
            };
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
    }
}
