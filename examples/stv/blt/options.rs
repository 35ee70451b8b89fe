//! The options of a BLT file: short names, withdrawals, tie-break order.

use super::{InputError, Reader, words::Word};
use crate::arithmetic::Integer;

impl<'a> Reader<'a> {
    /// Everything between header and ballots. Nicknames may be used before they are given.
    pub(super) fn options(&mut self) -> Result<(), InputError> {
        let mut options: Vec<(Word<'a>, Vec<Word<'a>>)> = Vec::new();
        let mut negative: Option<Word<'a>> = None;
        loop {
            let mut ahead = self.words.clone();
            let Some(word) = ahead.next()? else { break };
            if let Some(name) = word.text.strip_prefix('[') {
                self.words = ahead;
                options.push(self.option(Word { text: name, ..word })?);
            } else if let Some(number) = word.text.strip_prefix('-') {
                self.words = ahead;
                negative = Some(word);
                let candidate = self.number(Word { text: number, ..word })?;
                self.withdrawn[candidate] = true;
            } else {
                if let Some(negative) = negative
                    .filter(|_| Integer::from_digits(word.text).is_none() && !word.text.starts_with('('))
                {
                    let message = format!(
                        "`{}` before the ballots withdraws a candidate, but `{}` follows; a ballot's weight must be at least 1",
                        negative.text, word.text
                    );
                    return Err(self.words.error(negative.line, message));
                }
                break;
            }
        }
        let (nick, others): (Vec<_>, Vec<_>) = options.into_iter().partition(|(name, _)| name.text == "nick");
        for (name, arguments) in nick.into_iter().chain(others) {
            match name.text {
                "nick" => self.nick(name.line, &arguments)?,
                "withdrawn" => {
                    for word in arguments {
                        let candidate = self.candidate(word)?;
                        self.withdrawn[candidate] = true;
                    }
                }
                "tie" => self.tie(name.line, &arguments)?,
                // Write-ins are counted like everybody else.
                "undeclared" => arguments.into_iter().try_for_each(|word| self.candidate(word).map(drop))?,
                "droop" => self.words.warn(
                    name.line,
                    "the options of [droop …] are ignored; give options on the command line",
                ),
                other => {
                    self.words.warn(name.line, &format!("the option [{other} …] is unknown and ignored"));
                }
            }
        }
        Ok(())
    }

    /// An option from its name to its closing bracket, which may stand alone.
    fn option(&mut self, opening: Word<'a>) -> Result<(Word<'a>, Vec<Word<'a>>), InputError> {
        let mut arguments = Vec::new();
        let mut word = opening;
        loop {
            let inside = word.text.strip_suffix(']');
            let text = inside.unwrap_or(word.text);
            if !text.is_empty() {
                arguments.push(Word { text, ..word });
            }
            if inside.is_some() {
                break;
            }
            let next = self.words.next()?;
            word = next.ok_or_else(|| {
                self.words.error(opening.line, "the option that starts here is never closed; add ]")
            })?;
        }
        if arguments.is_empty() {
            return Err(self
                .words
                .error(opening.line, "the brackets are empty; remove them or name an option"));
        }
        let name = arguments.remove(0);
        Ok((name, arguments))
    }

    fn nick(&mut self, line: usize, names: &[Word<'a>]) -> Result<(), InputError> {
        let candidates = self.withdrawn.len();
        if !self.nicknames.is_empty() {
            return Err(self.words.error(line, "a second [nick …]; remove one"));
        }
        if names.len() != candidates {
            let message = format!(
                "[nick …] has {} names for {candidates} candidates; give each candidate one",
                names.len()
            );
            return Err(self.words.error(line, message));
        }
        for (candidate, name) in names.iter().enumerate() {
            if name.text.contains('=') {
                return Err(self.words.error(
                    name.line,
                    format!("the nickname `{}` contains =, which joins equal ranks; change it", name.text),
                ));
            }
            if Integer::from_digits(name.text)
                .is_some_and(|number| number != Integer::from(candidate as u64 + 1))
            {
                let message = format!(
                    "the nickname `{0}` of candidate {1} is never used: {0} always means the number",
                    name.text,
                    candidate + 1
                );
                self.words.warn(name.line, &message);
            }
            if self.nicknames.insert(name.text, candidate).is_some() {
                return Err(self
                    .words
                    .error(name.line, format!("the nickname `{}` is given twice; change one", name.text)));
            }
        }
        Ok(())
    }

    fn tie(&mut self, line: usize, order: &[Word<'a>]) -> Result<(), InputError> {
        let candidates = self.withdrawn.len();
        let mut places = vec![None; candidates];
        for (place, &word) in order.iter().enumerate() {
            let candidate = self.candidate(word)?;
            if places[candidate].replace(place).is_some() {
                return Err(self
                    .words
                    .error(word.line, format!("`{}` stands twice in [tie …]; remove one", word.text)));
            }
        }
        let places: Option<Vec<usize>> = places.into_iter().collect();
        self.tie_break = places.ok_or_else(|| {
            let message =
                format!("[tie …] names {} of {candidates} candidates; name each of them once", order.len());
            self.words.error(line, message)
        })?;
        Ok(())
    }
}
