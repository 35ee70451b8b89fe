//! `--html FILE`: the count as one page that needs nothing else: the result, the rounds, two
//! pictures, the votes.
//!
//! It is written so that an XML parser can read it, which is what its tests do.

mod bars;
mod flow;
mod number;
mod order;

use super::record::{Record, Step};
use crate::{
    election::CandidateIndex,
    error::plural,
    events::{Action, Iteration},
    standing::Status,
};
use number::{aligned, escaped, is_broken, is_more_than_shown, rounded, value};
use std::fmt::Write;

const STYLE: &str = include_str!("style.css");

/// How many rounds a table of votes shows side by side: as many as fit on a printed page.
const COLUMNS: usize = 8;

/// The whole page.
pub(super) fn page(record: &Record) -> String {
    let order = order::of_result(record);
    let title = if record.title.is_empty() { "Election" } else { &record.title };
    let title = escaped(title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{title}</title>\n<style>\n{STYLE}{}</style></head>\n<body>{}\n<header><h1>{title}</h1>\n",
        colours(record, &order),
        bars::PATTERNS,
    );
    let _ = write!(
        out,
        "<p class=\"soft\">{} · {} · {} ballots · Single Transferable Vote by Meek’s method</p></header>\n<main>\n",
        plural(record.seats, "seat"),
        plural(order.len(), "candidate"),
        rounded(&record.ballots)
    );
    result(record, &mut out);
    rounds(record, &mut out);
    out.push_str("<h2>Votes by round</h2>\n<figure>");
    bars::draw(record, &order, &mut out);
    out.push_str("<figcaption>A bar is the most votes a candidate had until the last seat was filled; what came after that is in the last column of the table below only. It begins with the first preferences and grows by what each round’s transfers added; a number in it is that round, as in the next picture. The red line is the last quota, a dotted one the first: it falls as ballots exhaust. Hatched: how much more a winner once had than when the last seat was filled; the surplus passed on may be more, for votes that came later were passed on too. Beside the bar: what the winners had when the last seat was filled, and the most the others had until then.</figcaption></figure>\n");
    out.push_str("<h2>Flow of votes</h2>\n<figure>");
    match flow::draw(record, &order, &mut out) {
        None => out.push_str("<figcaption>No votes moved before the last seat was filled.</figcaption>"),
        Some(hidden) => flow_caption(hidden, &mut out),
    }
    out.push_str("</figure>\n");
    votes(record, &order, &mut out);
    let _ = write!(
        out,
        "</main>\n<footer><p>{} · {} · omega = 1/10^{}. Numbers on this page are rounded to two decimals; the count was made with all of them, which the transcript, JSON and CSV outputs show.</p></footer>\n</body></html>\n",
        escaped(&record.package),
        escaped(record.arithmetic),
        record.omega_exponent
    );
    out
}

/// A colour for each candidate: strong for winners, faint for the others, all of one lightness.
fn colours(record: &Record, order: &[CandidateIndex]) -> String {
    // Far apart for as many winners as most elections have; the golden angle keeps the next ones
    // off the neighbours.
    const HUES: [usize; 8] = [255, 55, 150, 345, 100, 300, 200, 25];
    let mut rules = String::new();
    for (place, candidate) in order.iter().enumerate() {
        let hue = HUES.get(place).copied().unwrap_or(255 + place * 1375 / 10) % 360;
        let chroma = if record.elected.contains(candidate) { "0.135" } else { "0.04" };
        let _ = writeln!(rules, ".k{candidate} {{ --c: oklch(var(--l) {chroma} {hue}); }}");
    }
    rules
}

fn result(record: &Record, out: &mut String) {
    out.push_str("<h2>Elected</h2>\n<ol class=\"winners\">\n");
    let elections = record.steps.iter().filter_map(|step| match step.action {
        Action::Elect(candidate) | Action::ElectRemaining(candidate) => Some((step, candidate)),
        _ => None,
    });
    for (place, (step, candidate)) in elections.enumerate() {
        let votes = rounded(&step.states[candidate].votes);
        let how = match step.action {
            Action::Elect(_) => format!("round {}, with {votes} votes", step.round),
            _ => format!("at the end, with {votes} votes: as many candidates as seats were left"),
        };
        let name = escaped(&order::name(record, candidate));
        let _ = writeln!(
            out,
            "<li class=\"k{candidate}\"><b>{}</b><strong>{name}</strong><span>{how}</span></li>",
            place + 1
        );
    }
    out.push_str("</ol>\n");
    let withdrawn: Vec<_> =
        (0..record.candidates.len()).filter(|&candidate| record.candidates[candidate].withdrawn).collect();
    if !withdrawn.is_empty() {
        let names: Vec<_> =
            withdrawn.iter().map(|&candidate| escaped(&order::name(record, candidate))).collect();
        let _ = writeln!(out, "<p class=\"soft\">Withdrawn: {}.</p>", names.join("; "));
    }
}

