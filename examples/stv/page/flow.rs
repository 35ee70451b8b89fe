//! The flow of votes. Each candidate has a lane, and each transfer has ribbons from the givers to
//! the receivers.
//!
//! A long count is split into panels, so that none is wider than a page. A panel shows the lanes
//! that still matter.

mod gap;

use super::{
    number::{count, value},
    order,
    text::{LINE, MOST_LINES, escaped, label, wrapped},
    words,
};
use crate::result::{Record, Transfer};
use std::{borrow::Cow, fmt::Write};
use stv_ballots::{CandidateIndex, Cause};

/// The measures of a picture of some width.
struct Frame {
    class: &'static str,
    /// The font size of names, as in the style sheet.
    font: f64,
    width: f64,
    names: f64,
    /// The least distance between two columns.
    column: f64,
    /// The thickness of a band of all ballots.
    thickness: f64,
    /// Whether each ribbon shows a text when the pointer is on it.
    has_tips: bool,
    /// The number of candidates with their own lane in a panel.
    lanes: usize,
}

const WIDE: Frame = Frame {
    class: "wide",
    font: 12.0,
    width: 940.0,
    names: 170.0,
    column: 84.0,
    thickness: 440.0,
    has_tips: true,
    lanes: 24,
};
const NARROW: Frame = Frame {
    class: "narrow",
    font: 11.0,
    width: 350.0,
    names: 112.0,
    column: 46.0,
    thickness: 260.0,
    has_tips: false,
    lanes: 16,
};
const LANE: f64 = 14.0;
const GAP: f64 = 5.0;
const NODE: f64 = 6.0;
/// If there are more panels, all but the last are folded up.
const FEW: usize = 3;
/// Bands thinner than this are rounding errors, and are not drawn.
const SEEN: f64 = 0.02;

/// Transfers of a smaller share of the ballots are not drawn, since they would be invisibly thin.
pub(super) const LEAST: f64 = 0.001;

/// A transfer in the picture: the votes of every place before and after. The last place is for
/// exhausted votes.
#[derive(Clone)]
struct Move<'a> {
    transfer: &'a Transfer,
    before: Vec<f64>,
    after: Vec<f64>,
}

/// The visible transfers, and the number of invisible transfers.
fn moves(record: &Record) -> (Vec<Move<'_>>, usize) {
    let Some(begin) = record.steps.first() else { return (Vec::new(), 0) };
    let mut votes: Vec<f64> = begin.states.iter().map(|state| value(&state.votes)).collect();
    votes.push(value(&begin.residual));
    let least = value(&record.ballots) * LEAST;
    let (mut moves, mut hidden) = (Vec::new(), 0);
    for transfer in record.transfers.iter().filter(|transfer| transfer.cause != Cause::NoSeatLeft) {
        let before = votes.clone();
        for (candidate, change) in &transfer.changes {
            votes[*candidate] = (votes[*candidate] + value(change)).max(0.0);
        }
        let exhausted = votes.len() - 1;
        votes[exhausted] = (votes[exhausted] + value(&transfer.exhausted)).max(0.0);
        let moved: f64 = before.iter().zip(&votes).map(|(before, after)| (after - before).max(0.0)).sum();
        if moved < least {
            hidden += 1;
        } else {
            moves.push(Move { transfer, before, after: votes.clone() });
        }
    }
    (moves, hidden)
}

/// Draws all panels. Returns the number of transfers that are too small to draw, or `None` if all
/// transfers are too small.
pub(super) fn draw(
    record: &Record,
    order: &[CandidateIndex],
    colours: &[String],
    out: &mut String,
) -> Option<usize> {
    let (moves, hidden) = moves(record);
    // The lane of the exhausted votes is below all other lanes.
    let places: Vec<_> = order.iter().copied().chain([record.candidates.len()]).collect();
    for frame in [WIDE, NARROW] {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few columns")]
        let columns = ((frame.width - frame.names - NODE) / frame.column) as usize;
        // Divides the transfers into panels of about the same length. Otherwise the last panel
        // could have a single column.
        let panels = moves.len().div_ceil(columns).max(1);
        let parts = moves.chunks(moves.len().div_ceil(panels).max(1));
        let number = parts.len();
        for (place, part) in parts.enumerate() {
            let panel = Panel::new(&frame, record, colours, &places, part);
            // The last panel shows the decision, so it is never folded.
            let is_folded = number > FEW && place + 1 < number;
            if is_folded {
                let (class, rounds) = (frame.class, panel.rounds());
                let _ = write!(out, "<details class=\"{class}\"><summary>{rounds}</summary>");
            }
            panel.draw(out);
            out.push_str(if is_folded { "</details>" } else { "" });
        }
    }
    (!moves.is_empty()).then_some(hidden)
}

