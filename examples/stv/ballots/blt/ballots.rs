//! The ballots of a BLT file. A usual ballot is read in one pass over the window. Unusual ballots
//! and errors take a slower path.

use super::{
    InputError, Quoted, Reader,
    text::{LONGEST, Word},
};
use crate::integer::Integer;
use std::collections::HashSet;

/// The most digits of a weight.
pub(crate) const MOST_DIGITS: usize = 1000;

/// The ballots that have an id instead of a weight.
#[derive(Debug, Default)]
pub(super) struct Ids {
    given: HashSet<Box<str>>,
    /// The line of the first ballot without an id.
    without: Option<usize>,
}

impl Ids {
    /// Whether no ballot has an id.
    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }
}

impl Reader<'_> {
    /// Reads all ballots, and the `0` after them. Returns the line of the `0`.
    pub(super) fn ballots(&mut self) -> Result<usize, InputError> {
        let mut ids = Ids::default();
        loop {
            match self.ballot(&mut ids) {
                Ok(Step::Ballot) => {}
                Ok(Step::End(line)) => {
                    self.collected.seen.has_ids = !ids.is_empty();
                    return Ok(line);
                }
                Ok(Step::Nothing) => {
                    let message = "the file ends here, but the ballots have not ended; add a line with a single 0 after the last one";
                    return Err(self.text.error(self.text.last_line(), message));
                }
                Err(error) => {
                    self.complain(self.unended(error))?;
                    if !self.text.skip_line()? {
                        return Err(self.errors.pop().expect("the complaint just made"));
                    }
                }
            }
        }
    }

    /// The error, or another one if the mistake is on an earlier line: a ballot that does not end
    /// takes the next lines for its own.
    fn unended(&self, error: InputError) -> InputError {
        let line = match (self.ballot_line, self.collected.seen.first_spanning) {
            (line, _) if line > 0 => line,
            (_, spanning) => spanning,
        };
        if line == 0 || line >= error.line {
            return error;
        }
        let message = format!(
            "line {line} does not end in 0, so its ballot goes on; on line {}: {}",
            error.line, error.message
        );
        self.text.error(line, message)
    }

    /// Reads one ballot, or the end of the ballots.
    pub(super) fn ballot(&mut self, ids: &mut Ids) -> Result<Step, InputError> {
        self.ballot_line = 0;
        let weight = match self.weight_at_once() {
            Some(weight) => Some(weight),
            None => match self.weight(ids)? {
                Weight::Ballots(weight) => Some(weight),
                Weight::Id => None,
                Weight::End(line) => return Ok(Step::End(line)),
                Weight::Nothing => return Ok(Step::Nothing),
            },
        };
        let line = self.text.last_line();
        self.ballot_line = line;
        if weight.is_some() {
            ids.without.get_or_insert(line);
        }
        if let Some(without) = ids.without.filter(|_| !ids.given.is_empty()) {
            let message = "some ballots have an id and others a weight; give all of them an id, or none";
            return Err(self.text.error(without.max(line), message));
        }
        let weight = weight.unwrap_or(Integer::Word(1));
        if self.ranks_at_once().is_none() {
            self.collected.begin();
            self.ranks()?;
        }
        while self.is_left_out()? {
            self.collected.next_rank();
            self.ranks()?;
        }
        if line == self.collected.seen.last_line {
            self.collected.seen.crowded += 1;
            if self.collected.seen.crowded == 1 {
                self.collected.seen.first_crowded = line;
            }
        }
        self.collected.seen.last_line = self.text.last_line();
        if self.text.last_line() != line {
            self.collected.seen.spanning += 1;
            if self.collected.seen.spanning == 1 {
                self.collected.seen.first_spanning = line;
            }
        }
        self.collected.end(weight, line);
        Ok(Step::Ballot)
    }

    /// Takes the weight of the next ballot, if the weight is a small number and the window contains
    /// it.
    #[inline]
    fn weight_at_once(&mut self) -> Option<Integer> {
        let window = self.text.window();
        let (start, lines) = word_start(window, 0)?;
        let mut at = start;
        let mut weight = 0;
        while let digit @ b'0'..=b'9' = *window.get(at)? {
            weight = 10 * weight + i64::from(digit - b'0');
            at += 1;
            if at - start > 17 {
                return None;
            }
        }
        if weight == 0 || !is_white(window[at]) {
            return None;
        }
        self.text.pass(at, lines);
        Some(Integer::Word(weight))
    }

    /// Reads the ranks of a ballot and the `0` after them, if the window contains the whole ballot
    /// and nothing in the ballot is unusual.
    #[inline]
    fn ranks_at_once(&mut self) -> Option<()> {
        self.collected.begin();
        let ballot = self.collected.ballot;
        let window = self.text.window();
        let (mut at, mut lines) = (0, 0);
        for rank in 0.. {
            let (start, more_lines) = word_start(window, at)?;
            at = start;
            lines += more_lines;
            loop {
                let first = at;
                let (mut number, mut packed, mut digits) = (0, 0, true);
                let after = loop {
                    let byte = *window.get(at)?;
                    if byte <= b'=' {
                        if byte == b'=' || is_white(byte) {
                            break byte;
                        }
                        if byte < b' ' {
                            return None; // the packed word would not show zero bytes before a name
                        }
                    }
                    let digit = byte.wrapping_sub(b'0');
                    digits &= digit < 10;
                    number = 10_u64.wrapping_mul(number).wrapping_add(u64::from(digit));
                    packed = packed << 8 | u64::from(byte);
                    at += 1;
                };
                let length = at - first;
                let candidate = if length == 0 || digits && length > 18 {
                    return None;
                } else if digits {
                    if number == 0 && at - start == 1 && after != b'=' {
                        self.text.pass(at, lines);
                        self.collected.rank = rank;
                        return Some(());
                    }
                    usize::try_from(number).ok()?.wrapping_sub(1)
                } else if packed == u64::from(b'-') && at - start == 1 && after != b'=' {
                    break;
                } else {
                    let short = if length <= 8 { self.nicknames.get_short(packed) } else { None };
                    match short {
                        Some(candidate) => candidate,
                        None => self.nicknames.get(str::from_utf8(&window[first..at]).ok()?)?,
                    }
                };
                let known = self.collected.candidates.get_mut(candidate)?;
                if std::mem::replace(&mut known.last_ballot, ballot) == ballot {
                    return None;
                }
                if !known.withdrawn {
                    self.collected.ranked.push((candidate, rank));
                }
                if after != b'=' {
                    break;
                }
                at += 1;
            }
        }
        None
    }

    /// Reads the first word of the next ballot.
    fn weight(&mut self, ids: &mut Ids) -> Result<Weight, InputError> {
        let Some(word) = self.text.next()? else { return Ok(Weight::Nothing) };
        // A longer word is not a number of ballots, and would take long to parse.
        let digits = Some(&word.text).filter(|text| text.len() <= MOST_DIGITS);
        match digits.and_then(|text| Integer::from_digits(text)) {
            Some(_) if word.text == "0" => Ok(Weight::End(word.line)),
            Some(weight) if weight > Integer::Word(0) => Ok(Weight::Ballots(weight)),
            _ if word.text.starts_with('(') => {
                let id = self.id(word)?;
                if !ids.given.insert(id.text.as_str().into()) {
                    let message =
                        format!("the ballot id {} is given twice; change one", Quoted(&id.text).bare());
                    return Err(self.text.error(id.line, message));
                }
                Ok(Weight::Id)
            }
            _ => {
                let message = format!(
                    "{} is not the weight of a ballot, a whole number of at least 1, nor the 0 after the last ballot",
                    Quoted(&word.text)
                );
                Err(self.text.error(word.line, message))
            }
        }
    }

    /// Reads the ranks of any ballot from the present one on, and the `0` after them.
    fn ranks(&mut self) -> Result<(), InputError> {
        let line = self.text.last_line();
        loop {
            let word = self.text.expect(|| format!("within the ballot of line {line}; end it with 0"))?;
            if word.text == "0" {
                return Ok(());
            }
            if word.text.starts_with('(') {
                let message = format!(
                    "{} begins equal ranks in parentheses, which are not read; write them as 2=3",
                    Quoted(&word.text)
                );
                return Err(self.text.error(word.line, message));
            }
            if word.text == "-" {
                self.collected.next_rank(); // a rank without a candidate
                continue;
            }
            for text in word.text.split('=') {
                let candidate = self.candidate(text, word.line)?;
                if !self.collected.mention(candidate) {
                    let message = format!(
                        "candidate {} stands twice on one ballot; remove one, end the ballot before with 0, or choose with --duplicates what counts",
                        Quoted(text)
                    );
                    return Err(self.text.error(word.line, message));
                }
            }
            self.collected.next_rank();
        }
    }

    /// Reads a ballot id from its opening to its closing parenthesis, on one line.
    fn id(&mut self, opening: Word) -> Result<Word, InputError> {
        let mut id = opening;
        while !id.text.ends_with(')') {
            let next = if id.text.len() > LONGEST { None } else { self.text.next()? };
            let next = next.filter(|word| word.line == id.line);
            let next = next.ok_or_else(|| {
                self.text.error(id.line, "the ballot id that starts here has no ) on its line; add it")
            })?;
            id.text.push(' ');
            id.text += &next.text;
        }
        Ok(id)
    }
}

enum Weight {
    Ballots(Integer),
    /// An id. The ballot has a weight of 1.
    Id,
    /// The `0` after the last ballot, on this line.
    End(usize),
    /// The file has ended.
    Nothing,
}

/// The result of reading a step.
pub(super) enum Step {
    Ballot,
    /// The `0` after the last ballot, on this line.
    End(usize),
    /// Nothing: the file has ended.
    Nothing,
}

/// The place of the next word, and the number of line ends before it.
#[inline]
fn word_start(window: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut lines = 0;
    loop {
        let byte = *window.get(at)?;
        if !is_white(byte) {
            return Some((at, lines));
        }
        lines += usize::from(byte == b'\n');
        at += 1;
    }
}

/// The usual white space. Other white space takes the slower path.
#[inline]
fn is_white(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}
