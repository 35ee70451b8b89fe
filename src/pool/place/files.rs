//! The files in which Linux tells of CPUs, control groups and threads, and what their texts are
//! made of. Each step is compiled once, for all of them.

use std::fs;

/// Returns the text of a file by its path; none if there is no such file.
pub(crate) type File<'a> = &'a dyn Fn(&str) -> Option<String>;

/// The files of this system. Bytes that are not UTF-8 are replaced, since a mount point may have
/// any name.
pub(crate) fn this_system(path: &str) -> Option<String> {
    fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// The text of a file without the blanks around it.
#[inline(never)]
pub(super) fn text(file: File<'_>, path: &str) -> Option<String> {
    Some(file(path)?.trim().to_owned())
}

/// The number in a file.
pub(super) fn number_in(file: File<'_>, path: &str) -> Option<usize> {
    number(&text(file, path)?)
}

/// A number that is not negative.
#[inline(never)]
pub(super) fn number(text: &str) -> Option<usize> {
    text.parse().ok()
}

/// The parts of a text between these signs.
#[inline(never)]
pub(super) fn parts(text: &str, between: char) -> Vec<&str> {
    text.split(between).collect()
}
