//! The contents of the pictures in words, for readers who cannot see pictures, and how to read the
//! pictures.

use super::{
    number::{is_more_than_shown, rounded, shown, value},
    order::{self, in_full},
    winners::elections,
};
use crate::result::{Record, Transfer};
use std::fmt::Write;
use stv_ballots::{Action, CandidateIndex, Cause, plural};

pub(super) const BARS: &str = "A bar is the most votes a candidate had until the last seat was filled; what came after that is in the last column of the tables below only. It begins with the first preferences and grows by what each round’s transfers added; a number in it is that round, as in the next picture. What is too narrow to be seen is one piece with what the next rounds added. The red line is the last quota, a dotted one the first: it falls as ballots exhaust. Hatched: how much more a winner once had than when the last seat was filled; the surplus passed on may be more, for votes that came later were passed on too. Beside the bar: what the winners had when the last seat was filled, and the most the others had until then.";

pub(super) const FLOW: &str = "Each column of marks is where the votes lay, as thick as they were many. The ribbons between two columns are the votes that moved, in the colour of who received them; what is pale with an outline stayed. Where there are too many candidates, those with the fewest votes share a lane, which is grey. The picture ends when the last seat is filled. Ballots that name nobody who could still take a part are exhausted. After a defeat, and when one winner alone passes on a surplus, it is known exactly who received what. Where several winners passed on at once, the votes go through a grey gate: it shows how many each had less or more in the end (the net change), not who gave to whom.";

/// The winners, their votes and their rounds, and the closest loser.
pub(super) fn result(record: &Record, order: &[CandidateIndex]) -> String {
    const NAMED: usize = 20;
    let rounds = order::decisions(record).last().map_or(0, |step| step.round);
    let mut words = format!(
        "{} of {} elected in {}: ",
        record.elected.len(),
        plural(order.len(), "candidate"),
        plural(rounds, "round")
    );
    for (place, (step, candidate)) in elections(record).take(NAMED).enumerate() {
        let when = match step.action {
            Action::Elect(_) => format!("in round {}", step.round),
            _ => "at the end".to_owned(),
        };
        let votes = rounded(&step.states[candidate].votes);
        let between = if place > 0 { "; " } else { "" };
        let _ = write!(words, "{between}{} {when} with {votes} votes", in_full(record, candidate));
    }
    let more = record.elected.len().saturating_sub(NAMED);
    if more > 0 {
        let _ = write!(words, "; and {more} more");
    }
    let (Some(begin), Some(end)) = (record.steps.first(), order::last_decision(record)) else { return words };
    let _ = write!(words, ". The quota was {}", quota(&begin.quota));
    if rounded(&begin.quota) != rounded(&end.quota) {
        let _ = write!(words, " at first and {} at the end", quota(&end.quota));
    }
    if let Some(&next) = order.get(record.elected.len()) {
        let votes = shown(order::votes(end, next));
        let name = in_full(record, next);
        let _ = write!(words, ". Closest to a seat without one: {name}, at last with {votes} votes");
    }
    words + "."
}

/// The quota, with a mark if it is above its shown value. At a marked quota, a candidate with just
/// the shown value is not elected.
fn quota(text: &str) -> String {
    if is_more_than_shown(text) { format!("just above {}", rounded(text)) } else { rounded(text) }
}

/// The largest of these transfers, and the exhausted votes.
pub(super) fn transfers<'a>(record: &'a Record, transfers: impl Iterator<Item = &'a Transfer>) -> String {
    const NAMED: usize = 3;
    let mut largest: Vec<(&Transfer, f64)> = transfers
        .filter(|transfer| transfer.cause != Cause::NoSeatLeft)
        .map(|transfer| (transfer, moved(transfer)))
        .collect();
    let number = largest.len();
    largest.sort_by(|left, right| right.1.total_cmp(&left.1));
    largest.truncate(NAMED);
    largest.sort_by_key(|(transfer, _)| transfer.round);
    let largest: Vec<_> = largest.iter().map(|(transfer, votes)| one(record, transfer, *votes)).collect();
    let which = if number > NAMED {
        format!("{}; the {NAMED} largest", plural(number, "transfer"))
    } else {
        plural(number, "transfer")
    };
    format!("{which}: in {}.", largest.join("; in "))
}

fn moved(transfer: &Transfer) -> f64 {
    let amounts = transfer.changes.iter().map(|change| &change.1).chain([&transfer.exhausted]);
    amounts.map(|votes| value(votes).max(0.0)).sum()
}

fn one(record: &Record, transfer: &Transfer, votes: f64) -> String {
    let cause = match transfer.cause {
        Cause::Surplus => "surplus",
        Cause::Defeat | Cause::NoSeatLeft => "defeat",
    };
    let from = match transfer.from[..] {
        [candidate] => in_full(record, candidate),
        _ => plural(transfer.from.len(), "winner"),
    };
    let receivers = transfer.changes.iter().map(|(candidate, change)| (Some(*candidate), value(change)));
    let receivers = receivers.chain([(None, value(&transfer.exhausted))]);
    let most = receivers.max_by(|left, right| left.1.total_cmp(&right.1));
    let most = most.map_or_else(String::new, |(receiver, votes)| {
        let receiver = receiver
            .map_or_else(|| "exhausted".to_owned(), |candidate| format!("to {}", in_full(record, candidate)));
        format!(", {} of them {receiver}", shown(votes))
    });
    format!("round {} by the {cause} of {from}: {} votes{most}", transfer.round, shown(votes))
}

/// A note about omitted transfers.
pub(super) fn hidden(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => "1 transfer of less than a thousandth of the ballots is too thin to be drawn.".to_owned(),
        _ => format!("{number} transfers of less than a thousandth of the ballots are too thin to be drawn."),
    }
}
