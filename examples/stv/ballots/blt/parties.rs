//! Candidates with parties: finds which of two strings is the name.
//!
//! Some programs write the name first, others the party. A count that takes the party for the name
//! elects "Labour". So the strings of all candidates must show the order, or the user must give the
//! order.

use super::{
    InputError, Quoted,
    quotes::quoted,
    text::{Phrase, Text},
};

#[cfg(test)]
mod tests;

named! {
    /// The contents of a candidate's line, and their order.
    Order {
        /// The name, then the party
        NameParty = "name-party",
        /// The party, then the name
        PartyName = "party-name",
        /// The name alone, even if it has quotes inside
        Whole = "whole",
    }
}

/// Names, each with its party if it has one.
pub(super) type People = Vec<(String, Option<String>)>;

/// The two strings of a line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Pair {
    first: String,
    second: String,
}

/// The way in which the line of a candidate writes two strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// `"X ""Y"""`, as a spreadsheet writes two strings. Both orders are in use.
    Doubled,
    /// `"""X"" ""Y"""`, as a spreadsheet writes `"X" "Y"`.
    Exported,
    /// `X "Y"`, the name in quotes.
    Bare,
}

impl Shape {
    /// The order in which programs write this shape, if all programs use the same order.
    fn usual(self) -> Option<Order> {
        match self {
            Self::Doubled => None,
            Self::Exported => Some(Order::NameParty),
            Self::Bare => Some(Order::PartyName),
        }
    }

    fn of(phrase: &Phrase) -> Option<(Self, Pair)> {
        let pair = pair(&phrase.word().text)?;
        match phrase {
            Phrase::Doubled(word) if word.text.trim_start().starts_with('"') => Some((Self::Exported, pair)),
            Phrase::Doubled(_) => Some((Self::Doubled, pair)),
            Phrase::Bare(_) => Some((Self::Bare, pair)),
            Phrase::Quoted(_) | Phrase::Unclosed(_) => None,
        }
    }
}

/// The strings of `X "Y"` or `"X" "Y"`, if no other quote is in the text.
fn pair(text: &str) -> Option<Pair> {
    let text = text.trim();
    if text.contains(['“', '”', '„']) {
        return None;
    }
    let (first, rest) = match quoted(text) {
        Some((first, length)) => (first, &text[length..]),
        None => text.split_at(text.find('"')?),
    };
    let (second, length) = quoted(rest.trim_start())?;
    let is_all = length == rest.trim_start().len();
    let apart = first.ends_with(char::is_whitespace) || rest.starts_with(char::is_whitespace);
    let plain = |text: &str| !text.trim().is_empty() && !text.contains('"');
    (is_all && apart && plain(first) && plain(second)).then(|| Pair::new(first, second))
}

/// Whether a name with doubled quotes would be read as two strings.
pub(super) fn looks_like_two(name: &str) -> bool {
    pair(name).is_some()
}

impl Pair {
    pub(super) fn new(first: &str, second: &str) -> Self {
        Self { first: first.trim().to_owned(), second: second.trim().to_owned() }
    }

    fn name_and_party(&self, order: Order) -> [&str; 2] {
        if order == Order::PartyName { [&self.second, &self.first] } else { [&self.first, &self.second] }
    }

    fn person(self, order: Order) -> (String, Option<String>) {
        let Self { first, second } = self;
        let (name, party) = if order == Order::PartyName { (second, first) } else { (first, second) };
        (name, Some(party).filter(|party| !party.is_empty()))
    }
}

/// The name and party of each candidate, from two strings each. The names begin on this line.
pub(super) fn of_two(
    text: &Text<'_>,
    line: usize,
    pairs: Vec<Pair>,
    order: Option<Order>,
) -> Result<People, InputError> {
    let Some(order) = order.or_else(|| told(&pairs, Some(Order::NameParty))) else {
        return Err(unclear(text, line, &pairs[0]));
    };
    Ok(pairs.into_iter().map(|pair| pair.person(order)).collect())
}

/// The name and party of each candidate, and the title, from one string each.
pub(super) fn of_one(
    text: &mut Text<'_>,
    mut phrases: Vec<Phrase>,
    order: Option<Order>,
) -> Result<(People, String), InputError> {
    let title = phrases.pop().map(Phrase::into_word).expect("the title comes last").text;
    let shaped: Option<Vec<(Shape, Pair)>> = phrases.iter().map(Shape::of).collect();
    let shaped = shaped.filter(|shaped| shaped.iter().all(|(shape, _)| *shape == shaped[0].0));
    if shaped.is_none() && order.is_none() {
        warn_of_others(text, &phrases);
    }
    let title = match &shaped {
        Some(shaped) if shaped[0].0 == Shape::Exported && order != Some(Order::Whole) => {
            let inside = quoted(title.trim()).filter(|&(_, length)| length == title.trim().len());
            inside.map_or(title.clone(), |(inside, _)| inside.trim().to_owned())
        }
        _ => title,
    };
    let people = match (order, shaped) {
        (Some(Order::Whole), _) | (None, None) => {
            phrases.into_iter().map(|phrase| (phrase.into_word().text, None)).collect()
        }
        (Some(order), _) => phrases.into_iter().map(|phrase| split(phrase.into_word().text, order)).collect(),
        (None, Some(shaped)) => {
            let (line, usual) = (phrases[0].word().line, shaped[0].0.usual());
            let pairs: Vec<_> = shaped.into_iter().map(|(_, pair)| pair).collect();
            let Some(order) = told(&pairs, usual) else {
                let mut error = unclear(text, line, &pairs[0]);
                error.message += "; if all of it is a name, say --names whole";
                return Err(error);
            };
            pairs.into_iter().map(|pair| pair.person(order)).collect()
        }
    };
    Ok((people, title))
}

