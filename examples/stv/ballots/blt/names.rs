//! The end of a BLT file: the names of the candidates and the title, in the shapes of real files.

use super::{
    InputError, Order, Quoted, is_number,
    parties::{self, Pair, People},
    text::{Phrase, Text},
};

/// The largest number of candidates without lines of names. No ballot paper has more.
const MOST_NAMELESS: usize = 100;

/// The name and party of each candidate, and the title.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) candidates: People,
    pub(super) title: String,
}

/// The `0` behind the last ballot: its line, and whether no ballot ends on this line.
#[derive(Debug, Clone, Copy)]
pub(super) struct End {
    pub(super) line: usize,
    pub(super) is_alone: bool,
}

/// Reads the text after the `0` behind the last ballot. `order` is the user's order of name and
/// party.
pub(super) fn read(
    text: &mut Text<'_>,
    candidates: usize,
    end: End,
    order: Option<Order>,
) -> Result<Names, InputError> {
    text.names_in_comments = Some(Vec::new());
    let mut phrases = Vec::new();
    // Two phrases per candidate, then title, source and comment. A phrase beyond this number shows
    // that something else follows the comment.
    let most = 2 * candidates + 4;
    while phrases.len() < most
        && let Some(phrase) = text.next_phrase()?
    {
        phrases.push(phrase);
    }
    if let Some(Phrase::Bare(word)) = phrases.first()
        && word.line == end.line
    {
        let message = format!(
            "the 0 in place of a weight ends the ballots, but {} follows; give that ballot a weight of at least 1, and write - for a rank left out",
            Quoted(&word.text)
        );
        return Err(text.error(word.line, message));
    }
    let is_like_a_ballot = |phrase: &&Phrase| {
        let words = phrase.word().text.split_whitespace();
        matches!(phrase, Phrase::Bare(_)) && words.clone().count() > 2 && words.clone().all(is_number)
    };
    if let Some(line) = phrases.iter().find(is_like_a_ballot).map(|phrase| phrase.word().line) {
        if !end.is_alone {
            let message = format!(
                "the last 0 of this line ends the ballots, but line {line} looks like a ballot; if a 0 in this line is a rank left out, write - for it"
            );
            return Err(text.error(end.line, message));
        }
        text.warn(
            line,
            "this line looks like a ballot, but stands behind the 0 that ends the ballots; it is not counted",
        );
    }
    if let Some(people) = in_comments(text, &phrases, candidates) {
        let title = phrases.remove(0).into_word().text;
        return Ok(Names { candidates: people, title });
    }
    if order != Some(Order::Whole) && is_name_and_party(&phrases, candidates) {
        let line = phrases[0].word().line;
        if candidates < 3 && order.is_none() {
            let message = "two strings on each line could be name and party, or two names; put one string on a line, or say \
                           --names name-party or --names party-name";
            return Err(text.error(line, message));
        }
        let title = phrases.swap_remove(2 * candidates).into_word().text;
        phrases.truncate(2 * candidates);
        let pair = |pair: &[Phrase]| Pair::new(&pair[0].word().text, &pair[1].word().text);
        let pairs = phrases.chunks(2).map(pair).collect();
        return Ok(Names { candidates: parties::of_two(text, line, pairs, order)?, title });
    }
    if !is_unquoted(&phrases, candidates) {
        check_quotes(text, &phrases, candidates)?;
        check_lines(text, &phrases, candidates)?;
        check_number(text, &mut phrases, candidates);
    }
    phrases.truncate(candidates + 1);
    let (candidates, title) = parties::of_one(text, phrases, order)?;
    Ok(Names { candidates, title })
}

