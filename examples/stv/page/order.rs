//! The order of the candidates on the page, their names, and the numbers shown of every round.

use super::{
    number::value,
    text::{apart, isolated},
};
use crate::result::{Record, Step};
use std::borrow::Cow;
use stv_ballots::{Action, CandidateIndex};

/// Winners in the order of their election, then the other candidates. Of these, the candidate that
/// lasted longest comes first. Withdrawn candidates are left out.
pub(super) fn of_result(record: &Record) -> Vec<CandidateIndex> {
    let chosen = |wanted: fn(&Action) -> Option<CandidateIndex>| {
        record.steps.iter().rev().filter_map(move |step| wanted(&step.action))
    };
    let mut last: Vec<_> = chosen(|action| match action {
        Action::DefeatRemaining(candidate) => Some(*candidate),
        _ => None,
    })
    .collect();
    if let Some(step) = last_decision(record) {
        last.sort_by(|&left, &right| votes(step, right).total_cmp(&votes(step, left)).then(left.cmp(&right)));
    }
    let defeated = chosen(|action| match action {
        Action::Defeat(candidate, _) => Some(*candidate),
        _ => None,
    });
    record.elected.iter().copied().chain(last).chain(defeated).collect()
}

/// The decisions of the count: for each round, the step at which the iteration ends.
pub(super) fn decisions(record: &Record) -> impl Iterator<Item = &Step> {
    record.steps.iter().filter(|step| matches!(step.action, Action::Iterate(_)))
}

/// The step at which the last seat was filled. Later steps only move votes that can no longer
/// decide anything.
pub(super) fn last_decision(record: &Record) -> Option<&Step> {
    decisions(record).last().or_else(|| record.steps.first())
}

/// "Round 3", or "End".
pub(super) fn label(step: &Step) -> String {
    if step.action == Action::Complete { "End".to_owned() } else { format!("Round {}", step.round) }
}

/// The text for a candidate.
pub(super) fn name(record: &Record, candidate: CandidateIndex) -> Cow<'_, str> {
    Cow::from(&record.names[candidate])
}

/// The file's text beside the name, if any.
pub(super) fn party(record: &Record, candidate: CandidateIndex) -> Option<&str> {
    record.candidates[candidate].party.as_deref().filter(|party| !party.trim().is_empty())
}

/// Name and party, in HTML.
pub(super) fn with_party(record: &Record, candidate: CandidateIndex) -> String {
    let name = isolated(&name(record, candidate));
    match party(record, candidate) {
        Some(party) => format!("{name} <span class=\"party\">{}</span>", isolated(party)),
        None => name,
    }
}

/// Name and party, where elements are not allowed.
pub(super) fn in_full(record: &Record, candidate: CandidateIndex) -> String {
    let name = apart(&name(record, candidate));
    party(record, candidate).map_or(name.clone(), |party| format!("{name} ({})", apart(party)))
}

/// The numbers of colours in the style sheet: for winners `w0` and on, for others `o0` and on.
pub(super) const WINNERS: usize = 12;
pub(super) const OTHERS: usize = 8;

/// The colour class of each candidate, and at the end the class of the exhausted votes. Winners
/// have strong colours, the other candidates faint ones. There may be more candidates than colours,
/// so only neighbours are sure to differ.
pub(super) fn colours(record: &Record, order: &[CandidateIndex]) -> Vec<String> {
    let mut colours = vec!["kx".to_owned(); record.candidates.len() + 1];
    let (winners, others) = order.split_at(record.elected.len());
    for (place, &candidate) in winners.iter().enumerate() {
        colours[candidate] = format!("w{}", place % WINNERS);
    }
    for (place, &candidate) in others.iter().enumerate() {
        colours[candidate] = format!("o{}", place % OTHERS);
    }
    colours
}

/// The votes of a candidate at a step.
pub(super) fn votes(step: &Step, candidate: CandidateIndex) -> f64 {
    value(&step.states[candidate].votes)
}

/// A candidate's first preferences, and their share of all in percent.
pub(super) fn first_preferences(record: &Record, candidate: CandidateIndex) -> (f64, f64) {
    let Some(begin) = record.steps.first() else { return (0.0, 0.0) };
    let (first, all) = (votes(begin, candidate), value(&begin.votes));
    (first, if all > 0.0 { 100.0 * first / all } else { 0.0 })
}
