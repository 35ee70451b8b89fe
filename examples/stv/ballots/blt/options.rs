//! The options of a BLT file: short names, withdrawals, tie-break order.

use super::{InputError, Nicknames, Quoted, Reader, is_number, text::Word};
use std::collections::HashMap;

/// `[name argument …]`
struct BracketOption {
    name: String,
    line: usize,
    arguments: Vec<Word>,
}

impl Reader<'_> {
    /// Reads all options between header and ballots. A nickname may occur before the option that
    /// defines it.
    pub(super) fn options(&mut self) -> Result<(), InputError> {
        let mut waiting = Vec::new();
        let mut negative: Option<Word> = None;
        while let Some(ahead) = self.text.peek()? {
            if ahead.starts_with('[') {
                let option = self.option()?;
                match option.name.as_str() {
                    "nick" => self.nick(option.line, &option.arguments)?,
                    "withdrawn" | "tie" | "undeclared" => waiting.push(option),
                    "droop" => self.text.warn(
                        option.line,
                        "the options of [droop …] are ignored; give options on the command line",
                    ),
                    other => {
                        let message =
                            format!("the option [{} …] is unknown and ignored", Quoted(other).bare());
                        self.text.warn(option.line, &message);
                    }
                }
            } else if ahead.len() > 1 && ahead.starts_with('-') {
                let word = self.text.expect(String::new)?;
                let candidate = self.number(&word.text[1..], word.line)?;
                self.collected.candidates[candidate].withdrawn = true;
                negative = Some(word);
            } else {
                let weighs = is_number(ahead) || ahead.starts_with('(');
                if let Some(negative) = negative.as_ref().filter(|_| !weighs) {
                    let message = format!(
                        "{} before the ballots withdraws a candidate, but {} follows; a ballot's weight must be at least 1",
                        Quoted(&negative.text),
                        Quoted(ahead)
                    );
                    return Err(self.text.error(negative.line, message));
                }
                break;
            }
        }
        if let Some(Word { text, line }) = negative
            && self.text.line() == line
        {
            let message = format!(
                "{} withdraws a candidate, and a ballot follows on the same line; if it is a weight, correct it, else put the ballot on the next line",
                Quoted(&text)
            );
            self.text.warn(line, &message);
        }
        for option in waiting {
            match option.name.as_str() {
                "tie" => self.tie(option.line, &option.arguments)?,
                name => {
                    for word in option.arguments {
                        let candidate = self.candidate(&word.text, word.line)?;
                        // The other option lists undeclared write-ins, who count like all
                        // candidates.
                        self.collected.candidates[candidate].withdrawn |= name == "withdrawn";
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads an option from its name to its closing bracket. The bracket may be a separate word.
    fn option(&mut self) -> Result<BracketOption, InputError> {
        let most = 2 * self.collected.candidates.len() + 100;
        let never_closed = "the option that starts here is never closed; add ]";
        let opening = self.text.expect(String::new)?;
        let mut words = Vec::new();
        let mut word = Word { text: opening.text[1..].to_owned(), line: opening.line };
        loop {
            let closes = word.text.ends_with(']');
            if closes {
                word.text.pop();
            }
            if !word.text.is_empty() {
                words.push(word);
            }
            if closes {
                break;
            }
            // If there are more words than an option can have, the closing bracket is missing, and
            // the words are ballots.
            let next = if words.len() > most { None } else { self.text.next()? };
            word = next.ok_or_else(|| self.text.error(opening.line, never_closed))?;
        }
        if words.is_empty() {
            let message = "the brackets are empty; remove them or name an option";
            return Err(self.text.error(opening.line, message));
        }
        let name = words.remove(0);
        Ok(BracketOption { name: name.text, line: name.line, arguments: words })
    }

    fn nick(&mut self, line: usize, names: &[Word]) -> Result<(), InputError> {
        let candidates = self.collected.candidates.len();
        if !self.nicknames.is_empty() {
            return Err(self.text.error(line, "a second [nick …]; remove one"));
        }
        if names.len() != candidates {
            let message = format!(
                "[nick …] has {} names for {candidates} candidates; give each candidate one",
                names.len()
            );
            return Err(self.text.error(line, message));
        }
        let mut nicknames = Nicknames::with_room_for(candidates);
        for (candidate, name) in names.iter().enumerate() {
            let quoted = Quoted(&name.text);
            if name.text.contains('=') {
                let message = format!("the nickname {quoted} contains =, which joins equal ranks; change it");
                return Err(self.text.error(name.line, message));
            }
            if is_number(&name.text) && name.text.parse() != Ok(candidate + 1) {
                let message = format!(
                    "the nickname {quoted} of candidate {} is never used: {} always means the number",
                    candidate + 1,
                    quoted.bare()
                );
                self.text.warn(name.line, &message);
            }
            if !nicknames.insert(&name.text, candidate) {
                let message = format!("the nickname {quoted} is given twice; change one");
                return Err(self.text.error(name.line, message));
            }
        }
        self.nicknames = nicknames.into();
        Ok(())
    }

    fn tie(&mut self, line: usize, order: &[Word]) -> Result<(), InputError> {
        let candidates = self.collected.candidates.len();
        if let Some((_, first)) = self.tie_break {
            let message = format!("a second [tie …]; the first is in line {first}; remove one of them");
            return Err(self.text.error(line, message));
        }
        let mut places = HashMap::with_capacity(order.len());
        for (place, word) in order.iter().enumerate() {
            let candidate = self.candidate(&word.text, word.line)?;
            if places.insert(candidate, place).is_some() {
                let message = format!("{} stands twice in [tie …]; remove one", Quoted(&word.text));
                return Err(self.text.error(word.line, message));
            }
        }
        if places.len() < candidates {
            let message =
                format!("[tie …] names {} of {candidates} candidates; name each of them once", order.len());
            return Err(self.text.error(line, message));
        }
        self.tie_break = Some(((0..candidates).map(|candidate| places[&candidate]).collect(), line));
        Ok(())
    }
}
