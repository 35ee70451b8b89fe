//! Reading and parsing the files in which Linux describes CPUs, control groups and threads. Each
//! function is compiled once for all files.

use std::{fs, io::Read};

/// Returns the text of a file by its path; `None` if there is no such file.
pub(crate) type File<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file of this system. Bytes that are not UTF-8 are replaced, since a mount point may have
/// any name.
pub(crate) fn this_system(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.read_to_end(&mut bytes).ok()?; // `fs::read` has 2 KB of code, for large files
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a file without white space at its ends.
#[inline(never)]
pub(super) fn text(file: File<'_>, path: &str) -> Option<String> {
    Some(file(path)?.trim_ascii().to_owned())
}

/// Parses a number that is not negative.
#[inline(never)]
pub(super) fn number(text: &str) -> Option<usize> {
    text.parse().ok()
}

/// Whether one of the parts of a text is `part`.
#[inline(never)]
pub(super) fn has_part(text: &str, between: char, part: &str) -> bool {
    parts(text, between).contains(&part)
}

/// Splits a text at a character.
#[inline(never)]
pub(super) fn parts(text: &str, between: char) -> Vec<&str> {
    text.split(between).collect()
}
