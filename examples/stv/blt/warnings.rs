//! What the user is told of a file that can be counted all the same.

/// A file that has more of them is damaged, or another kind of file.
const MOST: usize = 50;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Warning {
    line: usize,
    message: String,
}

/// The first warnings of a file, in the order of its lines.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    list: Vec<Warning>,
    /// They are not told, as long as it is not sure that the file is read for good.
    pub(super) held_back: bool,
}

impl Warnings {
    /// Those of a file that is perhaps not read for good.
    pub(super) fn held_back() -> Self {
        Self { list: Vec::new(), held_back: true }
    }

    /// Keeps a warning and tells it; of too many only that there are more.
    pub(super) fn add(&mut self, source: &str, line: usize, message: &str) {
        let message = match self.list.len() {
            ..MOST => message.to_owned(),
            MOST => "and there are more warnings; mend the first ones and read the file again".to_owned(),
            _ => return,
        };
        if !self.held_back {
            log::warn!("{source}:{line}: {message}");
        }
        self.list.push(Warning { line, message });
    }

    /// Adds those of a later part of the file.
    pub(super) fn append(&mut self, source: &str, other: &Self) {
        other.list.iter().for_each(|warning| self.add(source, warning.line, &warning.message));
    }

    /// Each with its line, in words.
    pub(super) fn told(&self) -> Vec<String> {
        self.list.iter().map(|Warning { line, message }| format!("line {line}: {message}")).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_too_many_the_first_are_kept_wherever_the_file_is_cut() {
        let warnings = |lines: std::ops::Range<usize>| {
            let mut warnings = Warnings::held_back();
            lines.for_each(|line| warnings.add("test", line, "a mistake"));
            warnings
        };
        assert_eq!(warnings(1..51).told().len(), 50);
        let all = warnings(1..200).told();
        assert_eq!((all.len(), all[49].as_str()), (51, "line 50: a mistake"));
        assert!(all[50].starts_with("line 51: and there are more"), "{}", all[50]);
        for cut in [1, 30, 50, 51, 52, 120, 200] {
            let mut first = warnings(1..cut);
            first.append("test", &warnings(cut..200));
            assert_eq!(first.told(), all, "cut before line {cut}");
        }
    }
}