/// Warns of a line whose shape differs from the shape of most lines. Because of such a line, no
/// line is read as name and party.
fn warn_of_others(text: &mut Text<'_>, phrases: &[Phrase]) {
    let is_two = |phrase: &&Phrase| Shape::of(phrase).is_some();
    if 2 * phrases.iter().filter(is_two).count() > phrases.len()
        && let Some(other) = phrases.iter().find(|phrase| !is_two(phrase))
    {
        let message = "most lines have name and party, but not this one: all of each is taken for a name; if it is not, say --names name-party or --names party-name";
        text.warn(other.word().line, message);
    }
}

/// Splits a string of known order into name and party. The string may also have a nickname in
/// quotes, or no party.
fn split(text: String, order: Order) -> (String, Option<String>) {
    let inner = text.trim().strip_suffix('"');
    let split = match order {
        Order::PartyName => inner.and_then(|text| text.split_once('"')),
        Order::NameParty | Order::Whole => inner.and_then(|text| text.rsplit_once(" \"")),
    };
    let split = split.map(|(first, second)| Pair::new(first, second));
    let split = pair(&text).or(split.filter(|pair| !pair.first.is_empty() && !pair.second.is_empty()));
    split.map_or((text, None), |pair| pair.person(order))
}

/// The order in which all these strings must be read. Returns `None` if nothing shows the order, or
/// if the signs contradict each other.
fn told(pairs: &[Pair], usual: Option<Order>) -> Option<Order> {
    let capitals = by_capitals(pairs);
    let mut told = [usual, by_repetition(pairs), capitals].into_iter().flatten();
    let order = told.next()?;
    // People have a first name and a family name more often than parties do.
    let words = |text: &str| text.split_whitespace().count();
    let is_odd = || {
        let both = || pairs.iter().map(|pair| pair.name_and_party(order));
        both().any(|[name, _]| words(name) == 1) && both().all(|[_, party]| words(party) > 1)
    };
    (told.all(|other| other == order) && (capitals.is_some() || !is_odd())).then_some(order)
}

/// The order by repetition: several candidates can share a party, but no candidate stands twice.
fn by_repetition(pairs: &[Pair]) -> Option<Order> {
    let repeats = |string: fn(&Pair) -> &str| {
        let mut strings: Vec<&str> = pairs.iter().map(string).collect();
        strings.sort_unstable();
        strings.windows(2).any(|two| two[0] == two[1])
    };
    one_of(repeats(|pair| &pair.second), repeats(|pair| &pair.first))
}

/// The order by capitals: returning officers write family names in capitals, with few exceptions.
fn by_capitals(pairs: &[Pair]) -> Option<Order> {
    let with_capitals =
        |string: fn(&Pair) -> &str| pairs.iter().filter(|pair| has_capitals(string(pair))).count();
    let (first, second) = (with_capitals(|pair| &pair.first), with_capitals(|pair| &pair.second));
    let most = |number: usize| 2 * number > pairs.len();
    one_of(most(first) && second == 0, most(second) && first == 0)
}

fn one_of(name_first: bool, party_first: bool) -> Option<Order> {
    match (name_first, party_first) {
        (true, false) => Some(Order::NameParty),
        (false, true) => Some(Order::PartyName),
        _ => None,
    }
}

/// Whether the text has several words, the last ending in capitals as in `Ann McKAY`.
fn has_capitals(text: &str) -> bool {
    let Some((_, last)) = text.rsplit_once(char::is_whitespace) else { return false };
    let in_names = |letter: char| letter.is_alphabetic() || matches!(letter, '-' | '\'' | '’' | '.');
    let end: Vec<char> = last.chars().rev().take(2).collect();
    end.len() == 2 && end.iter().all(|letter| letter.is_uppercase()) && last.chars().all(in_names)
}

fn unclear(text: &Text<'_>, line: usize, pair: &Pair) -> InputError {
    let [first, second] = [Quoted(&pair.first), Quoted(&pair.second)];
    let message = format!(
        "it is not clear who is who: either {first} is the name and {second} the party (then say --names name-party), \
         or {second} is the name and {first} the party (--names party-name)"
    );
    text.error(line, message)
}
