//! The winners, and a row for each candidate with first preferences and result.

use super::{
    number::{aligned, is_broken, percent, rounded, shown},
    order::{self, first_preferences, with_party},
    text::isolated,
};
use crate::result::{Record, Step};
use std::fmt::Write;
use stv_ballots::{Action, CandidateIndex, not_counted, plural};

pub(super) fn winners(record: &Record, colours: &[String], out: &mut String) {
    out.push_str("<h2>Elected</h2>\n<ol class=\"winners\">\n");
    for (place, (step, candidate)) in elections(record).enumerate() {
        let votes = rounded(&step.states[candidate].votes);
        let how = match step.action {
            Action::Elect(_) => format!("round {}, with {votes} votes", step.round),
            _ => format!("at the end, with {votes} votes: as many candidates as seats were left"),
        };
        let name = isolated(&order::name(record, candidate));
        let party = order::party(record, candidate)
            .map_or_else(String::new, |party| format!("<span class=\"party\">{}</span>", isolated(party)));
        let (first, share) = first_preferences(record, candidate);
        let _ = writeln!(
            out,
            "<li class=\"{}\"><b>{}</b><strong>{name}</strong>{party}<span>{how}</span><span>first preferences: {} ({})</span></li>",
            colours[candidate],
            place + 1,
            shown(first),
            percent(share)
        );
    }
    out.push_str("</ol>\n");
    let withdrawn = withdrawn(record);
    if !withdrawn.is_empty() {
        let _ = writeln!(out, "<div class=\"soft\">Withdrawn: {}</div>", listed(record, &withdrawn));
    }
    if let Some(empty) = not_counted(&record.empty_ballots) {
        let _ = writeln!(out, "<div class=\"soft\">{empty}.</div>");
    }
    if record.with_equal_ranks != "0" {
        let ballots = rounded(&record.with_equal_ranks);
        let way = record.equal_ranks.explained();
        let _ = writeln!(out, "<div class=\"soft\">Ballots with equal ranks: {ballots}; {way}.</div>");
    }
}

/// The steps that elected a candidate, with the candidate.
pub(super) fn elections(record: &Record) -> impl Iterator<Item = (&Step, CandidateIndex)> {
    record.steps.iter().filter_map(|step| match step.action {
        Action::Elect(candidate) | Action::ElectRemaining(candidate) => Some((step, candidate)),
        _ => None,
    })
}

fn withdrawn(record: &Record) -> Vec<CandidateIndex> {
    (0..record.candidates.len()).filter(|&candidate| record.candidates[candidate].withdrawn).collect()
}

/// Names with their parties, one after the other. A long list is a number that unfolds.
pub(super) fn listed(record: &Record, candidates: &[CandidateIndex]) -> String {
    const FEW: usize = 6;
    let names: Vec<_> = candidates.iter().map(|&candidate| with_party(record, candidate)).collect();
    let names = names.join("; ");
    if candidates.len() <= FEW {
        return names;
    }
    let number = plural(candidates.len(), "candidate");
    format!("<details><summary>{number}</summary>{names}</details>")
}

/// All candidates in the order of the result. Withdrawn candidates come last.
pub(super) fn everybody(record: &Record, order: &[CandidateIndex], colours: &[String], out: &mut String) {
    out.push_str("<h2>All candidates</h2>\n<div class=\"scroll\"><table class=\"all\"><caption>First preferences, their share of all first preferences, and what came of them.</caption>\n<thead><tr><th scope=\"col\">Candidate</th><th scope=\"col\">First</th><th scope=\"col\">Share</th><th scope=\"col\">Result</th></tr></thead><tbody>\n");
    let results = results(record);
    let broken = order.iter().any(|&candidate| is_broken(first_preferences(record, candidate).0));
    for &candidate in order.iter().chain(&withdrawn(record)) {
        let (first, share) = first_preferences(record, candidate);
        let numbers = if record.candidates[candidate].withdrawn {
            "<td></td><td></td>".to_owned()
        } else {
            format!("<td>{}</td><td>{}</td>", aligned(first, broken), percent(share))
        };
        let _ = writeln!(
            out,
            "<tr><th scope=\"row\"><span class=\"swatch {}\"></span>{}</th>{numbers}<td class=\"what\">{}</td></tr>",
            colours[candidate],
            with_party(record, candidate),
            results[candidate]
        );
    }
    out.push_str("</tbody></table></div>\n");
}

/// The result of each candidate, in words.
fn results(record: &Record) -> Vec<String> {
    let mut results = vec!["Withdrawn".to_owned(); record.candidates.len()];
    for step in &record.steps {
        let round = step.round;
        match step.action {
            Action::Elect(candidate) => {
                results[candidate] = format!("<strong>Elected, round {round}</strong>");
            }
            Action::ElectRemaining(candidate) => {
                "<strong>Elected, at the end</strong>".clone_into(&mut results[candidate]);
            }
            Action::Defeat(candidate, _) => results[candidate] = format!("Defeated, round {round}"),
            Action::DefeatRemaining(candidate) => "No seat left".clone_into(&mut results[candidate]),
            _ => {}
        }
    }
    results
}
