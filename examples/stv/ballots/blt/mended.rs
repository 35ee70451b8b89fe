//! Ballots that name a candidate twice, but are valid because of the user's option.

use crate::{integer::Integer, reading::Duplicates};

/// The number of mended ballots, the number of their lines, and the first line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mended {
    pub(crate) lines: u64,
    pub(crate) ballots: Integer,
    pub(crate) first: usize,
}

impl Default for Mended {
    fn default() -> Self {
        Self { lines: 0, ballots: Integer::Word(0), first: 0 }
    }
}

impl Mended {
    /// Adds the ballots of a line.
    pub(crate) fn add(&mut self, line: usize, weight: &Integer) {
        if self.lines == 0 {
            self.first = line;
        }
        self.lines += 1;
        self.ballots = self.ballots.plus(weight);
    }

    /// The message for the user, and its line.
    pub(crate) fn warning(&self, duplicates: Duplicates) -> Option<(usize, String)> {
        let others = match self.lines {
            0 => return None,
            1 => String::new(),
            2 => " and on 1 other line".to_owned(),
            lines => format!(" and on {} other lines", lines - 1),
        };
        let done = match duplicates {
            Duplicates::Truncate => "the ballot ends before the rank with the second mention",
            Duplicates::First | Duplicates::Refuse => "the first mention counts, and later ones are left out",
        };
        let warning = format!(
            "a candidate stands twice on the ballot of this line{others} (ballots in all: {}); {done}",
            self.ballots
        );
        Some((self.first, warning))
    }
}
