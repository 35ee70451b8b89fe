//! Votes by round: a bar for each candidate, compared with the quota. The bar adds up the first
//! preferences and the gains of every round.

use super::{
    number::{aligned, count, is_broken, is_more_than_shown, shown, value},
    order::{self, in_full},
    text::{LINE, MOST_LINES, label, wrapped},
    words,
};
use crate::result::Record;
use std::fmt::Write;
use stv_ballots::{CandidateIndex, Cause};

/// The measures of a picture of some width.
struct Frame {
    class: &'static str,
    /// The font size of names, as in the style sheet.
    font: f64,
    width: f64,
    /// The width for names, left of the bars.
    names: f64,
    /// The width for results, right of the bars.
    results: f64,
}

const WIDE: Frame = Frame { class: "wide", font: 12.0, width: 940.0, names: 200.0, results: 150.0 };
const NARROW: Frame = Frame { class: "narrow", font: 11.0, width: 350.0, names: 112.0, results: 64.0 };
const ROW: f64 = 26.0;
const BAR: f64 = 18.0;
const TOP: f64 = 30.0;
/// The narrowest piece of a bar.
const NARROWEST: f64 = 4.0;

/// A piece of a bar: the votes at its two ends, and the first and the last round. Round 0 stands
/// for the first preferences.
#[derive(Clone)]
struct Growth {
    rounds: (usize, usize),
    from: f64,
    to: f64,
}

/// Returns each new maximum of a candidate's votes until the last seat is filled, with its round.
/// Votes that the candidate loses and gets back do not count as growth. Also returns the
/// candidate's votes when the last seat was filled.
fn growth(record: &Record, candidate: CandidateIndex) -> (Vec<Growth>, f64) {
    let mut votes = order::votes(&record.steps[0], candidate);
    let mut growth = vec![Growth { rounds: (0, 0), from: 0.0, to: votes }];
    for transfer in record.transfers.iter().filter(|transfer| transfer.cause != Cause::NoSeatLeft) {
        let Ok(place) = transfer.changes.binary_search_by_key(&candidate, |change| change.0) else {
            continue;
        };
        votes += value(&transfer.changes[place].1);
        let Some(last) = growth.last_mut().filter(|last| votes > last.to) else { continue };
        if last.rounds.1 == transfer.round {
            last.to = votes;
        } else {
            let from = last.to;
            growth.push(Growth { rounds: (transfer.round, transfer.round), from, to: votes });
        }
    }
    (growth, votes)
}

/// The drawn pieces. A piece narrower than `least` is joined with the growth of the next rounds.
/// Otherwise a long count of many candidates would have megabytes of invisible slivers.
fn pieces(bar: &[Growth], least: f64) -> Vec<Growth> {
    let mut pieces: Vec<Growth> = Vec::new();
    for growth in bar {
        match pieces.last_mut() {
            Some(last) if last.rounds.0 > 0 && last.to - last.from < least => {
                last.rounds.1 = growth.rounds.1;
                last.to = growth.to;
            }
            _ => pieces.push(growth.clone()),
        }
    }
    pieces
}

pub(super) fn draw(record: &Record, order: &[CandidateIndex], colours: &[String], out: &mut String) {
    for frame in [WIDE, NARROW] {
        frame.draw(record, order, colours, out);
    }
}

/// A candidate's row.
struct Row {
    candidate: CandidateIndex,
    bar: Vec<Growth>,
    /// For elected candidates: the votes when the last seat was filled.
    kept: Option<f64>,
    /// The number beside the bar.
    result: f64,
    label: Vec<(String, &'static str)>,
    /// The top of the bar.
    y: f64,
}

impl Row {
    fn peak(&self) -> f64 {
        self.bar.last().map_or(0.0, |growth| growth.to)
    }
}

impl Frame {
    /// The rows of all candidates, and the end of the last one.
    fn rows(&self, record: &Record, order: &[CandidateIndex]) -> (Vec<Row>, f64) {
        let mut top = TOP;
        let mut rows = Vec::new();
        for &candidate in order {
            let (bar, kept) = growth(record, candidate);
            let is_elected = record.elected.contains(&candidate);
            let (class, letter) = if is_elected { (" strong", 0.65) } else { ("", 0.58) };
            let room = (self.names - 8.0) / self.font;
            let name = wrapped(&order::name(record, candidate), room / letter, MOST_LINES);
            let party = order::party(record, candidate).map(|party| wrapped(party, room / 0.55, 2));
            let party = party.into_iter().flatten().map(|line| (line, " soft"));
            let label: Vec<_> = name.into_iter().map(|line| (line, class)).chain(party).collect();
            let height = ROW.max(LINE * count(label.len()) + 5.0);
            let peak = bar.last().map_or(0.0, |growth| growth.to);
            let (kept, result) = if is_elected { (Some(kept), kept) } else { (None, peak) };
            rows.push(Row { candidate, bar, kept, result, label, y: top + (height - ROW) / 2.0 });
            top += height;
        }
        (rows, top + 6.0)
    }