/// The lanes of a panel, up to a limit: single givers, winners, and the candidates with most votes.
/// All other candidates share one lane, below the lane of the exhausted votes. Also returns the
/// number of these candidates.
fn gathered<'a>(
    record: &Record,
    places: &[usize],
    moves: &[Move<'a>],
    most: usize,
) -> (Vec<usize>, Vec<Move<'a>>, usize) {
    let others = moves[0].before.len();
    let part = |place: usize| {
        let gives = moves.iter().any(|step| step.transfer.from[..] == [place]);
        (gives, record.elected.contains(&place))
    };
    let mut ranked: Vec<_> =
        places.iter().map(|&place| (place, part(place), highest(moves, place))).collect();
    ranked.retain(|&(place, _, highest)| place + 1 < others && highest > 0.0);
    if ranked.len() <= most + 1 {
        return (places.to_vec(), moves.to_vec(), 0);
    }
    ranked.sort_by(|left, right| right.1.cmp(&left.1).then(right.2.total_cmp(&left.2)));
    let mut is_other = vec![false; others];
    ranked[most..].iter().for_each(|&(place, ..)| is_other[place] = true);
    let mut lanes = Vec::new();
    for &place in places {
        if !is_other[place] {
            lanes.push(place);
        } else if !lanes.contains(&others) {
            lanes.push(others);
        }
    }
    let sum =
        |state: &[f64]| state.iter().zip(&is_other).filter(|(_, is)| **is).map(|(votes, _)| votes).sum();
    let with_sum = |step: &Move<'a>| {
        let mut step = step.clone();
        step.before.push(sum(&step.before));
        step.after.push(sum(&step.after));
        step
    };
    (lanes, moves.iter().map(with_sum).collect(), ranked.len() - most)
}

/// The highest number of votes of a place in these transfers.
fn highest(moves: &[Move<'_>], place: usize) -> f64 {
    moves.iter().flat_map(|step| [step.before[place], step.after[place]]).fold(0.0, f64::max)
}

struct Panel<'a> {
    frame: &'a Frame,
    record: &'a Record,
    colours: &'a [String],
    moves: Vec<Move<'a>>,
    /// The number of candidates that share a lane.
    others: usize,
    /// The places that have votes in this panel, from top to bottom.
    lanes: Vec<Lane>,
    /// The label of every transfer, in lines.
    causes: Vec<Vec<String>>,
    /// The top of the lanes.
    top: f64,
    height: f64,
    column: f64,
    scale: f64,
}

struct Lane {
    place: usize,
    middle: f64,
    label: Vec<String>,
}

impl<'a> Panel<'a> {
    fn new(
        frame: &'a Frame,
        record: &'a Record,
        colours: &'a [String],
        places: &[usize],
        moves: &[Move<'a>],
    ) -> Self {
        let (places, moves, others) = gathered(record, places, moves, frame.lanes);
        let scale = frame.thickness / value(&record.ballots);
        // A few transfers do not fill the width: columns are at most 2.2 times the least distance
        // apart, since longer ribbons would show nothing more.
        let room = frame.width - frame.names - NODE;
        let column = (room / count(moves.len())).min(frame.column * 2.2);
        let mut panel = Self {
            frame,
            record,
            colours,
            moves,
            others,
            lanes: Vec::new(),
            causes: Vec::new(),
            top: 0.0,
            height: 0.0,
            column,
            scale,
        };
        panel.causes = panel.moves.iter().map(|step| panel.cause(step.transfer)).collect();
        let lines = panel.causes.iter().map(Vec::len).max().unwrap_or(1);
        panel.top = 27.0 + LINE * count(lines);
        let mut y = panel.top;
        for place in places {
            let most = highest(&panel.moves, place);
            if most * scale > SEEN {
                let letter = if record.elected.contains(&place) { 0.65 } else { 0.58 };
                let label =
                    wrapped(&panel.name(place), (frame.names - 8.0) / (letter * frame.font), MOST_LINES);
                let lane = (most * scale).max(LANE).max(LINE * count(label.len()));
                panel.lanes.push(Lane { place, middle: y + lane / 2.0, label });
                y += lane + GAP;
            }
        }
        panel.height = y + 4.0;
        panel
    }

    fn x(&self, column: usize) -> f64 {
        self.frame.names + self.column * count(column)
    }

    fn name(&self, place: usize) -> Cow<'_, str> {
        match place.checked_sub(self.record.candidates.len()) {
            None => order::name(self.record, place),
            Some(0) => Cow::from("Exhausted"),
            Some(_) => Cow::from(format!("{} others", self.others)),
        }
    }

