//! Files that write a `0` for a rank left out, with one ballot on a line: `1 0 2 0 0`.
//!
//! Such a line could also be several ballots. So the reader takes a `0` for a rank left out only if
//! the rest of its line cannot be ballots, since one of them would have the weight 0, and if
//! another line of numbers follows, since the ballots do not end there. From then on every line is
//! one ballot, and a line that could be several ballots is an error. The lines before have no such
//! `0`.

use super::{InputError, Reader};

impl Reader<'_> {
    /// Whether the `0` just read stands for a rank left out, and not for the end of the ballot.
    #[inline]
    pub(super) fn is_left_out(&mut self) -> Result<bool, InputError> {
        match self.text.window().first() {
            Some(b'\n' | b'\r') => Ok(false), // the usual end of a ballot
            _ => self.is_left_out_within(),
        }
    }

    /// Decides once for each line, at its first `0`.
    fn is_left_out_within(&mut self) -> Result<bool, InputError> {
        let line = self.text.last_line();
        match self.collected.seen.behind_zero {
            (decided, false) if decided == line => return Ok(false),
            (decided, true) if decided == line => {
                return Ok(self.text.peek()?.is_some() && self.text.line() == line);
            }
            _ => {}
        }
        let (rest, next) = self.text.coming_lines();
        if rest.is_empty() {
            return Ok(false);
        }
        let could_be_ballots = could_be_ballots(&rest);
        let is_left_out = is_like_a_ballot(&rest)
            && (self.collected.seen.has_left_out
                || !could_be_ballots && self.collected.seen.crowded == 0 && is_like_a_ballot(&next));
        self.collected.seen.behind_zero = (line, is_left_out);
        if is_left_out && could_be_ballots {
            let message = "as in the lines before, a 0 of this line may be a rank left out, or the line is several ballots; write - for a rank left out";
            return Err(self.text.error(line, message));
        }
        if is_left_out && !std::mem::replace(&mut self.collected.seen.has_left_out, true) {
            let message = "a 0 within this line is read as a rank left out, and so in the lines after it";
            self.text.warn(line, message);
        }
        Ok(is_left_out)
    }
}

/// Whether these words are whole ballots, each with a weight above zero.
fn could_be_ballots(words: &[&str]) -> bool {
    words.split_inclusive(|&word| word == "0").all(|ballot| ballot.len() > 1)
}

/// Whether these are the words of a ballot, or the `0` after the last one.
fn is_like_a_ballot(words: &[&str]) -> bool {
    words.last() == Some(&"0") && words.iter().all(|word| super::is_number(word))
}