    fn draw(&self, record: &Record, order: &[CandidateIndex], colours: &[String], out: &mut String) {
        let (Some(begin), Some(end)) = (record.steps.first(), order::last_decision(record)) else { return };
        let (first_quota, quota) = (value(&begin.quota), value(&end.quota));
        let (rows, height) = self.rows(record, order);
        let most = rows.iter().map(Row::peak).fold(first_quota.max(quota), f64::max);
        let broken = rows.iter().any(|row| is_broken(row.result));
        let scale = (self.width - self.names - self.results) / most;
        let _ = write!(
            out,
            "<svg class=\"{}\" viewBox=\"0 0 {} {height:.0}\" role=\"img\" aria-label=\"Votes of every candidate by round. {}\">",
            self.class,
            self.width,
            words::result(record, order)
        );
        let mut numbers = String::new();
        for row in &rows {
            self.bar(record, row, &colours[row.candidate], scale, out);
            // A number stands to the right of lines that would cross it.
            let text = aligned(row.result, broken);
            let mut x = self.names + row.peak() * scale + 6.0;
            for line in [quota, first_quota].map(|votes| self.names + votes * scale) {
                if line > x - 4.0 && line < x + count(text.len()) * 6.5 + 2.0 {
                    x = line + 5.0;
                }
            }
            let middle = row.y + BAR / 2.0 + 4.0;
            let _ = write!(numbers, "<text class=\"soft\" x=\"{x:.1}\" y=\"{middle:.1}\">{text}</text>");
        }
        let mark = |votes: f64, class: &str, out: &mut String| {
            let x = self.names + votes * scale;
            // A halo separates the line from the bars that it crosses.
            for class in ["halo", class] {
                let _ = write!(out, "<path class=\"{class}\" d=\"M{x:.1} {:.0}V{height:.0}\"/>", TOP - 8.0);
            }
        };
        mark(quota, "quota", out);
        if (first_quota - quota) * scale > 3.0 {
            mark(first_quota, "quota first", out);
        }
        let x = self.names + quota * scale;
        let class = if x > self.width / 2.0 { " end" } else { "" };
        let _ = write!(
            out,
            "<text class=\"quotatext{class}\" x=\"{x:.1}\" y=\"14\">quota {}{}</text>{numbers}</svg>",
            if is_more_than_shown(&end.quota) { "just above " } else { "" },
            shown(quota)
        );
    }

    /// Draws one row, without the number beside the bar.
    fn bar(&self, record: &Record, row: &Row, colour: &str, scale: f64, out: &mut String) {
        let name = in_full(record, row.candidate);
        let y = row.y;
        let mut rounds = String::new();
        let middle = y + BAR / 2.0;
        let _ = write!(out, "<g class=\"{colour}\"><title>{name}</title>");
        label(&row.label, self.names - 8.0, middle, out);
        for (place, Growth { rounds: (first, last), from, to }) in
            pieces(&row.bar, NARROWEST / scale).iter().enumerate()
        {
            let (x, width) = (self.names + from * scale, (to - from) * scale);
            if width < 0.2 {
                continue;
            }
            let what = match (first, last) {
                (0, _) => "first preferences".to_owned(),
                _ if first == last => format!("gained by round {first}"),
                _ => format!("gained by rounds {first} to {last}"),
            };
            // The shades of rounds alternate, so that neighbours differ. First preferences have
            // their own shade.
            let shade = if *first == 0 { "b" } else { ["f", "e"][place % 2] };
            let _ = write!(
                out,
                "<rect class=\"{shade}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{name}: {} {what}</title></rect>",
                (width - 0.6).max(0.4),
                shown(to - from)
            );
            if *first > 0 && first == last && width > 15.0 {
                let over = if row.kept.is_some_and(|kept| *to > kept) { " over" } else { "" };
                let _ = write!(
                    rounds,
                    "<text class=\"on{over}\" x=\"{:.1}\" y=\"{:.1}\">{first}</text>",
                    x + width / 2.0,
                    middle + 3.5
                );
            }
        }
        let peak = row.peak();
        if let Some(kept) = row.kept.filter(|kept| (peak - kept) * scale > 1.0) {
            let _ = write!(
                out,
                "<rect class=\"gone\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{name}: {} more than when the last seat was filled</title></rect>",
                self.names + kept * scale,
                (peak - kept) * scale,
                shown(peak - kept)
            );
        }
        out.push_str(&rounds);
        out.push_str("</g>");
    }
}

/// The hatching for votes that were passed on. It is on the page once and outside the pictures,
/// because patterns in a hidden picture do not work.
pub(super) const PATTERNS: &str = "<svg width=\"0\" height=\"0\" class=\"patterns\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1 7L7 -1M-1 1L1 -1M5 7L7 5\"/></pattern></defs></svg>";
