//! Votes by round: a bar for each candidate, built up from the first preferences and what every
//! round added, against the quota.

use super::{
    number::{aligned, escaped, fitted, is_broken, is_more_than_shown, shown, value},
    order,
};
use crate::{
    election::CandidateIndex,
    output::record::{Cause, Record},
};
use std::fmt::Write;

/// Where things stand in a picture of some width.
struct Frame {
    class: &'static str,
    width: f64,
    /// Left of the bars.
    names: f64,
    /// Right of the bars.
    results: f64,
}

const WIDE: Frame = Frame { class: "wide", width: 940.0, names: 200.0, results: 150.0 };
const NARROW: Frame = Frame { class: "narrow", width: 350.0, names: 112.0, results: 64.0 };
const ROW: f64 = 26.0;
const BAR: f64 = 18.0;
const TOP: f64 = 30.0;

/// A bar: from where to where it grew, and in which round. Round 0 is the first preferences.
struct Growth {
    round: usize,
    from: f64,
    to: f64,
}

/// The new highs of a candidate's votes until the last seat is filled, each with the round of the
/// transfers that led there. What was lost in between, as surplus, is no growth when it comes back.
/// Beside them, what the candidate had when the last seat was filled.
fn growth(record: &Record, candidate: CandidateIndex) -> (Vec<Growth>, f64) {
    let mut votes = order::votes(&record.steps[0], candidate);
    let mut growth = vec![Growth { round: 0, from: 0.0, to: votes }];
    for transfer in record.transfers.iter().filter(|transfer| transfer.cause != Cause::NoSeatLeft) {
        let Ok(place) = transfer.changes.binary_search_by_key(&candidate, |change| change.0) else {
            continue;
        };
        votes += value(&transfer.changes[place].1);
        let Some(last) = growth.last_mut().filter(|last| votes > last.to) else { continue };
        if last.round == transfer.round {
            last.to = votes;
        } else {
            let from = last.to;
            growth.push(Growth { round: transfer.round, from, to: votes });
        }
    }
    (growth, votes)
}

pub(super) fn draw(record: &Record, order: &[CandidateIndex], out: &mut String) {
    for frame in [WIDE, NARROW] {
        frame.draw(record, order, out);
    }
}

