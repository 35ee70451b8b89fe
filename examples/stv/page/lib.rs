//! The result of a count as JSON and CSV, and as one page. The page has the winners, the rounds,
//! two pictures and the votes. It needs no other file.
//!
//! The page is well-formed XML, so that the tests can parse it.

#![allow(clippy::missing_errors_doc, clippy::must_use_candidate)] // of a package that is not published
#![allow(missing_docs)] // of fields and variants whose names say what they are

mod again;
mod bars;
#[cfg(test)]
mod contrast;
mod flow;
mod number;
mod order;
#[cfg(test)]
mod places;
mod result;
mod rounds;
#[cfg(test)]
mod tests;
mod text;
mod votes;
mod winners;
mod words;

pub use result::{
    Comparison, OPTIONS, Recipe, Record, State, Step, Transfer, command_line, head, read, shown, write_csv,
    write_json,
};

use number::rounded;
use std::fmt::Write;
use stv_ballots::plural;
use text::{escaped, isolated};

const STYLE: &str = include_str!("style.css");

/// The policy for browsers: the page may use one style sheet, identified by its SHA-256, and
/// nothing else. If a name ever became markup, it could load nothing, run nothing and send nothing.
/// When the style sheet has changed, a test prints the new hash.
const POLICY: &str = "default-src 'none'; style-src 'sha256-Qr4Fe1e44xIaIQGgK1D5i6kKb61TyjfpLKrRvHkohWc='; base-uri 'none'; form-action 'none'";

/// The whole page.
pub fn page(record: &Record) -> String {
    let order = order::of_result(record);
    let colours = order::colours(record, &order);
    let title = if record.title.is_empty() { "Election" } else { &record.title };
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"/><meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/><meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n<style>{STYLE}</style></head>\n<body>{}\n<header><h1>{}</h1>\n",
        escaped(title),
        bars::PATTERNS,
        isolated(title),
    );
    let _ = write!(
        out,
        "<p class=\"soft\">{} · {} · {} ballots · Single Transferable Vote by Meek’s method</p></header>\n<main>\n",
        plural(record.seats, "seat"),
        plural(order.len(), "candidate"),
        rounded(&record.ballots)
    );
    winners::winners(record, &colours, &mut out);
    rounds::table(record, &mut out);
    out.push_str("<h2>Votes by round</h2>\n<figure>");
    bars::draw(record, &order, &colours, &mut out);
    out.push_str("<figcaption>A bar for each candidate: first preferences, what each round added, and the quota as a red line.</figcaption></figure>\n");
    reading(&[&words::result(record, &order), words::BARS], &mut out);
    out.push_str("<h2>Flow of votes</h2>\n<figure>");
    let hidden = flow::draw(record, &order, &colours, &mut out);
    out.push_str(match hidden {
        None => "<figcaption>No votes moved before the last seat was filled.</figcaption></figure>\n",
        Some(_) => "<figcaption>From left to right: a lane for each candidate, and ribbons for the votes that moved.</figcaption></figure>\n",
    });
    if let Some(hidden) = hidden {
        reading(
            &[&words::transfers(record, record.transfers.iter()), words::FLOW, &words::hidden(hidden)],
            &mut out,
        );
    }
    winners::everybody(record, &order, &colours, &mut out);
    votes::tables(record, &order, &colours, &mut out);
    out.push_str("</main>\n");
    let _ = writeln!(
        out,
        "<footer><p>{} · {} · omega = 1/10^{}. Numbers on this page are rounded to two decimals; the count was made with all of them, which the transcript, JSON and CSV outputs show.</p>",
        escaped(&record.package),
        escaped(&record.arithmetic),
        record.omega_exponent
    );
    again::again(record, &mut out);
    out.push_str("</footer>\n</body></html>\n");
    out
}

/// Writes a text that describes and explains a picture, folded up below it.
fn reading(paragraphs: &[&str], out: &mut String) {
    out.push_str("<details><summary>In words, and how to read it</summary>");
    for paragraph in paragraphs.iter().filter(|paragraph| !paragraph.is_empty()) {
        let _ = write!(out, "<p>{paragraph}</p>");
    }
    out.push_str("</details>\n");
}