/// The names from comments, if each candidate has a line such as `# ALTERNATIVE NAME 1: Ann Li
/// (SNP)` and only the title follows. If a bare title stands alone, up to [`MOST_NAMELESS`]
/// candidates are counted without names.
fn in_comments(text: &mut Text<'_>, phrases: &[Phrase], candidates: usize) -> Option<People> {
    let named = text.names_in_comments.take().unwrap_or_default();
    let [title @ (Phrase::Bare(_) | Phrase::Quoted(_) | Phrase::Doubled(_))] = phrases else { return None };
    let in_order = |(place, (number, _)): (usize, &(usize, String))| *number == place + 1;
    if named.len() == candidates && named.iter().enumerate().all(in_order) {
        return Some(named.into_iter().map(|(_, name)| (name, None)).collect());
    }
    if !matches!(title, Phrase::Bare(_)) || !(2..=MOST_NAMELESS).contains(&candidates) {
        return None;
    }
    let title = title.word();
    let message = format!(
        "{} is taken for the title, and no line names the candidates: they are called by their numbers; write the names before the title",
        Quoted(&title.text)
    );
    text.warn(title.line, &message);
    Some(vec![(String::new(), None); candidates])
}

/// Whether each name and the title have a line of their own, and some of these lines have no
/// quotes. If any line has quotes, the lines without quotes must not contain a quote or a number
/// sign.
fn is_unquoted(phrases: &[Phrase], candidates: usize) -> bool {
    let bare = |phrase: &&Phrase| matches!(phrase, Phrase::Bare(_));
    let plain = |phrase: &Phrase| match phrase {
        Phrase::Quoted(_) | Phrase::Doubled(_) => true,
        Phrase::Bare(word) => !word.text.contains(['"', '#']),
        Phrase::Unclosed(_) => false,
    };
    phrases.len() == candidates + 1
        && phrases.is_sorted_by(|left, right| left.word().line < right.word().line)
        && (phrases[..candidates].iter().all(|phrase| bare(&phrase)) || phrases.iter().all(plain))
        && !matches!(phrases[candidates], Phrase::Unclosed(_))
        && phrases.iter().any(|phrase| bare(&phrase))
}

/// Whether each line has the name and party of a candidate, followed by the title. The title is
/// alone on its line, or stands on the last line.
fn is_name_and_party(phrases: &[Phrase], candidates: usize) -> bool {
    let line = |place: usize| phrases.get(place).map(|phrase| phrase.word().line);
    let quoted = |phrase: &Phrase| matches!(phrase, Phrase::Quoted(_) | Phrase::Doubled(_));
    let Some(title) = phrases.get(2 * candidates) else { return false };
    let is_last = line(2 * candidates) == phrases.last().map(|last| last.word().line);
    phrases[..2 * candidates].iter().all(quoted)
        && (quoted(title) || matches!(title, Phrase::Bare(_)) && phrases.len() == 2 * candidates + 1)
        && (0..candidates).all(|candidate| {
            line(2 * candidate) == line(2 * candidate + 1)
                && line(2 * candidate + 1) < line(2 * candidate + 2)
        })
        && (line(2 * candidates) != line(2 * candidates + 1) || is_last)
}

/// Refuses strings with two possible readings, since wrong names could win. Either every name has a
/// line of its own, or all names stand on the first line.
fn check_lines(text: &mut Text<'_>, phrases: &[Phrase], candidates: usize) -> Result<(), InputError> {
    let line = |phrase: &Phrase| phrase.word().line;
    let lines: Vec<_> = phrases.chunk_by(|left, right| line(left) == line(right)).collect();
    let alone = lines.iter().take(candidates).all(|line| line.len() == 1);
    let first = lines[0].len();
    // Lines of two, one and one strings are ambiguous. One reading is two names, the title and the
    // source. The other reading is a name with its party, another name, and the title.
    let in_a_row = first > candidates || first == candidates && (candidates != 2 || phrases.len() == 3);
    if !alone && !in_a_row {
        let (at, found) = match lines.iter().find(|line| line.len() != first) {
            Some(other) => {
                let strings =
                    format!("strings on this line: {}, on line {}: {first}", other.len(), line(&phrases[0]));
                (&other[0], strings)
            }
            None => (&phrases[0], format!("strings on each line: {first}")),
        };
        let message = format!(
            "{found}, so it is not clear which are names; write each name, and the title, on a line of its own, or name and party on \
             each line and the title behind them"
        );
        return Err(text.error(line(at), message));
    }
    if let Some(name) = phrases[..=candidates].iter().find(|name| name.word().text.contains("\",")) {
        text.warn(
            line(name),
            "a name with a quote and a comma in it: nothing but white space stands between two strings",
        );
    }
    Ok(())
}

