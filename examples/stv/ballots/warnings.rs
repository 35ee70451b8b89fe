//! Warnings about a file that can still be counted. A file may cause a warning on every line. So
//! only the first warnings of each kind are printed. If there are more, the last warning of the
//! kind follows, with the number of all. Warnings from the same place in this program are of the
//! same kind.

use std::{mem, panic::Location};

/// The number of printed warnings of a kind.
pub(crate) const MOST_TOLD: usize = 20;

/// The warnings of a file, in the order in which they were found.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    list: Vec<Warning>,
    kinds: Kinds,
    /// Whether to withhold messages, because the file may be read again.
    held_back: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Warning {
    line: usize,
    message: String,
}

impl Warnings {
    /// Warnings about a file that may be read again.
    pub(crate) fn held_back() -> Self {
        Self { held_back: true, ..Self::default() }
    }

    /// Keeps a warning and prints it, unless too many of its kind were printed.
    #[track_caller]
    pub(crate) fn add(&mut self, source: &str, line: usize, message: &str) {
        if self.kinds.tells(line, message) {
            self.tell(source, line, message.to_owned());
        }
    }

    /// For each kind of which warnings were omitted, prints the last warning and the number of all.
    pub(crate) fn rest(&mut self, source: &str) {
        for (line, message) in self.kinds.rest() {
            self.tell(source, line, message);
        }
    }

    /// Adds the warnings of another part of the file.
    pub(crate) fn append(&mut self, source: &str, other: Self) {
        for Warning { line, message } in other.list {
            self.tell(source, line, message);
        }
    }

    fn tell(&mut self, source: &str, line: usize, message: String) {
        if !self.held_back {
            log::warn!("{source}:{line}: {message}");
        }
        self.list.push(Warning { line, message });
    }

    /// The warnings with their lines, as text.
    pub(crate) fn told(&self) -> Vec<String> {
        self.list.iter().map(|Warning { line, message }| format!("line {line}: {message}")).collect()
    }
}

/// The numbers of warnings of each kind.
#[derive(Debug, Default)]
pub struct Kinds(Vec<Kind>);

#[derive(Debug)]
struct Kind {
    place: &'static Location<'static>,
    number: usize,
    /// The last warning that was not printed, with its line.
    last: (usize, String),
}

impl Kinds {
    /// Whether to print a warning. The kind of the warning is the caller's place in the program. If
    /// the warning is omitted, keeps it until the next warning of this kind.
    #[track_caller]
    pub fn tells(&mut self, line: usize, warning: &str) -> bool {
        let place = Location::caller();
        let known = self.0.iter().position(|kind| kind.place == place);
        let known = known.unwrap_or_else(|| {
            self.0.push(Kind { place, number: 0, last: (0, String::new()) });
            self.0.len() - 1
        });
        let kind = &mut self.0[known];
        kind.number += 1;
        let tells = kind.number <= MOST_TOLD;
        if !tells {
            kind.last.0 = line;
            warning.clone_into(&mut kind.last.1);
        }
        tells
    }

    /// Returns a line for each kind of which warnings were omitted. The line has the last warning,
    /// and the number of all warnings of the kind. Clears all kinds.
    pub fn rest(&mut self) -> Vec<(usize, String)> {
        let cut_short = mem::take(&mut self.0).into_iter().filter(|kind| kind.number > MOST_TOLD);
        let told = cut_short.map(|Kind { number, last: (line, last), .. }| {
            (line, format!("{last} (the last of {number} such warnings, of which {MOST_TOLD} are told)"))
        });
        told.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_told_so_often_and_then_counted() {
        let mut warnings = Warnings::held_back();
        let odd = |warnings: &mut Warnings, line: usize| warnings.add("test", line, &format!("odd {line}"));
        (1..=50).for_each(|line| odd(&mut warnings, line));
        warnings.add("test", 7, "another kind");
        assert_eq!(warnings.told().len(), MOST_TOLD + 1);
        assert_eq!(warnings.told()[MOST_TOLD - 1..], ["line 20: odd 20", "line 7: another kind"]);
        warnings.rest("test");
        let last = "line 50: odd 50 (the last of 50 such warnings, of which 20 are told)";
        assert_eq!(warnings.told().pop().as_deref(), Some(last));
        warnings.rest("test");
        odd(&mut warnings, 51);
        assert_eq!(warnings.told()[MOST_TOLD + 2..], ["line 51: odd 51"], "it begins anew");
    }

    #[test]
    fn parts_of_a_file_are_told_in_its_order() {
        let mut all = Warnings::held_back();
        for line in [1, 2] {
            let mut part = Warnings::held_back();
            part.add("test", line, "odd");
            all.append("test", part);
        }
        assert_eq!(all.told(), ["line 1: odd", "line 2: odd"]);
    }
}
