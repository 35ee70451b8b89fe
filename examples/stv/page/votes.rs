//! The votes of all candidates at every decision, in tables that fit on a page.

use super::{
    number::{aligned, is_broken, value},
    order::{self, with_party},
};
use crate::result::{Record, Step};
use std::fmt::Write;
use stv_ballots::{CandidateIndex, Status};

/// The number of rounds in a table. More do not fit on a printed page.
const COLUMNS: usize = 8;
/// If there are more tables, all but the last are folded up.
const FEW: usize = 3;

pub(super) fn tables(record: &Record, order: &[CandidateIndex], colours: &[String], out: &mut String) {
    out.push_str("<h2>Votes at every decision</h2>\n<p class=\"soft\">What the candidates had when the round decided. Bold: elected by then. Empty: defeated before. At the end nobody is left but the elected, and they hold all that is not exhausted.</p>\n");
    let decisions: Vec<_> = order::decisions(record).chain(record.steps.last()).collect();
    let tables = decisions.len().div_ceil(COLUMNS).max(1);
    for (place, part) in decisions.chunks(decisions.len().div_ceil(tables).max(1)).enumerate() {
        // The last table shows the decision, so it is never folded.
        let is_folded = tables > FEW && place + 1 < tables;
        if is_folded {
            let _ = write!(out, "<details><summary>{}</summary>", span(part));
        }
        table(record, order, colours, part, out);
        out.push_str(if is_folded { "</details>\n" } else { "" });
    }
}

/// "Round 3 to End".
fn span(part: &[&Step]) -> String {
    match part {
        [first, .., last] => format!("{} to {}", order::label(first), order::label(last)),
        _ => part.iter().map(|step| order::label(step)).collect(),
    }
}

fn table(record: &Record, order: &[CandidateIndex], colours: &[String], part: &[&Step], out: &mut String) {
    let _ = write!(
        out,
        "<div class=\"scroll\"><table class=\"votes\"><caption>Votes, {}.</caption>\n<thead><tr><th scope=\"col\">Candidate</th>",
        span(part).to_lowercase()
    );
    for step in part {
        let _ = write!(out, "<th scope=\"col\">{}</th>", order::label(step));
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
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><span class=\"swatch {}\"></span>{}</th>",
            colours[candidate],
            with_party(record, candidate)
        );
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
    out.push_str("<tr><th scope=\"row\"><span class=\"swatch kx\"></span>Exhausted</th>");
    for (step, &broken) in part.iter().zip(&broken) {
        let _ = write!(out, "<td class=\"out\">{}</td>", aligned(value(&step.residual), broken));
    }
    out.push_str("</tr>\n</tbody></table></div>\n");
}