impl Frame {
    fn draw(&self, record: &Record, order: &[CandidateIndex], out: &mut String) {
        let (Some(begin), Some(end)) = (record.steps.first(), order::last_decision(record)) else { return };
        let (first_quota, quota) = (value(&begin.quota), value(&end.quota));
        let (bars, kept): (Vec<_>, Vec<_>) = order.iter().map(|&candidate| growth(record, candidate)).unzip();
        let peaks = bars.iter().filter_map(|bar| bar.last()).map(|growth| growth.to);
        let most = peaks.fold(first_quota.max(quota), f64::max);
        let elected = |row: usize| record.elected.contains(&order[row]);
        let results: Vec<_> =
            (0..order.len()).map(|row| if elected(row) { kept[row] } else { peak(&bars[row]) }).collect();
        let broken = results.iter().any(|&votes| is_broken(votes));
        let scale = (self.width - self.names - self.results) / most;
        let height = TOP + ROW * count(order.len()) + 6.0;
        let _ = write!(
            out,
            "<svg class=\"{}\" viewBox=\"0 0 {} {height:.0}\" role=\"img\" aria-label=\"Votes of every candidate by round\">",
            self.class, self.width
        );
        let mut numbers = String::new();
        for (row, (&candidate, bar)) in order.iter().zip(&bars).enumerate() {
            let y = TOP + ROW * count(row);
            let kept = elected(row).then_some(kept[row]);
            self.bar(record, candidate, bar, kept, (y, scale), out);
            // No line goes through a number: it stands right of those that would.
            let text = aligned(results[row], broken);
            let mut x = self.names + peak(bar) * scale + 6.0;
            for line in [quota, first_quota].map(|votes| self.names + votes * scale) {
                if line > x - 4.0 && line < x + count(text.len()) * 6.5 + 2.0 {
                    x = line + 5.0;
                }
            }
            let middle = y + BAR / 2.0 + 4.0;
            let _ = write!(numbers, "<text class=\"soft\" x=\"{x:.1}\" y=\"{middle:.1}\">{text}</text>");
        }
        let mark = |votes: f64, class: &str, out: &mut String| {
            let x = self.names + votes * scale;
            let _ = write!(
                out,
                "<line class=\"quota {class}\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{:.0}\" y2=\"{height:.0}\"/>",
                TOP - 8.0
            );
        };
        mark(quota, "", out);
        if (first_quota - quota) * scale > 3.0 {
            mark(first_quota, "first", out);
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

    /// Draws one row, but for the number beside the bar.
    fn bar(
        &self,
        record: &Record,
        candidate: CandidateIndex,
        bar: &[Growth],
        kept: Option<f64>,
        (y, scale): (f64, f64),
        out: &mut String,
    ) {
        let name = &*order::name(record, candidate);
        let mut rounds = String::new();
        let middle = y + BAR / 2.0 + 4.0;
        let strong = if kept.is_some() { " strong" } else { "" };
        let _ = write!(
            out,
            "<g class=\"k{candidate}\"><text class=\"end{strong}\" x=\"{:.0}\" y=\"{middle:.1}\">{}</text>",
            self.names - 8.0,
            fitted(name, self.names - 8.0, if kept.is_some() { 8.4 } else { 7.0 })
        );
        for Growth { round, from, to } in bar {
            let (x, width) = (self.names + from * scale, (to - from) * scale);
            if width < 0.2 {
                continue;
            }
            let what =
                if *round == 0 { "first preferences".to_owned() } else { format!("gained by round {round}") };
            // Rounds alternate, so that neighbours can be told apart; first preferences stand out.
            let opacity = [1.0, 0.72, 0.5][if *round == 0 { 0 } else { 1 + round % 2 }];
            let _ = write!(
                out,
                "<rect class=\"f\" opacity=\"{opacity}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{}: {} {what}</title></rect>",
                (width - 0.6).max(0.4),
                escaped(name),
                shown(to - from)
            );
            if *round > 0 && width > 15.0 {
                let over = if kept.is_some_and(|kept| *to > kept) { " over" } else { "" };
                let _ = write!(
                    rounds,
                    "<text class=\"on{over}\" x=\"{:.1}\" y=\"{:.1}\">{round}</text>",
                    x + width / 2.0,
                    middle - 0.5
                );
            }
        }
        let peak = peak(bar);
        if let Some(kept) = kept.filter(|kept| (peak - kept) * scale > 1.0) {
            let _ = write!(
                out,
                "<rect class=\"gone\" x=\"{:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{BAR}\"><title>{}: {} more than when the last seat was filled</title></rect>",
                self.names + kept * scale,
                (peak - kept) * scale,
                escaped(name),
                shown(peak - kept)
            );
        }
        out.push_str(&rounds);
        out.push_str("</g>");
    }
}

fn peak(bar: &[Growth]) -> f64 {
    bar.last().map_or(0.0, |growth| growth.to)
}

/// The hatching that marks what was passed on. Once on the page, and not in a picture: a picture
/// that is not shown has no patterns either.
pub(super) const PATTERNS: &str = "<svg width=\"0\" height=\"0\" style=\"position:absolute;width:0;height:0\" aria-hidden=\"true\"><defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><path d=\"M-1 7L7 -1M-1 1L1 -1M5 7L7 5\"/></pattern></defs></svg>";

/// A number of rows or columns; there are never so many that a double could not tell them apart.
#[expect(clippy::cast_precision_loss, reason = "as its comment says")]
pub(super) fn count(number: usize) -> f64 {
    number as f64
}