/// A row for every round: what was decided, and on what.
fn rounds(record: &Record, out: &mut String) {
    out.push_str("<h2>Rounds</h2>\n<div class=\"scroll\"><table class=\"rounds\"><thead><tr><th>Round</th><th style=\"text-align:left\">Decision</th><th>Quota</th><th>Surplus</th><th>Exhausted</th></tr></thead><tbody>\n");
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
                Action::DefeatRemaining(candidate) => Some(escaped(&order::name(record, candidate))),
                _ => None,
            });
            let defeated: Vec<_> = defeated.collect();
            if !defeated.is_empty() {
                decided.push(format!("No seat was left for {}", defeated.join("; ")));
            }
            row("End", &mut decided, step, broken, out);
        }
    }
    out.push_str("</tbody></table></div>\n");
    if record.steps.iter().any(|step| is_more_than_shown(&step.quota)) {
        out.push_str("<p class=\"soft\">A quota with a + is just above the number shown: who has exactly that number does not reach it.</p>\n");
    }
}

/// `broken`: which of the three sums show decimals.
fn row(label: &str, decided: &mut Vec<String>, step: &Step, broken: [bool; 3], out: &mut String) {
    let [quota, surplus, residual] =
        [(&step.quota, broken[0]), (&step.surplus, broken[1]), (&step.residual, broken[2])]
            .map(|(text, broken)| aligned(value(text), broken));
    let above = if is_more_than_shown(&step.quota) { "" } else { " class=\"none\"" };
    let _ = writeln!(
        out,
        "<tr><td>{label}</td><td class=\"what\">{}</td><td title=\"Quota\">{quota}<span{above}>+</span></td><td title=\"Surplus\">{surplus}</td><td title=\"Exhausted\">{residual}</td></tr>",
        decided.join("<br/>")
    );
    decided.clear();
}

fn decision(record: &Record, step: &Step) -> Option<String> {
    let name = |candidate: &CandidateIndex| escaped(&order::name(record, *candidate));
    Some(match &step.action {
        Action::Elect(candidate) => format!("<strong>{}</strong> elected", name(candidate)),
        Action::ElectRemaining(candidate) => {
            format!("<strong>{}</strong> elected to a seat that was left", name(candidate))
        }
        Action::Defeat(candidate, _) => format!("{} defeated", name(candidate)),
        Action::BreakTie { tied, .. } => {
            let names: Vec<_> = tied.iter().map(name).collect();
            format!("Tie, broken by the tie-break order: {}", names.join("; "))
        }
        // In one sentence for all of them, at the end.
        Action::DefeatRemaining(_) | Action::Begin | Action::Iterate(_) | Action::Complete => return None,
    })
}

fn flow_caption(hidden: usize, out: &mut String) {
    out.push_str("<figcaption>Read from left to right: each column of marks is where the votes lay, as thick as they were many; the ribbons between two columns are the votes that moved, in the colour of who received them. The picture ends when the last seat is filled. Ballots that name nobody who could still take a part are exhausted. After a defeat, and when one winner alone passes on a surplus, it is known exactly who received what. Where several winners passed on at once, the votes go through a grey gate: it shows how many each had less or more in the end (the net change), not who gave to whom.");
    if hidden > 0 {
        let _ = write!(
            out,
            " {} of less than a thousandth of the ballots {} too thin to be drawn.",
            plural(hidden, "transfer"),
            if hidden == 1 { "is" } else { "are" }
        );
    }
    out.push_str("</figcaption>");
}

/// Everybody's votes at every decision, in tables that fit on a page.
fn votes(record: &Record, order: &[CandidateIndex], out: &mut String) {
    out.push_str("<h2>Votes at every decision</h2>\n<p class=\"soft\">What the candidates had when the round decided. Bold: elected by then. Empty: defeated before. At the end nobody is left but the elected, and they hold all that is not exhausted.</p>\n");
    let decisions: Vec<_> = order::decisions(record).chain(record.steps.last()).collect();
    let tables = decisions.len().div_ceil(COLUMNS);
    for part in decisions.chunks(decisions.len().div_ceil(tables)) {
        out.push_str("<div class=\"scroll\"><table class=\"votes\"><thead><tr><th>Candidate</th>");
        for step in part {
            let _ = write!(out, "<th>{}</th>", order::label(step));
        }
        out.push_str("</tr></thead><tbody>\n");
        let broken = |step: &Step| {
            let votes = |&candidate: &CandidateIndex| {
                step.states[candidate].status != Status::Defeated && is_broken(order::votes(step, candidate))
            };
            is_broken(value(&step.residual)) || order.iter().any(votes)
        };
        let broken: Vec<_> = part.iter().map(|step| broken(step)).collect();
        for &candidate in order {
            if part[0].states[candidate].status == Status::Defeated {
                continue;
            }
            let name = escaped(&order::name(record, candidate));
            let _ = write!(out, "<tr><th><span class=\"swatch k{candidate}\"></span>{name}</th>");
            for (step, &broken) in part.iter().zip(&broken) {
                let votes = aligned(order::votes(step, candidate), broken);
                let _ = match step.states[candidate].status {
                    Status::Defeated => write!(out, "<td></td>"),
                    Status::Elected => write!(out, "<td class=\"in\">{votes}</td>"),
                    _ => write!(out, "<td>{votes}</td>"),
                };
            }
            out.push_str("</tr>\n");
        }
        out.push_str("<tr><th><span class=\"swatch kx\"></span>Exhausted</th>");
        for (step, &broken) in part.iter().zip(&broken) {
            let _ = write!(out, "<td class=\"out\">{}</td>", aligned(value(&step.residual), broken));
        }
        out.push_str("</tr>\n</tbody></table></div>\n");
    }
}