    /// The name with the party, escaped, for tips.
    fn in_full(&self, place: usize) -> String {
        if place < self.record.candidates.len() {
            order::in_full(self.record, place)
        } else {
            self.name(place).into_owned()
        }
    }

    fn colour(&self, place: usize) -> &str {
        self.colours.get(place).map_or("kx", |colour| colour)
    }

    fn rounds(&self) -> String {
        match &self.moves[..] {
            [only] => format!("Round {}", only.transfer.round),
            [first, .., last] => format!("Rounds {} to {}", first.transfer.round, last.transfer.round),
            [] => String::new(),
        }
    }

    fn draw(&self, out: &mut String) {
        let transfers = self.moves.iter().map(|step| step.transfer);
        let _ = write!(
            out,
            "<svg class=\"{}\" viewBox=\"0 0 {} {:.0}\" role=\"img\" aria-label=\"Flow of votes. {}: {}\">",
            self.frame.class,
            self.frame.width,
            self.height,
            self.rounds(),
            words::transfers(self.record, transfers)
        );
        let (mut stays, mut ribbons) = (vec![String::new(); self.lanes.len()], String::new());
        let mut round = 0;
        for (column, step) in self.moves.iter().enumerate() {
            self.heading(column, step.transfer, &mut round, out);
            self.gap(column, step, &mut stays, &mut ribbons);
        }
        for (lane, stays) in self.lanes.iter().zip(stays) {
            let class = if self.record.elected.contains(&lane.place) { " strong" } else { "" };
            let lines: Vec<_> = lane.label.iter().map(|line| (line.clone(), class)).collect();
            let (colour, name) = (self.colour(lane.place), self.in_full(lane.place));
            let _ = write!(out, "<g class=\"{colour}\"><title>{name}</title>");
            label(&lines, self.frame.names - 8.0, lane.middle, out);
            let _ = write!(out, "<path class=\"s\" d=\"{stays}\"/></g>");
        }
        out.push_str(&ribbons);
        for lane in &self.lanes {
            self.nodes(lane, out);
        }
        out.push_str("</svg>");
    }

    /// The marks that show a lane's votes before and after every transfer.
    fn nodes(&self, lane: &Lane, out: &mut String) {
        let _ = write!(out, "<path class=\"f {}\" d=\"", self.colour(lane.place));
        let states =
            self.moves.iter().map(|step| &step.before).chain(self.moves.last().map(|step| &step.after));
        for (column, state) in states.enumerate() {
            let thickness = state[lane.place] * self.scale;
            if thickness > SEEN {
                let (x, y) = (self.x(column), lane.middle - thickness / 2.0);
                let _ = write!(out, "M{x:.1} {y:.1}h{NODE}v{:.1}h-{NODE}z", thickness.max(0.6));
            }
        }
        out.push_str("\"/>");
    }

    /// The cause of a transfer, in lines above its ribbons.
    fn cause(&self, transfer: &Transfer) -> Vec<String> {
        match (transfer.cause, transfer.from.first()) {
            (Cause::Defeat, Some(&candidate)) if self.is_wide() => {
                wrapped(&format!("✕ {}", self.name(candidate)), (self.column - 4.0) / 6.1, 3)
            }
            (Cause::Defeat | Cause::NoSeatLeft, _) => vec!["defeat".to_owned()],
            (Cause::Surplus, _) => vec!["surplus".to_owned()],
        }
    }

    fn is_wide(&self) -> bool {
        self.column > 60.0
    }

    /// Draws round and cause above the ribbons.
    fn heading(&self, column: usize, transfer: &Transfer, round: &mut usize, out: &mut String) {
        let middle = self.x(column) + f64::midpoint(self.column, NODE);
        if *round != transfer.round {
            *round = transfer.round;
            let word = if self.is_wide() { "Round " } else { "" };
            let _ = write!(out, "<text class=\"mid strong\" x=\"{middle:.1}\" y=\"12\">{word}{round}</text>");
        }
        out.push_str("<g>");
        if let (Cause::Defeat, Some(&candidate)) = (transfer.cause, transfer.from.first()) {
            let _ = write!(out, "<title>defeat of {}</title>", self.in_full(candidate));
        }
        for (line, cause) in self.causes[column].iter().enumerate() {
            let y = 26.0 + LINE * count(line);
            let _ = write!(
                out,
                "<text class=\"soft mid\" x=\"{middle:.1}\" y=\"{y:.0}\">{}</text>",
                escaped(cause)
            );
        }
        out.push_str("</g>");
    }
}
