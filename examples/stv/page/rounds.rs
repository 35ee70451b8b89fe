//! A row for every round: its decision, and the reason.

use super::{
    number::{aligned, is_broken, is_more_than_shown, value},
    order::with_party,
    text::escaped,
    winners::listed,
};
use crate::result::{Record, Step};
use std::fmt::Write;
use stv_ballots::{Action, CandidateIndex, Iteration};

pub(super) fn table(record: &Record, out: &mut String) {
    out.push_str("<h2>Rounds</h2>\n<div class=\"scroll\"><table class=\"rounds\"><caption>What each round decided, and on which quota, surplus and exhausted votes.</caption>\n<thead><tr><th scope=\"col\">Round</th><th scope=\"col\" class=\"what\">Decision</th><th scope=\"col\">Quota</th><th scope=\"col\">Surplus</th><th scope=\"col\">Exhausted</th></tr></thead><tbody>\n");
    let mut decided = Vec::new();
    let sums_of = |sum: fn(&Step) -> &str| {
        record.steps.iter().any(|step| {
            let shows = matches!(step.action, Action::Iterate(_) | Action::Complete);
            shows && is_broken(value(sum(step)))
        })
    };
    let broken = [sums_of(|step| &step.quota), sums_of(|step| &step.surplus), sums_of(|step| &step.residual)];
    let mut sums: Option<&Step> = None;
    for (place, step) in record.steps.iter().enumerate() {
        if let Some(decision) = decision(record, step) {
            decided.push(decision);
        }
        if matches!(step.action, Action::Iterate(_)) {
            sums = Some(step);
        }
        let next = record.steps.get(place + 1);
        let ends = matches!(step.action, Action::Iterate(Iteration::Elected) | Action::Defeat(..));
        if ends && let Some(step) = sums {
            row(&step.round.to_string(), &mut decided, step, broken, out);
        } else if next.is_none() {
            let defeated = record.steps.iter().filter_map(|step| match step.action {
                Action::DefeatRemaining(candidate) => Some(candidate),
                _ => None,
            });
            let defeated: Vec<_> = defeated.collect();
            if !defeated.is_empty() {
                decided.push(format!("No seat was left for {}", listed(record, &defeated)));
            }
            row("End", &mut decided, step, broken, out);
        }
    }
    out.push_str("</tbody></table></div>\n");
    if record.steps.iter().any(|step| is_more_than_shown(&step.quota)) {
        out.push_str("<p class=\"soft\">A quota with a + is just above the number shown: who has exactly that number does not reach it.</p>\n");
    }
}

/// One row. `broken` shows which of the three sums have decimals.
fn row(label: &str, decided: &mut Vec<String>, step: &Step, broken: [bool; 3], out: &mut String) {
    let [quota, surplus, residual] =
        [(&step.quota, broken[0]), (&step.surplus, broken[1]), (&step.residual, broken[2])]
            .map(|(text, broken)| aligned(value(text), broken));
    let above = if is_more_than_shown(&step.quota) { "" } else { " class=\"none\"" };
    let _ = write!(out, "<tr><th scope=\"row\">{label}</th><td class=\"what\">");
    for decision in decided.drain(..) {
        let _ = write!(out, "<div>{decision}</div>");
    }
    let _ = writeln!(
        out,
        "</td><td title=\"Quota\">{quota}<span{above}>+</span></td><td title=\"Surplus\">{surplus}</td><td title=\"Exhausted\">{residual}</td></tr>"
    );
}

fn decision(record: &Record, step: &Step) -> Option<String> {
    let name = |candidate: &CandidateIndex| with_party(record, *candidate);
    Some(match &step.action {
        Action::Elect(candidate) => format!("<strong>{}</strong> elected", name(candidate)),
        Action::ElectRemaining(candidate) => {
            format!("<strong>{}</strong> elected to a seat that was left", name(candidate))
        }
        Action::Defeat(candidate, _) => format!("{} defeated", name(candidate)),
        Action::BreakTie { tied, by, .. } => {
            let tied: Vec<_> = tied.iter().collect();
            format!("Tie, decided by {}: {}", escaped(&by.to_string()), listed(record, &tied))
        }
        // One sentence at the end covers all remaining candidates.
        Action::DefeatRemaining(_) | Action::Begin | Action::Iterate(_) | Action::Complete => return None,
    })
}
