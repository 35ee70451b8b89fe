//! The order in which the page shows the candidates, and what it shows of every round.

use super::number::value;
use crate::{
    election::CandidateIndex,
    events::Action,
    output::record::{Record, Step},
};
use std::borrow::Cow;

/// Winners first, in the order of their election; then the others, who came farthest first. Those
/// who have withdrawn are left out.
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

/// The moments at which something was decided: the end of each round's iteration.
pub(super) fn decisions(record: &Record) -> impl Iterator<Item = &Step> {
    record.steps.iter().filter(|step| matches!(step.action, Action::Iterate(_)))
}

/// Where the count stood when the last seat was filled. What comes after only moves votes that can
/// no longer decide anything.
pub(super) fn last_decision(record: &Record) -> Option<&Step> {
    decisions(record).last().or_else(|| record.steps.first())
}

/// "Round 3", or "End".
pub(super) fn label(step: &Step) -> String {
    if step.action == Action::Complete { "End".to_owned() } else { format!("Round {}", step.round) }
}

/// What a candidate is called, in text.
pub(super) fn name(record: &Record, candidate: CandidateIndex) -> Cow<'_, str> {
    Cow::from(&record.names[candidate])
}

/// The votes of a candidate at a step.
pub(super) fn votes(step: &Step, candidate: CandidateIndex) -> f64 {
    value(&step.states[candidate].votes)
}
