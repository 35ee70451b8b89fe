//! Reading and parsing the files in which Linux describes CPUs, control groups and threads. Each
//! function is compiled once for all files.

use std::{fs, io::Read};

/// Returns the text of a file by its path; `None` if there is no such file.
pub(crate) type File<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file of this system. Bytes that are not UTF-8 are replaced, since a mount point may have
/// any name.
pub(crate) fn this_system(path: &str) -> Option<String> {
    let (mut file, mut bytes, mut part) = (fs::File::open(path).ok()?, Vec::new(), [0; 4096]);
    // `fs::read` has 2 KB of code, for large files.
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(String::from_utf8_lossy(&bytes).into_owned()),
            read => bytes.extend_from_slice(&part[..read]),
        }
    }
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

/// Splits a text at a character.
#[inline(never)]
pub(super) fn parts(text: &str, between: char) -> Vec<&str> {
    text.split(between).collect()
}
