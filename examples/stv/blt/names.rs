//! The end of a BLT file: the names of the candidates and the title, in the shapes that real files give them.

use super::{
    InputError, Quoted,
    text::{Phrase, Text},
};

/// The names in candidate order, and the title.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Names {
    pub(super) candidates: Vec<String>,
    pub(super) title: String,
}

/// Reads what follows the `0` after the last ballot, which stands on line `end_of_ballots`.
pub(super) fn read(
    text: &mut Text<'_>,
    candidates: usize,
    end_of_ballots: usize,
) -> Result<Names, InputError> {
    let mut phrases = Vec::new();
    // Two for each candidate, then title, source and comment; one more shows that something else follows.
    let most = 2 * candidates + 4;
    while phrases.len() < most
        && let Some(phrase) = text.next_phrase()?
    {
        phrases.push(phrase);
    }
    if let Some(Phrase::Bare(word)) = phrases.first()
        && word.line == end_of_ballots
    {
        let message = format!(
            "the 0 in place of a weight ends the ballots, but {} follows; give that ballot a weight of at least 1",
            Quoted(&word.text)
        );
        return Err(text.error(word.line, message));
    }
    let chosen = if is_unquoted(&phrases, candidates) {
        phrases
    } else if is_name_and_party(&phrases, candidates) {
        if candidates < 3 {
            let message =
                "two strings on each line could be name and party, or two names; put one string on a line";
            return Err(text.error(phrases[0].word().line, message));
        }
        phrases.into_iter().step_by(2).collect()
    } else {
        check_quotes(text, &phrases, candidates)?;
        phrases
    };
    let mut names: Vec<String> =
        chosen.iter().take(candidates + 1).map(|phrase| phrase.word().text.clone()).collect();
    let title = names.pop().unwrap_or_default();
    Ok(Names { candidates: names, title })
}

/// One line for each name and one for the title, and nothing else: no room for a misreading.
fn is_unquoted(phrases: &[Phrase], candidates: usize) -> bool {
    phrases.len() == candidates + 1
        && phrases[..candidates].iter().all(|phrase| matches!(phrase, Phrase::Bare(_)))
}

/// Name and party of a candidate on each line, and the title alone on the line after them.
fn is_name_and_party(phrases: &[Phrase], candidates: usize) -> bool {
    let line = |place: usize| phrases.get(place).map(|phrase| phrase.word().line);
    let quoted = |phrase: &Phrase| matches!(phrase, Phrase::Quoted(_));
    phrases.len() > 2 * candidates
        && phrases[..=2 * candidates].iter().all(quoted)
        && (0..candidates).all(|candidate| {
            line(2 * candidate) == line(2 * candidate + 1)
                && line(2 * candidate + 1) < line(2 * candidate + 2)
        })
        && line(2 * candidates) != line(2 * candidates + 1)
}

/// The usual shape: a quoted string for each name and one for the title. Up to two more, source and comment, say nothing to the count.
fn check_quotes(text: &Text<'_>, phrases: &[Phrase], candidates: usize) -> Result<(), InputError> {
    for place in 0..=candidates {
        let what = if place < candidates {
            format!("the name of candidate {}", place + 1)
        } else {
            "the title".to_owned()
        };
        match phrases.get(place) {
            Some(Phrase::Quoted(_)) => {}
            Some(Phrase::Bare(word)) => {
                let message = format!(
                    "{} stands where {what} is expected; put it in double quotes",
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
    if let Some(extra) = phrases.get(candidates + 3) {
        text.warn(extra.word().line, "what follows the title, source and comment is ignored");
    }
    Ok(())
}
