//! The ballots of a BLT file.

use super::{InputError, Reader, words::Word};
use crate::arithmetic::Integer;
use std::collections::HashSet;

impl<'a> Reader<'a> {
    /// All ballots and the `0` after them, whose line is returned.
    pub(super) fn ballots(&mut self) -> Result<usize, InputError> {
        let mut ids = HashSet::new();
        let mut without_id = None;
        let mut last_seen = vec![0_usize; self.withdrawn.len()];
        let mut ranked = Vec::new();
        for ballot in 1.. {
            let word = self
                .words
                .expect("but the ballots have not ended; add a line with a single 0 after the last one")?;
            let weight = match Integer::from_digits(word.text) {
                Some(_) if word.text == "0" => return Ok(word.line),
                Some(weight) if weight > Integer::Word(0) => {
                    without_id.get_or_insert(word.line);
                    weight
                }
                _ if word.text.starts_with('(') => {
                    let id = self.id(word)?;
                    if let Some(id) = ids.replace(id) {
                        return Err(self
                            .words
                            .error(word.line, format!("the ballot id {id} is given twice; change one")));
                    }
                    Integer::Word(1)
                }
                _ => {
                    let message = format!(
                        "`{}` is not the weight of a ballot, a whole number of at least 1, nor the 0 after the last ballot",
                        word.text
                    );
                    return Err(self.words.error(word.line, message));
                }
            };
            if let Some(line) = without_id.filter(|_| !ids.is_empty()) {
                return Err(self.words.error(
                    line.max(word.line),
                    "some ballots have an id and others a weight; give all of them an id, or none",
                ));
            }
            ranked.clear();
            for rank in 0.. {
                let word =
                    self.words.expect(&format!("within the ballot of line {}; end it with 0", word.line))?;
                if word.text == "0" {
                    break;
                }
                for text in word.text.split('=') {
                    let candidate = self.candidate(Word { text, ..word })?;
                    if std::mem::replace(&mut last_seen[candidate], ballot) == ballot {
                        let message = format!(
                            "candidate `{text}` stands twice on one ballot; remove one, or end the ballot before with 0"
                        );
                        return Err(self.words.error(word.line, message));
                    }
                    if !self.withdrawn[candidate] {
                        ranked.push((candidate, rank));
                    }
                }
            }
            self.ballots.push(weight, &ranked);
        }
        unreachable!("ballots end with the file at the latest")
    }

    /// A ballot id from its opening to its closing parenthesis, on one line.
    fn id(&mut self, opening: Word<'a>) -> Result<String, InputError> {
        let mut id = opening.text.to_owned();
        while !id.ends_with(')') {
            let next = self.words.next()?.filter(|word| word.line == opening.line);
            let next = next.ok_or_else(|| {
                self.words.error(opening.line, "the ballot id that starts here has no ) on its line; add it")
            })?;
            id = format!("{id} {}", next.text);
        }
        Ok(id)
    }
}
