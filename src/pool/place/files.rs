//! Reading and parsing the files in which Linux describes CPUs, control groups and threads. Each
//! function is compiled once for all files.

use std::{fs, io::Read, sync::Mutex};

use crate::sync::lock_unless_stuck;

/// Returns the text of a file by its path; `None` if there is no such file.
pub(crate) type File<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads a file of this system. Bytes that are not UTF-8 are replaced, since a mount point may have
/// any name.
pub(crate) fn this_system(path: &str) -> Option<String> {
    let mut bytes = Vec::new();
    fs::File::open(path).ok()?.read_to_end(&mut bytes).ok()?; // `fs::read` has 2 KB of code, for large files
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// The files that pools of this process have read, for threads that may run on these CPUs.
static READ: Mutex<Option<FilesRead>> = Mutex::new(None);

struct FilesRead {
    allowed: Vec<usize>,
    /// The text of each file, if there is such a file, sorted by the paths.
    texts: Vec<(String, Option<String>)>,
}

/// From now on [`read_once`] serves threads that may run on the CPUs `allowed`. If these are other
/// CPUs than before, it forgets what it has read.
pub(super) fn read_for(allowed: &[usize]) {
    if let Some(mut read) = lock_unless_stuck(&READ)
        && read.as_ref().is_none_or(|read| read.allowed != allowed)
    {
        *read = Some(FilesRead { allowed: allowed.to_vec(), texts: Vec::new() });
    }
}

/// As [`this_system`], but reads each file once. The files say which CPUs there are, how they
/// belong together, and which quota the process has. Reading them takes nine tenths of the time in
/// which the first pool of a program, of one thread, is built.
pub(super) fn read_once(path: &str) -> Option<String> {
    let Some(mut read) = lock_unless_stuck(&READ) else { return this_system(path) };
    let Some(read) = &mut *read else { return this_system(path) };
    let at = read.texts.binary_search_by(|(known, _)| known.as_str().cmp(path)).unwrap_or_else(|at| {
        read.texts.insert(at, (path.to_owned(), this_system(path)));
        at
    });
    read.texts[at].1.clone()
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

#[cfg(all(test, not(any(loom, shuttle, miri))))]
mod tests {
    use std::{env, process};

    use super::*;

    /// Another test may build a pool, and so make [`read_once`] forget.
    #[test]
    fn a_file_is_read_once_for_the_same_cpus() {
        let path = env::temp_dir().join(format!("rangesteal-read-once-{}", process::id()));
        let name = path.to_str().expect("UTF-8");
        let is_kept = |allowed: &[usize]| {
            read_for(allowed);
            fs::write(&path, "one").unwrap();
            let first = read_once(name);
            fs::write(&path, "two").unwrap();
            (first.as_deref() == Some("one"), read_once(name).as_deref() == Some("one"))
        };
        let kept = (0..1000).find(|_| is_kept(&[7777, 7778]) == (true, true));
        assert!(kept.is_some(), "it is read again");
        let forgotten = (0..1000).find(|_| {
            let before = is_kept(&[7777, 7778]);
            read_for(&[7777]);
            before == (true, true) && read_once(name).as_deref() == Some("two")
        });
        assert!(forgotten.is_some(), "it is kept for other CPUs");
        fs::remove_file(&path).unwrap();
        assert_eq!(this_system(name), None);
    }
}