/// Warns if there may be more names than candidates: two or three lines of strings follow the
/// names. Of two lines, the last one is the title. Of three lines, the first one is the title,
/// since source and comment may follow it.
fn check_number(text: &mut Text<'_>, phrases: &mut [Phrase], candidates: usize) {
    let line = |phrase: &Phrase| phrase.word().line;
    let quoted = |phrase: &Phrase| matches!(phrase, Phrase::Quoted(_) | Phrase::Doubled(_));
    let behind = &phrases[candidates..];
    let is_apart = phrases.windows(2).all(|pair| line(&pair[0]) < line(&pair[1]));
    if !(2..=3).contains(&behind.len()) || !is_apart || !behind.iter().all(quoted) {
        return;
    }
    let (first, last) = (&behind[0].word().text, &behind[behind.len() - 1].word().text);
    let title = if behind.len() == 2 { last } else { first };
    let message = format!(
        "there may be {} names for {candidates} candidates, from {} on; {} is taken for the title; correct the number of candidates, or \
         write title, source and comment on one line",
        phrases.len() - 1,
        Quoted(first),
        Quoted(title)
    );
    text.warn(line(&behind[0]), &message);
    if behind.len() == 2 {
        phrases.swap(candidates, candidates + 1);
    }
}

/// Checks the usual shape: a quoted string for each name and one for the title. Up to two more
/// strings, the source and the comment, do not matter to the count.
fn check_quotes(text: &mut Text<'_>, phrases: &[Phrase], candidates: usize) -> Result<(), InputError> {
    for place in 0..=candidates {
        let what = if place < candidates {
            format!("the name of candidate {}", place + 1)
        } else {
            "the title".to_owned()
        };
        match phrases.get(place) {
            Some(Phrase::Quoted(_) | Phrase::Doubled(_)) => {}
            Some(Phrase::Bare(word)) if place > 0 && phrases[place - 1].word().line == word.line => {
                let message = format!(
                    "{} follows a name on its line; quotes inside a name are doubled, as in \"Ann \"\"Z\"\" Orr\"",
                    Quoted(&word.text)
                );
                return Err(text.error(word.line, message));
            }
            Some(Phrase::Bare(word)) => {
                let lines = phrases.len();
                let all = if phrases.iter().all(|phrase| matches!(phrase, Phrase::Bare(_))) {
                    format!(
                        ", or write {} lines after the ballots, {candidates} names and a title: there are {lines}",
                        candidates + 1
                    )
                } else {
                    String::new()
                };
                let message = format!(
                    "{} stands where {what} is expected; put it in double quotes{all}",
                    Quoted(&word.text)
                );
                return Err(text.error(word.line, message));
            }
            Some(Phrase::Unclosed(word)) => {
                return Err(text.error(word.line, format!("{what} has no closing quote on its line; add it")));
            }
            None => {
                let message = format!(
                    "the file ends here, before {what}; after the ballots it needs {candidates} names and a title"
                );
                return Err(text.error(text.last_line(), message));
            }
        }
    }
    if let Some(Phrase::Bare(rest)) = phrases.get(candidates + 1)
        && rest.line == phrases[candidates].word().line
    {
        let message = format!(
            "{} follows the title on its line; if it belongs to the title, leave out the quote before it, else put it on the next line",
            Quoted(&rest.text)
        );
        return Err(text.error(rest.line, message));
    }
    if let Some(extra) = phrases.get(candidates + 3) {
        text.warn(extra.word().line, "what follows the title, source and comment is ignored");
    }
    Ok(())
}
